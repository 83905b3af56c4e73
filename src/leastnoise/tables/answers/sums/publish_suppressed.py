"""Suppression of small numbers in tables that add up, and its checks.

Rows with small counts are suppressed (primary suppression). Further rows are suppressed so that no
sum or difference of shown numbers gives a suppressed number (secondary suppression). Suppression
depends on the noisy numbers alone. So it is post-processing and costs no privacy.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.errors import CertificateRejected
from leastnoise.tables.results.table import PRIMARY, SECONDARY, SHOWN, SUPPRESSED, number_columns
from leastnoise.tables.results.table_files import read_table
from leastnoise.workloads.suppression import Suppression

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from leastnoise.tables.answers.noisy import NoisyPart
    from leastnoise.tables.answers.sums.margins import Margins
    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.results.table import Table


def suppress_rows(margins: Margins, tables: Sequence[Table]) -> list[Table]:
    """Suppress rows of the published tables, and add a column that marks suppressed rows.

    The numbers of a suppressed row are None. If the spec asks for no suppression, the tables are
    unchanged.
    """
    below, label = margins.cells.suppressed_below, _deciding_count(margins.cells)
    if below is None:
        return [*tables]
    pairs = [*zip(margins.cells.margins, tables, strict=True)]
    counts = {by: np.array(table.columns[label], dtype=float) for by, table in pairs}
    hidden = _suppression(margins).add_secondary(counts, below)
    marked: list[Table] = []
    for by, table in pairs:
        kinds = np.where(counts[by] < below, PRIMARY, np.where(hidden[by], SECONDARY, SHOWN))
        marks = kinds.tolist()
        blanked = _blank(table.columns, margins.cells, marks, None)
        marked.append(replace(table, columns=blanked | {SUPPRESSED: marks}))
    return marked


def read_shown(folder: Path, part: NoisyPart, kind: str) -> dict[str, list[Any]]:
    """Read the columns of a table from its file, with NaN for suppressed numbers.

    `check_table` checked before that suppressed rows have no numbers.
    """
    columns = read_table(folder / f"{part.name}.{kind}", [part.layout])
    if SUPPRESSED not in columns:
        return columns
    missing = "nan" if kind == "csv" else math.nan
    return _blank(columns, part.layout, columns[SUPPRESSED], missing)


def check_suppressed(margins: Margins, folder: Path, parts: Sequence[NoisyPart], kind: str) -> None:
    """Raise CertificateRejected if a small count is shown, or a suppressed number may be found.

    A suppressed number doesn't follow from shown numbers if it is in a box of suppressed numbers:
    see `workloads.suppression`. Each suppressed number has to be in such a box. Nothing is checked
    if the spec asks for no suppression.
    """
    below, label = margins.cells.suppressed_below, _deciding_count(margins.cells)
    if below is None:
        return
    hidden: dict[int, Any] = {}
    for by, part in zip(margins.cells.margins, parts, strict=True):
        columns = read_shown(folder, part, kind)
        if any(float(count) < below for count in columns[label]):
            why = f"shows a {label} below min_count, {below:,}"
            raise CertificateRejected(f"The table {part.name}.{kind} {why}.")
        hidden[by] = np.array([mark != SHOWN for mark in columns[SUPPRESSED]])
    table = _suppression(margins).find_open(hidden)
    if table is not None:
        name = parts[margins.cells.margins.index(table)].name
        why = "has a suppressed number that may follow from shown numbers"
        raise CertificateRejected(f"The table {name}.{kind} {why}.")


def _blank(
    columns: dict[str, list[Any]], layout: Layout, marks: Sequence[str], missing: object
) -> dict[str, list[Any]]:
    """The columns of a table with `missing` in place of the numbers of suppressed rows."""
    return columns | {
        name: [
            value if mark == SHOWN else missing
            for value, mark in zip(columns[name], marks, strict=True)
        ]
        for name in number_columns([layout])
    }


def _suppression(margins: Margins) -> Suppression:
    return Suppression(
        sizes=margins.marginals.sizes,
        tables=margins.cells.margins,
        total_is_known=margins.total_is_known,
    )


def _deciding_count(layout: Layout) -> str:
    """The label of the count that decides on suppression: the first count, or "" without counts."""
    return next((asked.label for asked in layout.statistics if asked.counts), "")
