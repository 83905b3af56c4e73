"""Row expressions on DuckDB against an evaluation in plain Python."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pytest

from leastnoise.tables.expressions.duckdb_sql import SqlColumns
from leastnoise.tables.expressions.language import parse
from leastnoise.tables.expressions.tree import ColumnRef
from leastnoise.tables.values.casts import StoredColumn, as_day, as_seconds
from tests.tables.expressions.oracle import random_expression
from tests.tables.expressions.rows import SQL, TYPES, Row, random_rows


def evaluate(texts: list[str], rows: list[Row]) -> list[tuple[Any, ...]]:
    """Return the value of each expression in each row, computed by DuckDB."""
    columns = {name: f"c{index}" for index, name in enumerate(TYPES)}
    names = {ColumnRef(name, kind): columns[name] for name, kind in TYPES.items()}
    stamps = [name for name, kind in TYPES.items() if kind == "timestamp"]
    names |= {ColumnRef(name, "date"): f"{columns[name]}d" for name in stamps}
    compiled = SqlColumns([parse(text, TYPES) for text in texts], names)
    with duckdb.connect() as connection:
        declared = ", ".join(f"{columns[name]} {SQL[kind]}" for name, kind in TYPES.items())
        connection.execute(f"CREATE TABLE given (place INTEGER, {declared})")
        marks = ", ".join("?" for _ in range(len(TYPES) + 1))
        listed = [[index, *row.values()] for index, row in enumerate(rows)]
        connection.executemany(f"INSERT INTO given VALUES ({marks})", listed)
        stored = {
            columns[name]: StoredColumn(sql=columns[name], kind="TIMESTAMP") for name in stamps
        }
        days = ", ".join(f"{as_day(column)} AS {name}d" for name, column in stored.items())
        stored |= {
            columns[name]: StoredColumn(sql=columns[name], kind="TIMESTAMP WITH TIME ZONE")
            for name, kind in TYPES.items()
            if kind == "instant"
        }
        seconds = ", ".join(f"{as_seconds(column)} AS {name}" for name, column in stored.items())
        query = compiled.wrap(f"SELECT * REPLACE ({seconds}), {days} FROM given")
        wanted = ", ".join(compiled.names)
        result = connection.sql(
            f"SELECT {wanted} FROM ({query}) ORDER BY place", params=compiled.parameters
        )
        return result.fetchall()


@pytest.mark.grid
@pytest.mark.parametrize(
    ("start", "end", "months", "years"),
    [
        ("2024-01-31", "2024-02-29", 0, 0),
        ("2024-01-31", "2024-03-01", 1, 0),
        ("2024-02-29", "2025-02-28", 11, 0),
        ("2024-02-29", "2025-03-01", 12, 1),
        ("2024-02-29", "2028-02-29", 48, 4),
        ("2024-03-30", "2024-02-29", -1, 0),
        ("2024-03-31", "2024-02-29", -1, 0),
        ("2024-03-28", "2024-02-29", 0, 0),
        ("0001-01-01", "9999-12-31", 119987, 9998),
    ],
)
def test_completed_months_and_years(start: str, end: str, months: int, years: int) -> None:
    texts = [f"date_sub('{unit}', date '{start}', date '{end}')" for unit in ("month", "year")]
    row = dict.fromkeys(TYPES)
    assert evaluate([f"{text} + coalesce(a, 0)" for text in texts], [row]) == [(months, years)]


@pytest.mark.dense
@pytest.mark.parametrize("seed", range(40))
def test_random_expressions_mean_what_they_mean_in_python(seed: int) -> None:
    rng = random.Random(seed)
    rows = random_rows(rng, 60)
    kinds = ["number", "text", "bool", "date"]
    expressions = [
        random_expression(rng, rng.choice(kinds), rng.randrange(1, 5)) for _ in range(50)
    ]
    results = evaluate([expression.text for expression in expressions], rows)
    for index, expression in enumerate(expressions):
        for row, values in zip(rows, results, strict=True):
            assert values[index] == expression.value(row), (expression.text, row)
