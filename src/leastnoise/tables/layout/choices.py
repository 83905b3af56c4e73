"""The choices of a layout: the bounding of a person, and the sums that statistics need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise.tables.layout.boundings.base import Numbers
from leastnoise.tables.layout.boundings.bounding import Bounding
from leastnoise.tables.layout.boundings.few_groups import FewGroups
from leastnoise.tables.layout.boundings.first_cells import FirstCells
from leastnoise.tables.layout.boundings.in_ball import InBall
from leastnoise.tables.layout.boundings.in_cells import InCells
from leastnoise.tables.statistics.base import Component, Statistic
from leastnoise.tables.statistics.quotients import Ratio
from leastnoise.tables.statistics.totals import Sum

if TYPE_CHECKING:
    from leastnoise.tables.layout.boundings.bounding import CellBounding
    from leastnoise.tables.spec.contribution import Limits
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query

# with more than 8 times the cells of a unit, noise for a unit in all cells is larger
_TIMES_AS_MANY = 8
_ROOT_BITS = 8  # `find_bits` leaves at least 8 bits, so that a row's integer times w is whole


def center_sums(
    spec: Spec,
    query: Query,
    asked: Sequence[tuple[Statistic, tuple[Component, ...]]],
    *,
    in_norm: bool,
) -> list[tuple[Component, ...]]:
    """Choose the components of each statistic, with sums centred where that needs less noise.

    A row moves the count by 1, and the centred value, in units of the radius of its bounds, by at
    most 1 in either direction. So it can reach every corner of the box that hides both. A value
    counted from 0 reaches only two edges of its box, so part of that box is wasted. For values in
    [0, B], a sum computed from the count and a centred sum has a std of √2·B/ε. A sum from 0 has a
    std of 2·B/ε. A replaced row moves a centred value by up to 2. It moves an uncentred value ≥ 0
    by up to 1 only. So values that are never negative are then summed from 0, unless a mean sums
    them centred anyway. With `min_count` or `top` no sum is centred, because noise that chooses the
    published groups would bias it. Nor is a sum that a ratio uses, or a sum of a query whose limits
    are norms (`in_norm`).
    """
    needs = [components for _, components in asked]
    summed = {statistic for components in needs for statistic in components}
    if query.min_count is not None or query.top is not None or in_norm:
        return needs
    parts = (
        part for statistic, _ in asked if isinstance(statistic, Ratio) for part in statistic.parts
    )
    divided = {part.column for part in parts if isinstance(part, Sum)}
    replaces = spec.privacy.neighbours == "replace-one"
    for index, (statistic, components) in enumerate(asked):
        if (
            isinstance(statistic, Sum)
            and statistic.column not in divided
            and not components[0].separate
        ):
            for count, value in statistic.centred_components(spec):
                worse = replaces and not components[0].lowers and value not in summed
                if count in summed and value.centre and not worse:
                    needs[index] = (count, value)
                    break
    return needs


def split_row_count(  # noqa: PLR0917 (one call)
    spec: Spec,
    query: Query,
    needs: Sequence[tuple[Component, ...]],
    boundings: Sequence[Bounding],
    numbers: Numbers,
) -> list[tuple[Component, ...]] | None:
    """Split the count of all rows into rows with and without a value; None if that can't help.

    Let q numbers of a cell be about the values of one column: their count c, and sums. Let m be the
    number of rows without a value, and w the root √q, rounded down to a multiple of 2^−8.

    A row moves the q numbers, each by up to 1, or m by 1, and never both. The count of all rows is
    c + m. So the body of a cell is the hull of a box of q numbers and a segment, instead of a box
    of q + 1 numbers. With the same law in the same dimension, a number in the hull has (q + 1)/(q +
    3) of its variance in the box (`Cells.second_moments`). c + m has (q² + 3q + 8)/(q² + 5q + 6) of
    it, at most 1. m is measured in units of 1/w. That changes nothing in the hull, but the ball
    around it has radius √q instead of √(q + 1). Spherical noise for a ball of radius r has variance
    r²·σ². So c has variance q·σ², and c + m has (q + q/w²)·σ². With w = √q that is (q + 1)·σ², as
    for the box; rounding w adds at most 3·10^-4 of the std. A person with R rows moves R times the
    body of all cells, or R times its ball.

    The split isn't used where other bodies have less noise: for a replaced row, and for cells that
    a person can fill at the same time. Nor is it used with limits in norms, which are about the
    count of all rows.
    """
    rows = Component(kind="count")
    others = {
        component for components in needs for component in components if components != (rows,)
    }
    columns = {component.needed for component in others}
    if any(
        not isinstance(bounding, InCells) or bounding.by_number or bounding.fills(numbers)
        for bounding in boundings
    ):
        return None
    replaces = spec.privacy.neighbours == "replace-one"
    if replaces or query.min_count is not None or query.top is not None:
        return None
    if len(columns) != 1 or (rows,) not in needs or any(component.filled for component in others):
        return None
    needed = columns.pop()
    if len(needed) != 1:
        return None
    count = Component(kind="count", column=min(needed))
    if count not in others:
        return None
    root = Fraction(math.isqrt(len(others) * 4**_ROOT_BITS), 2**_ROOT_BITS)
    without = Component(kind="without", column=count.column, radius=1 / root)
    return [(count, without) if components == (rows,) else components for components in needs]


def bound_groups(limits: Limits, *, counts_rows: bool) -> FewGroups | str:
    """The bounding of a person in unlisted groups, or a sentence if no limit bounds them.

    `counts_rows` is False if the query counts only persons.
    """
    on_groups = [limit for limit in (limits.max_groups, limits.max_rows) if limit is not None]
    on_rows = [limit for limit in (limits.max_rows_per_group, limits.max_rows) if limit is not None]
    if not on_groups:
        return (
            "Nothing in [contribution] bounds the number of unlisted groups of one person. "
            "Give max_groups, such as max_groups = 1."
        )
    if counts_rows and not on_rows:
        return (
            "Nothing in [contribution] bounds the rows of one person in an unlisted group. "
            "Give max_rows_per_group, such as max_rows_per_group = 1."
        )
    return FewGroups(groups=min(on_groups), per_group=min(on_rows, default=1) if counts_rows else 1)


def list_cell_boundings(limits: Limits, numbers: Numbers) -> tuple[CellBounding, ...]:
    """List the boundings that change no person within all `limits`.

    A limit on a norm is left out if the limits on rows imply it.
    """
    boundings: list[CellBounding] = []
    rows = _bound_rows(limits, numbers)
    persons = numbers.persons
    if rows is not None:
        single = numbers.each == 1 and numbers.counts
        if persons or (single and rows.per_cell == 1):
            boundings.append(FirstCells(most=_count_cells(limits, rows, numbers)))
        else:
            boundings.append(rows)
    elif persons and limits.max_groups is not None:
        boundings.append(FirstCells(most=min(limits.max_groups, numbers.cells)))
    elif persons and _whole_person(limits, numbers):
        boundings.append(FirstCells(most=1))
    if persons and numbers.cells == 1 and boundings:
        return tuple(boundings)
    known = () if rows is None else (rows,)
    if limits.l1 is not None and all(limits.l1 < bounding.l1(numbers) for bounding in known):
        boundings.append(InCells(per_cell=limits.l1, total=limits.l1, by_number=True))
    if limits.l2 is not None and all(
        limits.l2**2 < bounding.squared(numbers) for bounding in known
    ):
        boundings.append(InBall(squared=limits.l2**2))
    return tuple(boundings)


def add_full_boundings(boundings: Sequence[Bounding], numbers: Numbers) -> tuple[Bounding, ...]:
    """Add boundings that let a unit fill all cells.

    Noise that hides a unit in all cells also hides it in some of them. Such noise may even be the
    smaller one, because the shifts then form a box. If a unit is in few of the cells, it never is,
    and no bounding is added.
    """
    extended = [*boundings]
    for bounding in boundings:
        if isinstance(bounding, FirstCells):
            if 1 < bounding.most < numbers.cells <= _TIMES_AS_MANY * bounding.most:
                extended.append(FirstCells(most=numbers.cells))
        elif (
            isinstance(bounding, InCells) and not bounding.by_number and not bounding.fills(numbers)
        ):
            total = bounding.most * numbers.cells
            several = (
                numbers.cells > 1 and bounding.per_cell < bounding.total
            )  # else noise for the hull is never more
            if several and total <= _TIMES_AS_MANY * bounding.all_cells(numbers):
                extended.append(InCells(per_cell=bounding.most, total=total))
    return tuple(dict.fromkeys(extended))


def _bound_rows(limits: Limits, numbers: Numbers) -> InCells | None:
    """The bounding that the limits on rows imply; None without a limit on rows."""
    if limits.max_rows is None and limits.max_rows_per_group is None:
        return None
    known = [limit for limit in (limits.max_rows, limits.max_rows_per_group) if limit is not None]
    per_cell = min(known)
    groups = min(limits.max_groups or numbers.cells, numbers.cells)
    total = per_cell * groups
    if limits.max_rows is not None:
        total = min(total, limits.max_rows)
    first = groups if groups < numbers.cells else None
    return InCells(per_cell=Fraction(per_cell), total=Fraction(total), first=first)


def _count_cells(limits: Limits, rows: InCells, numbers: Numbers) -> int:
    """The most cells in which a person counts once: what `rows` allow, and at most `max_rows`.

    Each of these cells needs a row of the person.
    """
    most = rows.moved(numbers)
    return most if limits.max_rows is None else min(most, limits.max_rows)


def _whole_person(limits: Limits, numbers: Numbers) -> bool:
    """True for one count of persons if every limit on a norm is at least 1, and so cuts no one."""
    norms = [norm for norm in (limits.l1, limits.l2) if norm is not None]
    return numbers.cells == 1 and bool(norms) and min(norms) >= 1


def most_rows(limits: Limits, groups: int) -> Fraction | None:
    """The most that one person's rows count for in all groups together; None without a bound."""
    bounds = [Fraction(limit) for limit in (limits.max_rows, limits.l1) if limit is not None]
    if limits.max_rows_per_group is not None:
        most_groups = min(limits.max_groups or groups, groups)
        bounds.append(Fraction(limits.max_rows_per_group * most_groups))
    return min(bounds, default=None)
