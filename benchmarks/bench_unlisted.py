"""Exact counts of unlisted groups in 10^7 rows, compared with the same aggregation in DuckDB.

    python -m benchmarks.bench_unlisted

The Parquet file has 8,571 codes in a long tail, and 2·10^6 persons. There are counts and sums with
rows as units, and counts of rows for persons with at most five rows in three groups, which a hash
chooses. Each run is a separate process on all cores, and its CPU seconds are the sum over all
threads. All ways must give the same integers, except the way with DuckDB's hash, which chooses
other rows.
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
from leastnoise.tables.rows import exact, source
from leastnoise.tables.rows.duckdb import engine as duckdb_engine
from leastnoise.tables.rows.duckdb.inputs import Input
from leastnoise.tables.statistics.registry import parse_query

ROWS, PERSONS, CODES, ROUNDS = 10_000_000, 2_000_000, 8_571, 3
SALT = "5a" * 32
SPEC = """
version = 1
[data]
source = "visits.parquet"
[privacy]
unit = "{unit}"
epsilon = 1
delta = "1e-6"
[columns.income]
bounds = [0, 65536]
[[query]]
name = "by_code"
statistics = {statistics}
group_by = {{ code = {{ keys = "private", longest = 16 }} }}
"""
LIMITS = "[contribution]\nmax_rows = 5\nmax_groups = 3\n"


def make(folder: Path) -> None:
    """Write the rows; a hash stands in for randomness, so that every run sees the same."""
    with duckdb.connect() as connection:
        connection.execute(
            f"""COPY (SELECT 'P' || lpad(floor({CODES} * pow(hash(i) / 2.0**64, 3))::INT::VARCHAR,
                                         5, '0') AS code,
                             (hash(i + 77) % {PERSONS})::BIGINT AS person,
                             (hash(i * 31) % 8000000)::DOUBLE / 100 AS income
                      FROM range({ROWS}) t(i))
                TO '{folder}/visits.parquet' (FORMAT parquet)"""
        )


def ours(folder: Path, unit: str, statistics: str) -> list[tuple[object, ...]]:
    limits = "" if unit == "row" else LIMITS
    spec = spec_file.loads(SPEC.format(unit=unit, statistics=statistics) + limits)
    ((layout,),) = lay_out_query(parse_query(spec, spec.query[0]))
    value = 2**layout.bits
    result = source.find_source(spec, folder)
    assert isinstance(result.rows, Input)
    with duckdb_engine.open_engine(result.rows, columns=result.columns) as engine:
        groups = exact.group_totals(engine, spec, layout, salt=SALT)
    if unit != "row":
        return [(key, rows // value) for _, key, rows, _ in groups]
    return [(key, rows // value, *sums) for _, key, rows, *sums in groups]


def by_sql(folder: Path, question: str, *, own_hash: bool = False) -> list[tuple[object, ...]]:
    rows = f"'{folder}/visits.parquet'"
    if question == "count":
        query = f"SELECT code, count(*) FROM {rows} GROUP BY code"
    elif question == "sum":
        query = f"""SELECT code, count(*), sum(floor(least(greatest(
            CASE WHEN isfinite(income) THEN income END, 0), 65536) * 4096::DOUBLE + .5)::BIGINT)
            FROM {rows} GROUP BY code"""
    else:
        parts = ("person", "code")
        text = ", ".join(f"strlen({p}::VARCHAR), ':', {p}::VARCHAR" for p in parts)
        order = "hash(person, code)" if own_hash else f"sha256(concat('{SALT}', {text}))"
        query = f"""SELECT code, sum(least(n, 5))::BIGINT FROM (
            SELECT code, n, row_number() OVER (PARTITION BY person ORDER BY {order}) AS place FROM
            (SELECT person, code, count(*) AS n FROM {rows} GROUP BY ALL)) WHERE place <= 3
            GROUP BY code"""
    with duckdb.connect() as connection:
        return connection.execute(query).fetchall()


WAYS = {
    "counts of rows": {
        "leastnoise": lambda folder: ours(folder, "row", '["count"]'),
        "SQL": lambda folder: by_sql(folder, "count"),
    },
    "counts and sums of rows": {
        "leastnoise": lambda folder: ours(folder, "row", '["count", "sum(income)"]'),
        "SQL": lambda folder: by_sql(folder, "sum"),
    },
    "rows of persons in 3 groups": {
        "leastnoise": lambda folder: ours(folder, "person", '["count"]'),
        "SQL": lambda folder: by_sql(folder, "persons"),
        "SQL, its own hash": lambda folder: by_sql(folder, "persons", own_hash=True),
    },
}


def child(question: str, way: str, folder: Path) -> None:
    """Print the CPU time of one round, a hash of the integers, and the peak memory."""
    start = time.process_time()
    groups = WAYS[question][way](folder)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(time.process_time() - start, hash(tuple(sorted(map(repr, groups)))), memory)


def main() -> None:
    table: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as name:
        make(Path(name))
        for question, ways in WAYS.items():
            runs: dict[str, list[list[str]]] = {method: [] for method in ways}
            for route in (
                list(ways) * ROUNDS
            ):  # in turn, so that other work on the machine slows all
                command = [sys.executable, "-m", "benchmarks.bench_unlisted", question, route, name]
                done = subprocess.run(
                    command, check=True, capture_output=True, text=True, env={"PYTHONHASHSEED": "0"}
                )
                runs[route].append(done.stdout.split())
            same = {
                run[1] for method, these in runs.items() if "own" not in method for run in these
            }
            assert len(same) == 1, "they differ"
            medians = {
                method: sorted(float(item[0]) for item in these)[ROUNDS // 2]
                for method, these in runs.items()
            }
            peer = min(median for method, median in medians.items() if method != "leastnoise")
            memory = {
                method: max(float(item[2]) for item in these) for method, these in runs.items()
            }
            table += [
                (
                    question,
                    method,
                    f"{seconds:.2f} s",
                    f"{seconds / peer:.2f}",
                    f"{memory[method]:.0f} MiB",
                )
                for method, seconds in medians.items()
            ]
    print_rows(
        f"Exact integers of groups that nobody listed, {ROWS:,} rows",
        ("", "", "median CPU", "of the fastest SQL", "peak memory"),
        table,
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        child(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
    else:
        main()
