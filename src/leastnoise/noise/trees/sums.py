"""Sums of the cells that agree at some levels of a tree, which needn't be below one node.

Notation: level 0 is the root. A level is `fixed` if, below each node of the level above, the sum
includes only one child, say the first; otherwise it includes all children. `fixed` begins with
level 1: (True, False, False) stands for a node of level 1. k is the last fixed level, so the sum S
is over nodes of level k. z is the noise of all cells, E is the mean, and P is a probability. A_l is
the law of the sum of a node of level l if only the weights of the node and of the nodes below it
count. N is the window: laws are computed modulo N (see `levels`).

Given u, E e^(iuS) is the normaliser if each summed node of level k has the additional weight
e^(iut), where t is its sum. A_l is then computed as in `levels`, from these nodes upwards. The
values of E e^(iuS) at u = 2πj/N for j = 0, …, N − 1 determine the law of S modulo the window. The
window of the nodes' sums is wide enough for S, too: `find_window` has room for one more sum of at
most all cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.noise.trees.known import raise_to
from leastnoise.noise.trees.levels import GIVEN_AWAY, find_window, level_laws, rates_of, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.noise.trees.law import Agreeing

    Floats = NDArray[np.float64]

MOST_NUMBERS = 1 << 11
"""The largest window of such a law; it takes about half a second."""
_FREQUENCIES = 64  # number of frequencies in one batch


def variance_of_sum(
    branches: Sequence[int], variances: Sequence[float], fixed: Sequence[bool]
) -> float:
    """The variance of S, given the variance v_l of a node for each level l (root first).

    Two children of a node have the covariance (v_l − b v_{l+1})/(b(b − 1)), where b is the number
    of its children, since all children are alike. Two nodes further down, one below each child,
    have this covariance divided by n², where n nodes of their level are below a child.
    """
    last = _last(fixed)
    summed = [1 if is_fixed else b for is_fixed, b in zip(fixed, branches, strict=True)][:last]
    variance = math.prod(summed) * variances[last]
    for level, times in enumerate(summed):
        if times > 1:
            b, below = branches[level], math.prod(branches[level + 1 : last])
            covariance = (variances[level] - b * variances[level + 1]) / (b * (b - 1)) / below**2
            pairs = times * (times - 1) * math.prod(summed[level + 1 :]) ** 2
            variance += math.prod(summed[:level]) * pairs * covariance
    return variance


def half_width_of_sum(noise: Agreeing, fixed: Sequence[bool], coverage: float) -> int:
    """An integer h with P(|S| <= h) >= coverage, which is nearly the smallest.

    A probability of 1e-6 is allowed for sums beyond the window and for rounding; if S is the sum of
    one node, less. Raises InvalidArgument unless 0 < coverage < 1, and if it is too close to 1 to
    be decided. Raises NotApplicable if the window N is above 2^11, unless S is the sum of one node.
    """
    last = _last(fixed)
    if all(fixed[:last]):
        return level_laws(noise)[last].half_width(coverage)
    if not 0 < coverage < 1:
        raise InvalidArgument(name="coverage", value=coverage, expected="0 < coverage < 1")
    inside = _inside(noise, tuple(fixed)) - GIVEN_AWAY
    enough = np.flatnonzero(inside >= coverage)
    if not enough.size:
        expected = f"coverage <= {float(inside.max()):.12g} for this noise"
        raise InvalidArgument(name="coverage", value=coverage, expected=expected)
    return int(enough[0])


def check_numbers(noise: Agreeing) -> None:
    """Raise NotApplicable if `half_width_of_sum` would raise it for some sum of this tree."""
    numbers = find_window(noise.branches, rates_of(noise))
    if numbers > MOST_NUMBERS:
        why = f"laws of its sums take {numbers:,} numbers, more than {MOST_NUMBERS:,}"
        raise NotApplicable(family=noise.name, why=why)


@lru_cache(maxsize=64)
def _inside(noise: Agreeing, fixed: tuple[bool, ...]) -> Floats:
    """The probabilities P(|S| <= h) for h = 0, 1, …, N/2 − 1, in floats."""
    check_numbers(noise)
    law = np.fft.irfft(_characteristic(noise, fixed))
    halves = law[: len(law) // 2]
    return 2 * np.cumsum(halves) - halves[0]


def _characteristic(noise: Agreeing, fixed: Sequence[bool]) -> Floats:
    """The values E cos(uS) for u = 2πj/N and j = 0, …, N/2, where N is the window.

    −z has the law of z. So m(−t) is the conjugate of m(t), where m(t) is the normaliser given that
    a sum is t, and all spectra are real. A weight is symmetric, so the transform before it and the
    inverse transform after it may change places.
    """
    rates, last = rates_of(noise), _last(fixed)
    solved = solve(noise.branches, rates)
    subtrees = [law.values for (law,) in solved.subtrees]
    size = len(subtrees[0])
    spectra = [np.fft.fft(law).real for law in subtrees]
    twice, lengths = np.tile(spectra[last], 2), np.arange(size // 2 + 1)
    weights = [
        np.exp(-rate * lengths) / acceptance
        for rate, (acceptance,) in zip(rates[:-1], solved.acceptance, strict=True)
    ]
    parts_at_root: list[Floats] = []
    for first in range(0, size // 2 + 1, _FREQUENCIES):
        frequencies = range(first, min(first + _FREQUENCIES, size // 2 + 1))
        # e^(iut)·A has the spectrum of A, shifted by j
        parts = np.stack([twice[size - j : 2 * size - j] for j in frequencies])
        for level in reversed(range(last)):
            b = noise.branches[level]
            sums = (
                parts * raise_to(spectra[level + 1], b - 1) if fixed[level] else raise_to(parts, b)
            )
            parts = np.fft.irfft(np.fft.rfft(sums) * weights[level], size)
        parts_at_root.append(parts[:, 0])
    return np.concatenate(parts_at_root)


def _last(fixed: Sequence[bool]) -> int:
    """The last fixed level, counted from 1; 0 if no level is fixed."""
    return max((level for level, is_fixed in enumerate(fixed, start=1) if is_fixed), default=0)
