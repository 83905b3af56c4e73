"""What rows are grouped by: the keys of a column, its bins, or conditions.

All of it is public, but for the keys of a column that are `Unlisted`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, final

from leastnoise.tables.spec.query import Bands, PrivateKeys
from leastnoise.tables.spec.values import MAX_TEXT

if TYPE_CHECKING:
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Grouping, Predicate, Query
    from leastnoise.tables.spec.values import ColumnType, Edge, Key


@dataclass(frozen=True, kw_only=True)
class Axis(ABC):
    """A column by which rows are grouped."""

    column: str

    note: ClassVar[str] = ""
    """A remark behind the name of the column, where a page lists the columns of a table."""
    limit: ClassVar[str] = ""
    """The limit of one unit, where it needs other words than its bounding has."""
    adds_cells: ClassVar[bool] = False
    """True if its groups are sums of cells that each add up some."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """Number of groups."""

    @property
    @abstractmethod
    def columns(self) -> dict[str, tuple[Any, ...]]:
        """The columns of the result that tell the groups apart, each with a value a group."""

    @property
    def summed_cells(self) -> int:
        """Number of cells that the groups are made of."""
        return self.cells

    @property
    def groups(self) -> int | None:
        """Number of groups; None if nobody listed them."""
        return self.cells

    @property
    def dropped(self) -> str:
        """The rows that are left out, to end a sentence; empty if others say so, or none is."""
        return ""


@final
@dataclass(frozen=True, kw_only=True)
class KeyColumn(Axis):
    """A column that rows are grouped by, and its public values.

    `levels` says by level what each value is part of, where tables by these are published, too.
    """

    values: tuple[Key, ...]
    levels: tuple[tuple[str, tuple[Key, ...]], ...] = ()

    @property
    def cells(self) -> int:
        """Number of groups."""
        return len(self.values)

    @property
    def columns(self) -> dict[str, tuple[Any, ...]]:
        """The columns of the result that tell the groups apart, each with a value a group."""
        return {self.column: self.values}


@final
@dataclass(frozen=True, kw_only=True)
class Bins(Axis):
    """A column and the increasing edges of its bins [a, b), the last one closed.

    `missing` stands for what is no number; without it such rows are dropped.
    """

    edges: tuple[Edge, ...]
    missing: Fraction | None

    @property
    def cells(self) -> int:
        """Number of groups."""
        return len(self.edges) - 1

    @property
    def columns(self) -> dict[str, tuple[Any, ...]]:
        """The columns of the result that tell the groups apart, each with a value a group."""
        low, *high = map(float, self.edges)
        return {f"{self.column}_from": (low, *high[:-1]), f"{self.column}_to": tuple(high)}

    @property
    def dropped(self) -> str:
        """The rows that are in no bin, to end a sentence; empty if every row is in one."""
        low, high = float(self.edges[0]), float(self.edges[-1])
        parts = [f"below {low:.6g}"] if math.isfinite(low) else []
        parts += [f"above {high:.6g}"] if math.isfinite(high) else []
        parts += ["missing"] if self.missing is None else []
        return " or ".join(parts)


@final
@dataclass(frozen=True, kw_only=True)
class RunningBins(Axis):
    """The running sums of `bins`: from the first edge on, up to each other one."""

    bins: Bins

    note: ClassVar[str] = " (cumulative)"
    limit: ClassVar[str] = "is counted in at most one of the bins that are summed"

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges of the bins."""
        return self.bins.edges

    @property
    def cells(self) -> int:
        """Number of sums, one for each bin."""
        return self.bins.cells

    @property
    def columns(self) -> dict[str, tuple[Any, ...]]:
        """The first edge, and the edge up to which a sum is."""
        low, *high = map(float, self.edges)
        return {f"{self.column}_from": (low,) * len(high), f"{self.column}_to": tuple(high)}

    @property
    def dropped(self) -> str:
        """The rows that are in no bin."""
        return self.bins.dropped


@final
@dataclass(frozen=True, kw_only=True)
class Unlisted(Axis):
    """A column that rows are grouped by, whose values nobody listed.

    `kind` is its type, None where the spec doesn't say it. A text is at most `longest` bytes.
    """

    kind: ColumnType | None
    longest: int

    note: ClassVar[str] = " (keys that nobody listed)"

    @property
    def cells(self) -> int:
        """One: a group's row has a draw of noise of its own, and so all are alike."""
        return 1

    @property
    def groups(self) -> None:
        """Nobody knows."""
        return

    @property
    def columns(self) -> dict[str, tuple[Any, ...]]:
        """The column of the result that tells the groups apart, with no value that is known."""
        return {self.column: ()}


@final
@dataclass(frozen=True, kw_only=True)
class Nearest(Axis):
    """A column whose values are each counted at the nearest of these candidates.

    Of two that are as near, at the larger one. `missing` stands for what is no number; without it
    such rows are dropped. No result has a column of it.
    """

    values: tuple[Fraction, ...]
    missing: Fraction | None

    @property
    def cells(self) -> int:
        """Number of candidates."""
        return len(self.values)

    @property
    def edges(self) -> list[float]:
        """Where values begin to count at the next candidate, one fewer than there are."""
        return [float((low + high) / 2) for low, high in pairwise(self.values)]

    @property
    def columns(self) -> dict[str, tuple[Any, ...]]:
        """None."""
        return {}


@final
@dataclass(frozen=True, kw_only=True)
class Condition:
    """A named condition: a public predicate for each of some columns, all of which must hold."""

    name: str
    predicates: tuple[tuple[str, Predicate], ...]


def axes_of(spec: Spec, query: Query) -> tuple[Axis, ...]:
    """Return what the rows of `query` are grouped by; a histogram is one more column of bands."""
    axes = [_axis(spec, query, name, one) for name, one in spec.groupings(query).items()]
    if query.histogram:
        axes.append(_bins(spec, query.histogram.column, query.histogram.edges))
    return tuple(axes)


def _axis(spec: Spec, query: Query, column: str, grouping: Grouping) -> Axis:
    if isinstance(grouping, Bands):
        return _bins(spec, column, grouping.edges)
    if isinstance(grouping, PrivateKeys):
        longest = MAX_TEXT if grouping.longest is None else grouping.longest
        return Unlisted(column=column, kind=spec.data.types.get(column), longest=longest)
    levels = {name: tuple(keys.levels.items()) for name, keys in query.hierarchies.items()}
    return KeyColumn(column=column, values=grouping, levels=levels.get(column, ()))


def _bins(spec: Spec, column: str, edges: tuple[Edge, ...]) -> Bins:
    known = spec.columns.get(column)
    return Bins(column=column, edges=edges, missing=None if known is None else known.number)
