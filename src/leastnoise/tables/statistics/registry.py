"""All statistics by their spelling: the one place that names them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leastnoise import _validate, _words
from leastnoise.tables.statistics.quantiles import Quantile
from leastnoise.tables.statistics.quotients import Mean, Ratio
from leastnoise.tables.statistics.spreads import Std, Var
from leastnoise.tables.statistics.totals import (
    Count,
    CountInNoGroup,
    CountOutside,
    CountOverLimits,
    CountUnits,
    Sum,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.statistics.base import Asked, ColumnStatistic

_OF_COLUMN: tuple[type[ColumnStatistic], ...] = (
    Count,
    CountUnits,
    CountOverLimits,
    CountInNoGroup,
    CountOutside,
    Sum,
    Mean,
    Var,
    Std,
)
_MEDIAN = "median"
STATISTICS: dict[str, type[Asked]] = {one.kind: one for one in (*_OF_COLUMN, Ratio, Quantile)}

_ALONE = [one.kind for one in _OF_COLUMN if one.column_is != "required"]
_CALLED = [one.kind for one in _OF_COLUMN if one.column_is != "absent"]
_BOTH = r"sum\s*\([\s\S]+\)\s*,\s*(count|(sum|count)\s*\([\s\S]+\))"
PATTERN = (
    rf"^\s*({'|'.join(_ALONE)}|({'|'.join(_CALLED)})\s*\([\s\S]+\)"
    rf"|{_MEDIAN}\s*\([\s\S]+\)|{Quantile.kind}\s*\([\s\S]+,\s*[^,\s][^,]*\)"
    rf"|{Ratio.kind}\s*\(\s*{_BOTH}\s*\))\s*$"
)
"""What a text is that spells one, to a JSON Schema."""
_RATIO = f"{Ratio.kind}(sum(column), sum(column))"
_QUANTILE = f"{Quantile.kind}(column, level)"
SPELLINGS = _words.join_names(
    [*_ALONE, *(f"{kind}(column)" for kind in (*_CALLED, _MEDIAN)), _QUANTILE, _RATIO], "or"
)
_CALL = re.compile(r"\s*(\w+)\s*(?:\(\s*(.*?)\s*\))?\s*", re.DOTALL)


def parse(text: str) -> Asked:
    """Return the statistic that `text` spells; raises ValueError saying how to spell it.

    >>> parse("mean(mdvis)")
    Mean(column='mdvis')
    >>> parse("ratio(sum(cases), count)").label
    'ratio_sum_cases_by_count'
    >>> parse("quantile(income, 0.9)").label
    'quantile_income_0.9'
    """
    match = _CALL.fullmatch(text)
    kind, inside = (match[1], match[2]) if match else (text, None)
    if kind == Ratio.kind:
        return _ratio(inside or "", text)
    if kind in {_MEDIAN, Quantile.kind}:
        return _quantile(kind, inside or "", text)
    found = next((one for one in _OF_COLUMN if one.kind == kind), None)
    if found is None:
        hint = _validate.nearest(kind, (*STATISTICS, _MEDIAN))
        raise ValueError(f"Expected {SPELLINGS}, got {text[:40]!r}.{' ' if hint else ''}{hint}")
    if found.column_is == "absent" and inside is not None:
        raise ValueError(f"Expected {kind} without a column, got {text[:40]!r}.")
    if not inside and (found.column_is == "required" or inside is not None):
        raise ValueError(f"Expected {kind}(column), got {text[:40]!r}. Name the column.")
    return found(column=inside or "")


def _quantile(kind: str, inside: str, text: str) -> Quantile:
    """Return the quantile whose level stands after the last comma; the median has none."""
    column, comma, level = inside.rpartition(",")
    if kind == _MEDIAN and inside:
        return Quantile(column=inside)
    if kind == _MEDIAN or not (comma and column.strip() and level.strip()):
        wanted = f"{_MEDIAN}(column)" if kind == _MEDIAN else f"{Quantile.kind}(column, 0.9)"
        raise ValueError(f"Expected {wanted}, got {text[:40]!r}.")
    return Quantile.of(column.strip(), level.strip())


def _ratio(inside: str, text: str) -> Ratio:
    """Return the ratio of the two around a comma; names of columns may have some, too."""
    found: list[Ratio] = []
    for comma in re.finditer(",", inside):
        try:
            above, below = parse(inside[: comma.start()]), parse(inside[comma.end() :])
        except ValueError:
            continue
        if isinstance(above, Sum) and isinstance(below, (Sum, Count)):
            found.append(Ratio(above=above, below=below))
    if not found:
        raise ValueError(
            f"Expected {_RATIO}, or count or count(column) in place of the second, "
            f"got {text[:80]!r}."
        )
    if len(found) > 1:
        raise ValueError(
            f"{text[:80]!r} can be read in {len(found)} ways. Rename the column that has a comma."
        )
    return found[0]


def read_statistics(query: Query, *, by_row: bool) -> Iterator[tuple[int, Asked | ValueError]]:
    """Yield what a block asks for, by its place in the list; an error for what can't be read.

    A histogram counts rows, and so do conditions where a row is a unit; else they count persons.
    """
    if query.conditions and not by_row:
        yield 0, CountUnits()
    elif query.histogram is not None or query.conditions:
        yield 0, Count()
    else:
        for place, text in enumerate(query.statistics):
            try:
                yield place, parse(text)
            except ValueError as error:
                yield place, error


def known_statistics(query: Query, *, by_row: bool) -> tuple[Asked, ...]:
    """Return what a block asks for, without what can't be read."""
    found = (one for _, one in read_statistics(query, by_row=by_row))
    return tuple(one for one in found if not isinstance(one, ValueError))


def quantiles_by_column(query: Query) -> dict[str, dict[int, Quantile]]:
    """The quantiles of each column for which a query asks, by their place in its list."""
    columns: dict[str, dict[int, Quantile]] = {}
    for place, asked in read_statistics(query, by_row=True):
        if isinstance(asked, Quantile):
            columns.setdefault(asked.column, {})[place] = asked
    return columns
