"""Random functions over a unit's rows: what a unit adds to a query depends on its rows only.

Each column of a query is computed from the rows of a unit. The unit's vector is compared with that
of the same values in plain Python, which sees no row of another unit.
"""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

from tests.attacks import test_neighbours
from tests.attacks.guard import PARTS, Guard
from tests.attacks.test_neighbours import Case, Exact, attack_exact

Row = dict[str, Any]
_STORED = ("plan", "town", "old", "x", "k")
_ENDS = (min, max)


def _key(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


class History:
    """A function over the rows of a unit: its text in a spec, and its values in plain Python."""

    def __init__(self, word: str, value: str, by: tuple[str, ...]) -> None:
        self.word, self.value, self.by = word, value, by

    @property
    def text(self) -> str:
        order = ", ".join(f"s_{name}" for name in self.by)
        inner = {
            "rows": "count()",
            "different": f"count(distinct s_{self.value})",
            "number": f"row_number(by = ({order}))",
            "first": f"first(s_{self.value}, by = ({order}))",
            "last": f"last(s_{self.value}, by = ({order}))",
            "often": "count()",
        }.get(self.word, f"{self.word}(s_{self.value})")
        return f"{inner} over person{' >= 2' if self.word == 'often' else ''}"

    def values(self, rows: list[Row], read: list[str]) -> list[Any]:
        """The function's values in the rows of one unit; ties are broken by the columns `read`."""
        there = [row[self.value] for row in rows if row[self.value] is not None]
        places = [tuple(_key(row[name]) for name in self.by) for row in rows]
        if self.word == "number":
            ties = [
                [
                    (row[name] is None, _key(row[name]) if row[name] is not None else 0)
                    for name in read
                ]
                for row in rows
            ]
            order = [at for at in range(len(rows)) if None not in places[at]]
            order.sort(key=lambda at: (places[at], ties[at]))
            return [order.index(at) + 1 if at in order else None for at in range(len(rows))]
        if self.word in {"first", "last"}:
            end = _ENDS[self.word == "last"]
            edge = end((site for site in places if None not in site), default=None)
            there = [
                row[self.value]
                for row, index in zip(rows, places, strict=True)
                if index == edge and row[self.value] is not None
            ]
            return [end(there, key=_key, default=None)] * len(rows)
        results = {
            "rows": len(rows),
            "often": len(rows) >= 2,
            "different": len(set(there)),
            "sum": sum(there) if there and self.value in {"plan", "k", "old"} else None,
            "any": any(there) if there else None,
            "min": min(there, key=_key, default=None),
            "max": max(there, key=_key, default=None),
        }
        return [results[self.word]] * len(rows)


def _drawn_history(random: Random, name: str) -> History:
    by = tuple(random.sample(_STORED, random.choice((1, 1, 2))))
    words = {
        "plan": ["rows", "different", "number", "sum", "first", "last", "min", "max"],
        "k": ["rows", "different", "number", "sum", "first", "last", "min", "max"],
        "old": ["any", "often", "first", "last"],
    }
    word = random.choice(words.get(name, ["first", "last", "min", "max"]))
    value = random.choice(_STORED) if word == "different" else name
    return History(word, value, by)


def draw_case(random: Random) -> Case:
    while True:
        case = test_neighbours.draw_case(random)
        if case["spec"]["privacy"]["unit"] == "person":
            break
    histories = {name: _drawn_history(random, name) for name in _STORED if random.random() < 0.7}
    case["histories"] = {
        name: (history.word, history.value, history.by) for name, history in histories.items()
    }
    return case


class Histories(Exact):
    """A query whose columns are computed by `histories`; stored columns have the prefix s_."""

    def __init__(self, spec: dict[str, Any], histories: dict[str, History]) -> None:
        self.histories = histories
        types = spec["data"]["types"]
        stored = {name if name == "person" else f"s_{name}": kind for name, kind in types.items()}
        derive = {
            name: histories[name].text if name in histories else f"s_{name}" for name in _STORED
        }
        super().__init__(
            spec | {"data": spec["data"] | {"types": stored}, "derive": derive}, header=[*stored]
        )

    def limits(self, query: dict[str, Any]) -> dict[str, Any]:
        """The query's limits, with max_groups at most the groups that one unit can be in."""
        limits = super().limits(query)
        axes = dict(query.get("group_by", {}))
        if "histogram" in query:
            axes[query["histogram"]["column"]] = query["histogram"]
        cells = [
            len(axis["edges"]) - 1 if isinstance(axis, dict) else len(axis)
            for name, axis in axes.items()
            if name not in self.histories or self.histories[name].word == "number"
        ]
        if len(cells) == len(axes):
            return limits
        most = (self.spec.contribution.limits.given | limits).get("max_groups", math.inf)
        return limits | {"max_groups": min(most, math.prod(cells))}

    def read(self, rows: list[Row]) -> list[Row]:
        finite = [
            {
                name: None if isinstance(value, float) and not math.isfinite(value) else value
                for name, value in row.items()
            }
            for row in rows
        ]
        names = sorted(self.found.columns)
        read = [name.removeprefix("s_") for name in names if name != "person"]
        results = [dict(row) for row in finite]
        for name, history in self.histories.items():
            for row, value in zip(results, history.values(finite, read), strict=True):
                row[name] = value
        return results


def attack(case: Case) -> None:
    histories = {name: History(*built) for name, built in case["histories"].items()}
    attack_exact(case, Histories(case["spec"], histories))


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("histories", part)
