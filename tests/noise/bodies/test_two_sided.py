"""The law of one coordinate of two-sided noise on cubes and simplices."""

from __future__ import annotations

import math

import numpy as np
import pytest

from leastnoise.errors import NotApplicable
from leastnoise.guarantees.bodies.counts import CountedSums, Counts
from leastnoise.guarantees.bodies.together import Jointly
from leastnoise.noise.bodies.law.two_sided import TwoSidedLaplace, TwoSidedStaircase
from leastnoise.noise.draw import find_quantile, has_quantiles
from tests.noise.bodies.examples import draws

SIX = [Counts(queries=2, most=1)] * 2 + [Counts(queries=2)]
UNLIKE = [Counts(queries=3, bound=2), Counts(queries=4, most=1, bound=3), Counts(queries=1)]


def laws(parts: list[Counts]) -> list[TwoSidedStaircase | TwoSidedLaplace]:
    of = Jointly(parts=parts, radii=[1] * len(parts), exponent=None)
    return [
        TwoSidedStaircase(scale=2, of=of, core="1.3", decay="0.5"),
        TwoSidedStaircase(scale=1, of=of, core="0.2", decay=6),
        TwoSidedLaplace(scale="0.3", of=of, core="2.5"),
        TwoSidedLaplace(scale=1, of=of, core=0),
    ]


@pytest.mark.dense
@pytest.mark.parametrize("parts", [SIX, UNLIKE], ids=["alike", "unlike"])
@pytest.mark.parametrize("place", range(4))
def test_the_variance_is_that_of_the_quantiles(parts: list[Counts], place: int) -> None:
    """E X² = ∫ t(u)² e^(−u) du, P(|X| > t(u)) = e^(−u); the law has it from its moments."""
    law = laws(parts)[place]
    nodes, weights = np.polynomial.legendre.leggauss(160)
    u, du = 17 * (1 + nodes), 17 * weights
    for coordinate in {0, law.dimension // 2, law.dimension - 1}:
        t = np.array([find_quantile(law, -math.expm1(-item), coordinate) for item in u])
        value = float((t**2 * np.exp(-u)) @ du)
        steps = isinstance(law, TwoSidedStaircase)
        assert value == pytest.approx(law.variances[coordinate], rel=1e-3 if steps else 1e-5)


@pytest.mark.dense
@pytest.mark.parametrize("law", laws(UNLIKE)[::2], ids=["steps", "smooth"])
def test_as_drawn(law: TwoSidedStaircase | TwoSidedLaplace) -> None:
    points = np.abs(draws(law, 4000, seed=7)) * float(law.scale)
    for coordinate in range(law.dimension):
        half = find_quantile(law, 0.9, coordinate)
        assert np.mean(points[:, coordinate] <= half) == pytest.approx(0.9, abs=0.02)


def test_of_what_else_it_is_not_known() -> None:
    body = Counts(queries=3, most=2)
    for of in (
        body,
        Jointly(parts=[body, Counts(queries=2)], radii=[1, 1], exponent=None),
        Jointly(parts=SIX, radii=[2] * 3, exponent=None),
        Jointly(parts=SIX, radii=[3] * 3, exponent=1),
        CountedSums(cells=2, bounds=[1, 1]),
    ):
        law = TwoSidedLaplace(scale=1, of=of, core=1)
        assert not has_quantiles(law)
        with pytest.raises(NotApplicable, match="one coordinate"):
            find_quantile(law, 0.5)


@pytest.mark.parametrize("bound", [1, 3])
@pytest.mark.parametrize("core", ["0.2", "1.3"])
def test_a_cube_alone_is_a_product_of_one(core: str, bound: int) -> None:
    """Two sums agree: over A + B, and over A with the shapes."""
    cube = Counts(queries=4, bound=bound)
    product = Jointly(parts=[cube], radii=[1], exponent=None)
    for of_cube, of_product in (
        [TwoSidedStaircase(scale=2, of=of, core=core, decay=1) for of in (cube, product)],
        [TwoSidedLaplace(scale=2, of=of, core=core) for of in (cube, product)],
    ):
        for probability in (0.1, 0.5, 0.95, 0.999):
            quantile = find_quantile(of_product, probability, 2)
            assert quantile == pytest.approx(find_quantile(of_cube, probability), rel=1e-9)
