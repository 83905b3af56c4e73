"""How far a unit moves each table of exact sums, for all neighbours of tiny tables, end to end."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.errors import SpecError
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.plain import Box
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L1, L2, Integer
from leastnoise.guarantees.structured import Linf, Within
from leastnoise.tables.answers.sums.margin_queries import (
    measured_layout,
    published_tables,
    table_body,
    table_layout,
    table_reaches,
    table_sensitivities,
    table_sensitivity,
)
from leastnoise.tables.answers.sums.margins import Margins
from leastnoise.tables.answers.sums.publish_sums import sum_exactly
from leastnoise.tables.layout.axes import KeyColumn
from leastnoise.tables.layout.layout import Layout
from leastnoise.tables.parse import spec_file
from leastnoise.tables.rows import integer_vectors, source
from leastnoise.tables.rows.frames import frame_of
from leastnoise.tables.spec.source import IN_MEMORY
from tests.tables.margins import plan_of, spec_of, sums_of, whole_of
from tests.tables.reference import SALT

# of persons 1 and 2; a region and an age that are no key are in no cell
ROWS = [
    (1, 0, "f", 10), (1, 0, "f", 10), (1, 2, "m", 40), (1, 9, "f", 10), (2, 1, "f", 10),
    (2, 1, "m", 99), (2, 0, "f", 10),
]  # fmt: skip
COLUMNS = ["who", "region", "sex", "age"]
VALUES = (0, 30, -30, 12.345, 99, math.nan)
"""Values of a column with bounds [0, 30] or [-30, 10]."""


def cells_of(raw: dict[str, Any]) -> Layout:
    """The layout of the measured cells."""
    ((layout,),) = spec_file.lay_out(raw).queries[0]
    return measured_layout(layout)


def integers_of(raw: dict[str, Any], datasets: list[tuple[Any, ...]]) -> list[Any]:
    """The exact integers of the cells for the rows of each dataset.

    All are read at once: a dataset has persons of its own, and its number is one more key.
    """
    columns = [*COLUMNS, *(["x"] if "columns" in raw else []), "dataset"]
    rows = [
        (10 * index + row[0], *row[1:], index)
        for index, dataset in enumerate(datasets)
        for row in dataset
    ]
    frame = pd.DataFrame(rows, columns=columns)
    frame = frame.astype({"x": "float64"} if "x" in columns else {})
    whole = dict.fromkeys(["who", "region", "age", "dataset"], "int64")
    frame = frame.astype({**whole, "sex": "string"})
    (query,) = raw["query"]
    # so that the column of datasets may be grouped by
    by_dataset = {"statistics": query["statistics"], "group_by": {"dataset": [0]}}
    queries = [query, {"name": "datasets", **by_dataset}]
    spec = spec_file.parse(raw | {"data": {"source": IN_MEMORY}, "query": queries})
    layout = cells_of(raw)
    dataset = KeyColumn(column="dataset", values=tuple(range(len(datasets))))
    rows_of = source.find_source(spec, Path(), frame_of(frame))
    with source.open_engine(rows_of) as engine:
        within = (dataset, *layout.within) if layout.within else ()
        with_dataset = replace(layout, axes=(dataset, *layout.axes), within=within)
        vector = integer_vectors.query_vector(engine, spec, with_dataset, salt=SALT)
    return [*vector.reshape(len(datasets), -1)]


def moves(raw: dict[str, Any], pairs: list[tuple[list[Any], list[Any]]]) -> dict[int, set[Any]]:
    """Return for each table the vectors, in rows, by which it differs within the pairs of data."""
    whole = Margins(certificate=None, cells=cells_of(raw), budget=Budget(epsilon=1), measured={})
    datasets = [*dict.fromkeys(tuple(rows) for pair in pairs for rows in pair)]
    known = dict(zip(datasets, integers_of(raw, datasets), strict=True))
    results: dict[int, set[Any]] = {table: set() for table in range(8)}
    for pair in pairs:
        for table in range(8):
            item, other = (
                sum_exactly(whole, known[tuple(rows)], table).astype(object) for rows in pair
            )
            unit = 2**whole.cells.bits
            results[table].add(tuple(Fraction(int(d), unit) for d in item - other))
    return results


def held_by(sensitivity: Any, shift: tuple[Fraction, ...]) -> bool:
    moved = [item for item in shift if item]
    if isinstance(sensitivity, Linf):
        whole = all(item.denominator == 1 for item in moved)
        return whole and len(moved) <= sensitivity.l0 and all(abs(item) <= 1 for item in moved)
    if isinstance(sensitivity, Integer):
        return all(item.denominator == 1 and abs(item) <= sensitivity.bound for item in moved)
    if isinstance(sensitivity, Within):
        return gauge(sensitivity, shift) <= 1
    if isinstance(sensitivity, L2):
        return sum(item**2 for item in moved) <= sensitivity.bound**2
    assert isinstance(sensitivity, L1)
    return sum(map(abs, moved)) <= sensitivity.bound


def gauge(sensitivity: Within, shift: tuple[Fraction, ...]) -> Fraction:
    """Return the sum over cells of the multiple of the cell's box that contains the shift."""
    body = sensitivity.hull
    box = body.bodies[0] if isinstance(body, Cells) else body
    assert isinstance(box, Box)
    q = len(box.bounds)
    cells = (shift[i : i + q] for i in range(0, len(shift), q))
    return sum(
        (max(abs(item) / b for item, b in zip(cell, box.bounds, strict=True)) for cell in cells),
        Fraction(0),
    )


