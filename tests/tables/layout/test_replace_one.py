"""One unit replaced by another: its shifts, their declared sensitivities, and the noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.signed import Differences
from leastnoise.guarantees.exact import root_above
from leastnoise.guarantees.sensitivity import L1, L2, Integer
from leastnoise.guarantees.structured import Within
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.layout.axes import KeyColumn
from leastnoise.tables.layout.boundings.base import Numbers
from leastnoise.tables.layout.boundings.in_unlisted_groups import InUnlistedGroups
from leastnoise.tables.layout.layout import Layout
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.statistics.registry import parse_query
from tests.tables.declared import check_declared, gauge
from tests.tables.reference import SALT

TOWNS = ["a", "b", "c"]
COLUMNS = {
    "x": {"bounds": [-2, 10], "missing": 1},
    "y": {"bounds": [0, 30]},
    "z": {"bounds": [-1, 1]},
    "v": {"bounds": [-1, 1], "missing": "none"},
}
QUERIES: list[dict[str, Any]] = [
    {"name": "one", "statistics": ["count"]},
    {"name": "rows", "statistics": ["count"], "group_by": {"town": TOWNS}},
    {"name": "two", "statistics": ["count"], "group_by": {"town": TOWNS[:2]}},
    {"name": "units", "statistics": ["count_units"], "group_by": {"town": TOWNS}},
    {"name": "raised", "statistics": ["sum(y)"]},
    {"name": "raised_by", "statistics": ["sum(y)"], "group_by": {"town": TOWNS}},
    {"name": "lowered", "statistics": ["sum(x)"]},
    {"name": "lowered_by", "statistics": ["sum(x)"], "group_by": {"town": TOWNS}},
    {"name": "mean", "statistics": ["mean(z)"]},
    {"name": "mean_by", "statistics": ["mean(z)"], "group_by": {"town": TOWNS}},
    {"name": "mixed", "statistics": ["count", "count_units"], "group_by": {"town": TOWNS}},
    {
        "name": "many",
        "statistics": ["count_units", "mean(z)", "sum(y)", "mean(x)"],
        "group_by": {"town": TOWNS[:2]},
    },
    {"name": "sums", "statistics": ["sum(x)", "sum(z)"], "group_by": {"town": TOWNS}},
    {"name": "values", "statistics": ["count(z)"], "group_by": {"town": TOWNS}},
    {"name": "means", "statistics": ["count", "mean(z)", "mean(v)"], "group_by": {"town": TOWNS}},
    {"name": "spread", "statistics": ["var(z)", "std(x)"]},
    {
        "name": "spreads",
        "statistics": ["count", "var(z)", "mean(v)", "std(v)"],
        "group_by": {"town": TOWNS[:2]},
    },
    {
        "name": "ratios",
        "statistics": ["ratio(sum(x), sum(y))", "ratio(sum(y), count(z))"],
        "group_by": {"town": TOWNS},
    },
    {"name": "under", "statistics": ["sum(z)", "mean(y)", "count(z)"]},
    {"name": "bins", "histogram": {"column": "y", "edges": [0, 1, 5, 30]}},
    {
        "name": "some",
        "conditions": {t: {"town": {"among": [t]}} for t in TOWNS} | {"low": {"x": {"max": 1}}},
        "max_conditions": 2,
    },
    {"name": "all", "conditions": {"low": {"x": {"max": 1}}, "any": {"z": {"min": -5}}}},
]
LIMITS: list[dict[str, Any]] = [
    {"max_rows": 3},
    {"max_rows": 1},
    {"max_rows": 3, "max_rows_per_group": 2},
    {"max_rows_per_group": 2, "max_groups": 2},
    {"max_rows_per_group": 1},
    {"max_rows": 5, "max_groups": 2, "max_rows_per_group": 3, "l1": "4.5", "l2": "2.5"},
    {"l1": "0.7"},
    {"l2": "0.7"},
    {"l1": 3},
    {"l2": 3},
]


def raw_spec(limits: dict[str, Any] | None, query: list[dict[str, Any]], **more: Any) -> Any:
    privacy = {"unit": "person" if limits else "row", "epsilon": 1, "delta": "1e-8"}
    return {
        "version": 1,
        "data": {"source": "rows.parquet"},
        "privacy": privacy | {"neighbours": "replace-one"} | more,
        "columns": COLUMNS,
        "query": query,
    } | ({"contribution": limits} if limits else {})


WHO: dict[str, Any] = {"name": "who", "statistics": ["count"], "group_by": {"person": [0]}}


class Bounded:
    """The vector that each of many persons adds to a query, by the code that releases."""

    def __init__(self, folder: Path, raw: Any, rows: pd.DataFrame) -> None:
        rows.to_parquet(folder / "rows.parquet")
        self.persons = sorted({int(person) for person in rows["person"]})
        self.folder, self.rows = folder, rows
        # so that the column of persons may be grouped by
        self.spec = spec_file.parse(raw | {"query": [*raw["query"], WHO]})

    def layouts(self) -> list[Layout]:
        return [
            shape
            for part in lay_out_query(parse_query(self.spec, self.spec.query[0]))
            for shape in part
        ]

    def vectors(self, layout: Layout) -> list[list[Fraction]]:
        """Return one vector per person; each person has separate cells, or a separate release."""
        if layout.conditions:
            return [self._sum_alone(person, layout) for person in self.persons]
        who = KeyColumn(column="person", values=tuple(self.persons))
        moved = self._sum_rows(replace(layout, axes=(who, *layout.axes)))
        return np.array(moved, dtype=object).reshape(len(self.persons), -1).tolist()

    def _sum_alone(self, person: int, layout: Layout) -> list[Fraction]:
        self.rows[self.rows["person"] == person].to_parquet(self.folder / "rows.parquet")
        return self._sum_rows(layout)

    def _sum_rows(self, layout: Layout) -> list[Fraction]:
        rows = source.find_source(self.spec, self.folder)
        with source.open_engine(rows, threads=1) as engine:
            moved = integer_vectors.query_vector(engine, self.spec, layout, salt=SALT)
        return [Fraction(int(value), 2**layout.bits) for value in moved]


def differences(bounded: Bounded, layout: Layout) -> Iterator[list[Fraction]]:
    for mine, theirs in combinations(bounded.vectors(layout), 2):
        yield [a - b for a, b in zip(mine, theirs, strict=True)]


def hostile_rows(seed: int, persons: int, *, most: int) -> pd.DataFrame:
    """Rows of persons at and beyond every limit, with values of every kind."""
    rng = np.random.default_rng(seed)  # makes the table, no noise
    odd = [math.nan, math.inf, -math.inf, 1e300, -1e300, -0.0, 0.3]
    frames = []
    for person in range(persons):
        count = int(rng.integers(1, most + 1)) if person % 4 else most
        low, high = ((-1e9, -1e9), (1e9, 1e9), (-3.0, 31.0), (-1e9, 1e9))[person % 4]
        values = {
            name: np.where(rng.random(count) < 0.15, rng.choice(odd, count), ends)
            for name in "vxyz"
            for ends in [rng.choice([low, high], count) if rng.random() < 0.7 else low]
        }
        town = rng.choice([*TOWNS, "zz"], count) if person % 3 else TOWNS[person // 3 % 3]
        frames.append(pd.DataFrame({"person": person, "town": town, **values}))
    nobody = pd.DataFrame(
        {"person": [persons], "town": ["zz"], "x": 0.0, "y": 0.0, "z": 0.0, "v": 0.0}
    )
    return pd.concat([*frames, nobody], ignore_index=True)


NAMES = [query["name"] for query in QUERIES]
OFTEN = [{"max_rows": 3}, {"max_rows_per_group": 2, "max_groups": 2}, {"l1": 3}, {"l2": "0.7"}]


@pytest.mark.dense
@pytest.mark.parametrize("query", QUERIES, ids=NAMES)
@pytest.mark.parametrize(
    "limits",
    [case if case in OFTEN else pytest.param(case, marks=pytest.mark.slow) for case in LIMITS],
    ids=lambda case: ",".join(map(str, case)),
)
def test_no_two_persons_are_further_apart_than_declared(
    tmp_path: Path, limits: dict[str, Any], query: dict[str, Any]
) -> None:
    """Every pair of persons: their difference is in each set that noise is proved for."""
    persons = 4 if "conditions" in query else 16
    rows = hostile_rows(len(limits), persons, most=12)
    bounded = Bounded(tmp_path, raw_spec(limits, [query]), rows)
    for layout in bounded.layouts():
        for moved in differences(bounded, layout):
            check_declared(moved, layout)


@pytest.mark.dense
@pytest.mark.parametrize("query", QUERIES, ids=NAMES)
def test_no_two_rows_are_further_apart_than_declared(tmp_path: Path, query: dict[str, Any]) -> None:
    if "count_units" in query.get("statistics", []):
        query = query | {"statistics": ["count"]}
    persons = 4 if "conditions" in query else 16
    bounded = Bounded(tmp_path, raw_spec(None, [query]), hostile_rows(7, persons, most=1))
    for layout in bounded.layouts():
        for moved in differences(bounded, layout):
            check_declared(moved, layout)


def test_a_whole_table_moves_as_one_person_does(tmp_path: Path) -> None:
    """Persons in one table add the same vectors as each person in a table alone."""
    raw, rows = raw_spec({"max_rows": 3}, [QUERIES[9]]), hostile_rows(3, 6, most=8)
    bounded = Bounded(tmp_path, raw, rows)
    (layout,) = bounded.layouts()
    added = np.array(bounded.vectors(layout), dtype=object)
    for person in (4, 5):
        rest = Bounded(tmp_path, raw, pd.DataFrame(rows[rows["person"] != person]))
        assert rest._sum_rows(layout) == (added.sum(axis=0) - added[person]).tolist()


def of(statistics: list[str], limits: dict[str, Any] | None, *, towns: int) -> Layout:
    keys = [f"t{i}" for i in range(towns)]
    query = {"name": "q", "statistics": statistics} | (
        {"group_by": {"town": keys}} if towns > 1 else {}
    )
    spec = spec_file.parse(raw_spec(limits, [query]))
    return lay_out_query(parse_query(spec, spec.query[0]))[0][0]


def counting(dimension: int, most: int, bound: int = 1) -> ln.CountingQueries:
    return ln.CountingQueries(
        dimension=dimension, max_nonzero=most, bound=bound, neighbours="replace-one"
    )


def root(squared: Any) -> L2:
    return L2(root_above(Fraction(squared)))


def simplices(cells: int, rows: int) -> Within:
    return Within(Differences(of=Counts(queries=cells, most=1, bound=rows)))


@pytest.mark.parametrize(
    ("statistics", "towns", "limits", "sensitivities"),
    [
        (["count"], 1, {"max_rows": 5}, (Integer(5),)),
        (["count"], 1, None, (Integer(1),)),
        (["count_units"], 1, {"max_rows": 5}, (Integer(1),)),
        (["sum(y)"], 1, {"max_rows": 5}, (L1(5),)),
        (["sum(x)"], 1, {"max_rows": 5}, (L1(10),)),
        (["sum(x)"], 1, None, (L1(2),)),
        (
            ["count"], 9, {"max_rows": 1},
            (counting(9, 1), ln.Linf(1, l0=2, whole=True), simplices(9, 1), L1(2), root(2)),
        ),
        (["count"], 9, {"max_rows": 5}, (simplices(9, 5), L1(10), root(50))),
        (["sum(y)"], 9, {"max_rows": 5}, (simplices(9, 5), L1(10), root(50))),
        (["sum(x)"], 9, {"max_rows": 5}, (L1(10), root(100))),
        (["sum(x)"], 9, None, (L1(2), root(4))),
        (["count"], 9, {"l2": 3}, (root(18),)),
        (["sum(x)"], 9, {"l2": 3}, (root(36),)),
        (["mean(x)"], 9, {"l2": 3}, (root(18),)),
        (["mean(x)", "mean(v)"], 9, {"l2": 3}, (root(24),)),  # both below the count of rows
        (["mean(x)", "mean(z)"], 9, {"l2": 3}, (root(18),)),  # one of them below that of values
        (["sum(x)", "mean(z)"], 9, {"l2": 3}, (root(36),)),  # one below no count
        (["sum(y)", "count(z)"], 9, {"l2": 3}, (root(18),)),
        (["count(z)"], 9, {"max_rows": 5}, (simplices(9, 5), L1(10), root(50))),
        (["count(z)"], 1, {"max_rows": 5}, (Integer(5),)),
        (["sum(x)", "sum(z)"], 9, {"l2": 3}, (root(36),)),
        (["mean(x)"], 9, {"l1": 3}, (L1(6), root(18))),
        (["count"], 1, {"l2": 3}, (root(9),)),
    ],
)  # fmt: skip
def test_what_replacing_one_unit_can_do(
    statistics: list[str],
    towns: int,
    limits: dict[str, Any] | None,
    sensitivities: tuple[Any, ...],
) -> None:
    """By hand: a number that no row lowers moves by at most its size, any other by twice that."""
    assert of(statistics, limits, towns=towns).sensitivities == sensitivities


@pytest.mark.parametrize(
    ("statistics", "towns", "l1", "squared"),
    [
        (["count"], 9, 10, 50),
        (["count"], 1, 5, 25),
        (["mean(x)"], 1, 10, 100),  # from (5, 5) to (5, −5)
        (["mean(x)"], 9, 20, 100),
        (["mean(x)", "mean(z)"], 1, 20, 200),
        (["count", "mean(v)"], 1, 10, 100),
        (["count", "mean(z)"], 1, 15, 125),  # rows, beside values and their sum
    ],
)
def test_the_norms_of_five_rows_replaced(
    statistics: list[str], towns: int, l1: int, squared: int
) -> None:
    shape = of(statistics, {"max_rows": 5}, towns=towns)
    assert (shape.l1, shape.l2) == (l1, root_above(Fraction(squared)))


def test_the_pairs_that_meet_these_norms(tmp_path: Path) -> None:
    """The worst pairs, through the real bounding: a claim that is lower would be false."""
    full = {"person": 0, "town": "a", "x": 10.0, "y": 30.0, "z": 1.0, "v": 1.0}
    other = {"person": 1, "town": "b", "x": -2.0, "y": 0.0, "z": -1.0, "v": -1.0}
    worst = {"rows": (10, 50), "mean": (10, 100), "mean_by": (20, 100)}
    rows = pd.DataFrame([full, other] * 5)
    for query in [QUERIES[NAMES.index(name)] for name in worst]:
        bounded = Bounded(tmp_path, raw_spec({"max_rows": 5}, [query]), rows)
        (layout,) = bounded.layouts()
        (moved,) = differences(bounded, layout)
        l1, squared = sum(map(abs, moved)), sum(value**2 for value in moved)
        assert float(l1) == pytest.approx(worst[query["name"]][0], rel=1e-5)
        assert float(squared) == pytest.approx(worst[query["name"]][1], rel=1e-5)
        assert l1 <= layout.l1
        assert squared <= layout.l2**2


def test_the_example_of_bodies_4(tmp_path: Path) -> None:
    """(c, y) = (2, 2), (3, 3) and c = 5 in another query, under 3 rows (theory/bodies.md §4).

    With signs the gauge of a person's vector would rise where it is cut to whole numbers; here
    nothing is bounded in that gauge, and differences stay within the declared sets.
    """
    up = [
        {"person": 0, "town": t, "x": 0, "y": 0, "z": 1.0, "v": 0}
        for t in ("a", "a", "b", "b", "b")
    ]
    down = [row | {"person": 1, "z": -1.0} for row in up]
    rows = pd.DataFrame([*up, *down])
    for query in (QUERIES[9], QUERIES[0]):
        bounded = Bounded(tmp_path, raw_spec({"max_rows": 3}, [query]), rows)
        (layout,) = bounded.layouts()
        (moved,) = differences(bounded, layout)
        check_declared(moved, layout)
    assert gauge([Fraction(3), Fraction(-3)], simplices(2, 3).hull) == 1
    assert (
        gauge([Fraction(6), Fraction(-6)], simplices(2, 3).hull) == 2
    )  # so N(t) <= 1 isn't enough


def test_the_norms_of_groups_that_nobody_listed() -> None:
    """Two persons in other groups: one adds to three groups, the other no longer adds to three."""
    numbers = Numbers(cells=1, each=2, counts=True, units=(0,))
    limits = InUnlistedGroups(groups=3, per_group=2)
    shift = [(1, 2)] * 3 + [(-1, -2)] * 3
    assert limits.replaced.l1(numbers) == sum(abs(move) for group in shift for move in group)
    squared = sum(move**2 for group in shift for move in group)
    assert limits.replaced.l2(numbers) == root_above(Fraction(squared))
    assert limits.replaced.sensitivities(numbers) == limits.sensitivities(numbers)
