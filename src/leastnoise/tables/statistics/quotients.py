"""Means and ratios: a noisy sum over a noisy count or sum, within what bounds allow.

notation: S = the numerator, n = the denominator, both noisy and scaled to their components; t and
u = half975 of the noise of S and of n. The value is middle + scale·S/n, where S/n is cut off at
least and most, between which it is without noise.
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
    Beside,
    ColumnIs,
    ColumnStatistic,
    Component,
    Floats,
    Four,
    Ingredients,
    Statistic,
    bounds_of,
    centred_value,
    count_of,
    may_be_left_out,
    outside,
    size_of,
)
from leastnoise.tables.statistics.fieller import find_tests
from leastnoise.tables.statistics.totals import Count, Sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.spec.model import Spec

_AMPLIFIED = 1e-12  # that, after a division by a count that noise may have brought near 0


@final
class Scale(NamedTuple):
    """Where a quotient S/n lies, and what it is worth: see the module's notation."""

    middle: float
    scale: float
    least: float
    most: float


@dataclass(frozen=True, kw_only=True)
class Quotient(Statistic):
    """A noisy number over another one that isn't negative before noise.

    Where n <= 0 its value is that of S/n = 0, which looks no further: of a mean the middle of the
    bounds, of a ratio 0.
    """

    counts: ClassVar[bool] = False
    clamps: ClassVar[bool] = False
    needs_size: ClassVar[bool] = True

    @abstractmethod
    def scaled(self, own: Ingredients) -> Scale:
        """Return where S/n lies without noise, and what it is worth."""

    def unit(self, own: Ingredients) -> float:
        """What S/n = 1 is worth."""
        return self.scaled(own).scale

    def is_open(self, own: Ingredients) -> bool:
        """Whether nothing bounds S/n from above."""
        return math.isinf(self.scaled(own).most)

    @final
    def values(self, own: Ingredients, numbers: Sequence[Floats]) -> Four:
        """All between least and most.

        std: delta method, scale·√(σ_S² + (S/n)²σ_n²)/n, and at most `most`, since S/n can't leave
        [−most, most]. low, high: what tests of all quotients accept (`fieller`); `_in_box` where
        there are none, since the law of both noises together isn't known, and where none accepts.
        """
        middle, scale, smallest, largest = self.scaled(own)
        numerator, count = numbers
        positive = count > 0
        divisor = np.where(positive, count, 1.0)
        ratio = np.where(positive, np.clip(numerator / divisor, smallest, largest), 0.0)
        of_numerator, of_count = own.noise
        deviation = np.hypot(of_numerator.std, ratio * of_count.std) / divisor
        std = scale * np.where(positive, np.minimum(deviation, largest), largest)
        low, high = self._in_box(own, numerator, count)
        if (tests := find_tests(own.noise, most=largest)) is not None:
            ends = tests.accept(numerator, divisor, between=(smallest, largest))
            known = positive & (ends[0] <= ends[1])
            ends = np.minimum(ends[0], ratio), np.maximum(ends[1], ratio)
            low, high = np.where(known, ends, (low, high))
        below, above = (middle + scale * np.clip(end, smallest, largest) for end in (low, high))
        return middle + scale * ratio, std, below, above

    def _in_box(self, own: Ingredients, numerator: Floats, count: Floats) -> tuple[Floats, Floats]:
        """Return the ends of S/n where S and n each lie in an interval of 97.5 %.

        Both do with 95 % (Bonferroni), and S/n is between the corners of that box if it keeps
        n > 0; otherwise anything between least and most is possible.
        """
        _, _, smallest, largest = self.scaled(own)
        t, u = (noise.half975 for noise in own.noise)
        sure = count - u > 0
        least, most = np.where(sure, count - u, 1.0), np.where(sure, count + u, 1.0)
        below, above = numerator - t, numerator + t
        low = np.where(sure, np.minimum(below / least, below / most), smallest)
        return low, np.where(sure, np.maximum(above / least, above / most), largest)

    @final
    def expected_std(self, own: Ingredients, stds: Sequence[float], rows: int | None) -> float:
        """It is largest where every row adds the most to S."""
        scaled = self.scaled(own)
        n, size = size_of(rows), self._denominator(own, rows)
        deviation = math.hypot(stds[0], min(n / size, scaled.most) * stds[1]) / size
        return scaled.scale * min(deviation, scaled.most)

    @final
    def expected_half_width(self, own: Ingredients, rows: int | None) -> float:
        """Half of the width at the worst S.

        What tests accept is at most that of |a| = 1, which all others pass, or without bounds the
        wider the larger S is. Of [S − t, S + t]/[n − u, n + u], cut off between −1 and 1, it is
        widest where one end just meets a bound, S + t = n − u: (t + u)/(n + u), if S >= t there;
        else at S = 0: t/(n − u). Where nothing cuts it off it has no bound where n <= u.
        """
        scaled = self.scaled(own)
        n = self._denominator(own, rows)
        if (tests := find_tests(own.noise, most=scaled.most)) is not None:
            if scaled.most <= 1:
                return scaled.scale * min(tests.widths[-1] / n, (scaled.most - scaled.least) / 2)
            *_, low, high = self.values(own, [np.array([size_of(rows)]), np.array([n])])
            return float((high - low)[0]) / 2
        t, u = (noise.half975 for noise in own.noise)
        if math.isinf(scaled.most):
            largest = float(size_of(rows))
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

    def _denominator(self, own: Ingredients, rows: int | None) -> float:
        """Return n of a group of so many rows: of a sum, if each adds half of what one may add."""
        return size_of(rows) * (0.5 if own.components[1].of_values else 1.0)

    @final
    def stated_std(self, own: Ingredients) -> None:
        """It depends on what was drawn."""

    @final
    def in_common(self, own: Ingredients, value: Floats) -> Floats:
        """S/n."""
        middle, scale, *_ = self.scaled(own)
        return (value - middle) / scale

    @final
    def wrong_suffix(self, own: Ingredients, told: Sequence[Floats], beside: Beside) -> str | None:
        """All are between least and most; `_std` tells n, and value and `_std` the interval."""
        value, std, low, high = told
        middle, scale, smallest, largest = self.scaled(own)
        least, most = middle + scale * smallest, middle + scale * largest
        size = np.maximum(np.abs(value - middle), scale)
        slack = CLOSE * size + ROUNDING * abs(middle)
        limits = ((least, most), (0.0, scale * largest), (least, value), (value, most))
        for suffix, number, (bottom, top) in zip(SUFFIXES, told, limits, strict=True):
            if outside(number, bottom, top, slack):
                return suffix
        counts = beside.get(own.components[1:], ())
        if not (std > 0).all() or not all(self._fits(own, value, std, count) for count in counts):
            return "_std"
        for suffix, end, (bottom, top) in zip(
            SUFFIXES[2:], (low, high), self._limits(own, value, std), strict=True
        ):
            if outside(end, bottom, top, CLOSE * size + _AMPLIFIED * abs(middle)):
                return suffix
        return None

    def _limits(
        self, own: Ingredients, value: Floats, std: Floats
    ) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Return the least and the largest `_low` of each value and its `_std`; then `_high`."""
        middle, scale, smallest, largest = self.scaled(own)
        ratio = (value - middle) / scale
        of_total, of_count = (noise.std for noise in own.noise)
        count = scale * np.hypot(of_total, ratio * of_count) / std
        low, high = self.values(own, [ratio * count, count])[2:]
        step = count * (1 + NEAR), count * (1 - NEAR)
        more, less = (self.values(own, [ratio * n, n])[2:] for n in step)
        inside = (ratio > smallest * (1 - NEAR)) & (ratio < largest * (1 - NEAR))
        known = inside & (std < scale * largest * (1 - NEAR))
        # of an open quotient n <= 0 shows, as ∞
        known |= np.isinf(std)

        def around(end: Floats, one: Floats, other: Floats) -> tuple[Floats, Floats]:
            # its change with n
            changes = (np.where(moved == end, 0.0, np.abs(moved - end)) for moved in (one, other))
            change = np.maximum(*changes)
            sure = known & np.isfinite(change)
            least = np.where(sure, end - change, middle + scale * smallest)
            return least, np.where(sure, end + change, middle + scale * largest)

        return around(low, more[0], less[0]), around(high, more[1], less[1])

    def _fits(self, own: Ingredients, value: Floats, std: Floats, count: Floats) -> bool:
        """Whether values and `_std` are those of the denominator that is published beside them."""
        middle, scale, _, largest = self.scaled(own)
        of_total, of_count = (noise.std for noise in own.noise)
        deviation = scale * np.hypot(of_total, (value - middle) / scale * of_count)
        away = 0.0 if own.components[1].of_values else own.multiple / 2
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
        # counts are cut off there
        return bool(((fits & ~none) | (np.abs(count) >= LARGEST_WHOLE)).all())


@final
@dataclass(frozen=True, kw_only=True)
class Mean(ColumnStatistic, Quotient):
    """`mean(column)`: the sum of values, counted from the middle of the bounds, over their count.

    It is inside the bounds.
    """

    kind: ClassVar[str] = "mean"
    has_margins: ClassVar[bool] = True
    column_is: ClassVar[ColumnIs] = "required"
    of_values: ClassVar[bool] = True
    column_types = SUMMED_COLUMN

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """The value, and the count that it is divided by."""
        del by_row
        return centred_value(spec, self.column), count_of(spec, self.column)

    def scaled(self, own: Ingredients) -> Scale:
        """Around the middle of the bounds."""
        return Scale(middle=own.middle, scale=own.unit, least=-1.0, most=1.0)


@final
@dataclass(frozen=True, kw_only=True)
class Ratio(Quotient):
    """`ratio(sum(a), sum(b))`, or over `count(b)` or `count`, both from one draw.

    Both parts are of the rows that have a value of a and of b: a row that added to one of them
    alone would draw the ratio towards 0 or away from it. `count` is of all rows.
    Over a count the ratio is within what the bounds of a and 0 allow. Nothing bounds a ratio of two
    sums, and where the interval of n reaches 0 nothing is known of it.
    """

    above: Sum
    below: Sum | Count

    kind: ClassVar[str] = "ratio"

    @property
    def label(self) -> str:
        """Both parts, such as ratio_sum_a_by_count."""
        return f"{self.kind}_{self.above.label}_by_{self.below.label}"

    @property
    def parts(self) -> tuple[ColumnStatistic, ...]:
        """The two that are divided."""
        return self.above, self.below

    @property
    def assumes(self) -> str:
        """What is divided by, where that is a sum."""
        if isinstance(self.below, Count):
            return ""
        return (
            "Where a ratio divides by a sum, each of so many values adds half of the most that its "
            "bounds allow; with less in the sum its error is larger."
        )

    def problems(self, spec: Spec) -> Iterator[str]:
        """Both alike, or a denominator that rows may lower."""
        if self.above == self.below:
            yield "Expected two that differ: the ratio of a sum to itself is 1, whatever the rows."
        elif isinstance(self.below, Sum) and bounds_of(spec, self.below.column)[0] < 0:
            yield (
                f"Expected a denominator that is never negative, but columns.{self.below.column}."
                "bounds begin below 0. Divide by count, or by a column with bounds >= 0."
            )

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """The two sums, or the sum and the count, of the rows with both values."""
        (above,), (below,) = (one.components(spec, by_row=by_row) for one in self.parts)
        if not self.below.column:
            return above, below
        needed = self.needed(spec)
        if isinstance(self.below, Count):
            column, paired = (*needed, "", "")[:2]
            return self._paired(above, needed), replace(below, column=column, paired=paired)
        return self._paired(above, needed), self._paired(below, needed)

    def needed(self, spec: Spec) -> list[str]:
        """List the columns of which a row must have a value, in alphabetical order."""
        columns = {self.above.column, self.below.column} if self.below.column else set[str]()
        return sorted(one for one in columns if may_be_left_out(spec, one))

    @staticmethod
    def _paired(summed: Component, needed: Sequence[str]) -> Component:
        """The sum of the rows that have a value of the other column, too."""
        other = next((one for one in needed if one != summed.column), "")
        return replace(summed, paired=other)

    def scaled(self, own: Ingredients) -> Scale:
        """From 0 on, or from the negative of that; each row adds to S at most what it adds to n."""
        above, below = own.components
        most = 1.0 if below.kind == "count" else math.inf
        scale = float(above.radius / below.radius)
        return Scale(middle=0.0, scale=scale, least=-most if above.lowers else 0.0, most=most)
