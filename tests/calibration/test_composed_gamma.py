"""Generalized gamma noise for several releases: proved, near the least scale, of the best shape."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.calibration import calibrate_family, find_law_for_several
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2, ShiftBounds
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Gaussian, Laplace
from leastnoise.noise.common import profile as common_profile
from leastnoise.noise.question import Loss, Question, Releases
from leastnoise.noise.radial.law import GeneralizedGamma, SphericalLaplace
from leastnoise.noise.radial.privacy_losses import sketch
from leastnoise.noise.radial.several import _log_delta, _ScaleSearch
from tests.grids import thin

ONE = ShiftBounds.of(L2(1))
BUDGET = Budget(epsilon=1, delta="1e-5")
ON_A_LINE = Question(budget=BUDGET)


def several(family: type[Noise], question: Question, count: int) -> Noise:
    return find_law_for_several(family, replace(question, compositions=count), None)


def gamma(question: Question, count: int) -> Noise:
    return several(GeneralizedGamma, question, count)


def excess(law: Noise, count: int, budget: Budget) -> tuple[float, float]:
    """Both ends of the proved interval of δ, divided by the budget's δ."""
    interval = prove_composed(
        (Releases(noise=law, shifts=ONE, compositions=count),), budget.epsilon
    ).interval
    return interval.lower / float(budget.delta), interval.upper / float(budget.delta)


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 60])
def test_on_a_line_the_law_is_proved_and_hardly_any_scale_is_lost(count: int) -> None:
    law = gamma(ON_A_LINE, count)
    assert excess(law, count, BUDGET)[1] <= 1
    assert excess(law.scaled(1 - Fraction(1, 1000)), count, BUDGET)[0] > 1


@pytest.mark.dense
def test_the_proof_decides_where_floats_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    question = replace(ON_A_LINE, fixed={"p": Fraction(8, 5), "alpha": Fraction(0)})
    right = gamma(question, 8)
    monkeypatch.setattr(_ScaleSearch, "_proofs_root", lambda *_: math.log(right.scale) - 0.02)
    nearby = replace(question, fixed={"p": Fraction(1601, 1000), "alpha": Fraction(0)})
    law = gamma(nearby, 8)
    assert excess(law, 8, BUDGET)[1] <= 1
    assert law.mse == pytest.approx(right.mse, rel=2e-3)


@pytest.mark.dense
@pytest.mark.parametrize("p", thin(["1.4", "1.7"], 1))
def test_the_search_ends_where_the_proof_does(p: str) -> None:
    """One proof is therefore enough, and no scale is lost.

    The same proof fails at a scale that is 3 · 10^-6 smaller.
    """
    fixed = {"p": Fraction(p), "alpha": Fraction(0)}
    law = gamma(replace(ON_A_LINE, fixed=fixed), 8)
    less = law.scaled(1 - Fraction(3, 10**6))
    assert excess(law, 8, BUDGET)[1] <= 1 < excess(less, 8, BUDGET)[1]


@pytest.mark.slow
def test_no_shape_of_a_grid_is_better() -> None:
    best = gamma(ON_A_LINE, 8)
    others = [
        gamma(
            replace(ON_A_LINE, fixed={"p": Fraction(p), "alpha": Fraction(alpha)}),
            8,
        )
        for alpha, p in (("0", "1.45"), ("0", "1.55"), ("0", "2"), ("-0.02", "1.55"))
    ]
    assert min(other.mse for other in others) > best.mse * 0.9995
    assert best.mse < 0.95 * min(
        several(family, ON_A_LINE, 8).mse for family in (Laplace, Gaussian)
    )


@pytest.mark.slow
def test_parameters_that_are_set_are_kept() -> None:
    law = gamma(replace(ON_A_LINE, fixed={"alpha": Fraction(-1, 50)}), 8)
    assert isinstance(law, GeneralizedGamma)
    assert law.alpha == Fraction(-1, 50)
    law = gamma(replace(ON_A_LINE, fixed={"p": Fraction(3)}), 4)
    assert isinstance(law, GeneralizedGamma)
    assert law.p == 3


