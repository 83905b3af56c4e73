"""The same exact sums on every engine, compared with sums that are written by hand for it.

    python -m benchmarks.bench_engines [ROWS]

Five sums, with ten rows per person, from a Parquet file. Each engine runs in a separate process,
which warms it up with a hundredth of the rows. Spark is local[2], and its start isn't counted. All
engines give the same integers.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.bench_sources import NAMES, ROWS, make, most_memory, spec_of
from benchmarks.timing import print_rows
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.layout.boundings.in_cells import InCells
from leastnoise.tables.parse.spec_file import parse
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.rows.source import find_source
from leastnoise.tables.statistics.registry import parse_query

ENGINES = ("duckdb", "spark")
ROUNDS = 3

Sums = Callable[[str], list[int]]
"""A function from the path of a file to the integers."""


def by_leastnoise(engine: str) -> Sums:
    def sums(path: str) -> list[int]:
        spec = parse(spec_of(source=path, engine=engine))
        layout = lay_out_query(parse_query(spec, spec.query[0]))[0][0]
        with source.open_engine(find_source(spec, Path())) as opened:
            return integer_vectors.query_vector(opened, spec, layout, salt="").tolist()

    return sums


def constants() -> tuple[float, int]:
    """The factor of a value in fixed point, and the largest integer that a person may add."""
    spec = parse(spec_of(source="rows.parquet"))
    layout = lay_out_query(parse_query(spec, spec.query[0]))[0][0]
    assert isinstance(layout.bounding, InCells)
    return 2**layout.bits / 30, layout.bounding.integer_limits(bits=layout.bits)[0]


def by_sql(source: str) -> str:
    factor, most = constants()
    scaled = (
        f"CAST(floor(least(greatest(coalesce({name}, 0.0), 0.0), 30.0) * {factor!r} + 0.5) "
        f"AS BIGINT) AS {name}"
        for name in NAMES
    )
    sums = (f"sum({name}) AS {name}" for name in NAMES)
    shrunk = (
        f"sum(CASE WHEN q > {most} THEN CAST(floor({name} * ({most * (1 - 2.0**-40)!r} / q)) "
        f"AS BIGINT) ELSE {name} END)"
        for name in NAMES
    )
    return (
        f"WITH scaled AS (SELECT person, {', '.join(scaled)} FROM {source} "
        f"WHERE person IS NOT NULL), "
        f"persons AS (SELECT {', '.join(sums)} FROM scaled GROUP BY person), "
        f"sized AS (SELECT *, greatest({', '.join(NAMES)}) AS q FROM persons) "
        f"SELECT {', '.join(shrunk)} FROM sized"
    ).replace("e+", "E")


def by_duckdb(path: str) -> list[int]:
    with duckdb.connect() as connection:
        (row,) = connection.sql(by_sql(f"'{path}'")).fetchall()
    return [int(value) for value in row]


def by_spark(path: str) -> list[int]:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    assert session is not None
    (row,) = session.sql(by_sql(f"parquet.`{path}`")).collect()
    return [int(value) for value in row]


def start_spark() -> None:
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "6g")
    builder.config("spark.sql.shuffle.partitions", "8").getOrCreate().sparkContext.setLogLevel(
        "OFF"
    )


def child(engine: str, way: str, folder: Path) -> None:
    """Print the least time of all rounds, the peak memory of this process, and the integers."""
    if engine == "spark":
        start_spark()
    by_hand: dict[str, Sums] = {"duckdb": by_duckdb, "spark": by_spark}
    sums = by_hand[engine] if way == "hand" else by_leastnoise(engine)
    sums(str(folder / "few" / "rows.parquet"))
    times: list[float] = []
    results: list[int] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        results = sums(str(folder / "rows.parquet"))
        times.append(time.perf_counter() - start)
    print(min(times), most_memory(), *results)


def shown(engine: str, memory: float) -> str:
    return "Spark's own" if engine == "spark" else f"{memory:,.0f} MB"


def main() -> None:
    rows = int(sys.argv[1]) if sys.argv[1:] else ROWS
    table: list[tuple[Any, ...]] = []
    seen: set[tuple[str, ...]] = set()
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "few").mkdir()
        make(Path(name), rows, parquet_alone=True)
        make(Path(name) / "few", rows // 100, parquet_alone=True)
        for engine in ENGINES:
            taken: dict[str, float] = {}
            memory = ""
            for route in ("hand", "leastnoise"):
                command = [sys.executable, "-m", "benchmarks.bench_engines", engine, route, name]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                seconds, memory, *integers = done.stdout.split()
                taken[route] = float(seconds)
                seen.add(tuple(integers))
            times = (f"{taken['leastnoise']:.2f} s", f"{taken['hand']:.2f} s")
            ratio = f"{taken['leastnoise'] / taken['hand']:.2f}"
            table.append((engine, *times, ratio, shown(engine, float(memory))))
    assert len(seen) == 1, "the engines have other integers"
    head = ("engine", "leastnoise", "by hand", "ratio", "memory")
    print_rows(f"Five sums of {rows:,} rows, ten a person", head, table)


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in ENGINES:
        child(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
    else:
        main()
