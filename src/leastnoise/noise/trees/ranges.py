"""The noise of the sum of any consecutive cells of an even tree: its variance and its law.

Notation: R is the sum of the cells `first` … `last` − 1, the range, and n is the number of cells. A
node of level l (0 for the root) has b children and the rate r_l = shares[l]/scale. A_l is the law
of its sum if only the weights of the node and of the nodes below it count. κ_l is the share of
candidates that the sampler keeps (see `levels`). z is the noise of all cells. N is a window: laws
are computed modulo N. E is the mean, and P is a probability. E[Y; t] is the mean of Y where the
node's sum is t, and of 0 elsewhere.

Given u, a pass upwards carries m(t) = E[e^(iuw); t] of a node. Here w is the sum of the node's
cells in the range, and t the sum of all its cells. For a node inside the range m(t) =
e^(iut)·A_l(t), and for a node outside it m(t) = A_l(t). Otherwise m is e^(−r_l|t|)/κ_l times the
convolution of its children's m. The m of the root, summed over t, is E e^(iuR); its values at u =
2πk/N determine the law of R modulo N. As −z has the law of z, m(−t) is the conjugate of m(t), and
all spectra are real. The same pass carries m_i(t) = E[w^i; t], i = 0, …, 8, from which moments
follow.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache, reduce
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.errors import InvalidArgument
from leastnoise.noise.trees.levels import GIVEN_AWAY, rates_of, solve
from leastnoise.noise.trees.prefixes import (
    MOST,
    ORDERS,
    add_allowances,
    check_moments,
    convolve_moments,
    cut_law,
    find_window,
    prefix_moments,
    spectra_of_powers,
    sum_laws,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from leastnoise.noise.trees.law import Agreeing

    Floats = NDArray[np.float64]
    Spectra = NDArray[np.complex128]

MOST_WORK = 1 << 29
"""The largest product of both windows and the levels, some seconds; beyond it half-widths follow
from moments."""


def range_variance(
    branches: Sequence[int], variances: Sequence[float], first: int, last: int
) -> float:
    """The variance of R for 0 <= `first` < `last` <= n, given the variance of a node by level.

    `variances` begin with the root. If two cells are below two different children of a node, their
    covariance depends only on the node's level.
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
    """The parts of a range in the children of a node: pairs (first, last) of cells of a child.

    The node has b children of `below` cells each. Children that the range doesn't overlap are left
    out.
    """
    pairs = [
        (max(first - child * below, 0), min(last - child * below, below)) for child in range(b)
    ]
    return [(start, end) for start, end in pairs if start < end]


def range_half_width(noise: Agreeing, first: int, last: int, coverage: float) -> int:
    """An integer h with P(|R| <= h) >= `coverage`.

    It is nearly the smallest such h; allowances for rounding and for the finite window may increase
    it. If the law takes more than `MOST_WORK`, h follows from Markov's inequality and is larger.
    Raises InvalidArgument unless 0 < coverage < 1, and if it is too close to 1 to be decided.
    Raises NotApplicable if the moments take too much work.
    """
    if not 0 < coverage < 1:
        raise InvalidArgument(name="coverage", value=coverage, expected="0 < coverage < 1")
    moments = range_moments(noise, first, last)
    if law_work(noise, moments) > MOST_WORK:
        widths = (moments / (1 - coverage)) ** (1 / np.array(ORDERS, dtype=np.float64))
        return math.floor(widths.min())  # P(|R| > h) = P(|R| >= h + 1)
    halves, slack = _law(noise, first, last)
    inside = 2 * np.cumsum(halves) - halves[0] - slack
    if inside[-1] < coverage:
        expected = f"coverage <= {inside[-1]:.12g} for this noise"
        raise InvalidArgument(name="coverage", value=coverage, expected=expected)
    return int(np.argmax(inside >= coverage))


@lru_cache(maxsize=16)
def range_moments(noise: Agreeing, first: int, last: int) -> Floats:
    """Upper bounds on the moments E R^p for p in `ORDERS`; shape (4,).

    They are computed like `prefix_moments`.
    """
    check_moments(noise)
    moments = _Nodes(noise).moments(first, last)[list(ORDERS)]
    return add_allowances(moments, largest=prefix_moments(noise).max(axis=0))


def law_work(noise: Agreeing, moments: Floats) -> int:
    """The work to compute the law of a sum with these moments."""
    return find_window(noise) * _window_of_sum(noise, moments) * len(noise.branches)


def _window_of_sum(noise: Agreeing, moments: Floats) -> int:
    """A window N for R: a power of two with E R^8/(N/2)^8 <= 1e-6, given the `moments` of R.

    N is at most the nodes' window, even if the inequality then fails.
    """
    least = 2 * (float(moments[-1]) / GIVEN_AWAY) ** (1 / ORDERS[-1])
    return min(1 << max(6, math.ceil(math.log2(max(least, 1.0)))), find_window(noise))


