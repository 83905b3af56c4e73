"""Parts of laws that several kinds of noise share: step densities, on the line and by the radius.

Notation: d is the dimension, X a draw of the noise, X_i one coordinate of X, E the expectation. A
step density has `edges`, `weights` and `levels`, with entries edge_j, weight_j and level_j. On step
j it is proportional to height_j = weight_j · e^(−decay·level_j). Beyond the last step, density and
height are 0. A spherical step density is a mixture of uniform laws on balls: ball j has the radius
edge_j and the probability π_j. Step j of a density on the line has the probability mass_j.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise._record import takes
from leastnoise.balls.core import ball
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import SMALLEST_SQUARED, Exact, exact, exact_where
from leastnoise.noise.base import Noise, gamma_ratio, points_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Spherical step densities in R^d: constant on shells whose radii are exact.


@final
@dataclass(frozen=True, kw_only=True)
class RadialSteps:
    """A spherical density in steps: proportional to height_j for edge_{j−1} <= ‖x‖ < edge_j.

    All three tuples have n entries; edge_{−1} is 0. Edges increase and heights never do, so the
    law is a mixture of uniform laws on the balls of radius edge_j (layer cake). Edges, weights and
    decay are rational, so it is known exactly which radii and which heights of two copies agree.
    """

    edges: tuple[Fraction, ...]
    weights: tuple[int, ...]
    levels: tuple[int, ...]
    decay: Fraction

    @cached_property
    def log_heights(self) -> NDArray[np.float64]:
        """The logarithms of the heights, as floats of shape (n,)."""
        logs = np.array([math.log(weight) for weight in self.weights])
        return logs - float(self.decay) * np.array(self.levels, dtype=float)

    @cached_property
    def float_edges(self) -> NDArray[np.float64]:
        """The edges, as floats of shape (n,)."""
        return np.array([float(edge) for edge in self.edges])

    def ball_masses(self, dimension: int) -> NDArray[np.float64]:
        """The probabilities π_j of the n balls in the mixture, as floats of shape (n,).

        π_j is proportional to (height_j − height_{j+1}) edge_j^d, with d = `dimension`.
        """
        logs = self._log_ball_masses(dimension)
        masses = np.exp(logs - logs.max())
        return masses / masses.sum()

    def log_peak(self, dimension: int) -> float:
        """The number ln(f(0)·V): f is the normalised density, and V the volume of the unit ball."""
        logs = self._log_ball_masses(dimension)
        top = float(logs.max())
        return float(self.log_heights[0]) - top - math.log(float(np.exp(logs - top).sum()))

    def _log_ball_masses(self, dimension: int) -> NDArray[np.float64]:
        drops = np.diff(self.log_heights, append=-np.inf)
        with np.errstate(divide="ignore"):  # between steps of equal height, the mass is 0
            logs = self.log_heights + np.log(-np.expm1(drops))
        return logs + dimension * np.log(self.float_edges)


class RadialStepNoise(Noise):
    """Spherical noise whose density is a `RadialSteps`, in units of its scale.

    A draw chooses ball j with probability π_j, then a uniform point of it (theory/noise.md §2).
    """

    @cached_property
    def steps(self) -> RadialSteps:
        """The density of the noise, in units of its scale."""
        return self._steps()

    @abstractmethod
    def _steps(self) -> RadialSteps:
        """Compute the density that `steps` caches."""

    def fall_within(self, steps: int) -> Fraction:
        """Ln of the largest ratio of the densities on two steps that are at most `steps` apart.

        The formula is right only if all weights are equal and the levels are 0, 1, 2, ….
        """
        return self.steps.decay * min(steps, max(self.steps.levels))

    @cached_property
    def ball_masses(self) -> NDArray[np.float64]:
        """The probabilities π_j of the balls, as floats of shape (n,)."""
        return self.steps.ball_masses(self.dimension)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of the density at `x`, normalised; −inf beyond the last step."""
        d, steps = self.dimension, self.steps
        radius = np.linalg.norm(points_of(x, dimension=self.dimension), axis=-1) / float(self.scale)
        log_ball = d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1)
        peak = steps.log_peak(d) - log_ball - d * math.log(float(self.scale))
        logs = np.append(peak + steps.log_heights - steps.log_heights[0], -np.inf)
        index = np.searchsorted(steps.float_edges, radius, side="right")
        return logs[index]

    @property
    def variance(self) -> float:
        """The variance of one coordinate, scale²·Σ π_j edge_j²/(d + 2).

        A uniform point of the unit ball has the mean square norm d/(d + 2).
        """
        squares = float(self.ball_masses @ self.steps.float_edges**2)
        return float(self.scale) ** 2 * squares / (self.dimension + 2)

    @property
    def mean_abs(self) -> float:
        """The mean absolute value E|X_i| of one coordinate, scale·E|U_1|·Σ π_j edge_j.

        U_1 is a coordinate of a uniform point of the unit ball, and E|U_1| =
        (d/(d + 1)) Γ(d/2)/(√π Γ((d + 1)/2)).
        """
        d = self.dimension
        unit = d / (d + 1) / (math.sqrt(math.pi) * gamma_ratio(d / 2))
        return float(self.scale) * float(self.ball_masses @ self.steps.float_edges) * unit


