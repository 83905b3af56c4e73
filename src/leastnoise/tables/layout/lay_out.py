"""Lay out a query of a spec, once for each way to bound a person.

Nothing here reads data: verification derives the same layout from the stored spec alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from leastnoise.tables.layout import missing
from leastnoise.tables.layout.axes import Condition, Unlisted, axes_of
from leastnoise.tables.layout.boundings.bounding import ONE_ROW, Bounding
from leastnoise.tables.layout.boundings.from_limits import list_cell_boundings, most_rows
from leastnoise.tables.layout.boundings.in_ball import InBall
from leastnoise.tables.layout.boundings.in_cells import InCells
from leastnoise.tables.layout.boundings.once_in_cells import OnceInCells
from leastnoise.tables.layout.layout import (
    ASSUMED,
    EXACT_SUMS,
    INT64_END,
    MAX_BITS,
    MAX_ROWS,
    MAX_UNITS,
    Layout,
    LayoutError,
)
from leastnoise.tables.layout.unit_groups import groups_of_unit, limits_of
from leastnoise.tables.spec.query import ACCURACY, TREE
from leastnoise.tables.statistics.base import IN_NO_GROUP, Component, Statistic
from leastnoise.tables.statistics.registry import known_statistics, quantiles_by_column
from leastnoise.tables.statistics.totals import ClippingCount, Count

if TYPE_CHECKING:
    from leastnoise.tables.spec.contribution import Limits
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query

MIN_BITS = 8
Needs = Mapping[int, tuple[Statistic, tuple[Component, ...]]]
"""The statistics of a query that need noise, by position, each with its components."""
Parts = tuple[tuple[Layout, ...], ...]
"""The layouts of each part of a query: alternatives, one for each bounding of a unit."""


def lay_out_tree(
    spec: Spec,
    query: Query,
    asked: Needs,
    *,
    choose: Callable[[Sequence[Bounding], Layout], Bounding | str],
    whole: bool = False,
) -> Parts:
    """Lay out the cells of a query that publishes sums of its cells: one part, with one layout.

    Examples are running sums, sums by levels of keys, and named sums. `asked` has one statistic.
    `choose` returns the bounding, or the reason why no bounding fits. With `whole` a person over a
    limit counts as a whole number of rows in each cell, rounded towards 0. So noise in whole
    numbers hides the person. Raises LayoutError without a bounding, or if sums can't be exact.
    """
    ((position, (statistic, needs)),) = asked.items()
    shape = shape_of(spec, query, (statistic,), (position,), [needs], needs, part="")
    shape = replace(shape, projected=query.clamp)
    bounding = choose(list_boundings(spec, query, shape), shape)
    if isinstance(bounding, str):
        raise LayoutError(bounding)
    bits = 0 if whole and not shape.by_row else find_bits(shape, bounding)
    return ((replace(shape, bounding=bounding, bits=bits),),)


def shape_of(  # noqa: PLR0917 (five calls)
    spec: Spec,
    query: Query,
    statistics: tuple[Statistic, ...],
    places: Sequence[int],
    needs: Sequence[tuple[Component, ...]],
    components: tuple[Component, ...],
    *,
    part: str,
) -> Layout:
    """The layout of one part of a query, before a bounding and a number of bits are chosen.

    `places` has the positions of the `statistics` in the query, and `needs` the components of each.
    `components` are all components that the part sums.
    """
    axes = axes_of(spec, query)
    together = any(item.of_all_groups for item in statistics)
    return Layout(
        name=query.name,
        part=part,
        by_row=spec.privacy.by_row,
        neighbours=spec.privacy.neighbours,
        statistics=statistics,
        places=tuple(places),
        axes=() if together else axes,
        conditions=tuple(
            Condition(name=name, predicates=tuple(predicates.items()))
            for name, predicates in query.conditions.items()
        ),
        # a count of rows in no group counts the rows that other statistics leave out
        missing=() if components == (IN_NO_GROUP,) else missing.describe(spec, query, statistics),
        filters=spec.filters(query),
        components=components,
        uses=tuple(tuple(components.index(item) for item in need) for need in needs),
        bounding=ONE_ROW,
        bits=MAX_BITS,
        multiple=query.multiple,
        clamp=query.clamp,
        min_count=query.min_count,
        top=query.top,
        largest=query.objective is not None,
        accurate=query.prefer == ACCURACY,
        decides=_deciding_count(spec, query),
        accuracy=query.accuracy,
        assumed=ASSUMED if query.assume is None else (query.assume.n,),
        joined=spec.data.join_sentences,
        within=axes if together else (),
        groups_of_unit=None if together else groups_of_unit(spec, axes),
        clipped=tuple(
            item.counts_in_words(spec, query)
            for item in statistics
            if isinstance(item, ClippingCount)
        ),
    )


def _deciding_count(spec: Spec, query: Query) -> str | None:
    """The label of the count that decides which groups are published; None if none does."""
    if query.min_count is None and query.top is None:
        return None
    statistics = known_statistics(query, by_row=spec.privacy.by_row)
    counts = [statistic for statistic in statistics if statistic.counts]
    return (tree_count(spec, query) or counts[0]).label


def reads_tree(spec: Spec, query: Query) -> bool:
    """True if quantiles are read off a tree.

    That is so if `quantiles_by` says so, or if it isn't given and keys are unlisted.
    """
    unlisted = query.quantiles_by is None and spec.has_unlisted_keys(query)
    return query.quantiles_by == TREE or unlisted


def tree_count(spec: Spec, query: Query) -> Count | None:
    """The count, from a tree of quantiles, that decides which groups are published.

    None unless `min_count` or `top` chooses groups, quantiles use a tree, and the query asks for no
    count. With quantiles of several columns, the tree of the first column decides.
    """
    statistics = known_statistics(query, by_row=spec.privacy.by_row)
    if (query.min_count is None and query.top is None) or not reads_tree(spec, query):
        return None
    if any(statistic.counts for statistic in statistics):
        return None
    return next((Count(column=column) for column in quantiles_by_column(query)), None)


def list_boundings(spec: Spec, query: Query, shape: Layout) -> tuple[Bounding, ...]:
    """List the boundings of a unit that the spec allows for the numbers of `shape`."""
    if query.conditions:
        return (OnceInCells(most=query.max_conditions or len(query.conditions)),)
    if shape.by_row:
        return (ONE_ROW,)
    limits = limits_of(spec, query, shape.grouped)
    if shape.clipped:
        return _bound_all_groups(limits, shape)
    return list_cell_boundings(limits, shape.numbers)


def _bound_all_groups(limits: Limits, shape: Layout) -> tuple[Bounding, ...]:
    """List the boundings of a person in counts of persons, or of values outside bounds.

    Each count is of all groups together. Persons are counted if they are over a limit, or have a
    row in no group. A person's own rows alone decide that. So the count of such persons is 0 or 1
    less without the person.

    For values, let n be the number of a person's rows in all groups. n_c is the number of their
    values of column c outside its bounds. R is the most rows that the limits leave a person, and q
    the number of columns. A row has at most one value of each column, so before bounding a person
    adds n_c <= n to the c-th count. If the largest n_c is over R (or Σ n_c² over l2²), all n_c are
    shrunk by the same factor. So a person moves the counts within [0, R]^q, all in the same
    direction, or within the ball. No person within the limits is changed.
    """
    if shape.numbers.persons:
        return (OnceInCells(most=1),)
    groups = math.prod(axis.cells for axis in shape.within)
    if any(isinstance(axis, Unlisted) for axis in shape.within):
        groups = MAX_ROWS
    boundings: list[Bounding] = []
    if (most := most_rows(limits, groups)) is not None:
        boundings.append(InCells(per_cell=most, total=most))
    if limits.l2 is not None:
        boundings.append(InBall(squared=limits.l2**2))
    return tuple(boundings)


def keep_feasible(shape: Layout, boundings: Sequence[Bounding]) -> tuple[Layout, ...]:
    """A layout for each bounding for which `find_bits` succeeds.

    Raises LayoutError if there are no boundings. If it fails for all, its first LayoutError is
    raised.
    """
    layouts: list[Layout] = []
    reasons: list[LayoutError] = []
    for bounding in boundings:
        try:
            layouts.append(replace(shape, bounding=bounding, bits=find_bits(shape, bounding)))
        except LayoutError as error:
            reasons.append(error)
    if not boundings:
        raise LayoutError(
            "Nothing in [contribution] limits how much one person can change this query. Give "
            "max_rows, max_rows_per_group, l1 or l2."
        )
    if not layouts:
        raise reasons[0]
    return tuple(layouts)


def find_bits(shape: Layout, bounding: Bounding) -> int:
    """The largest number of fixed-point bits, at most 28, for which bounding is exact in float64.

    A person has an integer in each coordinate. A limit is on the sum of the squares of these
    integers (a ball), or on the sum, over cells, of the largest integer in the cell. With these
    bits, the sum is below 2^53 even for a person over the limit, since coordinates are clamped
    first. Below 2^53 float64 adds whole numbers without rounding. Totals of 2^34 persons stay below
    2^63. The result is 0 for a unit that counts 1 in each of a few cells, else 28 if a row is a
    unit. Raises LayoutError if 8 bits are too many, or if limits are so small that a person's
    largest integer is below 2^8.
    """
    if isinstance(bounding, OnceInCells):
        return 0
    if shape.by_row:
        return MAX_BITS
    for bits in range(MAX_BITS, MIN_BITS - 1, -1):
        largest, _ = bounding.integer_limits(bits=bits)
        most = largest * max(shape.numbers.without, 1)
        if (
            bounding.largest_sum(shape.numbers, bits=bits) < EXACT_SUMS
            and MAX_UNITS * most < INT64_END
        ):
            break
    else:
        raise LayoutError(
            f"Under these limits, sums of {shape.dimension:,} numbers may become too large for "
            "exact arithmetic. Split the query, or lower the limits of [contribution]."
        )
    if largest < 2**MIN_BITS:
        raise LayoutError(
            "l1 or l2 is so small that every row would be rounded to 0. Give l1 or l2 of at "
            f"least 2^-{bits - MIN_BITS}."
        )
    return bits