def persons() -> list[list[tuple[Any, ...]]]:
    """Return the rows that one person may have, which may be more than the limit of two."""
    first, _, other, nowhere = mine = [row for row in ROWS if row[0] == 1]
    more = [(1, 1, "m", 20), (1, 0, "m", 20)]
    return [
        [],
        mine[:1],
        mine[:2],
        [first, other],
        mine,
        [nowhere],
        [other] * 2,
        more,
        [other, *more],
    ]


def check(raw: dict[str, Any], pairs: list[tuple[list[Any], list[Any]]]) -> None:
    layout = cells_of(raw)
    for table, shifts in moves(raw, pairs).items():
        sensitivity = table_sensitivity(layout, table)
        assert all(held_by(sensitivity, shift) for shift in shifts), table
        most = max(sum(map(abs, shift)) for shift in shifts)
        cells = table_layout(layout, table).cells
        assert most == sensitivity.radius("l1", dimension=cells) or isinstance(sensitivity, Linf)


def check_sums(raw: dict[str, Any], pairs: list[tuple[list[Any], list[Any]]]) -> None:
    """Check what is stated about several numbers per cell, and that it can't be improved."""
    layout = cells_of(raw)
    for table, shifts in moves(raw, pairs).items():
        hull, *others = table_sensitivities(layout, table)
        assert isinstance(hull, Within)
        assert hull.hull == table_body(layout, table)
        assert all(held_by(item, shift) for shift in shifts for item in (hull, *others)), table
        assert max(gauge(hull, shift) for shift in shifts) == 1
        box = hull.hull.bodies[0] if isinstance(hull.hull, Cells) else hull.hull
        assert isinstance(box, Box)
        factor = math.sqrt((len(box.bounds) + 1) * (len(box.bounds) + 2) / 6)
        reaches = [factor * float(bound) for bound in box.bounds]
        assert table_reaches(layout, table) == pytest.approx(reaches)


def with_values(rows: list[tuple[Any, ...]], first: int = 0) -> list[tuple[Any, ...]]:
    return [(*row, VALUES[(index + first) % len(VALUES)]) for index, row in enumerate(rows)]


OF_VALUES = [
    {},
    {"missing": "skip"},
    {"missing": "skip", "statistics": ["count", "sum(x)"]},
    {"bounds": (-30, 10), "statistics": ["sum(x)", "mean(x)", "count(x)"]},
]


@pytest.mark.dense
@pytest.mark.parametrize(
    ("given", "neighbours"),
    [
        *((given, "add-remove") for given in OF_VALUES),
        *((given, "replace-one") for given in OF_VALUES[1::2]),
    ],
)
def test_values_of_rows(given: dict[str, Any], neighbours: str) -> None:
    raw = sums_of(**given, privacy={"neighbours": neighbours})
    every = [(*row, value) for row in ROWS[1:3] for value in VALUES]
    rest = (*ROWS[4], 3.5)
    pairs = [([rest, item], [rest]) for item in every]
    if neighbours == "replace-one":
        ends = every[:9]
        pairs = [([rest, item], [rest, other]) for item, other in itertools.product(ends, repeat=2)]
    check_sums(raw, pairs)


