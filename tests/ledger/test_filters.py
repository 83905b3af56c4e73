"""Costs and filters against independent computations."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from leastnoise.accounting.composition import Composition
from leastnoise.accounting.renyi import zcdp_delta
from leastnoise.certificate.certificate import Certificate
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.geometry import CellGeometry, ShiftBounds
from leastnoise.guarantees.sensitivity import L2
from leastnoise.guarantees.structured import Linf
from leastnoise.ledger.filters import (
    SUMS,
    ZCDP,
    Cost,
    choose_rule,
    count_fitting,
    fits,
    rho_left,
)
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Gaussian, Laplace
from leastnoise.noise.question import Releases
from leastnoise.noise.radial.law import GeneralizedGamma
from tests.ledger.releases import certificate, sampled

GRID_ERROR = 1e-3  # of orders 1 % apart; 1.1e-4 is the largest seen


def conversion(rho: Fraction, epsilon: Fraction) -> float:
    """The δ of ρ-zCDP at ε, minimised over a grid of orders; at least the minimum over all."""
    log_order = np.arange(-15, 35, 0.01)
    a = 1 + np.exp(log_order)
    log_deltas = (a - 1) * (a * float(rho) - float(epsilon) - np.log1p(np.exp(-log_order)))
    return float(np.exp(np.min(log_deltas - np.log(a))))


@pytest.mark.parametrize(
    ("rho", "epsilon"), [("0.02", "1"), ("1e-6", "0.01"), ("3", "10"), ("0.5", "0.1")]
)
def test_the_conversion_of_zcdp_is_the_best_of_its_orders(rho: str, epsilon: str) -> None:
    value = float(zcdp_delta(Fraction(rho), Fraction(epsilon)))
    on_grid = conversion(Fraction(rho), Fraction(epsilon))
    assert on_grid * (1 - GRID_ERROR) <= value <= on_grid * (1 + 1e-9)


@given(
    mu=st.fractions(Fraction(1, 50), Fraction(3), max_denominator=100),
    epsilon=st.fractions(Fraction(1, 10), Fraction(8), max_denominator=20),
)
@settings(max_examples=40)
def test_the_conversion_is_never_below_what_a_gaussian_leaks(
    mu: Fraction, epsilon: Fraction
) -> None:
    law = Releases(noise=Gaussian(scale=1 / mu, dimension=1), shifts=ShiftBounds.of(L2(1)))
    exact = Composition(parts=(law,)).delta(epsilon=epsilon)
    assert float(zcdp_delta(mu**2 / 2, epsilon)) >= exact.lower


@pytest.mark.dense
def test_costs_are_those_of_the_noise() -> None:
    gaussian = certificate("gaussian", "0.5", "1e-7")
    cost = Cost.of(gaussian)
    exact = 1 / (2 * gaussian.noise.scale**2)
    assert exact <= cost.rho < exact + Fraction(1, 10**30)
    assert (cost.epsilon, cost.delta, cost.leak) == (Fraction(1, 2), Fraction(1, 10**7), 0)
    assert Cost.of(certificate("laplace", "0.5")).rho == Fraction(1, 8)
    shared = Certificate.prove(
        budget=Budget(epsilon=1, delta="1e-5"),
        noise=Gaussian(scale=40, dimension=1),
        sensitivity=L2(1),
        compositions=100,
    )
    assert Cost.of(shared).rho == Fraction(100, 2 * 40**2)
    by_another_name = Certificate.prove(
        budget=Budget(epsilon=1, delta="1e-5"),
        noise=GeneralizedGamma(scale=40, alpha=2, p=2, dimension=3),  # of variance 40²/2
        sensitivity=L2(1),
    )
    assert Cost.of(by_another_name).rho == Fraction(1, 40**2)
    # a bounded loss: pure, a little beyond its stated ε
    l2 = Cost.of(certificate("l2", "0.5", "1e-7", 2))
    assert l2.leak == 0
    assert Fraction(1, 8) < l2.rho < Fraction(1, 4)
    # in many dimensions the same noise is said better of by (ε, δ)
    assert Cost.of(certificate("l2", "0.5", "1e-7", 50)).rho == Fraction(1, 8)
    # one Gaussian and its copies leak no more than it does; narrow ones leak more than (ε, δ) says
    mixture = Cost.of(certificate("gaussian-mixture", "0.5", "1e-7"))
    wide = certificate("gaussian-mixture", "0.1", "1e-6")
    assert (mixture.rho, mixture.leak) == (Fraction(1, 8), Fraction(1, 10**7))
    exact = 1 / (2 * wide.noise.scale**2)
    assert exact <= Cost.of(wide).rho < exact + Fraction(1, 10**30)
    assert Cost.of(wide).leak == 0
    # of samples the stated (ε, δ) counts, and not the law of the noise
    assert Cost.of(sampled("gaussian", "0.5", "1e-7")).rho == Fraction(1, 8)
    truncated = Cost.of(certificate("truncated-laplace", "0.5", "1e-7"))
    assert (truncated.rho, truncated.leak) == (Fraction(1, 8), Fraction(1, 10**7))


@pytest.mark.parametrize(
    ("noise", "budget"),
    [
        (Gaussian(scale=4, dimension=1), Budget(epsilon=6, delta="1e-5")),
        (Laplace(scale=2, dimension=1), Budget(epsilon=12)),
    ],
)
def test_every_cell_that_a_person_moves_is_charged(noise: Noise, budget: Budget) -> None:
    cells = Certificate.prove(
        budget=budget,
        noise=noise,
        sensitivity=Linf(1, l0=4),
        geometry=CellGeometry(count=9),
        compositions=3,
    )
    assert Cost.of(cells).rho == Fraction(3 * 4) / (2 * noise.scale**2)


def test_gaussian_rho_covers_its_exact_composition() -> None:
    """Σρ at the filter's limit, for Gaussians alone, really is within the budget."""
    budget = Budget(epsilon=1, delta="1e-6")
    mechanism = certificate("gaussian", "0.1", "1e-7")
    count = count_fitting(Cost.of(mechanism), budget, ZCDP)
    assert count > 10  # more than sums hold
    law = Releases(noise=mechanism.noise, shifts=mechanism.shifts, compositions=count)
    assert Composition(parts=(law,)).delta(epsilon=1).upper <= 1e-6


