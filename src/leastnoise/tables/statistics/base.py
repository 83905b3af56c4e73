"""What a statistic says of itself: all that the way from a spec to a verified table asks of it.

A class for each, listed in `registry`, which alone is asked for all of them. It says how it is
spelled and what its column has to be; which numbers are summed for it, which is what a unit can
move (`Component`); its value and interval from the noisy numbers; the error that a plan shows; and
what `verify` finds wrong. A new one is known to the rest by what it says here: elsewhere a class is
named only where that statistic is treated as no other is (a sum about the middle of its bounds, a
quantile that is chosen).
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

SUFFIXES = ("", "_std", "_low", "_high")
"""Of the four columns that each statistic has in a result."""
LARGEST_WHOLE = MAX_COUNT
"""Counts that are published whole are no larger: any reader of JSON holds them exactly."""
CLOSE = 1e-6
"""Relative, between what is published and what fits: floats of another machine."""
ROUNDING = 4e-15
"""Relative, of a value that was computed in a few steps."""
NEAR = 1e-4
"""Relative: how near to where it is cut off a value tells no more what it was made of, and the
change of n by which an interval is checked, since a relative error of 1e-9 in n is 1e-5 of that."""

ANY_COLUMN: frozenset[ColumnType] = frozenset({"int", "float", "text", "bool"})
SUMMED_COLUMN: frozenset[ColumnType] = frozenset({"int", "float", "bool"})
"""A bool adds 0 or 1 to a sum."""
RANKED_COLUMN: frozenset[ColumnType] = frozenset({"int", "float"})
ColumnIs = Literal["absent", "optional", "required"]
"""Whether a statistic names a column."""
Floats = NDArray[np.float64]
Four = tuple[Floats, Floats, Floats, Floats]
"""Values, and their `_std`, `_low` and `_high`, a number a cell."""
Ends = Floats | float
Beside = Mapping[tuple["Component", ...], Sequence[Floats]]
"""The values that were published in the same block, `in_common`, by what they are made of."""


@final
@dataclass(frozen=True, kw_only=True)
class Component:
    """One scalar per row, in [−1, 1]: 1, "this unit is here", u = (x − centre)/radius, or 2u² − 1.

    But "without" is 1/radius where the row has no value of the column: see `layout.choices`.

    A "square" is 2u² − 1, which fills [−1, 1] as u does. Of u², which fills [0, 1] alone, noise
    would also hide moves below 0 that no row makes. A count of a `column` is 1 where the row
    has a value. The column's value and its square are 0 where it is missing and left out: neither
    is larger than that count. One that is "outside" is 1 where the row has a value outside the
    column's bounds, "over" is that this unit is over a limit, and "rest" that it has a row which is
    in no group.
    A value that is `filled` counts as 0 where it is missing, before it is centred. A component with
    a `paired` column is 0, too, in rows where that column has no value: see `Ratio`.
    `lowers` says that it may be below 0. One that is `apart` is summed by itself, so that it stays
    apart when bounds are found: with some bounds it would equal another component of its column.
    """

    kind: Literal["count", "without", "units", "value", "square", "outside", "over", "rest"]
    column: str = ""
    centre: Fraction = Fraction(0)
    radius: Fraction = Fraction(1)
    lowers: bool = False
    apart: bool = False
    filled: bool = False
    paired: str = ""

    @property
    def of_values(self) -> bool:
        """It is made of the column's values, which are rounded; counts are whole."""
        return self.kind in {"value", "square"}

    @property
    def needed(self) -> frozenset[str]:
        """The columns without a value of which a row adds nothing."""
        return frozenset({self.column, self.paired} - {""})


A_PERSON = Component(kind="units")
"""What a person adds to a cell, however many rows they have: the noise of these is one of its own.
"""
OVER_LIMITS = Component(kind="over")
"""What a person adds to the count of those over a limit."""
IN_NO_GROUP = Component(kind="rest")
"""What a unit adds to the count of those with a row in no group, however many such rows it has."""


@final
@dataclass(frozen=True, kw_only=True)
class RowErrors:
    """The standard deviation of each row of a table, and the half-width that holds 95 % there."""

    std: tuple[float, ...]
    half95: tuple[float, ...]