# Sums over the steps of a staircase: Σ_k e^(−decay·k) (k + first)^power, in logarithms.


SMALLEST_DECAY, LARGEST_DECAY = Fraction(1, 1000), Fraction(10**6)
_MOST_TERMS = 20_000_000
NEGLIGIBLE = 45.0  # terms and tails below e^−45 of the largest are omitted


def step_decay(value: Exact, *, dimension: int, powers: int) -> Fraction:
    """Convert the decay of a staircase in R^dimension to an exact number.

    The staircase's moments take `powers` sums of `log_step_sums`, with powers up to about
    `dimension`. Raises InvalidArgument unless 1e-3 <= decay <= 1e6, and for a decay so small,
    compared with the dimension, that these sums are too long.
    """
    decay = exact(value, name="decay")
    in_range = SMALLEST_DECAY <= decay <= LARGEST_DECAY
    if not in_range or step_terms(decay, dimension=dimension, powers=powers) > _MOST_TERMS:
        raise InvalidArgument(
            name="decay",
            value=str(value)[:40],
            expected=f"1e-3 <= decay <= 1e6, and not so small in {dimension:,} dimensions",
            hint="With a smaller decay, the error is about the same as without steps.",
        )
    return decay


def step_terms(decay: Fraction, *, dimension: int, powers: int) -> float:
    """The approximate number of terms in all sums that a staircase's moments take."""
    low, high = _window(0.0, float(decay), dimension)
    return powers * (high - low)


def _window(first: float, decay: float, power: int) -> tuple[int, int]:
    """Return integers (low, high): in `_log_sum` only the terms with low <= k < high matter.

    Other terms are at most e^−45 of the largest. A term is proportional to x^power e^(−x), with x =
    decay·(k + first). This is largest at x = power, and below e^−45 of the largest at the distance
    √(90·(power + 1)) on the left, and 45 further on the right. If decay·first > power, it falls
    from the first term on.
    """
    spread = math.sqrt(2 * NEGLIGIBLE * (power + 1))
    low = max(0.0, (power - spread) / decay - first - 1)
    high = (power + NEGLIGIBLE + spread) / decay + 2 - min(first, power / decay)
    return math.floor(low), math.ceil(high) + 1


def log_step_sums(*, first: float, decay: float, powers: NDArray[np.int64]) -> NDArray[np.float64]:
    """The logarithms of the means of (k + first)^power, for each power in `powers`.

    The integer k >= 0 is geometric: its probability is (1 − q) q^k, with q = e^(−decay). All terms
    of the mean are positive, so nothing cancels.

    >>> log_step_sums(first=0.5, decay=2.0, powers=np.array([0, 1])).round(6)
    array([ 0.      , -0.420806])
    """
    logs = np.empty(len(powers))
    windows = [_window(first, decay, power) for power in powers.tolist()]
    short = np.array([high - low <= _MANY_TERMS for low, high in windows])
    for index in np.flatnonzero(~short):
        logs[index] = _log_sum(first, decay, int(powers[index]))
    rows = np.flatnonzero(short)
    together = 64  # powers whose terms are computed at once, since their windows nearly coincide
    for start in range(0, len(rows), together):
        block = rows[start : start + together]
        logs[block] = _log_sums_of_terms(
            first, decay, powers[block], [windows[index] for index in block]
        )
    return logs + math.log(-math.expm1(-decay))


