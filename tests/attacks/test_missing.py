"""Random tables with missing values of all kinds: published numbers treat them as documented.

The budget is so large that the noise is far smaller than the effect of one missing value.
"""

from __future__ import annotations

import csv
import math
import re
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest

import leastnoise as ln
from tests.attacks.guard import PARTS, Guard

Case = dict[str, Any]

_KINDS = {"x": "float", "k": "int", "b": "bool", "t": "text"}
_GAPS: dict[str, tuple[str, ...]] = {
    "x": ("", "nan", "NaN", "inf", "-inf", "1e400", "zz", "1_000", "0x10", "+-1", "NULL", "1,5"),
    "k": ("", "3.7", "nan", "zz", "1e3", "NULL", "0x1"),
    "b": ("", "2", "yess", " true", "NULL", "nan"),
    "t": ("",),
}
_THERE: dict[str, tuple[str, ...]] = {
    "x": ("0", "-0", " 2.5 ", "1e2", "-1e300", ".5", "+7", "1e-320", "40"),
    "k": ("0", "3.0", "-2", "99999999999999999999999", "+4", " 5"),
    "b": ("true", "F", "yes", "0", "1", "N"),
    "t": ("a", "NULL", "nan", " ", "0", "ü"),
}
_NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")
_WHOLE = re.compile(r"\s*[+-]?[0-9]+(\.0*)?\s*")
_BOOLS = {"true": 1, "t": 1, "yes": 1, "y": 1, "1": 1} | {
    "false": 0,
    "f": 0,
    "no": 0,
    "n": 0,
    "0": 0,
}


def draw_case(random: Random) -> Case:
    share = random.choice((0.0, 0.04, 0.3, 1.0))
    low = random.choice((-5, 0, 3))
    bounds = {"x": [low, low + random.choice((1, 40))], "k": [-3, 10], "b": [0, 1]}
    columns: dict[str, Any] = {}
    for name, ends in bounds.items():
        columns[name] = {"bounds": ends}
        if random.random() < 0.7:
            columns[name]["missing"] = random.choice(("skip", "none", random.choice(ends)))
    texts = [f"{kind}({name})" for name in "xkb" for kind in ("count", "sum", "mean")]
    asked = random.sample([*texts, "count(t)"], random.randint(1, 4))
    return {
        "columns": columns,
        "statistics": random.choice((["count", *asked], asked)),
        "rows": [
            {n: random.choice((_GAPS if random.random() < share else _THERE)[n]) for n in _KINDS}
            for _ in range(random.choice((1, 7, 40)))
        ],
        "by_row": random.random() < 0.4,
        "neighbours": random.choice(("add-remove", "replace-one")),
        "frame": random.random() < 0.3,
    }


def attack(case: Case) -> None:
    folder = Path(tempfile.mkdtemp())
    release = _release(case, folder)
    layout = release.plan().noisy_parts[0].layout
    for text in case["statistics"]:
        name = text.rstrip(")").partition("(")[2]
        assert not name or any(name in text for text in layout.missing), layout.missing
    columns = release.run().tables["q"].columns
    for text in case["statistics"]:
        kind, _, name = text.rstrip(")").partition("(")
        label = f"{kind}_{name}" if name else kind
        result, std = columns[label][0], columns[f"{label}_std"][0]
        wanted = _wanted(kind, name, case)
        if wanted is None:  # a mean of nothing is the middle, or where the noise has it
            low, high = case["columns"][name]["bounds"]
            assert low <= result <= high
        else:
            assert abs(result - wanted) <= 1e-3 + 100 * std, (text, result, float(wanted))
    ln.verify_directory(folder / "out")


def _release(case: Case, folder: Path) -> ln.Release:
    rows = [{"person": number} | row for number, row in enumerate(case["rows"])]
    if case["frame"]:
        values = {name: [_value(name, row[name]) for row in rows] for name in "xkb"}
        data: dict[str, Any] = {"source": _frame(values, [row["t"] or None for row in rows])}
    else:
        with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["person", *_KINDS])
            writer.writerows(row.values() for row in rows)
        data = {"source": "rows.csv", "types": {"person": "int", **_KINDS}}
    unit = "row" if case["by_row"] else "person"
    return ln.Release(
        data=data,
        privacy={"unit": unit, "neighbours": case["neighbours"], "epsilon": 10**5},
        contribution=None if case["by_row"] else {"max_rows": 1},
        columns=case["columns"],
        query=[{"name": "q", "statistics": case["statistics"]}],
        output={"path": "out", "format": "csv"},
        folder=folder,
    )


def _frame(values: dict[str, list[float | None]], texts: Sequence[str | None]) -> pd.DataFrame:
    """Return the same rows in typed columns; `values` are numbers, which the texts stand for."""
    odd = iter((math.nan, math.inf, -math.inf) * len(texts))
    return pd.DataFrame(
        {
            "person": range(len(texts)),
            "x": pd.Series([next(odd) if v is None else v for v in values["x"]], dtype="float64"),
            "k": pd.Series(
                [None if v is None else int(max(-(2**62), min(2**62, v))) for v in values["k"]],
                dtype="Int64",
            ),
            "b": pd.Series([None if v is None else bool(v) for v in values["b"]], dtype="boolean"),
            "t": pd.Series(texts, dtype="string"),
        }
    )


def _value(name: str, text: str) -> float | None:
    """Return the number that docs/tables-reference.md gives a text; None if it is missing."""
    if name == "b":
        return _BOOLS.get(text.lower())
    if not (_WHOLE if name == "k" else _NUMBER).fullmatch(text):
        return None
    return float(text) if math.isfinite(float(text)) else None


def _wanted(kind: str, name: str, case: Case) -> Fraction | None:
    """Return the published value without noise; None for a mean of no values."""
    if not name:
        return Fraction(len(case["rows"]))
    texts = [row[name] for row in case["rows"]]
    if name == "t":
        return Fraction(sum(text != "" for text in texts))
    low, high = map(Fraction, case["columns"][name]["bounds"])
    rule = case["columns"][name].get("missing", "skip")
    becomes = (low + high) / 2 if rule == "none" else None if rule == "skip" else Fraction(rule)
    values = [_value(name, text) for text in texts]
    counted = [
        becomes if value is None else max(low, min(high, Fraction(value)))
        for value in values
        if value is not None or becomes is not None
    ]
    total = sum((item for item in counted if item is not None), Fraction(0))
    if kind == "count":
        return Fraction(len(counted))
    if kind == "sum":
        return total
    return total / len(counted) if counted else None


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("missing", part, fewer=10)
