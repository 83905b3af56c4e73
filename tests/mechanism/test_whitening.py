"""W·v + X rounded exactly, against the same sums in Fractions, for values of all kinds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.guarantees.geometry import Blocks, CellGeometry, CountEllipse, Geometry, Matrix
from leastnoise.mechanism.reading import as_exact
from leastnoise.mechanism.rounding import add_noise, round_sums
from leastnoise.mechanism.values import (
    LARGEST_STEPS,
    Rationals,
    ScaledIntegers,
    Shifted,
)
from leastnoise.mechanism.whitening import whiten
from leastnoise.noise.classic.law import Gaussian
from leastnoise.noise.draw import make_sampler
from leastnoise.noise.radial.law import SphericalLaplace

PLAIN = CountEllipse(queries=5, shared="-0.13")
COUNTED = CountEllipse(queries=4, shared="-0.13", offset="-1/3", total="1.7")
GROUPS = Blocks(groups=2, queries=2, shared="-0.1", offset="-0.5", total="0.9")
MATRIX = Matrix(rows=[[2, "1/3", 0], [0, 1, "0.5"], [1, 0, 3]])
VALUES: list[Any] = [
    np.array([3, -7, 2**40, 1, 0]),
    np.array([0.1, -1e6, 3.75, 1e-30, 0.0]),
    [Fraction(1, 3), 2, 0.25, 10**9, Fraction(-5, 7)],
    ScaledIntegers(numerators=np.array([5, -(2**50), 77, 3, 1]), bits=13),
]


def fractions(values: Any) -> list[Fraction]:
    if isinstance(values, ScaledIntegers):
        return [Fraction(int(v), 2**values.bits) for v in values.numerators]
    return [Fraction(v if isinstance(v, Fraction) else float(v)) for v in values]


def image(geometry: Geometry, values: list[Fraction]) -> list[Fraction]:
    """W·values by its definition."""
    if isinstance(geometry, Matrix):
        return geometry.image(values)
    if isinstance(geometry, Blocks):
        size = geometry.block.dimension
        groups = (values[i : i + size] for i in range(0, len(values), size))
        return [item for group in groups for item in image(geometry.block, group)]
    assert isinstance(geometry, CountEllipse)
    d, n = geometry.queries, values[-1] if geometry.with_total else Fraction(0)
    common = geometry.shared * sum(values[:d]) + geometry.offset * n
    return [v + common for v in values[:d]] + [geometry.total * n] * geometry.with_total


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("geometry", [PLAIN, COUNTED])
@pytest.mark.parametrize("exponent", [-20, -3, 5])
def test_the_image_is_exact(geometry: Geometry, values: Any, exponent: int) -> None:
    # the same bits are added to W·v and to 0: the steps differ by W·v, rounded
    exact = image(geometry, fractions(values))
    noise = Gaussian(scale=3, dimension=5)

    def steps(of: Any) -> np.ndarray:
        entropy = InsecureSeededEntropy(3)
        sampler = make_sampler(noise, grid=Fraction(2) ** exponent, entropy=entropy)
        return round_sums(sampler, exponent, of)

    whitened = steps(whiten(geometry, as_exact(values), exponent))
    direct = steps(as_exact(exact))
    assert whitened.tolist() == direct.tolist()


MANY = Blocks(groups=6000, queries=2, shared="-0.1", offset="-0.5", total="0.9")


@pytest.mark.dense
@pytest.mark.parametrize(("geometry", "size"), [(GROUPS, 6), (MATRIX, 3), (MANY, 18_000)])
def test_groups_and_matrices_too(geometry: Geometry, size: int) -> None:
    values = np.resize(np.array([3.25, -7, 2.0**40, 1, 0.1, 12]), size)
    sums = []
    for of in (whiten(geometry, as_exact(values), -9), image(geometry, fractions(values))):
        entropy = InsecureSeededEntropy(3)
        sampler = make_sampler(
            Gaussian(scale=3, dimension=size), grid=Fraction(1, 512), entropy=entropy
        )
        sums.append(round_sums(sampler, -9, as_exact(of) if isinstance(of, list) else of).tolist())
    assert sums[0] == sums[1]


def test_a_total_that_no_int64_holds_is_exact() -> None:
    geometry = CountEllipse(queries=3, shared="-0.25")
    huge = LARGEST_STEPS - 1
    values = ScaledIntegers(numerators=np.array([huge, huge, huge]), bits=0)
    split = whiten(geometry, as_exact(values), 0)
    noise = Gaussian(scale=2**10, dimension=3)
    sampler = make_sampler(noise, grid=Fraction(1), entropy=InsecureSeededEntropy(1))
    steps = round_sums(sampler, 0, split)
    expected = image(geometry, [Fraction(huge)] * 3)
    assert all(abs(int(a) - b) < 2**14 for a, b in zip(steps, expected, strict=True))


@pytest.mark.parametrize("geometry", [PLAIN, COUNTED, GROUPS])
def test_values_beyond_the_range_are_mapped_exactly(geometry: CountEllipse | Blocks) -> None:
    """Once each was cut off first: a count that was, beside sums that weren't, is no record."""
    values = [Fraction(2 * i - 3, 4) for i in range(geometry.dimension)]
    near, far = values.copy(), values.copy()
    far[-1] = Fraction(2) ** 70
    for item in (near, far):
        mapped = whiten(geometry, as_exact(item), 0)
        wanted = image(geometry, item)
        if item is far:
            assert isinstance(mapped, Rationals)
            assert mapped.values.tolist() == wanted
        else:
            assert isinstance(mapped, Shifted)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e300, -1e300])
