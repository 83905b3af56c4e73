"""Row expressions on DuckDB against an evaluation in plain Python."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pytest

from leastnoise.tables.expressions.duckdb_sql import SqlColumns
from leastnoise.tables.expressions.language import parse
from leastnoise.tables.values.casts import StoredColumn, as_day
from tests.tables.expressions.oracle import random_expression
from tests.tables.expressions.rows import SQL, TYPES, Row, random_rows


def evaluate(texts: list[str], rows: list[Row]) -> list[tuple[Any, ...]]:
    """Return the value of each expression in each row, by DuckDB."""
    columns = {name: f"c{index}" for index, name in enumerate(TYPES)}
    compiled = SqlColumns([parse(text, TYPES) for text in texts], columns)
    with duckdb.connect() as connection:
        declared = ", ".join(f"{columns[name]} {SQL[kind]}" for name, kind in TYPES.items())
        connection.execute(f"CREATE TABLE given (place INTEGER, {declared})")
        marks = ", ".join("?" for _ in range(len(TYPES) + 1))
        listed = [[index, *row.values()] for index, row in enumerate(rows)]
        connection.executemany(f"INSERT INTO given VALUES ({marks})", listed)
        day = as_day(StoredColumn(sql=columns["at"], kind="TIMESTAMP"))
        query = compiled.wrap(f"SELECT * REPLACE ({day} AS {columns['at']}) FROM given")
        wanted = ", ".join(compiled.names)
        result = connection.sql(
            f"SELECT {wanted} FROM ({query}) ORDER BY place", params=compiled.parameters
        )
        return result.fetchall()


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
