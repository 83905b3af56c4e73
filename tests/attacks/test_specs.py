"""Broken specs are planned, or refused with the reason; they never cause an internal error."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tomli_w

import leastnoise as ln
from leastnoise.cli.main import main
from tests.attacks import edits
from tests.attacks.guard import PARTS, Guard

Case = tuple[str, tuple[Any, ...], float]

_CSV = "person,plan,x,row\n1,1,2.5,1\n2,1,3,2\n"
_TYPES = {"person": "int", "plan": "int", "x": "float"}
_COLUMNS = {"x": {"bounds": [0, 9], "missing": 1}}
# With δ = 0 few families serve, so that planning what is still right takes no time.
_BASES: dict[str, dict[str, Any]] = {
    "rows": {
        "version": 1,
        "data": {"source": "rows.csv", "types": _TYPES},
        "privacy": {"unit": "row", "neighbours": "add-remove", "epsilon": "1", "delta": "0"},
        "columns": _COLUMNS,
        "query": [
            {
                "name": "n",
                "importance": 2,
                "statistics": ["count", "mean(x)"],
                "group_by": {"plan": [1, 2], "x": {"edges": [0, 5, float("inf")]}},
                "accuracy": {"half_width_95": 3, "statistic": "mean(x)"},
                "assume": {"n": 90},
                "round": True,
                "clamp": True,
            }
        ],
        "output": {"path": "out", "format": "csv"},
    },
    "persons": {
        "version": 1,
        "data": {"source": "rows.csv", "types": _TYPES},
        "privacy": {"unit": "person", "neighbours": "replace-one", "epsilon": 1},
        "contribution": {"max_rows": 3},
        "columns": _COLUMNS,
        "query": [
            {
                "name": "h",
                "histogram": {"column": "x", "edges": [0, 1, 5, 9]},
                "accuracy": {"std": 50},
            }
        ],
        "output": {"path": "out"},
    },
    "conditions": {
        "version": 1,
        "data": {"source": "rows.csv", "types": _TYPES},
        "privacy": {
            "unit": "person",
            "epsilon": "0.5",
            "ledger": {"path": "a.ledger", "dataset": "a"},
        },
        "contribution": {"l2": "2.5"},
        "columns": _COLUMNS,
        "query": [
            {
                "name": "w",
                "conditions": {
                    "a": {"x": {"min": 1, "below": 5}},
                    "b": {"plan": {"among": [1, 2]}},
                },
                "max_conditions": 1,
            },
            {"name": "s", "statistics": ["sum(x)", "count_units"]},
        ],
    },
}
_ODD = (
    2, "k", [], [1], True, {}, None, -1, 0, 10**30, 2**63, 1e300, 1e-300, "1e-300", "1e300", "nan",
    float("inf"), float("nan"), "", " ", "\x00", "..", "o/..", "/", "row", "rows.csv", "a" * 5000,
    "count", "mean(x)", "mean()", "sum(person)", [[1]], [{}], {"a": 1}, {"": {}}, [0, 0], [9, 0],
    [1e-300, 1.0000001e-300], [0, 1e300], "1/3", "\u0661", "nowhere.parquet", [1, 1], [True, 1],
    {"file": "rows.csv"}, {"file": "."}, {"file": 1}, {"edges": [0, 5]}, {"edges": [float("inf")]},
)  # fmt: skip


def draw_case(random: Random) -> Case:
    base = random.choice([*_BASES])
    changes = []
    for _ in range(random.choice((1, 1, 2, 3, 4))):
        path, what, value = edits.draw_case(random, _BASES[base])
        if random.random() < 0.5:
            what, value = "set", random.choice(_ODD)
        changes.append((path, what, value))
    return base, tuple(changes), random.random()


def attack(case: Case) -> None:
    base, changes, route = case
    raw = _BASES[base]
    for change in changes:
        with contextlib.suppress(LookupError, TypeError, AttributeError, ValueError):
            raw = edits.changed(raw, change)  # what an earlier change took away is left
    folder = Path(tempfile.mkdtemp())
    (folder / "rows.csv").write_text(_CSV)
    text = _toml(raw)
    if text is None or route < 0.2:
        _call(raw, folder)
    else:
        (folder / "spec.toml").write_bytes(_broken(text, route) if route > 0.95 else text)
        _command(folder / "spec.toml")


def _toml(raw: Any) -> bytes | None:
    try:
        return tomli_w.dumps(raw).encode()
    except (TypeError, ValueError, AttributeError):  # what TOML can't say
        return None


def _broken(text: bytes, way: float) -> bytes:
    """Return the text with a byte inserted; `way` determines the byte and its position."""
    number = int((way - 0.95) * 20 * len(text))
    return text[:number] + bytes([int(way * 1e6) % 256]) + text[number:]


def _call(raw: Any, folder: Path) -> None:
    with contextlib.suppress(ln.errors.LeastnoiseError):
        known = {"version", "data", "privacy", "contribution", "columns", "query", "output"}
        if {"data", "privacy", "query"} <= raw.keys() <= known:  # else Python itself refuses
            ln.Release(**raw, folder=folder).plan()


def _command(spec: Path) -> None:
    stream = io.StringIO()
    sys.argv = ["leastnoise", "release", str(spec), "--plan"]
    with contextlib.redirect_stderr(stream), contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as end:
            code = end.code
    assert code in (0, 1, 2), f"exit {code}: {stream.getvalue()[-300:]}"


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("specs", part)
