"""The columns that one part of a query adds to a table, and the rows of the table."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leastnoise.tables.layout.axes import Unlisted

if TYPE_CHECKING:
    from leastnoise.guarantees.sensitivity import Neighbours
    from leastnoise.tables.layout.axes import Axis, Condition
    from leastnoise.tables.statistics.base import AnyStatistic


@dataclass(frozen=True, kw_only=True)
class TableShape(ABC):
    """The public shape of a query's table, or of some of its columns.

    `part` is "" for a whole query. `places` has the positions of the `statistics` in the query. The
    table has a row for each combination of groups, ordered by the first axis, then by the next.
    With `conditions` each row is a condition. `missing` has sentences about missing values, and
    `joined` about joined tables. `filters` are expressions; a row counts only if all are true.
    `neighbours` is the relation of two neighbouring data sets.

    `min_count` and `top` choose the groups that are published, by the count with the label
    `decides`: see `results`. `selected` is the number of groups that are chosen before their counts
    get noise: see `answers.selection`. `clipped` has a sentence for each statistic that counts what
    limits, bounds or groups leave out. Counts below `suppressed_below` are suppressed, and further
    counts so that sums don't reveal them: see `answers.sums.publish_suppressed`. For running
    totals, `since` is the number of the first release that they include.
    """

    name: str
    part: str
    by_row: bool
    neighbours: Neighbours
    statistics: tuple[AnyStatistic, ...]
    places: tuple[int, ...]
    axes: tuple[Axis, ...]
    missing: tuple[str, ...]
    filters: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()
    joined: tuple[str, ...] = ()
    min_count: int | None = None
    top: int | None = None
    decides: str | None = None
    selected: int | None = None
    clipped: tuple[str, ...] = ()
    suppressed_below: int | None = None
    since: int | None = None

    @property
    def label(self) -> str:
        """The label in certificates. It is unique, since no name of a query has a dot."""
        return f"{self.name}.{self.part}" if self.part else self.name

    @property
    def adds_cells(self) -> bool:
        """True if the rows of the table are sums of cells that the query names."""
        return any(axis.adds_cells for axis in self.axes)

    @property
    def listed_cells(self) -> int | None:
        """The number of rows before rules leave out any; None with unlisted groups."""
        if self.selected is not None:
            return self.selected
        if self.conditions:
            return len(self.conditions)
        groups = [axis.groups for axis in self.axes]
        return None if None in groups else math.prod(axis.cells for axis in self.axes)

    @property
    def cells(self) -> int:
        """The number of rows, or 1 with unlisted groups."""
        return 1 if self.listed_cells is None else self.listed_cells

    @property
    def unlisted(self) -> tuple[Unlisted, ...]:
        """The columns whose keys the spec doesn't list."""
        return tuple(axis for axis in self.axes if isinstance(axis, Unlisted))

    @property
    def most_rows(self) -> int | None:
        """The most rows that are published; None if nothing public limits their number."""
        return min(filter(None, (self.listed_cells, self.top)), default=None)

    @property
    def rows_are_public(self) -> bool:
        """True if every group has a row in the table, whatever the data."""
        return self.listed_cells is not None and self.decides is None

    @property
    @abstractmethod
    def limits(self) -> str:
        """The limit of one unit, as a phrase after the unit's name, such as "is counted once"."""

    @property
    def leaves_out(self) -> bool:
        """True if a plan warns that bounding may drop a unit from some of its cells."""
        return False
