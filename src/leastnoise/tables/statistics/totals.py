"""Counts and sums: a noisy number times its unit, or a weighted sum of two noisy numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.statistics.base import (
    A_PERSON,
    CLOSE,
    IN_NO_GROUP,
    LARGEST_WHOLE,
    NEAR,
    OVER_LIMITS,
    ROUNDING,
    SUMMED_COLUMN,
    ColumnIs,
    ColumnStatistic,
    Component,
    Ends,
    Floats,
    FourColumns,
    Ingredients,
    Published,
    bounds_of,
    centred_value,
    count_of,
    is_outside,
    round_to_multiple,
)
from leastnoise.tables.statistics.fieller import half_width_together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query


@dataclass(frozen=True, kw_only=True)
class Total(ColumnStatistic):
    """A statistic that is one number times its unit, or the weighted sum of two numbers."""

    clamps: ClassVar[bool] = True
    needs_size: ClassVar[bool] = False

    def weights(self, ingredients: Ingredients) -> tuple[float, ...]:
        """The factor of each number in the weighted sum."""
        return tuple(float(component.radius) for component in ingredients.components)

    @final
    def values(self, ingredients: Ingredients, numbers: Sequence[Floats]) -> FourColumns:
        """The weighted sum, its standard deviation, and the sum ± the half-width of its noise."""
        first, *others = (
            weight * number
            for weight, number in zip(self.weights(ingredients), numbers, strict=True)
        )
        return self._around(ingredients, sum(others, start=first))

    def _around(self, ingredients: Ingredients, total: Floats) -> FourColumns:
        half = self._half_width(ingredients)
        return total, np.full_like(total, self.stated_std(ingredients)), total - half, total + half

    def _half_width(self, ingredients: Ingredients) -> Ends:
        """The half-width that holds 95 % of the noise; for two numbers, by their joint law.

        If the joint law isn't known, the half-widths for 97.5 % of both numbers are added.
        """
        weights = self.weights(ingredients)
        if len(weights) == 1:
            return weights[0] * ingredients.noise[0].halves95
        (other, weight), (second, noise) = map(abs, weights), ingredients.noise
        together = half_width_together((noise, second), other / weight)
        return (
            weight * noise.half975 + other * second.half975
            if together is None
            else weight * together
        )

    @final
    def expected_std(
        self, ingredients: Ingredients, stds: Sequence[float], rows: int | None
    ) -> float:
        """The standard deviation of the weighted sum; the noise of two numbers is uncorrelated."""
        del rows
        return math.hypot(
            *(w * std for w, std in zip(self.weights(ingredients), stds, strict=True))
        )

    @final
    def expected_half_width(self, ingredients: Ingredients, rows: int | None) -> float:
        """The largest half-width over all cells; it doesn't depend on the number of `rows`."""
        del rows
        return float(np.max(self._half_width(ingredients)))

    @final
    def in_common_unit(self, ingredients: Ingredients, value: Floats) -> Floats:
        """The value divided by the statistic's `unit`."""
        return value / self.unit(ingredients)

    @final
    def stated_std(self, ingredients: Ingredients) -> Ends:
        """The standard deviation of the noise."""
        if len(ingredients.noise) == 1:
            return ingredients.unit * ingredients.noise[0].stds
        return self.expected_std(ingredients, [noise.std for noise in ingredients.noise], None)

    def find_wrong_suffix(
        self, ingredients: Ingredients, columns: Sequence[Floats], published: Published
    ) -> str | None:
        """The suffix of a wrong `_low` or `_high`, or None.

        Any value of the number itself is possible.
        """
        del published
        value, _, low, high = columns
        if ingredients.projected:
            least, most = bound_noisy_numbers(low, high, ingredients.noise[0].halves95)
            return None if (least <= most).all() else "_low"
        multiple = ingredients.multiple if self.counts else 0
        away = multiple / 2
        ends: list[tuple[Floats, Floats]] = []
        scale = np.abs(value)
        for moved in (value - away, value + away):
            *_, below, above = self._around(ingredients, moved)
            scale = np.maximum(scale, (above - below) / 2)
            ends.append((below, above))
        for index, (suffix, end, rounding) in enumerate(
            (("_low", low, np.floor), ("_high", high, np.ceil))
        ):
            slack = CLOSE * scale if multiple else 0.0
            least, most = ends[0][index] - slack, ends[1][index] + slack
            if ingredients.clamp:  # 0 may have replaced a negative number
                least = np.where(value == 0, 0.0, np.maximum(least, 0.0))
                most = np.maximum(most, 0.0)
            if multiple:
                known = np.abs(value) + scale < LARGEST_WHOLE
                least = np.where(known, round_to_multiple(rounding, least, multiple), -np.inf)
                most = np.where(known, round_to_multiple(rounding, most, multiple), np.inf)
            if is_outside(end, least, most, 0.0 if multiple else CLOSE * scale):
                return suffix
        return None


