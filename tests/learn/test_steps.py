"""The parts of DP-SGD, against dp-accounting and closed forms."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
from dp_accounting.pld import PLDAccountant

from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.learn import StepAccountant, noise_multiplier


def theirs(steps: int) -> float:
    accountant = PLDAccountant()
    event = PoissonSampledDpEvent(0.05, GaussianDpEvent(1.5))
    return accountant.compose(SelfComposedDpEvent(event, steps)).get_epsilon(1e-5)


@pytest.mark.dense
def test_it_agrees_with_dp_accounting() -> None:
    so_far = StepAccountant(noise_multiplier="1.5", sampling_rate="0.05").after(300)
    spent = so_far.epsilon(delta="1e-5")
    assert spent.lower <= spent.upper < spent.lower * 1.001
    assert theirs(300) == pytest.approx(spent.upper, rel=2e-3)
    assert so_far.delta(epsilon=spent.upper).certainly_at_most(Fraction("1.001e-5"))


@pytest.mark.dense
@pytest.mark.parametrize("rate", [1, "0.1"])
def test_exactly_so_many_more_steps_fit(rate: Any) -> None:
    accountant = StepAccountant(noise_multiplier=4, sampling_rate=rate, steps=7)
    more = accountant.more_steps(epsilon=3, delta="1e-5")
    assert more > 0
    assert accountant.after(more).delta(epsilon=3).certainly_at_most("1e-5")
    assert not accountant.after(more + 1).delta(epsilon=3).certainly_at_most("1e-5")
    assert accountant.after(more).more_steps(epsilon=3, delta="1e-5") == 0
    assert accountant.after(more + 9).more_steps(epsilon=3, delta="1e-5") == 0
    assert accountant.after(1).more_steps(epsilon=3, delta="1e-5") == more - 1


def test_of_a_large_budget_all_that_are_counted_fit() -> None:
    assert StepAccountant(noise_multiplier=10**6).more_steps(epsilon=5, delta="0.1") == 10**7


def test_no_step_costs_nothing_and_no_delta_admits_none() -> None:
    budget = StepAccountant(noise_multiplier=1)
    assert budget.epsilon(delta="1e-5").upper == 0
    assert budget.delta(epsilon=1).upper == 0
    assert budget.more_steps(epsilon=100, delta=0) == 0
    with pytest.raises(NotApplicable):
        budget.after(1).epsilon(delta=0)


@pytest.mark.dense
def test_the_multiplier_is_enough_and_hardly_more() -> None:
    least = noise_multiplier(epsilon=2, delta="1e-5", steps=100, sampling_rate="0.1")
    enough = StepAccountant(noise_multiplier=least, sampling_rate="0.1", steps=100)
    assert enough.delta(epsilon=2).certainly_at_most("1e-5")
    less = StepAccountant(noise_multiplier=0.999 * least, sampling_rate="0.1", steps=100)
    assert not less.delta(epsilon=2).certainly_at_most("1e-5")


def test_samples_have_the_rate() -> None:
    accountant = StepAccountant(noise_multiplier=1, sampling_rate="0.03")
    sizes = np.array([len(accountant.sample(10_000)) for _ in range(200)])
    assert sizes.mean() == pytest.approx(300, abs=6 * (300 * 0.97 / 200) ** 0.5)
    assert sizes.var() == pytest.approx(291, rel=0.6)
    assert list(StepAccountant(noise_multiplier=1).sample(3)) == [0, 1, 2]
    assert len(accountant.sample(0)) == 0


def test_the_noise_of_a_step_has_the_standard_deviation_it_says() -> None:
    accountant = StepAccountant(noise_multiplier="1.5", sampling_rate="0.01")
    gradients = np.full((3, 20_000), 0.25 / 20_000**0.5)  # each of length 1/4
    noisy_sum = accountant.noisy_sum(gradients, norm="0.5")
    assert noisy_sum.std() == pytest.approx(0.75, rel=0.03)
    assert noisy_sum.mean() == pytest.approx(3 * gradients[0, 0], abs=6 * 0.75 / 20_000**0.5)
    nothing = accountant.noisy_sum(np.zeros((0, 5)), norm=1)
    assert nothing.shape == (5,)


def test_gradients_are_clipped_before_they_are_summed() -> None:
    quiet = StepAccountant(noise_multiplier="1e-9")
    noisy_sum = quiet.noisy_sum([[30.0, 40.0], [0.03, 0.04]], norm=1)
    assert noisy_sum == pytest.approx([0.63, 0.84], abs=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"noise_multiplier": 0},
        {"noise_multiplier": "-1"},
        {"noise_multiplier": 1, "sampling_rate": 2},
        {"noise_multiplier": 1, "sampling_rate": 0},
        {"noise_multiplier": 1, "steps": -1},
        {"noise_multiplier": 1, "steps": 1.5},
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        StepAccountant(**wrong)


def test_a_norm_out_of_range_is_named() -> None:
    accountant = StepAccountant(noise_multiplier=1)
    with pytest.raises(InvalidArgument, match="norm"):
        accountant.noisy_sum([[1.0]], norm="1e300")
    assert accountant.noisy_sum(np.zeros((3, 0)), norm=1).shape == (0,)
