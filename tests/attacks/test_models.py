"""Random data sets: a fitted model's loss is at most the predicted one, or there is a warning.

The predicted loss by noise is computed here, too (docs/theory/learning.md §2, at the Gaussian's own
δ). Only data are drawn for which a model of zeros loses twice the tolerated loss. A warning is
required if the predicted rounds are too few; then more rounds must help.
"""

from __future__ import annotations

import math
import warnings
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import log_ndtr, ndtr
from sklearn.exceptions import ConvergenceWarning

from leastnoise.learn import LogisticRegression
from tests.attacks.guard import PARTS, Guard

Case = dict[str, Any]
Floats = NDArray[np.float64]

SHAPES = ("uniform", "narrow", "alike", "dummies", "far from 0")
_FEWER = 50  # a case takes a second or more
_DELTA = 1e-6
_CHANCE = 4  # over what is predicted: noise is random, and the prediction is of a mean
_QUADRATIC = 0.005  # the loss isn't quadratic
_SCORE, _SMALL = 8, 1e-3  # what a coefficient's part of a score is at most; what no one warns of
_MOST_ROUNDS = 1000
_RARE = 0.01  # of a label: then the steps overshoot, which docs/learning.md says, and more is lost
_NEAR = 1.05  # within which a warning may be or not


def draw_case(random: Random) -> Case:
    """Draw a case in which a model of zeros would be noticed: it loses twice the tolerated loss.

    Neither label is rare: the predicted loss is known to be too small for rare labels.
    """
    while True:
        case = _any(random)
        x, y = data_of(case)
        if _RARE < y.mean() < 1 - _RARE and 2 * bar(predicted(case)) < math.log(2) - least_loss(
            x, y
        ):
            return case


def _any(random: Random) -> Case:
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
    """Return features in [−1, 1], with a last column of ones, and labels 0 and 1."""
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


def predicted(case: Case) -> float:
    """Return the predicted increase of the mean loss by noise, dλB²/3."""
    return (case["features"] + 1) * _learnable(case) * _size(case) ** 2 / 3


def _learnable(case: Case) -> float:
    """Return λ, the ridge in it."""
    d, noise = case["features"] + 1, _noise(case)
    return noise / _size(case) + d * noise**2 / 2


def _noise(case: Case) -> float:
    """Return σ of Gaussian noise in one release with the whole budget and sensitivity ΔR."""
    d, epsilon = case["features"] + 1, float(case["epsilon"])

    def above(shift: float) -> float:
        first, second = (sign * shift / 2 - epsilon / shift for sign in (1, -1))
        return float(ndtr(first) - math.exp(epsilon + log_ndtr(second))) - _DELTA

    shift: Any = brentq(above, 1e-3, 100)
    factor = 2 if case["neighbours"] == "replace-one" else 1
    return factor * math.sqrt(d) / shift / case["rows"]


def _size(case: Case) -> float:
    """Return B, the largest expected coefficient, for the longest possible rows, R² = d."""
    return _SCORE / math.sqrt(case["features"] + 1)


def bar(predicted: float) -> float:
    """Return the tolerated excess over the least loss, given the `predicted` one."""
    return _CHANCE * predicted + _QUADRATIC


def least_loss(x: Floats, y: Floats) -> float:
    """Return the least mean loss of coefficients in [−B, B], which predictions are about."""
    box = [(-_SCORE / math.sqrt(x.shape[1]), _SCORE / math.sqrt(x.shape[1]))] * x.shape[1]

    def both(weights: Floats) -> tuple[float, Floats]:
        slopes = np.exp(-np.logaddexp(0, -(x @ weights))) - y
        return loss(weights, x, y), x.T @ slopes / len(y)

    return minimize(both, np.zeros(x.shape[1]), jac=True, bounds=box, tol=1e-10).fun


def loss(weights: Floats, x: Floats, y: Floats) -> float:
    score = x @ weights
    return float((np.logaddexp(0, score) - y * score).mean())


def attack(case: Case) -> None:
    x, y = data_of(case)
    least = least_loss(x, y)
    warned, lost, predictions = _fitted(case, x, y)
    by_noise, by_rounds = predictions
    if by_noise > _NEAR * predicted(case):
        raise AssertionError(
            f"noise is to cost {by_noise:.3g}, and {predicted(case):.3g} is enough"
        )
    if lost - least > bar(by_noise + (by_rounds if warned else 0)):
        raise AssertionError(f"lost {lost - least:.3g} of the mean loss, where of {predictions}")
    if warned and "max_iter" in case:  # it is the rounds that are too few
        _, lost, predictions = _fitted(case | {"max_iter": _MOST_ROUNDS}, x, y)
        if lost - least > bar(sum(predictions)):
            raise AssertionError(f"lost {lost - least:.3g} with more rounds, of {predictions}")


def _fitted(case: Case, x: Floats, y: Floats) -> tuple[bool, float, tuple[float, float]]:
    """Return whether there was a warning, the mean loss, and the two predictions of it."""
    rows = {"n_rows": case["rows"]} if case["neighbours"] == "add-remove" else {}
    model = LogisticRegression(
        epsilon=case["epsilon"],
        delta=str(_DELTA),
        classes=(0, 1),
        neighbours=case["neighbours"],
        max_iter=case.get("max_iter"),
        **rows,
    )
    with warnings.catch_warnings(record=True) as text:
        warnings.simplefilter("always")
        model.fit(x[:, :-1], y)
    plan = model.plan_
    warned = any(issubclass(item.category, ConvergenceWarning) for item in text)
    if model.certificate_.compositions != plan.releases:
        raise AssertionError("the certificate is about another number of releases")
    if warned != _few(case, plan.rounds, warned=warned):
        raise AssertionError(f"{'a' if warned else 'no'} warning of {plan.rounds} rounds")
    weights = np.append(model.coef_[0], model.intercept_)
    return warned, loss(weights, x, y), (plan.predicted_noise, plan.predicted_optimization)


def _few(case: Case, rounds: int, *, warned: bool) -> bool:
    """Return whether `rounds` are too few, or `warned` if that is too close to decide."""
    d, learnable = case["features"] + 1, _learnable(case)
    reached = (d / 4 + d * _noise(case) ** 2 / 2) * (3 / rounds) ** 2
    if rounds < case.get("max_iter", _MOST_ROUNDS) and reached < learnable * _NEAR:
        return False  # so many were chosen, as they are enough
    costs = d * reached * _size(case) ** 2 / 2
    for item, limit in ((reached, learnable), (costs, max(_SMALL, predicted(case)))):
        if limit / _NEAR < item < limit * _NEAR:
            return warned
    return reached > learnable and costs > max(_SMALL, predicted(case))


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("models", part, fewer=_FEWER)
