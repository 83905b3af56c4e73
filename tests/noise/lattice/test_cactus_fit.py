"""Cactus noise for a budget: δ is used up and proved at all shifts; finer lattices gain little."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.calibration import calibrate_family
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.common import fit as common_fit
from leastnoise.noise.lattice import fit
from leastnoise.noise.lattice.law import Cactus
from leastnoise.noise.question import Loss, Question
from tests.scalar import assert_law, density, draws


def _calibrated(epsilon: str, delta: str, loss: Loss = Loss.MAE) -> tuple[Cactus, Budget]:
    budget = Budget(epsilon=epsilon, delta=delta)
    certificate = calibrate_family(
        Cactus, Question(budget=budget, sensitivities=(L2(1),), loss=loss)
    ).certificate
    assert certificate.delta.certainly_at_most(budget.delta)
    law = certificate.noise
    assert isinstance(law, Cactus)
    return law, budget


@pytest.mark.dense
@pytest.mark.parametrize(
    ("epsilon", "delta", "loss"),
    [("1", "1e-2", "mae"), ("5", "0.1", "mse"), ("0.1", "1e-6", "mse"), ("0", "0.1", "mae")],
)
def test_delta_is_met_just_so(epsilon: str, delta: str, loss: str) -> None:
    """Within 1e-5 of δ from below, at the worst of all shifts by a sum over the density."""
    law, budget = _calibrated(epsilon, delta, Loss(loss))
    exact = prove_delta(law, L2(1), budget.epsilon).interval
    assert (1 - 1e-5) * float(budget.delta) <= exact.lower
    edges = np.arange(-len(law.masses) - law.cells, len(law.masses) + law.cells) + 0.25
    worst = 0.0
    for shift in np.linspace(0.1, 1, 19):
        # cells and cells moved by a multiple of their width: two pieces a cell
        moved = round(shift * law.cells) / law.cells
        x = edges / law.cells
        gap = density(law, x) - math.exp(budget.epsilon) * density(law, x - moved)
        worst = max(worst, float(np.maximum(gap, 0).sum()) / law.cells)
    assert worst <= float(budget.delta) * (1 + 1e-9)


@pytest.mark.slow
@settings(derandomize=True, max_examples=15, deadline=None)
@given(
    st.floats(math.log(0.02), math.log(10)).map(lambda x: f"{math.exp(x):.6g}"),
    st.floats(-12, -0.1).map(lambda x: f"{10**x:.6g}"),
    st.sampled_from(list(Loss)),
)
def test_never_leaks(epsilon: str, delta: str, loss: Loss) -> None:
    law, budget = _calibrated(epsilon, delta, loss)
    for shift in ("1/7", "0.5", "0.93"):
        assert prove_delta(law, L2(Fraction(shift)), budget.epsilon).certainly_at_most(budget.delta)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-2"), ("1", "1e-6"), ("5", "1e-2")])
def test_twice_as_many_cells_change_little(
    epsilon: str, delta: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    law, _ = _calibrated(epsilon, delta)
    monkeypatch.setattr("leastnoise.noise.lattice.fit._MANY", 640)
    finer, _ = _calibrated(epsilon, delta)
    assert finer.cells > 1.9 * law.cells
    assert law.mean_abs == pytest.approx(finer.mean_abs, rel=1e-2)


def test_an_exacter_optimum_is_no_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why the optimum of the divergence is not followed to the last digit (see GAP)."""
    law, _ = _calibrated("1", "1e-2")
    monkeypatch.setattr(fit, "GAP", 1e-5)
    exacter, _ = _calibrated("1", "1e-2")
    assert 1.04 * law.mean_abs < exacter.mean_abs


def test_a_small_budget_gives_nearly_a_gaussian() -> None:
    law, budget = _calibrated("0.05", "1e-5", Loss.MSE)
    sigma = float(common_fit.gaussian(1, budget))
    assert law.variance == pytest.approx(sigma**2, rel=1e-3)


def test_the_law_is_drawn() -> None:
    law, _ = _calibrated("3", "1e-2")
    ends = np.concatenate([-law.steps.float_edges[:0:-1], law.steps.float_edges])
    masses = np.concatenate([law.steps.masses[::-1], law.steps.masses]) / 2
    below = np.append(0.0, np.cumsum(masses))
    assert_law(draws(law, 1500, seed=11), law, lambda x: np.interp(x, ends, below))


def test_refusals() -> None:
    def calibrate(epsilon: str, delta: str, dimension: int = 1, **fixed: int) -> None:
        calibrate_family(
            Cactus,
            Question(
                budget=Budget(epsilon=epsilon, delta=delta),
                sensitivities=(L2(1),),
                dimension=dimension,
                fixed=fixed,
            ),
        )

    with pytest.raises(NotApplicable, match="delta=0"):
        calibrate("1", "0")
    with pytest.raises(NotApplicable, match="one number"):
        calibrate("1", "1e-5", 2)
    with pytest.raises(NotApplicable, match="supports epsilon up to 10"):
        calibrate("11", "1e-5")
    with pytest.raises(NotApplicable, match="its range would be"):
        calibrate("1e-4", "1e-9")
    with pytest.raises(InvalidArgument, match="chooses all parameters of cactus"):
        calibrate("1", "1e-5", cells=3)
