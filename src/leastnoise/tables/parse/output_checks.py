"""Checks of [output]: keys that only another format uses, and tables that a format can't hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leastnoise.tables.results import sdmx
from leastnoise.tables.results.headers import SEPARATOR
from leastnoise.tables.results.table import result_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.parse.columns import Problem
    from leastnoise.tables.spec.model import Spec

_AGENCY = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)*")
_MOST_COLUMNS = 2**14  # of a sheet


def output_problems(spec: Spec) -> Iterator[Problem]:
    """Yield the problems of keys that the chosen format needs, or doesn't use."""
    output = spec.output
    if output is None:
        return
    if output.headers == "both" and output.format != "csv":
        yield (
            "output.headers",
            'Used with format = "csv" only. A workbook has both anyway: leave it out.',
        )
    if output.format != "sdmx-csv":
        if output.agency is not None:
            yield "output.agency", 'Used with format = "sdmx-csv" only. Leave it out.'
    elif output.agency is None:
        yield (
            "output.agency",
            'Missing: the agency of the structures in SDMX-CSV. Write agency = "OFFICE".',
        )
    elif not _AGENCY.fullmatch(output.agency):
        yield (
            "output.agency",
            f'Expected an identifier of SDMX such as "OFFICE", got {output.agency[:40]!r}.',
        )


def table_problems(spec: Spec, parts: Sequence[TableShape], path: str) -> Iterator[Problem]:
    """Yield the problems of a query whose table the format can't hold."""
    output = spec.output
    if output is None:
        return
    names = result_columns(parts)
    if output.format == "xlsx" and len(names) > _MOST_COLUMNS:
        yield path, f"It has {len(names):,} columns, a sheet {_MOST_COLUMNS:,}. Split the query."
    if output.format == "sdmx-csv" and (why := sdmx.why_not(parts)):
        yield path, f"Its table {why}, or choose another output.format."
    if output.headers == "both":
        for name in names:
            if SEPARATOR in name:
                why = f"The column {name!r} can't be told from its label."
                yield path, f'{why} Leave out headers = "both".'
