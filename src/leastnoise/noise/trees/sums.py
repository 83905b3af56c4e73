"""Sums of cells that are no node: of all cells that agree in the places of some levels.

notation: as in `levels`; a level is `fixed` where all cells that are summed are below the same
child of their nodes of the level above, the first of b_l, say; else the sum goes over all of them.
k is the last level that is fixed, so that the sum S is of nodes of level k. `fixed` begins with
level 1: (True, False, False) are the nodes of level 1 themselves.

Given u, E e^(iuS) is what is left of all weights when each node of level k that is summed has the
weight e^(iuz) as well: A_l as in `levels`, from such nodes upwards. u = 2πj/N for j = 0, …, N − 1
are all that there is to know modulo the window, in which S is where the nodes' sums are: it is one
more sum of at most all cells, for which `find_window` has room.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.errors import NotApplicable
from leastnoise.noise.trees.known import raised
from leastnoise.noise.trees.levels import GIVEN_AWAY, find_window, level_laws, rates_of, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.noise.trees.law import Agreeing

    Floats = NDArray[np.float64]

MOST_NUMBERS = 1 << 11
"""The largest window of such a law, which takes about half a second."""
_FREQUENCIES = 64  # at once


def variance_of_sum(
    branches: Sequence[int], variances: Sequence[float], fixed: Sequence[bool]
) -> float:
    """Return Var S, given the variance of a node of each level, the root's first.

    Two children of a node have the covariance (v_l − b v_{l+1})/(b(b − 1)), b = b_{l+1}, since all
    are alike; two nodes j and k levels below them have it over the numbers of nodes there.
    """
    last = _last(fixed)
    summed = [1 if one else b for one, b in zip(fixed, branches, strict=True)][:last]
    found = math.prod(summed) * variances[last]
    for level, times in enumerate(summed):
        if times > 1:
            b, below = branches[level], math.prod(branches[level + 1 : last])
            covariance = (variances[level] - b * variances[level + 1]) / (b * (b - 1)) / below**2
            pairs = times * (times - 1) * math.prod(summed[level + 1 :]) ** 2
            found += math.prod(summed[:level]) * pairs * covariance
    return found


def half_width_of_sum(noise: Agreeing, fixed: Sequence[bool], coverage: float) -> int:
    """Return a whole number h with P(|S| <= h) >= coverage: the smallest, but for rounding.

    Raises NotApplicable for a law of more than 2^11 numbers, unless S is one node.
    """
    last = _last(fixed)
    if all(fixed[:last]):
        return level_laws(noise)[last].half_width(coverage)
    inside = _inside(noise, tuple(fixed))
    return int(np.flatnonzero(inside >= coverage + GIVEN_AWAY)[0])


def check_numbers(noise: Agreeing) -> None:
    """Raise NotApplicable unless `half_width_of_sum` can be asked for any sum."""
    numbers = find_window(noise.branches, rates_of(noise))
    if numbers > MOST_NUMBERS:
        why = f"laws of sums that are no node would be of {numbers:,} numbers; {MOST_NUMBERS:,} are"
        raise NotApplicable(family=noise.name, why=f"{why} the most")


@lru_cache(maxsize=64)
def _inside(noise: Agreeing, fixed: tuple[bool, ...]) -> Floats:
    """Return P(|S| <= h) for h = 0, 1, …, in floats."""
    check_numbers(noise)
    law = np.fft.irfft(_characteristic(noise, fixed))
    halves = law[: len(law) // 2]
    return 2 * np.cumsum(halves) - halves[0]


def _characteristic(noise: Agreeing, fixed: Sequence[bool]) -> Floats:
    """Return E cos(uS) for u = 2πj/N, j = 0, …, N/2.

    As −z has the law of z, m(−t) is the conjugate of m(t), m(t) what is left of all weights where a
    sum is t, and all spectra are real. A weight is symmetric, so that the transforms around it may
    change places.
    """
    rates, last = rates_of(noise), _last(fixed)
    solved = solve(noise.branches, rates)
    alone = [one.values for (one,) in solved.alone]
    size = len(alone[0])
    spectra = [np.fft.fft(one).real for one in alone]
    twice, lengths = np.tile(spectra[last], 2), np.arange(size // 2 + 1)
    weights = [
        np.exp(-rate * lengths) / kept
        for rate, (kept,) in zip(rates[:-1], solved.kept, strict=True)
    ]
    found: list[Floats] = []
    for first in range(0, size // 2 + 1, _FREQUENCIES):
        chosen = range(first, min(first + _FREQUENCIES, size // 2 + 1))
        # e^(iut)·A has the spectrum of A, moved by j
        parts = np.stack([twice[size - j : 2 * size - j] for j in chosen])
        for level in reversed(range(last)):
            b = noise.branches[level]
            sums = parts * raised(spectra[level + 1], b - 1) if fixed[level] else raised(parts, b)
            parts = np.fft.irfft(np.fft.rfft(sums) * weights[level], size)
        found.append(parts[:, 0])
    return np.concatenate(found)


def _last(fixed: Sequence[bool]) -> int:
    return max((level for level, one in enumerate(fixed, start=1) if one), default=0)
