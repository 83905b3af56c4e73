"""Layouts: dimension, clip and bits, against brute force over all ways to spread rows."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest

from leastnoise.errors import SpecError
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.plain import Box
from leastnoise.guarantees.exact import root_above
from leastnoise.guarantees.sensitivity import L1, L2, Integer, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Linf, Within
from leastnoise.tables.answers.kinds import lay_out_query
from leastnoise.tables.layout.boundings.in_ball import InBall
from leastnoise.tables.layout.boundings.in_cells import InCells
from leastnoise.tables.layout.boundings.once_in_cells import OnceInCells
from leastnoise.tables.layout.layout import Layout
from leastnoise.tables.parse import spec_file
from leastnoise.tables.spec.model import Spec
from leastnoise.tables.statistics.registry import parse_query


def counting(dimension: int, most: int, bound: int = 1) -> CountingQueries:
    return CountingQueries(dimension=dimension, max_nonzero=most, bound=bound)


def parsed(
    statistics: list[str], *, keys: int = 1, unit: str = "u", clip: dict[str, Any] | None = None
) -> Spec:
    raw: dict[str, Any] = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": unit, "epsilon": 1, "delta": "1e-6"},
        "columns": {
            "a": {"bounds": [-1, 3], "missing": "none"},
            "b": {"bounds": [-2, 2], "missing": 0},
            "gaps": {"bounds": [-1, 3]},
            "other": {"bounds": [5, 7], "missing": "skip"},
        },
        "query": [{"name": "q", "statistics": statistics, "group_by": {"k": list(range(keys))}}],
    }
    if unit != "row":
        raw["contribution"] = clip or {"max_rows": 3}
    return spec_file.parse(raw)


def layout(
    statistics: list[str], *, keys: int = 1, unit: str = "u", clip: dict[str, Any] | None = None
) -> Layout:
    spec = parsed(statistics, keys=keys, unit=unit, clip=clip)
    ((first, *_),) = lay_out_query(parse_query(spec, spec.query[0]))
    return first  # as the limits say; others fill all cells


def largest(shape: Layout, norm: str, *, rows: int) -> Fraction:
    """The largest gauge, or squared l2 norm, of a shift by `rows` rows, however they are spread."""
    sizes = []
    for spread in itertools.combinations_with_replacement(range(shape.cells), rows):
        counts = [spread.count(cell) for cell in set(spread)]
        if norm == "gauge":
            sizes.append(sum(counts))
        else:
            sizes.append(sum(len(shape.components) * count**2 for count in counts))
    return Fraction(max(sizes))


@pytest.mark.grid
@pytest.mark.parametrize("rows", [1, 2, 3, 5])
@pytest.mark.parametrize("keys", [1, 2, 4, 9])
@pytest.mark.parametrize(
    ("statistics", "numbers"),
    [
        (["count", "sum(a)"], 2),
        (["mean(a)", "count", "sum(a)"], 2),  # the sum is made of what the mean is
        (["mean(b)", "sum(b)"], 2),  # symmetric bounds: one scalar serves both
        (["mean(gaps)"], 2),
        (["count", "mean(gaps)", "sum(b)"], 4),  # rows, and values
        (["mean(gaps)", "count(gaps)", "mean(other)"], 4),
    ],
)
def test_several_numbers_of_a_cell_move_within_boxes(
    *, rows: int, keys: int, statistics: list[str], numbers: int
) -> None:
    """The body is exactly the hull of the shifts by these rows, and the ball is the least."""
    shape = layout(statistics, keys=keys, clip={"max_rows": rows})
    assert shape.dimension == keys * numbers
    *shaped, ball = shape.sensitivities
    (within,) = shaped
    assert isinstance(within, Within)
    assert isinstance(ball, L2)
    box = Box(bounds=[rows] * numbers)
    assert within.hull == (box if keys == 1 else Cells(bodies=[box], copies=[keys]))
    assert largest(shape, "gauge", rows=rows) == rows
    assert ball.bound == root_above(largest(shape, "l2", rows=rows))


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("keys", [1, 2, 9])
@pytest.mark.parametrize(
    ("statistics", "values"),
    [
        (["count", "mean(gaps)"], 2),
        (["mean(gaps)", "count", "var(gaps)"], 3),
        (["count(name)", "count"], 1),  # of a text, of which no bounds are known
    ],
)
def test_rows_with_a_value_and_rows_without_move_within_the_hull_of_a_box_and_one_number(
    *, rows: int, keys: int, statistics: list[str], values: int
) -> None:
    shape = layout(statistics, keys=keys, clip={"max_rows": rows})
    within, ball = shape.sensitivities
    assert isinstance(within, Within)
    assert isinstance(ball, L2)
    root = shape.numbers.without
    assert 0 <= values - root**2 < values / 2**6
    parts = [Box(bounds=[rows] * values), Box(bounds=[rows * root])]
    cell = Cells(bodies=parts, copies=[1, 1])
    assert within.hull == (cell if keys == 1 else Cells(bodies=[cell], copies=[keys]))
    assert ball.bound == root_above(Fraction(values * rows**2))


def test_persons_and_rows_of_a_query_are_two_parts() -> None:
    """A person adds 1 to a cell's persons, and as much as five to its rows."""
    spec = parsed(["count", "count_units", "sum(b)"], keys=3, clip={"max_rows": 5})
    (rows,), (persons,) = lay_out_query(parse_query(spec, spec.query[0]))
    assert (rows.label, persons.label) == ("q.rows", "q.persons")
    assert (rows.places, persons.places) == ((0, 2), (1,))
    box = Box(bounds=[5, 5])
    assert rows.sensitivities[0] == Within(Cells(bodies=[box], copies=[3]))
    assert persons.sensitivities[0] == counting(3, 3)
    spec = parsed(["count_units", "count"], keys=3, clip={"max_rows": 5})
    assert [part.label for (part,) in lay_out_query(parse_query(spec, spec.query[0]))] == [
        "q.persons",
        "q.rows",
    ]