@lru_cache(maxsize=16)
def _law(noise: Agreeing, first: int, last: int) -> tuple[Floats, float]:
    """The probabilities P(R = t) for t = 0, …, N/2 − 1, and an error bound.

    The error of any sum of these probabilities is at most the bound. N is `_window_of_sum`.
    """
    moments = range_moments(noise, first, last)
    numbers, nodes = _window_of_sum(noise, moments), _Nodes(noise)
    turns = np.arange(numbers // 2 + 1) * (nodes.size // numbers)
    law = np.fft.irfft(
        np.array([nodes.characteristic(first, last, turn=turn) for turn in turns.tolist()]), numbers
    )
    excess = max(float(law.sum()) - 1, 0.0)
    beyond = float(moments[-1]) / (numbers / 2) ** ORDERS[-1]
    return law[: numbers // 2], beyond + excess + GIVEN_AWAY


class _Nodes:
    """The laws A_l of the nodes of each level, their spectra, and the weights e^(−r_l|t|)/κ_l."""

    def __init__(self, noise: Agreeing) -> None:
        rates, self.size, self.branches = rates_of(noise), find_window(noise), noise.branches
        solved = solve(noise.branches, rates)
        lengths = np.arange(self.size // 2 + 1)
        self.weights = [
            np.exp(-rate * lengths) / acceptance
            for rate, (acceptance,) in zip(rates[:-1], solved.acceptance, strict=True)
        ]
        self.laws = [cut_law(law.values, self.size) for (law,) in solved.subtrees]
        self.spectra = [np.fft.fft(law).real for law in self.laws]
        self.at_root = np.fft.irfft(self.weights[0], self.size)

    def characteristic(self, first: int, last: int, *, turn: int) -> float:
        """The number E e^(iuR) for u = 2π·turn/N, where N is the nodes' window.

        Sums over all t are inner products of spectra.
        """
        if first <= 0 and last >= math.prod(self.branches):
            return float(self.spectra[0][turn])
        return float(self.at_root @ self._below(0, first, last, turn=turn))

    def _spectrum(self, level: int, first: int, last: int, *, turn: int) -> Floats:
        """The spectrum of m of a node whose cells `first` … `last` − 1 are in the range.

        Cells are counted within the node, and `level` is its level. `turn` is as in
        `characteristic`. The weight is symmetric, so the transform before it and the inverse
        transform after it may change places.
        """
        children = np.fft.rfft(self._below(level, first, last, turn=turn))
        return np.fft.irfft(children * self.weights[level], self.size)

    def _below(self, level: int, first: int, last: int, *, turn: int) -> Floats:
        """The spectrum of the convolution of the children's m, for a node as in `_spectrum`.

        For a child inside the range, m = e^(iut)·A has the spectrum of A, shifted by `turn`.
        """
        whole, outside, partial = self._children(level, first, last)
        powers = self._powers[level]
        product = np.roll(powers[whole], -turn) * powers[outside]
        for start, end in partial:
            product *= self._spectrum(level + 1, start, end, turn=turn)
        return product

    @cached_property
    def _powers(self) -> list[list[Floats]]:
        """For each level, the spectra of the laws of the sums of 0, …, b children."""
        pairs = zip(self.spectra[1:], self.branches, strict=True)
        return [[law**count for count in range(b + 1)] for law, b in pairs]

    def moments(self, first: int, last: int) -> Floats:
        """The moments E R^i for i = 0, …, 8; shape (9,)."""
        if first <= 0 and last >= math.prod(self.branches):
            sums, weights = np.power.outer(self._points, range(MOST + 1)).T, self.laws[0]
        else:
            sums = np.fft.irfft(self._moments_below(0, first, last), self.size)
            weights = np.append(self.weights[0], self.weights[0][-2:0:-1])
        return np.asarray(sums @ weights)

    def _moments_below(self, level: int, first: int, last: int) -> Spectra:
        """The spectra of m_0, …, m_8 of a node of `level`, without the node's own weight.

        They are its children's moments, convolved by the binomial theorem. The node's own weight is
        e^(−r_l|t|)/κ_l with l = `level`.
        """
        whole, outside, partial = self._children(level, first, last)
        sums = sum_laws(self.laws[level + 1], max(whole, outside))
        parts = [
            spectra_of_powers(sums[whole], 1.0, self._points),
            spectra_of_powers(sums[outside], 0.0, self._points),
        ]
        for start, end in partial:
            below = np.fft.irfft(self._moments_below(level + 1, start, end), self.size)
            weights = np.append(self.weights[level + 1], self.weights[level + 1][-2:0:-1])
            parts.append(np.fft.rfft(below * weights))
        return reduce(convolve_moments, parts)

    def _children(
        self, level: int, first: int, last: int
    ) -> tuple[int, int, list[tuple[int, int]]]:
        """The numbers of children inside and outside the range, and the overlaps of the others."""
        b, below = self.branches[level], math.prod(self.branches[level + 1 :])
        overlaps = _overlaps(b, below, first, last)
        partial = [(start, end) for start, end in overlaps if end - start < below]
        return len(overlaps) - len(partial), b - len(overlaps), partial

    @cached_property
    def _points(self) -> Floats:
        return np.asarray(np.fft.fftfreq(self.size, 1 / self.size), dtype=np.float64)
