"""Spark and DuckDB read the same persons, keys and numbers, from all types of a file.

Columns that Spark would read differently are refused from the schema.
"""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leastnoise.tables.expressions.computed import Use
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import source
from leastnoise.tables.spec.values import ColumnType
from tests.tables import hostile

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

KINDS: tuple[ColumnType, ...] = ("int", "float", "text", "bool")
USES: dict[ColumnType, tuple[Use, ...]] = {
    "int": ("u", "k", "v"),
    "float": ("v",),
    "text": ("u", "k"),
    "bool": ("k", "v"),
}


def typed_rows(
    folder: Path, columns: dict[str, ColumnType], engine: str | None
) -> dict[tuple[str, Use], list[Any]]:
    """The value of each column in each use, one for each row, in the order of the rows."""
    raw = {"version": 1, "data": {"source": "rows.parquet"}, "query": [], "privacy": {}}
    raw["privacy"] = {"unit": "row", "unit_is": "each-row", "epsilon": 1}
    raw["query"] = [{"name": "q", "statistics": ["count"]}]
    raw["data"] |= {"engine": engine} if engine else {}
    result = source.find_source(spec_file.parse(raw), folder)
    known = source.list_columns(result.rows)
    kept: dict[str, ColumnType] = {
        name: kind for name, kind in columns.items() if kind in known[name].declarable_types()
    }
    typed: dict[str, ColumnType] = {"row": "int", **kept}
    result = source.Source(rows=result.rows, columns=typed)
    with source.open_engine(result) as opened:
        uses: list[tuple[str, Use]] = [
            (name, use) for name, kind in kept.items() for use in USES[kind]
        ]
        listed = ["row", *(f"{name} {use}" for name, use in uses)]
        at = [opened.column("row", "k"), *(opened.column(*use) for use in uses)]
        frame = opened.frame.select(**dict(zip(listed, map(_column, at), strict=True)))
        rows = sorted(opened.rows(frame))
    return {item: [row[index + 1] for row in rows] for index, item in enumerate(uses)}


def _column(name: str) -> Any:
    import narwhals as nw  # noqa: PLC0415

    return nw.col(name)


def comparable(use: Use, values: list[Any]) -> list[Any]:
    """Values to compare: persons as numbers in order of appearance, infinite numbers as missing."""
    if use == "u":
        first: dict[Any, int] = {}
        return [None if value is None else first.setdefault(value, len(first)) for value in values]
    if use == "v":
        return [
            None if value is None or not math.isfinite(value) else value.hex() for value in values
        ]
    return values


def check(folder: Path, columns: dict[str, ColumnType]) -> set[str]:
    """Compare Spark's values with DuckDB's; return the columns that both read."""
    expected = typed_rows(folder, columns, None)
    result = typed_rows(folder, columns, "spark")
    for (name, use), values in result.items():
        lines = (name, use, list(zip(values, expected[name, use], strict=True)))
        assert comparable(use, values) == comparable(use, expected[name, use]), lines
    return {name for name, _ in result}


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_of_a_file(session: Any, tmp_path: Path, kind: ColumnType) -> None:
    # Decimals past their digits are to Spark what a damaged file is.
    columns = {name: item for name, item in hostile.columns().items() if "decimal" not in name}
    most = max(len(column) for column in columns.values())
    table = pa.table(
        {
            name: pa.chunked_array([pa.nulls(most - len(column), column.type), column])
            for name, column in columns.items()
        }
    )
    pq.write_table(table.append_column("row", pa.array(range(most))), tmp_path / "rows.parquet")
    read = check(tmp_path, dict.fromkeys(columns, kind))
    whole = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "bool"}
    assert whole | {"text", "large_text", "dictionary"} <= read


