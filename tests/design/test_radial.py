"""Decreasing radial steps from linear programs: never worse than the staircase, always private."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.design.programs import radial
from leastnoise.design.programs.effort import Effort
from leastnoise.design.programs.radial import RadialProgram
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.common.profile import radial_log_delta
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.registry import part_of
from leastnoise.noise.shells.law import OptimalRadial, SphericalStaircase
from leastnoise.selection.public import calibrate


def _request(dimension: int, epsilon: str, delta: str, loss: Loss = Loss.MSE) -> Question:
    return Question(budget=Budget(epsilon=epsilon, delta=delta), dimension=dimension, loss=loss)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "loss", "value"),
    [
        ((2, "1", "1e-5"), Loss.MSE, 5.95),
        ((2, "0.1", "1e-2"), Loss.MSE, 167.0),
        ((2, "10", "1e-3"), Loss.MSE, 0.0080),
        ((3, "10", "1e-3"), Loss.MSE, 0.02884),
        ((3, "1", "0.1"), Loss.MAE, 2.8),
        ((20, "8", "1e-6"), Loss.MSE, 5.0),
    ],
)
def test_losses(budget: tuple[int, str, str], loss: Loss, value: float) -> None:
    question = _request(*budget, loss)
    law = radial.search(question, effort=Effort())
    assert loss.of(law) <= value
    assert loss.of(law) <= loss.of(part_of(SphericalStaircase, "fit")(question))
    proved = prove_delta(law, L2(1), question.budget.epsilon)
    assert proved.certainly_at_most(question.budget.delta)
    assert proved.interval.lower >= float(question.budget.delta) * (1 - 1e-9)


def test_the_program_sees_the_delta_that_is_evaluated() -> None:
    """Its law, as it is, has the δ and the loss that the program asked for."""
    edges = np.arange(1, 45) / 4
    program = RadialProgram(dimension=3, epsilon=1.0, delta=1e-2, power=2, edges=edges)
    heights = program.solve(allowance=Effort().begin())
    assert heights is not None
    falling = np.maximum.accumulate(heights[::-1])[::-1]  # within the solver's tolerance it does
    weights = [round(height / falling[0] * 2**80) for height in falling]
    last = next((i for i, weight in enumerate(weights) if weight == 0), len(weights))
    law = OptimalRadial(
        scale=1, dimension=3, cells=4, edges=range(1, last + 1), weights=weights[:last]
    )
    value = math.exp(radial_log_delta(law, shift=Fraction(1), epsilon=Fraction(1)))
    assert value == pytest.approx(1e-2, rel=1e-6)


def test_the_name_optimal_serves_vectors() -> None:
    mechanism = calibrate("optimal", epsilon="3", delta="1e-5", sensitivity=L2(2), dimension=2)
    assert mechanism.noise.name == "optimal-radial"
    assert mechanism.mse <= 4 * 0.5704
    mechanism.certificate.verify()


@pytest.mark.slow
def test_refusals() -> None:
    for question, why in (
        (_request(4, "1", "1e-5"), "epsilon >= 8"),
        (_request(2, "1", "1e-13"), "delta"),
        (_request(2, "0.001", "1e-6"), "too large"),
        (_request(2, "0", "0.05"), "no law better"),
        (_request(4, "500", "1e-5"), "than floats can hold"),
    ):
        with pytest.raises(NotApplicable, match=why):
            radial.search(question, effort=Effort())
    with pytest.raises(InvalidArgument, match="no fixed parameters"):
        radial.search(
            Question(budget=Budget(epsilon=1, delta="0.1"), dimension=2, fixed={"cells": 3}),
            effort=Effort(),
        )


@pytest.mark.parametrize(
    ("edges", "weights", "why"),
    [
        ((2, 2), (2, 1), "rise"),
        ((1, 2), (1, 2), "never rise"),
        ((1, 2), (2,), "a weight for each"),
        ((1, 2), (2, 0), "a whole number"),
        ((), (), "edges"),
        ((1, 2**300), (2, 1), "very many digits"),
    ],
)
def test_laws_that_are_none(edges: tuple[int, ...], weights: tuple[int, ...], why: str) -> None:
    with pytest.raises(InvalidArgument, match=why):
        OptimalRadial(scale=1, dimension=2, cells=1, edges=edges, weights=weights)
