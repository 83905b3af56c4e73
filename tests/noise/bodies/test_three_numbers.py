"""A weighted sum of three numbers of one cell: its law against draws, and against two numbers."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.plain import Box, Segment
from leastnoise.noise.bodies.law.k_norm import KNorm, KStaircase, TruncatedKStaircase
from leastnoise.noise.body_noise import BodyNoise
from leastnoise.noise.classic.law import Gaussian, Laplace
from leastnoise.noise.draw import find_difference, find_quantile, find_weighted
from tests.noise.bodies.examples import SCALE, rejected

DRAWS = 30_000
WEIGHTS = ((0.5, 1.2, 0.3), (0.5, 0.0, 0.5), (1.0, 1.0, 1.0), (0.1, 2.0, 0.4))
FOUR = Cells(bodies=[Box(bounds=[1, 1, "0.5", 1])], copies=[2])
BODIES: dict[str, tuple[Body, tuple[int, int, int]]] = {
    "three": (Box(bounds=[1, "0.5", 2]), (2, 0, 1)),
    "three of four in a cell": (FOUR, (4, 6, 7)),
}


def laws(body: Body) -> list[BodyNoise]:
    return [
        KNorm(scale=SCALE, body=body),
        KStaircase(scale=SCALE, body=body, gamma="0.4", decay="1.5"),
        TruncatedKStaircase(scale=SCALE, body=body, gamma="0.4", radius="2.9", decay="0.6"),
    ]


@pytest.mark.dense
@pytest.mark.parametrize("name", BODIES)
def test_against_draws_by_rejection(name: str) -> None:
    body, places = BODIES[name]
    for law in laws(body):
        drawn = rejected(law, DRAWS, seed=3)[:, list(places)] * float(law.scale)
        for weights in WEIGHTS:
            for probability in (0.5, 0.95):
                half = find_weighted(law, probability, places, weights)
                assert half is not None
                share = float((np.abs(drawn @ np.array(weights)) <= half).mean())
                error = math.sqrt(probability * (1 - probability) / DRAWS)
                assert abs(share - probability) < 5.5 * error + 1e-3 * (0 in weights)


@pytest.mark.parametrize("name", BODIES)
def test_without_one_of_them_it_is_the_law_of_two(name: str) -> None:
    body, places = BODIES[name]
    for law in laws(body):
        two = find_difference(law, 0.95, places[:2], 0.75)
        three = find_weighted(law, 0.95, places, (1.0, 0.75, 0.0))
        assert two is not None
        assert three is not None
        assert two <= three <= two * 1.001


def test_the_order_changes_nothing_and_each_weight_adds() -> None:
    body, places = BODIES["three of four in a cell"]
    for law in laws(body):
        w = WEIGHTS[0]
        half_widths = [
            find_weighted(law, 0.95, (places[i], places[j], places[k]), (w[i], w[j], w[k]))
            for i, j, k in permutations(range(3))
        ]
        assert half_widths == pytest.approx([half_widths[0]] * 6, rel=2e-5)
        wider = [find_weighted(law, 0.95, places, (w, 1.2, 0.3)) for w in (0.5, 0.6, 0.9, 1.5)]
        assert wider == sorted(width or 0 for width in wider)


def test_spherical_noise_is_alike_in_every_direction_and_other_laws_are_not_known() -> None:
    half_width = find_weighted(Gaussian(scale=2), 0.95, (0, 1, 2), (2.0, 3.0, 6.0))
    assert half_width == pytest.approx(7 * find_quantile(Gaussian(scale=2), 0.95))
    assert find_weighted(Laplace(scale=2), 0.95, (0, 1, 2), (1.0, 1.0, 1.0)) is None
    apart = KNorm(scale=1, body=Cells(bodies=[Segment(bound=1)], copies=[3]))
    assert find_weighted(apart, 0.95, (0, 1, 2), (1.0, 1.0, 1.0)) is None
    both = KNorm(scale=1, body=FOUR)
    assert find_weighted(both, 0.95, (0, 1, 4), (1.0, 1.0, 1.0)) is None
    assert find_weighted(both, 0.95, (0, 1, 1), (1.0, 1.0, 1.0)) is None
