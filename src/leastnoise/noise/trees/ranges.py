"""The noise of the sum of any consecutive cells of an even tree: its variance and its law.

notation: as in `prefixes`; R is the sum of the cells from the i-th up to, but not with, the j-th.
Given u, a pass upwards carries m(t) = E[e^(iuw); t] of a node, where w is the sum of its cells in
the range, and t the sum of all its cells. It is e^(iut)·A(t) for a node within the range and A(t)
beside it. Otherwise it is e^(−r_l|t|)/κ_l times the convolution of its children's m. The m of the
root, summed over t, is E e^(iuR); its values at u = 2πk/N determine the law of R modulo N.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.noise.trees.levels import GIVEN_AWAY, rates_of, solve
from leastnoise.noise.trees.prefixes import (
    ORDERS,
    check_moments,
    cut_law,
    find_window,
    prefix_moments,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from leastnoise.noise.trees.law import Agreeing

    Floats = NDArray[np.float64]
    Complexes = NDArray[np.complex128]

MOST_WORK = 1 << 28
"""The largest product of both windows and the levels: some seconds."""


def range_variance(
    branches: Sequence[int], variances: Sequence[float], first: int, last: int
) -> float:
    """Var R for 0 <= `first` < `last` <= n, given the variance of a node for each level.

    Cells of two children of one node all have the same covariance.
    """
    if first <= 0 and last >= math.prod(branches):
        return variances[0]
    b, of_child = branches[0], variances[1]
    below = math.prod(branches[1:])
    covariance = (variances[0] - b * of_child) / (b * (b - 1)) if b > 1 else 0.0
    total, parts = 0.0, list[float]()
    for start, end in _overlaps(b, below, first, last):
        parts.append((end - start) / below)
        total += range_variance(branches[1:], variances[1:], start, end) if below > 1 else of_child
    pairs = sum(parts) ** 2 - sum(part * part for part in parts)
    return total + pairs * covariance


def _overlaps(b: int, below: int, first: int, last: int) -> list[tuple[int, int]]:
    """The cells of each child that are in the range, counted within the child, if there are any."""
    pairs = [
        (max(first - child * below, 0), min(last - child * below, below)) for child in range(b)
    ]
    return [(start, end) for start, end in pairs if start < end]


def range_half_width(noise: Agreeing, first: int, last: int, coverage: float) -> int:
    """The smallest h with P(|R| <= h) >= `coverage`, except for rounding and wrapped windows.

    Raises NotApplicable if the law would take too long, and InvalidArgument if the coverage is too
    near to 1 to be decided.
    """
    halves, slack = _law(noise, first, last)
    inside = 2 * np.cumsum(halves) - halves[0] - slack
    if inside[-1] < coverage:
        expected = f"coverage <= {inside[-1]:.12g} for this noise"
        raise InvalidArgument(name="coverage", value=coverage, expected=expected)
    return int(np.argmax(inside >= coverage))


@lru_cache(maxsize=16)
def _law(noise: Agreeing, first: int, last: int) -> tuple[Floats, float]:
    """P(R = t) for t = 0, …, N/2 − 1, and a bound on the error of any sum of them."""
    check_moments(noise)
    # R = S_j − S_i, whose eighth root of E R^8 is at most the sum of theirs (Minkowski)
    eighths = prefix_moments(noise)[[first, last], -1] ** (1 / ORDERS[-1])
    largest, size = float(eighths.sum()), find_window(noise)
    least = 2 * largest / GIVEN_AWAY ** (1 / ORDERS[-1])
    numbers = min(1 << max(6, math.ceil(math.log2(max(least, 1.0)))), size)
    work = size * numbers * len(noise.branches)
    if work > MOST_WORK:
        why = f"the law of a sum of its cells takes {work:.2g} units of work"
        raise NotApplicable(family="agreeing", why=why)
    nodes = _Nodes(noise, size)
    values = [
        nodes.spectrum(0, first, last, turn=k * (size // numbers))[0].real
        for k in range(numbers // 2 + 1)
    ]
    law = np.fft.irfft(np.array(values), numbers)
    excess = max(float(law.sum()) - 1, 0.0)
    beyond = (largest / (numbers / 2)) ** ORDERS[-1]
    return law[: numbers // 2], beyond + excess + GIVEN_AWAY


class _Nodes:
    """The spectra of A of each level, and the weights e^(−r_l|t|)/κ_l."""

    def __init__(self, noise: Agreeing, size: int) -> None:
        rates = rates_of(noise)
        solved = solve(noise.branches, rates)
        self.branches = noise.branches
        points = np.abs(np.fft.fftfreq(size, 1 / size))
        self.laws = [np.fft.fft(cut_law(law.values, size)).real for (law,) in solved.subtrees]
        self.weights = [
            np.exp(-rate * points) / acceptance
            for rate, (acceptance,) in zip(rates[:-1], solved.acceptance, strict=True)
        ]

    def spectrum(self, level: int, first: int, last: int, *, turn: int) -> Complexes:
        """The spectrum of m of a node whose cells from `first` to `last` are in the range.

        The spectrum of e^(iut)·A is the spectrum of A, moved by `turn`.
        """
        law = self.laws[level]
        if first >= last:
            return law.astype(np.complex128)
        inside = np.roll(law, -turn)
        below = math.prod(self.branches[level:])
        if first <= 0 and last >= below:
            return inside.astype(np.complex128)
        b, of_child = self.branches[level], self.laws[level + 1]
        below //= b
        overlaps = _overlaps(b, below, first, last)
        partial = [(start, end) for start, end in overlaps if end - start < below]
        whole = len(overlaps) - len(partial)
        product = np.roll(of_child, -turn) ** whole * of_child ** (b - len(overlaps))
        for start, end in partial:
            product = product * self.spectrum(level + 1, start, end, turn=turn)
        return np.fft.fft(self.weights[level] * np.fft.ifft(product))
