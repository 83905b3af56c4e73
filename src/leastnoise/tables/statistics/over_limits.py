"""Counts of what limits and bounds take away, of all groups of a query together.

Adding or removing a person moves `count_over_limits` by 1 at most: whether one is over a limit
depends on their own rows alone. It moves each `count_outside` by as many values as the person has
outside the bounds, cut down to as many rows as limits leave one: see `lay_out`. Replaced, a person
moves each by no more either way, since all of these numbers only grow with rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.spec.model import Contribution
from leastnoise.tables.statistics.base import OVER_LIMITS, ColumnIs, Component, bounds_of
from leastnoise.tables.statistics.totals import Total

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.spec.model import Spec

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
class CountOutside(Clipped):
    """`count_outside(column)`: values that are outside the bounds of their column."""

    kind: ClassVar[str] = "count_outside"
    column_is: ClassVar[ColumnIs] = "required"
    of_values: ClassVar[bool] = True

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
