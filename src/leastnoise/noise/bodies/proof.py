"""Enclosures of δ(ε) for noise in the shape of a body, and of its privacy losses.

A purely private law is ε₀-DP for all shifts that it hides, where ε₀ is its `largest_loss`. The
proof is that it hides them, which `worst_shift` checks. For ε < ε₀, δ(ε) of any hidden shift is at
most this curve (theory/bodies.md §1):

- k-norm: Laplace's curve 1 − e^(−(ε₀ − ε)/2) (Theorem 1); for counts with signs the largest of the
  curves of the corners, which is exact (Theorem 2);
- all other purely private laws: p·(1 − e^(ε − ε₀)), the curve of randomised response, with p =
  e^ε₀/(1 + e^ε₀);
- a staircase in a gauge at scale 1, where all losses are −ε₀, 0 or ε₀: the same with p = TV/(1 −
  e^(−ε₀)), if that is smaller.

A truncated staircase has the curve of `truncated_delta_ball`.

Notation: X is the noise, s is a shift that it hides, and TV is the total variation distance of X
and X + s. K is the body, D is its dimension, and N is its gauge: N(x) is the least t >= 0 with x ∈
tK. A staircase falls by q = e^(−decay) from step to step, and γ is the end of its first step. For d
counting queries, j is the number of ones of a corner, w = (ε₀ − ε)/2 and y = 2w. z₊ is max(z, 0).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache, reduce

from flint import acb, arb, arb_poly, ctx, fmpq, fmpq_poly

from leastnoise.balls.core import ball, precision
from leastnoise.balls.losses import Profile
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.plain import Box
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.bodies.law.k_norm import KNorm, KStaircase, TruncatedKStaircase
from leastnoise.noise.body_noise import VectorNoise

_MOST_QUERIES = 40  # counting queries whose curve is computed; the cost is cubic


def pure_delta_ball(noise: VectorNoise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose an upper bound on δ(ε) for all shifts that `noise` hides; exactly 0 if ε >= ε₀.

    It is δ(ε) itself for the sensitivities for which `attained` is True.
    """
    del shift  # 1: a hidden shift moves the noise by at most one step
    largest = _check_pure(noise).largest_loss
    if epsilon >= largest:
        return arb(0)
    if isinstance(noise, KNorm):
        queries = counting_queries(noise)
        if queries is None:
            return -ball((epsilon - largest) / 2).expm1()
        # by symmetry j ones have the curve of d + 1 − j ones (theory/bodies.md §1)
        most = (queries + 1) // 2
        return _largest(_corner(queries, ones, largest - epsilon) for ones in range(1, most + 1))
    return largest_loss_probability(noise) * -ball(epsilon - largest).expm1()


def beyond(noise: KNorm, t: Fraction, coordinate: int = 0) -> arb:
    """Enclose the probability that one coordinate of K-norm noise on a box exceeds t >= 0.

    Here q is the number of coordinates, b the bound of this coordinate, and c = t/(b·scale). With
    Q(m, c) = e^(−c) Σ_(j<m) c^j/j!, the probability is half of Q(q, c) − (c/q)·Q(q − 1, c). This
    difference is e^(−c) Σ_(j<q) (1 − j/q)·c^j/j!, whose terms are positive. Raises NotApplicable
    for other bodies and for t < 0.
    """
    if not (isinstance(noise.body, Box) and t >= 0):
        raise NotApplicable(
            family=noise.name, why="tails of its coordinates are proved only for a box"
        )
    bounds = noise.body.bounds
    c, q = ball(t / (bounds[coordinate % len(bounds)] * noise.scale)), len(bounds)
    total, term = arb(0), arb(1)
    for power in range(q):
        total += term * ball(Fraction(q - power, q))
        term *= c / (power + 1)
    return total * (-c).exp() / 2


def largest_loss_probability(noise: VectorNoise) -> arb:
    """Enclose an upper bound on the probability that the privacy loss is ε₀, for all hidden shifts.

    One bound is e^ε₀/(1 + e^ε₀), the probability for randomised response, whose δ(ε) is at least
    the δ(ε) of any ε₀-DP law. For a staircase in a gauge at scale 1, the total variation gives
    another bound, and the smaller of the two is taken.
    """
    largest = ball(_check_pure(noise).largest_loss)
    response = 1 / (1 + (-largest).exp())
    if isinstance(noise, KStaircase) and noise.scale == 1:
        return response.min(_total_variation(noise, ctx.prec) / -(-largest).expm1())
    return response


