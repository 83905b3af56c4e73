"""Variances and standard deviations, from a noisy count, sum and sum of squares of one draw.

Notation: u is a value relative to the middle of the bounds, scaled to [−1, 1]. n, S and Q are the
noisy sums of 1, u and 2u² − 1. t, w and d are `half983` of the noise of S, Q and n. a = S/n is the
mean of u, m = (1 + Q/n)/2 the mean of u², and V = m − a² the variance of u. radius is half the
width of the bounds.

The variance is of the population, Σ(x − mean)²/n. The estimate from a sample, which divides by
n − 1, is larger by a factor of n/(n − 1).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, NamedTuple, final

import numpy as np

from leastnoise.tables.statistics.base import (
    CLOSE,
    NEAR,
    SUFFIXES,
    SUMMED_COLUMN,
    ColumnIs,
    ColumnStatistic,
    Component,
    Ends,
    Floats,
    FourColumns,
    Ingredients,
    Published,
    centred_value,
    count_of,
    is_outside,
    require_size,
)
from leastnoise.tables.statistics.spread_tests import find_spread_tests

if TYPE_CHECKING:
    from leastnoise.tables.spec.model import Spec

_NONE = 0.5  # V if n <= 0: the same as for S = Q = 0
_LARGEST_STD = 0.5  # largest standard deviation of a number in [0, 1]
_LAST_DIGIT = 2.0**-52  # relative rounding of a float
_MEANS = 65  # the number of a² to try if no mean determines it


@final
class _Known(NamedTuple):
    """A published variance V, and the squared means a² that are possible beside it.

    `squares` has a row for each tried a². `is_exact` is True if the published mean determines a²;
    `is_rounded` is True if it determines a² only up to the rounding of floats.
    """

    variance: Floats
    squares: Floats
    is_exact: bool
    is_rounded: bool = False


@dataclass(frozen=True, kw_only=True)
class Spread(ColumnStatistic):
    """A statistic that is a function of V, the variance of the scaled values."""

    column_is: ClassVar[ColumnIs] = "required"
    of_values: ClassVar[bool] = True
    column_types = SUMMED_COLUMN
    counts: ClassVar[bool] = False
    clamps: ClassVar[bool] = False
    needs_size: ClassVar[bool] = True

    @abstractmethod
    def from_variance(self, ingredients: Ingredients, variance: Ends) -> Floats:
        """The value of the statistic if the scaled values have this variance V."""

    @abstractmethod
    def to_variance(self, ingredients: Ingredients, value: Floats) -> Floats:
        """The variance V of the scaled values, from the value of the statistic."""

    @abstractmethod
    def std_from_variance(self, ingredients: Ingredients, variance: Floats, std: Floats) -> Floats:
        """The statistic's `_std`, from the `std` of V; at most half of the statistic's range.

        No distribution on [0, 1] has a standard deviation above ½ (Popoviciu).
        """

    @abstractmethod
    def variance_std(self, ingredients: Ingredients, variance: Floats, std: Floats) -> Floats:
        """The `std` of V, from the statistic's `_std`, if `_std` is below its maximum."""

    @final
    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """The components of the value, its square and the count; a mean shares value and count."""
        del by_row
        value = centred_value(spec, self.column)
        return value, replace(value, kind="square"), count_of(spec, self.column)

    @final
    def values(self, ingredients: Ingredients, numbers: Sequence[Floats]) -> FourColumns:
        """The four columns, as functions of V = m − a²; if n <= 0, V is ½, whatever S and Q are.

        m is clamped to at most 1, its largest value without noise, and V to [0, 1]. The standard
        deviation of V is by the delta method, with ∂V/∂S = −2a/n, ∂V/∂Q = 1/(2n) and ∂V/∂n = (2a² −
        Q/n/2)/n = (a² − V + ½)/n. `std_from_variance` limits it to the largest standard deviation
        of any distribution on the range.
        """
        total, square, count = numbers
        positive = count > 0
        n = np.where(positive, count, 1.0)
        squared_mean = np.where(positive, np.minimum((total / n) ** 2, 1.0), 0.0)
        second = np.minimum((1 + square / n) / 2, 1.0)
        variance = np.where(positive, np.clip(second - squared_mean, 0.0, 1.0), _NONE)
        std = np.where(positive, _slope(ingredients, squared_mean, variance) / n, np.inf)
        low, high = _ends(ingredients, total, square, count)
        low, high = np.minimum(low, variance), np.maximum(high, variance)
        value, low, high = (
            self.from_variance(ingredients, variance_end) for variance_end in (variance, low, high)
        )
        return value, self.std_from_variance(ingredients, variance, std), low, high

    @final
    def expected_std(
        self, ingredients: Ingredients, stds: Sequence[float], rows: int | None
    ) -> float:
        """An upper bound on `_std` for a count without noise.

        It is reached if all values are at one bound, with a² = 1 and V = 0.

        The delta method's variance is convex in a² and V. So it is largest at a corner of [0, 1]²,
        and the corner (1, 0) has the largest value.
        """
        of_sum, of_square, of_count = stds
        std = math.hypot(2 * of_sum, of_square / 2, 1.5 * of_count) / require_size(rows)
        return float(self.std_from_variance(ingredients, np.zeros(1), np.full(1, std))[0])

    @final
    def expected_half_width(self, ingredients: Ingredients, rows: int | None) -> float:
        """An upper bound on half the width of the statistic's interval in a group of `rows` rows.

        The noisy n is taken to be `rows`.

        With tests (`spread_tests`), the accepted variances span at most 2c/n + (a − â)². Here c is
        the largest half-width of these tests, â the noisy mean, and a an accepted mean. By the test
        of means, |a − â| <= c′/n, where c′ is its largest half-width.

        Without tests, let 2h and 2g be bounds on the widths of the intervals of Q/n and of a, each
        clamped to [−1, 1]. As for a mean, h = (w + d)/(n + d) if n >= 2w + d, otherwise h = 1. For
        g, replace w by t. Then the interval of m = (1 + Q/n)/2 has width h, and a² in [1 − 2g, 1]²
        has width 4g(1 − g), or 1 if g > ½. A standard deviation is a root: the root of an interval
        [V, V + x] is widest at V = 0, where it has width √x.
        """
        n = float(require_size(rows))
        if (tests := find_spread_tests(ingredients.noise)) is not None:
            width = min(2 * tests.largest / n + (tests.means.widths[-1] / n) ** 2, 1.0)
            return float(self.from_variance(ingredients, width)) / 2
        t, w, d = (noise.half983 for noise in ingredients.noise)
        of_square, of_mean = (
            (half_width + d) / (n + d) if n >= 2 * half_width + d else 1.0 for half_width in (w, t)
        )
        of_mean = min(of_mean, 0.5)  # 4g(1 − g) is 1 at ½, and falls beyond it
        width = min(of_square + 4 * of_mean * (1 - of_mean), 1.0)
        return float(self.from_variance(ingredients, width)) / 2

    @final
    def stated_std(self, ingredients: Ingredients) -> None:
        """None, since `_std` depends on the noisy numbers."""

    @final
    def in_common_unit(self, ingredients: Ingredients, value: Floats) -> Floats:
        """The variance V, which is the same for all spreads of the same components."""
        return self.to_variance(ingredients, value)

    @final
    def find_wrong_suffix(
        self, ingredients: Ingredients, columns: Sequence[Floats], published: Published
    ) -> str | None:
        """The suffix of the first wrong column, or None; "" for the value itself.

        Checks all ranges, then compares with the published count, mean and variance.
        """
        value, std, low, high = columns
        most = self.from_variance(ingredients, 1.0)
        limits = ((0.0, most), (0.0, most * _LARGEST_STD), (0.0, value), (value, most))
        for suffix, number, (bottom, top) in zip(SUFFIXES, columns, limits, strict=True):
            if is_outside(number, bottom, top, CLOSE * most):
                return suffix
        variance = self.to_variance(ingredients, value)
        others = published.get(ingredients.components, ())
        if any(is_outside(other, variance, variance, CLOSE) for other in others):
            return ""
        means = published.get((ingredients.components[0], ingredients.components[2]), ())
        counts = published.get(ingredients.components[2:], ())
        known = _known(ingredients, variance, means[0] if means else None)
        if not (std > 0).all() or not all(
            self._fits(ingredients, known, std, count) for count in counts
        ):
            return "_std"
        uncut = (std < most * _LARGEST_STD * (1 - NEAR)) & (variance > 0)
        limits_of_ends = _limits(ingredients, known, self.variance_std(ingredients, variance, std))
        for suffix, end, ends in zip(SUFFIXES[2:], (low, high), limits_of_ends, strict=True):
            within = [
                np.where(uncut, end_variance, other)
                for end_variance, other in zip(ends, (0, 1), strict=True)
            ]
            bottom, top = (self.from_variance(ingredients, end_variance) for end_variance in within)
            if is_outside(end, bottom, top, CLOSE * most):
                return suffix
        return None

    def _fits(self, ingredients: Ingredients, known: _Known, std: Floats, count: Floats) -> bool:
        """True if `_std` agrees with the published count, for some of the possible a²."""
        variance, squares, is_exact, _ = known
        if not is_exact:  # the parabola in a² has its minimum at an end, or here
            of_sum, _, of_count = (noise.std for noise in ingredients.noise)
            bottom = variance - 0.5 - 2 * (of_sum / of_count) ** 2
            squares = np.concatenate([squares, np.clip(bottom, squares[0], squares[-1])[None]])
        slope = _slope(ingredients, squares, variance)
        away = ingredients.multiple / 2
        least, most = (
            self.std_from_variance(ingredients, variance, np.where(n > 0, slope_end / n, np.inf))
            for slope_end, n in (
                (slope.min(axis=0), count + away),
                (slope.max(axis=0), count - away),
            )
        )
        fits = (std >= least * (1 - CLOSE)) & (std <= most * (1 + CLOSE))
        none = (count + away <= 0) & (np.abs(variance - _NONE) > CLOSE)
        return bool((fits & ~none).all())


