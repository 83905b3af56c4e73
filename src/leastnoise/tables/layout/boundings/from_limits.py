"""The boundings of a person that the limits of a spec ask for."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise.tables.layout.boundings.base import Numbers
from leastnoise.tables.layout.boundings.bounding import Bounding
from leastnoise.tables.layout.boundings.in_ball import InBall
from leastnoise.tables.layout.boundings.in_cells import InCells
from leastnoise.tables.layout.boundings.in_unlisted_groups import InUnlistedGroups
from leastnoise.tables.layout.boundings.once_in_cells import OnceInCells

if TYPE_CHECKING:
    from leastnoise.tables.layout.boundings.bounding import CellBounding
    from leastnoise.tables.spec.contribution import Limits

# with more than 8 times the cells of a unit, noise for a unit in all cells is larger
_TIMES_AS_MANY = 8


def bound_groups(limits: Limits, *, counts_rows: bool) -> InUnlistedGroups | str:
    """The bounding of a person in unlisted groups, or a sentence that says which limit is missing.

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
    return InUnlistedGroups(
        groups=min(on_groups), per_group=min(on_rows, default=1) if counts_rows else 1
    )


def list_cell_boundings(limits: Limits, numbers: Numbers) -> tuple[CellBounding, ...]:
    """List alternative boundings; none of them changes the numbers of a person within all `limits`.

    Empty if the limits aren't enough to bound a person's numbers. A limit on a norm isn't used if
    the limits on rows imply it.
    """
    boundings: list[CellBounding] = []
    rows = _bound_rows(limits, numbers)
    persons = numbers.persons
    if rows is not None:
        single = numbers.each == 1 and numbers.counts
        if persons or (single and rows.per_cell == 1):
            boundings.append(OnceInCells(most=_count_cells(limits, rows, numbers)))
        else:
            boundings.append(rows)
    elif persons and limits.max_groups is not None:
        boundings.append(OnceInCells(most=min(limits.max_groups, numbers.cells)))
    elif persons and _whole_person(limits, numbers):
        boundings.append(OnceInCells(most=1))
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
    """Add boundings that let a unit fill all cells, where they may need less noise.

    Noise that hides a unit in all cells also hides a unit in some of them. Such noise may even be
    smaller, because the shifts then form a box. If there are more than 8 times as many cells as a
    unit may fill, such noise is larger, and no bounding is added.
    """
    extended = [*boundings]
    for bounding in boundings:
        if isinstance(bounding, OnceInCells):
            if 1 < bounding.most < numbers.cells <= _TIMES_AS_MANY * bounding.most:
                extended.append(OnceInCells(most=numbers.cells))
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
    """The most cells in which a person counts once.

    `rows` limits the number of cells, and so does `max_rows`, since each cell needs a row of the
    person.
    """
    most = rows.moved(numbers)
    return most if limits.max_rows is None else min(most, limits.max_rows)


def _whole_person(limits: Limits, numbers: Numbers) -> bool:
    """True for a count of persons in one cell, if limits on norms are given and all are ≥ 1.

    Such limits have no effect, since a person adds at most 1 to the count.
    """
    norms = [norm for norm in (limits.l1, limits.l2) if norm is not None]
    return numbers.cells == 1 and bool(norms) and min(norms) >= 1


def most_rows(limits: Limits, groups: int) -> Fraction | None:
    """The largest number of rows that one person counts as, in all groups together.

    There are at most `groups` groups. The result may be a fraction, if the l1 limit is: persons
    over that limit count as less than their rows. None if neither the rows nor the l1 norm is
    limited.
    """
    bounds = [Fraction(limit) for limit in (limits.max_rows, limits.l1) if limit is not None]
    if limits.max_rows_per_group is not None:
        most_groups = min(limits.max_groups or groups, groups)
        bounds.append(Fraction(limits.max_rows_per_group * most_groups))
    return min(bounds, default=None)