def attained(noise: VectorNoise, sensitivity: Sensitivity) -> bool:
    """True only if the family's proof encloses δ(ε) itself for the shifts of `sensitivity`.

    The δ(ε) of K-norm noise on a box, or on the counts of `counting_queries`, is the proved curve,
    for a shift to a corner of the body. So the hull of the shifts has to be the whole body. The
    same holds for a truncated staircase on a box.
    """
    if isinstance(noise, TruncatedKStaircase):
        boxed = isinstance(noise.body, Box)
        return boxed and sensitivity.body(dimension=noise.dimension) == noise.body
    if not isinstance(noise, KNorm) or sensitivity.body(dimension=noise.dimension) != noise.body:
        return False
    return isinstance(noise.body, Box) or counting_queries(noise) is not None


def lower_profile(noise: VectorNoise) -> Profile | None:
    """The proved curve ε ↦ δ(ε), ε >= 0, of K-norm noise; None for other noise.

    If `attained` is True, one shift has exactly this curve, at every ε. So composing the curve
    gives a lower bound. Otherwise the curve is no lower bound.
    """
    if not isinstance(noise, KNorm):
        return None
    queries, largest = counting_queries(noise), noise.largest_loss
    if queries is None:
        return lambda epsilon: pure_delta_ball(noise, shift=Fraction(1), epsilon=epsilon)
    ones = (queries + 1) // 2
    return lambda epsilon: (
        _corner(queries, ones, largest - epsilon) if epsilon < largest else arb(0)
    )


def counting_queries(noise: KNorm) -> int | None:
    """The number d if the body is `Signed(of=Counts(queries=d))` with d <= 40; else None.

    None also if a row can meet only some of the queries at once.
    """
    body = noise.body
    if not (isinstance(body, Signed) and isinstance(body.of, Counts)):
        return None
    d = body.of.queries
    return d if body.of.most == d and d <= _MOST_QUERIES else None


def _check_pure(noise: VectorNoise) -> VectorNoise:
    if not noise.purely_private:
        raise TypeError(f"{noise.name} is not purely private")
    return noise


def _largest(values: Iterable[arb]) -> arb:
    return reduce(lambda first, second: first.max(second), values)


def _corner(queries: int, ones: int, gap: Fraction) -> arb:
    """Enclose δ(ε) for the shift by a corner with `ones` ones and otherwise zeros.

    `gap` is ε₀ − ε > 0. Let d = `queries`, j = `ones` and l = d + 1 − j. Then

        1 − δ = 2^d j! l!/(d + 1)!·e^(−w)·P(d + 1, w) + e^(−y)·p(y),

    where P is the regularised lower incomplete gamma function, and p the polynomial of `_overlap`
    (theory/bodies.md §1).
    """
    d, j = queries, ones
    share = Fraction(2**d * math.factorial(j) * math.factorial(d + 1 - j), math.factorial(d + 1))
    y = ball(gap)
    w = y / 2
    overlap_mass = ball(share) * (-w).exp() * w.gamma_lower(d + 1, regularized=1)
    return 1 - overlap_mass - (-y).exp() * arb_poly(_overlap(d, j))(y)


@lru_cache(maxsize=2 * _MOST_QUERIES)
def _overlap(queries: int, ones: int) -> fmpq_poly:
    """The polynomial p of `_corner`, of degree d = `queries`."""
    d, j = queries, ones
    l = d + 1 - j  # noqa: E741 - the paper's symbol
    coefficients = [0] * (d + 1)
    for i in range(j):
        coefficients[j - 1 - i] += j * math.comb(j - 1, i) * math.factorial(l + i)
    for i in range(l):
        coefficients[l - 1 - i] += l * math.comb(l - 1, i) * math.factorial(j + i)
    sums = [Fraction(value) for value in coefficients]
    for i in range(j):
        for k in range(l):
            ways = j * l * math.comb(j - 1, i) * math.comb(l - 1, k)
            ways *= math.factorial(i) * math.factorial(k) * math.factorial(d - 1 - i - k)
            sums[i + k + 1] += Fraction(ways, math.factorial(i + k + 1))
    whole = math.factorial(d + 1)
    return fmpq_poly([fmpq(total.numerator, total.denominator * whole) for total in sums])