@final
@dataclass(frozen=True, kw_only=True)
class Var(Spread):
    """`var(column)`: the population variance, radius²·V."""

    kind: ClassVar[str] = "var"

    def unit(self, ingredients: Ingredients) -> float:
        """The squared half-width of the column's bounds: the variance if V = 1."""
        return ingredients.unit**2

    def from_variance(self, ingredients: Ingredients, variance: Ends) -> Floats:
        """The variance in squared units of the column, radius²·V."""
        return ingredients.unit**2 * np.asarray(variance)

    def to_variance(self, ingredients: Ingredients, value: Floats) -> Floats:
        """The variance V of the scaled values, from the variance in squared units of the column."""
        return value / ingredients.unit**2

    def std_from_variance(self, ingredients: Ingredients, variance: Floats, std: Floats) -> Floats:
        """The `_std` in squared units of the column, at most radius²/2."""
        del variance
        return ingredients.unit**2 * np.minimum(std, _LARGEST_STD)

    def variance_std(self, ingredients: Ingredients, variance: Floats, std: Floats) -> Floats:
        """The `std` of V, from the `_std` in squared units of the column."""
        del variance
        return std / ingredients.unit**2


@final
@dataclass(frozen=True, kw_only=True)
class Std(Spread):
    """`std(column)`: the population standard deviation, radius·√V."""

    kind: ClassVar[str] = "std"

    def from_variance(self, ingredients: Ingredients, variance: Ends) -> Floats:
        """The standard deviation radius·√V.

        It rises with V, so it maps ends of intervals to ends.
        """
        return ingredients.unit * np.sqrt(np.asarray(variance))

    def to_variance(self, ingredients: Ingredients, value: Floats) -> Floats:
        """The variance V of the scaled values, from the standard deviation in the column's unit."""
        return (value / ingredients.unit) ** 2

    def std_from_variance(self, ingredients: Ingredients, variance: Floats, std: Floats) -> Floats:
        """The `_std` by the delta method, std/(2√V), but at most √std; times the radius.

        The limit √std holds since the roots of two variances V and V′ differ by at most √|V − V′|.
        """
        root = np.sqrt(std)
        delta = np.divide(std, 2 * np.sqrt(variance), out=np.array(root), where=4 * variance > std)
        return ingredients.unit * np.minimum(delta, _LARGEST_STD)

    def variance_std(self, ingredients: Ingredients, variance: Floats, std: Floats) -> Floats:
        """The `std` of V from the `_std` of radius·√V, if that is below its maximum."""
        scaled = std / ingredients.unit
        root = 2 * np.sqrt(variance)
        return scaled * np.maximum(scaled, root)


