"""Exact sums of five columns, with ten rows per person, from every kind of source.

    python -m benchmarks.bench_sources [ROWS] [parquet]

With `parquet` only one Parquet file is read, which fits on the disk even for many rows.

Each source is read in a separate process. The memory is the peak beyond the size of the frame. All
sources give the same integers.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.timing import print_rows
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.parse.spec_file import parse
from leastnoise.tables.rows import integer_vectors
from leastnoise.tables.rows.duckdb import engine as duckdb_engine
from leastnoise.tables.rows.frames import frame_of
from leastnoise.tables.rows.source import find_source
from leastnoise.tables.statistics.registry import parse_query

ROWS = 10_000_000
NAMES = tuple("abcde")
FILES = 100


def make(folder: Path, rows: int, *, parquet_alone: bool) -> None:
    """Write the rows; a hash stands in for randomness, so that every run sees the same."""
    columns = ", ".join(
        f"(hash(i * {index + 3}) % 4000)::DOUBLE / 100 AS {name}"
        for index, name in enumerate(NAMES)
    )
    sql = f"SELECT (hash(i) % {rows // 10})::BIGINT AS person, {columns} FROM range({rows}) t(i)"
    if parquet_alone:
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({sql}) TO '{folder}/rows.parquet' (FORMAT parquet)")
        return
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.execute(f"CREATE TABLE visits AS {sql}")
        connection.execute(f"COPY visits TO '{folder}/rows.parquet' (FORMAT parquet)")
        connection.execute(f"COPY visits TO '{folder}/rows.csv' (HEADER)")
        (folder / "parts").mkdir()
        for part in range(FILES):
            some = f"SELECT * FROM visits WHERE rowid % {FILES} = {part}"
            connection.execute(f"COPY ({some}) TO '{folder}/parts/{part}.parquet' (FORMAT parquet)")


def spec_of(source: str, **data: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "data": {"source": source, **data},
        "privacy": {"unit": "person", "epsilon": 1, "delta": "1e-6"},
        "contribution": {"max_rows": 10, "l2": 60},
        "columns": {name: {"bounds": [0, 30]} for name in NAMES},
        "query": [{"name": "sums", "statistics": [f"sum({name})" for name in NAMES]}],
    }


SOURCES: dict[str, dict[str, Any]] = {
    "Parquet": {"source": "rows.parquet"},
    f"a folder of {FILES} Parquet files": {"source": "parts"},
    "a DuckDB table": {"source": "rows.duckdb", "table": "visits"},
    "CSV": {"source": "rows.csv", "types": {"person": "int", **dict.fromkeys(NAMES, "float")}},
    "a pandas frame": {"source": "<frame>"},
    "a Polars frame": {"source": "<frame>"},
    "a PyArrow table": {"source": "<frame>"},
}


def frame(kind: str, folder: Path) -> Any:
    """The rows in memory, read by the frame's library."""
    path = folder / "rows.parquet"
    if "pandas" in kind:
        import pandas as pd

        return pd.read_parquet(path)
    if "Polars" in kind:
        import polars as pl

        return pl.read_parquet(path)
    import pyarrow.parquet as pq

    return pq.read_table(path)


def most_memory() -> float:
    """The peak memory of this process in MB. A child's rusage would begin at its parent's peak."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # pyright: ignore[reportOptionalSubscript]


def child(kind: str, folder: Path) -> None:
    """Print the time of one round, the memory, and the integers."""
    given = frame_of(frame(kind, folder)) if "<frame>" in SOURCES[kind].values() else None
    before = most_memory()
    spec = parse(spec_of(**SOURCES[kind]))
    start = time.perf_counter()
    layout = lay_out_query(parse_query(spec, spec.query[0]))[0][0]
    source = find_source(spec, folder, given)
    with duckdb_engine.open_engine(source.rows, columns=source.columns) as engine:
        integers = integer_vectors.query_vector(engine, spec, layout, salt="").tolist()
    seconds = time.perf_counter() - start
    print(seconds, most_memory() - before, *integers)


def main() -> None:
    rows = int(sys.argv[1]) if sys.argv[1:] else ROWS
    alone = "parquet" in sys.argv[2:]
    table: list[tuple[str, ...]] = []
    seen: set[tuple[str, ...]] = set()
    with tempfile.TemporaryDirectory() as name:
        make(Path(name), rows, parquet_alone=alone)
        for kind in ["Parquet"] if alone else SOURCES:
            command = [sys.executable, "-m", "benchmarks.bench_sources", "child", kind, name]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds, memory, *integers = done.stdout.split()
            seen.add(tuple(integers))
            table.append((kind, f"{float(seconds):.1f} s", f"{float(memory):,.0f} MB"))
    assert len(seen) == 1, "the sources have other integers"
    print_rows(f"Five sums of {rows:,} rows, ten a person", ("source", "time", "memory"), table)


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2], Path(sys.argv[3]))
    else:
        main()