@pytest.mark.dense
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    "contribution", [{"max_rows": 2}, {"max_groups": 2, "max_rows_per_group": 1}]
)
def test_values_of_persons(contribution: dict[str, Any], neighbours: str) -> None:
    raw = sums_of(unit="who", privacy={"neighbours": neighbours}) | {"contribution": contribution}
    every = [with_values(mine, index % 2) for index, mine in enumerate(persons())]
    every += [[(*ROWS[0], value), (*ROWS[2], value)] for value in (0, 30)]
    others = with_values([ROWS[4], ROWS[6]])
    pairs = [([*mine, *others], others) for mine in every]
    if neighbours == "replace-one":
        each = itertools.product(every[1:], repeat=2)
        pairs = [([*item, *others], [*other, *others]) for item, other in each]
    check_sums(raw, pairs)


@pytest.mark.dense
@pytest.mark.parametrize("bounds", [(0, 30), (-30, 30)])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_sums_alone(bounds: tuple[float, float], neighbours: str) -> None:
    raw = sums_of(bounds=bounds, statistics=["sum(x)"], privacy={"neighbours": neighbours})
    every = [(*row, value) for row in ROWS[2:5] for value in (*bounds, 5)]
    pairs = [([item], []) for item in every]
    if neighbours == "replace-one":
        pairs = [([item], [other]) for item, other in itertools.product(every, repeat=2)]
    check(raw, pairs)


def test_what_is_measured() -> None:
    def measured(**given: Any) -> list[tuple[str, str, int]]:
        ((layout,),) = spec_file.lay_out(sums_of(**given)).queries[0]
        return [(item.kind, item.column, int(item.centre)) for item in layout.measured]

    assert measured() == [("count", "", 0), ("value", "x", 15)]
    assert measured(missing="skip") == [("count", "", 0), ("value", "x", 15), ("count", "x", 0)]
    assert measured(statistics=["sum(x)"]) == [("value", "x", 0)]
    assert measured(statistics=["sum(x)", "count"]) == [("value", "x", 15), ("count", "", 0)]
    # a count of values that nobody asked for would cost the other numbers more than it saves
    both = ["count", "sum(x)"]
    assert measured(statistics=both, missing="skip") == [("count", "", 0), ("value", "x", 0)]


@pytest.mark.dense
def test_rows_that_are_added() -> None:
    rest = [ROWS[4]]
    check(spec_of(), [([*rest, row], rest) for row in ROWS])


@pytest.mark.dense
def test_rows_that_are_replaced() -> None:
    raw = spec_of(privacy={"neighbours": "replace-one"})
    pairs = list(itertools.product(ROWS, repeat=2))
    check(raw, [([ROWS[4], item], [ROWS[4], other]) for item, other in pairs])


@pytest.mark.dense
def test_persons_that_are_added() -> None:
    others = [ROWS[4], ROWS[6]]
    check(spec_of(unit="who"), [([*mine, *others], others) for mine in persons()])


@pytest.mark.dense
def test_persons_that_are_replaced() -> None:
    raw = spec_of(unit="who", privacy={"neighbours": "replace-one"})
    others = [ROWS[4], ROWS[6]]
    pairs = itertools.product(persons(), repeat=2)
    check(raw, [([*item, *others], [*other, *others]) for item, other in pairs])


@pytest.mark.dense
def test_persons_in_few_groups() -> None:
    raw = spec_of(unit="who") | {"contribution": {"max_groups": 2, "max_rows_per_group": 1}}
    check(raw, [([*mine, ROWS[4]], [ROWS[4]]) for mine in persons()])


@pytest.mark.dense
def test_persons_that_are_counted_once() -> None:
    raw = spec_of(unit="who", statistics=["count_units"]) | {"contribution": {"max_groups": 1}}
    check(raw, [([*mine, ROWS[4]], [ROWS[4]]) for mine in persons()])


