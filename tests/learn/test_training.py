"""Rounds of training: exact sensitivities, and without noise the minimum that scipy finds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from leastnoise.guarantees.budget import Budget
from leastnoise.learn import training
from leastnoise.learn.plan import Problem, TrainingPlan, plan_training
from leastnoise.learn.training import (
    BITS,
    Noisy,
    coordinate_rounds,
    shorten,
    vector_rounds,
    whole_features,
)

UNIT = 2**BITS
Floats = NDArray[np.float64]


def data(rows: int = 400, features: int = 6) -> tuple[Floats, Floats]:
    draws = np.random.default_rng(3)
    x = draws.uniform(-1, 1, (rows, features))
    x[:, 0] = 1
    truth = draws.normal(size=features)
    return x, np.where(x @ truth + draws.logistic(size=rows) > 0, 1.0, -1.0)


def plan(
    rounds: int, per_round: int, step: float, *, ridge: float = 0.0, momentum: float = 0.0
) -> TrainingPlan:
    fields = {"rounds": rounds, "per_round": per_round, "step": step}
    return cast(TrainingPlan, SimpleNamespace(**fields, ridge=ridge, momentum=momentum))


def permutations(size: int) -> Iterator[NDArray[np.int64]]:
    draws = np.random.default_rng(4)
    while True:
        yield draws.permutation(size)


def exactly(sums: Floats) -> Floats:
    return sums / UNIT


def minimum(x: Floats, y: Floats, penalty: float = 0.0) -> Any:
    """Coefficients h of least loss, by scipy; h = a − b with a, b >= 0, so that l1 is smooth."""
    size = x.shape[1]

    def loss(both: Floats) -> float:
        h = both[:size] - both[size:]
        return float(np.logaddexp(0, -y * (x @ h)).mean() + penalty * both.sum())

    minimum = minimize(loss, np.zeros(2 * size), bounds=[(0, None)] * 2 * size, tol=1e-12)
    return minimum.x[:size] - minimum.x[size:]


@pytest.mark.grid
@pytest.mark.parametrize("penalty", [0.0, 0.03])
def test_both_find_the_minimum_if_there_is_no_noise(penalty: float) -> None:
    x, y = data()
    expected = minimum(x, y, penalty)
    whole = whole_features(x, squared_norm=Fraction(6))
    by_coordinates = coordinate_rounds(
        whole,
        y,
        plan=plan(600, 6, 1.0),
        rows=len(x),
        penalty=penalty,
        order=permutations(6),
        noisy=exactly,
    )
    vectors = vector_rounds(
        whole,
        y,
        plan=plan(1500, 1, 4 / 6, momentum=0.8),
        rows=len(x),
        penalty=penalty,
        noisy=exactly,
    )
    assert by_coordinates == pytest.approx(expected, abs=3e-3)
    assert vectors == pytest.approx(expected, abs=3e-3)
    if penalty:
        assert (vectors == 0).any()


def planned(x: Floats, epsilon: str) -> TrainingPlan:
    return plan_training(
        Problem(
            budget=Budget(epsilon=epsilon, delta="1e-6"),
            neighbours="replace-one",
            rows=len(x),
            features=x.shape[1],
        )
    )


def by_vectors(x: Floats, y: Floats, plan: TrainingPlan, noisy: Noisy) -> Floats:
    square = Fraction(x.shape[1])
    whole = whole_features(x, squared_norm=square)
    return vector_rounds(whole, y, plan=plan, rows=len(x), penalty=0.0, noisy=noisy)


@pytest.mark.parametrize("epsilon", ["1", "50"])
def test_as_many_rounds_as_planned_come_near_the_minimum(epsilon: str) -> None:
    """Without noise; where curvature is small, too, as two columns are nearly one."""
    x, y = data(2000)
    x[:, 1] = 0.97 * x[:, 2]
    plan = planned(x, epsilon)

    def loss(h: Floats) -> float:
        return float(np.logaddexp(0, -y * (x @ h)).mean())

    left = loss(by_vectors(x, y, plan, exactly)) - loss(minimum(x, y))
    assert 0 <= left < plan.predicted_noise / 10
    assert plan.converged


@pytest.mark.dense
def test_noise_moves_the_coefficients_as_far_as_linear_algebra_says() -> None:
    """σ of all rounds, through the inverse of curvature at the minimum; 4/3 for the average."""
    x, y = data(300)
    mechanism = planned(x, "60")
    draws = np.random.default_rng(9)
    deviation = mechanism.noise * math.sqrt(mechanism.rounds) * len(x)

    def noisy(sums: Floats) -> Floats:
        return sums / UNIT + deviation * draws.normal(size=sums.shape)

    middle = by_vectors(x, y, mechanism, exactly)
    values = np.array([by_vectors(x, y, mechanism, noisy) for _ in range(150)])
    chances = 1 / (1 + np.exp(-x @ middle))
    curved = (x * (chances * (1 - chances))[:, None]).T @ x / len(x)
    curvature, directions = np.linalg.eigh(curved + mechanism.ridge * np.eye(len(middle)))
    assert curvature[0] > 4 * mechanism.learnable
    spread = ((values - middle) @ directions).std(axis=0)
    assert spread == pytest.approx(np.sqrt(4 / 3) * mechanism.noise / curvature, rel=0.25)
    losses = [np.logaddexp(0, -y * (x @ h)).mean() for h in values]
    least = np.logaddexp(0, -y * (x @ minimum(x, y))).mean()
    assert np.mean(losses) - least < mechanism.predicted_noise


def test_features_are_cut_to_their_box_and_their_norm_exactly() -> None:
    draws = np.random.default_rng(5)
    x = draws.normal(size=(3000, 7)) * draws.choice([0.1, 2], size=(3000, 1))
    whole = whole_features(x, squared_norm=Fraction(5, 2))
    assert np.abs(whole).max() <= UNIT
    squares = (whole.astype(object) ** 2).sum(axis=1)
    assert max(squares) <= Fraction(5, 2) * UNIT**2
    assert max(squares) > Fraction(5, 2) * UNIT**2 * (1 - Fraction(1, 10**5))
    short = np.abs(np.clip(x, -1, 1)).sum(axis=1) < 1
    assert np.abs(whole[short] / UNIT - np.clip(x, -1, 1)[short]).max() < 1 / UNIT


@pytest.mark.parametrize("square", [Fraction(7), Fraction(2)])
def test_one_row_moves_no_sum_by_more_than_the_sensitivity(square: Fraction) -> None:
    """Both neighbours' sums at the same coefficients, of every release of a training."""
    draws = np.random.default_rng(6)
    x = draws.choice([-1.0, 1.0, 0.999999, -0.3], size=(40, 7))
    y = draws.choice([-1.0, 1.0], size=40)
    whole = whole_features(x, squared_norm=square)
    seen: list[Floats] = []
    answers: list[Floats] = []

    def released(sums: Floats) -> Floats:
        seen.append(sums)
        answers.append(sums / UNIT + 1e4 * draws.normal(size=sums.shape))  # goes everywhere
        return answers[-1]

    vector_rounds(whole, y, plan=plan(30, 1, 0.5), rows=40, penalty=0, noisy=released)
    again = iter(answers)
    others: list[Floats] = []

    def replayed(sums: Floats) -> Floats:
        others.append(sums)
        return next(again)

    vector_rounds(whole[:-1], y[:-1], plan=plan(30, 1, 0.5), rows=40, penalty=0, noisy=replayed)
    for sums, without in zip(seen, others, strict=True):
        moved = (sums - without).astype(np.int64).astype(object)
        assert (sums == np.trunc(sums)).all()
        assert max(abs(moved)) <= UNIT
        assert sum(moved**2) <= square * UNIT**2
    assert max(max(abs(a - b)) / UNIT for a, b in zip(seen, others, strict=True)) > 0.5


