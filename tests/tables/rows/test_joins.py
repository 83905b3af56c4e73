"""Tables joined to the rows: the same integers as if pandas joined them, and who is protected."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.errors import SourceError, SpecError
from tests.tables.integers import integers

_RANDOM = random.Random(8)
VISITS: Any = pd.DataFrame(
    {
        "who": [_RANDOM.choice([*range(40), None]) for _ in range(400)],
        "place": [_RANDOM.choice(["a", "b", "c", None]) for _ in range(400)],
        "spent": [_RANDOM.uniform(0, 9) for _ in range(400)],
    }
).astype({"who": "Int64"})
PERSONS: Any = pd.DataFrame(
    {
        "who": [*range(3, 36), 10, 11, 11, None],
        "region": [_RANDOM.choice(["north", "south", None]) for _ in range(37)],
        "born": [_RANDOM.choice([1950, 1980, 2010, None]) for _ in range(37)],
    }
).astype({"who": "Int64", "born": "Int64"})
PLACES: Any = pd.DataFrame({"place": ["a", "b", "b", None], "size": [1, 2, 3, 4]})
TYPES = {
    "who": "int",
    "place": "text",
    "spent": "float",
    "region": "text",
    "born": "int",
    "size": "int",
}
QUERIES: list[dict[str, Any]] = [
    {
        "name": "regions",
        "filter": "born < 2000",
        "statistics": ["count", "sum(spent)", "count_units"],
        "group_by": {"region": ["north", "south"]},
    },
    {"name": "sizes", "statistics": ["count"], "group_by": {"size": [1, 2, 3, 4], "old": [True]}},
    {"name": "all", "statistics": ["count"]},
]


def written(folder: Path, name: str, table: Any, kind: str) -> dict[str, Any]:
    """Write a table into a file; return its name for a spec."""
    if kind in {"csv", "parquet"}:
        (table.to_csv if kind == "csv" else table.to_parquet)(
            folder / f"{name}.{kind}", index=False
        )
        return {"source": f"{name}.{kind}"}
    path = folder / f"{name}.{kind}"
    if kind == "duckdb":
        with duckdb.connect(path) as connection:
            connection.register("given", table)
            connection.execute(f"CREATE TABLE {name} AS FROM given")
    else:
        with closing(sqlite3.connect(path)) as connection:
            table.to_sql(name, connection, index=False)
    return {"source": path.name, "table": name}


def raw(visits: dict[str, Any], joins: dict[str, Any], **changes: Any) -> dict[str, Any]:
    types = {name: kind for name, kind in TYPES.items() if name != "size" or "persons" not in joins}
    types |= {"size": "int"} if "places" in joins else {}
    return {
        "version": 1,
        "data": visits | {"join": joins, "types": types},
        "privacy": {"unit": "who", "epsilon": 1, "delta": "1e-6"},
        "contribution": {"max_rows": 3, "max_groups": 2},
        "columns": {"spent": {"bounds": [0, 9]}},
        "derive": {"old": "born < 1970"},
        "query": QUERIES,
    } | changes


def by_hand(visits: Any, persons: Any, places: Any) -> Any:
    """The rows joined by pandas; a key that the table has twice counts as missing."""
    for table, key in ((persons, "who"), (places, "place")):
        once = table[table[key].notna()].drop_duplicates(key, keep=False)
        visits = visits.merge(once, on=key, how="left", validate="many_to_one")
    return visits.astype({"size": "Int64"})


@pytest.mark.dense
@pytest.mark.parametrize(
    ("left", "right"),
    [
        *((kind, kind) for kind in ("csv", "parquet", "duckdb", "sqlite")),
        ("frame", "csv"),
        ("parquet", "duckdb"),
    ],
)
def test_integers_are_those_of_a_table_joined_by_hand(
    tmp_path: Path, left: str, right: str
) -> None:
    joins = {
        "persons": written(tmp_path, "persons", PERSONS, right) | {"on": "who"},
        "places": written(tmp_path, "places", PLACES, right) | {"on": "place", "public": True},
    }
    frame = VISITS if left == "frame" else None
    visits = {"source": ""} if left == "frame" else written(tmp_path, "visits", VISITS, left)
    totals = integers(raw(visits, joins), tmp_path, frame=frame)
    by_hand(VISITS, PERSONS, PLACES).to_parquet(tmp_path / "by_hand.parquet", index=False)
    expected = integers(raw({"source": "by_hand.parquet"}, {}), tmp_path)
    assert totals == expected
    assert all(map(any, totals.values()))


@pytest.mark.dense
@pytest.mark.parametrize("who", [5, 10, 11, 39])
def test_a_person_with_both_rows_moves_no_more_than_a_person_may(tmp_path: Path, who: int) -> None:
    """Persons of one row there, of two and three, and of none."""
    totals: list[dict[str, list[int]]] = []
    for there in (True, False):
        folder = tmp_path / str(there)
        folder.mkdir()
        for name, table in (("visits", VISITS), ("persons", PERSONS)):
            kept = table if there else table[(table["who"] != who).fillna(True)]
            written(folder, name, kept, "parquet")
        joins = {"persons": {"source": "persons.parquet", "on": "who"}}
        queries = [QUERIES[0], QUERIES[2]]
        totals.append(integers(raw({"source": "visits.parquet"}, joins, query=queries), folder))
    moved = {label: np.subtract(totals[0][label], totals[1][label]) for label in totals[0]}
    for label, difference in moved.items():
        bits = 0 if label.startswith("regions.persons") else 28
        most = 2 if label.startswith("regions.persons") else 3
        of_counts = difference[::2] if label.startswith("regions.rows") else difference
        assert abs(of_counts).sum() <= most << bits
    assert any(map(np.any, moved.values()))


Wrong = tuple[dict[str, Any], dict[str, Any], str, str]
"""Changes of a join and of the spec, the key of the spec that is wrong, and the reason."""
_PERSONS = {"source": "persons.parquet", "on": "who"}
_WRONG: list[Wrong] = [
    ({"on": "place"}, {}, "on", "could change what others add. Join by 'who'"),
    ({}, {"privacy": {"unit": "row", "epsilon": 1}, "contribution": None}, "on", "several rows"),
    ({}, {"derive": {"old": "true", "who": "1"}}, "on", "is derived, and joins come before"),
    ({"on": "whom", "public": True}, {}, "on", "persons.parquet has no column 'whom'. Did you"),
    ({"on": "spent", "public": True}, {}, "on", "persons.parquet has no column 'spent'"),
    ({"source": "<frame>"}, {}, "source", "A frame can't be joined"),
    ({"source": "persons.ods"}, {}, "source", "Expected a file ending in"),
    ({"source": "persons.duckdb"}, {}, "table", "a database needs the name of a table"),
    ({"encoding": "latin-1"}, {}, "encoding", "Used with CSV files only"),
    ({"how": "inner"}, {}, "how", "Unknown key"),
]


@pytest.mark.parametrize("wrong", _WRONG)
def test_what_does_not_keep_the_guarantee_is_refused(tmp_path: Path, wrong: Wrong) -> None:
    join, change, key, why = wrong
    visits = written(tmp_path, "visits", VISITS, "parquet")
    written(tmp_path, "persons", PERSONS, "parquet")
    given = raw(visits, {"persons": _PERSONS | join}, **change)
    with pytest.raises(SpecError) as caught:
        integers(given, tmp_path)
    assert any(
        where == f"data.join.persons.{key}" and why in message
        for where, message in caught.value.problems
    )


def test_spark_reads_no_join(tmp_path: Path) -> None:
    given = raw({"source": "visits.parquet"}, {"persons": _PERSONS})
    with pytest.raises(SpecError, match=r"data\.join: Spark sources can.t have joins"):
        integers(given, tmp_path, engine="spark")


def test_a_column_of_two_tables_is_neither_of_them(tmp_path: Path) -> None:
    visits = written(tmp_path, "visits", VISITS.assign(region="x"), "parquet")
    written(tmp_path, "persons", PERSONS, "parquet")
    with pytest.raises(SpecError, match=r"is both in visits\.parquet and in persons\.parquet"):
        integers(raw(visits, {"persons": _PERSONS}, derive={}, query=QUERIES[:1]), tmp_path)
    unused = {"query": QUERIES[2:], "derive": {}}
    given = raw(visits, {"persons": _PERSONS}, **unused)
    given["data"]["types"] = {}
    integers(given, tmp_path)


def test_a_joined_table_without_types_needs_them(tmp_path: Path) -> None:
    given = raw(written(tmp_path, "visits", VISITS, "parquet"), {"persons": _PERSONS})
    given["data"]["join"] = {
        "persons": written(tmp_path, "persons", PERSONS, "csv") | {"on": "who"}
    }
    given |= {"query": QUERIES[:1], "derive": {}}
    given["data"]["types"] = {"who": "int", "region": "text"}
    with pytest.raises(SpecError, match=r"'born' of persons\.csv has no type"):
        integers(given, tmp_path)


@pytest.mark.dense
def test_a_release_says_what_is_joined_and_quotes_nothing(tmp_path: Path) -> None:
    visits = written(tmp_path, "visits", VISITS, "parquet")
    written(tmp_path, "persons", PERSONS, "parquet")
    given = raw(visits, {"persons": _PERSONS}, output={"path": "out"}, query=QUERIES[:1])
    given["data"]["types"] = {}
    del given["version"]
    release = ln.Release(**given, folder=tmp_path)
    sentences = release.plan().to_record()["noisy_parts"][0]["joined"]
    (sentence,) = sentences
    assert sentence.endswith("Rows of persons are protected as part of their who's data.")
    release.run()
    assert ln.verify_directory(tmp_path / "out")
    assert ln.Release.from_toml(tmp_path / "out/spec.toml").spec == release.spec
    (tmp_path / "persons.parquet").write_bytes(b"PAR1 Ada Lovelace PAR1")
    with pytest.raises(SourceError) as caught:
        release.plan()
    assert "Ada" not in str(caught.value)