def _slope(ingredients: Ingredients, squared_mean: Floats, variance: Floats) -> Floats:
    """The standard deviation of V by the delta method, times n: see `Spread.values`."""
    of_sum, of_square, of_count = (noise.std for noise in ingredients.noise)
    of_n = (squared_mean - variance + 0.5) * of_count
    return np.sqrt(4 * squared_mean * of_sum**2 + of_square**2 / 4 + of_n**2)


def _ends(
    ingredients: Ingredients, total: Floats, square: Floats, count: Floats
) -> tuple[Floats, Floats]:
    """The smallest and the largest V that tests accept; without tests, the result of `_in_box`."""
    if (tests := find_spread_tests(ingredients.noise)) is not None:
        return tests.accept(total, square, count)
    return _in_box(ingredients, total, square, count)


def _in_box(
    ingredients: Ingredients, total: Floats, square: Floats, count: Floats
) -> tuple[Floats, Floats]:
    """The range of V in [0, 1], if n, S and Q are each in their interval of probability 1 − 0.05/3.

    All three hold together with 95 % (Bonferroni). V rises with Q and falls with |S|. So the
    smallest Q and the largest |S| give the smallest V, and vice versa. With k = 1/n, V is the
    concave function min(½ + Qk/2, 1) − S²k². So its minimum is at an end of k's interval. Its
    maximum is where the derivative is 0, k = Q/(4S²), or where the min() reaches 1, k = 1/Q,
    whichever comes first. If that is outside the interval, it is at the nearest end, which is the
    first end if Q <= 0. If n may be 0 or less, anything is possible.
    """
    t, w, d = (noise.half983 for noise in ingredients.noise)
    sure = count - d > 0
    first, last = (1 / np.where(sure, n, 1.0) for n in (count + d, count - d))
    far, near = np.abs(total) + t, np.maximum(np.abs(total) - t, 0.0)
    low = np.minimum(*(_variance(far, square - w, k) for k in (first, last)))
    more = square + w
    bend = np.minimum(more / (4 * near**2), 1 / more)
    high = _variance(near, more, np.where(more > 0, np.clip(bend, first, last), first))
    return (
        np.where(sure, np.clip(low, 0.0, 1.0), 0.0),
        np.where(sure, np.clip(high, 0.0, 1.0), 1.0),
    )


