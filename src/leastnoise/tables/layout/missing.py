"""Sentences about missing values in a query, for plans and reports.

A value is missing if it is NULL, NaN or infinite. A text is missing, too, if it can't be read as
the type of its column or isn't in the stated encoding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise import _words
from leastnoise.tables.spec.column import Column
from leastnoise.tables.spec.query import Bands, PrivateKeys
from leastnoise.tables.spec.source import dialect_of, is_csv
from leastnoise.tables.spec.values import MAX_TEXT, NONE, SKIP
from leastnoise.tables.statistics.base import may_be_left_out
from leastnoise.tables.statistics.quotients import Ratio

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.statistics.base import AnyStatistic, OneColumn

_KINDS = {"count_outside": "count outside the bounds"}


def describe(spec: Spec, query: Query, statistics: Sequence[AnyStatistic]) -> tuple[str, ...]:
    """Sentences about missing values in a query's statistics, groups and conditions.

    They follow from the spec alone. `Bins.dropped` describes the values in no bin.
    """
    sentences = [_of_ratio(spec, asked) for asked in statistics if isinstance(asked, Ratio)]
    for name, used in _by_column(spec, statistics).items():
        sentences.append(_of_values(spec, query, name, used))
    for name, grouping in spec.groupings(query).items():
        if isinstance(grouping, Bands):
            sentences += _of_number(spec, name)
        elif isinstance(grouping, PrivateKeys):
            longest = MAX_TEXT if grouping.longest is None else grouping.longest
            sentences.append(
                f"Rows are left out if {spec.labels.get(name, name)} is missing, has more than "
                f"{longest:,} bytes, or contains a control character."
            )
        else:
            key = spec.labels.get(name, name)
            sentences.append(f"Rows are left out if {key} is missing or not one of its keys.")
    if query.histogram:
        sentences += _of_number(spec, query.histogram.column)
    sentences += _of_conditions(spec, query)
    if sentences and any(map(is_csv, spec.data.sources)):  # texts in a CSV have an encoding
        dialect = dialect_of(spec.data)
        sentences.append(
            f"A text that isn't valid {dialect.encoding}, or can't be read as the type of its "
            "column, counts as missing."
        )
        if dialect.decimal == ",":
            sentences.append(
                "Numbers are read with a decimal comma. A number with a point counts as missing."
            )
    return tuple(dict.fromkeys(filter(None, sentences)))


def _by_column(spec: Spec, statistics: Sequence[AnyStatistic]) -> dict[str, list[OneColumn]]:
    """The statistics of each column; parts of ratios are left out if `_of_ratio` describes them."""
    used: dict[str, list[OneColumn]] = {}
    for asked in statistics:
        ratio = isinstance(asked, Ratio)
        for part in asked.parts:
            if part.column and not (ratio and may_be_left_out(spec, part.column)):
                used.setdefault(part.column, []).append(part)
    return used


def _of_ratio(spec: Spec, ratio: Ratio) -> str:
    """A sentence about the rows that a ratio uses; "" if it leaves out no missing value."""
    label, needed = ratio.in_words(spec.labels), ratio.needed(spec)
    names = [spec.labels.get(name, name) for name in needed]
    if names:
        both = _words.join_names(names, "and")
        return f"{label} uses only rows with a value of {both}. Other rows add to neither part."
    above = ratio.above.column
    if not ratio.below.column and may_be_left_out(spec, above):
        return (
            f"{label} counts all rows. A row without a value of {spec.labels.get(above, above)} "
            "adds 0 to the sum."
        )
    return ""


def _of_conditions(spec: Spec, query: Query) -> Iterator[str]:
    """Yield sentences about missing values in the conditions of a query."""
    false: dict[str, dict[str, None]] = {"": {}, "the keys of ": {}}
    conditions = query.conditions.values()
    for name, predicate in (item for condition in conditions for item in condition.items()):
        number = tuple(_of_number(spec, name))
        if not number:
            false[""][name] = None
        elif predicate.among:  # compared before missing values are replaced
            false["the keys of "][name] = None
        else:
            yield from number
    for what, names in false.items():
        if names:
            columns = _words.join_names([spec.labels.get(name, name) for name in names], "or")
            yield f"A condition on {what}{columns} is false where the value is missing."


def _of_number(spec: Spec, name: str) -> Iterator[str]:
    """Yield a sentence about the number that stands for missing values, if the spec gives it."""
    number = spec.columns.get(name, Column()).number
    if number is not None:
        yield _counts_as(spec.labels.get(name, name), number)


def _counts_as(name: str, number: Fraction) -> str:
    return f"A missing value of {name} counts as {float(number):.15g}."


def _of_values(spec: Spec, query: Query, name: str, statistics: Sequence[OneColumn]) -> str:
    """Sentences about missing values in `statistics` of the column `name`."""
    column, called = spec.columns.get(name, Column()), spec.labels.get(name, name)
    if column.missing == SKIP:
        kinds = [*dict.fromkeys(_KINDS.get(each.kind, each.kind) for each in statistics)]
        what = _words.join_names(kinds)
        return f"Rows where {called} is missing are left out of the {what} of {called}."
    counts = dict.fromkeys(
        statistic.kind for statistic in statistics if statistic.counts and not statistic.of_values
    )
    every = "".join(f" {kind}({called}) counts all rows." for kind in counts)
    if column.missing != NONE:
        return _counts_as(called, column.missing) + every
    sentence = f"The spec promises that no value of {called} is missing."
    if column.counts_as is not None and any(
        statistic.of_values or statistic.ranked for statistic in statistics
    ):
        sentence += (
            f" A value that is missing anyway counts as {_middle(column, query, column.counts_as)}."
        )
    elif any(statistic.ranked for statistic in statistics):
        sentence += " Quantiles leave out a value that is missing anyway."
    return sentence + every


def _middle(column: Column, query: Query, middle: Fraction) -> str:
    """A phrase for `middle`, the middle of a column's bounds, perhaps of bounds not yet found.

    As the spec promises that no value is missing, this number stands for a value that is missing
    anyway.
    """
    finds = column.finds
    if finds is None or finds.found is not None:
        return f"{float(middle):.15g}, the middle of its bounds"
    if finds.query == query.name:
        return f"{float(middle):.15g}, the middle of the widest bounds"
    return "the middle of the bounds that are found"
