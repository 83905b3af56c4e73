"""Sums over many steps in closed form, beside the sums term by term."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from leastnoise.balls.core import precision
from leastnoise.guarantees.bodies.plain import Ball
from leastnoise.noise.bodies import proof as bodies_proof
from leastnoise.noise.bodies.law.k_norm import KStaircase
from leastnoise.noise.common import law as common_law
from leastnoise.noise.steps.law import TruncatedStaircase, Tulap, step_sums


@pytest.mark.grid
@pytest.mark.parametrize("count", [0, 1, 2, 3, 10, 1000, 50_000])
@pytest.mark.parametrize("decay", [1e-9, 1e-4, 0.3, 40.0])
@pytest.mark.parametrize("first", [1e-9, 0.3, 1.0])
def test_blocks_add_up_to_all_terms(first: float, decay: float, count: int) -> None:
    k = np.arange(count, dtype=float)
    for power, total in enumerate(
        step_sums(first=first, decay=decay, count=count, powers=(0, 1, 2, 3))
    ):
        wanted = math.fsum((np.exp(-decay * k) * (k + first) ** power).tolist())
        assert total == pytest.approx(wanted, rel=1e-13)


@pytest.mark.parametrize("radius", ["0.2", "0.9", "1", "7.25", "4000.5"])
@pytest.mark.parametrize("decay", ["0", "0.001", "1", "30"])
def test_moments_are_those_of_the_steps(decay: str, radius: str) -> None:
    laws = (
        TruncatedStaircase(scale=3, gamma="0.3", radius=radius, decay=decay, atom="0.1"),
        Tulap(scale=3, radius=radius, decay=decay),
    )
    for law in laws:
        a, b = law.steps.float_edges[:-1], law.steps.float_edges[1:]
        square = float(law.steps.masses @ (a * a + a * b + b * b)) / 3
        mean = float(law.steps.masses @ (a + b)) / 2
        beside = float(1 - law.atom)
        assert law.variance == pytest.approx(beside * 9 * square, rel=1e-12)
        assert law.mean_abs == pytest.approx(beside * 3 * mean, rel=1e-12)


@pytest.mark.parametrize("power", [0, 1, 7, 60, 200])
@pytest.mark.parametrize("decay", [0.5, 0.01, 0.002])
@pytest.mark.parametrize("first", [1e-9, 0.3, 50.0])
def test_the_binomial_theorem_gives_the_sums_of_powers(
    first: float, decay: float, power: int
) -> None:
    log_sum = common_law._log_sum_of_powers(first, decay, power)
    wanted = common_law._log_sum_of_terms(first, decay, power)
    assert log_sum == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("power", [201, 1002])
@pytest.mark.parametrize("decay", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("first", [1e-9, 0.3, 1.0, 1.5])
def test_sums_of_high_powers_are_integrals(first: float, decay: float, power: int) -> None:
    log_sum = common_law._log_sum(first, decay, power)
    wanted = common_law._log_sum_of_terms(first, decay, power)
    assert log_sum == pytest.approx(wanted, rel=1e-14, abs=1e-11)


@pytest.mark.parametrize("decay", [0.4, 2.0, 10.0])
@pytest.mark.parametrize("first", [1e-6, 0.3, 50.0])
def test_sums_of_many_powers_are_the_sums_of_each(first: float, decay: float) -> None:
    powers = np.arange(1003)
    sums = common_law.log_step_sums(first=first, decay=decay, powers=powers)
    each = np.array([common_law._log_sum(first, decay, power) for power in powers.tolist()])
    assert sums.tolist() == (each + math.log(-math.expm1(-decay))).tolist()


@pytest.mark.parametrize("decay", [1.0, 6.0])
def test_the_largest_ripple_of_a_sum_is_as_stated(decay: float) -> None:
    power = 6
    sums = [
        math.exp(common_law._log_sum_of_terms(first, decay, power) - first * decay)
        for first in (np.arange(64) + 0.5) / 64
    ]
    integral = math.factorial(power) / decay ** (power + 1)
    ripple = np.abs(np.fft.rfft(sums))[1] / len(sums) / integral
    assert ripple == pytest.approx(math.exp(common_law._log_ripple(decay, power)), rel=1e-6)


@pytest.mark.grid
@pytest.mark.parametrize("dimension", [2, 7, 64, 300])
@pytest.mark.parametrize("gamma", ["0.1", "0.5", "0.7", "1"])
@pytest.mark.parametrize("decay", ["0.05", "1", "30"])
def test_the_total_variation_is_that_of_the_steps(decay: str, gamma: str, dimension: int) -> None:
    """Step by step it is bounded from above, by next to nothing more."""
    law = KStaircase(scale=1, body=Ball(bound=1, coordinates=dimension), gamma=gamma, decay=decay)
    with precision(192):
        distance = bodies_proof._total_variation(law, 192)
        stepwise = bodies_proof._variation_by_steps(law)
        more = float((stepwise - distance).mid())
    assert -1e-50 < more < 1e-34


def test_it_is_known_where_steps_are_short() -> None:
    law = KStaircase(scale=1, body=Ball(bound=1, coordinates=3), gamma="0.4", decay="0.002")
    with precision(192):
        assert bodies_proof._variation_by_steps(law) == 1
        assert bodies_proof.largest_loss_probability(law) < float(Fraction(51, 100))
