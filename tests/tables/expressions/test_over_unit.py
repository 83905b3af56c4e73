"""Functions over the rows of one unit: their values on DuckDB, and the texts that are refused."""

from __future__ import annotations

import random
import re
from typing import Any

import duckdb
import pytest

from leastnoise.tables.expressions.duckdb_sql import SqlColumns
from leastnoise.tables.expressions.language import parse, parse_sql, write
from leastnoise.tables.expressions.over_unit import constant_per_unit, units_of
from leastnoise.tables.expressions.tree import ColumnRef
from leastnoise.tables.values.casts import StoredColumn, as_day
from tests.tables.expressions.histories import (
    TYPES,
    UNIT,
    counted,
    expected,
    random_history,
    rows_of_units,
)
from tests.tables.expressions.rows import SQL, Row

KINDS = ["number", "number", "text", "bool", "date"]


def evaluate(texts: list[str], rows: list[Row]) -> list[tuple[Any, ...]]:
    """The value of each expression in each row, computed by DuckDB."""
    columns = {name: f"c{index}" for index, name in enumerate(TYPES)}
    names = sorted({**columns, UNIT: "u0"}.items())
    ties = [
        f"CASE WHEN {sql} = 0 THEN 0 ELSE {sql} END" if TYPES.get(name) in {"int", "float"} else sql
        for name, sql in names
    ]
    trees = [parse(text, TYPES) for text in texts]
    refs = {ColumnRef(name, kind): columns[name] for name, kind in TYPES.items()}
    refs[ColumnRef("at", "date")] = columns["at"]
    compiled = SqlColumns(trees, refs, unit="u0", ties=ties)
    with duckdb.connect() as connection:
        declared = ", ".join(f"{columns[name]} {SQL[kind]}" for name, kind in TYPES.items())
        connection.execute(f"CREATE TABLE given (place INTEGER, {declared}, u0 BIGINT)")
        marks = ", ".join("?" for _ in range(len(TYPES) + 2))
        listed = [[at, *(row[name] for name in TYPES), row[UNIT]] for at, row in enumerate(rows)]
        connection.executemany(f"INSERT INTO given VALUES ({marks})", listed)
        day = as_day(StoredColumn(sql=columns["at"], kind="TIMESTAMP"))
        query = compiled.wrap(f"SELECT * REPLACE ({day} AS {columns['at']}) FROM given")
        wanted = ", ".join(compiled.names)
        result = connection.sql(
            f"SELECT {wanted} FROM ({query}) ORDER BY place", params=compiled.parameters
        )
        return result.fetchall()


@pytest.mark.dense
@pytest.mark.parametrize("seed", range(20))
def test_random_functions_over_a_unit_mean_what_they_mean_in_python(seed: int) -> None:
    rng = random.Random(seed)
    rows = rows_of_units(rng, rng.choice([1, 8, 40]))
    histories = [random_history(rng, rng.choice(KINDS), 2) for _ in range(25)]
    results = evaluate([history.text for history in histories], rows)
    for index, history in enumerate(histories):
        values = [result[index] for result in results]
        assert counted(rows, values) == expected(history, rows), history.text


_REFUSED = {
    "first(x) over who": "have no fixed order. Write first(x, by = day)",
    "row_number() over who": "Write row_number(by = day) over who",
    "sum(x) over who": "sum over a unit adds only whole numbers",
    "sum(a) over (partition by who order by d)": "sum takes no order",
    "min(a, by = d) over who": "min takes no order",
    "last_value(a) over (partition by who order by d)": '"last" with "order by" looks no further',
    "first(a, by = d) over (partition by who order by d)": 'first has both "by" and "order by"',
    "first_value(a) over (partition by who order by d, a desc)": "one direction",
    "first_value(a) over (partition by who order by d nulls first)": 'without "nulls first"',
    "sum(a) over (partition by who rows between 1 preceding and current row)": "Leave out the "
    "range of rows",
    "avg(x) over who": "The mean is sum(x) over person / count(x) over person.",
    "lag(x) over (partition by who order by d)": "lag can't be used over a unit. You can use first",
    "count() over ()": "count over all rows would let one person change another's value",
    "row_number() over (order by d)": "row number over all rows would let one person change",
    "count() over (partition by who, a)": 'Expected one column after "over": the unit',
    "count() over (partition by a + 1)": 'Expected one column after "over": the unit',
    "first(x, d) over who": "Expected first(x, by = day) over a unit, but first has 2 arguments",
    "row_number(a) over who": "row_number(by = day) over a unit, but row_number has 1 argument",
    "count(x, a) over who": "Expected count(x) over a unit, but count has 2 arguments",
    "max() over who": "max over a unit needs a value",
    "any(a) over who": "any takes a truth value, got a number",
    "first(at, by = d) over who": "A timestamp is used by its date: write date(x).",
    "first(a, by = at) over who": "A timestamp is used by its date: write date(x).",
    "sum(at) over who": "A timestamp is used by its date: write date(x).",
}


@pytest.mark.parametrize("text", _REFUSED)
def test_other_windows_are_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(_REFUSED[text])):
        parse(text, TYPES)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("first(x, by = d) over who", "first_value(x) over (partition by who order by d)"),
        ("last(x, by = d) over who", "first_value(x) over (partition by who order by d desc)"),
        ("first(x, by = (d, a)) over who", "first(x) over (partition by who order by d, a)"),
        (
            "last(x, by = d) over who",
            "last_value(x) over (partition by who order by d range between unbounded preceding "  # noqa: ISC004
            "and unbounded following)",
        ),
        ("row_number(by = d) over who", "row_number() over (partition by who order by d)"),
        ("count() over who", "count(*) over (partition by who)"),
        ("count(x) over who", "count(x) over (partition by who)"),
        ("any(p) over who", "max(p) over who"),
    ],
)
def test_sql_spells_the_same_differently(text: str, same: str) -> None:
    assert parse(text, TYPES) == parse(same, TYPES)
    assert units_of(parse(text, TYPES)) == ("who",)


@pytest.mark.parametrize(
    "text",
    [
        "first(x, by = (d, a)) over who",
        'count(distinct t) over "odd name" >= 2 and not any(p) over "odd name"',
        "row_number() over (partition by who order by d desc) = 1",
        "max(row_number(by = d) over who) over who > 1",
    ],
)
def test_a_part_of_sql_is_written_as_the_same_expression(text: str) -> None:
    query: Any = parse_sql(f"select count(*) from data where {text}")
    assert parse(write(query.args["where"].this)) == parse(text)


@pytest.mark.parametrize(
    ("text", "constant"),
    [
        ("first(d, by = d) over who", True),
        ("month(first(d, by = d) over who) + count() over who", True),
        ("max(row_number(by = d) over who) over who", True),
        ("row_number(by = d) over who", False),
        ("row_number(by = 1) over who", False),
        ("count() over who + a", False),
        ("count() over who + b", True),  # b has one value per unit
        ("case when x > min(x) over who then 1 end", False),
        ("12", True),
    ],
)
def test_values_that_are_the_same_in_all_rows_of_a_unit_are_known(
    text: str, *, constant: bool
) -> None:
    assert constant_per_unit(parse(text, TYPES), lambda name: name == "b") is constant
