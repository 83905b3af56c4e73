"""Exact draws of the two-sided laws: a choice of s and of ends A, B, and then uniform in them.

notation: as in noise/bodies/law/two_sided.py; P(s) ∝ w[s]·e_s·e_t, e_j = E A^j/j!.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from flint import arb, ctx

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Sampler
from leastnoise.entropy.scaled import Constant, choose
from leastnoise.entropy.source import Entropy
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.noise.base import Noise
from leastnoise.noise.bodies.law.two_sided import TwoSidedLaplace, TwoSidedStaircase
from leastnoise.noise.bodies.sampler import scalars
from leastnoise.noise.bodies.sampler.arrange import Moved, Moves
from leastnoise.noise.bodies.sampler.draw import Draw, step
from leastnoise.noise.bodies.sampler.reals import RealsSampler, Uniforms
from leastnoise.noise.bodies.sampler.scalars import choices_below, cumulative, log_concave, weighted
from leastnoise.noise.bodies.sampler.signed import weights

if TYPE_CHECKING:
    from leastnoise.entropy.lazy import LazyReal
    from leastnoise.guarantees.bodies.one_sided import OneSided


def staircase_sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a `two-sided-staircase` noise, in units of `grid`.

    A = a + k with probability ∝ e^(−decay·k)(a + k)^s given s; B alike.
    """
    if not isinstance(noise, TwoSidedStaircase):
        raise TypeError(f"{noise.name} is not two-sided-staircase")
    of = noise.of.times(noise.scale / grid)
    if isinstance(of, Counts) and of.most == of.queries:
        return _cube_sampler(noise, of, entropy)
    core, decay = noise.core, noise.decay
    s = choose(entropy, lambda: _staircase_shares(noise.of, core, decay, ctx.prec))
    ends = [
        Constant(core + step(entropy, first=core, decay=decay, power=power))
        for power in (s, of.dimension - s)
    ]
    moves = Moves(shape=s, added=ends[0], removed=ends[1])
    return RealsSampler(Draw(entropy).sides(of, moves, inside=True))


def _cube_sampler(noise: TwoSidedStaircase, of: Counts, entropy: Entropy) -> Sampler:
    """Draw uniform numbers in a cube: Σ_s of the volumes of its parts is (A + B)^d.

    k₁ + k₂ = n has the probability ∝ e^(−decay·n)(n + 1)(2a + n)^d, k₁ is uniform on 0 … n.
    """
    core, decay, d = noise.core, noise.decay, of.dimension

    def weights_of_sums() -> Callable[[int], arb]:
        ends, slope = ball(2 * core), ball(-decay)
        return lambda n: (n + 1) * (ends + n) ** d * (slope * n).exp()

    n = log_concave(entropy, weights_of_sums, start=max(0, int(d / decay - 2 * core)))
    above = core + choices_below(entropy, n + 1)
    beneath = 2 * core + n - above
    parts = Uniforms(d, entropy, signed=True)
    unit = of.bound / 2
    return RealsSampler(
        Moved(parts=parts, centre=unit * (above - beneath), half=unit * (above + beneath))
    )


@lru_cache(maxsize=64)
def _staircase_shares(of: OneSided, core: Fraction, decay: Fraction, bits: int) -> tuple[arb, ...]:
    """Cumulate P(s); Σ_j e_j z^j = (1 − q) e^(az)/(1 − q e^z), q = e^(−decay).

    So e_j = a^j/j! + q/(1 − q)·Σ_{i >= 1} e_(j − i)/i!, all positive: nothing cancels.
    """
    del bits
    d, odds = of.dimension, 1 / ball(decay).expm1()
    inverse, powers = _exponential_terms(Fraction(1), d), _exponential_terms(core, d)
    ends: list[arb] = []
    for j in range(d + 1):
        past = sum((a * b for a, b in zip(reversed(ends), inverse[1:], strict=False)), arb(0))
        ends.append(powers[j] + odds * past)
    return _two_sided_shares(of, ends)


def laplace_sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a `two-sided-laplace` noise, in units of `grid`.

    A = b + y, of density ∝ (b + y)^s e^(−y) given s: y ~ Gamma(s − i + 1), P(i) ∝ b^i/i!, i <= s.
    """
    if not isinstance(noise, TwoSidedLaplace):
        raise TypeError(f"{noise.name} is not two-sided-laplace")
    of, core = noise.of.times(noise.scale / grid), noise.core
    s = choose(entropy, lambda: _laplace_shares(noise.of, core, ctx.prec))
    ends = [_end(entropy, core, power) for power in (s, of.dimension - s)]
    moves = Moves(shape=s, added=ends[0], removed=ends[1])
    return RealsSampler(Draw(entropy).sides(of, moves, inside=True))


def _end(entropy: Entropy, core: Fraction, power: int) -> LazyReal:
    if core == 0:
        return scalars.gamma(entropy, power + 1)
    i = weighted(entropy, lambda: _exponential_terms(core, power))
    return scalars.total([Constant(core), scalars.gamma(entropy, power - i + 1)])


def _exponential_terms(core: Fraction, degree: int) -> list[arb]:
    """Return b^i/i! for i = 0 … degree."""
    found, b = [arb(1)], ball(core)
    for i in range(1, degree + 1):
        found.append(found[-1] * b / i)
    return found


@lru_cache(maxsize=64)
def _laplace_shares(of: OneSided, core: Fraction, bits: int) -> tuple[arb, ...]:
    """Cumulate P(s); e_j = Σ_{i <= j} b^i/i!."""
    del bits
    sums, partial = [], arb(0)
    for term in _exponential_terms(core, of.dimension):
        partial += term
        sums.append(partial)
    return _two_sided_shares(of, sums)


def _two_sided_shares(of: OneSided, ends: list[arb]) -> tuple[arb, ...]:
    products = zip(weights(of), ends, reversed(ends), strict=True)
    return cumulative([w * a * b for w, a, b in products])
