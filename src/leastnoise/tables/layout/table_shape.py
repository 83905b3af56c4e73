"""The columns that one part of a query gives to a table, and which rows the table has."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leastnoise.tables.layout.axes import Unlisted

if TYPE_CHECKING:
    from leastnoise.guarantees.sensitivity import Neighbours
    from leastnoise.tables.layout.axes import Axis, Condition
    from leastnoise.tables.statistics.base import Asked


@dataclass(frozen=True, kw_only=True)
class TableShape(ABC):
    """The public shape of a query's table, or of some of its columns.

    `part` is "" of a whole query. The `statistics` are at `places` among those of the query. Rows
    run through the groups of each axis, the last axis fastest; with `conditions` a row is a
    condition. `missing` says in sentences what missing values do, and `joined` what stands beside
    the rows. `filters` are expressions that hold of all rows that count. `neighbours` says what one
    unit does between two tables.

    `min_count` and `top` say which groups are published, by the count that `decides`: see
    `results`. `clipped` says in sentences what limits and bounds take away, where that is counted.
    """

    name: str
    part: str
    by_row: bool
    neighbours: Neighbours
    statistics: tuple[Asked, ...]
    places: tuple[int, ...]
    axes: tuple[Axis, ...]
    missing: tuple[str, ...]
    filters: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()
    joined: tuple[str, ...] = ()
    min_count: int | None = None
    top: int | None = None
    decides: str | None = None
    clipped: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Its label in certificates; no name of a query has a dot."""
        return f"{self.name}.{self.part}" if self.part else self.name

    @property
    def adds_cells(self) -> bool:
        """True if its rows are named sums of cells."""
        return any(axis.adds_cells for axis in self.axes)

    @property
    def listed_cells(self) -> int | None:
        """Number of rows before any is left out; None if nobody listed the groups."""
        if self.conditions:
            return len(self.conditions)
        groups = [axis.groups for axis in self.axes]
        return None if None in groups else math.prod(axis.cells for axis in self.axes)

    @property
    def cells(self) -> int:
        """Number of rows, or 1 where nobody knows how many groups there are."""
        return 1 if self.listed_cells is None else self.listed_cells

    @property
    def unlisted(self) -> tuple[Unlisted, ...]:
        """The columns whose keys nobody listed."""
        return tuple(axis for axis in self.axes if isinstance(axis, Unlisted))

    @property
    def most_rows(self) -> int | None:
        """The most rows that are published; None where nobody knows how many groups there are."""
        return min(filter(None, (self.listed_cells, self.top)), default=None)

    @property
    def rows_are_public(self) -> bool:
        """True if there is a row for every group, whatever the rows of the source are."""
        return self.listed_cells is not None and self.decides is None

    @property
    @abstractmethod
    def limits(self) -> str:
        """The moves of one unit, to end a sentence that begins with the unit."""

    @property
    def leaves_out(self) -> bool:
        """True if whoever is in too many cells is left out of some, and numbers tell of it."""
        return False
