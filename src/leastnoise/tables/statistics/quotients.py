"""Means and ratios: a noisy sum over a noisy count or sum, clamped to the range that bounds allow.

Notation: S is the numerator and n the denominator, both noisy and in units of their components. σ_S
and σ_n are the standard deviations of their noise. t and u are `half975` of the noise of S and of
n. The value is middle + scale·S/n, with S/n clamped to [least, most], its range without noise.
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
    LARGEST_WHOLE,
    NEAR,
    ROUNDING,
    SUFFIXES,
    SUMMED_COLUMN,
    ColumnIs,
    ColumnStatistic,
    Component,
    Floats,
    FourColumns,
    Ingredients,
    Published,
    Statistic,
    bounds_of,
    centred_value,
    count_of,
    is_outside,
    may_be_left_out,
    require_size,
)
from leastnoise.tables.statistics.fieller import find_tests
from leastnoise.tables.statistics.totals import Count, Sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query

# the tolerance ROUNDING, after division by a count that noise may have brought near 0
_AMPLIFIED = 1e-12


@final
class Scale(NamedTuple):
    """The range [least, most] of S/n without noise, and the numbers in middle + scale·S/n."""

    middle: float
    scale: float
    least: float
    most: float


@dataclass(frozen=True, kw_only=True)
class Quotient(Statistic):
    """A noisy number divided by a noisy number that isn't negative before noise.

    If n <= 0, S/n counts as 0: the value is the middle of the bounds for a mean, 0 for a ratio.
    """

    counts: ClassVar[bool] = False
    clamps: ClassVar[bool] = False
    needs_size: ClassVar[bool] = True

    @abstractmethod
    def scale_of(self, ingredients: Ingredients) -> Scale:
        """The range of S/n without noise, and the map from S/n to the statistic's value."""

    def unit(self, ingredients: Ingredients) -> float:
        """The change of the value when S/n changes by 1."""
        return self.scale_of(ingredients).scale

    def is_open(self, ingredients: Ingredients) -> bool:
        """True if nothing bounds S/n from above."""
        return math.isinf(self.scale_of(ingredients).most)

    @final
    def values(self, ingredients: Ingredients, numbers: Sequence[Floats]) -> FourColumns:
        """The four columns, clamped to the range of the quotient.

        `_std` is scale·√(σ_S² + (S/n)²σ_n²)/n by the delta method, and at most scale·most, since
        S/n can't leave [−most, most]. `_low` and `_high` are the ends of the quotients that tests
        accept (`fieller`). If `find_tests` finds no tests, if n <= 0, or if tests reject all
        quotients, `_in_box` gives the ends.
        """
        middle, scale, smallest, largest = self.scale_of(ingredients)
        numerator, count = numbers
        positive = count > 0
        divisor = np.where(positive, count, 1.0)
        ratio = np.where(positive, np.clip(numerator / divisor, smallest, largest), 0.0)
        of_numerator, of_count = ingredients.noise
        deviation = np.hypot(of_numerator.std, ratio * of_count.std) / divisor
        std = scale * np.where(positive, np.minimum(deviation, largest), largest)
        low, high = self._in_box(ingredients, numerator, count)
        if (tests := find_tests(ingredients.noise, most=largest)) is not None:
            ends = tests.accept(numerator, divisor, between=(smallest, largest))
            known = positive & (ends[0] <= ends[1])
            ends = np.minimum(ends[0], ratio), np.maximum(ends[1], ratio)
            low, high = np.where(known, ends, (low, high))
        below, above = (middle + scale * np.clip(end, smallest, largest) for end in (low, high))
        return middle + scale * ratio, std, below, above

    @final
    def accept(
        self, ingredients: Ingredients, numbers: Sequence[Floats], *, probability: float
    ) -> tuple[Floats, Floats] | None:
        """The ends of intervals that contain the value with this `probability`, by tests alone.

        The interval is the whole range where n <= 0 or tests reject all quotients. None if there
        are no tests, though `values` then has an interval from a box.
        """
        middle, scale, smallest, largest = self.scale_of(ingredients)
        tests = find_tests(ingredients.noise, most=largest, probability=probability)
        if tests is None:
            return None
        numerator, count = numbers
        positive = count > 0
        divisor = np.where(positive, count, 1.0)
        low, high = tests.accept(numerator, divisor, between=(smallest, largest))
        known = positive & (low <= high)
        low, high = np.where(known, low, smallest), np.where(known, high, largest)
        return middle + scale * low, middle + scale * high

    @final
    def recover(
        self, ingredients: Ingredients, value: Floats, std: Floats
    ) -> tuple[Floats, Floats]:
        """Recover the noisy S and n from published values and `_std`.

        n = 0 where `_std` is at its maximum, so that n can't be recovered. If S/n was clamped, the
        result S is n times an end of the range. Tests of this S accept every quotient that tests of
        the noisy S accept, because |S − a·n| is smaller for every a in the range.
        """
        middle, scale, _, largest = self.scale_of(ingredients)
        ratio = (value - middle) / scale
        of_numerator, of_count = ingredients.noise
        deviation = scale * np.hypot(of_numerator.std, ratio * of_count.std)
        count = np.where(std < scale * largest, deviation / std, 0.0)
        return ratio * count, count

    def _in_box(
        self, ingredients: Ingredients, numerator: Floats, count: Floats
    ) -> tuple[Floats, Floats]:
        """The range of S/n if S and n are each in their interval of 97.5 %.

        Both intervals hold together with 95 % (Bonferroni). If n > 0 in the whole box of both
        intervals, the extremes of S/n are at its corners. Otherwise the result is [least, most].
        """
        _, _, smallest, largest = self.scale_of(ingredients)
        t, u = (noise.half975 for noise in ingredients.noise)
        sure = count - u > 0
        least, most = np.where(sure, count - u, 1.0), np.where(sure, count + u, 1.0)
        below, above = numerator - t, numerator + t
        low = np.where(sure, np.minimum(below / least, below / most), smallest)
        return low, np.where(sure, np.maximum(above / least, above / most), largest)

    @final
    def expected_std(
        self, ingredients: Ingredients, stds: Sequence[float], rows: int | None
    ) -> float:
        """An upper bound on `_std` for sums without noise.

        It is reached if every row adds the largest value to S. See `_denominator` for n.
        """
        scaled = self.scale_of(ingredients)
        n, size = require_size(rows), self._denominator(ingredients, rows)
        deviation = math.hypot(stds[0], min(n / size, scaled.most) * stds[1]) / size
        return scaled.scale * min(deviation, scaled.most)

    @final
    def expected_half_width(self, ingredients: Ingredients, rows: int | None) -> float:
        """An upper bound on half of the interval's width, for the S with the widest interval.

        The noisy n is taken to be the n of `_denominator`.

        With tests and |S/n| <= 1, no width exceeds the width at |a| = 1. Without a bound on S/n,
        the width grows with S. Without tests, the interval [S − t, S + t]/[n − u, n + u], clamped
        to [−1, 1], is widest if one end just meets a bound, S + t = n − u. Half of its width is
        then (t + u)/(n + u) if S >= t there, and otherwise, at S = 0, t/(n − u). Without clamping
        it is unbounded if n <= u.
        """
        scaled = self.scale_of(ingredients)
        n = self._denominator(ingredients, rows)
        if (tests := find_tests(ingredients.noise, most=scaled.most)) is not None:
            if scaled.most <= 1:
                return scaled.scale * min(tests.widths[-1] / n, (scaled.most - scaled.least) / 2)
            *_, low, high = self.values(
                ingredients, [np.array([require_size(rows)]), np.array([n])]
            )
            return float((high - low)[0]) / 2
        t, u = (noise.half975 for noise in ingredients.noise)
        if math.isinf(scaled.most):
            largest = float(require_size(rows))
            if n <= u:
                return math.inf
            below = largest - t
            low = max(min(below / (n - u), below / (n + u)), scaled.least)
            return scaled.scale * ((largest + t) / (n - u) - low) / 2
        widest = 1.0
        if n >= 2 * t + u:
            widest = (t + u) / (n + u)
        elif n > t + u:
            widest = t / (n - u)
        return scaled.scale * min(widest, (scaled.most - scaled.least) / 2)

    def _denominator(self, ingredients: Ingredients, rows: int | None) -> float:
        """The denominator n of a group with this many rows.

        If n is a sum, each row is assumed to add half of the largest value.
        """
        return require_size(rows) * (0.5 if ingredients.components[1].of_values else 1.0)

    @final
    def stated_std(self, ingredients: Ingredients) -> None:
        """None, since `_std` depends on the noisy numbers."""

    @final
    def in_common_unit(self, ingredients: Ingredients, value: Floats) -> Floats:
        """The quotient S/n, which is equal for all quotients of the same components."""
        middle, scale, *_ = self.scale_of(ingredients)
        return (value - middle) / scale

    @final
    def find_wrong_suffix(
        self, ingredients: Ingredients, columns: Sequence[Floats], published: Published
    ) -> str | None:
        """The suffix of the first wrong column, or None.

        Checks all ranges, then `_std` against the published n, then the interval's ends.
        """
        value, std, low, high = columns
        middle, scale, smallest, largest = self.scale_of(ingredients)
        least, most = middle + scale * smallest, middle + scale * largest
        size = np.maximum(np.abs(value - middle), scale)
        slack = CLOSE * size + ROUNDING * abs(middle)
        limits = ((least, most), (0.0, scale * largest), (least, value), (value, most))
        for suffix, number, (bottom, top) in zip(SUFFIXES, columns, limits, strict=True):
            if is_outside(number, bottom, top, slack):
                return suffix
        counts = published.get(ingredients.components[1:], ())
        if not (std > 0).all() or not all(
            self._fits(ingredients, value, std, count) for count in counts
        ):
            return "_std"
        for suffix, end, (bottom, top) in zip(
            SUFFIXES[2:], (low, high), self._limits(ingredients, value, std), strict=True
        ):
            if is_outside(end, bottom, top, CLOSE * size + _AMPLIFIED * abs(middle)):
                return suffix
        return None

    def _limits(
        self, ingredients: Ingredients, value: Floats, std: Floats
    ) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """The smallest and largest possible `_low` for each value and `_std`.

        The second pair is the same for `_high`.
        """
        middle, scale, smallest, largest = self.scale_of(ingredients)
        ratio = (value - middle) / scale
        of_total, of_count = (noise.std for noise in ingredients.noise)
        count = scale * np.hypot(of_total, ratio * of_count) / std
        low, high = self.values(ingredients, [ratio * count, count])[2:]
        step = count * (1 + NEAR), count * (1 - NEAR)
        more, less = (self.values(ingredients, [ratio * n, n])[2:] for n in step)
        inside = (ratio > smallest * (1 - NEAR)) & (ratio < largest * (1 - NEAR))
        known = inside & (std < scale * largest * (1 - NEAR))
        # an unbounded quotient with n <= 0 has an infinite std
        known |= np.isinf(std)

        def around(end: Floats, *ends: Floats) -> tuple[Floats, Floats]:
            # how much the limits change with n
            changes = (np.where(moved == end, 0.0, np.abs(moved - end)) for moved in ends)
            change = np.maximum(*changes)
            sure = known & np.isfinite(change)
            least = np.where(sure, end - change, middle + scale * smallest)
            return least, np.where(sure, end + change, middle + scale * largest)

        return around(low, more[0], less[0]), around(high, more[1], less[1])

    def _fits(self, ingredients: Ingredients, value: Floats, std: Floats, count: Floats) -> bool:
        """True if values and `_std` agree with the published denominator n."""
        middle, scale, _, largest = self.scale_of(ingredients)
        of_total, of_count = (noise.std for noise in ingredients.noise)
        deviation = scale * np.hypot(of_total, (value - middle) / scale * of_count)
        away = 0.0 if ingredients.components[1].of_values else ingredients.multiple / 2
        most_std = scale * largest
        least, most = (
            np.where(n > 0, np.minimum(deviation / n, most_std), most_std)
            for n in (count + away, count - away)
        )
        room = CLOSE + ROUNDING * abs(middle) / scale
        fits = (std >= least * (1 - room)) & (std <= most * (1 + room))
        none = (count + away <= 0) & (
            np.abs(value - middle) > CLOSE * scale + ROUNDING * abs(middle)
        )
        # published counts are clipped at LARGEST_WHOLE
        return bool(((fits & ~none) | (np.abs(count) >= LARGEST_WHOLE)).all())


