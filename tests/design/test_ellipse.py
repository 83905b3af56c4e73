"""Ellipses of noise: their variances, against closed forms, theory and each other."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.design.programs import ellipse
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.geometry import Blocks, CountEllipse, Geometry
from leastnoise.guarantees.sensitivity import L2, Neighbours, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Groups, Vertices
from tests.grids import thin


def variances(geometry: Geometry, sensitivity: Sensitivity) -> np.ndarray:
    """Each coordinate's variance in units of 1/μ², for Gaussian noise that hides the outer ball."""
    shifts = geometry.shifts(sensitivity)
    assert shifts is not None
    assert isinstance(shifts.outer, L2)
    return (geometry.deviations * float(shifts.outer.bound)) ** 2


def best(dimension: int, most: int | None = None, **more: object) -> np.ndarray:
    queries = CountingQueries(dimension=dimension, max_nonzero=most, **more)  # pyright: ignore[reportArgumentType]
    return variances(ellipse.least_variance(queries), queries)


# From the reference values: closed form (d + 2√(d−1))/4 confirmed by a 2-parameter minimisation,
# and for k = d a minimisation over all corner constraints.
@pytest.mark.parametrize(
    ("dimension", "most", "variance", "error"),
    [
        (2, 1, 1.0, 1e-9),
        (4, 2, 1.86602540378, 1e-9),
        (10, 5, 4.0, 1e-9),
        (20, 10, 7.17944947177, 1e-9),
        (1000, 500, 265.803480629, 1e-9),
        (1000, 1000, 266.061351564, 1e-7),
        (2, 2, 4 / 3, 1e-12),
        (10, 10, 4.30769231, 1e-8),
        (4, 4, 9 / 4, 1e-12),  # a perfect square: Algorithm 1 is optimal
        (100, 100, 121 / 4, 1e-12),
    ],
)
def test_known_variances(dimension: int, most: int, variance: float, error: float) -> None:
    np.testing.assert_allclose(best(dimension, most), variance, rtol=error)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    dimension=st.integers(2, 100), data=st.data(), neighbours=st.sampled_from(["add", "replace"])
)
def test_no_other_ellipse_has_less_variance(
    *, dimension: int, data: st.DataObject, neighbours: str
) -> None:
    most = data.draw(st.integers(1, dimension))
    queries = CountingQueries(
        dimension=dimension,
        max_nonzero=most,
        neighbours="add-remove" if neighbours == "add" else "replace-one",
    )
    least = variances(ellipse.least_variance(queries), queries)[0]
    ratios = np.exp(np.linspace(-2 * math.log(dimension + 1), math.log(dimension + 1), 400))
    for ratio in ratios:  # of V to U
        other = CountEllipse(queries=dimension, shared=Fraction((math.sqrt(ratio) - 1) / dimension))
        assert variances(other, queries)[0] >= least * (1 - 1e-9)


@pytest.mark.grid
@pytest.mark.parametrize("dimension", thin([1, 2, 3, 7, 10, 30, 100], 3))
def test_with_the_total_nothing_nearby_is_better(dimension: int) -> None:
    rng = np.random.default_rng(dimension)  # makes directions, no noise
    for most in {1, (dimension + 1) // 2, dimension}:
        queries = CountingQueries(dimension=dimension, max_nonzero=most, with_total=True)
        optimum = ellipse.least_variance(queries)
        least = variances(optimum, queries).sum()
        assert least <= variances(ellipse.lebeda(dimension), queries).sum() * (1 + 1e-9)
        at = np.array([optimum.shared, optimum.offset, optimum.total], dtype=float)
        for size in (1e-3, 1e-2, 0.1):
            for _ in range(40):
                shared, offset, total = at + size * np.abs(at).max() * rng.normal(size=3)
                if 1 + dimension * shared <= 0 or total <= 0:
                    continue
                other = CountEllipse(
                    queries=dimension,
                    shared=Fraction(shared),
                    offset=Fraction(offset),
                    total=Fraction(total),
                )
                assert variances(other, queries).sum() >= least * (1 - 1e-7)


@pytest.mark.parametrize("dimension", [1, 2, 5, 10, 64, 1000])
@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.0])
def test_algorithm_1_has_the_errors_of_lemma_3_5(dimension: int, ratio: float) -> None:
    c = ratio * dimension**0.25
    queries = CountingQueries(dimension=dimension, with_total=True)
    errors = variances(ellipse.lebeda(dimension, weight=c), queries)
    np.testing.assert_allclose(errors[:-1], (dimension + c * c) * (1 + 1 / c**2) / 4, rtol=1e-12)
    np.testing.assert_allclose(errors[-1], 1 + dimension / c**2, rtol=1e-12)
    if ratio == 1.0:
        plain = ellipse.lebeda(dimension)
        np.testing.assert_allclose(
            variances(plain, queries)[0], (math.sqrt(dimension) + 1) ** 2 / 4
        )


