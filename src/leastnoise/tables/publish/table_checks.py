"""Check a published table against its layout and its noise, both of which are public."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from leastnoise.errors import CertificateRejected, SourceError
from leastnoise.tables.answers.columns import numbers_of
from leastnoise.tables.results.key_checks import find_wrong_keys
from leastnoise.tables.results.table import (
    MARKS,
    SHOWN,
    SUPPRESSED,
    find_wrong_rows,
    join_parts,
    key_columns,
    key_names,
    number_columns,
    result_columns,
)
from leastnoise.tables.results.table_files import read_table, values_as_read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from leastnoise.tables.answers.base import TablePart
    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.statistics.base import Ends

# Another machine's floats may find a scale that differs by 1e-9.
_TOLERANCE = 1e-7


def check_table(path: Path, parts: Sequence[TablePart]) -> int:
    """Check a table against the form and the noise of its `parts`; return its number of rows.

    Checks the columns' names, the keys (`_check_keys`), the `_std` of counts and sums, and the
    numbers of each part (`find_wrong`). Of the columns that earlier versions did not write, either
    all or none may be missing. Suppressed rows must be blank; then they are checked as rows of 0.
    Raises CertificateRejected if anything is wrong.
    """
    layouts = [layout for part in parts for layout in part.layouts]
    noisy = [pair for part in parts for pair in part.noisy]
    wanted = {label: std for part in parts for label, std in part.stated.items()}
    newer = {label: error for part in parts for label, error in part.may_state.items()}
    kind = path.suffix.removeprefix(".")
    try:
        columns = _fill_suppressed(read_table(path, layouts), parts, kind)
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
            raise CertificateRejected(
                f"The table {path.name} has a {label} that is not the standard deviation of its "
                "noise."
            )
    count = len(key_names(layouts[0]))
    numbers = numbers_of(noisy, dict(list(columns.items())[count:]), kind)
    keys = list(columns.values())[:count]
    _check_keys(path, layouts[0], keys, numbers, rows=_length(columns))
    for part in parts:
        if why := part.find_wrong(columns, numbers, kind):
            raise CertificateRejected(f"The table {path.name} has {why}.")
    return _length(columns)


def _fill_suppressed(
    columns: dict[str, list[Any]], parts: Sequence[TablePart], kind: str
) -> dict[str, list[Any]]:
    """The columns of a table, with zeros in place of suppressed numbers.

    Raises ValueError for unknown marks, and for suppressed rows with numbers.
    """
    layouts = [layout for part in parts for layout in part.layouts]
    if layouts[0].suppressed_below is None or SUPPRESSED not in columns:
        return columns
    marks, blank = columns[SUPPRESSED], values_as_read([None], kind)
    zeros = join_parts(layouts, [table for part in parts for table in part.make_zeros()]).columns
    if len(marks) != layouts[0].cells or not {*marks} <= {*MARKS}:
        raise ValueError("other marks of suppressed rows, or other rows")
    filled = dict(columns)
    for name in number_columns(layouts):
        rows = zip(columns[name], values_as_read(zeros[name], kind), marks, strict=True)
        filled[name] = [stored if mark == SHOWN else zero for stored, zero, mark in rows]
        if any([x] != blank for x, m in zip(columns[name], marks, strict=True) if m != SHOWN):
            raise ValueError("numbers in a suppressed row")
    return filled


def _length(columns: Mapping[str, Sequence[Any]]) -> int:
    return len(next(iter(columns.values())))


def _check_keys(
    path: Path,
    layout: TableShape,
    keys: Sequence[list[Any]],
    numbers: Mapping[str, Sequence[float]],
    *,
    rows: int,
) -> None:
    """Raise CertificateRejected unless a table has rows that its layout allows.

    If the rows are public, they have all public keys, in order. Otherwise `find_wrong_rows` checks
    which rows are published, and `find_wrong_keys` checks their keys.
    """
    kind = path.suffix.removeprefix(".")
    if not layout.rows_are_public:
        order = numbers[layout.decides] if layout.decides and layout.top is not None else None
        if why := find_wrong_rows(layout, numbers) or find_wrong_keys(
            layout, keys, kind, counts=order
        ):
            raise CertificateRejected(f"The table {path.name} has {why}.")
        return
    if rows != layout.cells:
        raise CertificateRejected(
            f"The table {path.name} has {rows:,} rows, but the spec says {layout.cells:,}."
        )
    wanted = [values_as_read(column, kind) for column in key_columns(layout)]
    if not all(map(_are_equal, keys, wanted)):
        raise CertificateRejected(f"The table {path.name} has other keys than the spec says.")


def _are_equal(stored: list[Any], wanted: list[Any]) -> bool:
    """True if two columns of public values are equal in value and type: True isn't 1."""
    return stored == wanted and list(map(type, stored)) == list(map(type, wanted))


def _are_close(stored: Sequence[float], wanted: Ends) -> bool:
    """True if stored numbers are close to `wanted`: a number for all, or an array of numbers."""
    expected = np.ravel(wanted).tolist()
    expected = expected * len(stored) if isinstance(wanted, float) else expected
    return len(stored) == len(expected) and all(map(is_close, stored, expected))


def is_close(stored: float, wanted: float) -> bool:
    """True if two floats differ by at most 1e-7 (relative), as results of two machines may."""
    return math.isclose(stored, wanted, rel_tol=_TOLERANCE)