def _log_sums_of_terms(
    first: float, decay: float, powers: NDArray[np.int64], windows: list[tuple[int, int]]
) -> list[float]:
    """The same floats as from `_log_sum_of_terms`, for several powers and their windows."""
    least = min(low for low, _ in windows)
    k = np.arange(least, max(high for _, high in windows), dtype=float)
    logs = powers[:, None] * np.log(k + first) - decay * k
    inside = [slice(low - least, high - least) for low, high in windows]
    tops = [float(row[part].max()) for row, part in zip(logs, inside, strict=True)]
    terms = np.exp(logs - np.array(tops)[:, None])
    return [
        top + math.log(float(row[part].sum()))
        for top, row, part in zip(tops, terms, inside, strict=True)
    ]


_MANY_TERMS = 1000  # with more terms the binomial theorem is faster
_MOST_POWER = 200  # the largest power; its coefficients are floats, at quadratic cost


def _log_sum(first: float, decay: float, power: int) -> float:
    """The logarithm of Σ_{k>=0} e^(−decay·k) (k + first)^power, by the fastest accurate formula."""
    low, high = _window(first, decay, power)
    if high - low <= _MANY_TERMS:
        return _log_sum_of_terms(first, decay, power)
    if power <= _MOST_POWER:
        return _log_sum_of_powers(first, decay, power)
    if 0 <= first <= 1 and _log_ripple(decay, power) < -NEGLIGIBLE:
        return math.lgamma(power + 1) - (power + 1) * math.log(decay) + first * decay
    return _log_sum_of_terms(first, decay, power)


def _log_ripple(decay: float, power: int) -> float:
    """Estimate the logarithm of the relative error of replacing a sum by an integral.

    The sum is Σ_{k>=0} f(k + first), 0 <= first <= 1, and the integral ∫ f over x >= 0, for f(x) =
    x^power e^(−decay·x). At the frequency n, the Fourier transform of f is power!/(decay +
    2πin)^(power + 1). By Poisson's summation formula the sum is the transform at n = 0, which is
    the integral, plus ripples. The largest are at n = ±1. A constant factor is left out.
    """
    return -(power + 1) / 2 * math.log1p((2 * math.pi / decay) ** 2)


def _log_sum_of_powers(first: float, decay: float, power: int) -> float:
    """The result of `_log_sum` by the binomial theorem, from the sums for first = 0.

    With the numbers b_i of `_scaled_power_sums`, the sum is
    power!·decay^(−power)·Σ_i b_i (first·decay)^(power − i)/(power − i)!.
    """
    sums = np.log(_scaled_power_sums(decay, power))
    if first > 0:
        rest = np.arange(power, -1, -1)
        factorials = np.array([math.lgamma(n + 1) for n in rest])
        sums = sums + rest * math.log(first * decay) - factorials
    else:
        sums = sums[-1:]
    top = float(sums.max())
    total = top + math.log(float(np.exp(sums - top).sum()))
    return total + math.lgamma(power + 1) - power * math.log(decay)


@lru_cache(maxsize=16)  # a search tries many first steps at one decay
def _scaled_power_sums(decay: float, power: int) -> NDArray[np.float64]:
    """The scaled sums b_n = (decay^n/n!) Σ_{k>=0} q^k k^n, where q = e^(−decay) and 0⁰ = 1.

    They are floats of shape (power + 1,), for n = 0 … power. For n >= 1 the sum equals
    q Σ_{k>=0} q^k (k + 1)^n, so that b_n = q/(1 − q) Σ_{i=1…n} (decay^i/i!) b_{n−i}. All terms are
    positive.
    """
    sums = np.empty(power + 1)
    sums[0] = -1 / math.expm1(-decay)
    steps = np.cumprod(np.full(power, decay) / np.arange(1, power + 1))
    odds = 1 / math.expm1(decay)
    for n in range(1, power + 1):
        sums[n] = odds * float(steps[:n] @ sums[n - 1 :: -1][:n])
    return sums


