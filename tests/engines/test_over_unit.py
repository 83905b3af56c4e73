"""Functions over a unit's rows on Spark have the values of plain Python, as on DuckDB."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from leastnoise.tables.expressions.language import parse
from leastnoise.tables.expressions.spark_columns import SparkColumns
from leastnoise.tables.expressions.tree import ColumnRef
from leastnoise.tables.rows.spark.casts import Casts
from leastnoise.tables.rows.spark.engine import functions_of
from tests.tables.expressions.histories import (
    TYPES,
    UNIT,
    counted,
    expected,
    random_history,
    rows_of_units,
)
from tests.tables.expressions.test_over_unit import KINDS
from tests.tables.rows.test_over_unit import compare_histories

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
_SQL = {
    "int": "double",
    "float": "double",
    "text": "string",
    "bool": "boolean",
    "date": "date",
    "timestamp": "timestamp_ntz",
}


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.dense) for seed in range(1, 5))]
)
def test_random_functions_over_a_unit_mean_what_they_mean_in_python(
    session: Any, seed: int, ansi: str
) -> None:
    session.conf.set("spark.sql.ansi.enabled", ansi)
    rng = random.Random(100 + seed)
    rows = rows_of_units(rng, rng.choice([1, 8, 40]))
    histories = [random_history(rng, rng.choice(KINDS), 2) for _ in range(15)]
    columns = {name: f"c{position}" for position, name in enumerate(TYPES)}
    declared = ", ".join(f"{columns[name]} {_SQL[kind]}" for name, kind in TYPES.items())
    numbers = {name for name, kind in TYPES.items() if kind in {"int", "float"}}
    listed = [
        (
            at,
            row[UNIT],
            *(
                float(row[name]) if name in numbers and row[name] is not None else row[name]
                for name in TYPES
            ),
        )
        for at, row in enumerate(rows)
    ]
    frame = session.createDataFrame(listed, f"place int, u0 bigint, {declared}")
    f, at = functions_of(frame), columns["at"]
    frame = frame.withColumn(at, Casts(f).as_day(f.col(at))).repartition(3)
    ties = [
        f.when(f.col(column) == 0, 0.0).otherwise(f.col(column)) if name in numbers else column
        for name, column in sorted({**columns, UNIT: "u0"}.items())
    ]
    ties = [f.col(tie) if isinstance(tie, str) else tie for tie in ties]
    trees = [parse(history.text, TYPES) for history in histories]
    refs = {ColumnRef(name, kind): columns[name] for name, kind in TYPES.items()}
    refs[ColumnRef("at", "date")] = at
    compiled = SparkColumns(f, trees, refs, unit="u0", ties=ties)
    values = [value.alias(f"v{position}") for position, value in enumerate(compiled.values)]
    results = sorted(map(tuple, compiled.wrap(frame).select("place", *values).collect()))
    for index, history in enumerate(histories, 1):
        got = [result[index] for result in results]
        assert counted(rows, got) == expected(history, rows), history.text


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.dense)])
def test_values_over_a_unit_are_those_of_every_file(
    session: Any, engine: str, tmp_path: Path, seed: int
) -> None:
    compare_histories(f"spark {seed}", tmp_path, ["groups", "hive"], engine=engine)