@pytest.mark.parametrize("geometry", [PLAIN, COUNTED, CellGeometry(count=5)])
def test_no_value_raises(value: float, geometry: Geometry) -> None:
    values = np.array([1.0, value, 2.0, 3.0, value])
    dimension = geometry.noise_dimension
    released = add_noise(
        Gaussian(scale=1, dimension=dimension), Fraction(1, 8), values, geometry=geometry
    )
    assert released.shape == (5,)
    assert not np.isnan(released).any()


@pytest.mark.parametrize("geometry", [PLAIN, MATRIX])
def test_infinite_values_are_the_largest_that_the_grid_has(geometry: Geometry) -> None:
    grid = Fraction(1, 8)
    noise = Gaussian(scale=1, dimension=geometry.dimension)

    def released(value: float) -> Any:
        values = np.zeros(geometry.dimension)
        values[0] = value
        seeded = InsecureSeededEntropy(3)
        return add_noise(noise, grid, values, geometry=geometry, entropy=seeded)

    largest = float(2**61 * grid)
    for sign in (1, -1):
        assert released(sign * math.inf).tolist() == released(sign * largest).tolist()
        assert abs(released(sign * math.inf)[0]) > largest / 100
    assert released(math.nan).tolist() == released(0.0).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("geometry", [PLAIN, COUNTED, GROUPS, MATRIX, CellGeometry(count=6)])
def test_errors_have_the_covariance_that_the_geometry_says(geometry: Geometry) -> None:
    size, draws = geometry.dimension, 4000
    noise = SphericalLaplace(scale=2, dimension=size)
    if isinstance(geometry, CellGeometry):
        noise = Gaussian(scale=2, dimension=1)
    entropy = InsecureSeededEntropy(7)
    values = np.arange(size) * 10.0
    result = np.array(
        [
            add_noise(noise, Fraction(1, 1024), values, geometry=geometry, entropy=entropy) - values
            for _ in range(draws)
        ]
    )
    expected = noise.variance * geometry.covariance()
    roots = np.sqrt(np.diag(expected))
    errors = np.abs(np.cov(result.T) - expected) / np.outer(roots, roots)
    # a covariance of 4000 draws is off by 2.5 % at one sigma (heavier tails than normal)
    assert errors.max() < 0.12
    assert np.abs(result.mean(axis=0) / roots).max() < 5 / math.sqrt(draws)
