"""Counts and sums: one noisy number each, in a unit of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.spec.model import Contribution
from leastnoise.tables.statistics.base import (
    A_PERSON,
    CLOSE,
    IN_NO_GROUP,
    LARGEST_WHOLE,
    NEAR,
    OVER_LIMITS,
    ROUNDING,
    SUMMED_COLUMN,
    Beside,
    ColumnIs,
    ColumnStatistic,
    Component,
    Ends,
    Floats,
    Four,
    Ingredients,
    bounds_of,
    centred_value,
    count_of,
    outside,
    rounded,
)
from leastnoise.tables.statistics.fieller import half_width_together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.spec.model import Spec


@dataclass(frozen=True, kw_only=True)
class Total(ColumnStatistic):
    """A statistic that is one number times its unit, or the weighted sum of two."""

    clamps: ClassVar[bool] = True
    needs_size: ClassVar[bool] = False

    def weights(self, own: Ingredients) -> tuple[float, ...]:
        """Return what each of its numbers counts in it: what one unit of it is worth."""
        return tuple(float(one.radius) for one in own.components)

    @final
    def values(self, own: Ingredients, numbers: Sequence[Floats]) -> Four:
        """The number ± the half-width of its noise."""
        first, *others = (
            weight * one for weight, one in zip(self.weights(own), numbers, strict=True)
        )
        return self._around(own, sum(others, start=first))

    def _around(self, own: Ingredients, total: Floats) -> Four:
        half = self._half_width(own)
        return total, np.full_like(total, self.stated_std(own)), total - half, total + half

    def _half_width(self, own: Ingredients) -> Ends:
        """Return what holds 95 % of the noise: of two numbers by the law of both together.

        Where that isn't known, each is within its 97.5 %.
        """
        weights = self.weights(own)
        if len(weights) == 1:
            return weights[0] * own.noise[0].halves95
        (other, weight), (beside, noise) = map(abs, weights), own.noise
        found = half_width_together((noise, beside), other / weight)
        return weight * noise.half975 + other * beside.half975 if found is None else weight * found

    @final
    def expected_std(self, own: Ingredients, stds: Sequence[float], rows: int | None) -> float:
        """It is the same in every cell; the noise of two numbers of a cell is uncorrelated."""
        del rows
        return math.hypot(*(w * std for w, std in zip(self.weights(own), stds, strict=True)))

    @final
    def expected_half_width(self, own: Ingredients, rows: int | None) -> float:
        """It is the same in every cell."""
        del rows
        return float(np.max(self._half_width(own)))

    @final
    def in_common(self, own: Ingredients, value: Floats) -> Floats:
        """The number in its unit."""
        return value / self.unit(own)

    @final
    def stated_std(self, own: Ingredients) -> Ends:
        """The noise's."""
        if len(own.noise) == 1:
            return own.unit * own.noise[0].stds
        return self.expected_std(own, [one.std for one in own.noise], None)

    def wrong_suffix(self, own: Ingredients, told: Sequence[Floats], beside: Beside) -> str | None:
        """It may be any number, and only its `_low` and `_high` can be wrong."""
        del beside
        value, _, low, high = told
        if own.projected:
            least, most = noisy_between(low, high, own.noise[0].halves95)
            return None if (least <= most).all() else "_low"
        multiple = own.multiple if self.counts else 0
        away = multiple / 2
        ends: list[tuple[Floats, Floats]] = []
        scale = np.abs(value)
        for moved in (value - away, value + away):
            *_, below, above = self._around(own, moved)
            scale = np.maximum(scale, (above - below) / 2)
            ends.append((below, above))
        for index, (suffix, end, rounding) in enumerate(
            (("_low", low, np.floor), ("_high", high, np.ceil))
        ):
            slack = CLOSE * scale if multiple else 0.0
            least, most = ends[0][index] - slack, ends[1][index] + slack
            if own.clamp:  # 0 stands for every negative number
                least = np.where(value == 0, 0.0, np.maximum(least, 0.0))
                most = np.maximum(most, 0.0)
            if multiple:
                known = np.abs(value) + scale < LARGEST_WHOLE
                least = np.where(known, rounded(rounding, least, multiple), -np.inf)
                most = np.where(known, rounded(rounding, most, multiple), np.inf)
            if outside(end, least, most, 0.0 if multiple else CLOSE * scale):
                return suffix
        return None


