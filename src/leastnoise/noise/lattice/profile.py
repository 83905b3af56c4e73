"""δ(ε) and quantiles of laws on a lattice, in floats; X is a draw of the noise."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from leastnoise.noise.lattice.law import DiscreteStaircase, Lattice


def delta(lattice: Lattice, *, shifts: Iterable[int], epsilon: float) -> float:
    """Return the largest δ(ε) over `shifts`, which are whole numbers of cells.

    At a shift j it is the sum of (p_k − e^ε p_(k−j))₊ over all k, where p_k is the probability of
    the lattice point k. The difference is computed from the logarithm of the ratio. So its error is
    tiny relative to p_k, even if the two terms nearly agree.
    """
    logs = lattice.log_probabilities()
    logs = np.concatenate([logs[:0:-1], logs])
    return max((_at(logs, shift, epsilon) for shift in shifts), default=0.0)


def _at(logs: np.ndarray, shift: int, epsilon: float) -> float:
    """Return δ(ε) at one shift, from the logarithms of the probabilities of all lattice points."""
    if shift >= len(logs):
        return 1.0
    exposed = np.exp(logs[:shift])
    here, there = logs[shift:], logs[: len(logs) - shift]
    kept = np.isfinite(here)
    with np.errstate(invalid="ignore"):
        gap = epsilon + there[kept] - here[kept]
    terms = np.exp(here[kept]) * -np.expm1(np.minimum(gap, 0.0))
    return math.fsum([*exposed.tolist(), *terms.tolist()])


def quantile(noise: DiscreteStaircase, outside: float) -> float:
    """The quantile t in scales: the least multiple of 1/cells with P(|X| > t·scale) <= outside."""
    chances = noise.lattice.probabilities
    within = 2 * np.cumsum(chances) - chances[0]
    return min(int(np.searchsorted(within, 1 - outside)), len(chances) - 1) / noise.cells