_MOST_POWER = 64  # up to this dimension steps are summed in closed form, at quadratic cost
_MOST_WAVES = 64


@lru_cache(maxsize=64)
def _total_variation(noise: KStaircase, bits: int) -> arb:
    """Enclose an upper bound on the total variation TV of X and X + s at scale 1, at `bits` bits.

    For all hidden shifts s, TV <= 1 − Σ q^k (k + γ − ½)₊^D / Σ q^k (k + γ)^D, where both sums are
    over k >= 0. Equality holds if s is a corner of a box.
    """
    with precision(bits):
        if noise.dimension > _MOST_POWER:
            many = noise.decay**2 <= 4 * noise.dimension  # steps in the width of z^D e^(−λz)
            return _variation_by_waves(noise) if many else _variation_by_steps(noise)
        gamma, fall = noise.gamma, (-ball(noise.decay)).exp()
        powers = _power_sums(noise.decay, noise.dimension)
        half = Fraction(1, 2)
        inner = _shifted_sum(powers, gamma - half if gamma >= half else gamma + half)
        outer = _shifted_sum(powers, gamma)
        return 1 - (inner if gamma >= half else fall * inner) / outer


def _power_sums(decay: Fraction, power: int) -> list[arb]:
    """Enclose B_n = Σ_{k>=0} q^k k^n for n = 0 … power, where 0⁰ = 1 and q = e^(−decay).

    As B_n = q Σ_{k>=0} q^k (k + 1)^n for n >= 1, B_n = q/(1 − q) Σ_{i=1…n} C(n, i) B_{n−i}.
    """
    odds = 1 / ball(decay).expm1()
    sums = [1 + odds]
    for n in range(1, power + 1):
        sums.append(odds * sum((math.comb(n, i) * sums[n - i] for i in range(1, n + 1)), arb(0)))
    return sums


def _shifted_sum(powers: list[arb], first: Fraction) -> arb:
    """Enclose Σ_{k>=0} q^k (k + a)^D for a = `first` >= 0.

    `powers` lists the sums B_0, …, B_D of `_power_sums`.
    """
    d, a = len(powers) - 1, ball(first)
    return sum((math.comb(d, n) * power * a ** (d - n) for n, power in enumerate(powers)), arb(0))


def _variation_by_waves(noise: KStaircase) -> arb:
    """Enclose the bound of `_total_variation` by Poisson's formula: few terms if steps are short.

    Let λ = decay. For D >= 1 and 0 <= a <= 1, Σ_{k>=0} q^k (k + a)^D = e^(λa) D!/λ^(D+1)·S(a) with
    S(a) = Σ_m e^(2πima) (1 + 2πim/λ)^(−D−1), i the imaginary unit, over all integers m. So the
    ratio of the two sums is e^(−λ/2) S(γ − ½)/S(γ), with S(γ + ½) instead if γ < ½. The terms with
    |m| > M are left out. With c = (2π/λ)² they sum to at most Σ_{|m|>M} (1 + cm²)^(−(D+1)/2) <= 2
    (1 + cM²)^(−(D−1)/2)/(cM), as Σ_{m>M} m^(−2) < 1/M.
    """
    gamma, half = noise.gamma, Fraction(1, 2)
    offsets = gamma - half if gamma >= half else gamma + half, gamma
    power = noise.dimension + 1
    turn = 2 * arb.pi() / ball(noise.decay)
    sums, negligible = [arb(1), arb(1)], arb(2) ** -ctx.prec
    for m in range(1, _MOST_WAVES + 1):
        wave = acb(1, turn * m) ** -power
        for index, a in enumerate(offsets):
            sums[index] += 2 * (wave * acb(0, 2 * arb.pi() * ball(a) * m).exp()).real
        square = (turn * m) ** 2
        beyond = 2 * m * ((1 + square).log() * (2 - power) / 2).exp() / square
        if beyond < negligible:
            break
    inner, outer = (total + arb(0, beyond.upper()) for total in sums)
    return 1 - (-ball(noise.decay) / 2).exp() * inner / outer


