"""Base classes of statistics: all facts that the library uses about a statistic.

Each statistic is a class, listed in `registry`. It defines its spelling, the types of its column,
and the numbers that are summed for it (`Component`), from which the effect of one unit follows. It
computes its value and interval from noisy numbers, and the errors that a plan shows. It also has
the checks of `verify`. Other modules name a class only to treat its statistic unlike all others,
such as a quantile, which is chosen and gets no noise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from leastnoise._validate import MAX_COUNT
from leastnoise.tables.spec.column import Column
from leastnoise.tables.spec.values import SKIP, ColumnType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query

SUFFIXES = ("", "_std", "_low", "_high")
"""Suffixes of a statistic's four columns in a result."""
LARGEST_WHOLE = MAX_COUNT
"""The largest whole count that is published: every reader of JSON stores it exactly."""
CLOSE = 1e-6
"""Relative tolerance for published numbers, which another machine's floats may have computed."""
ROUNDING = 4e-15
"""Relative rounding error of a value that was computed in a few steps."""
NEAR = 1e-4
"""Relative distance to a bound within which a published value may have been clamped.

`verify` doesn't recompute noisy numbers from such a value. `verify` also changes n, a count, by
this factor to see how an interval depends on n. It knows n up to a relative error of about 1e-9.
"""

ANY_COLUMN: frozenset[ColumnType] = frozenset({"int", "float", "text", "bool"})
SUMMED_COLUMN: frozenset[ColumnType] = frozenset({"int", "float", "bool"})
"""The types of columns that can be summed; a bool adds 0 or 1."""
RANKED_COLUMN: frozenset[ColumnType] = frozenset({"int", "float"})
ColumnIs = Literal["absent", "optional", "required"]
"""The part of a column in a statistic's spelling: absent, optional or required."""
Floats = NDArray[np.float64]
FourColumns = tuple[Floats, Floats, Floats, Floats]
"""A statistic's values, `_std`, `_low` and `_high`: four arrays with a number per cell."""
Ends = Floats | float
Published = Mapping[tuple["Component", ...], Sequence[Floats]]
"""The values that a query published, keyed by the components of their statistics.

Each array has one number per cell, converted by `Statistic.in_common_unit`.
"""


@final
@dataclass(frozen=True, kw_only=True)
class Component:
    """A number that each row adds to a sum: 1 for counts, u = (value − centre)/radius for values.

    All are in [−1, 1], except "without", which is 1/radius for a row without a value of the column:
    see `layout.components`. A "square" is 2u² − 1, which fills [−1, 1] as u does. Noise for u²,
    which fills only [0, 1], would also hide moves below 0 that no row makes.

    - "count": 1; with a `column`, 1 only if the row has a value of it.
    - "value", "square": 0 if the value is missing and left out; never above "count" in size.
    - "units": 1 if the unit has a row.
    - "outside": 1 if the row has a value outside the column's bounds.
    - "over": 1 if the unit is over a limit. "rest": 1 if the unit has a row in no group.

    A `filled` value counts as 0 if it is missing, before centring. A component with a `paired`
    column is also 0 in rows without a value of that column: see `Ratio`. `lowers` is true if the
    number may be negative, so that a row lowers the sum. A `separate` component is summed by itself
    even if, with some found bounds, it equals another component of its column.
    """

    kind: Literal["count", "without", "units", "value", "square", "outside", "over", "rest"]
    column: str = ""
    centre: Fraction = Fraction(0)
    radius: Fraction = Fraction(1)
    lowers: bool = False
    separate: bool = False
    filled: bool = False
    paired: str = ""

    @property
    def of_values(self) -> bool:
        """True if the number is u or 2u² − 1 of a value; then it is rounded, unlike counts."""
        return self.kind in {"value", "square"}

    @property
    def needed(self) -> frozenset[str]:
        """The columns that the number reads: its `column` and the `paired` column, if any."""
        return frozenset({self.column, self.paired} - {""})


A_PERSON = Component(kind="units")
"""A person's contribution to the count of persons in a cell, for any number of rows."""
OVER_LIMITS = Component(kind="over")
"""A person's contribution to the count of persons over a limit."""
IN_NO_GROUP = Component(kind="rest")
"""A unit's contribution to the count of units with rows in no group, for any number of rows."""


@final
@dataclass(frozen=True, kw_only=True)
class RowErrors:
    """Errors of a table whose rows differ: the std and the 95 % half-width of each row."""

    std: tuple[float, ...]
    half95: tuple[float, ...]