def test_sums_end_where_int64_does() -> None:
    """Attack: cells at the end of int64 would wrap around, and one row move a total by 2^64."""
    whole = whole_of(plan_of(spec_of()))
    cells = np.full(12, 2**63 - 1, dtype=np.int64)
    assert set(sum_exactly(whole, cells, 1).tolist()) == {2**63 - 1}
    cells[0] -= 2**28
    assert sum_exactly(whole, cells, 0).tolist() == [2**63 - 1]


def test_which_tables_are_published() -> None:
    def tables(margins: Any) -> tuple[int, ...]:
        return published_tables(spec_file.parse(spec_of(margins=margins)).query[0])

    assert tables(True) == (7, 3, 5, 6, 1, 2, 4, 0)
    assert tables([[], ["age", "region"]]) == (5, 0)
    assert tables([[], ["age", "region", "sex"]]) == (7, 0)
    assert tables(False) == ()
    plan = plan_of(spec_of(margins=[[], ["age", "region"]]))
    assert [part.name for part in plan.noisy_parts] == [
        "people_by_region_age", "people_total"
    ]  # fmt: skip


PRIVATE = {"region": {"keys": "private"}, "sex": ["f", "m"]}


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"margins": []}, "at least one table"),
        ({"group_by": {"sex": ["f", "m"]}}, "2 to 6 columns"),
        ({"margins": [["reg"]]}, "columns of group_by, got 'reg'"),
        ({"margins": [["sex"], ["sex"]]}, "given twice"),
        ({"margins": [["sex", "sex"]]}, "given twice"),
        ({"margins": [["sex", "age"]], "round": True, "clamp": True}, "list the table by all"),
        ({"margins": "all"}, "margins"),
        ({"statistics": ["count", "std(age)"]}, "another query for std_age"),
        ({"statistics": ["count", "var(age)"]}, "another query for var_age"),
        ({"statistics": ["median(age)"]}, "another query for median_age"),
        ({"statistics": ["ratio(sum(age), count)"]}, "another query for ratio_sum_age_by_count"),
        ({"statistics": []}, "Margins are of counts, sums and means"),
        ({"round": True}, "wouldn't add up"),
        ({"clamp": True}, "wouldn't add up"),
        ({"group_by": PRIVATE}, "keys that nobody listed"),
        ({"group_by": {"a b": [1], "sex": ["f"]}}, "in [derive]"),
        ({"group_by": {"region": [*range(300)], "age": [*range(300)]}}, "65,536 cells"),
    ],
)
def test_what_is_refused(part: dict[str, Any], text: str) -> None:
    raw = spec_of(privacy={"delta": "1e-6"}, **part)
    raw["columns"] = {"age": {"bounds": [0, 100]}}
    with pytest.raises(SpecError) as caught:
        spec_file.lay_out(raw)
    assert text in str(caught.value)


def test_names_and_persons_that_are_refused() -> None:
    two = spec_of()
    two["query"].append(two["query"][0] | {"name": "people_Total", "margins": False})
    with pytest.raises(SpecError, match="used twice"):
        spec_file.lay_out(two)
    with pytest.raises(SpecError, match="can't have other statistics"):
        spec_file.lay_out(spec_of(unit="who", statistics=["count", "count_units"]))
    with pytest.raises(SpecError, match="several groups"):
        spec_file.lay_out(spec_of(unit="who", statistics=["count_units"]))
    with pytest.raises(SpecError, match="max_rows"):
        spec_file.lay_out(spec_of(unit="who") | {"contribution": {"l2": 3}})


@pytest.mark.grid
@pytest.mark.parametrize("margins", [[["sex"]], [["sex"], []], [[]]])
def test_columns_of_no_listed_table_decide_which_rows_count(margins: list[list[str]]) -> None:
    """A row outside the regions, sexes or ages of group_by is in no table, whichever are listed."""
    rows = [*ROWS, (3, 0, "x", 10), (3, 2, "m", 60)]
    layout = cells_of(spec_of(margins=margins))
    (exact,) = integers_of(spec_of(margins=margins), [tuple(rows)])
    counts = dict.fromkeys("fm", 0)
    for _, region, sex, age in rows:
        if region in {0, 1, 2} and sex in counts and 0 <= age <= 60:
            counts[sex] += 1
    wanted = [*counts.values()] if layout.axes else [sum(counts.values())]
    assert (exact >> layout.bits).tolist() == wanted
    assert len(layout.grouped) == 3
