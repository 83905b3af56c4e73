"""Row expressions on Spark have the values of plain Python, as on DuckDB."""

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
from tests.tables.expressions.oracle import random_expression
from tests.tables.expressions.oracle_logarithms import exponential, logarithm, power
from tests.tables.expressions.rows import TYPES, random_rows
from tests.tables.expressions.test_logarithms import near_turns
from tests.tables.integers import integers
from tests.tables.rows.test_computed import ROWS, raw

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
_QUICK = 6  # seeds that are not slow; the first runs with all tests of engines
_SQL = {
    "int": "double",
    "float": "double",
    "text": "string",
    "bool": "boolean",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "instant": "timestamp",
}


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize(
    "seed",
    [
        0,
        *(pytest.param(seed, marks=pytest.mark.dense) for seed in range(1, _QUICK)),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(_QUICK, 20)),
    ],
)
def test_random_expressions_mean_what_they_mean_in_python(
    session: Any, seed: int, ansi: str
) -> None:
    session.conf.set("spark.sql.ansi.enabled", ansi)
    rng = random.Random(seed)
    rows = random_rows(rng, 60)
    kinds = ["number", "text", "bool", "date"]
    expressions = [
        random_expression(rng, rng.choice(kinds), rng.randrange(1, 5)) for _ in range(50)
    ]
    columns = {name: f"c{position}" for position, name in enumerate(TYPES)}
    declared = ", ".join(f"{columns[name]} {_SQL[kind]}" for name, kind in TYPES.items())
    listed = [
        (
            position,
            *(
                None
                if row[name] is None
                else float(row[name])
                if kind in {"int", "float"}
                else row[name]
                for name, kind in TYPES.items()
            ),
        )
        for position, row in enumerate(rows)
    ]
    frame = session.createDataFrame(listed, f"place int, {declared}")
    f = functions_of(frame)
    names = {ColumnRef(name, kind): columns[name] for name, kind in TYPES.items()}
    for name in (name for name, kind in TYPES.items() if kind == "timestamp"):
        names[ColumnRef(name, "date")] = f"{columns[name]}d"
        stored = f.col(columns[name])
        frame = frame.withColumn(f"{columns[name]}d", Casts(f).as_day(stored))
    for name, kind in TYPES.items():
        if kind in {"timestamp", "instant"}:
            seconds = Casts(f).as_seconds(f.col(columns[name]), _SQL[kind])
            frame = frame.withColumn(columns[name], seconds)
    trees = [parse(expression.text, TYPES) for expression in expressions]
    compiled = SparkColumns(f, trees, names)
    values = [value.alias(f"found{position}") for position, value in enumerate(compiled.values)]
    result = compiled.wrap(frame).select("place", *values).collect()
    for index, *got in map(tuple, result):
        for item, value in zip(expressions, got, strict=True):
            assert value == item.value(rows[index]), (item.text, rows[index])


def test_logarithms_have_the_bits_of_python_and_no_product_is_fused(session: Any) -> None:
    rows = near_turns()
    listed = [(index, x, y) for index, (x, y) in enumerate(rows)]
    frame = session.createDataFrame(listed, "place int, x double, y double").repartition(2)
    f = functions_of(frame)
    words = ["ln(x)", "log2(x)", "log10(x)", "exp(y)", "power(x, y)"]
    columns = {ColumnRef(name, "float"): name for name in "xy"}
    compiled = SparkColumns(
        f, [parse(word, {"x": "float", "y": "float"}) for word in words], columns
    )
    values = [value.alias(f"v{index}") for index, value in enumerate(compiled.values)]
    sums = (f.col("x") * f.col("y") + f.col("y")).alias("sum")
    results = sorted(map(tuple, compiled.wrap(frame).select("place", sums, *values).collect()))
    for (x, y), (_, total, *got) in zip(rows, results, strict=True):
        logs = [logarithm(x, word) for word in ("ln", "log2", "log10")]
        assert got == [*logs, exponential(y), power(x, y)], (x, y)
        assert total == x * y + y


def test_filters_and_derived_columns_have_the_integers_of_duckdb(
    session: Any, tmp_path: Path
) -> None:
    ROWS.to_parquet(tmp_path / "rows.parquet", index=False)
    expected = integers(raw("rows.parquet"), tmp_path)
    assert integers(raw("rows.parquet"), tmp_path, engine="spark") == expected
    frame = session.read.parquet(str(tmp_path / "rows.parquet")).repartition(3)
    assert integers(raw("rows.parquet"), tmp_path, frame=frame) == expected