def _variance(total: Floats, square: Floats, k: Floats) -> Floats:
    return np.minimum(0.5 + square * k / 2, 1.0) - (total * k) ** 2


def _known(ingredients: Ingredients, variance: Floats, mean: Floats | None) -> _Known:
    """The variance V, with squared means a² that V and the published `mean` allow.

    Without a mean, evenly spaced a² in [0, 1 − V] are tried.

    A mean that is large compared to the width of its bounds has few digits of a as a float.
    """
    parts, open_to = np.linspace(0.0, 1.0, _MEANS)[:, None], 1 - variance
    if mean is None:
        return _Known(variance=variance, squares=parts * open_to, is_exact=False)
    room = CLOSE + _LAST_DIGIT * (abs(ingredients.middle) / ingredients.unit + 1)
    size = np.abs(mean)
    around = np.stack([np.maximum(size - room, 0), size, np.minimum(size + room, 1)])
    if room <= 2 * CLOSE:
        return _Known(variance=variance, squares=around**2, is_exact=True)
    least, most = (np.minimum(ends**2, open_to) for ends in (around[0], around[2]))
    squares = least + parts * (most - least)
    return _Known(variance=variance, squares=squares, is_exact=False, is_rounded=True)


def _limits(
    ingredients: Ingredients, known: _Known, std: Floats
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """The smallest and largest possible lower end of the interval, and then of the upper end.

    These are the values that the columns `_low` and `_high` may have beside the published variance
    and its `_std`, in the unit of V. For each a² that is tried, `_std` determines n, and V and a²
    determine Q. The range is widened by the largest change between two tried a². If V = 1 − a², m
    may have been clamped, and Q can be anything above n.
    """
    variance, squares, is_exact, is_rounded = known
    count = _slope(ingredients, squares, variance) / std
    total, square = np.sqrt(squares) * count, (2 * (variance + squares) - 1) * count
    tests = find_spread_tests(ingredients.noise)
    # the factors show how the limits change with n; an unknown a² changes them more than n does
    quick = tests is not None and not (is_exact or is_rounded)
    factors = (1.0,) if quick else (1.0, 1 + NEAR, 1 - NEAR)
    tried = [_ends(ingredients, total * c, square * c, count * c) for c in factors]
    sure = np.ones_like(variance, dtype=bool)
    if is_exact:
        sure = variance + squares[1] < 1 - NEAR
    else:
        cut = squares[-1:] >= (1 - variance) * (1 - NEAR)
        if tests is not None:
            beyond = variance[None], tests.largest_beside(total[-1:], count[-1:])
        else:
            beyond = _in_box(ingredients, total[-1:], square[-1:] + np.inf, count[-1:])
        tried.append(
            (
                np.where(cut, beyond[0], tried[0][0][-1:]),
                np.where(cut, beyond[1], tried[0][1][-1:]),
            )
        )
    limits: list[tuple[Floats, Floats]] = []
    for side in (0, 1):
        ends = np.concatenate([ends_tried[side] for ends_tried in tried])
        # the largest change of the limits between two tried a²
        step = 0.0 if is_exact else np.abs(np.diff(tried[0][side], axis=0)).max(axis=0)
        step *= 2 if quick else 1
        least, most = ends.min(axis=0) - step, ends.max(axis=0) + step
        limits.append((np.where(sure, np.clip(least, 0, 1), 0.0), np.where(sure, most, 1.0)))
    return limits[0], limits[1]
