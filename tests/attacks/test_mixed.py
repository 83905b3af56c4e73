"""Several queries that share a scan of the rows: a unit moves each as its own limits allow.

The vectors of queries that are summed together equal those of single queries. One query may be by a
joined column, by which each person is in one group without a stated limit.
"""

from __future__ import annotations

import csv
import tempfile
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from leastnoise.guarantees.sensitivity import NEIGHBOURS
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.layout.layout import Layout
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.statistics.registry import parse_query
from tests.attacks.guard import PARTS, Guard
from tests.tables.declared import check_added, check_declared
from tests.tables.reference import SALT

Case = dict[str, Any]
Row = dict[str, Any]

_FEWER = 3  # a case reads three tables
_VISITS = {"person": "int", "plan": "int", "x": "float"}
_PERSONS = {"person": "int", "sex": "int"}
_PERSON = 77
_STATISTICS = ("count", "count_units", "sum(x)", "mean(x)")


def draw_case(random: Random) -> Case:
    shared = _limits(random)
    queries = [_query(random, number, shared) for number in range(random.randint(2, 4))]
    mine = [_row(random) | {"person": _PERSON} for _ in range(random.choice((1, 2, 5, 12)))]
    others = [_row(random) for _ in range(random.randint(0, 20))]
    sexes = {person: random.choice((1, 2, 3)) for person in (0, 1, 2, 3, _PERSON)}
    twice = random.random() < 0.2  # who is twice in a joined table has no row of it
    return {
        "spec": {
            "version": 1,
            "data": {
                "source": "rows.csv",
                "types": _VISITS | _PERSONS,
                "join": {"persons": {"source": "persons.csv", "on": "person", "columns": ["sex"]}},
            },
            "privacy": {
                "unit": "person",
                "neighbours": random.choice(NEIGHBOURS),
                "epsilon": 1,
                "delta": "1e-6",
            },
            "columns": {"x": {"bounds": [0, random.choice((1, 7))]}},
            "query": queries,
        }
        | ({"contribution": shared} if shared else {}),
        "others": others,
        "mine": mine,
        "persons": [[person, sex] for person, sex in sexes.items()] + [[1, 2]] * twice,
    }


def _limits(random: Random) -> dict[str, Any]:
    limits = {
        "max_rows": random.randint(1, 6),
        "max_rows_per_group": random.randint(1, 4),
        "max_groups": random.randint(1, 3),
        "l1": random.choice((0.5, 1, 3)),
        "l2": random.choice((0.5, 1, 3)),
    }
    return {name: limits[name] for name in random.sample([*limits], random.choice((0, 1, 1, 2)))}


def _query(random: Random, number: int, shared: dict[str, Any]) -> dict[str, Any]:
    groups: dict[str, Any] = {"plan": [1, 2, 3], "sex": [1, 2, 3]}
    # most queries are by the same columns, so that they are summed in one batch
    by = random.choice((["plan"], ["plan"], ["plan"], ["sex"], ["plan", "sex"]))
    query: dict[str, Any] = {
        "name": f"q{number}",
        "statistics": random.sample(_STATISTICS, random.choice((1, 1, 2))),
        "group_by": {name: groups[name] for name in by},
    }
    computed = _limits(random)
    if not {"max_rows", "max_rows_per_group"} & {*shared, *computed}:
        computed["max_rows"] = random.randint(1, 5)  # else nothing may bound rows
    return query | ({"contribution": computed} if computed else {})


def _row(random: Random) -> Row:
    return {
        "person": random.choice((None, 0, 1, 2, 3)),
        "plan": random.choice((None, 1, 2, 3, 4)),
        "x": random.choice((None, -1e300, 0.25, 1.0, 101.0)),
    }


def attack(case: Case) -> None:
    folder = Path(tempfile.mkdtemp())
    _write(folder / "persons.csv", [*_PERSONS], case["persons"])
    _write_rows(folder, [])
    spec = spec_file.parse(case["spec"], folder=folder)
    layouts = [
        layout
        for query in spec.query
        for ways in lay_out_query(parse_query(spec, query))
        for layout in ways
    ]
    rows = source.find_source(spec, folder)

    def vectors(table: list[Row]) -> list[list[int]]:
        _write_rows(folder, table)
        with source.open_engine(rows, threads=1) as engine:
            together = integer_vectors.query_vectors(engine, spec, layouts, salt=SALT)
        return [vector.tolist() for vector in together]

    without, with_person = vectors(case["others"]), vectors([*case["others"], *case["mine"]])
    another = vectors([*case["others"], *case["mine"][:1]])
    for layout, before, after, other in zip(layouts, without, with_person, another, strict=True):
        moved, less = _shift(after, before, layout), _shift(other, before, layout)
        check_declared(moved, layout)
        check_added(moved, layout)
        if layout.neighbours == "replace-one":
            check_declared([a - b for a, b in zip(moved, less, strict=True)], layout)
    _write_rows(folder, [*case["others"], *case["mine"]])
    for layout, together in zip(layouts, with_person, strict=True):
        with source.open_engine(rows, threads=1) as engine:
            alone = integer_vectors.query_vector(engine, spec, layout, salt=SALT).tolist()
        assert alone == together, f"{layout.label} with {layout.bounding} depends on other queries"


def _shift(after: list[int], before: list[int], layout: Layout) -> list[Fraction]:
    return [Fraction(a - b, 2**layout.bits) for a, b in zip(after, before, strict=True)]


def _write_rows(folder: Path, rows: list[Row]) -> None:
    _write(folder / "rows.csv", [*_VISITS], [[row[name] for name in _VISITS] for row in rows])


def _write(path: Path, header: list[str], rows: list[list[Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for row in rows:
            writer.writerow("" if value is None else value for value in row)


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("mixed", part, fewer=_FEWER)