@pytest.mark.dense
def test_for_many_releases_it_is_the_gaussian() -> None:
    question = Question(budget=BUDGET, dimension=3)
    law = gamma(question, 1000)
    assert isinstance(law, GeneralizedGamma)
    assert (law.alpha, law.p) == (2, 2)
    normal = several(Gaussian, question, 1000)
    assert law.mse == pytest.approx(normal.mse, rel=1e-12)
    assert excess(law, 1000, BUDGET)[1] <= 1


@pytest.mark.slow
def test_for_two_releases_and_a_tiny_delta_it_is_the_l2_mechanism() -> None:
    question = Question(budget=Budget(epsilon=1, delta="1e-12"), dimension=2)
    law = several(
        GeneralizedGamma, replace(question, fixed={"p": Fraction(1), "alpha": Fraction(1)}), 2
    )
    same = several(SphericalLaplace, question, 2)
    assert law.mse == pytest.approx(same.mse, rel=1e-3)


@pytest.mark.slow
def test_in_three_dimensions_it_beats_both_of_its_classic_members() -> None:
    """Proved as a certificate, for a sensitivity other than 1."""
    budget = Budget(epsilon=5, delta="0.001")
    question = Question(budget=budget, sensitivities=(L2("2.5"),), dimension=3, compositions=20)
    mechanism = calibrate_family(GeneralizedGamma, question).certificate
    assert mechanism.delta.certainly_at_most(budget.delta)
    others = [
        calibrate_family(family, question).certificate for family in (SphericalLaplace, Gaussian)
    ]
    assert mechanism.noise.mse < 0.992 * min(other.noise.mse for other in others)


@pytest.mark.slow
def test_in_ten_dimensions_for_six_releases() -> None:
    question = Question(budget=BUDGET, dimension=10)
    law = gamma(question, 6)
    assert law.mse == pytest.approx(797.9, rel=1e-3)  # Gaussian 835.1, l2 836.3
    assert excess(law, 6, BUDGET)[1] <= 1
    assert excess(law.scaled(1 - Fraction(2, 1000)), 6, BUDGET)[0] > 1


@pytest.mark.slow
def test_the_mean_absolute_error_has_its_own_shape() -> None:
    least = gamma(replace(ON_A_LINE, loss=Loss.MAE), 8)
    assert least.mean_abs <= gamma(ON_A_LINE, 8).mean_abs * 1.0005


@pytest.mark.parametrize("count", [2, 50, 5000])
def test_the_float_search_agrees_with_the_gaussian(count: int) -> None:
    law = GeneralizedGamma(scale=1, alpha=2, p=2, dimension=3)
    shift = 0.8 / math.sqrt(count)
    result = _log_delta(sketch(law, shift), count, 1.0)
    truth = common_profile.gaussian_log_delta(shift_ratio=math.sqrt(2 * count) * shift, epsilon=1)
    assert result == pytest.approx(truth, abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("fixed", [{}, {"p": Fraction(1)}])
def test_where_no_shape_is_ahead_of_l2_it_is_l2(fixed: dict[str, Fraction]) -> None:
    question = Question(budget=Budget(epsilon=6, delta="1e-5"), dimension=2, fixed=fixed)
    result = gamma(question, 2)
    assert isinstance(result, GeneralizedGamma)
    alone = several(SphericalLaplace, replace(question, fixed={}), 2)
    assert (result.alpha, result.p, result.scale) == (1, 1, alone.scale)
    low, high = excess(result, 2, question.budget)
    assert 1 - 1e-4 < low <= high <= 1


def test_beyond_epsilon_100_it_is_refused() -> None:
    with pytest.raises(NotApplicable, match="epsilon > 100"):
        gamma(Question(budget=Budget(epsilon=101, delta="1e-5")), 2)
