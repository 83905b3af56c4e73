"""Exact draws of noise in steps: a step, then a uniform point in it; shares of geometric noise.

X is the noise. A piece of |X| is a step, a lattice point or an atom, with its probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Sampler
from leastnoise.entropy.lazy import LazyExponential, LazyReal, LazyUniform, certainly_less, decide
from leastnoise.entropy.pieces import Survival, UniformPieces, draws_of_pieces, finite_pieces
from leastnoise.entropy.scaled import LazyRational, LazySampler, ScaledDraws
from leastnoise.entropy.source import Entropy
from leastnoise.errors import NotApplicable
from leastnoise.noise.common.law import StepNoise, Steps
from leastnoise.noise.draw import Share
from leastnoise.noise.steps.law import Geometric, Staircase

# Exact staircase draws, by inversion: a step is a piece, and a logarithm gives the step.
#
# notation: b = e^(−decay), m = b/(1 − b). Step 0, |X|/scale < γ, has the density 1/(2(γ + m)), and
# step j, which ends at γ + j, has b^j times this density. Beyond the first j + 1 steps lies the
# mass S_{j+1} = b^j m/(γ + m). A uniform u < S_1 is in step 1 + ⌊−ln(u/S_1)/decay⌋.


LAST = 16  # a table ends where the density has fallen by e^-16, about 2^-23
LARGEST_TABLE = 1 << 17  # steps; with more (a decay below 1e-4) balls decide every draw


def staircase_draws(noise: Staircase, grid: Fraction) -> ScaledDraws:
    """A factory of draws of a staircase `noise`, in units of `grid`."""
    return draws_of_pieces(_staircase_pieces(noise, noise.scale / grid))


def _staircase_pieces(noise: Staircase, unit: Fraction) -> UniformPieces:
    """Return the steps as pieces of |X|, in multiples of `unit`; there are infinitely many."""
    gamma, decay = noise.gamma, noise.decay

    def ends(j: int) -> tuple[Fraction, Fraction]:
        return unit * (gamma + j - 1 if j else 0), unit * (gamma + j)

    def survival(j: int) -> arb:
        if j == 0:
            return arb(1)
        return ball(-decay * (j - 1)).exp() / (1 + ball(gamma) * ball(decay).expm1())

    def locate(u: arb) -> int | None:
        middle = survival(1)
        if not u < middle:
            return 0 if u >= middle else None
        steps = -(u / middle).log() / ball(decay)
        whole = steps.floor().unique_fmpz() if steps.is_finite() else None
        return None if whole is None else int(whole) + 1

    count = math.ceil(LAST / decay) + 2
    tabled = count if count <= LARGEST_TABLE else 0
    return UniformPieces(ends=ends, survival=survival, locate=locate, tabled=tabled)


# Exact draws on the whole numbers, by inversion: a whole number is a piece, and a logarithm gives
# its step.
#
# notation: c = cells, a = core, b = e^(−decay), m = b/(1 − b). In units of the weight of 0, the
# mass of all k >= j is T_j = a − j + cm for 1 <= j <= a, b^i (cm − bv) for j = a + ic + v, 0 <= v
# <= c. All of it is 2T_1 + 1, and S_j = 2T_j/(2T_1 + 1) for j >= 1. A uniform u stands for t =
# u(2T_1 + 1)/2: t > cm for |K| = ⌊a + cm − t⌋, which is 0 for t in (T_1, T_1 + ½); and below it |K|
# = a + ic + ⌊v⌋ with i = ⌊−ln(t/cm)/decay⌋, v = (cm − t/b^i)/b.


def geometric_draws(noise: Geometric, grid: Fraction) -> ScaledDraws:
    """A factory of draws of geometric `noise`, in units of `grid`."""
    return draws_of_pieces(_geometric_pieces(noise, noise.scale / grid / noise.cells))


def _geometric_pieces(noise: Geometric, unit: Fraction) -> UniformPieces:
    """Return the lattice points as pieces of |X|, in multiples of `unit`; infinitely many."""
    cells, core, decay = noise.cells, noise.core, noise.decay

    def ends(j: int) -> tuple[Fraction, Fraction]:
        return (point := unit * j), point

    def beyond() -> arb:
        """Enclose cm, the mass of all k > a − 1, in units of the mass of one k in the top step."""
        return cells / ball(decay).expm1()

    def half() -> arb:
        """Enclose a − ½ + cm, half of the mass of all k, in the unit of `beyond`."""
        return core - arb("0.5") + beyond()

    def survival(j: int) -> arb:
        if j == 0:
            return arb(1)
        if j <= core:
            return (core - j + beyond()) / half()
        i, v = divmod(j - core, cells)
        return ball(-decay * i).exp() * (beyond() - v * ball(-decay).exp()) / half()

    def locate(u: arb) -> int | None:
        t, middle = u * half(), beyond()
        if t > middle:
            return _floor(core + middle - t)
        i = _floor(-(t / middle).log() / ball(decay)) if t < middle else None
        if i is None:
            return None
        v = _floor((middle - t * ball(decay * i).exp()) * ball(decay).exp())
        return None if v is None else core + i * cells + v

    count = core + cells * math.ceil(LAST / decay) + 1
    tabled = count if count <= LARGEST_TABLE else 0
    return UniformPieces(ends=ends, survival=survival, locate=locate, tabled=tabled)


def _floor(number: arb) -> int | None:
    """Return ⌊number⌋ if the ball decides it, else None."""
    whole = number.floor().unique_fmpz() if number.is_finite() else None
    return None if whole is None else int(whole)


# Shares of geometric noise: differences of two variables of Pólya's law, which sum to it exactly.
#
# notation: q = e^(−decay), P(K = k) ∝ q^|k|, n shares. K is the difference of two geometric
# variables. Each of these is the sum of n independent variables of Pólya's law, which has the
# generating function ((1 − q)/(1 − qz))^(1/n) (Goryczka & Xiong 2017). This is the compound Poisson
# law with λ = −ln(1 − q)/n summands L on average, P(L = k) = q^k/(−k ln(1 − q)), because e^(λ(ln(1
# − qz)/ln(1 − q) − 1)) is the same function. So a share is a sum of ±L_i with fair signs, whose
# number is Poisson of mean 2λ. L = 1 + ⌊E/(−ln(1 − (1 − q)^U))⌋ for an exponential E and a uniform
# U (Kemp 1981): with y = 1 − (1 − q)^u, P(L = k) = ∫ y^(k−1) (1 − y) du = ∫_0^q y^(k−1) dy/(−ln(1 −
# q)).


def share(noise: Geometric, grid: Fraction, count: int) -> Share:
    """Return the share of each of `count` clients.

    It is on the integers for every `grid`, so that no sum is rounded. Raises NotApplicable unless
    the noise has one cell and the scale 1.
    """
    del grid
    if noise.cells != 1 or noise.scale != 1:
        why = 'only geometric noise of one cell has shares; set parameters={"cells": 1}'
        raise NotApplicable(family=noise.name, why=why)
    sampler = partial(_sampler, noise.decay, count)
    return Share(sampler=sampler, grid=Fraction(1), distance=Fraction(0))


def _sampler(decay: Fraction, count: int, entropy: Entropy) -> Sampler:
    """A sampler of one of `count` shares of noise with this `decay`, in lattice steps.

    A share is a sum of logarithmic variables with random signs. The number of variables is Poisson,
    and each sign is fair.
    """

    def draw() -> LazyReal:
        jumps = _poisson(lambda: -2 * _log_rest(decay) / count, entropy)
        signs = (1 - 2 * entropy.bits(1) for _ in range(jumps))
        return LazyRational(Fraction(sum(sign * _logarithmic(decay, entropy) for sign in signs)))

    return LazySampler(draw, factor=Fraction(1))


def _log_rest(decay: Fraction) -> arb:
    """Enclose ln(1 − q), q = e^(−decay), at the current precision."""
    return (-ball(-decay).expm1()).log()


def _poisson(mean: Callable[[], arb], entropy: Entropy) -> int:
    """A draw of the Poisson law of this mean: the number of arrivals before the time `mean`."""
    arrivals: list[LazyExponential] = []

    def before(bits: int) -> bool | None:
        time = sum((wait.enclose(bits) for wait in arrivals), arb(0))
        return certainly_less(time, mean())

    while True:
        arrivals.append(LazyExponential(entropy))
        if not decide(before):
            return len(arrivals) - 1


def _logarithmic(decay: Fraction, entropy: Entropy) -> int:
    """A draw of the logarithmic law, by Kemp's formula in the comment above.

    It is k = 1, 2, … with probability q^k/(−k ln(1 − q)), q = e^(−decay).
    """
    exponential, uniform = LazyExponential(entropy), LazyUniform(entropy)

    def question(bits: int) -> int | None:
        rate = -(-(uniform.enclose(bits) * _log_rest(decay)).expm1()).log()
        steps = exponential.enclose(bits) / rate
        whole = steps.floor().unique_fmpz() if steps.is_finite() else None
        return None if whole is None else int(whole)

    return 1 + decide(question)


# Exact draws from step densities, by inversion: a step is a piece; theory/release.md §2.
#
# An atom at 0 is the innermost piece.


def step_draws(noise: StepNoise, grid: Fraction) -> ScaledDraws:
    """A factory of draws of a step `noise`, in units of `grid`."""
    return draws_of_pieces(_step_pieces(noise.steps, noise.atom, noise.scale / grid))


def _step_pieces(steps: Steps, atom: Fraction, unit: Fraction) -> UniformPieces:
    """Return the atom, if it has mass, and the steps of positive weight, in multiples of `unit`."""
    positive = [j for j, weight in enumerate(steps.weights) if weight]
    areas = [steps.weights[j] * (steps.edges[j + 1] - steps.edges[j]) for j in positive]
    atoms = 1 if atom else 0

    def masses() -> list[arb]:
        slope = ball(-steps.decay)
        of_steps = [
            ball(area) * (slope * steps.levels[j]).exp()
            for j, area in zip(positive, areas, strict=True)
        ]
        if not atom:
            return of_steps
        return [ball(atom / (1 - atom)) * sum(of_steps, arb(0)), *of_steps]

    def ends(j: int) -> tuple[Fraction, Fraction]:
        if j < atoms:
            return Fraction(0), Fraction(0)
        step = positive[j - atoms]
        return unit * steps.edges[step], unit * steps.edges[step + 1]

    return finite_pieces(ends, Survival(masses), len(positive) + atoms)
