"""Hostile values in CSV and Parquet files: no outcome depends on what the rows hold.

An outcome is an error's kind and message, or the reported stages with the names, keys and number of
published rows. It must be that of a file with the same columns and harmless values.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from tests.attacks import releases
from tests.attacks.guard import PARTS, Guard

Case = dict[str, Any]

IN_ONE = 10  # hostile values of a case
_HEAVY = 0.004  # part of the cases with megabytes
_SPEC = """version = 1
data = {{ source = "rows.{kind}"{types} }}
privacy = {{ unit = "person", epsilon = "1" }}
contribution = {{ max_rows = 2 }}
columns = {{ x = {{ bounds = [0, 9] }} }}
query = [{{ name = "n", statistics = ["count", "mean(x)"], group_by = {{ plan = {keys} }} }}]
"""
_FIELDS = (
    b"\xff", b"\x00", b'"', b'""', b'"a', b'a"b"', b"\x1f", b"\r", b"\n", b"\r\n", b",,,,,,,",
    b"nan", b"-inf", b"1e999999", b"-", b"0x10", b"1_0", b"9" * 400, b"1." + b"0" * 5000, b" 1 ",
    b"\xef\xbb\xbf1", "\u0661".encode(), b"\xed\xa0\x80", b"2020-01-01", b"true", b"'; DROP TABLE",
    b"9223372036854775808", b"-9223372036854775809", b"1e308", b"5e-324", b"NULL", b"\\N", b"\t",
    b"x" * 200_000, b"," * 140_000, b'"' * 10_001, b"\xf4\x90\x80\x80", b"#", b"1,2,3,4,5",
)  # fmt: skip
_HUGE = (b"," * 2**20, b"x" * 2**20, b"," * (2**20 - 40), b'"' * (2**20 - 1))
_EPOCH = dt.datetime(1970, 1, 1)

# Arrow's types: harmless values, and hostile ones.
_ARROW: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "int64": (pa.int64(), 1, (2**63 - 1, -(2**63), None)),
    "uint64": (pa.uint64(), 1, (2**64 - 1, None)),
    "int8": (pa.int8(), 1, (-128, 127)),
    "float64": (pa.float64(), 1.0, (float("nan"), float("-inf"), 1.8e308 / 2, 5e-324, -0.0)),
    "float16": (pa.float16(), 1.0, (65504.0, float("nan"))),
    "decimal128": (
        pa.decimal128(38, 10),
        Decimal(1),
        (Decimal("9" * 28 + "." + "9" * 10), Decimal("-" + "9" * 28), None),
    ),
    "decimal128 of 0 places": (pa.decimal128(38, 0), Decimal(1), (Decimal("9" * 38),)),
    "decimal256": (pa.decimal256(76, 0), Decimal(1), (Decimal("9" * 76),)),
    "string": (pa.string(), "1", ("", "\x00", "1e999", "9" * 400, "\u0661", "x" * 300_000)),
    "large_string": (pa.large_string(), "1", ("", "nan", "-" * 5000)),
    "binary": (pa.binary(), b"1", (b"\xff", b"\x00", b"")),
    "bool": (pa.bool_(), True, (None, False)),
    "date32": (pa.date32(), dt.date(2000, 1, 1), (dt.date.min, dt.date.max)),
    "date32 far": (pa.date32(), 1, (2**31 - 1, -(2**31))),
    # kept in milliseconds by a Parquet file
    "timestamp[s]": (pa.timestamp("s"), 1, (2**63 // 1000, -(2**63) // 1000 + 1, 2**53)),
    "timestamp[us]": (pa.timestamp("us"), 1, (2**63 - 1, -(2**63))),
    "timestamp[ns]": (pa.timestamp("ns"), 1, (2**63 - 1, -(2**63) + 1)),
    "time64": (pa.time64("us"), 1, (2**63 - 1, -1, 86_400_000_001)),
    "duration": (pa.duration("us"), 1, (2**63 - 1, -1)),
    "list of text": (pa.list_(pa.binary()), [b"1"], ([b"\xff"], None, [])),
    "struct": (pa.struct([("a", pa.int64())]), {"a": 1}, ({"a": None}, None)),
    "null": (pa.null(), None, ()),
}
_ROLES = ("person", "plan", "x", "unused")
_USUAL = {"person": "int64", "plan": "int64", "x": "float64", "unused": "int64"}


def draw_case(random: Random) -> Case:
    if random.random() < 0.5:
        values = _HUGE if random.random() < _HEAVY / 0.5 else _FIELDS
        fields = [
            (
                random.randrange(40),
                random.randrange(4),
                random.choice(values),
                random.random() < 0.3,
            )
            for _ in range(60 if values is _HUGE else IN_ONE)
        ]
        return {"kind": "csv", "fields": fields}
    role = random.choice(_ROLES)
    stored = random.choice([*_ARROW])
    return {
        "kind": "parquet",
        "held": _USUAL | {role: stored},
        "declared": {role: random.choice(("int", "float", "text", "bool", ""))},
        "values": [(random.randrange(40), role, random.random()) for _ in range(IN_ONE)],
        "not utf8": random.random() < 0.3,
    }


def attack(case: Case) -> None:
    if case["kind"] == "csv":
        result, wanted = _outcome_csv(tuple(case["fields"])), _harmless_csv()
    else:
        declared = tuple(case["declared"].items())
        wanted = _harmless_parquet(tuple(case["held"].items()), declared)
        result = _outcome_parquet(case["held"], dict(declared), case["values"], case["not utf8"])
    assert result == wanted, f"{result!r} where harmless values give {wanted!r}"


@cache
def _harmless_csv() -> Any:
    return _outcome_csv(())


def _outcome_csv(fields: tuple[tuple[int, int, bytes, bool], ...]) -> Any:
    rows = [[b"%d" % (i // 2), b"%d" % (i % 3), b"1.5", b"1"] for i in range(40)]
    for row, column, value, inserted in fields:
        old = rows[row][column]
        rows[row][column] = old[:1] + value + old[1:] if inserted else value
    folder = Path(tempfile.mkdtemp())
    lines = (b",".join(row) for row in rows)
    (folder / "rows.csv").write_bytes(b"person,plan,x,unused\n" + b"\n".join(lines) + b"\n")
    types = ', types = { person = "int", plan = "int", x = "float" }'
    return _outcome(folder, kind="csv", types=types, keys="[1, 2]")


@cache
def _harmless_parquet(held: tuple[tuple[str, str], ...], declared: tuple[Any, ...]) -> Any:
    return _outcome_parquet(dict(held), dict(declared), [], wrong=False)


def _outcome_parquet(
    held: dict[str, str], declared: dict[str, str], values: Any, wrong: bool
) -> Any:
    columns: dict[str, list[Any]] = {name: [_ARROW[held[name]][1]] * 40 for name in _ROLES}
    for row, role, which in values:
        hostile = _ARROW[held[role]][2]
        if hostile:
            columns[role][row] = hostile[int(which * len(hostile))]
    arrays = {name: pa.array(columns[name], _ARROW[held[name]][0]) for name in _ROLES}
    for name, array in arrays.items():
        if wrong and values and pa.types.is_string(array.type):
            arrays[name] = _not_utf8(array)
        if pa.types.is_list(array.type):  # of texts, whatever their bytes
            text = pa.Array.from_buffers(pa.string(), len(array.values), array.values.buffers())
            arrays[name] = pa.ListArray.from_arrays(array.offsets, text)
    folder = Path(tempfile.mkdtemp())
    pq.write_table(pa.table(arrays), folder / "rows.parquet", use_dictionary=wrong)
    stated = ", ".join(f'{name} = "{kind}"' for name, kind in declared.items() if kind)
    types = f", types = {{ {stated} }}" if stated else ""
    keys = {"text": '["1", "2"]', "bool": "[true, false]"}
    plan = declared.get("plan") or {"string": "text", "bool": "bool"}.get(held["plan"], "")
    return _outcome(folder, kind="parquet", types=types, keys=keys.get(plan, "[1, 2]"))


def _not_utf8(array: Any) -> Any:
    texts = [None if item is None else item.encode() + b"\xff" for item in array.to_pylist()]
    raw = pa.array(texts, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())


def _outcome(folder: Path, **spec: str) -> Any:
    """Return all that a release lets be seen, beside the noisy numbers."""
    releases.plan_once()
    (folder / "spec.toml").write_text(_SPEC.format(**spec))
    stages: list[str] = []
    try:
        result = ln.Release.from_toml(folder / "spec.toml").run(progress=stages.append)
    except ln.errors.LeastnoiseError as error:
        return type(error).__name__, str(error).replace(str(folder), "")
    tables = [(name, list(t.columns), t.columns["plan"]) for name, t in result.tables.items()]
    return [stage for stage in stages if not stage.startswith("Finding")], tables


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("files", part)
