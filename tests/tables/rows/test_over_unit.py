"""Functions over a person's rows, from every container, and where they are refused."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import leastnoise as ln
from leastnoise.errors import SpecError
from leastnoise.tables.expressions.language import parse
from leastnoise.tables.expressions.tree import columns_of
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import source
from leastnoise.tables.rows.frames import frame_of
from tests.tables.containers import IN_CSV, as_read, containers, hostile_rows
from tests.tables.expressions.histories import TYPES, UNIT, History, random_history
from tests.tables.expressions.rows import Row
from tests.tables.expressions.test_over_unit import KINDS


def compare_histories(seed: object, folder: Path, only: Sequence[str] = (), **data: Any) -> None:
    """Raise AssertionError where a container has other values over a unit than plain Python.

    All columns are read, since they break ties. `data` names another engine, which reads Parquet.
    """
    rng = random.Random(str(seed))
    in_csv = rng.random() < 0.4
    names = [*(IN_CSV if in_csv else TYPES)]
    rows = [row | {UNIT: rng.choice([None, 1, 1, 2, 3, 3, 2**40])} for row in hostile_rows(rng)]
    for row in rows:
        row["a"] = as_read(row)["a"]
    rows += [dict(rng.choice(rows)) for _ in range(len(rows) // 4)]
    histories = [_draw_values(rng, names) for _ in range(8)]
    spec: dict[str, Any] = {
        "version": 1,
        "privacy": {"unit": UNIT, "epsilon": 1},
        "contribution": {"max_rows": 1},
        "derive": {f"z{position}": history.text for position, history in enumerate(histories)},
        "query": [{"name": "z", "statistics": [f"count(z{position})" for position in range(8)]}],
    }
    read = [f"count({name})" for name in names if name != "at"]
    spec["query"].append({"name": "all", "statistics": read})
    if "at" in names:
        spec["query"].append({"name": "at", "statistics": ["count"], "filter": "at is null"})
    seen = [{name: as_read(row)[name] for name in (UNIT, *names)} for row in rows]
    for container in containers(rows, folder):
        if container.name == "csv" and not in_csv:
            continue
        if (data and not container.parquet) or (only and container.name not in only):
            continue
        parsed = spec_file.parse(spec | {"data": {**container.data, **data}})
        frame = None if container.frame is None else frame_of(container.frame)
        with source.open_engine(source.find_source(parsed, folder, frame)) as engine:
            columns = [engine.column(UNIT, "u")]
            for index, history in enumerate(histories):
                use = "v" if history.type in {"int", "float"} else "k"
                columns.append(engine.column(f"z{index}", use))
            results = engine.rows(engine.frame.select(*columns))
        for index, history in enumerate(histories, 1):
            values = Counter((row[0], row[index]) for row in results)
            assert values == _counted(history, seen), f"{container.name}: {history.text}"


def _draw_values(rng: random.Random, names: Sequence[str]) -> History:
    while True:
        history = random_history(rng, rng.choice(KINDS))
        tree = parse(history.text, TYPES)
        if tree.type != "null" and set(columns_of(tree)) <= set(names):
            return history


def _counted(history: History, rows: Sequence[Row]) -> Counter[Any]:
    total: Counter[Any] = Counter()
    for unit in {row[UNIT] for row in rows}:
        theirs = [row for row in rows if row[UNIT] == unit]
        values = [None] * len(theirs) if unit is None else history.values(theirs)
        total += Counter(
            (unit, value.isoformat() if isinstance(value, date) else value) for value in values
        )
    return total


@pytest.mark.dense
@pytest.mark.parametrize("seed", range(4))
def test_values_over_a_unit_are_the_same_in_every_container(tmp_path: Path, seed: int) -> None:
    compare_histories(seed, tmp_path)


ROWS = pl.DataFrame({"who": [1, 1, 2], "day": [date(2024, 1, n) for n in (3, 1, 2)]})


def release(**changes: Any) -> ln.Release:
    given: dict[str, Any] = {
        "data": ROWS,
        "privacy": {"unit": "who", "epsilon": 1000},
        "contribution": {"max_rows": 5},
        "query": [{"name": "q", "statistics": ["count"], "round": True}],
    }
    return ln.Release(**(given | changes))


def test_a_window_reads_its_rows_once(tmp_path: Path) -> None:
    """DuckDB would compute such a window by a join of the rows with themselves."""
    ROWS.write_parquet(tmp_path / "rows.parquet")
    derive = {"n": "count() over who", "first_day": "min(day) over who"}
    query = [{"name": "q", "statistics": ["count"], "group_by": {"n": [1, 2]}}]
    spec = release(data={"source": str(tmp_path / "rows.parquet")}, derive=derive, query=query).spec
    with source.open_engine(source.find_source(spec, tmp_path)) as engine:
        plan = engine.frame.to_native().explain()
    assert plan.count("READ_PARQUET") == 1


_SERIES = {
    "privacy": {"unit": "who", "epsilon": 1, "ledger": {"path": "a.ledger"}},
    "derive": {"n": "count() over who"},
}
_REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"derive": {"n": "count() over day"}}, "derive.n", "Write over who, the unit"),
    ({"derive": {"n": "count() over (partition by day)"}}, "derive.n", "Write over who"),
    ({"data": {"source": ROWS, "filter": "count() over day > 1"}}, "data.filter", "over day looks"),
    (
        {
            "derive": {"n": "count() over who"},
            "privacy": {"unit": "row", "epsilon": 1},
            "contribution": None,
        },
        "derive.n",
        'Write the column of persons as the unit, such as [privacy] unit = "who", and their',
    ),
    (
        _SERIES | {"series": {"releases": 3, "each": "person in one release", "report": "who"}},
        "derive.n",
        "but each in [series] protects those in one release. Leave each out",
    ),
    (
        _SERIES | {"series": {"releases": 3, "max_releases": 2}},
        "derive.n",
        "but max_releases in [series] protects those in some. Leave max_releases out",
    ),
    (
        {
            "privacy": {"unit": "person", "epsilon": 1},
            "derive": {"n": "count() over person", "person": "who + 1"},
        },
        "derive.n",
        "'person' is derived, too, and has to stand above",
    ),
    (
        {
            "privacy": {"unit": "person", "epsilon": 1},
            "derive": {"person": "count() over person"},
        },
        "derive.person",
        "'person' is derived, too, and has to stand above",
    ),
]


@pytest.mark.parametrize(("changes", "key", "why"), _REFUSED)
def test_values_over_other_rows_are_refused_before_a_row_is_read(
    changes: dict[str, Any], key: str, why: str
) -> None:
    with pytest.raises(SpecError) as caught:
        release(**changes)
    assert any(at == key and why in text for at, text in caught.value.problems)


def test_a_derived_unit_has_a_history() -> None:
    columns = (
        release(
            privacy={"unit": "household", "epsilon": 1000},
            derive={"household": "who - 1 + 0 * who", "n": "count() over household"},
            query=[
                {"name": "q", "statistics": ["count"], "group_by": {"n": [1, 2]}, "round": True}
            ],
        )
        .run()
        .tables["q"]
        .columns
    )
    assert columns["count"] == [1, 2]


def test_a_sql_query_may_ask_for_first_visits() -> None:
    sql = "select count(*) from data where row_number() over (partition by WHO order by day) = 1"
    query = [{"name": "q", "sql": sql, "round": True}]
    assert release(query=query).run().tables["q"].columns["count"] == [2]


def test_persons_with_long_numbers_are_distinct(tmp_path: Path) -> None:
    """Float64 can't tell these two persons apart."""
    who = [2**53, 2**53 + 1, 2**53 + 1, 2**62]
    rows = pl.DataFrame({"who": who, "day": ["a", "b", "c", "d"]})
    query = [{"name": "q", "statistics": ["count"], "group_by": {"n": [1, 2, 3]}, "round": True}]
    columns = release(data=rows, derive={"n": "count() over who"}, query=query).run().tables["q"]
    assert columns.columns["count"] == [2, 2, 0]


def test_a_release_with_a_history_is_verified(tmp_path: Path) -> None:
    derive = {"n": "count() over who", "number": "row_number(by = day) over who"}
    query = [{"name": "q", "filter": "number = 1", "statistics": ["count"], "group_by": {"n": [1]}}]
    built = release(
        derive=derive, query=query, folder=tmp_path, output={"path": "out", "format": "csv"}
    )
    built.run()
    assert ln.verify_directory(tmp_path / "out")
    assert ln.Release.from_toml(tmp_path / "out/spec.toml").spec == built.spec