def _log_sum_of_terms(first: float, decay: float, power: int) -> float:
    k = np.arange(*_window(first, decay, power), dtype=float)
    logs = power * np.log(k + first) - decay * k
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


# Symmetric step densities on the line: piecewise constant, with exact edges.


@final
@dataclass(frozen=True, kw_only=True)
class Steps:
    """A symmetric density in steps: proportional to height_j for edge_j <= |x| < edge_{j+1}.

    The n + 1 `edges` increase from 0; `weights` and `levels` have n entries. Edges, weights and
    decay are rational, so it is known exactly which edges of two shifted copies coincide.
    """

    edges: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    levels: tuple[int, ...]
    decay: Fraction

    @property
    def falls(self) -> bool:
        """True if the density is proved never to increase away from 0."""
        weights = all(a >= b for a, b in pairwise(self.weights))
        return weights and all(a <= b for a, b in pairwise(self.levels))

    def overlay(self, shift: Fraction) -> Iterator[tuple[Fraction, int, int | None]]:
        """Yield (width, i, k) for each piece on which this density and its copy are constant.

        The copy is moved by `shift`. i is the step of this density, and k the step of the copy, or
        None where the copy is 0. Pieces where this density is 0 are omitted. Rationals decide which
        edges coincide.
        """
        ends = (*(-edge for edge in reversed(self.edges[1:])), *self.edges)
        n = len(self.weights)
        steps = (*range(n - 1, -1, -1), *range(n))
        other = 0  # the other copy's next end is ends[other] + shift
        for (left, right), here in zip(pairwise(ends), steps, strict=True):
            start = left
            while start < right:
                while other < len(ends) and ends[other] + shift <= start:
                    other += 1
                stop = min(right, ends[other] + shift) if other < len(ends) else right
                there = steps[other - 1] if 0 < other < len(ends) else None
                yield stop - start, here, there
                start = stop

    def worst_shifts(self, limit: Fraction) -> tuple[Fraction, ...]:
        """Shifts in (0, limit], one of which has the largest δ of all shifts up to `limit`.

        If the density never increases away from 0, the worst shift is `limit` (theory/noise.md §1).
        Otherwise consider the shifts at which edges of the two copies meet. Between two of them δ
        is affine in the shift, since the widths of the pieces are.
        """
        if self.falls:
            return (limit,)
        meets = {abs(a + sign * b) for a in self.edges for b in self.edges for sign in (1, -1)}
        return (*(shift for shift in meets if 0 < shift < limit), limit)

    @cached_property
    def masses(self) -> NDArray[np.float64]:
        """The probabilities of the n steps, both sides of 0 together, as floats of shape (n,)."""
        heights = np.array([float(weight) for weight in self.weights])
        heights *= np.exp(-float(self.decay) * np.array(self.levels, dtype=float))
        masses = heights * np.diff(self.float_edges)
        return masses / masses.sum()

    @cached_property
    def float_edges(self) -> NDArray[np.float64]:
        """The n + 1 edges, as floats of shape (n + 1,)."""
        return np.array([float(edge) for edge in self.edges])


