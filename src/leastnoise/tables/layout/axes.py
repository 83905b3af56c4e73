"""The groups of a query: by keys of a column, by bins, or by conditions.

Groups are public, except for the keys of an `Unlisted` column.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, final

from leastnoise import _words
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
    """A remark on the column, for a page's list of columns."""
    limit: ClassVar[str] = ""
    """A phrase for the limit of one unit, after the unit's name.

    With "", the bounding's phrase is used.
    """
    adds_cells: ClassVar[bool] = False
    """True if each group is a sum of cells that the query names: see `NamedSums`."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """The number of groups; 1 if the spec doesn't list them."""

    @property
    @abstractmethod
    def columns(self) -> dict[str, tuple[Any, ...]]:
        """The columns of the result that name the groups, with a value for each listed group."""

    @property
    def summed_cells(self) -> int:
        """The number of cells that named sums add up; for other axes the same as `cells`."""
        return self.cells

    @property
    def groups(self) -> int | None:
        """The number of groups; None if the spec doesn't list them."""
        return self.cells

    @property
    def dropped(self) -> str:
        """A phrase for the values whose rows are in no group, such as "below 0 or missing".

        "" if there are no such values, or if other sentences name them.
        """
        return ""


@final
@dataclass(frozen=True, kw_only=True)
class KeyColumn(Axis):
    """A column by whose public values rows are grouped.

    If a hierarchy of the values is published, `levels` has its levels. Each level is a pair: a
    name, and for each of the `values` the key of the level that contains the value.
    """

    values: tuple[Key, ...]
    levels: tuple[tuple[str, tuple[Key, ...]], ...] = ()

    @property
    def cells(self) -> int:
        """Number of groups."""
        return len(self.values)

    @property
    def columns(self) -> dict[str, tuple[Any, ...]]:
        """The column of the result that names the groups, with one value for each group."""
        return {self.column: self.values}


@final
@dataclass(frozen=True, kw_only=True)
class Bins(Axis):
    """A column and the increasing edges of its bins [a, b), where the last bin is closed.

    A missing value counts as the number `missing`. If that is None, its row is left out.
    """

    edges: tuple[Edge, ...]
    missing: Fraction | None

    @property
    def cells(self) -> int:
        """Number of groups."""
        return len(self.edges) - 1

    @property
    def columns(self) -> dict[str, tuple[Any, ...]]:
        """The columns of the result with the lower and the upper edge of each bin."""
        low, *high = map(float, self.edges)
        return {f"{self.column}_from": (low, *high[:-1]), f"{self.column}_to": tuple(high)}

    @property
    def dropped(self) -> str:
        """A phrase for the values in no bin, such as "below 0 or missing".

        It is "" if every value is in a bin.
        """
        low, high = float(self.edges[0]), float(self.edges[-1])
        parts = [f"below {low:.15g}"] if math.isfinite(low) else []
        parts += [f"above {high:.15g}"] if math.isfinite(high) else []
        parts += ["missing"] if self.missing is None else []
        return _words.join_names(parts, "or") if parts else ""


@final
@dataclass(frozen=True, kw_only=True)
class RunningBins(Axis):
    """The running sums of `bins`, from the first edge up to each later edge."""

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
        """The columns of the result with the first edge, and the edge where each sum ends."""
        low, *high = map(float, self.edges)
        return {f"{self.column}_from": (low,) * len(high), f"{self.column}_to": tuple(high)}

    @property
    def dropped(self) -> str:
        """A phrase for the values in no bin, such as "below 0 or missing"."""
        return self.bins.dropped


@final
@dataclass(frozen=True, kw_only=True)
class Unlisted(Axis):
    """A column by which rows are grouped, and whose values the spec doesn't list.

    `kind` is the column's type, or None if the spec doesn't give it. Rows with a text of more than
    `longest` bytes are left out.
    """

    kind: ColumnType | None
    longest: int

    note: ClassVar[str] = " (keys that nobody listed)"

    @property
    def cells(self) -> int:
        """1: the layout is the shape of one group's row; each group gets its own draw of noise."""
        return 1

    @property
    def groups(self) -> None:
        """None: the number of groups isn't public."""
        return

    @property
    def columns(self) -> dict[str, tuple[Any, ...]]:
        """The column of the result that names the groups, without values: they aren't public."""
        return {self.column: ()}


@final
@dataclass(frozen=True, kw_only=True)
class Nearest(Axis):
    """A column whose values are counted at the nearest of the candidates `values`, for quantiles.

    A value halfway between two candidates counts at the larger. A missing value counts as the
    number `missing`. If that is None, its row is left out. Published tables don't have this column.
    """

    values: tuple[Fraction, ...]
    missing: Fraction | None

    @property
    def cells(self) -> int:
        """Number of candidates."""
        return len(self.values)

    @property
    def edges(self) -> list[float]:
        """The middles between neighbouring candidates, as floats.

        A value at a middle counts at the larger candidate.
        """
        return [float((low + high) / 2) for low, high in pairwise(self.values)]

    @property
    def columns(self) -> dict[str, tuple[Any, ...]]:
        """No columns: published tables have no column for the candidates."""
        return {}


@final
@dataclass(frozen=True, kw_only=True)
class Condition:
    """A named condition: public predicates on some columns, all of which must hold."""

    name: str
    predicates: tuple[tuple[str, Predicate], ...]


def axes_of(spec: Spec, query: Query) -> tuple[Axis, ...]:
    """The axes of `query`: its grouping columns, then the bins of its histogram."""
    axes = [_axis(spec, query, name, grouping) for name, grouping in spec.groupings(query).items()]
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
