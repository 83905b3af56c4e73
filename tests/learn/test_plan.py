"""What is planned from public numbers: sensitivities, counts and predicted noise."""

from __future__ import annotations

from fractions import Fraction

import pytest

from leastnoise.errors import InvalidArgument, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.learn.plan import Problem, plan_training

BUDGET = Budget(epsilon=5, delta="1e-6")


def problem(**changes: object) -> Problem:
    asked: dict[str, object] = {
        "budget": BUDGET,
        "neighbours": "replace-one",
        "rows": 1000,
        "features": 57,
        "rounds": 100,
        "noise": "gaussian",
    }
    return Problem(**(asked | changes))  # type: ignore[arg-type]


def test_coordinates_are_as_many_releases_as_in_the_paper() -> None:
    plan = plan_training(problem(), updates="coordinates")
    assert (plan.rounds, plan.per_round, plan.releases) == (100, 15, 1500)
    certificate = plan.mechanism.certificate
    assert certificate.compositions == 1500
    assert certificate.sensitivity == L2(2)
    assert certificate.stated_neighbours == "replace-one"
    assert certificate.delta.certainly_at_most(BUDGET.delta)


def test_a_row_that_is_there_or_not_moves_a_sum_half_as_far() -> None:
    plan = plan_training(problem(neighbours="add-remove"), updates="coordinates")
    assert plan.mechanism.certificate.sensitivity == L2(1)
    assert 2 * float(plan.mechanism.noise.scale) == pytest.approx(
        float(plan_training(problem(), updates="coordinates").mechanism.noise.scale)
    )


def test_vectors_go_as_far_and_cost_by_the_length_of_a_row() -> None:
    """With Gaussian noise R/√d of what it is for coordinates, but for rounding of the rounds."""
    coordinates = plan_training(problem(), updates="coordinates")
    for square in (57, 14):
        vectors = plan_training(problem(squared_norm=Fraction(square)), updates="vectors")
        moved = vectors.step * vectors.rounds
        assert 1500 / 57 <= moved < 1500 / 57 + vectors.step
        assert vectors.mechanism.certificate.compositions == vectors.rounds
        ratio = vectors.predicted_noise / coordinates.predicted_noise
        assert ratio == pytest.approx((square / 57) ** 0.5, rel=0.01)


def test_the_updates_with_less_noise_are_taken() -> None:
    assert plan_training(problem(squared_norm=Fraction(14))).updates == "vectors"
    few = problem(features=3, rounds=4, budget=Budget(epsilon=1), noise="auto")
    both = [plan_training(few, updates=one) for one in ("coordinates", "vectors")]
    assert plan_training(few) == min(both, key=lambda plan: plan.predicted_noise)
    assert plan_training(problem(noise="staircase", rounds=5)).updates == "coordinates"


@pytest.mark.parametrize("noise", ["gaussian", "laplace", "quasi-gaussian", "staircase"])
def test_any_family_that_composes_serves(noise: str) -> None:
    plan = plan_training(problem(noise=noise, rounds=5), updates="coordinates")
    assert plan.mechanism.noise.name == noise
    assert plan.mechanism.certificate.compositions == 75


def test_without_delta_a_gaussian_is_refused_and_another_is_found() -> None:
    pure = problem(budget=Budget(epsilon=1), rounds=5)
    with pytest.raises(Refused):
        plan_training(pure)
    found = plan_training(problem(budget=Budget(epsilon=1), rounds=5, noise="auto"))
    assert found.mechanism.certificate.budget.delta == 0


def test_too_many_releases_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="max_iter"):
        plan_training(problem(rounds=10**6), updates="coordinates")
