"""Sums of uniforms under a cap, against piecewise polynomials integrated in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb, fmpq

from leastnoise.balls.core import precision
from leastnoise.guarantees.bodies.cells import AtMost
from leastnoise.guarantees.bodies.plain import Segment
from leastnoise.guarantees.bodies.shares import capped_cubes, share_below


def moment(order: int, *, count: int, cap: int) -> Fraction:
    """∫₀¹ yⁿ F(k − y) dy, F(t) = Σ_l (−1)^l C(p − 1, l) (t − l)₊^(p − 1)/(p − 1)!, n = order."""
    p = count - 1
    total = Fraction(0)
    for left in range(p + 1):
        top = Fraction(min(1, cap - left))
        if top <= 0:
            continue
        # ∫₀^top yⁿ (cap − left − y)^p dy by the binomial theorem
        part = sum(
            Fraction(math.comb(p, i) * (-1) ** i * (cap - left) ** (p - i))
            * top ** (order + i + 1)
            / (order + i + 1)
            for i in range(p + 1)
        )
        total += (-1) ** left * math.comb(p, left) * part
    return total / math.factorial(p)


def holds(enclosure: arb, value: Fraction) -> bool:
    with precision(600):
        return bool(enclosure.overlaps(arb(fmpq(value.numerator, value.denominator))))


@pytest.mark.parametrize("cap", [1, 2, 3, 7])
def test_volumes_and_moments_of_capped_cubes(cap: int) -> None:
    with precision(128):
        cubes = capped_cubes(largest=12, cap=cap)
    for p in range(1, 13):
        volume = moment(0, count=p, cap=cap)
        assert holds(cubes.volumes[p], volume)
        assert holds(cubes.firsts[p], moment(1, count=p, cap=cap) / volume)
        assert holds(cubes.seconds[p], moment(2, count=p, cap=cap) / volume)
        assert cubes.volumes[p].rel_accuracy_bits() > 110
        assert cubes.seconds[p].rel_accuracy_bits() > 100


@pytest.mark.parametrize(("cells", "cap"), [(2, 1), (5, 2), (9, 4), (9, 8), (30, 3), (30, 15)])
def test_the_general_formula_is_that_of_uniforms(cells: int, cap: int) -> None:
    for order in range(3):
        with precision(128):
            share = share_below(sizes=(cells - 1, 1), last=1 + order, cap=cap)
        # a Beta(1 + n, 1) has the density (1 + n) yⁿ
        assert holds(share, (1 + order) * moment(order, count=cells, cap=cap))
        assert share.rel_accuracy_bits() >= 100


def test_two_maxima_of_two() -> None:
    # M_1 + M_2 <= 1 for densities 2y: ∫₀¹ 2y(1 − y)² dy = 1/6
    with precision(128):
        assert holds(share_below(sizes=(1, 2), last=2, cap=1), Fraction(1, 6))


def test_a_single_cell_that_moves_is_a_cell() -> None:
    body = AtMost(most=1, cells=6, of=Segment(bound=2))
    assert math.exp(body.log_volume) == pytest.approx(4**6 / math.factorial(6))
    assert body.second_moments == pytest.approx([4 * 2 / (7 * 8)] * 6)
    assert body.first_moments == pytest.approx([2 / 7] * 6)
