"""The law of one number, if noise has very many: against a closed form and draws."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.plain import Box
from leastnoise.guarantees.bodies.together import Together
from leastnoise.noise.bodies.law.k_norm import KNorm
from leastnoise.noise.bodies.profile.gauge import _simplices
from leastnoise.noise.draw import find_difference, find_quantile

DRAWS = 400_000
MANY = (1, 30, 300, 3000, 100_000)


def cells(each: int, copies: int) -> Cells | Box:
    box = Box(bounds=[1] * each)
    return box if copies == 1 else Cells(bodies=[box], copies=[copies])


@pytest.mark.parametrize("copies", MANY)
@pytest.mark.parametrize("each", [2, 3])
def test_one_block_has_the_law_that_it_has_alone(each: int, copies: int) -> None:
    """The gauge of a cell of q numbers is Gamma(q), however many other cells there are."""
    body = cells(each, copies)
    alone = KNorm(scale=1, body=body)
    block = KNorm(scale=1, body=Together(bodies=[body], radii=[1], exponent=None))
    for probability in (0.5, 0.95, 0.999):
        assert find_quantile(block, probability) == pytest.approx(
            find_quantile(alone, probability), rel=1e-9
        )
        assert find_difference(block, probability, (0, 1), 0.5) == pytest.approx(
            find_difference(alone, probability, (0, 1), 0.5), rel=1e-9
        )


@pytest.mark.dense
@pytest.mark.parametrize("exponent", [None, 4, Fraction(3, 2)])
@pytest.mark.parametrize("first", MANY)
@pytest.mark.parametrize("second", [1, 3000])
def test_two_blocks_against_draws(exponent: Fraction | None, first: int, second: int) -> None:
    """N = R and the blocks' gauges are drawn, then those of a cell, and a number of the cell."""
    rng = np.random.default_rng(first + second)
    q, sizes, radius = 2, (2 * first, 3 * second), Fraction(2)
    bodies = [cells(2, first), cells(3, second)]
    law = KNorm(scale=1, body=Together(bodies=bodies, radii=[radius] * 2, exponent=exponent))
    d, whole = sizes[0], sum(sizes)
    if exponent is None:
        gauge = rng.gamma(whole + 1, size=DRAWS) * rng.beta(q, d - q + 1, DRAWS)
    else:
        p = float(exponent)
        computed, others = (rng.gamma(size / p, size=DRAWS) for size in sizes)
        gauge = rng.gamma(whole, size=DRAWS) * (computed / (computed + others)) ** (1 / p)
        gauge *= rng.beta(q, d - q, DRAWS) if d > q else 1.0
    is_largest = rng.random(DRAWS) < 1 / q
    number = float(radius) * gauge * np.where(is_largest, 1.0, rng.random(DRAWS))
    for probability in (0.5, 0.95):
        share = (number <= find_quantile(law, probability)).mean()
        assert abs(share - probability) < 5.5 * (probability * (1 - probability) / DRAWS) ** 0.5


@pytest.mark.parametrize("d", [1, 2, 7, 60, 400])
def test_simplices_against_exact_sums(d: int) -> None:
    """P(|U_i| > bc) is Σ 2s/d·(d choose s)²·(1 − c)^s over Σ (d choose s)²: of a simplex each."""
    tail = _simplices(d)
    squares = [math.comb(d, s) ** 2 for s in range(d + 1)]
    parts = [Fraction(k, 2**10) for k in (0, 1, 17, 500, 1000, 1023, 1024, 1500)]
    tails = tail(np.array([float(part) for part in parts]))
    for part, value in zip(parts, tails, strict=True):
        inside = max(1 - part, Fraction(0))
        exact = sum(2 * s * square * inside**s for s, square in enumerate(squares) if s)
        expected = float(exact / (d * sum(squares)))
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-19)