class StepNoise(Noise):
    """Noise for one number: exactly 0 with probability `atom`, otherwise with density `steps`."""

    atom: Fraction = Fraction(0)

    @cached_property
    def steps(self) -> Steps:
        """The density of the noise, in units of its scale and without the atom."""
        return self._steps()

    @abstractmethod
    def _steps(self) -> Steps:
        """Compute the density that `steps` caches."""

    def fall_within(self, steps: int) -> Fraction:
        """Ln of the largest ratio of the densities on two steps that are at most `steps` apart.

        The formula is right only if all weights are equal and the levels are 0, 1, 2, ….
        """
        return self.steps.decay * min(steps, max(self.steps.levels))

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of the density at `x`; −inf beyond the last step.

        The steps have the mass 1 − atom; the atom itself has no density.
        """
        scale, steps = float(self.scale), self.steps
        magnitude = np.abs(points_of(x, dimension=self.dimension)[..., 0]) / scale
        index = np.searchsorted(steps.float_edges, magnitude, side="right") - 1
        with np.errstate(divide="ignore"):
            logs = np.log(steps.masses / np.diff(steps.float_edges) / (2 * scale))
        logs += math.log(1 - self.atom)
        return np.append(logs, -np.inf)[np.minimum(index, len(logs))]

    @property
    def variance(self) -> float:
        """The variance: scale²·(1 − atom) times Σ mass_j (a² + ab + b²)/3 over the steps [a, b)."""
        a, b = self.steps.float_edges[:-1], self.steps.float_edges[1:]
        spread = float(self.steps.masses @ (a * a + a * b + b * b)) / 3
        return float(1 - self.atom) * float(self.scale) ** 2 * spread

    @property
    def mean_abs(self) -> float:
        """The mean |X|: scale·(1 − atom) times Σ mass_j (a + b)/2 over the steps [a, b)."""
        a, b = self.steps.float_edges[:-1], self.steps.float_edges[1:]
        spread = float(self.steps.masses @ (a + b)) / 2
        return float(1 - self.atom) * float(self.scale) * spread


# Laws on a lattice.


def nearest_cells(
    noise: Noise, x: ArrayLike, *, cells: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Express each |x| in cells of width scale/cells, rounded to integers.

    Returns these integers, and flags that are True if x lies on the lattice: within 1e-9·(1 + n)
    cells of its integer n. Both arrays have the shape of `x` without the last axis.
    """
    lengths = np.abs(points_of(x, dimension=noise.dimension)[..., 0])
    cells_from_zero = lengths * (cells / float(noise.scale))
    nearest = np.rint(cells_from_zero)
    near = 1e-9  # the distance from a lattice point, relative to x and to a cell
    return nearest, np.abs(cells_from_zero - nearest) < near * (1 + nearest)


# The steps of a truncated staircase, shared by all truncated staircases for vectors.
#
# In units of the scale the density is ∝ e^(−decay·k) between the edges gamma + k − 1 and gamma + k,
# k = 0, 1, …, up to the last edge `radius`. It is 0 beyond. gamma is in (0, 1], radius is positive
# and decay is not negative.


MAX_STEPS = 20_000  # a proof evaluates each step
SMALLEST_RADIUS = Fraction(1, 10**12)


GAMMA = takes(
    exact_where,
    holds=lambda gamma: SMALLEST_SQUARED <= gamma <= 1,
    expected="1e-140 <= gamma <= 1",
)
RADIUS = takes(
    exact_where,
    holds=lambda radius: SMALLEST_RADIUS <= radius <= MAX_STEPS,
    expected=f"1e-12 <= radius <= {MAX_STEPS:,}",
)
DECAY = takes(
    exact_where, holds=lambda decay: 0 <= decay <= LARGEST_DECAY, expected="0 <= decay <= 1e6"
)


def truncated_steps(*, gamma: Fraction, radius: Fraction, decay: Fraction) -> RadialSteps:
    """The steps of a truncated staircase, each e^−decay times as high as the step before.

    The edges are gamma, gamma + 1, … below the radius, and the radius itself.
    """
    count = max(0, math.ceil(radius - gamma))
    edges = (*(gamma + j for j in range(count)), radius)
    return RadialSteps(
        edges=edges, weights=(1,) * len(edges), levels=tuple(range(len(edges))), decay=decay
    )


# The probabilities of the balls of a spherical step density.


def cumulative(steps: RadialSteps, dimension: int) -> list[arb]:
    """Enclose the sums π_0 + … + π_j of the balls' probabilities; the last is exactly 1.

    A sampler chooses a ball by comparing a uniform number with these sums.
    """
    heights = [
        ball(weight) * ball(-steps.decay * level).exp()
        for weight, level in zip(steps.weights, steps.levels, strict=True)
    ]
    sums = [ball(0)]
    for height, lower, edge in zip(heights, [*heights[1:], ball(0)], steps.edges, strict=True):
        sums.append(sums[-1] + (height - lower) * ball(edge) ** dimension)
    return [*(partial / sums[-1] for partial in sums[1:-1]), ball(1)]
