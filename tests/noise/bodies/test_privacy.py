"""ε-DP of laws on bodies, by ratios of densities at random points and extreme shifts.

Laws that look private but aren't are built, too, and the tests find them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from leastnoise.guarantees.bodies.counts import CountedSums, Counts
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.noise.bodies.law.k_norm import KNorm, KStaircase
from leastnoise.noise.bodies.law.two_sided import TwoSidedLaplace, TwoSidedStaircase
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.steps.law import Staircase
from tests.guarantees.bodies.examples import BODIES, ONE_SIDED
from tests.guarantees.bodies.shifts import ADDED, SHIFTS, both_ways

Points = NDArray[np.float64]
LogDensity = Callable[[Points], Points]

EPSILON = 1.25
POINTS = 20_000
ROUNDING = 1e-9


def points(dimension: int, reach: Points) -> Points:
    """Random points near 0 and far out; a third are next to edges of steps."""
    rng = np.random.default_rng(9)  # makes points, no noise
    x = rng.normal(size=(POINTS, dimension)) * reach * rng.exponential(2, size=(POINTS, 1))
    x[::3] = np.round(x[::3] * 2) / 2 + rng.choice([-1e-7, 1e-7], size=x[::3].shape)
    return x


def shifts_in(extreme: Points, *, hull: bool) -> Points:
    """Random extreme shifts, shorter ones, and with `hull` random points of their convex hull."""
    rng = np.random.default_rng(10)
    chosen = extreme[rng.integers(len(extreme), size=POINTS)]
    chosen[1::4] *= rng.random((len(chosen[1::4]), 1))
    if hull:
        weights = rng.dirichlet(np.full(min(len(extreme), 6), 0.5), size=len(chosen[2::4]))
        some = extreme[rng.integers(len(extreme), size=weights.shape)]
        chosen[2::4] = (weights[..., None] * some).sum(axis=1)
    return chosen


def worst(log_density: LogDensity, extreme: Points, *, hull: bool) -> float:
    """The largest |loss| over random points and shifts."""
    x = points(extreme.shape[1], np.abs(extreme).max(axis=0))
    s = shifts_in(extreme, hull=hull)
    return float(np.abs(log_density(x + s) - log_density(x)).max())


def extreme_of(name: str) -> Points:
    """The extreme shifts of a body, or if they are infinitely many 500 points of its boundary."""
    if name in SHIFTS:
        return SHIFTS[name]
    body = BODIES[name]
    drawn = np.random.default_rng(11).normal(size=(500, body.dimension))
    return drawn / body.gauges(drawn)[:, None]


@pytest.mark.dense
@pytest.mark.parametrize("name", BODIES)
def test_laws_of_a_gauge_hide_all_of_its_body(name: str) -> None:
    body, extreme = BODIES[name], extreme_of(name)
    laws: list[VectorNoise] = [
        KNorm(scale=1 / EPSILON, body=body),
        KStaircase(scale=1, body=body, gamma="0.35", decay=EPSILON),
    ]
    for law in laws:
        result = worst(law.log_density, extreme, hull=True)
        assert EPSILON * 0.8 <= result <= EPSILON + ROUNDING
        assert worst(law.scaled("0.9").log_density, extreme, hull=True) > EPSILON


@pytest.mark.grid
@pytest.mark.parametrize("name", ADDED)
def test_two_sided_laws_hide_what_is_added_or_removed(name: str) -> None:
    of, extreme = ONE_SIDED[name], both_ways(ADDED[name])
    stairs = TwoSidedStaircase(scale=1, of=of, core="0.4", decay=EPSILON)
    smooth = TwoSidedLaplace(scale=1 / EPSILON, of=of, core=1)
    assert worst(stairs.log_density, extreme, hull=False) == pytest.approx(EPSILON)
    assert worst(smooth.log_density, extreme, hull=True) <= EPSILON + ROUNDING
    assert worst(stairs.scaled("0.9").log_density, extreme, hull=False) > EPSILON + 0.1
    assert worst(smooth.scaled("0.9").log_density, extreme, hull=False) > EPSILON + 0.01


def test_two_sided_staircases_do_not_hide_the_hull() -> None:
    three = CountedSums(cells=2, bounds=[3, 3])
    law = TwoSidedStaircase(scale=1, of=three, core="0.5", decay=EPSILON)
    # theory/bodies.md §4, in units of R = 3
    x, s = np.array([[0.0, 1.45, 0.0, 1.45]]), np.array([[1.0, 1.2, 1.0, 1.8]])
    assert Signed(of=three).holds(["1", "1.2", "1", "1.8"])
    assert np.abs(law.log_density(x + s) - law.log_density(x)) == pytest.approx(2 * EPSILON)
    hexagon = TwoSidedStaircase(scale=1, of=Counts(queries=2), core="0.4", decay=EPSILON)
    assert worst(hexagon.log_density, both_ways(ADDED["all of 2"]), hull=True) > EPSILON + 0.1


def test_a_product_of_staircases_hides_one_cell_alone() -> None:
    single = Staircase(scale=1, gamma="0.35", decay=EPSILON)

    def product(x: Points) -> Points:
        return single.log_density(x[..., None]).sum(axis=-1)

    cells = both_ways(np.eye(3))
    assert worst(product, cells, hull=False) == pytest.approx(EPSILON)
    assert worst(product, cells, hull=True) >= 2 * EPSILON - ROUNDING
    joint = KStaircase(scale=1, body=BODIES["cells"], gamma="0.35", decay=EPSILON)
    assert worst(joint.log_density, SHIFTS["cells"], hull=True) <= EPSILON + ROUNDING


def test_a_product_of_two_sided_staircases_hides_one_block_alone() -> None:
    single = TwoSidedStaircase(scale=1, of=Counts(queries=1), core="0.35", decay=EPSILON)

    def product(x: Points) -> Points:
        return single.log_density(x[..., :1]) + single.log_density(x[..., 1:])

    spread = both_ways(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    assert worst(product, spread[[0, 1, 3, 4]], hull=False) == pytest.approx(EPSILON)
    assert worst(product, spread, hull=False) >= 2 * EPSILON - ROUNDING


def test_laws_of_the_hull_do_not_hide_what_is_replaced() -> None:
    counts = Counts(queries=3)
    replaced = SHIFTS["differences of all of 3"] * 2  # that example's bound is a half
    law = KNorm(scale=1 / EPSILON, body=Signed(of=counts))
    assert worst(law.log_density, replaced, hull=False) == pytest.approx(2 * EPSILON)
