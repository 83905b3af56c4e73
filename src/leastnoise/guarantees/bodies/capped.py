"""Sums of bounded variables under a cap: what "at most k" does to volumes and moments.

notation: S_p a sum of p independent uniforms on [0, 1], F_p(t) = P(S_p <= t); k the cap.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial
from typing import final

from flint import arb, arb_poly

from leastnoise.balls.core import ball, precision, precisions
from leastnoise.errors import InvalidArgument

MOST_WORK = 1_000_000
"""Coordinates times cap: so many terms take a second or two."""


@final
@dataclass(frozen=True, kw_only=True)
class CappedCubes:
    """The sets T_p = {y ∈ [0, 1]^p : Σy <= k} for p = 0 … largest.

    `volumes[p]` is V_p; `firsts[p]` and `seconds[p]` are E y_1 and E y_1² of the uniform law of
    T_p, 0 for p = 0.
    """

    volumes: tuple[arb, ...]
    firsts: tuple[arb, ...]
    seconds: tuple[arb, ...]


def capped_cubes(*, largest: int, cap: int) -> CappedCubes:
    """Return T_0 … T_largest at the current precision, cap >= 1.

    The Laplace transform in t of E[y_1^n; S_p <= t] is φ^(p−1)·∫₀¹ yⁿe^(−sy)dy/s, where that of a
    uniform is φ = (1 − e^(−s))/s. Each 1/s is φ/(1 − e^(−s)), which sums over t, t − 1, …; so at
    t = k all is made of F_p, F_(p+1) and F_(p+2) at whole numbers.
    """
    if cap >= largest:
        half, third = arb(1) / 2, arb(1) / 3
        return CappedCubes(
            volumes=(arb(1),) * (largest + 1),
            firsts=(arb(0),) + (half,) * largest,
            seconds=(arb(0),) + (third,) * largest,
        )
    sums = _cumulative(largest=largest + 2, cap=cap)
    volumes, firsts, seconds = [arb(1)], [arb(0)], [arb(0)]
    for at, above, two_above in zip(sums, sums[1:], sums[2:], strict=False):
        volumes.append(at.at_cap)
        # E[y; S_p <= k] = Σ_{n<=k} F_(p+1)(n) − Σ_{n<k} F_p(n)
        firsts.append((above.below + above.at_cap - at.below) / at.at_cap)
        # E[y²; S_p <= k] = 2 Σ_{n<=k} (k − n + 1) F_(p+2)(n) − 2 Σ_{n<k} (k − n) F_(p+1)(n)
        #                   − Σ_{n<k} F_p(n)
        twice = two_above.weighted + two_above.below + two_above.at_cap - above.weighted
        seconds.append((2 * twice - at.below) / at.at_cap)
    return CappedCubes(volumes=tuple(volumes), firsts=tuple(firsts), seconds=tuple(seconds))


@final
@dataclass(frozen=True)
class _Cumulative:
    """Of one p: F_p(k), Σ_{n<k} F_p(n) and Σ_{n<k} (k − n) F_p(n)."""

    at_cap: arb
    below: arb
    weighted: arb


def _cumulative(*, largest: int, cap: int) -> list[_Cumulative]:
    """Return the sums of p = 1 … largest, from P(⌊S_p⌋ = i) = A(p, i)/p!, A Eulerian numbers.

    A(p, i) = (i + 1) A(p−1, i) + (p − i) A(p−1, i−1): positive terms alone.
    """
    found = []
    floors = [arb(1)] + [arb(0)] * (cap - 1)
    for p in range(1, largest + 1):
        if p > 1:
            for i in range(min(p, cap) - 1, 0, -1):
                floors[i] = ((i + 1) * floors[i] + (p - i) * floors[i - 1]) / p
            floors[0] /= p
        at_cap = below = weighted = arb(0)
        for i, share in enumerate(floors[:p]):
            left = cap - 1 - i
            at_cap += share
            below += left * share
            weighted += left * (left + 1) // 2 * share
        found.append(_Cumulative(at_cap, below, weighted))
    return found


def share_below(*, sizes: tuple[int, int], last: int, cap: int) -> arb:
    """Return P(Σ M_j <= cap) for independent M_j ~ Beta(shape, 1), at the current precision.

    `sizes` = (how many, shape q) of those that are alike, and one more of shape `last`. The Laplace
    transform of a Beta(q, 1) is q!·s^(−q)(1 − e^(−s) Σ_{i<q} s^i/i!): multiplied out, each term is
    a power of (cap − l)₊. They alternate, so that the precision grows until 100 bits are left.
    """
    for bits in precisions(192, 1 << 18):
        with precision(bits):
            wanted = _alternating(count=sizes[0], shape=sizes[1], last=last, cap=cap)
        if wanted.rel_accuracy_bits() >= 100:
            return wanted
    raise InvalidArgument(name="most", value=cap, expected="fewer cells, or a smaller cap")


def _alternating(*, count: int, shape: int, last: int, cap: int) -> arb:
    degree = count * shape + last
    alike, other = _partial_exponential(shape), _partial_exponential(last)
    before, powers, total = arb_poly([0]), arb_poly([1]), arb(0)  # of `alike`: l − 1 and l factors
    for reach in range(min(cap, count + 2)):
        product = powers * ball(comb(count, reach))
        if reach > 0:
            product += before * other * ball(comb(count, reach - 1))
        before, powers = powers, powers * alike
        part, span = arb(0), arb(cap - reach)
        # Σ_i c_i span^(degree − i)/(degree − i)!
        power = span**degree / ball(degree + 1).gamma()
        for i, coefficient in enumerate(product.coeffs()):
            part += coefficient * power
            power *= (degree - i) / span
        total += part if reach % 2 == 0 else -part
    return total * ball(factorial(shape)) ** count * ball(factorial(last))


def _partial_exponential(size: int) -> arb_poly:
    """Σ_{i < size} s^i/i!."""
    return arb_poly([1 / ball(factorial(i)) for i in range(size)])