COUNT_OF_5 = InCells(per_cell=Fraction(5), total=Fraction(5))


@pytest.mark.parametrize(
    ("statistics", "keys", "clip", "sensitivities"),
    [
        (["count"], 1, {"max_rows": 5}, (Integer(5),)),
        (["count"], 9, {"max_rows": 5}, (L1(5), L2(5))),
        (["count"], 9, {"max_rows": 1}, (Linf(1, whole=True),)),
        (["count_units"], 9, {"max_rows": 1}, (Linf(1, whole=True),)),
        (["count"], 9, {"max_rows": 5, "max_groups": 1}, (Linf(5, whole=True),)),
        (["count(gaps)"], 1, {"max_rows": 5}, (Integer(5),)),
        (["count(a)", "count(b)", "count"], 1, {"max_rows": 5}, (Integer(5),)),  # all are rows
        (["count(gaps)"], 9, {"max_rows": 1}, (Linf(1, whole=True),)),
        (["count_units"], 1, {"max_rows": 5}, (Integer(1),)),
        (["count_units"], 9, {"max_rows": 5}, (counting(9, 5), Linf(1, l0=5, whole=True), L1(5))),
        (["count_units"], 3, {"max_rows": 5}, (counting(3, 3), Linf(1, l0=3, whole=True), L1(3))),
        (["count_units"], 9, {"max_groups": 2}, (counting(9, 2), Linf(1, l0=2, whole=True), L1(2))),
        (
            ["count"], 9, {"max_rows_per_group": 1, "max_groups": 2},
            (counting(9, 2), Linf(1, l0=2, whole=True), L1(2)),
        ),
        (
            ["count"], 9, {"max_rows_per_group": 2, "max_groups": 3},
            (counting(9, 3, 2), Linf(2, l0=3, whole=True), L1(6), L2(root_above(Fraction(12)))),
        ),
        (
            ["count"], 9, {"max_rows_per_group": 2, "max_groups": 3, "max_rows": 5},
            (L1(5), L2(root_above(Fraction(10)))),
        ),
        (["sum(a)"], 1, {"max_rows": 5}, (L1(5),)),
        (["sum(a)"], 9, {"max_rows": 5}, (L1(5), L2(5))),
        (["sum(a)"], 9, {"max_rows": 5, "max_groups": 1}, (Linf(5),)),
        (
            ["sum(a)"], 2, {"max_rows_per_group": 2},
            (Linf(2, l0=2), L1(4), L2(root_above(Fraction(8)))),
        ),
        (["count"], 9, {"l1": "2.5"}, (L1("2.5"), L2("2.5"))),
        (["count", "sum(a)"], 9, {"l1": "2.5"}, (L1("2.5"), L2("2.5"))),
        (["count"], 9, {"l2": "2.5"}, (L2("2.5"),)),
    ],
)  # fmt: skip
def test_what_one_person_can_do(
    statistics: list[str], keys: int, clip: dict[str, Any], sensitivities: tuple[Sensitivity, ...]
) -> None:
    assert layout(statistics, keys=keys, clip=clip).sensitivities == sensitivities