def bound_noisy_numbers(low: Floats, high: Floats, half: Ends) -> tuple[Floats, Floats]:
    """The range of each noisy number that fits its published, rounded and clamped interval.

    The interval is number ± `half`, rounded outwards, with 0 in place of negative ends. The range
    allows for float rounding on another machine. It is infinite if a count may have been clipped.
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
    """`count` of rows, or `count(column)` of rows with a value.

    In a query with means of a column, the count of all rows may be the sum of two counts, of rows
    with and without a value: see `layout.components`.
    """

    kind: ClassVar[str] = "count"
    adds_up: ClassVar[bool] = True
    has_margins: ClassVar[bool] = True
    column_is: ClassVar[ColumnIs] = "optional"
    of_values: ClassVar[bool] = False
    counts: ClassVar[bool] = True

    def in_words(self, labels: Mapping[str, str]) -> str:
        """The label, or "count of rows where" the column's label "is known"."""
        name = labels.get(self.column)
        return self.label if name is None else f"count of rows where {name} is known"

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """The component that counts rows."""
        del by_row
        return (count_of(spec, self.column),)


@final
@dataclass(frozen=True, kw_only=True)
class CountUnits(Total):
    """`count_units`: distinct persons; if a row is a unit, rows."""

    kind: ClassVar[str] = "count_units"
    adds_up: ClassVar[bool] = True
    has_margins: ClassVar[bool] = True
    column_is: ClassVar[ColumnIs] = "absent"
    of_values: ClassVar[bool] = False
    counts: ClassVar[bool] = True

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """The component that counts units."""
        return (count_of(spec, "") if by_row else A_PERSON,)


@final
@dataclass(frozen=True, kw_only=True)
class Sum(Total):
    """`sum(column)`, from values that are divided by their largest possible size.

    It may be computed from a count and a centred sum instead, if that needs less noise: see
    `layout.components.center_sums`.
    """

    kind: ClassVar[str] = "sum"
    adds_up: ClassVar[bool] = True
    has_margins: ClassVar[bool] = True
    column_is: ClassVar[ColumnIs] = "required"
    of_values: ClassVar[bool] = True
    column_types = SUMMED_COLUMN
    counts: ClassVar[bool] = False

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """The column's value, divided by the largest absolute value that the bounds allow."""
        del by_row
        low, high = bounds_of(spec, self.column)
        largest, known = max(abs(low), abs(high)), spec.columns[self.column]
        # the same for all bounds that a release may find
        least = low if known.widest is None else known.widest[0]
        return (
            Component(
                kind="value",
                column=self.column,
                radius=largest,
                lowers=least < 0,
                separate=known.finds is not None,
            ),
        )

    def centred_components(self, spec: Spec) -> Iterator[tuple[Component, Component]]:
        """Yield pairs of a count and a centred sum from which the sum can be computed.

        In a sum beside a count of all rows, a missing value has to count as 0. So the bounds are
        extended to include 0.
        """
        count, value = count_of(spec, self.column), centred_value(spec, self.column)
        yield count, value
        if count.column:
            low, high = bounds_of(spec, self.column)
            low, high = min(low, Fraction(0)), max(high, Fraction(0))
            value = replace(value, centre=(low + high) / 2, radius=(high - low) / 2, filled=True)
            yield count_of(spec, ""), value

    def weights(self, ingredients: Ingredients) -> tuple[float, ...]:
        """The factors of the numbers from which the sum is computed.

        A sum that is computed by itself has one factor: the largest size of a value. A count and a
        sum about the middle have two factors: the middle and the radius of the bounds, which are
        extended to include 0 if all rows are counted.
        """
        if len(ingredients.components) == 1:
            return super().weights(ingredients)
        _, value = ingredients.components
        return float(value.centre), float(value.radius)

    def unit(self, ingredients: Ingredients) -> float:
        """The change of the published sum when the last number, a sum of values, changes by 1."""
        return float(ingredients.components[-1].radius)

    def find_wrong_suffix(
        self, ingredients: Ingredients, columns: Sequence[Floats], published: Published
    ) -> str | None:
        """The suffix of the first wrong column, "" for the sum itself; None if none is wrong.

        If the query also published the count and the mean of the same numbers, the sum has to agree
        with their product: see `_fits`. `_low` or `_high` is wrong if the noise can't give it.
        """
        summed = ingredients.components[-1]
        # tables that add up are rounded together, and checked elsewhere
        others_published = (
            () if ingredients.noise[-1].drawn is None or not summed.lowers else published.items()
        )
        for (first, *others), means in others_published:
            if first == summed and [component.kind for component in others] == ["count"]:
                for count in published.get((others[0],), ()):
                    if not all(
                        self._fits(ingredients, columns[0], ratio, count) for ratio in means
                    ):
                        return ""
        return super().find_wrong_suffix(ingredients, columns, published)

    def _fits(self, ingredients: Ingredients, value: Floats, ratio: Floats, count: Floats) -> bool:
        """True if a sum is the count times the mean, middle + radius·ratio.

        If n <= 0, the mean is the middle of the bounds, and nothing is checked. If the mean is at
        an end of its bounds, the sum may be larger or smaller than the product. A count may have
        been rounded, and `clamp` replaces a negative sum by 0.
        """
        middle, radius = (
            float(ingredients.components[-1].centre),
            float(ingredients.components[-1].radius),
        )
        product = (middle + radius * ratio) * count
        room = CLOSE * (np.abs(value) + (abs(middle) + radius) * np.abs(count))
        room += np.abs(middle + radius * ratio) * ingredients.multiple / 2
        positive = (np.abs(ratio) > NEAR) | (count > ingredients.multiple / 2)
        is_checked = positive & (np.abs(count) < LARGEST_WHOLE)
        below, above = value < product - room, value > product + room
        if ingredients.clamp:
            above &= value > 0
        wrong = (below & (ratio > NEAR - 1)) | (above & (ratio < 1 - NEAR))
        return not bool((is_checked & wrong).any())


