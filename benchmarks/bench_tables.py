"""A release's exact sums over 10^7 rows, compared with the same sums in DuckDB SQL.

    python -m benchmarks.bench_tables

Each runs in a separate process, so that their peak memories are separate. Both read the same
Parquet file (about 2·10^6 persons, 3 plans), clamp values, and sum by person and plan. Then they
shrink each person's integers to the most that five rows may add, and sum by plan. Both must give
the same integers. The SQL runs as one query, and with per-person sums in a temporary table, as in
leastnoise. The faster of these two is the peer.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from benchmarks.timing import print_rows
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.rows.duckdb import engine as duckdb_engine
from leastnoise.tables.statistics.registry import parse_query

ROWS, PERSONS, ROUNDS = 10_000_000, 2_000_000, 5
SPEC = """
version = 1
[data]
source = "visits.parquet"
[privacy]
unit = "person"
epsilon = 1
delta = "1e-6"
[contribution]
max_rows = 5
[columns.visits]
bounds = [0, 30]
[[query]]
name = "by_plan"
statistics = ["count", "sum(visits)"]
group_by = { plan = [1, 2, 3] }
"""
BITS = 22  # the bits of the layout of SPEC


def make(folder: Path) -> None:
    """Write the rows; a hash stands in for randomness, so that every run sees the same."""
    with duckdb.connect() as connection:
        connection.execute(
            f"""COPY (SELECT (hash(i) % {PERSONS})::BIGINT AS person,
                             (hash(i + 77) % 3 + 1)::INTEGER AS plan,
                             (hash(i * 31) % 4000)::DOUBLE / 100 AS visits
                      FROM range({ROWS}) t(i))
                TO '{folder}/visits.parquet' (FORMAT parquet)"""
        )


def ours(folder: Path) -> list[int]:
    spec = spec_file.loads(SPEC)
    ((layout,),) = lay_out_query(parse_query(spec, spec.query[0]))
    assert layout.bits == BITS
    result = source.find_source(spec, folder)
    with duckdb_engine.open_engine(result.rows, columns=result.columns) as engine:
        return integer_vectors.query_vector(engine, spec, layout, salt="").tolist()


def by_sql(folder: Path, *, in_two: bool) -> list[int]:
    item = 2**BITS
    limit = most = 5 * item
    per_person = f"""
        SELECT person, plan, least(count(*) * {item}, {most}) AS i0, least(sum(floor(
            least(greatest(CASE WHEN isfinite(visits) THEN visits ELSE 0 END, 0), 30)
            * {item / 30!r}::DOUBLE + 0.5)::BIGINT), {most})::BIGINT AS i1
        FROM '{folder}/visits.parquet'
        WHERE plan IN (1, 2, 3) AND person IS NOT NULL GROUP BY person, plan"""
    totals = f"""
        sizes AS (SELECT person, sum(greatest(abs(i0), abs(i1))::DOUBLE) AS q
                  FROM per_person GROUP BY person),
        over AS (SELECT person, {limit * (1 - 2.0**-40)!r}::DOUBLE / q AS s
                 FROM sizes WHERE q > {limit})
        SELECT sum(CASE WHEN s IS NULL THEN i0 ELSE trunc(i0 * s)::BIGINT END),
               sum(CASE WHEN s IS NULL THEN i1 ELSE trunc(i1 * s)::BIGINT END)
        FROM per_person LEFT JOIN over USING (person) GROUP BY plan ORDER BY plan"""
    with duckdb.connect() as connection:
        if in_two:
            connection.execute(f"CREATE TEMP TABLE per_person AS {per_person}")
            rows = connection.execute(f"WITH {totals}").fetchall()
        else:
            rows = connection.execute(f"WITH per_person AS ({per_person}), {totals}").fetchall()
    return [int(value) for row in rows for value in row]


WAYS = {
    "leastnoise": ours,
    "SQL, one query": lambda folder: by_sql(folder, in_two=False),
    "SQL, temporary table": lambda folder: by_sql(folder, in_two=True),
}


def child(way: str, folder: Path) -> None:
    """Print the time of one round, the peak memory, and the integers."""
    start = time.perf_counter()
    integers = WAYS[way](folder)
    seconds = time.perf_counter() - start
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, *integers)


def main() -> None:
    results: dict[str, list[list[str]]] = {method: [] for method in WAYS}
    with tempfile.TemporaryDirectory() as name:
        make(Path(name))
        for route in list(WAYS) * ROUNDS:  # in turn, so that other work slows all of them
            command = [sys.executable, "-m", "benchmarks.bench_tables", route, name]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            results[route].append(text.split())
    assert len({tuple(run[2:]) for runs in results.values() for run in runs}) == 1, "they differ"
    seconds = {method: sorted(float(run[0]) for run in runs) for method, runs in results.items()}
    medians = {method: times[ROUNDS // 2] for method, times in seconds.items()}
    peaks = {method: max(float(run[1]) for run in runs) for method, runs in results.items()}
    peer = min(median for method, median in medians.items() if method != "leastnoise")
    print_rows(
        f"Bounded sums of {ROWS:,} rows of {PERSONS:,} persons, the same integers each way",
        ("", "best", "median", "median / fastest SQL", "peak memory"),
        [
            (
                method,
                f"{seconds[method][0]:.2f} s",
                f"{medians[method]:.2f} s",
                f"{medians[method] / peer:.2f} (target 1.5)" if method == "leastnoise" else "",
                f"{peaks[method]:.0f} MiB",
            )
            for method in WAYS
        ],
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        child(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