@final
@dataclass(frozen=True, kw_only=True)
class Mean(ColumnStatistic, Quotient):
    """`mean(column)`: the middle of the bounds, plus the mean difference of values from the middle.

    The noisy sum of these differences is divided by the noisy count. The mean is clamped to the
    bounds.
    """

    kind: ClassVar[str] = "mean"
    has_margins: ClassVar[bool] = True
    column_is: ClassVar[ColumnIs] = "required"
    of_values: ClassVar[bool] = True
    column_types = SUMMED_COLUMN

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """The components of the value, and of the count that divides its sum."""
        del by_row
        return centred_value(spec, self.column), count_of(spec, self.column)

    def scale_of(self, ingredients: Ingredients) -> Scale:
        """The range [−1, 1] of S/n, and the map to the bounds: middle plus S/n times half-width."""
        return Scale(middle=ingredients.middle, scale=ingredients.unit, least=-1.0, most=1.0)


@final
@dataclass(frozen=True, kw_only=True)
class Ratio(Quotient):
    """`ratio(sum(a), sum(b))`, or over `count(b)` or `count`, with both parts from one draw.

    Both parts use only rows with a value of a and of b, since a row that counts in one part only
    would bias the ratio. The exception is a ratio over `count`, in which every row counts. A ratio
    over a count is at most the largest absolute value that the bounds of a allow. It is at least 0
    unless a may be negative. A ratio of two sums is unbounded, and if the interval of the
    denominator reaches 0, so is the ratio's interval.
    """

    above: Sum
    below: Sum | Count

    kind: ClassVar[str] = "ratio"

    @property
    def label(self) -> str:
        """The label, from the labels of both parts, such as ratio_sum_a_by_count."""
        return f"{self.kind}_{self.above.label}_by_{self.below.label}"

    @property
    def parts(self) -> tuple[ColumnStatistic, ...]:
        """The numerator and the denominator."""
        return self.above, self.below

    @property
    def assumes(self) -> str:
        """A sentence about the assumed size of a denominator that is a sum; "" for a count."""
        if isinstance(self.below, Count):
            return ""
        return (
            "If a ratio divides by a sum, each value is assumed to add half of the most that its "
            "bounds allow; with a smaller sum the error is larger."
        )

    def problems(self, spec: Spec, query: Query) -> Iterator[str]:
        """Yield a problem for equal parts, or for a denominator that can be negative."""
        del query
        if self.above == self.below:
            yield "Expected two different sums: the ratio of a sum to itself is always 1."
        elif isinstance(self.below, Sum) and bounds_of(spec, self.below.column)[0] < 0:
            yield (
                f"Expected a denominator that is never negative, but columns.{self.below.column}."
                "bounds begin below 0. Divide by count, or by a column with bounds >= 0."
            )

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """The components of the numerator and of the denominator.

        Both are over rows with values of both columns, except for a ratio over `count`.
        """
        (above,), (below,) = (part.components(spec, by_row=by_row) for part in self.parts)
        if not self.below.column:
            return above, below
        needed = self.needed(spec)
        if isinstance(self.below, Count):
            column, paired = (*needed, "", "")[:2]
            return self._paired(above, needed), replace(below, column=column, paired=paired)
        return self._paired(above, needed), self._paired(below, needed)

    def needed(self, spec: Spec) -> list[str]:
        """The columns of which a row must have a value to count, in alphabetical order."""
        columns = {self.above.column, self.below.column} if self.below.column else set[str]()
        return sorted(column for column in columns if may_be_left_out(spec, column))

    @staticmethod
    def _paired(summed: Component, needed: Sequence[str]) -> Component:
        """The component summed over those rows only that also have a value of the other column."""
        other = next((column for column in needed if column != summed.column), "")
        return replace(summed, paired=other)

    def scale_of(self, ingredients: Ingredients) -> Scale:
        """The range [0, most] of S/n, or [−most, most] if a may be negative, and its scale.

        Over a count, `most` is 1; over a sum, it is ∞. The scale is the radius by which values of a
        are divided, over the radius for b.
        """
        above, below = ingredients.components
        most = 1.0 if below.kind == "count" else math.inf
        scale = float(above.radius / below.radius)
        return Scale(middle=0.0, scale=scale, least=-most if above.lowers else 0.0, most=most)
