"""Random tables and specs: no unit moves a query further than its declared sensitivities.

Each case is a chain of tables, each with one unit less or more than the one before. If the spec is
about units that are replaced, any two of these units replace each other, too.
"""

from __future__ import annotations

import csv
import itertools
import math
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.guarantees.sensitivity import NEIGHBOURS
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.layout.layout import Layout
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.statistics.registry import parse_query
from tests.attacks import contributions
from tests.attacks.guard import PARTS, Guard
from tests.tables.declared import check_added, check_declared
from tests.tables.reference import SALT

Case = dict[str, Any]

_TYPES = {"person": "int", "plan": "int", "town": "text", "old": "bool", "x": "float", "k": "int"}
_NORMS = {"numbers", "ball"}
_PERSONS = (None, 1, 2, 3, 4, 5, -(2**63))
IN_ONE = 5
_TOWNS = ("a", "b'; DROP TABLE x", "", "ü", "zz")


def draw_case(random: Random) -> Case:
    by_row = random.random() < 0.25
    low = random.choice((-5, -0.5, 0, 1, 100))
    spec: dict[str, Any] = {
        "version": 1,
        "data": {"source": "rows.csv", "types": _TYPES},
        "privacy": {
            "unit": "row" if by_row else "person",
            "neighbours": random.choice(NEIGHBOURS),
            "epsilon": 1,
            "delta": "1e-6",
        },
        "columns": {
            "x": {"bounds": [low, low + random.choice((0.25, 1, 7, 1000))]},
            "k": {"bounds": [-3, random.choice((1, 10))]},
        },
    }
    if not by_row:
        spec["contribution"] = _limits(random)
    over = {"max_rows", "max_groups", "max_rows_per_group"} & {*spec.get("contribution", {})}
    spec["query"] = [_query(random, by_row=by_row, low=low, over=bool(over))]
    for column in ("x", "k"):
        within = random.choice(spec["columns"][column]["bounds"])
        if random.random() < 0.6:
            spec["columns"][column]["missing"] = random.choice(("skip", "none", within))
    rows = [_row(random) for _ in range(random.randint(0, 25))]
    changes: list[dict[str, Any]] = []
    for number in range(IN_ONE):
        mine = [_row(random) for _ in range(random.choice((1, 1, 2, 3, 9)))]
        mine *= random.choice((1, 1, 1, 40))
        person = random.choice((99, 100 + number, *_PERSONS))
        changes.append(
            {
                "person": person,
                "rows": [row | {"person": person} for row in mine],
                "less": random.random() < 0.4,
            }
        )
    if not by_row and "conditions" not in spec["query"][0] and random.random() < 0.4:
        spec["query"][0]["contribution"] = _limits(random)
    return {"spec": spec, "rows": rows, "changes": changes}


def _limits(random: Random) -> dict[str, Any]:
    limits: dict[str, Any] = {
        "max_rows": random.randint(1, 6),
        "max_rows_per_group": random.randint(1, 4),
        "max_groups": random.randint(1, 3),
        "l1": random.choice((0.5, 1, 1.7, 3, 8)),
        "l2": random.choice((0.5, 1, 1.7, 3, 8)),
    }
    kept = random.sample([*limits], random.choice((1, 1, 2, 3)))
    if kept == ["max_groups"]:
        kept.append("max_rows")  # groups alone bound nobody
    return {name: limits[name] for name in kept}


def _query(random: Random, *, by_row: bool, low: float, over: bool) -> dict[str, Any]:
    query: dict[str, Any] = {"name": "q"}
    shape = random.choice(("statistics", "statistics", "histogram", "conditions"))
    if shape == "conditions":
        query["conditions"] = {f"c{i}": _condition(random) for i in range(random.randint(1, 4))}
        if random.random() < 0.6:
            query["max_conditions"] = random.randint(1, len(query["conditions"]))
        return query
    if random.random() < 0.6:
        axes = {
            "plan": random.sample(range(1, 5), random.randint(1, 3)),
            "town": random.sample(_TOWNS[:2] + _TOWNS[3:], random.randint(1, 3)),
            "old": [True, False],
            "x": {"edges": _edges(random)},
            "k": {"edges": _edges(random)},
        }
        query["group_by"] = {
            name: axes[name] for name in random.sample([*axes], random.randint(1, 2))
        }
    if shape == "histogram":
        free = [name for name in ("x", "k") if name not in query.get("group_by", {})]
        query["histogram"] = {"column": random.choice(free or ("plan",)), "edges": _edges(random)}
        return query
    kinds = ["count", "count_units", "sum(x)", "mean(x)", "sum(k)", "mean(k)"]
    kinds += ["count(x)", "count(k)", "count(town)", "var(x)", "std(x)", "var(k)", "std(k)"]
    kinds += ["ratio(sum(k), count)", "ratio(sum(x), count(k))", "ratio(sum(k), count(town))"]
    kinds += ["ratio(sum(k), count(x))"]
    if low >= 0:
        kinds.append("ratio(sum(k), sum(x))")
    if by_row:
        kinds.remove("count_units")
    if random.random() < 0.25:
        kinds = ["count_outside(x)", "count_outside(k)"]
        kinds += ["count_over_limits"] if over else []
    if "group_by" in query and random.random() < 0.1:
        kinds = ["count_in_no_group"]
    query["statistics"] = random.sample(kinds, min(random.choice((1, 1, 2, 3)), len(kinds)))
    return query


