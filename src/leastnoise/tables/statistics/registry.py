"""All statistics by their spelling: the only module that lists them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

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

    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.statistics.base import AnyStatistic, ColumnStatistic

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
STATISTICS: dict[str, type[AnyStatistic]] = {
    cls.kind: cls for cls in (*_OF_COLUMN, Ratio, Quantile)
}

_WITHOUT_COLUMN = [cls.kind for cls in _OF_COLUMN if cls.column_is != "required"]
_WITH_COLUMN = [cls.kind for cls in _OF_COLUMN if cls.column_is != "absent"]
_BOTH = r"sum\s*\([\s\S]+\)\s*,\s*(count|(sum|count)\s*\([\s\S]+\))"
PATTERN = (
    rf"^\s*({'|'.join(_WITHOUT_COLUMN)}|({'|'.join(_WITH_COLUMN)})\s*\([\s\S]+\)"
    rf"|{_MEDIAN}\s*\([\s\S]+\)|{Quantile.kind}\s*\([\s\S]+,\s*[^,\s][^,]*\)"
    rf"|{Ratio.kind}\s*\(\s*{_BOTH}\s*\))\s*$"
)
"""A regular expression for the spelling of a statistic, used in the JSON Schema."""
_RATIO = f"{Ratio.kind}(sum(column), sum(column))"
_QUANTILE = f"{Quantile.kind}(column, level)"
FORMS = (
    *_WITHOUT_COLUMN,
    *(f"{kind}(column)" for kind in (*_WITH_COLUMN, _MEDIAN)),
    _QUANTILE,
    _RATIO,
)
"""The spellings of all statistics, with "column" in place of a column's name.

A ratio has only its spelling with two sums.
"""
SPELLINGS = _words.join_names(FORMS, "or")
_CALL = re.compile(r"\s*(\w+)\s*(?:\(\s*(.*?)\s*\))?\s*", re.DOTALL)


def parse(text: str) -> AnyStatistic:
    """The statistic that `text` spells; raises ValueError with the correct spellings.

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
    statistic_class = next((cls for cls in _OF_COLUMN if cls.kind == kind), None)
    if statistic_class is None:
        hint = _validate.nearest(kind, (*STATISTICS, _MEDIAN))
        raise ValueError(f"Expected {SPELLINGS}, got {text[:40]!r}.{' ' if hint else ''}{hint}")
    if statistic_class.column_is == "absent" and inside is not None:
        raise ValueError(f"Expected {kind} without a column, got {text[:40]!r}.")
    if not inside and (statistic_class.column_is == "required" or inside is not None):
        raise ValueError(f"Expected {kind}(column), got {text[:40]!r}. Name the column.")
    return statistic_class(column=inside or "")


def _quantile(kind: str, inside: str, text: str) -> Quantile:
    """Read a quantile from the text `inside` its parentheses, or a median.

    The level of a quantile is after the last comma; a median has only a column. Raises ValueError
    for another form of the `text`.
    """
    column, comma, level = inside.rpartition(",")
    if kind == _MEDIAN and inside:
        return Quantile(column=inside)
    if kind == _MEDIAN or not (comma and column.strip() and level.strip()):
        wanted = f"{_MEDIAN}(column)" if kind == _MEDIAN else f"{Quantile.kind}(column, 0.9)"
        raise ValueError(f"Expected {wanted}, got {text[:40]!r}.")
    return Quantile.of(column.strip(), level.strip())


def _ratio(inside: str, text: str) -> Ratio:
    """Read a ratio from the two parts around a comma `inside` its parentheses.

    Names of columns may contain commas, too. Raises ValueError if no comma, or more than one,
    splits the text into a sum, and a sum or count.
    """
    ratios: list[Ratio] = []
    for comma in re.finditer(",", inside):
        try:
            above, below = parse(inside[: comma.start()]), parse(inside[comma.end() :])
        except ValueError:
            continue
        if isinstance(above, Sum) and isinstance(below, (Sum, Count)):
            ratios.append(Ratio(above=above, below=below))
    if not ratios:
        raise ValueError(
            f"Expected {_RATIO}, where count or count(column) may replace the second sum, got "
            f"{text[:80]!r}."
        )
    if len(ratios) > 1:
        raise ValueError(
            f"{text[:80]!r} can be read in {len(ratios)} ways. Rename the column that has a comma."
        )
    return ratios[0]


def read_statistics(
    query: Query, *, by_row: bool
) -> Iterator[tuple[int, AnyStatistic | ValueError]]:
    """Yield the position and the statistic for each text in a query's list.

    A text that can't be read gives a ValueError in place of a statistic.

    A histogram counts rows. Conditions count rows if a row is a unit, otherwise persons.
    """
    if query.conditions and not by_row:
        yield 0, CountUnits()
    elif query.histogram is not None or query.conditions:
        yield 0, Count()
    else:
        for position, text in enumerate(query.statistics):
            try:
                yield position, parse(text)
            except ValueError as error:
                yield position, error


def known_statistics(query: Query, *, by_row: bool) -> tuple[AnyStatistic, ...]:
    """The statistics of a query, without those that can't be read."""
    statistics = (item for _, item in read_statistics(query, by_row=by_row))
    return tuple(item for item in statistics if not isinstance(item, ValueError))


def quantiles_by_column(query: Query) -> dict[str, dict[int, Quantile]]:
    """The quantiles of a query by column, each with its position in `statistics`."""
    columns: dict[str, dict[int, Quantile]] = {}
    for position, statistic in read_statistics(query, by_row=True):
        if isinstance(statistic, Quantile):
            columns.setdefault(statistic.column, {})[position] = statistic
    return columns


@final
@dataclass(frozen=True, kw_only=True)
class ParsedQuery:
    """A query of a spec, with its statistics parsed.

    `entries` has each statistic with its position in the query's list. If a text can't be read, it
    has a ValueError in place of the statistic.
    """

    spec: Spec
    query: Query
    entries: tuple[tuple[int, AnyStatistic | ValueError], ...]

    @property
    def statistics(self) -> tuple[AnyStatistic, ...]:
        """The statistics that could be read."""
        return tuple(entry for _, entry in self.entries if not isinstance(entry, ValueError))

    @property
    def quantiles(self) -> tuple[Quantile, ...]:
        """The quantiles among the statistics."""
        return tuple(item for item in self.statistics if isinstance(item, Quantile))


def parse_query(spec: Spec, query: Query) -> ParsedQuery:
    """Parse the statistics of a query of `spec`."""
    entries = tuple(read_statistics(query, by_row=spec.privacy.by_row))
    return ParsedQuery(spec=spec, query=query, entries=entries)


def parse_queries(spec: Spec) -> tuple[ParsedQuery, ...]:
    """Parse the statistics of all queries of `spec`."""
    return tuple(parse_query(spec, query) for query in spec.query)
