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
    """Values of q from 1e-6 to 1 − 1e-6, most of them where the mass is, and ends of cells."""
    draw = random.Random(dimension)
    spread = min(0.49, 4 / math.sqrt(dimension))
    middle = [0.5 + spread * draw.uniform(-1, 1) for _ in range(60)]
    tails = [10 ** draw.uniform(-6, -1) for _ in range(30)]
    half = cosine_law._half_width(dimension)
    ends = [1 / (1 + math.exp(2 * half * (2 * i + 1))) for i in (-2, 0, 1)]
    return [arb(q) for q in (*middle, *tails, *(1 - q for q in tails), *ends)]


@pytest.mark.grid
@pytest.mark.parametrize("dimension", [4, 10, 100, 1000])
@pytest.mark.parametrize("bits", [80, 208])
def test_the_expansions_hold_the_function_to_nearly_all_bits(dimension: int, bits: int) -> None:
    a = arb(dimension - 1) / 2
    with precision(bits):
        for q in places(dimension):
            enclosure = cosine_law._tabulated(dimension, q)
            with precision(bits + 400):
                truth = q.beta_lower(a, a, 1)
                assert enclosure.contains(arb(truth.mid())), q
            lost = 24 if dimension == 1000 else 12  # of a tail of 1e-1774
            assert enclosure.rel_accuracy_bits() >= bits - lost, q


@pytest.mark.parametrize("dimension", [2, 3, 4, 7, 10])
def test_the_law_is_that_of_a_uniform_direction(dimension: int) -> None:
    a = (dimension - 1) / 2
    with precision(128):
        law = CosineLaw(dimension)
        for w in (-0.9, -0.25, 0.0, 0.5, 0.99):
            down, up = (1 - arb(w)) / 2, (1 + arb(w)) / 2
            enclosure = law.above(Halves(acb(down), acb(up)), analytic=False).real
            with precision(400):
                assert enclosure.overlaps(down.beta_lower(arb(a), arb(a), 1))


@pytest.mark.parametrize(("dimension", "bits"), [(4, 12), (4, 24), (10, 16), (50, 12)])
def test_what_is_left_of_an_expansion_is_counted(dimension: int, bits: int) -> None:
    """With so few bits the terms that are left out are more than what rounding makes room for."""
    a, half = arb(dimension - 1) / 2, cosine_law._half_width(dimension)
    missed = 0
    for index in range(6):
        with precision(bits):
            cell = cosine_law._cell(dimension, index, bits)
            for part in (-1.0, -0.5, 0.25, 1.0):
                x = arb(part * half)
                with precision(bits + 300):
                    truth = (1 / (1 + (2 * (cell.center + x)).exp())).beta_lower(a, a, 1)
                    truth = arb(truth.mid())
                    assert (cell.polynomial(x) + cell.error).contains(truth)
                    missed += not cell.polynomial(x).contains(truth)
    assert missed > 3
