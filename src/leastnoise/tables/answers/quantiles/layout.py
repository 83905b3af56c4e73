"""The public layout of a query's quantiles: cells, candidates and limits.

Each pair of a group and a candidate is a cell, in which rows are counted as in a histogram. These
counts give each candidate's rank in its group. A quantile is chosen by permute-and-flip from these
ranks, or read off the same counts with noise on a tree (theory/release.md §10). For
permute-and-flip, all rows of a person count. If a person has more rows than the limit, each row
counts as a fraction, so that no rows have to be chosen. With a tree for each unlisted group, each
row counts as 1, and a person's rows beyond the limits are left out: see `rows.unlisted_ranks`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, final

from leastnoise.tables.layout import found_bounds, missing
from leastnoise.tables.layout.axes import Nearest
from leastnoise.tables.layout.boundings.from_limits import bound_groups, most_rows
from leastnoise.tables.layout.boundings.in_cells import InCells
from leastnoise.tables.layout.boundings.in_unlisted_groups import InUnlistedGroups
from leastnoise.tables.layout.lay_out import find_bits, shape_of, tree_count
from leastnoise.tables.layout.layout import MAX_DIMENSION, MAX_ROWS, LayoutError
from leastnoise.tables.layout.quantile_layout import WeighedQuantiles, WholeRowQuantiles
from leastnoise.tables.layout.unit_groups import limits_of
from leastnoise.tables.spec.column import Column, list_candidates
from leastnoise.tables.spec.query import FLIP
from leastnoise.tables.statistics.base import Component
from leastnoise.tables.statistics.quantiles import Quantile
from leastnoise.tables.statistics.registry import quantiles_by_column
from leastnoise.tables.statistics.totals import Count

if TYPE_CHECKING:
    from leastnoise.tables.answers.quantiles.plan import QuantilePlan
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.layout.quantile_layout import QuantileLayout
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query

PART = "quantiles"
MOST_COUNTED = 1 << 15
"""The largest number of groups times candidates for which trees are used.

The trees have fewer than twice as many cells.
"""


class QuantileKind(ABC):
    """A method for the quantiles of a query: their layouts, and the class of their plans.

    It has no state. `kinds` lists all methods, and finds the method for a query.
    """

    with_ends: ClassVar[bool] = True
    layout_type: ClassVar[type[QuantileLayout]] = WeighedQuantiles

    @abstractmethod
    def find_plan_type(self) -> type[QuantilePlan]:
        """The class of the plans of these quantiles."""

    def count_of(self, spec: Spec, query: Query) -> Count | None:
        """The statistic of a tree's total if totals decide which groups are published, or None."""
        return tree_count(spec, query)

    @abstractmethod
    def bound(self, spec: Spec, query: Query, counted: Layout) -> Layout:
        """The layout of counts by group and candidate, with the limits of a unit.

        `counted` is the same layout before a unit is limited. Raises LayoutError if the spec sets
        no limit that bounds a unit, or if a tree can't have these counts.
        """

    def lay_out(self, spec: Spec, query: Query) -> tuple[QuantileLayout, ...]:
        """The layouts of the quantiles of `query`, one for each column.

        Raises LayoutError for too many cells, or if `bound` raises it.
        """
        spec = found_bounds.drop_bounds_of(spec, query)
        layouts = [
            self._lay_out_column(spec, query, quantiles, f"{PART}{index}" if index > 1 else PART)
            for index, quantiles in enumerate(quantiles_by_column(query).values(), start=1)
        ]
        if layouts and (count := self.count_of(spec, query)) is not None:
            layouts[0] = replace(layouts[0], count=_count_layout(spec, query, count, layouts[0]))
        return tuple(layouts)

    def _lay_out_column(
        self, spec: Spec, query: Query, quantiles: dict[int, Quantile], part: str
    ) -> QuantileLayout:
        levels = sorted(quantiles.items(), key=lambda item: item[1].level)
        column = spec.columns.get(levels[0][1].column, Column())
        count = Component(kind="count")
        shape = shape_of(spec, query, (), (), (), (count,), part=part)
        statistics = tuple(replace(quantile, with_ends=self.with_ends) for _, quantile in levels)
        values = list_candidates(column.candidates)
        axis = Nearest(column=statistics[0].column, values=values, missing=column.counts_as)
        counted = replace(shape, axes=(*shape.axes, axis), bits=0)
        if counted.dimension > MAX_DIMENSION:
            raise LayoutError(
                f"Expected at most {MAX_DIMENSION:,} pairs of a group and a candidate, got "
                f"{counted.dimension:,}. Use fewer candidates, or fewer keys."
            )
        return self.layout_type(
            name=shape.name,
            part=part,
            by_row=shape.by_row,
            neighbours=shape.neighbours,
            filters=shape.filters,
            joined=shape.joined,
            statistics=statistics,
            places=tuple(index for index, _ in levels),
            axes=shape.axes,
            missing=missing.describe(spec, query, statistics),
            histogram=self.bound(spec, query, counted),
            sizes=shape.assumed,
            share=query.quantiles_share,
        )


