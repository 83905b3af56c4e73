"""The same hostile rows in files of SPSS, Stata and SAS, and in workbooks.

These files hold less than others: no empty text, no blank at the end of a text, no float that isn't
finite, and no whole number beyond 2^53. Such values are replaced in the rows first.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.tables.containers import (
    Container,
    expected_integers,
    found_integers,
    hostile_rows,
    random_spec,
)
from tests.tables.expressions.rows import LARGEST, TYPES, Row

pyreadstat = pytest.importorskip("pyreadstat")
openpyxl = pytest.importorskip("openpyxl")
NAMES = [name for name, kind in TYPES.items() if kind != "instant" and name != "odd name"]
"""Columns that every program can store: no time zones, and no blank in a name."""
_DECLARED = {"who": "int", "a": "int", "b": "int", "p": "bool", "q": "bool"}
_TAMED = {1e308: 1e70, -1e308: -1e70, 5e-324: 2.0**-200}  # within the range of SAS transport files
_SPSS, _SAS = datetime(1582, 10, 14), datetime(1960, 1, 1)
_SHEETS = {
    name: kind for name, kind in TYPES.items() if kind not in {"date", "timestamp", "instant"}
}


def storable(rows: Sequence[Row]) -> list[Row]:
    """The rows with values that every program can store."""
    return [{name: _storable(value) for name, value in row.items()} for row in rows]


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value[:20].rstrip(" ") or None  # Stata has at most 2,045 bytes
    if isinstance(value, float):
        return _TAMED.get(value, value) if math.isfinite(value) else None
    if isinstance(value, datetime):
        return value.replace(microsecond=0)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        return None
    return value


def _short(value: Any) -> Any:
    """The value with 15 digits, as openpyxl writes it."""
    return float(f"{value:.15g}") if isinstance(value, float) else value


def statistical_files(rows: Sequence[Row], folder: Path) -> Iterator[Container]:
    """The rows in a file of each kind that pyreadstat writes."""
    spss = frame_of_numbers(rows, day=86_400, second=1, first=_SPSS)
    formats = {"d": "DATE11", "e": "SDATE10", "at": "DATETIME20", "seen": "DATETIME23.2"}
    for name, compress in (("rows.sav", False), ("rows.zsav", True)):
        pyreadstat.write_sav(spss, folder / name, compress=compress, variable_format=formats)
    stata = frame_of_numbers(rows, day=1, second=1000, first=_SAS)
    formats = {"d": "%td", "e": "%tdDD/NN/CCYY", "at": "%tc", "seen": "%tc"}
    pyreadstat.write_dta(stata, folder / "rows.dta", variable_format=formats)
    sas = frame_of_numbers(rows, day=1, second=1, first=_SAS)
    formats = {"d": "DATE9", "e": "DDMMYY10", "at": "DATETIME20", "seen": "E8601DT19"}
    pyreadstat.write_xport(sas, folder / "rows.xpt", variable_format=formats, file_format_version=8)
    for name in ("rows.sav", "rows.zsav", "rows.dta", "rows.xpt"):
        yield Container(name, {"source": name, "types": _DECLARED})


def frame_of_numbers(
    rows: Sequence[Row], *, day: int, second: int, first: datetime
) -> pd.DataFrame:
    """The rows as numbers: days and instants are counted from `first`, in a program's units."""

    def number(value: Any) -> Any:
        if isinstance(value, datetime):
            passed = value - first
            return float((passed.days * 86_400 + passed.seconds) * second)
        if isinstance(value, date):
            return float((value - first.date()).days * day)
        return value if value is None or isinstance(value, str) else float(value)

    columns = {name: [number(row[name]) for row in rows] for name in ["who", *NAMES]}
    return pd.DataFrame(
        {
            name: pd.Series(values, dtype="object" if TYPES.get(name) == "text" else "float64")
            for name, values in columns.items()
        }
    )


def workbook(rows: Sequence[Row], path: Path) -> None:
    """Write the rows to a workbook by openpyxl."""
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("rows")
    names = ["who", *_SHEETS]
    sheet.append(names)
    for row in rows:
        sheet.append([row[name] for name in names])
    book.save(path)


def compare_statistical(seed: object, folder: Path) -> None:
    """Raise AssertionError if a file has other integers than plain Python."""
    rng = random.Random(str(seed))
    rows = storable(hostile_rows(rng))
    spec, meaning = random_spec(rng, names=NAMES)
    _compare(
        list(statistical_files(rows, folder)), spec, folder, expected_integers(rows, spec, meaning)
    )
    spec, meaning = random_spec(rng, names=tuple(_SHEETS))
    rows = [{name: _short(value) for name, value in row.items()} for row in rows]
    workbook(rows, folder / "rows.xlsx")
    types = {"who": "int", **_SHEETS}
    sheet = Container("csv", {"source": "rows.xlsx", "types": types})  # which is read once
    _compare([sheet], spec, folder, expected_integers(rows, spec, meaning))


def _compare(
    files: Sequence[Container], spec: Any, folder: Path, expected: Mapping[str, Any]
) -> None:
    for container in files:
        read = found_integers(container, spec, folder, expected)
        for position, (name, (_, wanted)) in enumerate(expected.items()):
            what = f"{container.name}: {spec['query'][position]} with {spec['derive']}"
            assert read[name] == wanted, f"{what} gives {read[name]} for {wanted}"
