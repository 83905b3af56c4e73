"""Enclosures of δ(ε) for noise in the shape of a body, and of its privacy losses."""

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

# Enclosure of δ(ε) for noise in the shape of a body or of a one-sided set.
#
# Such noise is ε₀-DP for all shifts that it hides, ε₀ its `largest_loss`: nothing is to be proved
# but that it hides them, which `worst_shift` asks. Below ε₀ a curve is known that no shift exceeds
# (theory/bodies.md §1):
#
# - k-norm: Laplace's, 1 − e^(−(ε₀ − ε)/2) (Theorem 1); for counts with signs the largest of the
#   curves of the corners, which is exact (Theorem 2);
# - in steps, where all losses are −ε₀, 0 or ε₀: p·(1 − e^(ε − ε₀)) with p = P(loss = ε₀), at most
#   that of randomised response, e^ε₀/(1 + e^ε₀), and in a gauge at most TV/(1 − e^(−ε₀));
# - any other: that of randomised response.
#
# notation: q = e^(−decay), D the dimension; for counts w = (ε₀ − ε)/2 and y = 2w.


_MOST_QUERIES = 40  # of counts whose curve is worked out; it costs their cube


def pure_delta_ball(noise: VectorNoise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose a number that δ(ε) is at most, for all shifts that `noise` hides; exactly 0 from ε₀.

    Where it is `attained` it is δ(ε) itself.
    """
    del shift  # 1: what is hidden moves the noise by one step
    largest = _law(noise).largest_loss
    if epsilon >= largest:
        return arb(0)
    if isinstance(noise, KNorm):
        queries = counted(noise)
        if queries is None:
            return -ball((epsilon - largest) / 2).expm1()
        # the gauge treats 0 like the d coordinates, so that j ones are as d + 1 − j
        most = (queries + 1) // 2
        return _largest(_corner(queries, ones, largest - epsilon) for ones in range(1, most + 1))
    return frequent_loss(noise) * -ball(epsilon - largest).expm1()


def beyond(noise: KNorm, t: Fraction, coordinate: int = 0) -> arb:
    """Enclose P(X_i > t), t >= 0, of noise e^(−N), N the gauge of a box.

    notation: q numbers, b = bounds[i], c = t/(b·scale), Q(m, c) = e^(−c) Σ_(j<m) c^j/j!. It is half
    of Q(q, c) − (c/q)·Q(q − 1, c) = e^(−c) Σ_(j<q) (1 − j/q)·c^j/j!, whose terms are positive.
    """
    if not (isinstance(noise.body, Box) and t >= 0):
        raise NotApplicable(family=noise.name, why="the law of its coordinates isn't proved")
    bounds = noise.body.bounds
    c, q = ball(t / (bounds[coordinate % len(bounds)] * noise.scale)), len(bounds)
    total, term = arb(0), arb(1)
    for power in range(q):
        total += term * ball(Fraction(q - power, q))
        term *= c / (power + 1)
    return total * (-c).exp() / 2


def frequent_loss(noise: VectorNoise) -> arb:
    """Enclose a number that P(loss = ε₀) is at most, for a law whose losses are 0 and ±ε₀.

    For another law it is that of randomised response, whose curve is above that of any ε₀-DP law.
    """
    largest = ball(_law(noise).largest_loss)
    response = 1 / (1 + (-largest).exp())
    if isinstance(noise, KStaircase) and noise.scale == 1:
        return response.min(_total_variation(noise, ctx.prec) / -(-largest).expm1())
    return response


def attained(noise: VectorNoise, sensitivity: Sensitivity) -> bool:
    """Return True only if `delta_ball` is known to be δ(ε) itself for all shifts of `sensitivity`.

    k-norm noise on a box or on counts has its curve at a corner, so that the shifts have to reach
    all corners of its body; so has a staircase on a box that is cut off. Any other law than those
    in the shape of a body is exact elsewhere.
    """
    if isinstance(noise, TruncatedKStaircase):
        boxed = isinstance(noise.body, Box)
        return boxed and sensitivity.body(dimension=noise.dimension) == noise.body
    if not isinstance(noise, KNorm) or sensitivity.body(dimension=noise.dimension) != noise.body:
        return False
    return isinstance(noise.body, Box) or counted(noise) is not None


def lower_profile(noise: VectorNoise) -> Profile | None:
    """Return ε ↦ δ(ε), ε >= 0, of one shift where that is an `attained` curve; else None.

    It has to be the same shift at every ε for releases to be composed from below.
    """
    if not isinstance(noise, KNorm):
        return None
    queries, largest = counted(noise), noise.largest_loss
    if queries is None:
        return lambda epsilon: pure_delta_ball(noise, shift=Fraction(1), epsilon=epsilon)
    ones = (queries + 1) // 2
    return lambda epsilon: (
        _corner(queries, ones, largest - epsilon) if epsilon < largest else arb(0)
    )


def counted(noise: KNorm) -> int | None:
    """Return d where the body is that of d counting queries with signs, and d isn't too large."""
    body = noise.body
    if not (isinstance(body, Signed) and isinstance(body.of, Counts)):
        return None
    d = body.of.queries
    return d if body.of.most == d and d <= _MOST_QUERIES else None


def _law(noise: VectorNoise) -> VectorNoise:
    if not noise.purely_private:
        raise TypeError(f"{noise.name} is not purely private")
    return noise


def _largest(found: Iterable[arb]) -> arb:
    return reduce(lambda one, other: one.max(other), found)


def _corner(queries: int, ones: int, gap: Fraction) -> arb:
    """Enclose δ for the shift by a corner with `ones` ones, at ε₀ − ε = gap > 0.

    1 − δ = 2^d j! l!/(d + 1)!·e^(−w)·P(d + 1, w) + e^(−y)·p(y), l = d + 1 − j, P the regularised
    lower incomplete gamma function and p that of `_overlap` (theory/bodies.md §1).
    """
    d, j = queries, ones
    share = Fraction(2**d * math.factorial(j) * math.factorial(d + 1 - j), math.factorial(d + 1))
    y = ball(gap)
    w = y / 2
    kept = ball(share) * (-w).exp() * w.gamma_lower(d + 1, regularized=1)
    return 1 - kept - (-y).exp() * arb_poly(_overlap(d, j))(y)


@lru_cache(maxsize=2 * _MOST_QUERIES)
def _overlap(queries: int, ones: int) -> fmpq_poly:
    """Return p of `_corner`, a polynomial of degree d."""
    d, j = queries, ones
    l = d + 1 - j  # noqa: E741 - the paper's symbol
    found = [0] * (d + 1)
    for i in range(j):
        found[j - 1 - i] += j * math.comb(j - 1, i) * math.factorial(l + i)
    for i in range(l):
        found[l - 1 - i] += l * math.comb(l - 1, i) * math.factorial(j + i)
    sums = [Fraction(value) for value in found]
    for i in range(j):
        for k in range(l):
            ways = j * l * math.comb(j - 1, i) * math.comb(l - 1, k)
            ways *= math.factorial(i) * math.factorial(k) * math.factorial(d - 1 - i - k)
            sums[i + k + 1] += Fraction(ways, math.factorial(i + k + 1))
    whole = math.factorial(d + 1)
    return fmpq_poly([fmpq(one.numerator, one.denominator * whole) for one in sums])


_MOST_POWER = 64  # of the steps that are summed in closed form, which costs its square
_MOST_WAVES = 64


@lru_cache(maxsize=64)
def _total_variation(noise: KStaircase, bits: int) -> arb:
    """Enclose a number that TV is at most, at a precision of `bits`.

    TV <= 1 − Σ q^k (k + γ − ½)₊^D / Σ q^k (k + γ)^D, equal at a corner of a box; both sums run over
    k >= 0.
    """
    with precision(bits):
        if noise.dimension > _MOST_POWER:
            many = noise.decay**2 <= 4 * noise.dimension  # steps within a width of z^D e^(−λz)
            return _variation_by_waves(noise) if many else _summed_variation(noise)
        gamma, fall = noise.gamma, (-ball(noise.decay)).exp()
        powers = _power_sums(noise.decay, noise.dimension)
        half = Fraction(1, 2)
        inner = _binomial(powers, gamma - half if gamma >= half else gamma + half)
        outer = _binomial(powers, gamma)
        return 1 - (inner if gamma >= half else fall * inner) / outer


def _power_sums(decay: Fraction, power: int) -> list[arb]:
    """Enclose B_n = Σ_{k>=0} q^k k^n for n = 0 … power, 0⁰ = 1; q = e^(−decay).

    As q Σ_k q^k (k + 1)^n is the same sum for n >= 1, B_n = q/(1 − q) Σ_{i=1…n} C(n, i) B_{n−i}.
    """
    odds = 1 / ball(decay).expm1()
    found = [1 + odds]
    for n in range(1, power + 1):
        found.append(odds * sum((math.comb(n, i) * found[n - i] for i in range(1, n + 1)), arb(0)))
    return found


def _binomial(powers: list[arb], first: Fraction) -> arb:
    """Enclose Σ_{k>=0} q^k (k + a)^D for a = `first` >= 0, from the sums B_0 … B_D."""
    d, a = len(powers) - 1, ball(first)
    return sum((math.comb(d, n) * power * a ** (d - n) for n, power in enumerate(powers)), arb(0))


def _variation_by_waves(noise: KStaircase) -> arb:
    """Enclose the total variation by Poisson's summation formula, of few terms if steps are short.

    notation: λ = decay, c = (2π/λ)². For D >= 1 and 0 <= a <= 1,
    Σ_{k>=0} q^k (k + a)^D = e^(λa) D!/λ^(D+1) S(a) with S(a) = Σ_m e^(2πima) (1 + 2πim/λ)^(−D−1),
    over all whole m. The ratio of the two sums is then e^(−λ/2) S(γ ∓ ½)/S(γ). Beyond M,
    Σ_{|m|>M} (1 + cm²)^(−(D+1)/2) <= 2 (1 + cM²)^(−(D−1)/2)/(cM), as Σ_{m>M} m^(−2) < 1/M.
    """
    gamma, half = noise.gamma, Fraction(1, 2)
    places = gamma - half if gamma >= half else gamma + half, gamma
    power = noise.dimension + 1
    turn = 2 * arb.pi() / ball(noise.decay)
    sums, negligible = [arb(1), arb(1)], arb(2) ** -ctx.prec
    for m in range(1, _MOST_WAVES + 1):
        wave = acb(1, turn * m) ** -power
        for place, a in enumerate(places):
            sums[place] += 2 * (wave * acb(0, 2 * arb.pi() * ball(a) * m).exp()).real
        square = (turn * m) ** 2
        beyond = 2 * m * ((1 + square).log() * (2 - power) / 2).exp() / square
        if beyond < negligible:
            break
    inner, outer = (one + arb(0, beyond.upper()) for one in sums)
    return 1 - (-ball(noise.decay) / 2).exp() * inner / outer


def _summed_variation(noise: KStaircase) -> arb:
    """Enclose the total variation, step by step.

    The first sum is cut off, and what is left of the second is at most a geometric series. It is 1
    if too many steps are left.
    """
    d, gamma = noise.dimension, noise.gamma
    fall = (-ball(noise.decay)).exp()
    inner = outer = arb(0)
    weight, first, half = arb(1), ball(gamma), arb(0.5)
    most_summands = 20_000  # of a sum over the steps of a staircase
    negligible = 2.0**-140  # of such a sum: what is left of it is bounded as a geometric series
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
    """Return the largest finite loss, which is the law's own."""
    del shift
    return noise.largest_loss


# Enclosure of δ(ε) for a staircase in the gauge of a body that is cut off.
#
# notation (theory/bodies.md §9): K the body, D its dimension, h = 1/scale, so that every shift s
# that is hidden has N(s) <= h; e_0 < … < e_m = R the edges, q = e^(−decay) and q^k the height up to
# e_k.
#
# By layer cake ∫ min(f, e^ε f(· − s)) is a sum of volumes |aK ∩ (s + bK)| of pairs of edges a <= b,
# each at least (max(0, min(a, (a + b − h)/2)))^D |K| by the triangle inequality, and equal to that
# at a corner of a box. So δ(ε) is at most that of a cube at its corner, for all s and ε at once.


def truncated_delta_ball(noise: TruncatedKStaircase, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose a number that δ(ε) is at most, for all shifts that `noise` hides; ε >= 0.

    It is δ(ε) itself for a box and the shift to its corner. `shift` is 1, the largest gauge.
    """
    edges, d = noise.steps.edges, noise.dimension
    last, reach = edges[-1], shift / noise.scale
    if not noise.decay:  # all steps are equally high
        return _lost(last, last, reach, d) / ball(last) ** d
    fall, drop = (-ball(noise.decay)).exp(), -(-ball(noise.decay)).expm1()
    levels = epsilon // noise.decay
    rest = epsilon - levels * noise.decay
    # between q^k and q^(k + 1) the set {e^ε f(x − s) > t} grows by an edge at t = q^(k + 1)·e^rest
    parts = -ball(rest - noise.decay).expm1(), fall * ball(rest).expm1()
    moved, total, height = arb(0), arb(0), arb(1)  # height: q^k
    for k, edge in enumerate(edges[:-1]):
        total += height * drop * ball(edge) ** d
        for part, other in zip(parts, (k + levels, k + levels + 1), strict=True):
            moved += height * part * _lost(edge, edges[min(other, len(edges) - 1)], reach, d)
        height *= fall
    total += height * ball(last) ** d
    moved += height * _lost(last, last, reach, d)
    return moved / total


def _lost(a: Fraction, b: Fraction, reach: Fraction, dimension: int) -> arb:
    """Enclose the most that aK has outside s + bK, N(s) <= reach and a <= b, over |K|.

    Exactly 0 if b >= a + reach.
    """
    if b >= a + reach:
        return arb(0)
    whole = ball(a) ** dimension
    kept = (a + b - reach) / 2
    return whole - ball(kept) ** dimension if kept > 0 else whole