@final
class QuantilesByChance(QuantileKind):
    """Quantiles by permute-and-flip, in listed groups or in the published unlisted groups."""

    with_ends: ClassVar[bool] = False

    def find_plan_type(self) -> type[QuantilePlan]:
        """The class of these quantiles' plans: `ByChance`."""
        from leastnoise.tables.answers.quantiles.by_chance import ByChance  # noqa: PLC0415  (0.5 s)

        return ByChance

    def bound(self, spec: Spec, query: Query, counted: Layout) -> Layout:
        """The layout `counted`, with a limit on the rows of a unit in all groups together.

        A unit that is a row needs no limit. Raises LayoutError if the spec sets none for other
        units.
        """
        if counted.by_row:
            return counted
        groups = counted.axes[:-1]
        most_groups = MAX_ROWS if counted.unlisted else math.prod(axis.cells for axis in groups)
        most = most_rows(limits_of(spec, query, groups), most_groups)
        if most is None:
            raise LayoutError(
                "Nothing in [contribution] limits the rows of one person in a quantile. Give "
                "max_rows, such as max_rows = 1."
            )
        bounding = InCells(per_cell=most, total=most, by_number=True)
        return replace(counted, bounding=bounding, bits=find_bits(counted, bounding))


@final
class QuantilesByTree(QuantileKind):
    """Quantiles that are read off a tree of counts of rows, in listed groups."""

    def find_plan_type(self) -> type[QuantilePlan]:
        """The class of plans of quantiles by a tree in listed groups."""
        from leastnoise.tables.answers.quantiles.by_tree import ByTree  # noqa: PLC0415  (0.5 s)

        return ByTree

    def bound(self, spec: Spec, query: Query, counted: Layout) -> Layout:
        """The layout `counted` itself, which needs no bounding if a row is a unit.

        Raises LayoutError for other units, or for too many counts.
        """
        if not counted.by_row:
            why = "A tree counts whole rows, but each row of a person over the limits counts for"
            raise _refuse_tree(f"{why} less than one:")
        _check_counts(counted)
        return counted


@final
class QuantilesOfUnlisted(QuantileKind):
    """Quantiles by a tree for each of the groups that nobody listed."""

    layout_type: ClassVar[type[QuantileLayout]] = WholeRowQuantiles

    def find_plan_type(self) -> type[QuantilePlan]:
        """The class of plans of quantiles in groups that nobody listed."""
        from leastnoise.tables.answers.quantiles.by_tree import (  # noqa: PLC0415  (0.5 s)
            ByTreeAndThreshold,
        )

        return ByTreeAndThreshold

    def count_of(self, spec: Spec, query: Query) -> Count:
        """The statistic of the total of the first column's tree, which decides on publication."""
        return Count(column=next(iter(quantiles_by_column(query))))

    def bound(self, spec: Spec, query: Query, counted: Layout) -> Layout:
        """The layout `counted` with limits on a unit's groups, and on its rows in each group.

        Raises LayoutError if the spec sets no such limits, or for too many groups times candidates.
        """
        _check_counts(counted)
        if counted.by_row:
            return replace(counted, bounding=InUnlistedGroups(groups=1, per_group=1))
        bounding = bound_groups(limits_of(spec, query, counted.axes[:-1]), counts_rows=True)
        if isinstance(bounding, str):
            raise LayoutError(bounding)
        return replace(counted, bounding=bounding)


def _count_layout(spec: Spec, query: Query, count: Count, layout: QuantileLayout) -> Layout:
    """The layout of the published column with the total of a tree's counts.

    The tree belongs to the quantiles of the first column, whose layout is `layout`. The total is
    the sum of the noisy counts, without further noise.
    """
    needs, part = count.components(spec, by_row=spec.privacy.by_row), layout.part
    shape = shape_of(spec, query, (count,), [len(query.statistics)], [needs], needs, part=part)
    return replace(shape, bounding=layout.histogram.bounding)


def _check_counts(counted: Layout) -> None:
    """Raise LayoutError if groups times candidates are more than `MOST_COUNTED`."""
    counts = math.prod(axis.cells for axis in counted.axes)
    if counts > MOST_COUNTED:
        why = f"A tree counts at most {MOST_COUNTED:,} groups times candidates, got {counts:,}."
        raise _refuse_tree(f"{why} Give fewer, or")


def _refuse_tree(why: str) -> LayoutError:
    return LayoutError(f'{why} use quantiles_by = "{FLIP}".')
