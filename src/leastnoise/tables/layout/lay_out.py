"""From a query of a spec to its layouts, one for each way to bound a person.

Nothing here looks at data: verification derives the same layout from the stored spec alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise.tables.layout import missing
from leastnoise.tables.layout.axes import Condition, Unlisted, axes_of
from leastnoise.tables.layout.choices import list_cell_boundings, most_rows
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
from leastnoise.tables.layout.limits import (
    ONE_ROW,
    Bounding,
    FewGroups,
    FirstCells,
    InBall,
    InCells,
    integer_limits,
)
from leastnoise.tables.spec.query import ACCURACY, TREE
from leastnoise.tables.statistics.base import IN_NO_GROUP, Component, Statistic
from leastnoise.tables.statistics.registry import known_statistics, quantiles_by_column
from leastnoise.tables.statistics.totals import Clipped, Count

if TYPE_CHECKING:
    from leastnoise.tables.spec.model import Contribution, Spec
    from leastnoise.tables.spec.query import Query

MIN_BITS = 8
Needs = Mapping[int, tuple[Statistic, tuple[Component, ...]]]
"""The statistics of a query with noise, by their place in it, and what is summed for each."""
Parts = tuple[tuple[Layout, ...], ...]
"""The layouts of each part of a query, one for each way to bound a unit."""


def lay_out_tree(
    spec: Spec,
    query: Query,
    asked: Needs,
    *,
    choose: Callable[[Sequence[Bounding], Layout], Bounding | str],
) -> Parts:
    """The layout of the cells of a query of which a tree of sums is published.

    They are the bins of a histogram with running sums, or keys with levels. `choose` returns the
    way to bound a unit, or why there is none.
    """
    ((place, (statistic, needs)),) = asked.items()
    shape = shape_of(spec, query, (statistic,), (place,), [needs], needs, part="")
    shape = replace(shape, projected=query.clamp)
    way = choose(list_boundings(spec, query, shape), shape)
    if isinstance(way, str):
        raise LayoutError(way)
    return ((replace(shape, bounding=way, bits=find_bits(shape, way)),),)


def shape_of(  # noqa: PLR0917 (five calls of its own)
    spec: Spec,
    query: Query,
    statistics: tuple[Statistic, ...],
    places: Sequence[int],
    needs: Sequence[tuple[Component, ...]],
    components: tuple[Component, ...],
    *,
    part: str,
) -> Layout:
    """Return a layout whose bounding and bits are still to be found."""
    together = any(one.of_all_groups for one in statistics)
    return Layout(
        name=query.name,
        part=part,
        by_row=spec.privacy.by_row,
        neighbours=spec.privacy.neighbours,
        statistics=statistics,
        places=tuple(places),
        axes=() if together else axes_of(spec, query),
        conditions=tuple(
            Condition(name=name, predicates=tuple(predicates.items()))
            for name, predicates in query.conditions.items()
        ),
        # rows that are left out elsewhere are what a count of rows in no group is of
        missing=() if components == (IN_NO_GROUP,) else missing.describe(spec, query, statistics),
        filters=spec.filters(query),
        components=components,
        uses=tuple(tuple(components.index(one) for one in need) for need in needs),
        bounding=ONE_ROW,
        bits=MAX_BITS,
        multiple=query.multiple,
        clamp=query.clamp,
        min_count=query.min_count,
        top=query.top,
        largest=query.objective is not None,
        accurate=query.prefer == ACCURACY,
        decides=_deciding_count(query, by_row=spec.privacy.by_row),
        accuracy=query.accuracy,
        assumed=ASSUMED if query.assume is None else (query.assume.n,),
        joined=spec.data.joined,
        within=axes_of(spec, query) if together else (),
        clipped=tuple(one.counts_in_words(spec) for one in statistics if isinstance(one, Clipped)),
    )


def _deciding_count(query: Query, *, by_row: bool) -> str | None:
    """The label of the count that decides which groups are published; None if none does."""
    if query.min_count is None and query.top is None:
        return None
    counts = [one for one in known_statistics(query, by_row=by_row) if one.counts]
    return (tree_count(query, by_row=by_row) or counts[0]).label


def tree_count(query: Query, *, by_row: bool) -> Count | None:
    """The total of a tree of counts, where it decides which groups are published.

    It does where quantiles are by a tree and no count is asked for. Of several columns with
    quantiles the first one's tree decides.
    """
    asked = known_statistics(query, by_row=by_row)
    if (query.min_count is None and query.top is None) or query.quantiles_by != TREE:
        return None
    if any(one.counts for one in asked):
        return None
    return next((Count(column=column) for column in quantiles_by_column(query)), None)


def list_boundings(spec: Spec, query: Query, shape: Layout) -> tuple[Bounding, ...]:
    """The ways to bound a unit in these numbers that the spec allows."""
    if query.conditions:
        return (FirstCells(most=query.max_conditions or len(query.conditions)),)
    if shape.by_row:
        return (ONE_ROW,)
    if spec.contribution is None:
        raise KeyError("contribution")  # the checks of the spec come first
    if shape.clipped:
        return _of_all_groups(spec.contribution, shape)
    return list_cell_boundings(spec.contribution, shape.numbers)


def _of_all_groups(given: Contribution, shape: Layout) -> tuple[Bounding, ...]:
    """Return how a person is bounded in the one row of what limits take away.

    One is over a limit or not, which their own rows alone decide: without them the count is 0 or 1
    less. Each row has at most one value of each of q columns, so that before bounding a person
    adds n_c <= n to the c-th count, n their rows in any group. All n_c are shrunk by one factor
    where the largest is over R, the most rows that limits leave a person in all groups (or Σ n_c²
    over l2²): so a person moves the counts within [0, R]^q, all of them one way, or in the ball.
    Nobody within the limits is touched.
    """
    if shape.numbers.persons:
        return (FirstCells(most=1),)
    groups = math.prod(axis.cells for axis in shape.within)
    if any(isinstance(axis, Unlisted) for axis in shape.within):
        groups = MAX_ROWS
    found: list[Bounding] = []
    if (most := most_rows(given, groups)) is not None:
        found.append(InCells(per_cell=most, total=most))
    if given.l2 is not None:
        found.append(InBall(squared=given.l2**2))
    return tuple(found)


def keep_feasible(shape: Layout, ways: Sequence[Bounding]) -> tuple[Layout, ...]:
    """A layout for each way to bound a unit that allows exact sums; LayoutError if none does."""
    found: list[Layout] = []
    reasons: list[LayoutError] = []
    for way in ways:
        try:
            found.append(replace(shape, bounding=way, bits=find_bits(shape, way)))
        except LayoutError as error:
            reasons.append(error)
    if not ways:
        raise LayoutError(
            "Nothing in [contribution] bounds one person here. Give max_rows, max_rows_per_group, "
            "l1 or l2."
        )
    if not found:
        raise reasons[0]
    return tuple(found)


def find_bits(shape: Layout, way: Bounding) -> int:
    """Return the most fixed-point bits, up to 28, for which all that bounding adds up is exact.

    A person is over a limit if ΣI² in a ball, or the sum of the cells' largest |I|, passes it.
    Clamped coordinates keep either below 2^53, where float64 adds whole numbers without rounding,
    and totals of 2^34 persons below 2^63.
    """
    if isinstance(way, FirstCells):
        return 0
    if shape.by_row:
        return MAX_BITS
    for bits in range(MAX_BITS, MIN_BITS - 1, -1):
        largest, _ = integer_limits(way, bits=bits)
        most = largest * max(shape.numbers.without, 1)
        if _largest_sum(shape, way, bits) < EXACT_SUMS and MAX_UNITS * most < INT64_END:
            break
    else:
        raise LayoutError(
            f"{shape.dimension:,} coordinates can't be summed exactly with {MIN_BITS} bits under "
            "these limits. Split the query, or lower the limits of [contribution]."
        )
    if largest < 2**MIN_BITS:
        raise LayoutError(
            f"A limit below 2^-{bits - MIN_BITS} would leave nothing of a row, at most 1 each. "
            "Raise l1 or l2."
        )
    return bits


def _largest_sum(shape: Layout, way: InBall | InCells | FewGroups, bits: int) -> Fraction:
    """Bound what a person's clamped integers add up to, as `find_bits` says."""
    if isinstance(way, InBall):
        return shape.dimension * way.squared * 4**bits
    if isinstance(way, FewGroups):  # nothing is added up over groups
        return Fraction(way.per_group * 2**bits)
    return way.moved(shape.numbers) * way.per_cell * 2**bits
