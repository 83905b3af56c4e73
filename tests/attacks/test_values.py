"""Values that a frame's types exclude, and collations: only valid rows count.

At a large epsilon the noise is far below one half, so the true numbers can be read off. The
expected numbers are counted from the texts and numbers that the rows were made of.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import leastnoise as ln
from tests.attacks import releases
from tests.attacks.guard import PARTS, Guard

Case = dict[str, Any]

_KEYS = ["a", "A", "á", "Á", "é", "e\u0301", "ss", "ß", "M", "m"]
_COLLATIONS = ("NOCASE", "NOACCENT", "NOCASE.NOACCENT", "de", "tr", "C")
_BAD_TEXTS = (b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xff" * 40, b"\xf4\x90\x80\x80")
_NUMBERS = ("decimal128", "decimal64", "decimal32", "dictionary", "dictionary of decimals")
_TEXTS = ("string", "large_string", "string_view", "dictionary")
_MADE = ("table", "batch", "reader", "pandas", "pandas texts")
_HALVES = (None, "\ud800", "a\udfff", "\udc80" * 40)  # what pandas' own texts may hold
_FAR = {"decimal128": 10**37, "decimal64": 10**17, "decimal32": 10**8}


def draw_case(random: Random) -> Case:
    most = random.choice((3, 60))  # of few rows all texts may be bad
    rows = [(random.choice(_KEYS), random.randrange(10)) for _ in range(random.randint(1, most))]
    if random.random() < 0.4:
        return {
            "rows": rows,
            "collations": [random.choice(_COLLATIONS) for _ in range(2)],
            "view": random.random() < 0.5,
        }
    return {
        "rows": rows,
        "texts": random.choice(_TEXTS),
        "numbers": random.choice(_NUMBERS),
        "made": random.choice(_MADE),
        "bad": {
            random.randrange(len(rows)): (random.random() < 0.5, random.randrange(1, 90))
            for _ in range(random.randrange(6))
        },
    }


def attack(case: Case) -> None:
    data = _database(case) if "collations" in case else {"source": _frame(case)}
    releases.plan_once()
    result = ln.Release(
        data=data,
        privacy={"unit": "person", "epsilon": 1000},
        contribution={"max_rows": 1},
        columns={"x": {"bounds": [0, 9]}},
        query=[{"name": "q", "statistics": ["count", "sum(x)"], "group_by": {"plan": _KEYS}}],
    ).run()
    columns = result.tables["q"].columns
    read = dict(
        zip(columns["plan"], zip(columns["count"], columns["sum_x"], strict=True), strict=True)
    )
    wanted = _wanted(case)
    for key in _KEYS:
        for value, true in zip(read[key], wanted[key], strict=True):
            assert abs(value - true) < 0.5, f"{key!r}: {value} where the rows have {true}"


def _wanted(case: Case) -> dict[str, tuple[int, int]]:
    result: dict[str, tuple[int, int]] = dict.fromkeys(_KEYS, (0, 0))
    bad: dict[int, tuple[bool, int]] = case.get("bad", {})
    for row, (key, number) in enumerate(case["rows"]):
        text, _ = bad.get(row, (None, 0))
        if text is not True:
            count, total = result[key]
            result[key] = (count + 1, total + (0 if text is False else number))
    return result


def _database(case: Case) -> dict[str, str]:
    """Return a new database's table, in which each two persons differ in capitals only."""
    path = Path(tempfile.mkdtemp()) / "rows.duckdb"
    person, plan = (f"COLLATE {name}" for name in case["collations"])
    with duckdb.connect(str(path)) as connection:
        kinds = ("", "") if case["view"] else (person, plan)
        connection.execute(
            f"CREATE TABLE t (person VARCHAR {kinds[0]}, plan VARCHAR {kinds[1]}, x INTEGER);"
            f"CREATE VIEW v AS SELECT person {person} AS person, plan {plan} AS plan, x FROM t"
        )
        rows = [("pP"[i % 2] + str(i // 2), *row) for i, row in enumerate(case["rows"])]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    return {"source": str(path), "table": "v" if case["view"] else "t"}


def _frame(case: Case) -> Any:
    rows, bad = case["rows"], case["bad"]
    texts = [
        _BAD_TEXTS[bad[i][1] % len(_BAD_TEXTS)] if bad.get(i, (False,))[0] else key.encode()
        for i, (key, _) in enumerate(rows)
    ]
    far = {i: times for i, (text, times) in bad.items() if not text}
    columns = {
        "person": pa.array(range(len(rows)), pa.int64()),
        "plan": _texts(texts, case["texts"]),
        "x": _numbers([number for _, number in rows], far, case["numbers"]),
    }
    table = pa.table(columns)
    if case["made"] == "pandas texts":
        return _pandas(columns).assign(plan=_in_pandas(case))
    if case["made"] == "pandas" and case["texts"] != "string_view":
        return _pandas(columns)
    if case["made"] == "batch":
        return table.to_batches()[0]
    return table.to_reader(7) if case["made"] == "reader" else table


def _pandas(columns: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame({n: pd.arrays.ArrowExtensionArray(c) for n, c in columns.items()})


def _in_pandas(case: Case) -> Any:
    """Return the texts as Python strings, which a column of pandas doesn't check."""
    bad = {i: _HALVES[times % len(_HALVES)] for i, (text, times) in case["bad"].items() if text}
    texts = [bad.get(i, key) for i, (key, _) in enumerate(case["rows"])]
    missing = pd.NA if case["texts"] == "string" else float("nan")
    return pd.array(texts, dtype=pd.StringDtype("python", na_value=missing))


def _texts(texts: list[bytes], kind: str) -> Any:
    if kind == "string_view":
        return pa.array(texts, pa.binary_view()).view(pa.string_view())
    large = kind == "large_string"
    array = pa.array(texts, pa.large_binary() if large else pa.binary())
    array = array.view(pa.large_string() if large else pa.string())
    if kind != "dictionary":
        return array
    return pa.DictionaryArray.from_arrays(pa.array(range(len(texts)), pa.int32()), array)


def _numbers(numbers: list[int], far: dict[int, int], kind: str) -> Any:
    """Return an array of the numbers; those at the positions `far` are invalid for its type."""
    if kind == "dictionary":
        places = [(-1) ** far[i] * (9 + far[i]) if i in far else n for i, n in enumerate(numbers)]
        known = pa.array(range(10), pa.int64())
        return pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), known, safe=False)
    plain = kind if kind in _FAR else "decimal128"
    many = [far[i] * _FAR[plain] // 10 if i in far else n for i, n in enumerate(numbers)]
    wide = {"decimal64": pa.int64(), "decimal32": pa.int32()}.get(plain, pa.decimal128(38, 0))
    array = pa.array(many, wide).view(
        getattr(pa, plain)(4, 0) if plain != "decimal64" else pa.decimal64(12, 0)
    )
    if kind == plain:
        return array
    places = pa.array(range(len(numbers)), pa.int16())
    return pa.DictionaryArray.from_arrays(places, array, safe=False)


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("values", part)
