"""The public layout of a query's quantiles: cells, candidates and limits.

Each pair of a group and a candidate is a cell, in which rows are counted as in a histogram. A
quantile is chosen by ranks (theory/release.md §10): by permute-and-flip, or from the same counts
with noise on a tree. All rows of a person count. If a person has too many rows, each row counts by
a fraction, so that no choice of rows depends on their values. For unlisted groups each row counts
whole: see `rows.unlisted_ranks`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise.tables.layout import found_bounds, missing
from leastnoise.tables.layout.axes import Nearest, Unlisted, axes_of
from leastnoise.tables.layout.boundings import ONE_ROW, FewGroups, InCells
from leastnoise.tables.layout.choices import bound_groups, most_rows
from leastnoise.tables.layout.lay_out import find_bits, reads_tree, shape_of, tree_count
from leastnoise.tables.layout.layout import MAX_DIMENSION, LayoutError
from leastnoise.tables.layout.quantile_layout import QuantileLayout
from leastnoise.tables.layout.unit_groups import limits_of
from leastnoise.tables.spec.column import Column, list_candidates
from leastnoise.tables.spec.query import FLIP
from leastnoise.tables.statistics.base import Component
from leastnoise.tables.statistics.quantiles import Quantile
from leastnoise.tables.statistics.registry import quantiles_by_column
from leastnoise.tables.statistics.totals import Count

if TYPE_CHECKING:
    from leastnoise.tables.layout.boundings import Bounding
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query

PART = "quantiles"
MOST_COUNTED = 1 << 15
"""The most groups times candidates; their trees have less than twice as many cells."""


def lay_out_ranks(spec: Spec, query: Query) -> tuple[QuantileLayout, ...]:
    """The layouts of the quantiles of `query`, one for each column."""
    spec = found_bounds.drop_bounds_of(spec, query)
    layouts = [
        _of_column(spec, query, quantiles, part=f"{PART}{index}" if index > 1 else PART)
        for index, quantiles in enumerate(quantiles_by_column(query).values(), start=1)
    ]
    count = tree_count(spec, query)
    if layouts and layouts[0].unlisted:
        count = Count(column=layouts[0].candidates.column)
    if layouts and count is not None:
        layouts[0] = replace(layouts[0], count=_count_layout(spec, query, count, layouts[0]))
    return tuple(layouts)


def _count_layout(spec: Spec, query: Query, count: Count, layout: QuantileLayout) -> Layout:
    """The layout of a tree's total, as the last column of the table. Its noise is the tree's."""
    needs, part = count.components(spec, by_row=spec.privacy.by_row), layout.part
    shape = shape_of(spec, query, (count,), [len(query.statistics)], [needs], needs, part=part)
    return replace(shape, bounding=layout.histogram.bounding) if layout.unlisted else shape


def _of_column(
    spec: Spec, query: Query, quantiles: dict[int, Quantile], *, part: str
) -> QuantileLayout:
    levels = sorted(quantiles.items(), key=lambda item: item[1].level)
    column = spec.columns.get(levels[0][1].column, Column())
    count = Component(kind="count")
    shape = shape_of(spec, query, (), (), (), (count,), part=part)
    values = list_candidates(column.candidates)
    groups = math.prod(axis.cells for axis in shape.axes)
    by_tree = _is_by_tree(spec, query, candidates=len(values), groups=groups)
    statistics = tuple(replace(quantile, with_ends=by_tree) for _, quantile in levels)
    axis = Nearest(column=statistics[0].column, values=values, missing=column.counts_as)
    counted = replace(shape, axes=(*shape.axes, axis))
    if counted.dimension > MAX_DIMENSION:
        raise LayoutError(
            f"Expected at most {MAX_DIMENSION:,} cells of groups and candidates, got "
            f"{counted.dimension:,}. Use fewer candidates, or fewer keys."
        )
    bounding: Bounding = ONE_ROW
    bits, reach = 0, Fraction(1)
    if shape.unlisted:
        bounding = _bound_unlisted(spec, query, shape)
        reach = Fraction(bounding.groups * bounding.per_group)
    elif not spec.privacy.by_row:
        most = most_rows(limits_of(spec, query, shape.axes), groups)
        if most is None:
            raise LayoutError(
                "Nothing in [contribution] bounds the rows of one person for a quantile. Give "
                "max_rows, such as max_rows = 1."
            )
        reach, bounding = most, InCells(per_cell=most, total=most, by_number=True)
        bits = find_bits(counted, bounding)
    return QuantileLayout(
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
        histogram=replace(counted, bounding=bounding, bits=bits),
        reach=reach,
        sizes=shape.assumed,
        by_tree=by_tree,
    )


def _bound_unlisted(spec: Spec, query: Query, shape: Layout) -> FewGroups:
    """The bounding of a unit in unlisted groups. Raises LayoutError without one."""
    if shape.by_row:
        return FewGroups(groups=1, per_group=1)
    bounding = bound_groups(limits_of(spec, query, shape.axes), counts_rows=True)
    if isinstance(bounding, str):
        raise LayoutError(bounding)
    return bounding


def _is_by_tree(spec: Spec, query: Query, *, candidates: int, groups: int) -> bool:
    """True if the query asks for noisy counts. Raises LayoutError if a tree is impossible."""
    if not reads_tree(spec, query):
        return False
    why, axes = "", axes_of(spec, query)
    if not spec.privacy.by_row and not any(isinstance(axis, Unlisted) for axis in axes):
        why = (
            "A tree counts whole rows, and of a person with more rows than the limits each counts "
            "for less:"
        )
    elif groups * candidates > MOST_COUNTED:
        why = (
            f"A tree counts at most {MOST_COUNTED:,} groups times candidates, got "
            f"{groups * candidates:,}. Give fewer, or"
        )
    if why:
        raise LayoutError(f'{why} use quantiles_by = "{FLIP}".')
    return True
