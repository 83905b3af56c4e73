"""All statistics by their spelling: the one place that names them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leastnoise import _validate, _words
from leastnoise.tables.statistics.means import Mean
from leastnoise.tables.statistics.totals import Count, CountUnits, Sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.spec.model import Query
    from leastnoise.tables.statistics.base import Statistic

STATISTICS: dict[str, type[Statistic]] = {one.kind: one for one in (Count, CountUnits, Sum, Mean)}

_ALONE = [kind for kind, one in STATISTICS.items() if one.column_is != "required"]
_CALLED = [kind for kind, one in STATISTICS.items() if one.column_is != "absent"]
PATTERN = rf"^\s*({'|'.join(_ALONE)}|({'|'.join(_CALLED)})\s*\([\s\S]+\))\s*$"
"""What a text is that spells one, to a JSON Schema."""
SPELLINGS = _words.in_turn([*_ALONE, *(f"{kind}(column)" for kind in _CALLED)], "or")
_CALL = re.compile(r"\s*(\w+)\s*(?:\(\s*(.*?)\s*\))?\s*", re.DOTALL)


def parse(text: str) -> Statistic:
    """Return the statistic that `text` spells; raises ValueError saying how to spell it.

    >>> parse("mean(mdvis)")
    Mean(column='mdvis')
    """
    match = _CALL.fullmatch(text)
    kind, column = (match[1], match[2]) if match else (text, None)
    found = STATISTICS.get(kind)
    if found is None:
        hint = _validate.nearest(kind, tuple(STATISTICS))
        raise ValueError(f"Expected {SPELLINGS}, got {text[:40]!r}.{' ' if hint else ''}{hint}")
    if found.column_is == "absent" and column is not None:
        raise ValueError(f"Expected {kind} without a column, got {text[:40]!r}.")
    if not column and (found.column_is == "required" or column is not None):
        raise ValueError(f"Expected {kind}(column), got {text[:40]!r}. Name the column.")
    return found(column=column or "")


def read_statistics(query: Query, *, by_row: bool) -> Iterator[tuple[int, Statistic | ValueError]]:
    """Yield what a block asks for, by its place in the list; an error for what can't be read.

    A histogram counts rows, and so do conditions where a row is a unit; else they count persons.
    """
    if query.where and not by_row:
        yield 0, CountUnits()
    elif query.histogram is not None or query.where:
        yield 0, Count()
    else:
        for place, text in enumerate(query.statistics):
            try:
                yield place, parse(text)
            except ValueError as error:
                yield place, error


def known_statistics(query: Query, *, by_row: bool) -> tuple[Statistic, ...]:
    """Return what a block asks for, without what can't be read."""
    found = (one for _, one in read_statistics(query, by_row=by_row))
    return tuple(one for one in found if not isinstance(one, ValueError))