def _variation_by_steps(noise: KStaircase) -> arb:
    """Enclose the bound of `_total_variation`, 1 minus a ratio of two sums, by adding their terms.

    The numerator is cut off, and the rest of the denominator is at most a geometric series. The
    result is 1 if there are too many terms.
    """
    d, gamma = noise.dimension, noise.gamma
    fall = (-ball(noise.decay)).exp()
    inner = outer = arb(0)
    weight, first, half = arb(1), ball(gamma), arb(0.5)
    most_summands = 20_000  # largest number of terms of the sums
    negligible = 2.0**-140  # relative size of terms at which the sums end
    for k in range(most_summands):
        edge = first + k
        term = weight * edge**d
        outer += term
        if k or gamma > Fraction(1, 2):
            inner += weight * (edge - half) ** d
        ratio = fall * ((edge + 1) / edge) ** d
        weight *= fall
        if ratio < arb(0.99) and term < outer * arb(negligible):
            return 1 - inner / (outer + term * ratio / (1 - ratio))
    return arb(1)


def largest_loss(noise: VectorNoise, shift: Fraction) -> Fraction:
    """The largest finite privacy loss of the law over all shifts that it hides."""
    del shift
    return noise.largest_loss


# Enclosure of δ(ε) for a truncated staircase in the gauge of a body.
#
# notation (theory/bodies.md §9): h = 1/scale, so that every hidden shift s has N(s) <= h. f is the
# density. Its steps end at the edges e_0 < … < e_m, e_m is the radius, and f is ∝ q^k up to e_k.
#
# By the layer-cake formula, ∫ min(f, e^ε f(· − s)) is a sum of volumes |aK ∩ (s + bK)| over pairs
# of edges a <= b. Each volume is at least (max(0, min(a, (a + b − h)/2)))^D |K| by the triangle
# inequality, with equality at a corner of a box. So δ(ε) is at most δ(ε) of a cube at its corner,
# for all s and ε at once.


def truncated_delta_ball(noise: TruncatedKStaircase, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose an upper bound on δ(ε) for all shifts that `noise` hides; ε >= 0.

    It is δ(ε) itself for a box and the shift to its corner. `shift` is 1, the largest gauge N(s) of
    a shift s.
    """
    edges, d = noise.steps.edges, noise.dimension
    last, reach = edges[-1], shift / noise.scale
    if not noise.decay:  # all steps are equally high
        return _volume_outside(last, last, reach, d) / ball(last) ** d
    fall, drop = (-ball(noise.decay)).exp(), -(-ball(noise.decay)).expm1()
    levels = epsilon // noise.decay
    rest = epsilon - levels * noise.decay
    # between q^k and q^(k + 1) the set {e^ε f(x − s) > t} grows by an edge at t = q^(k + 1)·e^rest
    parts = -ball(rest - noise.decay).expm1(), fall * ball(rest).expm1()
    moved, total, height = arb(0), arb(0), arb(1)  # height: q^k
    for k, edge in enumerate(edges[:-1]):
        total += height * drop * ball(edge) ** d
        for part, other in zip(parts, (k + levels, k + levels + 1), strict=True):
            moved += (
                height * part * _volume_outside(edge, edges[min(other, len(edges) - 1)], reach, d)
            )
        height *= fall
    total += height * ball(last) ** d
    moved += height * _volume_outside(last, last, reach, d)
    return moved / total


def _volume_outside(a: Fraction, b: Fraction, reach: Fraction, dimension: int) -> arb:
    """Enclose an upper bound on the volume of aK outside s + bK, divided by the volume of K.

    Here a <= b, and s is any shift with N(s) <= `reach`. The bound is exactly 0 if b >= a + reach.
    """
    if b >= a + reach:
        return arb(0)
    whole = ball(a) ** dimension
    overlap = (a + b - reach) / 2
    return whole - ball(overlap) ** dimension if overlap > 0 else whole