def test_algorithm_1_has_the_covariance_of_corollary_3_1() -> None:
    d, root = 9, 3.0
    queries = CountingQueries(dimension=d, with_total=True)
    geometry = ellipse.lebeda(d)
    shifts = geometry.shifts(queries)
    assert shifts is not None
    assert isinstance(shifts.outer, L2)
    covariance = geometry.covariance() * float(shifts.outer.bound) ** 2
    eta, z = (root + 1) / 4, (d + root) / 4  # f + η1 + Z and n + 2η
    expected = np.full((d + 1, d + 1), eta)
    np.fill_diagonal(expected, eta + z)
    expected[-1, :] = expected[:, -1] = 2 * eta
    expected[-1, -1] = 4 * eta
    np.testing.assert_allclose(covariance, expected, rtol=1e-12)


def test_the_count_ellipse_of_joseph_and_yu() -> None:
    queries = CountingQueries(dimension=10, max_nonzero=5)
    np.testing.assert_allclose(variances(ellipse.least_variance(queries), queries), 4.0, rtol=1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 3, 6])
def test_algorithm_2_with_its_erratum(dimension: int) -> None:
    replaced = Groups(groups=3, dimension=dimension, neighbours="replace-one")
    errors = variances(ellipse.grouped(replaced), replaced)
    # η of variance 1/μ² in each query, z of variance d/μ²; the count's noise is 2η
    np.testing.assert_allclose(errors[0], dimension + 1, rtol=1e-12)
    np.testing.assert_allclose(errors[dimension], 4, rtol=1e-12)
    added = Groups(groups=3, dimension=dimension)
    queries = CountingQueries(dimension=dimension, with_total=True)
    expected = variances(ellipse.lebeda(dimension), queries)
    np.testing.assert_allclose(variances(ellipse.grouped(added), added), np.tile(expected, 3))


@pytest.mark.parametrize("bound", ["0.3", "2.5"])
@pytest.mark.parametrize("dimension", [1, 2, 9])
def test_algorithms_1_and_2_for_values_up_to_another_bound(dimension: int, bound: str) -> None:
    """They are applied to v/b: the sums have b² the variance, the counts the same."""
    factor = np.append(np.full(dimension, float(bound) ** 2), 1)
    queries = CountingQueries(dimension=dimension, with_total=True)
    other = CountingQueries(dimension=dimension, with_total=True, bound=bound)
    np.testing.assert_allclose(
        variances(ellipse.lebeda(dimension, bound=other.bound), other),
        variances(ellipse.lebeda(dimension), queries) * factor,
        rtol=1e-12,
    )
    for neighbours in ("add-remove", "replace-one"):
        unit = Groups(groups=2, dimension=dimension, neighbours=neighbours)
        scaled = Groups(groups=2, dimension=dimension, neighbours=neighbours, bound=bound)
        np.testing.assert_allclose(
            variances(ellipse.grouped(scaled), scaled),
            variances(ellipse.grouped(unit), unit) * np.tile(factor, 2),
            rtol=1e-12,
        )


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    ("dimension", "bound"), thin([(1, "1"), (2, "0.3"), (5, "1"), (20, "2.5")], 2)
)
def test_no_block_nearby_has_less_variance(
    dimension: int, bound: str, neighbours: Neighbours
) -> None:
    rng = np.random.default_rng(dimension)  # makes directions, no noise
    groups = Groups(groups=3, dimension=dimension, neighbours=neighbours, bound=bound)
    optimum = ellipse.least_groups(groups)
    least = variances(optimum, groups).sum()
    assert least <= variances(ellipse.grouped(groups), groups).sum() * (1 + 1e-9)
    at = np.array([optimum.shared, optimum.offset, optimum.total], dtype=float)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(40):
            shared, offset, total = at + size * np.abs(at).max() * rng.normal(size=3)
            if 1 + dimension * shared <= 0 or total <= 0:
                continue
            other = Blocks(
                groups=3,
                queries=dimension,
                shared=Fraction(shared),
                offset=Fraction(offset),
                total=Fraction(total),
            )
            assert variances(other, groups).sum() >= least * (1 - 1e-7)