@final
@dataclass(frozen=True, kw_only=True)
class NoiseError:
    """The law of one published coordinate's error, in the query's own units; rounding counted.

    `std` is its standard deviation, `half95`, `half975` and `half983` the half-widths of the
    intervals that hold it with probability 1 − 0.05/k, k = 1, 2, 3: k of them hold together with
    95 % (Bonferroni). Where the `rows` of a table have unlike errors, `std` is the root of their
    mean square, and half-widths are the largest.
    """

    std: float
    half95: float
    half975: float
    half983: float
    drawn: tuple[Certificate, int] | None = None
    """The noise that it is of, and which coordinate of it, where others of the draw matter."""
    beside_count: tuple[float, ...] = ()
    """Of a number whose mean over a count is published: half-widths that hold 95 % of its error
    minus a times the count's, for each a of `fieller.UP_TO_1`; where no one draw says them."""
    rows: RowErrors | None = None

    @property
    def stds(self) -> Ends:
        """The standard deviation of every row, or of each."""
        return self.std if self.rows is None else np.array(self.rows.std)

    @property
    def halves95(self) -> Ends:
        """The half-width that holds 95 % in every row, or of each."""
        return self.half95 if self.rows is None else np.array(self.rows.half95)


@final
@dataclass(frozen=True, kw_only=True)
class Ingredients:
    """What a block has for one of its statistics: its components, in order, the error of each.

    The block's counts are published as whole multiples of `multiple`, or as they were drawn where
    it is 0; with `clamp` what isn't negative before noise isn't negative after it. Values that are
    `projected` add up, and aren't the noisy ones that intervals are about.
    """

    components: tuple[Component, ...]
    noise: tuple[NoiseError, ...]
    multiple: int
    clamp: bool
    projected: bool = False

    @property
    def unit(self) -> float:
        """What the first number is scaled by: a published value's unit."""
        return float(self.components[0].radius)

    @property
    def middle(self) -> float:
        """What the first number is counted from."""
        return float(self.components[0].centre)


@dataclass(frozen=True, kw_only=True)
class Asked(ABC):
    """What is asked of the rows of each cell, or of the values that columns have in them."""

    kind: ClassVar[str]
    """How it is spelled, without its columns."""
    counts: ClassVar[bool]
    """It is whole and not negative before noise: `multiple` makes it whole again."""
    clamps: ClassVar[bool]
    """`clamp` makes it 0 where noise makes it negative."""
    needs_size: ClassVar[bool]
    """Its error depends on how many values its group has, which isn't public."""
    adds_up: ClassVar[bool] = False
    """In a table by fewer columns it is the sum over the cells."""
    has_margins: ClassVar[bool] = False
    """A table by fewer columns may have it: it adds up, or is a quotient of numbers that do."""
    of_all_groups: ClassVar[bool] = False
    """It is one number, of all groups of its query together."""

    @property
    @abstractmethod
    def label(self) -> str:
        """The name of its column in a result, such as count, count_units or mean_<column>."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Of its columns in a result."""
        return SUFFIXES

    @property
    @abstractmethod
    def parts(self) -> tuple[OneColumn, ...]:
        """What it asks of one column each: itself, or those that it puts together."""

    def in_words(self, labels: Mapping[str, str]) -> str:
        """Return what plans and pages call it, given what they call some columns."""
        if labels.keys().isdisjoint(one.column for one in self.parts):
            return self.label
        return " / ".join(one.in_words(labels) for one in self.parts)

    @property
    def assumes(self) -> str:
        """What a plan assumes beside the size of a group, as a sentence; empty if nothing."""
        return ""

    def problems(self, spec: Spec) -> Iterator[str]:
        """Yield what is wrong with it, given a spec in which its columns have bounds."""
        del spec
        yield from ()


