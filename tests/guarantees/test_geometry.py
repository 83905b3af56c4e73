"""Geometries: the length that noise must hide, against all corners of the set of shifts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.geometry import Blocks, CellGeometry, CountEllipse, Geometry, Matrix
from leastnoise.guarantees.sensitivity import L2, Integer, Neighbours, ShiftBounds
from leastnoise.guarantees.structured import CountingQueries, Groups, Linf, Vertices

SHARED = st.fractions(min_value=Fraction(-9, 100), max_value=1, max_denominator=1000)
OFFSET = st.fractions(min_value=-1, max_value=1, max_denominator=1000)
TOTAL = st.fractions(min_value=Fraction(1, 100), max_value=9, max_denominator=1000)
BOUND = st.fractions(min_value=Fraction(1, 10), max_value=5, max_denominator=100)
NEIGHBOURS = st.sampled_from(["add-remove", "replace-one"])


def matrix_of(geometry: Geometry) -> np.ndarray:
    """The matrix W, by inverting the geometry's map back in floats."""
    unit = np.eye(geometry.dimension)
    return np.linalg.inv(np.stack([geometry.restore(row) for row in unit], axis=1))


def records(queries: int, most: int) -> Iterator[tuple[int, ...]]:
    return (x for x in itertools.product((0, 1), repeat=queries) if sum(x) <= most)


def shifts_of(one: CountingQueries) -> np.ndarray:
    """Every way in which a record of zeros and bounds can move the sums (and the count)."""
    corners = [(*x, 1) for x in records(one.dimension, one.max_nonzero)]
    if one.neighbours == "add-remove":
        vertices = np.array(corners, dtype=float)
    else:
        pairs = itertools.product(corners, repeat=2)
        vertices = np.array([np.subtract(x, y) for x, y in pairs], dtype=float)
    vertices[:, :-1] *= float(one.bound)
    return vertices if one.with_total else vertices[:, :-1]


def check(shifts: ShiftBounds | None, longest: float) -> None:
    assert shifts is not None
    assert isinstance(shifts.inner, L2)
    assert isinstance(shifts.outer, L2)
    assert shifts.inner.bound <= shifts.outer.bound <= shifts.inner.bound * (1 + Fraction(1, 2**51))
    assert float(shifts.outer.bound) == pytest.approx(longest, rel=1e-9)


@pytest.mark.dense
@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    queries=st.integers(1, 6),
    data=st.data(),
    shared=SHARED,
    offset=OFFSET,
    total=TOTAL,
    bound=BOUND,
    neighbours=NEIGHBOURS,
    with_total=st.booleans(),
)
def test_the_longest_image_is_that_of_some_corner(
    *,
    queries: int,
    data: st.DataObject,
    shared: Fraction,
    offset: Fraction,
    total: Fraction,
    bound: Fraction,
    neighbours: Neighbours,
    with_total: bool,
) -> None:
    most = data.draw(st.integers(1, queries))
    with_total = with_total and neighbours == "add-remove"
    geometry = CountEllipse(
        queries=queries,
        shared=shared,
        offset=offset if with_total else 0,
        total=total if with_total else 0,
    )
    sensitivity = CountingQueries(
        dimension=queries,
        max_nonzero=most,
        neighbours=neighbours,
        with_total=with_total,
        bound=bound,
    )
    images = shifts_of(sensitivity) @ matrix_of(geometry).T
    check(geometry.shifts(sensitivity), float(np.linalg.norm(images, axis=1).max()))


@pytest.mark.parametrize("queries", [9, 12])
@pytest.mark.parametrize("shared", ["-0.07", "-0.05", "-0.02", "0.1"])
def test_every_corner_of_twelve_queries(queries: int, shared: str) -> None:
    for most in range(1, queries + 1):
        sensitivity = CountingQueries(dimension=queries, max_nonzero=most)
        geometry = CountEllipse(queries=queries, shared=shared)
        images = shifts_of(sensitivity) @ matrix_of(geometry).T
        check(geometry.shifts(sensitivity), float(np.linalg.norm(images, axis=1).max()))


@pytest.mark.grid
@pytest.mark.parametrize("queries", [60, 1000])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_no_shift_inside_the_set_is_longer(queries: int, neighbours: Neighbours) -> None:
    rng = np.random.default_rng(1)  # makes shifts, no noise
    counted = neighbours == "add-remove"
    geometry = CountEllipse(
        queries=queries, shared=Fraction(-3, 4 * queries), offset=-counted, total=2 * counted
    )
    sensitivity = CountingQueries(
        dimension=queries, max_nonzero=queries // 3, neighbours=neighbours, with_total=counted
    )
    shifts = geometry.shifts(sensitivity)
    assert shifts is not None
    assert isinstance(shifts.outer, L2)
    w = matrix_of(geometry)

    def record() -> np.ndarray:
        x = np.zeros(queries + counted)
        size = rng.integers(0, queries // 3 + 1)
        x[rng.choice(queries, size, replace=False)] = rng.choice([1.0, rng.random()], size)
        if counted:
            x[-1] = 1
        return x

    for _ in range(300):
        shift = record() - (record() if neighbours == "replace-one" else 0)
        assert np.linalg.norm(w @ shift) <= float(shifts.outer.bound)


@pytest.mark.dense
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    groups=st.integers(1, 3),
    queries=st.integers(1, 3),
    shared=SHARED,
    offset=OFFSET,
    total=TOTAL,
    bound=BOUND,
    neighbours=NEIGHBOURS,
)
def test_groups_against_every_corner(
    *,
    groups: int,
    queries: int,
    shared: Fraction,
    offset: Fraction,
    total: Fraction,
    bound: Fraction,
    neighbours: Neighbours,
) -> None:
    sensitivity = Groups(groups=groups, dimension=queries, neighbours=neighbours, bound=bound)
    geometry = Blocks(groups=groups, queries=queries, shared=shared, offset=offset, total=total)
    corners = []
    for group in range(groups):
        for x in records(queries, queries):
            vector = np.zeros((groups, queries + 1))
            vector[group] = (*(float(bound) * np.array(x)), 1)
            corners.append(vector.reshape(-1))
    values = np.array(corners)
    if neighbours == "replace-one":
        values = (values[:, None, :] - values[None, :, :]).reshape(-1, values.shape[1])
    images = values @ matrix_of(geometry).T
    check(geometry.shifts(sensitivity), float(np.linalg.norm(images, axis=1).max()))
    radius = sensitivity.radius("l2", dimension=sensitivity.coordinates)
    assert radius is not None
    assert float(radius) == pytest.approx(np.linalg.norm(values, axis=1).max(), rel=1e-12)