def test_a_box_where_all_cells_may_move_at_once() -> None:
    shape = layout(["count", "sum(a)"], keys=3, clip={"max_rows_per_group": 2})
    cells = Within(Cells(bodies=[Box(bounds=[6, 6])], copies=[3]))
    assert shape.sensitivities[:2] == (cells, Within(Box(bounds=[2] * 6)))


def test_each_kind_of_limit_is_a_way_of_its_own() -> None:
    spec = parsed(["count"], keys=9, clip={"max_rows": 5, "l1": 4, "l2": 3})
    boundings = [shape.bounding for shape in lay_out_query(parse_query(spec, spec.query[0]))[0]]
    by_number = InCells(per_cell=Fraction(4), total=Fraction(4), by_number=True)
    assert boundings == [COUNT_OF_5, by_number, InBall(squared=Fraction(9))]


def test_limits_that_bound_nobody_are_refused() -> None:
    with pytest.raises(SpecError, match=r"query\[0\]: .*Nothing in \[contribution\] limits"):
        layout(["count"], keys=9, clip={"max_groups": 2})


@pytest.mark.parametrize(
    ("statistics", "clip", "sensitivity"),
    [
        (["count"], {"l2": 3}, Integer(3)),
        (["count"], {"l2": "2.5"}, L2("2.5")),  # a person of three rows adds two and a half
        (["count_units"], {"l2": "2.5"}, Integer(1)),
        (["count_units"], {"l2": "0.5"}, L2("0.5")),
        (["count_units"], {"l1": "1.5"}, Integer(1)),
        (["sum(a)"], {"l2": 3}, L2(3)),
    ],
)
def test_one_count_moves_by_whole_numbers(
    statistics: list[str], clip: dict[str, Any], sensitivity: Sensitivity
) -> None:
    assert layout(statistics, keys=1, clip=clip).sensitivities == (sensitivity,)
    grouped = layout(statistics, keys=2, clip=clip)
    assert not any(isinstance(item, Integer) for item in grouped.sensitivities)


def test_rows_as_units() -> None:
    assert layout(["count"], unit="row", keys=1).sensitivities == (Integer(1),)
    counts = layout(["count", "count_units"], unit="row", keys=5)
    assert counts.sensitivities == (Linf(1, whole=True),)
    assert layout(["sum(a)"], unit="row", keys=5).sensitivities == (Linf(1),)
    assert layout(["count(gaps)"], unit="row", keys=1).sensitivities == (Integer(1),)
    shape = layout(["count", "mean(a)"], unit="row", keys=5)
    cells = Within(Cells(bodies=[Box(bounds=[1, 1])], copies=[5]))
    assert shape.sensitivities == (cells, L2(root_above(Fraction(2))))
    assert shape.bits == 28


