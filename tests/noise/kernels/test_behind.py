"""What is assumed of mixtures that aren't searched is true of those that are found."""

from __future__ import annotations

import itertools

import pytest

from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.kernels.behind import why_kernels_behind, why_mixture_behind
from leastnoise.noise.question import Loss, Question
from leastnoise.selection.public import calibrate, compare

BUDGETS = [("0.5", "1e-2"), ("1", "1e-6"), ("3", "0.05"), ("8", "1e-9")]


@pytest.mark.dense
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("loss", list(Loss))
def test_no_law_that_is_found_has_less_than_is_said(loss: Loss, epsilon: str, delta: str) -> None:
    question = Question(budget=Budget(epsilon=epsilon, delta=delta), loss=loss)
    for name, why in (
        ("gaussian-mixture", why_mixture_behind),
        ("quasi-gaussian", why_kernels_behind),
    ):
        loss_of_law = loss.of(
            calibrate(name, epsilon=epsilon, delta=delta, sensitivity=L2(1), loss=loss.value).noise
        )
        assert why(question, loss_of_law * 1.001) is None
        assert why(question, loss_of_law / 10_000) is not None


def test_it_is_told_where_the_loss_of_a_staircase_is_to_be_beaten() -> None:
    question = Question(budget=Budget(epsilon=1, delta="1e-6"))
    refused = [loss for loss in (1.8, 1.918, 1.97) if why_mixture_behind(question, loss)]
    assert refused == [1.8, 1.918]  # the mixture has 1.9698


def test_kernels_so_close_are_one_gaussian() -> None:
    question = Question(budget=Budget(epsilon="1e-4", delta="1e-6"), compositions=10)
    for why in (why_mixture_behind, why_kernels_behind):
        assert "a single Gaussian" in str(why(question, 54521.0**2))
        assert why(question, 60_000.0**2) is None  # the Gaussian itself has less


@pytest.mark.parametrize(
    ("epsilon", "delta", "count"),
    [
        pytest.param("4", "1e-3", 2, marks=pytest.mark.dense),
        ("1", "1e-9", 10),
    ],
)
def test_for_several_releases_floats_tell_it(epsilon: str, delta: str, count: int) -> None:
    budget = Budget(epsilon=epsilon, delta=delta)
    question = Question(budget=budget, compositions=count)
    for name, why in (
        ("gaussian-mixture", why_mixture_behind),
        ("quasi-gaussian", why_kernels_behind),
    ):
        proved = calibrate(
            name, epsilon=epsilon, delta=delta, sensitivity=L2(1), compositions=count
        )
        assert why(question, proved.mse * 1.001) is None
        assert "has 103 % of that loss" in str(why(question, proved.mse / 1.03))


def test_nothing_is_told_without_a_delta_or_of_samples() -> None:
    questions = [
        Question(budget=Budget(epsilon=1)),
        Question(budget=Budget(epsilon=0, delta="1e-3")),
        Question(budget=Budget(epsilon=1, delta="1e-6"), sampling_rate="0.1"),
    ]
    for why, question in itertools.product((why_mixture_behind, why_kernels_behind), questions):
        assert why(question, 1e-9) is None


@pytest.mark.dense
def test_a_comparison_says_why_it_is_left_out() -> None:
    comparison = compare(epsilon=50, delta="1e-12", sensitivity=L2(3))
    reasons = {item.name: item.why for item in comparison.skipped}
    for name in ("gaussian-mixture", "quasi-gaussian"):
        assert "its mse is not below the mse of truncated-staircase noise" in reasons[name]
    asked = compare(
        epsilon=8, delta="1e-3", sensitivity=L2(3), parameters={"gaussian-mixture": {"modes": 1}}
    )
    assert "gaussian-mixture" in {candidate.mechanism.noise.name for candidate in asked.candidates}
