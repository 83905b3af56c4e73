"""Plans of trainings from public numbers: sensitivities, counts of rounds and predicted noise."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from leastnoise.errors import InvalidArgument, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.learn.plan import Problem, TrainingPlan, plan_training

Floats = NDArray[np.float64]

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


def test_vectors_cost_by_the_length_of_a_row() -> None:
    """With Gaussian noise R/√d of what it is for coordinates, whatever the rounds."""
    coordinates = plan_training(problem(), updates="coordinates")
    for square in (57, 14):
        vectors = plan_training(problem(squared_norm=Fraction(square)), updates="vectors")
        assert vectors.mechanism.certificate.compositions == vectors.rounds
        ratio = vectors.noise / coordinates.noise
        assert ratio == pytest.approx((square / 57) ** 0.5, rel=0.01)


def test_rounds_cost_no_noise_and_are_as_many_as_its_curvature_asks_for() -> None:
    mechanism = plan_training(problem(rows=10_000, features=5, rounds=None))
    assert mechanism.converged
    assert mechanism.reached <= mechanism.learnable
    largest = 5 / 4 + mechanism.ridge
    assert mechanism.step == pytest.approx(1 / largest)
    assert mechanism.rounds == math.ceil(3 * math.sqrt(largest / mechanism.learnable))
    limited = plan_training(problem(rows=10_000, features=5, rounds=12))
    assert limited.rounds == 12
    assert limited.noise == pytest.approx(mechanism.noise, rel=1e-6)
    assert not limited.converged
    assert "max_iter" in limited.advice
    assert "vectors" in plan_training(problem(), updates="coordinates").advice


def filtered(plan: TrainingPlan, curvatures: Floats) -> tuple[Floats, Floats]:
    """The part of a quadratic's minimum that isn't reached, and the noise's variance, by curvature.

    Both follow from the recursion, without asymptotics: the average is linear in start and noise.
    """
    momentum, turns = plan.momentum, np.arange(1, plan.rounds + 1)

    def averaged(start: Floats | float, pull: Floats | float, first: int) -> Floats:
        weights, ahead = np.zeros_like(curvatures), np.zeros_like(curvatures)
        passed = np.zeros_like(curvatures)
        for turn in turns[first:]:
            moved = ahead - plan.step * (curvatures + plan.ridge) * ahead + pull
            if turn == first + 1:
                moved = moved + start
            weights, before = moved, weights
            ahead = weights + momentum * (weights - before)
            passed += turn * moved
        return passed * 2 / (plan.rounds * (plan.rounds + 1))

    left = 1 - averaged(0.0, plan.step * curvatures, 0)
    parts = [averaged(plan.step, 0.0, first) for first in range(plan.rounds)]
    return left, plan.rounds * np.sum(np.square(parts), axis=0) * plan.noise**2


@pytest.mark.parametrize(
    ("rows", "features", "epsilon"),
    [(300, 5, "0.1"), (300, 5, 5), (3000, 57, 1), (5000, 3, 2)],
)
def test_what_is_predicted_is_no_less_than_the_worst_curvature_loses(
    rows: int, features: int, epsilon: str | int
) -> None:
    asked = problem(
        budget=Budget(epsilon=epsilon, delta="1e-6"), rows=rows, features=features, rounds=None
    )
    mechanism = plan_training(asked)
    curvatures = np.geomspace(mechanism.learnable / 1e4, features / 4, 60)
    left, variance = filtered(mechanism, curvatures)
    worst = float((curvatures / 2 * ((left * mechanism.size) ** 2 + variance)).max())
    assert features * worst <= mechanism.predicted_noise
    # a third isn't had by any ridge, were the loss with it minimized exactly
    ridges = np.geomspace(1e-7, 100, 200)[:, None]
    lost = (ridges * mechanism.size) ** 2 + mechanism.noise**2
    least = (curvatures * lost / 2 / (curvatures + ridges) ** 2).max(axis=1).min()
    assert worst < 3 * least
    few = plan_training(replace(asked, rounds=10))
    left, variance = filtered(few, curvatures)
    worst = float((curvatures / 2 * ((left * few.size) ** 2 + variance)).max())
    assert features * worst <= few.predicted_noise + few.predicted_optimization


@pytest.mark.dense
def test_the_table_of_the_theory() -> None:
    """docs/theory/learning.md §2, at λ = B = 1, from the recursion; bounds are the last digit's."""
    text = (Path(__file__).parents[2] / "docs" / "theory" / "learning.md").read_text("utf-8")
    cells = r"([\d,]+) \| (\d+) \| (\S+) \| (\S+) \| ≤(\S+) \| ≤(\S+)"
    rows = re.findall(rf"^\| {cells} \|$", text, re.MULTILINE)
    assert len(rows) == 4
    for row in rows:
        ratio, rounds, *printed = (float(cell.replace(",", "")) for cell in row)
        root = ratio**-0.5
        assert rounds == math.ceil(3 / root)
        plan = replace(
            plan_training(problem()),
            rounds=int(rounds),
            step=1 / ratio,
            momentum=(1 - root) / (1 + root),
            ridge=0.0,
            noise=1.0,
        )
        ends = ((0.7, 1.2), (4, 8), (1, ratio))
        curvatures = np.concatenate([np.geomspace(*pair, 100) for pair in ends])
        left, variance = filtered(plan, curvatures)
        variance *= curvatures**2
        losses = curvatures / 2 * (left**2 + variance / curvatures**2)
        worst = int(losses.argmax())
        most_left = np.abs(left[curvatures >= 4]).max()
        results = (losses[worst], left[worst], most_left, variance.max())
        assert results[:2] == pytest.approx(printed[:2], abs=0.006)
        for item, bound, digits in zip(results[2:], printed[2:], (0.001, 0.01), strict=True):
            assert bound - 1.2 * digits < item <= bound


