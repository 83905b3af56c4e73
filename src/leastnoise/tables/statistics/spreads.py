"""Variances and standard deviations: from a noisy count, sum and sum of squares of one draw.

notation: u = a value, counted from the middle of the bounds and scaled to [−1, 1]; n, S and Q = the
noisy sums of 1, u and 2u² − 1, with deviations σ; t, w and d = half983 of the noise of S, Q and n;
a = S/n, m = (1 + Q/n)/2 the mean of u², V = m − a² the variance of u; k = 1/n.

It is the variance of the values that are there, Σ(x − mean)²/n: divided by n, not by n − 1, which
for a sample from more than these would be larger by n/(n − 1).
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
    Beside,
    ColumnIs,
    ColumnStatistic,
    Component,
    Ends,
    Floats,
    Four,
    Ingredients,
    centred_value,
    count_of,
    outside,
    size_of,
)
from leastnoise.tables.statistics.spread_tests import find_spread_tests

if TYPE_CHECKING:
    from leastnoise.tables.spec.model import Spec

_NONE = 0.5  # V of n <= 0, which looks no further: that of S = Q = 0
_LARGEST_STD = 0.5  # of a number in [0, 1]
_LAST_DIGIT = 2.0**-52  # relative, of a float
_MEANS = 65  # how many a² are tried where no mean tells it


@final
class _Known(NamedTuple):
    """V, and which a² a table leaves open, a row each.

    `told` says that a mean beside it tells a², `hinted` that one does as far as its digits go.
    """

    variance: Floats
    squares: Floats
    told: bool
    hinted: bool = False


@dataclass(frozen=True, kw_only=True)
class Spread(ColumnStatistic):
    """A variance V of scaled values, or what follows from it."""

    column_is: ClassVar[ColumnIs] = "required"
    of_values: ClassVar[bool] = True
    column_types = SUMMED_COLUMN
    counts: ClassVar[bool] = False
    clamps: ClassVar[bool] = False
    needs_size: ClassVar[bool] = True

    @abstractmethod
    def from_variance(self, own: Ingredients, variance: Ends) -> Floats:
        """Return what it is if the scaled values have this variance."""

    @abstractmethod
    def to_variance(self, own: Ingredients, value: Floats) -> Floats:
        """Return the variance of the scaled values, the other way round."""

    @abstractmethod
    def std_of(self, own: Ingredients, variance: Floats, std: Floats) -> Floats:
        """Return its `_std`, if that of V is this one, and at most half of its range.

        No law of a number in [0, 1] has more than ½ (Popoviciu).
        """

    @abstractmethod
    def variance_std(self, own: Ingredients, variance: Floats, std: Floats) -> Floats:
        """Return that of V, the other way round; where it isn't the most that it can be."""

    @final
    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """The value, its square and the count; the first and the last are those of the mean."""
        del by_row
        value = centred_value(spec, self.column)
        return value, replace(value, kind="square"), count_of(spec, self.column)

    @final
    def values(self, own: Ingredients, numbers: Sequence[Floats]) -> Four:
        """V = m − a², cut off at [0, 1]; where n <= 0 it is ½, whatever S and Q are.

        m is cut off at 1, which it doesn't pass without noise. std: delta method, ∂V/∂S = −2a/n,
        ∂V/∂Q = 1/(2n), ∂V/∂n = (2a² − Q/n/2)/n = (a² − V + ½)/n, and at most that of any law.
        """
        total, square, count = numbers
        positive = count > 0
        n = np.where(positive, count, 1.0)
        squared_mean = np.where(positive, np.minimum((total / n) ** 2, 1.0), 0.0)
        second = np.minimum((1 + square / n) / 2, 1.0)
        variance = np.where(positive, np.clip(second - squared_mean, 0.0, 1.0), _NONE)
        std = np.where(positive, _slope(own, squared_mean, variance) / n, np.inf)
        low, high = _ends(own, total, square, count)
        low, high = np.minimum(low, variance), np.maximum(high, variance)
        value, low, high = (self.from_variance(own, one) for one in (variance, low, high))
        return value, self.std_of(own, variance, std), low, high

    @final
    def expected_std(self, own: Ingredients, stds: Sequence[float], rows: int | None) -> float:
        """It is largest where all values are at one bound: a² = 1, V = 0.

        What the delta method gives rises with its terms, squares of which the sum is convex in a²
        and V: so the largest is at a corner of [0, 1]², and of these (1, 0) has the largest.
        """
        of_sum, of_square, of_count = stds
        std = math.hypot(2 * of_sum, of_square / 2, 1.5 * of_count) / size_of(rows)
        return float(self.std_of(own, np.zeros(1), np.full(1, std))[0])

    @final
    def expected_half_width(self, own: Ingredients, rows: int | None) -> float:
        """At most what tests accept, or else m in an interval and a² in another.

        What tests accept (`spread_tests`) is 2c/n + (a − â)² wide at most, with the largest c, and
        |a − â| <= c'/n of the test of means. Else [Q − w, Q + w]/[n − d, n + d], cut off at ±1, is
        as wide as a mean's: 2h at most, and then m's is h wide. a's is 2g wide at most, and a² in
        [1 − 2g, 1]² is 4g(1 − g) wide. Where V begins at 0, its root is as wide as the root of its
        width, and nowhere wider.
        """
        n = float(size_of(rows))
        if (tests := find_spread_tests(own.noise)) is not None:
            width = min(2 * tests.largest / n + (tests.means.widths[-1] / n) ** 2, 1.0)
            return float(self.from_variance(own, width)) / 2
        t, w, d = (noise.half983 for noise in own.noise)
        of_square, of_mean = ((one + d) / (n + d) if n >= 2 * one + d else 1.0 for one in (w, t))
        of_mean = min(of_mean, 0.5)  # 4g(1 − g) is 1 there, and falls beyond
        width = min(of_square + 4 * of_mean * (1 - of_mean), 1.0)
        return float(self.from_variance(own, width)) / 2

    @final
    def stated_std(self, own: Ingredients) -> None:
        """It depends on what was drawn."""

    @final
    def in_common(self, own: Ingredients, value: Floats) -> Floats:
        """V."""
        return self.to_variance(own, value)

    @final
    def wrong_suffix(self, own: Ingredients, told: Sequence[Floats], beside: Beside) -> str | None:
        """All are within bounds, and fit the count, the mean and the variance beside them."""
        value, std, low, high = told
        most = self.from_variance(own, 1.0)
        limits = ((0.0, most), (0.0, most * _LARGEST_STD), (0.0, value), (value, most))
        for suffix, number, (bottom, top) in zip(SUFFIXES, told, limits, strict=True):
            if outside(number, bottom, top, CLOSE * most):
                return suffix
        variance = self.to_variance(own, value)
        others = beside.get(own.components, ())
        if any(outside(other, variance, variance, CLOSE) for other in others):
            return ""
        means = beside.get((own.components[0], own.components[2]), ())
        counts = beside.get(own.components[2:], ())
        known = _known(own, variance, means[0] if means else None)
        if not (std > 0).all() or not all(self._fits(own, known, std, count) for count in counts):
            return "_std"
        uncut = (std < most * _LARGEST_STD * (1 - NEAR)) & (variance > 0)
        found = _limits(own, known, self.variance_std(own, variance, std))
        for suffix, end, ends in zip(SUFFIXES[2:], (low, high), found, strict=True):
            within = [np.where(uncut, one, other) for one, other in zip(ends, (0, 1), strict=True)]
            bottom, top = (self.from_variance(own, one) for one in within)
            if outside(end, bottom, top, CLOSE * most):
                return suffix
        return None

    def _fits(self, own: Ingredients, known: _Known, std: Floats, count: Floats) -> bool:
        """Whether `_std` is that of the count published beside it, for some a² left open."""
        variance, found, told, _ = known
        if not told:  # the parabola in a² has its least at the ends, or here
            of_sum, _, of_count = (noise.std for noise in own.noise)
            bottom = variance - 0.5 - 2 * (of_sum / of_count) ** 2
            found = np.concatenate([found, np.clip(bottom, found[0], found[-1])[None]])
        slope = _slope(own, found, variance)
        away = own.multiple / 2
        least, most = (
            self.std_of(own, variance, np.where(n > 0, one / n, np.inf))
            for one, n in ((slope.min(axis=0), count + away), (slope.max(axis=0), count - away))
        )
        fits = (std >= least * (1 - CLOSE)) & (std <= most * (1 + CLOSE))
        none = (count + away <= 0) & (np.abs(variance - _NONE) > CLOSE)
        return bool((fits & ~none).all())