@pytest.mark.parametrize(("keys", "rows"), [(1, 1), (10, 5), (1000, 100), (100_000, 10)])
@pytest.mark.parametrize("clip", ["max_rows", "l2", "l1"])
def test_sizes_and_totals_stay_exact(keys: int, rows: int, clip: str) -> None:
    shape = layout(["count", "sum(a)"], keys=keys, clip={clip: rows})
    assert not isinstance(shape.bounding, OnceInCells)
    most, limit = shape.bounding.integer_limits(bits=shape.bits)
    if clip == "l2":
        sizes = shape.dimension * most**2
    else:
        sizes = (shape.dimension if clip == "l1" else shape.cells) * most
    assert sizes < 2**53
    assert limit < 2**53
    assert 2**34 * 2**shape.bits < 2**63
    assert 2**34 * most < 2**63
    finer = sizes * (4 if clip == "l2" else 2) * 1.01 >= 2**53 or 2 * most * 2**34 >= 2**63
    assert shape.bits == 28 or finer  # no bit is wasted


@pytest.mark.parametrize("clip", [{"l1": "1e30"}, {"l2": "1e30"}, {"l2": "1e-9"}, {"l1": "1e-9"}])
def test_what_can_not_be_summed_exactly_is_refused(clip: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=r"query\[0\]"):
        layout(["count", "sum(a)"], keys=3, clip=clip)


PROMISED = (
    "The spec promises that no value of a is missing. A value that is missing anyway counts as 1, "
    "the middle of its bounds."
)


def test_what_missing_values_do_is_said_of_every_column_that_is_used() -> None:
    spec = parsed(["mean(gaps)", "count(gaps)", "sum(b)", "mean(a)", "count(name)"])
    ((shape,),) = lay_out_query(parse_query(spec, spec.query[0]))
    assert shape.missing == (
        "Rows where gaps is missing are left out of the mean and count of gaps.",
        "A missing value of b counts as 0.",
        PROMISED,
        "Rows where name is missing are left out of the count of name.",
        "Rows are left out if k is missing or not one of its keys.",
    )


def test_a_number_for_missing_values_is_in_no_list_of_keys() -> None:
    where = {"a": {"b": {"min": 2}}, "b": {"b": {"among": [3]}}, "c": {"other": {"max": 6}}}
    spec = parsed(["count"])
    query = spec_file.parse(
        spec_file.to_dict(spec) | {"query": [{"name": "q", "conditions": where}]}
    )
    ((shape,),) = lay_out_query(parse_query(spec, query.query[0]))
    assert shape.missing == (
        "A missing value of b counts as 0.",
        "A condition on other is false where the value is missing.",
        "A condition on the keys of b is false where the value is missing.",
    )


def test_a_number_for_missing_values_that_would_be_clamped_is_refused() -> None:
    raw = {
        "version": 1,
        "data": {"source": "x.parquet"},
        "privacy": {"unit": "row", "epsilon": 1},
        "query": [{"name": "q", "statistics": ["mean(x)"]}],
    }
    for missing in (0, 31):
        with pytest.raises(SpecError, match=r"columns\.x\.missing: Expected a number within"):
            spec_file.parse(raw | {"columns": {"x": {"bounds": [5, 30], "missing": missing}}})
    for missing in ("no", "", True, [1], {}):
        with pytest.raises(SpecError, match=r'columns\.x\.missing: Expected "skip", a number'):
            spec_file.parse(raw | {"columns": {"x": {"bounds": [5, 30], "missing": missing}}})
    for missing in ("skip", "none", 5, "7.5", 30):
        spec = spec_file.parse(raw | {"columns": {"x": {"bounds": [5, 30], "missing": missing}}})
        assert spec_file.loads(spec_file.dumps(spec)) == spec