def test_without_delta_rounds_are_fewer_as_each_costs() -> None:
    pure = problem(budget=Budget(epsilon=5), rows=20_000, features=3, rounds=None, noise="auto")
    plan = plan_training(pure)
    assert plan.mechanism.certificate.budget.delta == 0
    assert plan.rounds < plan_training(replace(pure, budget=BUDGET)).rounds
    assert plan.converged


@pytest.mark.parametrize(("rounds", "taken"), [(3, 3), (10, 10), (10**6, 1213), (None, 1000)])
def test_rounds_are_at_most_as_many_as_allowed(rounds: int | None, taken: int) -> None:
    many = problem(rows=160_000, features=3, rounds=rounds)
    assert plan_training(many).rounds == pytest.approx(taken, abs=5)


def test_vectors_are_taken_unless_the_noise_is_for_single_numbers() -> None:
    assert plan_training(problem(squared_norm=Fraction(14))).updates == "vectors"
    assert plan_training(problem(noise="staircase", rounds=5)).updates == "coordinates"
    with pytest.raises(Refused):
        plan_training(problem(noise="geometric"))


@pytest.mark.grid
@pytest.mark.parametrize("noise", ["gaussian", "laplace", "quasi-gaussian", "staircase"])
def test_any_family_that_composes_serves(noise: str) -> None:
    plan = plan_training(problem(noise=noise, rounds=5), updates="coordinates")
    assert plan.mechanism.noise.name == noise
    assert plan.mechanism.certificate.compositions == 75


def test_without_delta_a_gaussian_is_refused_and_another_is_found() -> None:
    pure = problem(budget=Budget(epsilon=1), rounds=5)
    with pytest.raises(Refused):
        plan_training(pure)
    plan = plan_training(problem(budget=Budget(epsilon=1), rounds=5, noise="auto"))
    assert plan.mechanism.certificate.budget.delta == 0


def test_too_many_releases_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="max_iter"):
        plan_training(problem(rounds=10**6), updates="coordinates")