def test_sums_are_decided_at_the_exact_boundary() -> None:
    budget = Budget(epsilon="0.3", delta="3e-7")
    third = Cost(
        epsilon=Fraction(1, 10), delta=Fraction(1, 10**7), rho=Fraction(1), leak=Fraction(1)
    )
    assert fits(third.times(3), budget, SUMS)  # 0.1 + 0.1 + 0.1 is 0.3 here
    tiny = Fraction(1, 10**200)
    assert not fits(third.times(3) + Cost(epsilon=tiny), budget, SUMS)
    assert not fits(third.times(3) + Cost(delta=tiny), budget, SUMS)


def test_the_zcdp_limit_is_a_box() -> None:
    budget = Budget(epsilon=1, delta="1e-6")
    limit, half = rho_left(budget), budget.delta / 2
    assert fits(Cost(rho=limit, leak=half), budget, ZCDP)
    assert not fits(Cost(rho=limit + Fraction(1, 2**29)), budget, ZCDP)
    assert not fits(Cost(leak=half + Fraction(1, 10**100)), budget, ZCDP)
    assert not fits(Cost(rho=Fraction(1, 10**9)), Budget(epsilon=1), ZCDP)


def test_random_spending_is_decided_as_by_brute_force() -> None:
    draw = random.Random(5)
    for _ in range(60):
        budget = Budget(epsilon=str(draw.randint(1, 30) / 10), delta=f"1e-{draw.randint(4, 9)}")
        spent = Cost(
            rho=Fraction(draw.randint(1, 900), 2000), leak=budget.delta / draw.randint(1, 4)
        )
        true = conversion(spent.rho, budget.epsilon)
        half = float(budget.delta) / 2
        if abs(true / half - 1) > 2 * GRID_ERROR:
            assert fits(spent, budget, ZCDP) == (true <= half and 2 * spent.leak <= budget.delta)


@pytest.mark.parametrize(
    ("name", "epsilon", "delta", "best"),
    [
        ("gaussian", "1", "1e-6", SUMS),  # the whole budget at once
        ("gaussian", "0.1", "1e-7", ZCDP),
        ("laplace", "0.5", "0", SUMS),
        ("laplace", "0.01", "0", ZCDP),
        ("truncated-laplace", "0.5", "5e-7", SUMS),
        ("truncated-laplace", "0.01", "1e-10", ZCDP),
    ],
)
def test_the_first_charge_chooses_the_filter_that_holds_more(
    name: str, epsilon: str, delta: str, best: str
) -> None:
    budget = Budget(epsilon=1, delta="1e-6")
    cost = Cost.of(certificate(name, epsilon, delta))
    assert choose_rule(cost, budget) == best
    stored = {rule: count_fitting(cost, budget, rule) for rule in (SUMS, ZCDP)}
    assert stored[best] == max(stored.values()) > 0
    for rule, count in stored.items():
        assert not fits(cost.times(count + 1), budget, rule)
        assert count == 0 or fits(cost.times(count), budget, rule)


def test_switching_to_whichever_filter_still_accepts_would_leak_more_than_delta() -> None:
    """Why an account has one filter for good, computed exactly for one analyst.

    200 randomized responses come first. Where their loss L is small the analyst then spends all of
    δ at once (which sums admit), where it is large all of ρ that is left on a Gaussian (which zcdp
    admits). Either filter accepts every charge of its histories.
    """
    epsilon, delta, count, each = 1.0, 1e-6, 200, 0.005
    budget = Budget(epsilon=1, delta="1e-6")
    responses = Cost(epsilon=Fraction("0.005"), rho=Fraction("0.0000125")).times(count)
    assert fits(responses + Cost(delta=budget.delta, leak=budget.delta), budget, SUMS)
    left = rho_left(budget) - responses.rho
    assert fits(responses + Cost(rho=left), budget, ZCDP)
    mu = math.sqrt(2 * left)
    truths = np.arange(count + 1)
    chances = stats.binom.pmf(truths, count, math.exp(each) / (1 + math.exp(each)))
    beyond = epsilon - (2 * truths - count) * each  # what is left of ε after the loss L
    gaussian = stats.norm.cdf(mu / 2 - beyond / mu) - np.exp(beyond) * stats.norm.cdf(
        -mu / 2 - beyond / mu
    )
    leaked = float(chances @ np.maximum(delta, gaussian))
    assert leaked > 1.01 * delta
    assert float(chances @ gaussian) < delta  # either filter alone is fine
