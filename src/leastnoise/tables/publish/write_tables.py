"""Write the tables of a release in the format of its spec, and check their headers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from leastnoise import _words
from leastnoise.errors import CertificateRejected, LeastnoiseError
from leastnoise.guarantees.exact import decimal_text
from leastnoise.tables.answers.base import NO_NAMES, Topic
from leastnoise.tables.plan.reader_notes import describe_limits, describe_selection
from leastnoise.tables.plan.summary import series_sentences
from leastnoise.tables.results import sdmx, table_files, workbook
from leastnoise.tables.results.headers import (
    column_labels,
    describe_query,
    headers_of,
    in_words,
    names_of,
)
from leastnoise.tables.results.table import key_names, statistics_of
from leastnoise.tables.results.workbook import WORKBOOK, Cover, TableSheet
from leastnoise.tables.spec.model import About

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from leastnoise.tables.answers.base import TablePart
    from leastnoise.tables.plan.plan import Plan, QueryPlan
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.spec.model import Spec

_NOISE = (
    "Noise was added to every number{chosen}, to protect each {person}. Columns with 95 % hold the "
    "ends of an interval that contains the number without noise with probability 95 %, each by "
    "itself."
)
_CHOSEN = ", or the number was chosen partly by chance"
_CHECK = (
    "The folder of this workbook has a proof of the guarantee, which leastnoise verify FOLDER "
    "checks, and the SHA-256 of each file. The sentences in this workbook are not checked."
)
_MOST_DIGITS = 12  # digits after the point


def write_tables(folder: Path, plan: Plan, tables: Iterable[Table]) -> None:
    """Write the tables of a release by `plan` into `folder`.

    Raises OSError or duckdb.Error if a file can't be written. For a workbook also InvalidInput if a
    text is too long for a cell, and MissingLibrary if XlsxWriter isn't installed.
    """
    spec, queries = plan.spec, {query.name: query for query in plan.by_query}
    if spec.table_kind == "xlsx":
        sheets = [_lay_out_sheet(table, queries[table.name], spec) for table in tables]
        workbook.write_workbook(folder / WORKBOOK, _make_cover(plan), sheets)
        return
    for table in tables:
        lines = _csv_lines(table, queries[table.name], spec)
        table_files.write_table(table, folder, spec.table_kind, lines)


def _csv_lines(table: Table, query: QueryPlan, spec: Spec) -> Iterable[Sequence[object]] | None:
    """The lines of a CSV as SDMX observations, or of a CSV with labels in its header.

    None for any other format: then the table is written with plain names of columns.
    """
    output, parts = spec.output, query.layouts
    if output is not None and output.format == "sdmx-csv":
        return sdmx.list_lines(table, parts, agency=output.agency or "")
    if output is not None and output.headers == "both":
        return [headers_of(parts, spec), *table.rows]
    return None


def check_headers(folder: Path, spec: Spec, query: QueryPlan) -> None:
    """Raise CertificateRejected unless a table's headers and labels are as the spec asks.

    Parquet and JSON have no labels: `check_table` checks the names of their columns. A plain CSV of
    an earlier version may lack newer columns.
    """
    output, parts = spec.output, query.layouts
    if output is None or output.format in {"parquet", "json"}:
        return
    path = table_files.table_path(folder, query.name, output.kind)
    try:
        if output.format == "xlsx":
            _, stored = table_files.read_labelled(path, parts)
            wanted = list(column_labels(parts, spec).values())
        else:
            stored = table_files.read_header(path, parts)
            wanted = headers_of(parts, spec)
            wanted = sdmx.header_of(parts) if output.format == "sdmx-csv" else wanted
    except (OSError, ValueError, LeastnoiseError):
        raise CertificateRejected(f"The table {query.name} is missing or unreadable.") from None
    # earlier versions lack newer columns
    older = output.headers != "both" and output.format == "csv"
    if stored != wanted and not (older and {*stored} <= {*wanted}):
        raise CertificateRejected(f"The table {query.name} has other headers than the spec says.")


def _lay_out_sheet(table: Table, query: QueryPlan, spec: Spec) -> TableSheet:
    parts = query.layouts
    formats = _number_formats(table, query)
    notes = describe_selection(query.parts, names_of(parts, spec))
    return TableSheet(
        name=table.name,
        description=" ".join([describe_query(parts, spec), *notes]),
        note=f"{_describe_noise(spec, query.parts)} See the sheet About.",
        columns=table.columns,
        keys=len(key_names(parts[0])),
        labels=list(column_labels(parts, spec).values()),
        formats=[formats.get(name, "General") for name in table.columns],
    )


def _describe_noise(spec: Spec, parts: Sequence[TablePart]) -> str:
    sentences = (sentence for part in parts for sentence in part.sentences(NO_NAMES))
    chosen = any(sentence.topic is Topic.VALUES for sentence in sentences)
    return _NOISE.format(person=spec.protected, chosen=_CHOSEN if chosen else "")


def _number_formats(table: Table, query: QueryPlan) -> dict[str, str]:
    """The number format of each column of statistics.

    Counts are shown as whole numbers. Other numbers, and all standard deviations, get the number of
    decimals that shows two digits of the statistic's smallest deviation. If no deviation is known,
    the statistic's columns have the format General of workbooks.
    """
    formats: dict[str, str] = {}
    for asked in statistics_of(query.layouts):
        columns = [f"{asked.label}{suffix}" for suffix in asked.suffixes]
        stds = table.columns.get(f"{asked.label}_std", [])
        digits = _digits_after_point(stds)
        whole = f"#,##0.{'0' * digits}" if digits else "#,##0"
        formats |= dict.fromkeys(columns, "#,##0" if asked.counts else whole)
        if digits is None:
            formats |= dict.fromkeys(columns, "General")
        elif asked.counts:
            formats[f"{asked.label}_std"] = whole
    return formats


def _digits_after_point(stds: Sequence[Any]) -> int | None:
    """The number of decimals that shows two digits of the smallest positive deviation, at most 12.

    None if no deviation is positive and finite.
    """
    known = [std for std in stds if std is not None and math.isfinite(std) and std > 0]
    if not known:
        return None
    return min(max(0, 1 - math.floor(math.log10(min(known)))), _MOST_DIGITS)


def _make_cover(plan: Plan) -> Cover:
    spec, about = plan.spec, plan.spec.report or About()
    names = ", ".join(query.name for query in plan.by_query)
    layouts = [layout for query in plan.by_query for layout in query.layouts]
    budget = plan.budget
    bounds = f"ε = {decimal_text(budget.epsilon)} and δ = {decimal_text(budget.delta)}"
    protection = [
        _describe_noise(spec, plan.parts),
        _words.describe_protection(spec.privacy.neighbours, spec.protected),
        f"The privacy budget is {bounds}, for all tables together.",
        *series_sentences(plan),
        _CHECK,
    ]
    by = [text for text in (about.publisher, about.contact) if text is not None]
    paragraphs = [text for text in (about.text or "").split("\n\n") if text.strip()]
    sections: dict[str, Sequence[str]] = {"Publisher": by, "Description": paragraphs}
    sections |= {
        "Protection": protection,
        "Limits": describe_limits(spec, layouts, where="in this workbook"),
        "Columns": _explain_columns(plan),
    }
    return Cover(
        title=about.title or f"Tables: {names}",
        author=about.publisher or "",
        sections={heading: lines for heading, lines in sections.items() if lines},
    )


def _explain_columns(plan: Plan) -> list[str]:
    """Sentences that explain the names of statistics' columns, with the labels of statistics."""
    pairs = {
        asked.label: in_words(asked, plan.spec)
        for query in plan.by_query
        for asked in statistics_of(query.layouts)
    }
    return [
        "Above the rows of each table stand a label and the column's name for programs.",
        *(f"{name}: {label}." for name, label in pairs.items() if label != name),
    ]