def test_a_matrix_and_its_points() -> None:
    points = [["1", "0", "0"], ["1", "1", "0.5"], ["-2", "0.25", "1"]]
    rows = [["2", "1", "0"], ["0", "1", "0.5"], ["1", "0", "3"]]
    geometry, vertices = Matrix(rows=rows), Vertices(points)
    w = np.array(rows, dtype=float)
    images = np.array(points, dtype=float) @ w.T
    check(geometry.shifts(vertices), float(np.linalg.norm(images, axis=1).max()))
    assert geometry.shifts(Vertices([["1", "0"]])) is None


@pytest.mark.parametrize(
    "geometry",
    [
        CountEllipse(queries=5, shared="-0.1"),
        CountEllipse(queries=5, shared="-0.1", offset="-0.4", total="1.5"),
        CountEllipse(queries=1, offset="-0.5", total="1.5"),
        Blocks(groups=3, queries=4, shared="0.3", offset="-0.5", total=2),
        Matrix(rows=[[2, 1], [0, 3]]),
        CellGeometry(count=4),
    ],
)
def test_covariance_and_deviations_are_those_of_the_inverse(geometry: Geometry) -> None:
    inverse = np.linalg.inv(matrix_of(geometry))
    np.testing.assert_allclose(geometry.covariance(), inverse @ inverse.T, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(geometry.deviations**2, np.diag(geometry.covariance()), rtol=1e-12)
    counted = [value for value, count in geometry.counted_deviations for _ in range(count)]
    assert sorted(counted) == sorted(geometry.deviations)


def test_w_is_what_its_offsets_say() -> None:
    geometry = CountEllipse(queries=3, shared="-0.2", offset="-0.5", total="1.5")
    sums, n = np.array([4.0, 1.0, 7.0]), 9.0
    added, more = geometry.offsets(Fraction(12), Fraction(9))
    image = np.append(sums + float(added), n + float(more))
    np.testing.assert_allclose(matrix_of(geometry) @ np.append(sums, n), image, rtol=1e-12)


def test_cells_hide_one_number() -> None:
    cells = CellGeometry(count=7)
    assert cells.shifts(Linf(2)) == ShiftBounds.of(L2(2))
    assert cells.shifts(Linf(2, whole=True)) == ShiftBounds.of(Integer(2))
    assert cells.shifts(L2(1)) is None


def test_cells_that_move_together_are_so_many_draws() -> None:
    cells = CellGeometry(count=7)
    assert [cells.draws(Linf(2, l0=k)) for k in (1, 3, 7, 20)] == [1, 3, 7, 7]
    assert cells.shifts(Linf(2, l0=3)) == ShiftBounds.of(L2(2))
    assert CountEllipse(queries=3).draws(CountingQueries(dimension=3)) == 1


def test_other_problems_sensitivities_are_refused() -> None:
    plain, counted = CountEllipse(queries=3), CountEllipse(queries=3, offset="-0.5", total=1)
    assert plain.shifts(CountingQueries(dimension=4)) is None
    assert plain.shifts(CountingQueries(dimension=3, with_total=True)) is None
    assert counted.shifts(CountingQueries(dimension=3)) is None
    assert plain.shifts(L2(1)) is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: CountEllipse(queries=4, shared="-0.25"),
        lambda: CountEllipse(queries=4, total=-1),
        lambda: CountEllipse(queries=4, offset=1),
        lambda: Matrix(rows=[[1, 2], [2, 4]]),
        lambda: Matrix(rows=[[1, 2]]),
        lambda: CellGeometry(count=0),
        lambda: Blocks(groups=2, queries=2, total=0),
        lambda: CountingQueries(dimension=3, max_nonzero=4),
        lambda: CountingQueries(dimension=3, neighbours="both"),  # pyright: ignore[reportArgumentType]
        lambda: CountingQueries(dimension=3, neighbours="replace-one", with_total=True),
        lambda: Linf(1, l0=0),
        lambda: Linf("0.5", whole=True),
        lambda: Vertices([]),
        lambda: Vertices([[1, 2], [1]]),
        lambda: Vertices([[0, 0]]),
    ],
)
def test_nonsense_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidArgument):
        wrong()  # pyright: ignore[reportCallIssue]