@final
@dataclass(frozen=True, kw_only=True)
class Var(Spread):
    """`var(column)`: the population variance, radius²·V."""

    kind: ClassVar[str] = "var"

    def unit(self, own: Ingredients) -> float:
        """That of a square."""
        return own.unit**2

    def from_variance(self, own: Ingredients, variance: Ends) -> Floats:
        """In the column's units, squared."""
        return own.unit**2 * np.asarray(variance)

    def to_variance(self, own: Ingredients, value: Floats) -> Floats:
        """In units of radius²."""
        return value / own.unit**2

    def std_of(self, own: Ingredients, variance: Floats, std: Floats) -> Floats:
        """The same, but for the unit."""
        del variance
        return own.unit**2 * np.minimum(std, _LARGEST_STD)

    def variance_std(self, own: Ingredients, variance: Floats, std: Floats) -> Floats:
        """The same, but for the unit."""
        del variance
        return std / own.unit**2


@final
@dataclass(frozen=True, kw_only=True)
class Std(Spread):
    """`std(column)`: the population standard deviation, radius·√V."""

    kind: ClassVar[str] = "std"

    def from_variance(self, own: Ingredients, variance: Ends) -> Floats:
        """The root, which keeps intervals what they are."""
        return own.unit * np.sqrt(np.asarray(variance))

    def to_variance(self, own: Ingredients, value: Floats) -> Floats:
        """The square."""
        return (value / own.unit) ** 2

    def std_of(self, own: Ingredients, variance: Floats, std: Floats) -> Floats:
        """Delta method, std/(2√V), and at most √std, as |√V − √V′| <= √|V − V′|."""
        root = np.sqrt(std)
        delta = np.divide(std, 2 * np.sqrt(variance), out=np.array(root), where=4 * variance > std)
        return own.unit * np.minimum(delta, _LARGEST_STD)

    def variance_std(self, own: Ingredients, variance: Floats, std: Floats) -> Floats:
        """The other way round: √std is taken where it is less, std >= 4V."""
        told = std / own.unit
        root = 2 * np.sqrt(variance)
        return told * np.maximum(told, root)


