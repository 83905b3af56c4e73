"""Where a query has a choice: what bounds a person, and what its statistics are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise.tables.layout.limits import (
    Bounding,
    FewGroups,
    FirstCells,
    InBall,
    InCells,
    Numbers,
)
from leastnoise.tables.statistics.base import Component, Statistic
from leastnoise.tables.statistics.quotients import Ratio
from leastnoise.tables.statistics.totals import Sum

if TYPE_CHECKING:
    from leastnoise.tables.layout.limits import CellBounding
    from leastnoise.tables.spec.model import Contribution, Spec
    from leastnoise.tables.spec.query import Query

_TIMES_AS_MANY = 8  # cells than a unit may be in: among more of them, noise for all is larger
_ROOT_BITS = 8  # as many as `find_bits` leaves at least: a row's integer times it is whole


def center_sums(
    spec: Spec,
    query: Query,
    asked: Sequence[tuple[Statistic, tuple[Component, ...]]],
    *,
    in_norm: bool,
) -> list[tuple[Component, ...]]:
    """Return what each statistic is made of: sums of values about their middle, where it is less.

    A row moves the count by 1 and the value about the middle of its bounds, in units of its radius,
    by up to 1 either way: to any corner of the box that hides both. Of the box of a count and a
    value from 0 it reaches two edges alone. So a sum of values in [0, B] has noise of √2·B/ε, not
    of 2·B/ε. A row that is replaced moves the value about the middle by up to 2, and one from 0 by
    up to 1, or more where it may be negative: so values that are never negative are then summed
    from 0, unless a mean sums them about the middle anyway. Noise must not choose which counts are
    published: sums would be biased. What is bounded `in_norm` are sums from 0, as are ratios.
    """
    needs = [own for _, own in asked]
    there = {one for own in needs for one in own}
    if query.min_count is not None or query.top is not None or in_norm:
        return needs
    parts = (part for one, _ in asked if isinstance(one, Ratio) for part in one.parts)
    apart = {part.column for part in parts if isinstance(part, Sum)}
    replaces = spec.privacy.neighbours == "replace-one"
    for place, (one, own) in enumerate(asked):
        if isinstance(one, Sum) and one.column not in apart and not own[0].apart:
            for count, value in one.about_middle(spec):
                worse = replaces and not own[0].lowers and value not in there
                if count in there and value.centre and not worse:
                    needs[place] = (count, value)
                    break
    return needs


def split_row_count(  # noqa: PLR0917 (one call)
    spec: Spec,
    query: Query,
    needs: Sequence[tuple[Component, ...]],
    ways: Sequence[Bounding],
    numbers: Numbers,
) -> list[tuple[Component, ...]] | None:
    """Return what statistics are made of, rows as those with a value and those without, or None.

    notation: q numbers of a cell are about the values of one column: their count c, and sums. m =
    the rows without a value, w = the root of q, rounded down.

    A row moves the q numbers, each by up to 1, or m by 1, and never both. So where c + m is the
    count of all rows, the body of a cell is the hull of a box of q numbers and of one alone, and
    not a box of q + 1. A number in it has (q + 1)/(q + 3) of the variance that it has in that box,
    and c + m has (q² + 3q + 8)/(q² + 5q + 6), at most 1: of the same law, in as many numbers
    (`Cells.second_moments`). m is measured in units of 1/w: that changes nothing there, and makes
    the ball around the body one of radius √q, not √(q + 1). With spherical noise of variance σ² for
    each unit of that radius c has q·σ², and c + m has q + q/w² of it, which is the q + 1 of the
    box but for what w is rounded: at most 3·10^-4 of the std. A person with R rows moves R times
    the body of all cells, or its ball. What they move otherwise is less in other bodies: of a cell
    that a replaced row moves, or of cells that a person fills at once. Limits in norms are about
    the count of all rows.
    """
    rows = Component(kind="count")
    others = {one for own in needs for one in own if own != (rows,)}
    columns = {one.needed for one in others}
    if any(not isinstance(way, InCells) or way.by_number or way.fills(numbers) for way in ways):
        return None
    replaces = spec.privacy.neighbours == "replace-one"
    if replaces or query.min_count is not None or query.top is not None:
        return None
    if len(columns) != 1 or (rows,) not in needs or any(one.filled for one in others):
        return None
    needed = columns.pop()
    if len(needed) != 1:
        return None
    count = Component(kind="count", column=min(needed))
    if count not in others:
        return None
    root = Fraction(math.isqrt(len(others) * 4**_ROOT_BITS), 2**_ROOT_BITS)
    without = Component(kind="without", column=count.column, radius=1 / root)
    return [(count, without) if own == (rows,) else own for own in needs]


def bound_groups(given: Contribution, *, counts_rows: bool) -> FewGroups | str:
    """Return what bounds a person in groups that nobody listed; a sentence if nothing does.

    `counts_rows` says that more than persons are counted.
    """
    few = [one for one in (given.max_groups, given.max_rows) if one is not None]
    each = [one for one in (given.max_rows_per_group, given.max_rows) if one is not None]
    if not few:
        return (
            "Nothing in [contribution] says in how many groups that nobody listed one person is. "
            "Give max_groups, such as max_groups = 1."
        )
    if counts_rows and not each:
        return (
            "Nothing in [contribution] bounds the rows of one person in a group that nobody "
            "listed. Give max_rows_per_group, such as max_rows_per_group = 1."
        )
    return FewGroups(groups=min(few), per_group=min(each, default=1) if counts_rows else 1)


def list_cell_boundings(given: Contribution, numbers: Numbers) -> tuple[CellBounding, ...]:
    """Return the ways to bound a person that touch nobody within all the limits `given`.

    A norm that limits on rows imply isn't one of them.
    """
    found: list[CellBounding] = []
    rows = _bound_rows(given, numbers)
    persons = numbers.persons
    if rows is not None:
        one = numbers.each == 1 and numbers.counts
        if persons or (one and rows.per_cell == 1):
            found.append(FirstCells(most=_count_cells(given, rows, numbers)))
        else:
            found.append(rows)
    elif persons and given.max_groups is not None:
        found.append(FirstCells(most=min(given.max_groups, numbers.cells)))
    elif persons and _whole_person(given, numbers):
        found.append(FirstCells(most=1))
    if persons and numbers.cells == 1 and found:
        return tuple(found)
    known = () if rows is None else (rows,)
    if given.l1 is not None and all(given.l1 < way.l1(numbers) for way in known):
        found.append(InCells(per_cell=given.l1, total=given.l1, by_number=True))
    if given.l2 is not None and all(given.l2**2 < way.squared(numbers) for way in known):
        found.append(InBall(squared=given.l2**2))
    return tuple(found)


def add_full_boundings(ways: Sequence[Bounding], numbers: Numbers) -> tuple[Bounding, ...]:
    """Return the ways to bound a unit, and those that let it fill all cells.

    Whatever hides a unit in all cells hides it in some, and noise for all may be less: what moves
    every number is a box. Where a unit is in few of the cells it isn't, and isn't offered.
    """
    found = [*ways]
    for way in ways:
        if isinstance(way, FirstCells):
            if 1 < way.most < numbers.cells <= _TIMES_AS_MANY * way.most:
                found.append(FirstCells(most=numbers.cells))
        elif isinstance(way, InCells) and not way.by_number and not way.fills(numbers):
            total = way.most * numbers.cells
            several = numbers.cells > 1 and way.per_cell < way.total  # else the hull is no more
            if several and total <= _TIMES_AS_MANY * way.all_cells(numbers):
                found.append(InCells(per_cell=way.most, total=total))
    return tuple(dict.fromkeys(found))


def _bound_rows(given: Contribution, numbers: Numbers) -> InCells | None:
    """Return what limits on rows and groups imply; None where they imply nothing."""
    if given.max_rows is None and given.max_rows_per_group is None:
        return None
    known = [one for one in (given.max_rows, given.max_rows_per_group) if one is not None]
    per_cell = min(known)
    groups = min(given.max_groups or numbers.cells, numbers.cells)
    total = per_cell * groups
    if given.max_rows is not None:
        total = min(total, given.max_rows)
    first = groups if groups < numbers.cells else None
    return InCells(per_cell=Fraction(per_cell), total=Fraction(total), first=first)


def _count_cells(given: Contribution, rows: InCells, numbers: Numbers) -> int:
    """Return in how many cells a person with one row in each can be."""
    most = rows.moved(numbers)
    return most if given.max_rows is None else min(most, given.max_rows)


def _whole_person(given: Contribution, numbers: Numbers) -> bool:
    """Say whether a norm leaves a person whole where one number counts persons."""
    norms = [one for one in (given.l1, given.l2) if one is not None]
    return numbers.cells == 1 and bool(norms) and min(norms) >= 1


def most_rows(given: Contribution, groups: int) -> Fraction | None:
    """Return the most that one person's rows may count for in all groups; None if nothing says."""
    found = [Fraction(one) for one in (given.max_rows, given.l1) if one is not None]
    if given.max_rows_per_group is not None:
        within = min(given.max_groups or groups, groups)
        found.append(Fraction(given.max_rows_per_group * within))
    return min(found, default=None)
