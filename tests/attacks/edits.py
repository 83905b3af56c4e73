"""Random edits of JSON records. They walk the record, so that new fields are edited, too."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

Path = tuple[str | int, ...]
Edit = tuple[Path, str, Any]
"""The path of a value in a record, the operation, and its operand."""

_FACTORS = (1 + 1e-12, 1 - 1e-12, 1 + 1e-6, 1 - 1e-6, 1.001, 0.999, 0.5, 2.0, 10.0, 0.1)
_SPELLINGS = (
    "0", "-1", "1", "nan", "inf", "-inf", "", " 1 ", "0x", "0x1p0", "0x1.8p+1", "1/3", "1e400",
    "1e-300", "\u0661", "1" * 700, "1e-1000000", "0x1p99999", "-0", "0.5", "0.999999999", "1_0",
)  # fmt: skip
_WHOLES = (0, -1, 1, 2, 3, 7, 200, 10**6, 2**31, 2**63, 10**30, 10**400)
_TEXTS = (
    "add-remove", "replace-one", "l1", "l2", "linf", "integer", "laplace", "gaussian", "tulap",
    "optimal", "real", "mse", "mae", "certificate", "plan-certificate", "a", "cells", "\ud800",
    "\x00",
)  # fmt: skip
_OTHER = (None, True, False, 1.5, [], {}, [1], {"a": 1}, "x", 3)


def draw_case(random: Random, record: Any) -> Edit:
    """A random edit of `record`."""
    path = random.choice(_paths(record))
    value = at(record, path)
    if random.random() < 0.2:
        what = random.choice(("remove", "double", "add", "set"))
        return path, what, random.choice(_OTHER) if what == "set" else None
    what, given = _fitting(random, value)
    return path, what, given


def _fitting(random: Random, value: Any) -> tuple[str, Any]:
    """A random operation and operand that suit the type of `value`."""
    results: tuple[str, Any] = ("set", random.choice((*_OTHER, *_SPELLINGS, *_WHOLES)))
    if isinstance(value, int) and not isinstance(value, bool):
        near = (value + 1, value - 1, 2 * value, value // 2)
        results = "set", random.choice((*near, *near, *_WHOLES, str(value), float(value)))
    elif isinstance(value, str) and _number(value) is None:
        results = "set", random.choice(_TEXTS)
    elif isinstance(value, str) and random.random() < 0.6:
        results = "scale", (random.choice(_FACTORS), random.choice(("decimal", "hex")))
    elif isinstance(value, str):
        results = "set", random.choice(_SPELLINGS)
    elif isinstance(value, (dict, list)):
        results = random.choice(("reverse", "drop", "again", "set")), random.choice(_OTHER)
    return results


def _paths(record: Any, here: Path = ()) -> list[Path]:
    """The paths of all values in `record`; a long list gives its first two and last two items."""
    result: list[Path] = [here] if here else []
    if isinstance(record, dict):
        items: list[tuple[Any, Any]] = [*record.items()]
    elif isinstance(record, list):
        items = [*enumerate(record)]
        items = items if len(items) <= 4 else [*items[:2], *items[-2:]]
    else:
        return result
    for key, value in items:
        result += _paths(value, (*here, key))
    return result


def at(record: Any, path: Path) -> Any:
    for key in path:
        record = record[key]
    return record


def _number(text: str) -> float | None:
    try:
        return float.fromhex(text) if "0x" in text else float(text)
    except ValueError:
        return None


def applied(record: Any, edit: Edit) -> str:
    """The edited record as JSON text, in which a field may occur twice."""
    path, what, _ = edit
    key = path[-1]
    if what != "double" or not isinstance(key, str):
        return json.dumps(changed(record, edit))
    field = f"{json.dumps(key)}: {json.dumps(at(record, path))}"
    return json.dumps(record).replace(field, f"{json.dumps(key)}: null, {field}", 1)


def changed(record: Any, edit: Edit) -> Any:
    """The edited record; `record` stays unchanged."""
    path, what, value = edit
    copy = deepcopy(record)
    parent, key = at(copy, path[:-1]), path[-1]
    old = parent[key]
    if what == "remove":
        del parent[key]
    elif what == "add" and isinstance(parent, dict):
        parent[f"{key}_"] = old
    elif what == "scale":
        number = (_number(old) or 0.0) * value[0]
        parent[key] = number.hex() if value[1] == "hex" else repr(number)
    elif isinstance(old, list) and what in ("reverse", "drop", "again"):
        parent[key] = {"reverse": old[::-1], "drop": old[1:], "again": old + old[-1:]}[what]
    elif what != "double":
        parent[key] = value
    return copy