@dataclass(frozen=True, kw_only=True)
class Statistic(Asked):
    """One that is made of sums with noise."""

    @abstractmethod
    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """Return the scalars that it is made of, of which a block sums each but once.

        They say what one unit moves, too: see `limits`.
        """

    @abstractmethod
    def values(self, own: Ingredients, numbers: Sequence[Floats]) -> Four:
        """Return its four columns from the noisy numbers of each component, each of shape (n,).

        `_low` and `_high` hold what it is without noise with probability 95 %.
        """

    @abstractmethod
    def expected_std(self, own: Ingredients, stds: Sequence[float], rows: int | None) -> float:
        """Return at most the `_std` in a group of so many `rows`, if each number's has `stds`.

        `rows` are given where it `needs_size`.
        """

    @abstractmethod
    def expected_half_width(self, own: Ingredients, rows: int | None) -> float:
        """Return at most half of the width of its interval in a group of so many `rows`."""

    def unit(self, own: Ingredients) -> float:
        """Return what one unit of its first number is worth in its value."""
        return own.unit

    def is_open(self, own: Ingredients) -> bool:
        """Whether nothing bounds it in public, so that `_std`, `_low` and `_high` may be ±∞."""
        del own
        return False

    def in_common(self, own: Ingredients, value: Floats) -> Floats:
        """Return the values in the terms in which those made of the same components are equal."""
        del own
        return value

    @abstractmethod
    def stated_std(self, own: Ingredients) -> Ends | None:
        """Return its `_std`, of every cell or of each, None where it is drawn."""

    @abstractmethod
    def wrong_suffix(self, own: Ingredients, told: Sequence[Floats], beside: Beside) -> str | None:
        """Return the suffix of a number that doesn't fit the others of its cell and the noise.

        `told` are its four columns as they were published. None if all may have been drawn.
        """


@dataclass(frozen=True, kw_only=True)
class OneColumn(Asked):
    """What is asked of one column, or of none."""

    column: str = ""

    column_is: ClassVar[ColumnIs]
    column_types: ClassVar[frozenset[ColumnType]] = ANY_COLUMN
    """The types of column that it can be asked of."""
    of_values: ClassVar[bool]
    """It is made of the column's values, which are numbers then, and have public bounds."""
    ranked: ClassVar[bool] = False
    """It is one of the column's public candidates; the values are numbers then."""

    @property
    def label(self) -> str:
        """Its kind and its column, if it has one."""
        return f"{self.kind}_{self.column}" if self.column else self.kind

    @final
    @property
    def parts(self) -> tuple[OneColumn, ...]:
        """Itself."""
        return (self,)

    def in_words(self, labels: Mapping[str, str]) -> str:
        """Its kind and what its column is called."""
        name = labels.get(self.column)
        return self.label if name is None else f"{self.kind} of {name}"


@dataclass(frozen=True, kw_only=True)
class ColumnStatistic(OneColumn, Statistic):
    """A statistic of one column, or of none."""


def centred_value(spec: Spec, column: str) -> Component:
    """Return a column's value, counted from the middle of its bounds and scaled to [−1, 1]."""
    low, high = bounds_of(spec, column)
    centre, radius = (low + high) / 2, (high - low) / 2
    return Component(kind="value", column=column, centre=centre, radius=radius, lowers=True)


def count_of(spec: Spec, column: str) -> Component:
    """Return the count of rows, or of those with a value of the `column` where others are left out.

    Where there is none that is left out the rows are counted, so that statistics share the count.
    """
    if may_be_left_out(spec, column):
        return Component(kind="count", column=column)
    return Component(kind="count")


def may_be_left_out(spec: Spec, column: str) -> bool:
    """True if a row may have no value of the `column`, and nothing else counts in its place."""
    return bool(column) and spec.columns.get(column, Column()).missing == SKIP


def bounds_of(spec: Spec, column: str) -> tuple[Fraction, Fraction]:
    """Return the bounds of a column, which a statistic `of_values` has."""
    bounds = spec.columns[column].limits
    if bounds is None:
        raise KeyError(column)  # the checks of the spec come first
    return bounds


def size_of(rows: int | None) -> int:
    """Return the size of a group, which a statistic that `needs_size` is told."""
    if rows is None:
        raise TypeError("this error is that of a group of so many rows")
    return rows


def rounded(rounding: Callable[[Floats], Floats], values: Floats, multiple: int) -> Floats:
    """Return the multiple that `rounding`, to a whole number, finds for each value."""
    return multiple * rounding(values / multiple)


def outside(
    end: Floats, least: Floats | float, most: Floats | float, slack: Floats | float
) -> bool:
    """Whether a number is further than `slack` from [least, most], or is none."""
    return not ((end >= least - slack) & (end <= most + slack)).all()