def noisy_between(low: Floats, high: Floats, half: Ends) -> tuple[Floats, Floats]:
    """Return between which ends the noisy numbers are whose intervals were rounded and clamped.

    They are number ± `half`, rounded outwards, and 0 where they are below it. What floats of
    another machine may change is counted. Both ends are infinite where counts are cut off.
    """
    slack = CLOSE * (1 + half) + ROUNDING * high
    known = high < LARGEST_WHOLE
    above = np.where(high > 0, high - 1 - half, -np.inf)
    least = np.maximum(above, np.where(low > 0, low + half, -np.inf)) - slack
    most = np.minimum(low + 1 + half, high - half) + slack
    return np.where(known, least, -np.inf), np.where(known, most, np.inf)


@final
@dataclass(frozen=True, kw_only=True)
class Count(Total):
    """`count` of rows, or `count(column)` of those that have a value.

    Beside means of a column it may be made of the rows with a value and of those without: see
    `layout.choices`.
    """

    kind: ClassVar[str] = "count"
    adds_up: ClassVar[bool] = True
    has_margins: ClassVar[bool] = True
    column_is: ClassVar[ColumnIs] = "optional"
    of_values: ClassVar[bool] = False
    counts: ClassVar[bool] = True

    def in_words(self, labels: Mapping[str, str]) -> str:
        """What it counts, where its column has a name."""
        name = labels.get(self.column)
        return self.label if name is None else f"count of rows with {name}"

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """The count."""
        del by_row
        return (count_of(spec, self.column),)


@final
@dataclass(frozen=True, kw_only=True)
class CountUnits(Total):
    """`count_units`: distinct persons; where a row is a unit, rows."""

    kind: ClassVar[str] = "count_units"
    adds_up: ClassVar[bool] = True
    has_margins: ClassVar[bool] = True
    column_is: ClassVar[ColumnIs] = "absent"
    of_values: ClassVar[bool] = False
    counts: ClassVar[bool] = True

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """Whether a unit is there."""
        return (count_of(spec, "") if by_row else A_PERSON,)


@final
@dataclass(frozen=True, kw_only=True)
class Sum(Total):
    """`sum(column)`, in units of the largest value that the bounds allow.

    Beside a count of the same values it is made of that and of the values about the middle of their
    bounds: sum = middle·count + radius·(what is counted from there). See `layout.choices`.
    """

    kind: ClassVar[str] = "sum"
    adds_up: ClassVar[bool] = True
    has_margins: ClassVar[bool] = True
    column_is: ClassVar[ColumnIs] = "required"
    of_values: ClassVar[bool] = True
    column_types = SUMMED_COLUMN
    counts: ClassVar[bool] = False

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """The value."""
        del by_row
        low, high = bounds_of(spec, self.column)
        largest, known = max(abs(low), abs(high)), spec.columns[self.column]
        least = low if known.widest is None else known.widest[0]  # which found bounds don't change
        return (
            Component(
                kind="value",
                column=self.column,
                radius=largest,
                lowers=least < 0,
                apart=known.finds is not None,
            ),
        )

    def about_middle(self, spec: Spec) -> Iterator[tuple[Component, Component]]:
        """Yield the counts that it can be made of, each with the values about the middle.

        Beside a count of all rows a missing value is 0, as it is to the sum, and bounds reach to 0.
        """
        count, value = count_of(spec, self.column), centred_value(spec, self.column)
        yield count, value
        if count.column:
            low, high = bounds_of(spec, self.column)
            low, high = min(low, Fraction(0)), max(high, Fraction(0))
            value = replace(value, centre=(low + high) / 2, radius=(high - low) / 2, filled=True)
            yield count_of(spec, ""), value

    def weights(self, own: Ingredients) -> tuple[float, ...]:
        """Its unit, or the middle and the radius of the bounds."""
        if len(own.components) == 1:
            return super().weights(own)
        _, value = own.components
        return float(value.centre), float(value.radius)

    def unit(self, own: Ingredients) -> float:
        """What one unit of its value is worth."""
        return float(own.components[-1].radius)

    def wrong_suffix(self, own: Ingredients, told: Sequence[Floats], beside: Beside) -> str | None:
        """It is the count times the mean, where both are published beside it."""
        summed = own.components[-1]
        # tables that add up are rounded together, and have a check of their own
        same = () if own.noise[-1].drawn is None or not summed.lowers else beside.items()
        for (first, *others), means in same:
            if first == summed and [one.kind for one in others] == ["count"]:
                for count in beside.get((others[0],), ()):
                    if not all(self._fits(own, told[0], ratio, count) for ratio in means):
                        return ""
        return super().wrong_suffix(own, told, beside)

    def _fits(self, own: Ingredients, value: Floats, ratio: Floats, count: Floats) -> bool:
        """Whether a sum is the count times the mean, middle + radius·ratio.

        A mean says nothing where n <= 0, where it is the middle. At an end of its bounds the sum is
        beyond. A count may have been rounded; and `clamp` makes 0 of a sum below it.
        """
        middle, radius = float(own.components[-1].centre), float(own.components[-1].radius)
        product = (middle + radius * ratio) * count
        room = CLOSE * (np.abs(value) + (abs(middle) + radius) * np.abs(count))
        room += np.abs(middle + radius * ratio) * own.multiple / 2
        positive = (np.abs(ratio) > NEAR) | (count > own.multiple / 2)
        said = positive & (np.abs(count) < LARGEST_WHOLE)
        below, above = value < product - room, value > product + room
        if own.clamp:
            above &= value > 0
        wrong = (below & (ratio > NEAR - 1)) | (above & (ratio < 1 - NEAR))
        return not bool((said & wrong).any())


