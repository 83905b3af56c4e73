"""P(W > w) by its expansions: against the incomplete beta function of more bits."""

from __future__ import annotations

import math
import random

import pytest
from flint import acb, arb

from leastnoise.balls.core import precision
from leastnoise.noise.radial.proof import cosine_law
from leastnoise.noise.radial.proof.cosine_law import CosineLaw, Halves


def places(dimension: int) -> list[arb]:
    """q from 1e-6 to 1 − 1e-6, most of them where the mass is, and both ends of a cell."""
    draw = random.Random(dimension)
    spread = min(0.49, 4 / math.sqrt(dimension))
    middle = [0.5 + spread * draw.uniform(-1, 1) for _ in range(60)]
    tails = [10 ** draw.uniform(-6, -1) for _ in range(30)]
    half = cosine_law._half_width(dimension)
    ends = [1 / (1 + math.exp(2 * half * (2 * i + 1))) for i in (-2, 0, 1)]
    return [arb(q) for q in (*middle, *tails, *(1 - q for q in tails), *ends)]


@pytest.mark.parametrize("dimension", [4, 10, 100, 1000])
@pytest.mark.parametrize("bits", [80, 208])
def test_the_expansions_hold_the_function_to_nearly_all_bits(dimension: int, bits: int) -> None:
    a = arb(dimension - 1) / 2
    with precision(bits):
        for q in places(dimension):
            found = cosine_law._tabulated(dimension, q)
            with precision(bits + 400):
                truth = q.beta_lower(a, a, 1)
                assert found.contains(arb(truth.mid())), q
            assert found.rel_accuracy_bits() >= bits - 24, q  # of a tail of 1e-1774 too


@pytest.mark.parametrize("dimension", [2, 3, 4, 7, 10])
def test_the_law_is_that_of_a_uniform_direction(dimension: int) -> None:
    a = (dimension - 1) / 2
    with precision(128):
        law = CosineLaw(dimension)
        for w in (-0.9, -0.25, 0.0, 0.5, 0.99):
            down, up = (1 - arb(w)) / 2, (1 + arb(w)) / 2
            found = law.above(Halves(acb(down), acb(up)), analytic=False).real
            with precision(400):
                assert found.overlaps(down.beta_lower(arb(a), arb(a), 1))


def test_what_is_left_of_an_expansion_is_counted() -> None:
    with precision(64):
        cell = cosine_law._cell(10, 3, 64)
        short = type(cell.polynomial)(cell.polynomial.coeffs()[:-12])
        x = arb(cosine_law._half_width(10))
        gap = abs(cell.polynomial(x) - short(x))
        assert gap > abs(cell.error)  # with so many terms fewer it would not hold