# Counts of data that limits and bounds cut off, in all groups of a query together.
#
# Adding or removing a person changes `count_over_limits` and `count_in_no_group` by at most 1,
# since a person's own rows alone decide whether the person counts. It changes each `count_outside`
# by at most the person's number of values outside the bounds, among the rows that limits keep: see
# `lay_out`. Replacing a person changes each count by no more in either direction, since all these
# counts only grow with rows.


_OVER = {
    "max_rows": "more than {most} rows",
    "max_groups": "rows in more than {most} groups",
    "max_rows_per_group": "more than {most} rows in a group",
}


@dataclass(frozen=True, kw_only=True)
class ClippingCount(Total):
    """The base of counts of persons, rows or values that limits, bounds or groups leave out."""

    counts: ClassVar[bool] = True
    of_all_groups: ClassVar[bool] = True

    def counts_in_words(self, spec: Spec, query: Query) -> str:
        """A sentence that explains the count in `query`."""
        raise NotImplementedError


@final
@dataclass(frozen=True, kw_only=True)
class CountOverLimits(ClippingCount):
    """`count_over_limits`: persons over a limit on rows, on groups, or on rows in a group."""

    kind: ClassVar[str] = "count_over_limits"
    column_is: ClassVar[ColumnIs] = "absent"
    of_values: ClassVar[bool] = False

    def counts_in_words(self, spec: Spec, query: Query) -> str:
        """A sentence that names the limits."""
        limits = spec.limits(query).counted
        over = " or ".join(_OVER[name].format(most=most) for name, most in limits.items())
        return f"{self.label} counts each {spec.privacy.person} with {over}."

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """The component that counts units over a limit."""
        del spec, by_row
        return (OVER_LIMITS,)

    def problems(self, spec: Spec, query: Query) -> Iterator[str]:
        """Yield a problem if a row is a unit, or if all limits of the query are norms."""
        if spec.privacy.by_row:
            yield 'Not used with unit = "row": limits never cut off a single row.'
        elif spec.limits(query).given and not spec.limits(query).counted:
            yield "Expected max_rows, max_groups or max_rows_per_group in [contribution]."


@final
@dataclass(frozen=True, kw_only=True)
class CountInNoGroup(ClippingCount):
    """`count_in_no_group`: persons with a row in no group; if a row is a unit, rows in no group."""

    kind: ClassVar[str] = "count_in_no_group"
    column_is: ClassVar[ColumnIs] = "absent"
    of_values: ClassVar[bool] = False

    def counts_in_words(self, spec: Spec, query: Query) -> str:
        """A sentence that says which persons or rows are counted."""
        del query
        by_row, person = spec.privacy.by_row, spec.privacy.person
        which = "each row" if by_row else f"each {person} with a row"
        return (
            f"{self.label} counts {which} in no group: its key is not listed, its value is in no "
            "band, or one of them is missing."
        )

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """The component that counts units with a row in no group."""
        del spec, by_row
        return (IN_NO_GROUP,)


@final
@dataclass(frozen=True, kw_only=True)
class CountOutside(ClippingCount):
    """`count_outside(column)`: values that are outside the bounds of their column."""

    kind: ClassVar[str] = "count_outside"
    column_is: ClassVar[ColumnIs] = "required"
    of_values: ClassVar[bool] = True
    column_types = SUMMED_COLUMN

    def in_words(self, labels: Mapping[str, str]) -> str:
        """The statistic's label, or "count of … outside the bounds" with the column's label."""
        name = labels.get(self.column)
        return self.label if name is None else f"count of {name} outside the bounds"

    def counts_in_words(self, spec: Spec, query: Query) -> str:
        """A sentence that names the bounds."""
        del query
        low, high = map(decimal_text, bounds_of(spec, self.column))
        known = not spec.columns[self.column].is_open
        outside = (
            f"below {low} or above {high}" if known else "outside the bounds that the release finds"
        )
        return f"{self.label} counts values {outside}."

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """The component that counts values outside the bounds."""
        del spec, by_row
        return (Component(kind="outside", column=self.column),)
