"""Enclosure of δ(ε) for laws on a lattice with whole-number weights, in whole-number arithmetic.

Notation: a_k is the weight of the lattice point k, a whole number, for every integer k. H(j) = Σ_k
(a_k − e^ε a_{k−j})₊ / Σ_k a_k is δ(ε) under a shift by j lattice steps. C⁻ and C⁺ are whole numbers
with C⁻ <= e^ε 2^b <= C⁺, for a precision of b bits. So 2^b times the first sum lies between Σ_k
(2^b a_k − C⁺ a_{k−j})₊ and the same with C⁻, which Python evaluates exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import cast

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from leastnoise.balls.core import ball, exponential_between
from leastnoise.noise.common.proof import over
from leastnoise.noise.lattice.law import (
    DiscreteStaircase,
    Lattice,
    LatticeNoise,
    LatticeStepNoise,
)
from leastnoise.noise.question import Releases


def step_delta_ball(noise: LatticeStepNoise, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose the supremum of δ(ε) over shifts up to `shift`, for steps of equal width.

    δ(ε) is linear in the shift between lattice shifts (theory/noise.md §4). So the supremum is at a
    lattice shift or at the longest shift. The sign of a shift doesn't matter, by symmetry.
    """
    steps = shift / noise.scale * noise.lattice.cells
    whole = math.floor(steps)
    law = _LatticeLaw(noise.lattice, epsilon)
    rest = ball(steps - whole)
    longest = (1 - rest) * law.at(whole) + rest * law.at(whole + 1)
    if noise.lattice.falls:  # then the longest shift is the worst (theory/noise.md §1)
        return longest
    return law.largest(range(1, whole + 1)).max(longest)


def delta_ball(noise: DiscreteStaircase, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose the largest δ(ε) over shifts by whole numbers up to `shift`, for `DiscreteStaircase`.

    A shift by 1 is cells/scale lattice steps. If that isn't a whole number, its δ(ε) is 1. For ε <
    0 and `shift` < 1 the result is only an upper bound, 1.
    """
    stride = noise.cells / noise.scale  # lattice points in a shift of 1
    most = math.floor(shift)
    if most == 0:
        return arb(0) if epsilon >= 0 else arb(1)
    if stride.denominator != 1:  # a shift by 1 leaves the lattice, so the outputs are disjoint
        return arb(1)
    law, step = _LatticeLaw(noise.lattice, epsilon), int(stride)
    if noise.lattice.falls:
        return law.at(step * most)
    return law.largest(range(step, step * most + 1, step))


def beyond(noise: DiscreteStaircase, t: Fraction, coordinate: int = 0) -> arb:
    """Enclose the probability that the noise exceeds t.

    The probability is a quotient of whole numbers.
    """
    del coordinate
    first = math.floor(t * noise.cells / noise.scale) + 1  # X > t where K is at least this
    law = noise.lattice
    if first > 0:
        return ball(Fraction(sum(law.masses[first:]), law.total))
    return 1 - ball(Fraction(sum(law.masses[1 - first :]), law.total))


_TOP_BITS = 30  # products of two such numbers, doubled, fit 64 bits


class _LatticeLaw:
    """The weights a_k over all whole k, and e^ε, at the current precision.

    For most k, a_k is below e^ε a_{k−j} and adds nothing to H(j). The leading bits of the weights
    identify nearly all such k. The full whole numbers are used only for the other k.
    """

    def __init__(self, lattice: Lattice, epsilon: Fraction) -> None:
        right = np.array(lattice.masses, dtype=object)
        self._weights = np.concatenate([right[:0:-1], right])
        self._bits = ctx.prec
        self._below, self._above = exponential_between(epsilon, bits=self._bits)
        self._total = ball(lattice.total * 2**self._bits)
        self._lengths, self._tops = _leading_bits(self._weights)

    def at(self, shift: int) -> arb:
        """Enclose δ(ε) under one shift, H(shift), for shift >= 0 in lattice steps."""
        if shift >= len(self._weights):
            return arb(1)
        moved = self._weights[: len(self._weights) - shift]
        indices = self._exposed(shift)
        first, here, there = self._weights[:shift], self._weights[shift:][indices], moved[indices]
        uncovered = sum(first) << self._bits  # where the shifted copy is 0
        low, high = (
            uncovered + int(np.maximum(here * (1 << self._bits) - there * factor, 0).sum())
            for factor in (self._above, self._below)
        )
        return (ball(low) / self._total).union(ball(high) / self._total)

    def largest(self, shifts: Iterable[int]) -> arb:
        """Enclose the largest δ(ε) over `shifts`, which are in lattice steps and ascend."""
        largest = arb(0)
        for shift in shifts:
            largest = largest.max(self.at(shift))
            if shift >= len(self._weights):
                break
        return largest

    def _exposed(self, shift: int) -> NDArray[np.int64]:
        """The indices k − shift >= 0 of the points k where 2^b a_k > C⁻ a_{k−shift} is possible.

        A whole number of n bits whose leading 30 bits are t lies between t·2^(n−30) and (t +
        1)·2^(n−30). Let n, n′ and f be the numbers of bits of a_k, a_{k−shift} and C⁻, and t, t′
        and c their leading 30 bits. Then a_k < (t + 1)·2^(n−30), and C⁻ a_{k−shift} >=
        t′c·2^(n′+f−60). Here t + 1 <= 2^30, and t′c >= 2^58 unless a_{k−shift} is 0.
        """
        kept = len(self._weights) - shift
        lengths, tops = self._lengths[shift:], self._tops[shift:]
        (length,), (top,) = _leading_bits([self._below])
        apart = lengths + self._bits - self._lengths[:kept] - length
        most = (tops + 1) << _TOP_BITS  # times 2^apart is at least 2^b a_k ...
        least = self._tops[:kept] * top  # ... where this is at most C a_{k−shift}
        nothing = ((apart == 0) & (most <= least)) | ((apart == -1) & (most <= 2 * least))
        nothing |= (apart <= -2) & (least > 0)
        return np.flatnonzero(~nothing & (lengths > 0))


def _leading_bits(values: Iterable[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The lengths n of whole numbers in bits, and ⌊value·2^(30−n)⌋; both are 0 for the value 0."""
    whole = list(values)
    lengths = [value.bit_length() for value in whole]
    tops = [
        value >> (n - _TOP_BITS) if n >= _TOP_BITS else value << (_TOP_BITS - n)
        for value, n in zip(whole, lengths, strict=True)
    ]
    return np.array(lengths, dtype=np.int64), np.array(tops, dtype=np.int64)


def too_long(part: Releases, shift: Fraction, _: Fraction) -> str | None:
    """The reason why a proof for this lattice would take too long; None if it wouldn't."""
    noise = cast("LatticeNoise", part.noise)
    law = noise.lattice
    if law.falls:  # one shift, the longest, is the worst
        return None
    in_cells = shift / noise.scale * law.cells
    every = in_cells if isinstance(noise, LatticeStepNoise) else shift
    shifts = min(math.ceil(every), 2 * len(law.masses))
    most = 3_000_000 if part.compositions == 1 else 1_000_000  # 6e5 for `optimal` at ε = 20
    return over(Fraction(shifts * len(law.masses)), most, "masses times shifts")