def _edges(random: Random) -> list[float]:
    inner = random.sample((-3, -0.5, 0, 0.25, 1, 2, 5.5, 9), random.randint(2, 6))
    ends = random.sample((-math.inf, math.inf), random.choice((0, 0, 1, 2)))
    return sorted([*inner, *ends])


def _condition(random: Random) -> dict[str, Any]:
    choices = {
        "x": {random.choice(("min", "max", "below")): random.choice((-1, 0, 1, 2.5))},
        "k": {"min": -2, "below": random.choice((0, 3))},
        "plan": {"among": random.sample(range(1, 5), 2)},
        "town": {"among": ["a", "ü"]},
        "old": {"among": [random.random() < 0.5]},
    }
    return {name: choices[name] for name in random.sample([*choices], random.randint(1, 2))}


def _row(random: Random) -> dict[str, Any]:
    odd = (None, float("nan"), float("inf"), -1e300, 1e300, -0.0, 0.25, 1.0, 101.0)
    return {
        "person": random.choice(_PERSONS),
        "plan": random.choice((None, 1, 2, 3, 4, 2**40)),
        "town": random.choice((None, *_TOWNS[:2], *_TOWNS[3:])),
        "old": random.choice((None, True, False)),
        "x": random.choice((*odd, *(random.randint(-40, 440) / 4 for _ in range(6)))),
        "k": random.choice((None, *range(-4, 12))),
    }


def attack(case: Case) -> None:
    attack_exact(case, Exact(case["spec"]))


def attack_exact(case: Case, exact: Exact) -> None:
    """Raise if a unit moves the query further than declared, or if its limits are misstated."""
    spec = case["spec"]
    query, by_row = spec["query"][0], spec["privacy"]["unit"] == "row"
    if limits := exact.limits(query):
        spec = spec | {"contribution": spec["contribution"] | limits}
        case = case | {"spec": spec}
    parts = _parts_of(query, by_row=by_row)
    layouts = [
        [*some] for _, some in itertools.groupby(exact.layouts, key=lambda layout: layout.part)
    ]
    for part, some in zip(parts, layouts, strict=True):
        if by_row:
            for layout in some:
                _chain(case, exact, layout, part, None)
            continue
        lines, text = [item.bounding.to_record() for item in some], contributions.ways(spec, part)
        assert _are_agreed(lines, text, some[0].cells), f"bounded as {lines}, said to be as {text}"
        summed = spec if any(method["kind"] in _NORMS for method in lines) else _without_norms(spec)
        for layout, route in zip(some, lines, strict=True):
            _chain(case | {"spec": summed}, exact, layout, part, route)


def _are_agreed(text: list[dict[str, Any]], statement: list[dict[str, Any]], cells: int) -> bool:
    """True if the stated bounds on persons follow from the limits, or from a person in all cells.

    A statement may lack a norm that limits on rows imply.
    """
    left = [route for route in statement if route not in text]
    return (
        text[0] in statement
        and all(route["kind"] in _NORMS and text[0]["kind"] not in _NORMS for route in left)
        and all(_fills_all(route, cells) for route in text if route not in statement)
    )


def _fills_all(way: dict[str, Any], cells: int) -> bool:
    if way["kind"] == "first-cells":
        return way["most"] == cells
    whole = Fraction(way["total"]) == Fraction(way["per_cell"]) * cells
    return way["kind"] == "cells" and way["first"] is None and whole


