"""No value in a file is an error: its column's type is refused, or the value is missing.

The tests combine all types of Parquet, all types that a spec can declare, and all uses of a column.
Refusals follow from the schema, before anything is charged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leastnoise.errors import SpecError
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.rows.frames import frame_of
from leastnoise.tables.spec.source import IN_MEMORY
from leastnoise.tables.spec.values import MAX_TEXT
from leastnoise.tables.statistics.registry import parse_query
from tests.tables import hostile
from tests.tables.reference import SALT

COLUMNS = hostile.columns()
MOST = max(len(column) for column in COLUMNS.values())
# DuckDB takes the last bits of an Arrow decimal past its digits: some number, of that row alone.
DIFFERENT = {"decimal_20_1", "decimal_18_4", "decimal_9_2", "decimal_5_0"}
DECLARED = [None, "int", "float", "text", "bool"]
WHOLE = ("int", "uint", "float", "decimal_", "duration", "text", "large_text", "dictionary", "bool")
REFUSED = ("timestamp", "time_", "list", "struct", "map", "json", "decimal256")
# Those that were errors once, and one that wasn't; the whole product takes minutes.
QUICK = {"decimal_38_10", "decimal_20_1", "timestamp_ms", "time_us", "json", "list", "text"}
NAMES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in COLUMNS]


IN_FRAMES = [
    pytest.param(name, marks=() if name == "text" else pytest.mark.slow) for name in COLUMNS
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file with all columns; each begins with NULLs, and its last row is the good one."""
    directory = tmp_path_factory.mktemp("hostile")
    table = pa.table(
        {
            name: pa.chunked_array([pa.nulls(MOST - len(column), column.type), column])
            for name, column in COLUMNS.items()
        }
    )
    table = table.append_column("good", pa.array([False] * (MOST - 1) + [True]))
    pq.write_table(table, directory / "rows.parquet")
    return directory


def uses(name: str, declared: str | None) -> list[dict[str, Any]]:
    """A query for each use of a column; the good row adds 1 to the first number of each vector."""
    by_good = {"group_by": {"good": [True, False]}}
    queries: list[dict[str, Any]] = []
    if declared != "text":
        queries.append({"statistics": ["count", f"sum({name})", f"mean({name})"], **by_good})
    if declared not in {"text", "bool"}:
        queries.append({"histogram": {"column": name, "edges": [1, 2, 3]}, **by_good})
        queries.append({"conditions": {"w": {"good": {"among": [True]}, name: {"min": 1}}}})
    keys: dict[str, Any] = {"int": 1, "text": "1", "bool": True}
    for kind, key in keys.items():
        if declared in {None, kind}:
            both = {"group_by": {name: [key], "good": [True]}}
            queries.append({"statistics": ["count"], **both})
            queries.append(
                {"conditions": {"w": {"good": {"among": [True]}, name: {"among": [key]}}}}
            )
    return queries


def answers(
    folder: Path,
    name: str,
    declared: str | None,
    queries: list[dict[str, Any]],
    *,
    frame: Any = None,
    **more: Any,
) -> list[list[int]]:
    """The vector of each query that isn't refused, from the file or from a frame."""
    where = "rows.parquet" if frame is None else IN_MEMORY
    raw = {
        "version": 1,
        "data": {"source": where, "types": {name: declared} if declared else {}},
        "privacy": {"unit": "row", "epsilon": 1, "delta": "1e-6"},
        "query": [{"name": f"q{index}", **query} for index, query in enumerate(queries)],
        **more,
    }
    if any("sum" in str(query) for query in queries):
        raw["columns"] = {name: {"bounds": [0, 1]}}
    spec = spec_file.parse(raw)
    try:
        rows_source = source.find_source(spec, folder, None if frame is None else frame_of(frame))
    except SpecError as error:
        refused = {key.split(".")[0] for key, _ in error.problems}
        left = [item for index, item in enumerate(queries) if f"query[{index}]" not in refused]
        if refused <= {f"query[{index}]" for index in range(len(queries))} and left:
            return answers(folder, name, declared, left, frame=frame, **more)
        return []
    vectors: list[list[int]] = []
    with source.open_engine(rows_source, threads=1) as engine:
        for query in spec.query:
            vectors.append([])
            for layout, *_ in lay_out_query(parse_query(spec, query)):
                vector = integer_vectors.query_vector(engine, spec, layout, salt=SALT)
                vectors[-1] += [int(value) >> layout.bits for value in vector]
    return vectors


@pytest.mark.dense
@pytest.mark.parametrize("declared", DECLARED)
@pytest.mark.parametrize("name", NAMES)
def test_no_value_is_an_error_in_any_use(folder: Path, name: str, declared: str | None) -> None:
    totals = answers(folder, name, declared, uses(name, declared))
    if name.startswith(REFUSED):
        assert totals == []
    elif name.startswith(WHOLE) and declared != "text":
        assert totals
        assert all(vector[0] == 1 for vector in totals)  # which no value beside it disturbs


# DuckDB reads no half floats and wide decimals from an Arrow stream, and durations as intervals.
REFUSED_IN_FRAMES = ("float16", "decimal256", "duration")


@pytest.mark.dense
@pytest.mark.parametrize("declared", DECLARED)
@pytest.mark.parametrize("name", IN_FRAMES)
def test_a_frame_is_read_as_a_file_is(folder: Path, name: str, declared: str | None) -> None:
    """Otherwise its column is refused. No value is an error, in frames read in place or copied."""
    table = pq.read_table(folder / "rows.parquet", columns=["good"])
    column = COLUMNS[name]
    values = pa.chunked_array([pa.nulls(MOST - len(column), column.type), column])
    table = table.append_column(name, values)
    expected = answers(folder, name, declared, uses(name, declared))
    for frame in (table, table.to_reader()):
        totals = answers(folder, name, declared, uses(name, declared), frame=frame)
        if name.startswith(REFUSED_IN_FRAMES):
            assert totals == []
        else:
            assert len(totals) == len(expected)
            assert totals == expected or name in DIFFERENT


@pytest.mark.dense
@pytest.mark.parametrize("declared", [None, "int", "text"])
@pytest.mark.parametrize("name", NAMES)
def test_every_value_is_a_person_or_nobody(folder: Path, name: str, declared: str | None) -> None:
    query = {"statistics": ["count_units", "count"], "group_by": {"good": [True, False]}}
    privacy = {"unit": name, "epsilon": 1, "delta": "1e-6"}
    contribution = {"max_rows": MOST}
    more = {"privacy": privacy, "contribution": contribution}
    for persons, other_persons, rows, other_rows in answers(
        folder, name, declared, [query], **more
    ):
        assert persons == rows == (name != "null")
        assert other_persons <= other_rows < MOST


@pytest.mark.parametrize("beside", ["y", "y?"])
def test_a_text_that_is_too_long_is_nobody(tmp_path: Path, beside: str) -> None:
    """Its length in bytes counts, whether or not a question mark has every text looked at."""
    half = MAX_TEXT // 2
    texts = [beside, "x" * MAX_TEXT, "x" * (MAX_TEXT + 1), "\xe9" * half, "\xe9" * half + "x"]
    pq.write_table(pa.table({"who": texts}), tmp_path / "rows.parquet")
    privacy = {"unit": "who", "epsilon": 1, "delta": "1e-6"}
    more = {"privacy": privacy, "contribution": {"max_rows": 1}}
    query = {"statistics": ["count_units", "count"]}
    assert answers(tmp_path, "who", None, [query], **more) == [[3, 3]]