def test_slopes_that_overflow_are_slopes_all_the_same() -> None:
    x, y = np.ones((2, 1)), np.array([1.0, -1.0])
    far = vector_rounds(
        whole_features(x, squared_norm=Fraction(1)),
        y,
        plan=plan(3, 1, 1.0),
        rows=2,
        penalty=0,
        noisy=lambda sums: sums / UNIT + 1e300,
    )
    assert np.isfinite(far).all()


@pytest.mark.parametrize("size", [2, 7, 8, 1001, 1002, 4099])
def test_a_row_adds_the_same_whoever_else_is_there(size: int) -> None:
    """Bit by bit: rows before and after it change neither its margin nor its slope."""
    draws = np.random.default_rng(size)
    whole = whole_features(draws.uniform(-1, 1, (size, 57)), squared_norm=Fraction(57))
    weights, labels = draws.normal(size=57) * 40, draws.choice([-1.0, 1.0], size)
    every = training._slopes(training._margins(np.asfortranarray(whole), weights), labels)
    for index in {0, size // 2, size - 1}:
        kept = np.arange(size) != index
        columns = np.asfortranarray(whole[kept])
        others = training._slopes(training._margins(columns, weights), labels[kept])
        assert (others == every[kept]).all()


@pytest.mark.parametrize("size", [4096, 4097, 9001])
def test_sums_of_blocks_are_those_of_all_rows(size: int) -> None:
    draws = np.random.default_rng(size)
    whole = whole_features(draws.uniform(-1, 1, (size, 60)), squared_norm=Fraction(60))
    weights, labels = draws.normal(size=60), draws.choice([-1.0, 1.0], size)
    columns = np.asfortranarray(whole)
    slopes = training._slopes(training._margins(columns, weights), labels)
    expected = np.trunc(columns * slopes[:, None]).sum(axis=0)
    assert (training._sums(columns, labels, weights) == expected).all()


@pytest.mark.parametrize("far", [1e300, -math.inf, math.nan])
def test_coefficients_that_overflowed_leave_each_part_within_its_bound(far: float) -> None:
    """A slope that is no number would make a sum that a row moves by anything."""
    columns, labels = np.full((4, 3), float(UNIT)), np.array([1.0, -1.0, 1.0, -1.0])
    with np.errstate(all="ignore"):
        sums = training._sums(columns, labels, np.array([far, -far, far]))
    assert (np.abs(sums) <= 2 * UNIT).all()


@pytest.mark.parametrize("noise", [-1e5, 1e5])
def test_a_callers_errstate_turns_no_row_into_an_error(noise: float) -> None:
    """Margins of 1e5 overflow exp on one side and underflow it on the other."""
    with np.errstate(all="raise"):
        result = vector_rounds(
            whole_features(np.ones((2, 1)), squared_norm=Fraction(1)),
            np.array([1.0, -1.0]),
            plan=plan(3, 1, 1.0),
            rows=1,
            penalty=0,
            noisy=lambda sums: sums / UNIT + noise,
        )
    assert np.isfinite(result).all()


@pytest.mark.parametrize("squared_norm", [None, Fraction(2)])
def test_features_are_cut_to_the_ball_and_those_inside_are_left(
    squared_norm: Fraction | None,
) -> None:
    x = np.array([[0.5, -0.5, 0.1, 0.0], [0.0] * 4, [1.0, 1.0, 1.0, -1.0], [9.0, 0.0, 0.0, 0.0]])
    near = np.clip(x, -1, 1)
    if squared_norm is not None:
        near[2] /= math.sqrt(2)
    assert shorten(x, squared_norm=squared_norm) == pytest.approx(near, rel=1e-14)
