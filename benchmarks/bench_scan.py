"""Several queries in one release compared with one, and exact integers compared with DuckDB SQL.

    python -m benchmarks.bench_scan

10^7 rows of 2·10^6 persons in a Parquet file, on one core, in CPU seconds. Each run is a separate
process. The limit is five rows per person, which two of five persons exceed, or twelve, which one
of five hundred exceeds. The SQL computes the same sums without limits, which is less work, unless
its title says otherwise.
"""

from __future__ import annotations

import itertools
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from benchmarks.timing import print_rows
from leastnoise.tables.answers.kinds import lay_out_query, lay_out_ranks
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.statistics.registry import parse_query

ROWS, PERSONS, ROUNDS = 10_000_000, 2_000_000, 3
KEYS = {"plan": 3, "region": 20, "month": 12, "age": 5}
SPEC = """
version = 1
[data]
source = "visits.parquet"
[privacy]
unit = "{unit}"
epsilon = 100
delta = "1e-6"
"""
MEAN = '["count", "sum(v{place})"]'
QUANTILES = '["quantile(v0, 0.25)", "quantile(v0, 0.5)"]'
GROUPS = (["plan"], ["region"], ["month"], ["age"], ["plan", "age"])
Query = tuple[str, list[str]]
"""The statistics, and the columns of the groups."""

SUMS: dict[str, list[Query]] = {
    "1 query": [(MEAN.format(place=0), ["plan"])],
    "15 queries": [(MEAN.format(place=index % 8), ["plan"]) for index in range(15)],
    "50 queries": [(MEAN.format(place=index % 8), ["plan"]) for index in range(50)],
    "15 queries, five groupings": [
        (MEAN.format(place=index % 8), GROUPS[index % 5]) for index in range(15)
    ],
}
VALUE = "sum(floor(least(greatest(CASE WHEN isfinite(v0) THEN v0 END, 0), 30) * 1e6 + .5)::BIGINT)"
BY_SQL: dict[str, tuple[str, Query, str]] = {
    "rows by 20 groups": (
        "row",
        (MEAN.format(place=0), ["region"]),
        f"SELECT region, count(*), {VALUE} FROM rows WHERE region < 20 GROUP BY region",
    ),
    "count_units by 3 groups": (
        "person",
        ('["count_units"]', ["plan"]),
        """SELECT plan, count(*) FROM (SELECT DISTINCT person, plan FROM rows WHERE plan < 3
        AND person IS NOT NULL) GROUP BY plan""",
    ),
    "two quantiles of persons": (
        "person",
        (QUANTILES, []),
        "SELECT quantile_disc(v0, [.25, .5]) FROM rows WHERE person IS NOT NULL",
    ),
    "two quantiles of persons, SQL with max_rows = 5": (
        "person",
        (QUANTILES, []),
        """WITH counted AS (SELECT person, least((v0 / .4 + .5)::INTEGER, 100) AS cell FROM rows
        WHERE person IS NOT NULL), over AS (SELECT person, floor(5 * 2.0**20 / count(*)) AS part
        FROM counted GROUP BY person HAVING count(*) > 5)
        SELECT cell, sum(coalesce(part, 2.0**20)) FROM counted LEFT JOIN over USING (person)
        GROUP BY cell""",
    ),
}


def make(folder: Path) -> None:
    """Write the rows; a hash stands in for randomness, so that every run sees the same."""
    keys = [
        f"(hash(i + {index}) % {count})::INTEGER AS {name}"
        for index, (name, count) in enumerate(KEYS.items(), 77)
    ]
    values = [f"(hash(i * 31 + {index}) % 4000)::DOUBLE / 100 AS v{index}" for index in range(8)]
    with duckdb.connect() as connection:
        connection.execute(
            f"""COPY (SELECT (hash(i) % {PERSONS})::BIGINT AS person, {", ".join(keys + values)}
                FROM range({ROWS}) t(i)) TO '{folder}/visits.parquet' (FORMAT parquet)"""
        )


def ours(folder: Path, queries: list[Query], unit: str, most: int) -> None:
    text = SPEC.format(unit=unit)
    text += f"[contribution]\nmax_rows = {most}\n" if unit == "person" else ""
    grid = "candidates = { from = 0, to = 40, step = 0.4 }\n"
    for index in range(8):
        text += f"[columns.v{index}]\nbounds = [0, 30]\n{grid if index == 0 else ''}"
    for index, (statistics, names) in enumerate(queries):
        by = ", ".join(f"{name} = {list(range(KEYS[name]))}" for name in names)
        text += f'[[query]]\nname = "q{index}"\nstatistics = {statistics}\n'
        text += f"group_by = {{ {by} }}\n" if by else ""
    spec = spec_file.loads(text)
    layouts = [ways[0] for query in spec.query for ways in lay_out_query(parse_query(spec, query))]
    ranks = (lay_out_ranks(parse_query(spec, query)) for query in spec.query)
    layouts += [item.histogram for item in itertools.chain(*ranks)]
    with source.open_engine(source.find_source(spec, folder), threads=1) as engine:
        integer_vectors.query_vectors(engine, spec, layouts, salt="")


def by_sql(folder: Path, query: str) -> None:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(f"CREATE VIEW rows AS FROM '{folder}/visits.parquet'")
        connection.execute(query).fetchall()


def child(what: str, most: int, folder: Path) -> None:
    """Print the CPU time of one round, and the peak memory."""
    start = time.process_time()
    if what in SUMS:
        ours(folder, SUMS[what], "person", most)
    else:
        unit, query, sql = BY_SQL[what]
        if most:
            ours(folder, [query], unit, most)
        else:
            by_sql(folder, sql)
    print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def measure(what: str, most: int, folder: str) -> tuple[float, float]:
    """The least CPU time of all rounds, and the peak memory; with `most` = 0 of the SQL query."""
    command = [sys.executable, "-m", "benchmarks.bench_scan", what, str(most), folder]
    runs = [
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        for _ in range(ROUNDS)
    ]
    return min(float(run[0]) for run in runs), max(float(run[1]) for run in runs)


def main() -> None:
    together: list[tuple[str, ...]] = []
    beside: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder))
        for most in (5, 12):
            item, _ = measure("1 query", most, folder)
            for what in SUMS:
                seconds, memory = measure(what, most, folder)
                numbers = (f"{seconds:.2f} s", f"{seconds / item:.2f}", f"{memory:.0f} MiB")
                together.append((what, str(most), *numbers))
        for what in BY_SQL:
            sql, _ = measure(what, 0, folder)
            for most in (5, 12):
                seconds, memory = measure(what, most, folder)
                numbers = (f"{seconds:.2f} s", f"{sql:.2f} s", f"{seconds / sql:.2f}")
                beside.append((what, str(most), *numbers, f"{memory:.0f} MiB"))
    print_rows(
        f"Queries of one release, {ROWS:,} rows of persons, CPU seconds",
        ("", "max_rows", "CPU", "of one query", "peak memory"),
        together,
    )
    print_rows(
        f"Exact integers beside DuckDB SQL, {ROWS:,} rows, CPU seconds",
        ("", "max_rows", "leastnoise", "SQL", "ratio", "peak memory"),
        beside,
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        child(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
    else:
        main()