def _without_norms(spec: dict[str, Any]) -> dict[str, Any]:
    limits = {name: most for name, most in spec["contribution"].items() if name not in {"l1", "l2"}}
    return spec | {"contribution": limits}


def _parts_of(query: dict[str, Any], *, by_row: bool) -> list[dict[str, Any]]:
    """Return the query; if it counts persons beside other numbers, a query for each of the two."""
    asked = query.get("statistics", [])
    once = {"count_units", "count_over_limits"}
    apart = [[item for item in asked if (item in once) is which] for which in (True, False)]
    if by_row or not all(apart):
        return [query]
    return [query | {"statistics": some} for some in sorted(apart, key=lambda x: asked.index(x[0]))]


def _chain(  # noqa: PLR0917 (one call of its own)
    case: Case, exact: Exact, layout: Layout, query: dict[str, Any], way: dict[str, Any] | None
) -> None:
    spec = case["spec"]
    by_row = spec["privacy"]["unit"] == "row"
    rows = case["rows"]
    before = exact.vector(rows, layout)
    units: list[list[Fraction]] = []
    for change in case["changes"]:
        mine = _unit_there(rows, change, by_row=by_row)
        if leaves := bool(mine):
            rows = rows[1:] if by_row else _others(rows, change["person"])
        else:
            mine = change["rows"][:1] if by_row else change["rows"]
            rows = [*rows, *mine]
        after = exact.vector(rows, layout)
        more, less = (before, after) if leaves else (after, before)
        before = after
        bits = layout.bits
        moved = [Fraction(a - b, 2**bits) for a, b in zip(more, less, strict=True)]
        check_declared(moved, layout)
        check_added(moved, layout)  # who comes lowers nothing, in any block
        if layout.neighbours == "replace-one":
            for other in units:
                check_declared([a - b for a, b in zip(moved, other, strict=True)], layout)
        units.append(moved)
        # rows of nobody in particular come and go with the others: they are dropped
        nobody = not by_row and mine[0]["person"] is None
        wanted = contributions.added([] if nobody else exact.read(mine), spec, query, way)
        # each row's value is rounded by half a unit, the sum's shrinking by one and by 2^−40
        slack = Fraction(len(mine) + 2, 2**bits) if bits else Fraction(0)
        assert all(
            abs(a - b) <= slack + abs(b) / 2**35 for a, b in zip(moved, wanted, strict=True)
        ), f"moved by {list(map(float, moved))}, a unit adds {list(map(float, wanted))}"


def _unit_there(
    rows: list[dict[str, Any]], change: dict[str, Any], *, by_row: bool
) -> list[dict[str, Any]]:
    """Return the rows of the unit that leaves the table; none if a unit joins it."""
    if by_row:
        return rows[:1] if change["less"] else []
    return [row for row in rows if row["person"] == change["person"]]


def _others(rows: list[dict[str, Any]], person: object) -> list[dict[str, Any]]:
    return [row for row in rows if row["person"] != person]


class Exact:
    """The query without noise: the only access of this suite that isn't public.

    No public function tells the exact answer, by design; so the attack takes the narrowest one
    that does, with the spec as the public `Release` reads it.
    """

    def __init__(self, spec: dict[str, Any], header: Sequence[str] = tuple(_TYPES)) -> None:
        """Read the spec for a table with the columns `header`, a selection of `_TYPES`."""
        self._header = header
        self.folder = Path(tempfile.mkdtemp())
        self._write([])
        self.spec = ln.Release(**spec, folder=self.folder).spec
        self.layouts = [
            item
            for part in lay_out_query(parse_query(self.spec, self.spec.query[0]))
            for item in part
        ]
        self.found = source.find_source(self.spec, self.folder)

    def limits(self, query: dict[str, Any]) -> dict[str, Any]:
        """The limits of a query beside those of the whole spec."""
        return query.get("contribution", {})

    def read(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The rows of a unit with the columns that the query uses."""
        return rows

    def vector(self, rows: list[dict[str, Any]], layout: Layout) -> list[int]:
        self._write(rows)
        with source.open_engine(self.found, threads=1) as engine:
            return integer_vectors.query_vector(engine, self.spec, layout, salt=SALT).tolist()

    def _write(self, rows: list[dict[str, Any]]) -> None:
        with (self.folder / "rows.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self._header)
            for row in rows:
                writer.writerow("" if row[name] is None else row[name] for name in _TYPES)


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("neighbours", part)
