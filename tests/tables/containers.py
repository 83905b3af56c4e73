"""The same hostile rows in every container that holds rows: files, folders, databases, frames.

A row means the same in every container, whatever the other rows are. One test compares the exact
integers of random specs before noise: the integers of every container with the integers of plain
Python.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.expressions.language import parse as parse_expression
from leastnoise.tables.expressions.tree import columns_of
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.rows.engine import Engine
from leastnoise.tables.rows.frames import frame_of
from leastnoise.tables.spec.source import IN_MEMORY
from leastnoise.tables.statistics.registry import parse_query
from tests.tables.expressions.oracle import random_expression
from tests.tables.expressions.rows import TYPES, Row, random_rows
from tests.tables.reference import SALT, vector

NAN, INF = float("nan"), float("inf")
_ARROW = {
    "int": pa.int64(),
    "float": pa.float64(),
    "text": pa.string(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "instant": pa.timestamp("us", tz="UTC"),
}
PARQUET = (
    "pyarrow",
    "groups",
    "polars",
    "polars_groups",
    "pandas",
    "duckdb",
    "list",
    "folder",
    "hive",
)
"""The containers that are Parquet files, which Spark reads as well."""
SCHEMA = pa.schema([("who", pa.int64()), *((name, _ARROW[kind]) for name, kind in TYPES.items())])
_NOT_IN_CSV = {"date", "timestamp", "instant"}
IN_CSV = {name: kind for name, kind in TYPES.items() if kind not in _NOT_IN_CSV}
_FILTERS = 6
_FRAME = {
    "version": 1,
    "privacy": {"unit": "who", "epsilon": 1, "delta": "1e-6"},
    "contribution": {"max_rows": 1},
}
Spec = dict[str, Any]


@dataclass(frozen=True)
class Container:
    """Rows in one container: the `data` section of a spec, and the frame if rows are in memory."""

    name: str
    data: Mapping[str, Any]
    frame: Any = None

    @property
    def parquet(self) -> bool:
        """True if Parquet files hold the rows, which Spark reads as well."""
        return self.frame is None and self.name != "csv" and "table" not in self.data

    @property
    def once(self) -> bool:
        """True if an engine may read the rows only once."""
        return self.frame is not None or self.name == "csv"


def hostile_rows(rng: random.Random) -> list[Row]:
    """Random rows with NaN and infinite floats: in single rows, a row group, or nearly all rows."""
    rows = random_rows(rng, rng.choice([1, 7, 40, 120]))
    for name in ("x", "y"):
        kind = rng.randrange(7)
        for index, row in enumerate(rows):
            odd = [(NAN,), (INF, -INF), (NAN, INF, -INF)][min(kind, 2)]
            if kind == 3:  # all of the first row group
                row[name] = NAN if index < 8 else row[name]
            elif kind == 4 or (kind == 5 and index < len(rows) - 1):  # all, or all but the last
                row[name] = NAN
            elif kind == 5:
                row[name] = rng.choice([1.0, -0.0, 1e308])
            elif kind < 3 and rng.random() < 0.4:
                row[name] = rng.choice(odd)
    for row in rows:
        if rng.random() < 0.1:
            row["a"] = rng.choice([2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)])
    return [{"who": position} | row for position, row in enumerate(rows)]


def containers(rows: Sequence[Row], folder: Path) -> Iterator[Container]:
    """Every container with these rows; `folder` is a new one."""
    table = pa.Table.from_pylist(list(rows), SCHEMA)
    frames = _frames(table)
    yield from _parquet(table, frames, folder)
    yield from (Container(name, {"source": IN_MEMORY}, frame) for name, frame in frames.items())
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE stored AS FROM given")
        file = str(folder / "pyarrow.parquet")
        connection.execute(f"CREATE VIEW viewed AS FROM '{file}'")
    for name in ("stored", "viewed"):
        yield Container(f"duckdb {name}", {"source": "rows.duckdb", "table": name})
    wanted = ["who", *IN_CSV]
    (folder / "rows.csv").write_text(
        "\n".join([",".join(wanted), *(_line(row, wanted) for row in rows)]) + "\n"
    )
    types = {"who": "int", **IN_CSV}
    yield Container("csv", {"source": "rows.csv", "types": types})


def _line(row: Row, names: Sequence[str]) -> str:
    texts = []
    for name in names:
        value = row[name]
        quoted = '"' + str(value).replace('"', '""') + '"'
        texts.append("" if value is None else quoted if isinstance(value, str) else repr(value))
    return ",".join(texts)


def _frames(table: pa.Table) -> dict[str, Any]:
    as_pandas = table.to_pandas(types_mapper=pd.ArrowDtype)
    for name in ("x", "y"):  # NumPy's floats: a missing value is NaN
        as_pandas[name] = as_pandas[name].astype("float64")
    as_polars = pl.from_arrow(table)
    return {"arrow": table, "pandas": as_pandas, "polars": as_polars}


def _parquet(table: pa.Table, frames: Mapping[str, Any], folder: Path) -> Iterator[Container]:
    pq.write_table(table, folder / "pyarrow.parquet")
    pq.write_table(table, folder / "groups.parquet", row_group_size=8, write_page_index=True)
    frames["polars"].write_parquet(folder / "polars.parquet")
    frames["polars"].write_parquet(folder / "polars_groups.parquet", row_group_size=8)
    frames["pandas"].to_parquet(folder / "pandas.parquet", index=False)
    with duckdb.connect() as connection:
        connection.register("given", table)
        written = folder / "duckdb.parquet"
        connection.execute(f"COPY given TO '{written}' (FORMAT parquet)")
    names = ["pyarrow", "groups", "polars", "polars_groups", "pandas", "duckdb"]
    yield from (Container(name, {"source": f"{name}.parquet"}) for name in names)
    half = len(table) // 2
    for index, part in enumerate((table[:half], table[half:])):
        for path in (f"part{index}", f"folder/part{index}", f"hive/half={index}/part"):
            file = folder / f"{path}.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(part, file)
    yield Container("list", {"source": ["part0.parquet", "part1.parquet"]})
    yield Container("folder", {"source": "folder"})
    yield Container("hive", {"source": "hive"})


def random_spec(rng: random.Random, *, names: Sequence[str] = tuple(TYPES)) -> tuple[Spec, Any]:
    """A spec of random expressions over these columns, and its derived column in plain Python."""
    filters = [_random(rng, "bool", names) for _ in range(_FILTERS)]
    derived = _random(rng, "number", names)
    queries: list[Spec] = [
        {"name": f"f{index}", "filter": item.text, "statistics": ["count"]}
        for index, item in enumerate(filters)
    ]
    queries += [
        {"name": "derived", "statistics": ["count(z)", "sum(z)"]},
        {"name": "bands", "filter": filters[0].text, "histogram": _BANDS},
        {"name": "ends", "conditions": {"low": {"x": {"max": 1}}, "any": {"x": {"min": -1e300}}}},
    ]
    spec = _FRAME | {
        "derive": {"z": derived.text},
        "columns": {"z": {"bounds": [-1000, 1000]}},
        "query": queries,
    }
    return spec, (filters, derived)


_BANDS = {"column": "x", "edges": [-1000, 0, 1, 1000]}


def _random(rng: random.Random, kind: str, names: Sequence[str]) -> Any:
    """A random valid expression that reads at least one column, and only columns in `names`."""
    while True:
        expression = random_expression(rng, kind, rng.randrange(1, 4))
        columns = columns_of(parse_expression(expression.text, TYPES))
        if columns and set(columns) <= set(names):
            return expression


def as_read(row: Row) -> Row:
    """The row as expressions read it: infinite, NaN, and whole numbers above 2^53 are missing."""
    most = {"float": sys.float_info.max, "int": 2**53}

    def read(name: str, value: Any) -> Any:
        kind = TYPES.get(name)
        odd = kind in most and value is not None and not abs(value) <= most[kind]
        return None if odd else value

    return {name: read(name, value) for name, value in row.items()}


def expected_integers(
    rows: Sequence[Row], spec: Spec, meaning: Any
) -> dict[str, tuple[Any, list[int]]]:
    """For each query its layout, and its integers before noise by plain Python."""
    filters, derived = meaning
    seen = [as_read(row) for row in rows]
    parsed = spec_file.parse(spec | {"data": {"source": "rows.parquet"}})
    results = {}
    for index, (query, raw) in enumerate(zip(parsed.query, spec["query"], strict=True)):
        kept = filters[index] if index < _FILTERS else filters[0] if "histogram" in raw else None
        listed = [
            {"who": row["who"], "x": row["x"], "z": derived.value(row)}
            for row in seen
            if kept is None or kept.value(row) is True
        ]
        frame = pd.DataFrame(listed, columns=["who", "x", "z"], dtype=object)
        layout = lay_out_query(parse_query(parsed, query))[0][0]
        route = layout.bounding.to_record()
        results[raw["name"]] = layout, vector(frame, spec, raw, bits=layout.bits, way=route)
    return results


def found_integers(
    container: Container,
    spec: Spec,
    folder: Path,
    expected: Mapping[str, tuple[Any, list[int]]],
    **data: Any,
) -> dict[str, list[int]]:
    """The integers of each query in this container, by the engine that `data` names."""
    parsed = spec_file.parse(spec | {"data": {**container.data, **data}})
    frame = None if container.frame is None else frame_of(container.frame)
    rows = source.find_source(parsed, folder, frame)
    results: dict[str, list[int]] = {}
    with ExitStack() as stack:
        engine: Engine | None = None
        for name, (layout, _) in expected.items():
            if engine is None or container.once:
                engine = stack.enter_context(source.open_engine(rows))
            results[name] = integer_vectors.query_vector(engine, parsed, layout, salt=SALT).tolist()
        engine = stack.enter_context(source.open_engine(rows))
        layouts = [layout for layout, _ in expected.values()]
        together = integer_vectors.query_vectors(engine, parsed, layouts, salt=SALT)
        assert [item.tolist() for item in together] == [*results.values()], container.name
    return results


def compare(seed: object, folder: Path, only: Sequence[str] = (), **data: Any) -> None:
    """Raise AssertionError if a container has other integers than plain Python.

    With `only`, just the containers of these names are compared. `data` is added to the spec's data
    section, such as another engine, which then reads the Parquet files.
    """
    rng = random.Random(str(seed))
    in_csv = rng.random() < 0.5
    rows = hostile_rows(rng)
    spec, meaning = random_spec(rng, names=tuple(IN_CSV if in_csv else TYPES))
    expected = expected_integers(rows, spec, meaning)
    for container in containers(rows, folder):
        if container.name == "csv" and not in_csv:
            continue
        if (data and not container.parquet) or (only and container.name not in only):
            continue
        result = found_integers(container, spec, folder, expected, **data)
        for index, (name, (_, wanted)) in enumerate(expected.items()):
            what = f"{container.name}: {spec['query'][index]} with {spec['derive']}"
            assert result[name] == wanted, f"{what} gives {result[name]} for {wanted}"


def compare_filters(
    seed: object, folder: Path, count: int, only: Sequence[str] = (), **data: Any
) -> None:
    """Raise AssertionError if a container counts other rows than plain Python for a filter.

    One release of each container has all `count` filters, which is fast where a query is slow.
    `only` and `data` are as for `compare`.
    """
    rng = random.Random(str(seed))
    rows = hostile_rows(rng)
    filters = [_random(rng, "bool", tuple(TYPES)) for _ in range(count)]
    queries = [
        {"name": f"f{index}", "filter": entry.text, "statistics": ["count"]}
        for index, entry in enumerate(filters)
    ]
    spec = _FRAME | {"query": queries}
    seen = [as_read(row) for row in rows]
    wanted = [sum(entry.value(row) is True for row in seen) for entry in filters]
    for container in containers(rows, folder):
        if container.name == "csv" or (data and not container.parquet):
            continue
        if only and container.name not in only:
            continue
        parsed = spec_file.parse(spec | {"data": {**container.data, **data}})
        frame = None if container.frame is None else frame_of(container.frame)
        with source.open_engine(source.find_source(parsed, folder, frame)) as engine:
            stored = [
                nw.when(engine.filter_holds(entry.text))
                .then(1)
                .otherwise(0)
                .sum()
                .alias(f"n{index}")
                for index, entry in enumerate(filters)
            ]
            (result,) = engine.rows(engine.frame.select(*stored))
        for item, passed, number in zip(filters, result, wanted, strict=True):
            assert passed == number, f"{container.name}: {item.text} keeps {passed} of {number}"
