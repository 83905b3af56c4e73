"""Random data sets: a fitted model loses no more than its plan says, or a warning was given."""

from __future__ import annotations

import warnings
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from leastnoise.learn import LogisticRegression
from tests.attacks.guard import PARTS, Guard

Case = dict[str, Any]
Floats = NDArray[np.float64]

SHAPES = ("uniform", "narrow", "alike", "dummies", "far from 0")
_FEWER = 50  # a case takes a second or more
_CHANCE = 4  # over what is predicted: noise is random, and the prediction is of a mean
_QUADRATIC = 0.005  # the loss isn't quadratic


def drawn(random: Random) -> Case:
    case: Case = {
        "seed": random.randrange(1 << 30),
        "rows": round(10 ** random.uniform(2, 4.3)),
        "features": random.randint(1, 6),
        "shape": random.choice(SHAPES),
        "epsilon": f"{10 ** random.uniform(-1, 1.3):.3g}",
        "neighbours": random.choice(("replace-one", "add-remove")),
        "strength": random.choice((0.0, 1.0, 3.0)),
        "rare": random.choice((0.0, -3.0)),
    }
    if random.random() < 0.3:
        case["max_iter"] = random.choice((1, 5, 30, 300))
    return case


def data_of(case: Case) -> tuple[Floats, Floats]:
    """Return features in [−1, 1], the last column ones, and labels 0 and 1."""
    draws, rows, size = np.random.default_rng(case["seed"]), case["rows"], case["features"]
    x = draws.uniform(-1, 1, (rows, size))
    if case["shape"] == "narrow":
        x[:, 0] = draws.poisson(3, rows) / 20 - 0.8
    elif case["shape"] == "alike":
        x = x[:, :1] + 0.05 * x
    elif case["shape"] == "dummies":
        x = np.eye(size)[draws.integers(size, size=rows)]
    elif case["shape"] == "far from 0":
        x = 0.9 + 0.1 * x
    x = np.column_stack([x.clip(-1, 1), np.ones(rows)])
    truth = np.append(draws.uniform(-1, 1, size) * case["strength"], case["rare"])
    return x, (draws.random(rows) < 1 / (1 + np.exp(-x @ truth))).astype(float)


def attack(case: Case) -> None:
    x, y = data_of(case)
    rows = {"n_rows": case["rows"]} if case["neighbours"] == "add-remove" else {}
    model = LogisticRegression(
        epsilon=case["epsilon"],
        delta="1e-6",
        classes=(0, 1),
        neighbours=case["neighbours"],
        max_iter=case.get("max_iter"),
        **rows,
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(x[:, :-1], y)
    plan = model.plan_
    warned = any(issubclass(one.category, ConvergenceWarning) for one in told)
    if warned == plan.converged:
        raise AssertionError("the warning isn't what the plan says")
    if model.certificate_.compositions != plan.releases:
        raise AssertionError("the certificate is about another number of releases")

    def loss(weights: Floats) -> tuple[float, Floats]:
        score = x @ weights
        slopes = np.exp(-np.logaddexp(0, -score)) - y
        return float((np.logaddexp(0, score) - y * score).mean()), x.T @ slopes / len(y)

    box = [(-plan.size, plan.size)] * x.shape[1]  # coefficients that predictions are about
    least = minimize(loss, np.zeros(x.shape[1]), jac=True, bounds=box, tol=1e-10).fun
    lost = loss(np.append(model.coef_[0], model.intercept_))[0] - least
    predicted = plan.predicted_noise + (plan.predicted_optimization if warned else 0)
    if lost > _CHANCE * predicted + _QUADRATIC:
        raise AssertionError(f"lost {lost:.3g} of the mean loss where {predicted:.3g} is predicted")


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("models", part, fewer=_FEWER)