@final
@dataclass(frozen=True, kw_only=True)
class NoiseError:
    """The error of one noisy number, including rounding, in units of its component.

    `std` is its standard deviation. `half95`, `half975` and `half983` are half-widths of intervals
    with confidence 1 − 0.05/k for k = 1, 2, 3. So k such intervals hold together with 95 %
    (Bonferroni). If the `rows` of a table have different errors, `std` is their root mean square,
    and the half-widths are the largest.
    """

    std: float
    half95: float
    half975: float
    half983: float
    drawn: tuple[Certificate, int] | None = None
    """The noise of the whole draw, and this number's index.

    None if no exact law is known, or if noise decides which rows are published.
    """
    beside_count: tuple[float, ...] = ()
    """For a sum that a count divides: half-widths of X − a·Y, one for each a of `fieller.UP_TO_1`.

    They hold with 95 %. X is the error of the sum and Y the error of the count. Given only if
    `drawn` is None.
    """
    rows: RowErrors | None = None

    @property
    def stds(self) -> Ends:
        """The standard deviation: an array with one per row, or a number for all."""
        return self.std if self.rows is None else np.array(self.rows.std)

    @property
    def halves95(self) -> Ends:
        """The half-width that holds 95 %: an array with one per row, or a number for all."""
        return self.half95 if self.rows is None else np.array(self.rows.half95)


@final
@dataclass(frozen=True, kw_only=True)
class Ingredients:
    """The components of a statistic in a query, in order, with the error of each.

    Counts are published as multiples of `multiple`, or unrounded if it is 0. With `clamp` negative
    results are published as 0, if the statistic can't be negative. If `projected` is true, values
    were changed so that tables add up; their intervals stay around the noisy numbers.
    """

    components: tuple[Component, ...]
    noise: tuple[NoiseError, ...]
    multiple: int
    clamp: bool
    projected: bool = False

    @property
    def unit(self) -> float:
        """The factor that turns the first component's number into its published value."""
        return float(self.components[0].radius)

    @property
    def middle(self) -> float:
        """The middle of the first component's bounds."""
        return float(self.components[0].centre)


@dataclass(frozen=True, kw_only=True)
class AnyStatistic(ABC):
    """A statistic of each cell, computed from the cell's rows or from values in these rows."""

    kind: ClassVar[str]
    """The spelling of the statistic without its columns, such as "mean"."""
    counts: ClassVar[bool]
    """True if the value is whole and not negative before noise, so that `multiple` can round it."""
    clamps: ClassVar[bool]
    """True if `clamp` replaces negative values by 0."""
    needs_size: ClassVar[bool]
    """True if the error depends on the number of values in a group, which isn't public."""
    adds_up: ClassVar[bool] = False
    """True if the value in a table by fewer columns is the sum of the values in the cells."""
    has_margins: ClassVar[bool] = False
    """True if tables by fewer columns may have the statistic.

    Such a statistic adds up, or is a quotient of statistics that add up.
    """
    of_all_groups: ClassVar[bool] = False
    """True if the statistic is a single number for all groups of its query together."""

    @property
    @abstractmethod
    def label(self) -> str:
        """The column name of the statistic in a result, such as count or mean_<column>."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes of the statistic's columns in a result."""
        return SUFFIXES

    @property
    @abstractmethod
    def parts(self) -> tuple[OneColumn, ...]:
        """The single-column statistics from which this statistic is computed."""

    def in_words(self, labels: Mapping[str, str]) -> str:
        """The name of the statistic in plans and pages, given the `labels` of columns."""
        if labels.keys().isdisjoint(part.column for part in self.parts):
            return self.label
        return " / ".join(part.in_words(labels) for part in self.parts)

    @property
    def assumes(self) -> str:
        """A sentence about assumptions of a plan besides the size of a group; "" without any."""
        return ""

    def problems(self, spec: Spec, query: Query) -> Iterator[str]:
        """The problems of this statistic in a query of a spec whose columns have bounds."""
        del spec, query
        yield from ()


