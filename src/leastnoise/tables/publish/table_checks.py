"""Check a table that was published against its layout and its noise, both public."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from leastnoise.errors import CertificateRejected, SourceError
from leastnoise.tables.answers.columns import numbers_of
from leastnoise.tables.results.key_checks import wrong_keys
from leastnoise.tables.results.table import key_columns, key_names, result_columns, wrong_rows
from leastnoise.tables.results.table_files import as_read, read_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from leastnoise.tables.answers.base import TablePart
    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.statistics.base import Ends

# Floats of another machine: a scale that is found again may be off by 1e-9.
_SAME = 1e-7


def check_table(path: Path, parts: Sequence[TablePart]) -> int:
    """Return the number of rows of a table that holds what was released.

    Checked are names, keys, rows and form, the `_std` of counts and sums, intervals and means, and
    what each part finds wrong of its own columns. Columns that earlier versions did not write may
    be missing, all or none. Where counts decide which groups are there, they are those of
    `wrong_rows`. Keys that nobody listed are as `wrong_keys` says.
    """
    layouts = [layout for part in parts for layout in part.layouts]
    noisy = [pair for part in parts for pair in part.noisy]
    wanted = {label: std for part in parts for label, std in part.stated.items()}
    newer = {label: error for part in parts for label, error in part.may_state.items()}
    kind = path.suffix.removeprefix(".")
    try:
        columns = read_table(path, layouts)
        older = newer.keys().isdisjoint(columns)
        wanted |= {} if older else newer
        stated = [label for label in wanted if label in columns]
        deviations = {label: [float(value) for value in columns[label]] for label in stated}
    except SourceError as error:
        raise CertificateRejected(
            f"The table {path.name} is missing or unreadable. {error}"
        ) from None
    except (OSError, ValueError, TypeError, OverflowError, duckdb.Error):
        raise CertificateRejected(f"The table {path.name} is missing or unreadable.") from None
    expected = [name for name in result_columns(layouts) if not (older and name in newer)]
    if list(columns) != expected:
        raise CertificateRejected(f"The table {path.name} has other columns than the spec says.")
    for label, std in wanted.items():
        if not _are_close(deviations[label], std):
            raise CertificateRejected(f"The table {path.name} has another {label} than its noise.")
    count = len(key_names(layouts[0]))
    numbers = numbers_of(noisy, dict(list(columns.items())[count:]), kind)
    keys = list(columns.values())[:count]
    _check_keys(path, layouts[0], keys, numbers, rows=_length(columns))
    for part in parts:
        if why := part.find_wrong(columns, numbers, kind):
            raise CertificateRejected(f"The table {path.name} has {why}.")
    return _length(columns)


def _length(columns: Mapping[str, Sequence[Any]]) -> int:
    return len(next(iter(columns.values())))


def _check_keys(
    path: Path,
    layout: TableShape,
    keys: Sequence[list[Any]],
    told: Mapping[str, Sequence[float]],
    *,
    rows: int,
) -> None:
    """Check that the keys are the public ones, cell by cell, or as `wrong_keys` says."""
    kind = path.suffix.removeprefix(".")
    if not layout.rows_are_public:
        order = told[layout.decides] if layout.decides and layout.top is not None else None
        if why := wrong_rows(layout, told) or wrong_keys(layout, keys, kind, counts=order):
            raise CertificateRejected(f"The table {path.name} has {why}.")
        return
    if rows != layout.cells:
        raise CertificateRejected(
            f"The table {path.name} has other than the {layout.cells:,} rows that the spec says."
        )
    wanted = [as_read(column, kind) for column in key_columns(layout)]
    if not all(map(_same, keys, wanted)):
        raise CertificateRejected(f"The table {path.name} has other keys than the spec says.")


def _same(told: list[Any], wanted: list[Any]) -> bool:
    """Say whether two columns of public values are equal; True isn't 1 here, nor 1 1.0."""
    return told == wanted and list(map(type, told)) == list(map(type, wanted))


def _are_close(told: Sequence[float], wanted: Ends) -> bool:
    """Whether all numbers are the one that is wanted, or each is its own."""
    each = np.ravel(wanted).tolist()
    each = each * len(told) if isinstance(wanted, float) else each
    return len(told) == len(each) and all(map(is_close, told, each))


def is_close(told: float, wanted: float) -> bool:
    """Whether two floats are the same but for the machine that computed them."""
    return math.isclose(told, wanted, rel_tol=_SAME)