def _decimals(rng: random.Random, precision: int, scale: int) -> list[Decimal | None]:
    most = 10**precision - 1
    units = [0, 1, -1, most, -most, 10**scale % (most + 1), most // 2]
    units += [rng.randint(-most, most) // 10 ** rng.randrange(precision) for _ in range(60)]
    units += [rng.randint(-most, most) for _ in range(200)]  # of all digits
    with localcontext(prec=60):
        return [None, *(Decimal(unit).scaleb(-scale) for unit in units)]


@pytest.mark.parametrize("kind", ["int", "float", "bool"])
def test_decimals(session: Any, tmp_path: Path, kind: ColumnType) -> None:
    rng = random.Random(kind)
    sizes = [(5, 0), (9, 2), (18, 4), (20, 1), (38, 0), (38, 10), (38, 37), (38, 38)]
    columns = {
        f"d{precision}_{scale}": pa.array(
            _decimals(rng, precision, scale), pa.decimal128(precision, scale)
        )
        for precision, scale in sizes
    }
    table = pa.table(columns)
    pq.write_table(
        table.append_column("row", pa.array(range(len(table)))), tmp_path / "rows.parquet"
    )
    assert check(tmp_path, dict.fromkeys(columns, kind)) == set(columns)


def test_numbers_at_the_ends(session: Any, tmp_path: Path) -> None:
    """Beside 2^63, 10^38 and the smallest floats, where casts differ."""
    powers = [2.0**power for power in (-1074, -1022, 31, 32, 52, 53, 62, 63, 64, 126, 127)]
    powers += [10.0**power for power in (15, 16, 17, 22, 23, 37, 38, 39, 308)]
    near = [math.nextafter(power, end) for power in powers for end in (0.0, math.inf)]
    values = [*powers, *near, 0.0, 0.5, 1.5, 2.5, math.nan, math.inf, 9007199254740993.0]
    values = [sign * value for value in values for sign in (1.0, -1.0)]
    columns = {"doubles": pa.array(values), "floats": pa.array(values).cast(pa.float32())}
    table = pa.table(columns)
    pq.write_table(
        table.append_column("row", pa.array(range(len(table)))), tmp_path / "rows.parquet"
    )
    for kind in ("int", "float", "bool"):
        assert check(tmp_path, dict.fromkeys(columns, kind)) == set(columns)


CORES = (
    "7 +7 -7 7.0 7. 007 .5 +.5 1e5 1E+5 1e-5 1_000 1e e5 0x10 1e400 -1e400 1e-400 inf nan NaN "
    "Infinity +-7 9223372036854775807 9223372036854775808 -9223372036854775808 9.0e18 7.000 -0 "
    "-0.0 1d 1f 1.e5 1,5 true TRUE t T yes y on 1.0 0 false f no n off Yes tRuE 4.35 0.1 "
    "2.2250738585072011e-308 1.7976931348623157e308 123456789012345678901234567890 "
    "99999999999999999999999999999999999999 100000000000000000000000000000000000000"
)
LETTERS = [*" \t\n\x0b\x0c\r+-._eEdfx0179,", "\x00", "\u00a0", "\u0667", "\u2003", "\x1c", "ſ"]


def texts() -> list[str | None]:
    rng = random.Random(1)
    results = {"", *LETTERS, *(first + second for first in LETTERS for second in LETTERS)}
    results |= {"".join(rng.choices(LETTERS, k=rng.randint(3, 6))) for _ in range(20_000)}
    blanks = ["", *" \t\n\x0b\x0c\r\x00\x1c", "\u00a0"]
    results |= {
        before + core + after for core in CORES.split() for before in blanks for after in blanks
    }
    results |= {"x" * 4096, "x" * 4097, "é" * 2048, "é" * 2049, "e\u0301", "\u00e9", "a ", "A", "a"}
    return [None, *sorted(results)]


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_read_by_one_grammar(session: Any, tmp_path: Path, kind: ColumnType) -> None:
    values = texts()
    table = pa.table({"row": range(len(values)), "text": pa.array(values, pa.string())})
    pq.write_table(table, tmp_path / "rows.parquet")
    assert check(tmp_path, {"text": kind}) == {"text"}


def test_dates(session: Any, tmp_path: Path) -> None:
    days = [-(2**31), 2**31 - 1, -719162, -719163, 2932896, 2932897, 0, -141428, -141427, 20_000]
    table = pa.table({"row": range(len(days)), "day": pa.array(days, pa.int32()).cast(pa.date32())})
    pq.write_table(table, tmp_path / "rows.parquet")
    assert check(tmp_path, {"day": "text"}) == {"day"}