@dataclass(frozen=True, kw_only=True)
class Statistic(AnyStatistic):
    """A statistic that is computed from noisy sums."""

    @abstractmethod
    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """The numbers per row whose sums the statistic needs; a query sums equal numbers only once.

        The effect of one unit follows from them: see `layout.boundings`.
        """

    @abstractmethod
    def values(self, ingredients: Ingredients, numbers: Sequence[Floats]) -> FourColumns:
        """The statistic's four columns, from the noisy sums of each component.

        Each of the `numbers` has shape (n,) for n cells, as the columns have. The value without
        noise is between `_low` and `_high` with probability 95 % or more.
        """

    @abstractmethod
    def expected_std(
        self, ingredients: Ingredients, stds: Sequence[float], rows: int | None
    ) -> float:
        """An upper bound on the statistic's `_std` in a group of this many `rows`.

        It holds for numbers without noise, and if the group meets what the statistic `assumes`: a
        count that noise lowers has a larger `_std`. `stds` has the standard deviation of each
        number. `rows` is None unless the statistic `needs_size`.
        """

    @abstractmethod
    def expected_half_width(self, ingredients: Ingredients, rows: int | None) -> float:
        """An upper bound on half the width of the statistic's interval in a group of `rows` rows.

        It holds if the noisy count is `rows`, and if the group meets what the statistic `assumes`.
        A smaller count has a wider interval. `rows` is None unless the statistic `needs_size`.
        """

    def unit(self, ingredients: Ingredients) -> float:
        """The change of the statistic's value if its first number changes by 1.

        Some subclasses use another number, such as the quotient of two numbers.
        """
        return ingredients.unit

    def is_open(self, ingredients: Ingredients) -> bool:
        """True for an unbounded quotient, whose `_std`, `_low` and `_high` may be ±∞."""
        del ingredients
        return False

    def in_common_unit(self, ingredients: Ingredients, value: Floats) -> Floats:
        """Convert values to a unit in which all statistics of the same components are equal.

        For example, var and std of a column both become the variance of the scaled values.
        """
        del ingredients
        return value

    @abstractmethod
    def stated_std(self, ingredients: Ingredients) -> Ends | None:
        """The `_std`, as a number or one per cell; None if it depends on the noisy numbers."""

    @abstractmethod
    def find_wrong_suffix(
        self, ingredients: Ingredients, columns: Sequence[Floats], published: Published
    ) -> str | None:
        """Find a column that contradicts other columns or the noise; return its suffix, or None.

        "" stands for the value itself. `columns` are the statistic's four columns as published.
        `published` has the other statistics of the query.
        """


@dataclass(frozen=True, kw_only=True)
class OneColumn(AnyStatistic):
    """A statistic of one column, or of none."""

    column: str = ""

    column_is: ClassVar[ColumnIs]
    column_types: ClassVar[frozenset[ColumnType]] = ANY_COLUMN
    """The column types that the statistic accepts."""
    of_values: ClassVar[bool]
    """True if the statistic uses the column's values, which must be numbers with public bounds."""
    ranked: ClassVar[bool] = False
    """True if the value is one of the column's public candidates, as for quantiles."""

    @property
    def label(self) -> str:
        """The kind of the statistic and its column, if it has one, such as mean_income."""
        return f"{self.kind}_{self.column}" if self.column else self.kind

    @final
    @property
    def parts(self) -> tuple[OneColumn, ...]:
        """The statistic itself."""
        return (self,)

    def in_words(self, labels: Mapping[str, str]) -> str:
        """The kind of the statistic and the label of its column, such as "mean of income"."""
        name = labels.get(self.column)
        return self.label if name is None else f"{self.kind} of {name}"


@dataclass(frozen=True, kw_only=True)
class ColumnStatistic(OneColumn, Statistic):
    """A statistic of one column, or of none, that is computed from noisy sums."""


def centred_value(spec: Spec, column: str) -> Component:
    """The component of a column's value, relative to the middle of its bounds, in [−1, 1]."""
    low, high = bounds_of(spec, column)
    centre, radius = (low + high) / 2, (high - low) / 2
    return Component(kind="value", column=column, centre=centre, radius=radius, lowers=True)


def count_of(spec: Spec, column: str) -> Component:
    """The component that counts rows: only rows with a value of `column`, if others are left out.

    If no row can be left out, it counts all rows, so that several statistics share the count.
    """
    if may_be_left_out(spec, column):
        return Component(kind="count", column=column)
    return Component(kind="count")


def may_be_left_out(spec: Spec, column: str) -> bool:
    """True if a row may have no value of the `column`, and no number replaces it."""
    return bool(column) and spec.columns.get(column, Column()).missing == SKIP


def bounds_of(spec: Spec, column: str) -> tuple[Fraction, Fraction]:
    """The bounds of a column, which a statistic `of_values` always has."""
    bounds = spec.columns[column].limits
    if bounds is None:
        raise KeyError(column)  # the checks of the spec exclude this
    return bounds


def require_size(rows: int | None) -> int:
    """The size of a group; raises TypeError if a statistic that `needs_size` was given none."""
    if rows is None:
        raise TypeError("this error depends on the number of rows in a group")
    return rows


def round_to_multiple(
    rounding: Callable[[Floats], Floats], values: Floats, multiple: int
) -> Floats:
    """Round each value to a multiple of `multiple`; `rounding` rounds to whole numbers."""
    return multiple * rounding(values / multiple)


def is_outside(
    end: Floats, least: Floats | float, most: Floats | float, slack: Floats | float
) -> bool:
    """True if any number is NaN, or further than `slack` from [least, most]."""
    return not ((end >= least - slack) & (end <= most + slack)).all()