def _slope(own: Ingredients, squared_mean: Floats, variance: Floats) -> Floats:
    """Return n times the deviation of V by the delta method: see `Spread.values`."""
    of_sum, of_square, of_count = (noise.std for noise in own.noise)
    of_n = (squared_mean - variance + 0.5) * of_count
    return np.sqrt(4 * squared_mean * of_sum**2 + of_square**2 / 4 + of_n**2)


def _ends(own: Ingredients, total: Floats, square: Floats, count: Floats) -> tuple[Floats, Floats]:
    """Find what tests leave of V (`spread_tests`), or `_in_box` where there are none."""
    if (tests := find_spread_tests(own.noise)) is not None:
        return tests.accept(total, square, count)
    return _in_box(own, total, square, count)


def _in_box(
    own: Ingredients, total: Floats, square: Floats, count: Floats
) -> tuple[Floats, Floats]:
    """Find the range of V while n, S and Q each are in an interval of 1 − 0.05/3; cut off.

    All three are, with 95 % (Bonferroni). V rises with Q and falls with |S|, so that the least Q
    and the largest |S| give the least, and the other way round. In k = 1/n it is min(½ + Qk/2, 1) −
    S²k², which is concave: its least is at an end of k's interval, its largest where the first
    derivative is 0, k* = Q/(4S²) (n* = 4S²/Q), or where the minimum begins to be 1, k = 1/Q, if
    that comes first; or else at the end that is next to it: the first one where Q <= 0. If n may be
    0 or less, anything is possible.
    """
    t, w, d = (noise.half983 for noise in own.noise)
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


def _known(own: Ingredients, variance: Floats, mean: Floats | None) -> _Known:
    """Find what V and a mean beside it tell: V <= 1 − a², so that a² lies in [0, 1 − V].

    A mean far from 0, beside its bounds' width, has few digits of a: it is rounded to a float.
    """
    parts, open_to = np.linspace(0.0, 1.0, _MEANS)[:, None], 1 - variance
    if mean is None:
        return _Known(variance=variance, squares=parts * open_to, told=False)
    room = CLOSE + _LAST_DIGIT * (abs(own.middle) / own.unit + 1)
    size = np.abs(mean)
    around = np.stack([np.maximum(size - room, 0), size, np.minimum(size + room, 1)])
    if room <= 2 * CLOSE:
        return _Known(variance=variance, squares=around**2, told=True)
    least, most = (np.minimum(one**2, open_to) for one in (around[0], around[2]))
    squares = least + parts * (most - least)
    return _Known(variance=variance, squares=squares, told=False, hinted=True)


def _limits(
    own: Ingredients, known: _Known, std: Floats
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Return the least and the largest lower end of variances with their `_std`; then upper end.

    For all a² that are left open, n is what `_std` tells, and Q what V and a² tell; but where V = 1
    − a², m may have been cut off, and Q be anything above n.
    """
    variance, found, told, hinted = known
    count = _slope(own, found, variance) / std
    total, square = np.sqrt(found) * count, (2 * (variance + found) - 1) * count
    # their change with n
    tests = find_spread_tests(own.noise)
    quick = tests is not None and not (told or hinted)  # then a² moves the ends more than n
    factors = (1.0,) if quick else (1.0, 1 + NEAR, 1 - NEAR)
    tried = [_ends(own, total * c, square * c, count * c) for c in factors]
    sure = np.ones_like(variance, dtype=bool)
    if told:
        sure = variance + found[1] < 1 - NEAR
    else:
        cut = found[-1:] >= (1 - variance) * (1 - NEAR)
        if tests is not None:
            beyond = variance[None], tests.largest_beside(total[-1:], count[-1:])
        else:
            beyond = _in_box(own, total[-1:], square[-1:] + np.inf, count[-1:])
        tried.append(
            (
                np.where(cut, beyond[0], tried[0][0][-1:]),
                np.where(cut, beyond[1], tried[0][1][-1:]),
            )
        )
    limits: list[tuple[Floats, Floats]] = []
    for place in (0, 1):
        ends = np.concatenate([one[place] for one in tried])
        # between two a² that are tried
        step = 0.0 if told else np.abs(np.diff(tried[0][place], axis=0)).max(axis=0)
        step *= 2 if quick else 1
        least, most = ends.min(axis=0) - step, ends.max(axis=0) + step
        limits.append((np.where(sure, np.clip(least, 0, 1), 0.0), np.where(sure, most, 1.0)))
    return limits[0], limits[1]
