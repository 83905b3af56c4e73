"""Headers of a published table for readers: labels of columns, and a sentence about the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise import _words
from leastnoise.tables.results.table import (
    SUPPRESSED,
    key_names,
    result_columns,
    statistics_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.statistics.base import AnyStatistic

SEPARATOR = ": "
"""The separator between the name of a column and its label."""
_MEANINGS = {
    "": "",
    "_std": " (standard deviation of the noise)",
    "_low": " (95 % from)",
    "_high": " (95 % to)",
    "_rows_95": " (largest error in rows with 95 %)",
}
_ENDS = {"_from": " from", "_to": " to"}


def column_labels(parts: Sequence[TableShape], spec: Spec) -> dict[str, str]:
    """The label of each column of a query's table, by the column's name."""
    names = key_names(parts[0])
    labels = {
        name: _label_of_key(axis.column, name, spec)
        for axis in parts[0].axes
        for name in axis.columns
    }
    labels |= {name: name for name in names if name not in labels}  # names of conditions
    labels[SUPPRESSED] = SUPPRESSED
    labels |= {
        f"{asked.label}{suffix}": in_words(asked, spec) + _MEANINGS.get(suffix, suffix)
        for asked in statistics_of(parts)
        for suffix in asked.suffixes
    }
    return {name: labels[name] for name in result_columns(parts)}


def _label_of_key(column: str, name: str, spec: Spec) -> str:
    label = spec.labels.get(column, column)
    return label + _ENDS.get(name.removeprefix(column), "") if name != column else label


def headers_of(parts: Sequence[TableShape], spec: Spec) -> list[str]:
    """The headers of a CSV: the names of its columns, with their labels if the spec asks for them.

    >>> SEPARATOR.join(["mean_visits", "mean of Doctor visits"])
    'mean_visits: mean of Doctor visits'
    """
    if spec.output is None or spec.output.headers != "both":
        return list(result_columns(parts))
    return [SEPARATOR.join(pair) for pair in column_labels(parts, spec).items()]


def in_words(asked: AnyStatistic, spec: Spec) -> str:
    """A statistic's name for readers, such as "mean of Doctor visits", with labels of columns."""
    if asked.label == "count_units":
        return f"count (each {spec.privacy.person} once)"
    if asked.label == "count" and not spec.privacy.by_row:
        return "count of rows"
    if asked.label == "count_over_limits":
        return f"count (each {spec.privacy.person} over the limits)"
    if asked.label == "count_in_no_group":
        by_row, person = spec.privacy.by_row, spec.privacy.person
        return "count of rows in no group" if by_row else f"count (each {person} in no group)"
    columns = {part.column: part.column for part in asked.parts if part.column}
    return asked.in_words(columns | spec.labels)


def names_of(parts: Sequence[TableShape], spec: Spec) -> dict[str, str]:
    """The statistics' names for readers, by column of the table."""
    return {asked.label: in_words(asked, spec) for asked in statistics_of(parts)}


def describe_query(parts: Sequence[TableShape], spec: Spec) -> str:
    """A sentence that lists a table's statistics, and its keys or the number of its conditions."""
    layout = parts[0]
    names = [in_words(asked, spec) for asked in statistics_of(parts)]
    what = _words.join_names(names) if names else "the published keys"
    what = what[0].upper() + what[1:]
    if layout.since is not None:
        what += f" since release {layout.since:,}"
    if layout.conditions:
        return f"{what}, for each of {layout.cells:,} conditions."
    by = _words.join_names([
        spec.labels.get(axis.column, axis.column) + axis.note for axis in layout.axes
    ]) if layout.axes else ""  # fmt: skip
    return f"{what}, by {by}." if by else f"{what}."