@pytest.mark.parametrize(("eta", "longest"), [(4.0, 1.0), (1.0, 1.0), (0.5, 1.5)])
@pytest.mark.parametrize("dimension", [1, 2, 3, 6])
def test_the_reference_values_of_algorithm_2(dimension: int, eta: float, longest: float) -> None:
    # "correlated_gaussian Algorithm 2 replacement": max vᵀΣ⁻¹v by vertex enumeration, z = d
    total = math.sqrt(dimension / (4 * eta))  # Var n = 4η = d/total²
    geometry = Blocks(groups=2, queries=dimension, offset=Fraction(-1, 2), total=Fraction(total))
    shifts = geometry.shifts(Groups(groups=2, dimension=dimension, neighbours="replace-one"))
    assert shifts is not None
    assert isinstance(shifts.outer, L2)
    assert float(shifts.outer.bound) ** 2 / dimension == pytest.approx(longest, rel=1e-12)


@pytest.mark.parametrize(
    ("dimension", "with_count", "longest"),
    [(5, True, 1.0), (5, False, 0.988854382), (10, True, 1.0), (10, False, 0.995949225214)],
)
def test_the_reference_values_of_theorem_3_1(
    dimension: int, with_count: bool, longest: float
) -> None:
    queries = CountingQueries(dimension=dimension, with_total=True)
    geometry = ellipse.lebeda(dimension)
    shifts = geometry.shifts(queries)
    assert shifts is not None
    assert isinstance(shifts.outer, L2)
    covariance = geometry.covariance() * float(shifts.outer.bound) ** 2
    if not with_count:
        covariance = covariance[:-1, :-1]
    inverse = np.linalg.inv(covariance)
    corners = [
        np.array([*x, 1][: dimension + with_count], dtype=float)
        for x in itertools.product((0, 1), repeat=dimension)
    ]
    assert max(v @ inverse @ v for v in corners) == pytest.approx(longest, rel=1e-9)


@pytest.mark.parametrize("dimension", [2, 3, 4])
def test_the_ellipsoid_of_a_cube_is_the_count_ellipse(dimension: int) -> None:
    points = Vertices([x for x in itertools.product((0, 1), repeat=dimension) if any(x)])
    errors = variances(ellipse.least_trace(points), points)
    np.testing.assert_allclose(errors.sum(), best(dimension).sum(), rtol=1e-6)


def test_the_ellipsoid_of_points_on_the_axes_is_that_of_their_lengths() -> None:
    # min Σ sᵢ with aᵢ²/sᵢ <= 1 has sᵢ = aᵢ²: each axis by itself
    points = Vertices([["3", "0"], ["0", "0.5"]])
    np.testing.assert_allclose(variances(ellipse.least_trace(points), points), [9, 0.25], rtol=1e-5)


def test_points_that_do_not_span_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="span"):
        ellipse.least_trace(Vertices([[1, 1], [2, 2]]))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_a_million_queries(neighbours: Neighbours) -> None:
    queries = CountingQueries(dimension=10**6, max_nonzero=1000, neighbours=neighbours)
    plain = queries.radius("l2", dimension=10**6)
    assert plain is not None
    assert variances(ellipse.least_variance(queries), queries)[0] <= float(plain) ** 2