# Counts of what limits and bounds take away, of all groups of a query together.
#
# Adding or removing a person moves `count_over_limits` and `count_in_no_group` by 1 at most:
# whether one is over a limit, or has a row in no group, depends on their own rows alone. It moves
# each `count_outside` by as many values as the person has outside the bounds, cut down to as many
# rows as limits leave one: see `lay_out`. Replaced, a person moves each by no more either way,
# since all of these numbers only grow with rows.


_OVER = {
    "max_rows": "more than {most} rows",
    "max_groups": "rows in more than {most} groups",
    "max_rows_per_group": "more than {most} rows in a group",
}


@dataclass(frozen=True, kw_only=True)
class Clipped(Total):
    """A count of what is over a limit, or outside bounds, in all groups together."""

    counts: ClassVar[bool] = True
    of_all_groups: ClassVar[bool] = True

    def counts_in_words(self, spec: Spec) -> str:
        """Return what it counts, in a sentence."""
        raise NotImplementedError


@final
@dataclass(frozen=True, kw_only=True)
class CountOverLimits(Clipped):
    """`count_over_limits`: persons with more rows or groups than [contribution] allows."""

    kind: ClassVar[str] = "count_over_limits"
    column_is: ClassVar[ColumnIs] = "absent"
    of_values: ClassVar[bool] = False

    def counts_in_words(self, spec: Spec) -> str:
        """Return which limits."""
        limits = (spec.contribution or Contribution()).counted
        over = " or ".join(_OVER[name].format(most=most) for name, most in limits.items())
        return f"{self.label} counts each {spec.privacy.person} with {over}."

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """Whether a unit is over a limit."""
        del spec, by_row
        return (OVER_LIMITS,)

    def problems(self, spec: Spec) -> Iterator[str]:
        """There is a limit of rows or groups that one can be over."""
        given = spec.contribution
        if spec.privacy.by_row:
            yield 'Not used with unit = "row": no limit cuts off any of a row.'
        elif given is not None and not given.counted:
            yield "Expected max_rows, max_groups or max_rows_per_group in [contribution]."


@final
@dataclass(frozen=True, kw_only=True)
class CountInNoGroup(Clipped):
    """`count_in_no_group`: persons with a row in no group; where a row is a unit, such rows."""

    kind: ClassVar[str] = "count_in_no_group"
    column_is: ClassVar[ColumnIs] = "absent"
    of_values: ClassVar[bool] = False

    def counts_in_words(self, spec: Spec) -> str:
        """Return whom it counts."""
        by_row, person = spec.privacy.by_row, spec.privacy.person
        which = "each row that is" if by_row else f"each {person} with a row"
        return f"{self.label} counts {which} in no group: of another key, in no band, or missing."

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """Whether a unit has such a row."""
        del spec, by_row
        return (IN_NO_GROUP,)


@final
@dataclass(frozen=True, kw_only=True)
class CountOutside(Clipped):
    """`count_outside(column)`: values that are outside the bounds of their column."""

    kind: ClassVar[str] = "count_outside"
    column_is: ClassVar[ColumnIs] = "required"
    of_values: ClassVar[bool] = True
    column_types = SUMMED_COLUMN

    def counts_in_words(self, spec: Spec) -> str:
        """Return which bounds."""
        low, high = map(decimal_text, bounds_of(spec, self.column))
        known = not spec.columns[self.column].is_open
        outside = f"below {low} or above {high}" if known else "outside the bounds that are found"
        return f"{self.label} counts values {outside}."

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """Whether the row has a value outside."""
        del spec, by_row
        return (Component(kind="outside", column=self.column),)
