"""Which ways bound a person, as the limits in [contribution] say."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise.tables.query.limits import FewGroups, FirstCells, InBall, InCells

if TYPE_CHECKING:
    from leastnoise.tables.query.limits import Numbers, OfCells
    from leastnoise.tables.spec.model import Contribution


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


def boundings(given: Contribution, numbers: Numbers) -> tuple[OfCells, ...]:
    """Return the ways to bound a person that touch nobody within all the limits `given`."""
    found: list[OfCells] = []
    rows = _rows(given, numbers)
    persons = numbers.persons
    if rows is not None:
        one = numbers.each == 1 and numbers.counts
        if persons or (one and rows.per_cell == 1):
            found.append(FirstCells(most=_cells_of(given, rows, numbers)))
        else:
            found.append(rows)
    elif persons and given.max_groups is not None:
        found.append(FirstCells(most=min(given.max_groups, numbers.cells)))
    elif persons and _whole_person(given, numbers):
        found.append(FirstCells(most=1))
    if persons and numbers.cells == 1 and found:
        return tuple(found)
    if given.l1 is not None:
        found.append(InCells(per_cell=given.l1, total=given.l1, apart=True))
    if given.l2 is not None:
        found.append(InBall(squared=given.l2**2))
    return tuple(found)


def _rows(given: Contribution, numbers: Numbers) -> InCells | None:
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


def _cells_of(given: Contribution, rows: InCells, numbers: Numbers) -> int:
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
