from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.calibration import calibrate_family
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.classic.law import Gaussian
from leastnoise.noise.common.fit import gaussian
from leastnoise.noise.kernels import fit
from leastnoise.noise.kernels.fit import (
    MOST_MODES,
    gaussian_mixture_search,
    limit_of,
)
from leastnoise.noise.kernels.law import GaussianMixture
from leastnoise.noise.kernels.profile.crossings import Kernels
from leastnoise.noise.kernels.profile.divergence import log_divergence, peaks
from leastnoise.noise.question import Loss, Question
from tests.grids import thin
from tests.kernel_problems import HARD_SCALES, LEAST_SCALES

PROMISED = Fraction(1, 10**9)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("modes", "epsilon", "delta", "scale", "shift"), LEAST_SCALES + HARD_SCALES
)
def test_reference_scales(
    *, modes: int, epsilon: str, delta: str, scale: str, shift: float
) -> None:
    law = gaussian_mixture_search(
        Question(budget=Budget(epsilon=epsilon, delta=delta), fixed={"modes": modes})
    )
    assert float(law.scale) == pytest.approx(float(scale), rel=1e-9)
    assert (law.modes, law.spacing, law.decay) == (modes, 1, Fraction(epsilon))


@pytest.mark.parametrize(
    ("epsilon", "delta", "modes", "mae"),
    thin(
        [
            ("0.5", "1e-4", 16, 1.9938285),
            ("1", "1e-2", 4, 0.92847213),
            ("2", "1e-2", 3, 0.44842935),
            ("5", "1e-2", 4, 0.19124302),
        ],
        2,
    ),
)
def test_modes_are_searched(*, epsilon: str, delta: str, modes: int, mae: float) -> None:
    """The exact improvements over the Gaussian are 38.03, 57.60, 49.65 and 57.90 %."""
    law = gaussian_mixture_search(
        Question(budget=Budget(epsilon=epsilon, delta=delta), loss=Loss.MAE)
    )
    assert (law.modes, law.mae) == (modes, pytest.approx(mae, rel=1e-7))


@pytest.mark.dense
@pytest.mark.parametrize(
    ("epsilon", "delta", "modes"), [("1", "1e-2", 4), ("1", "1e-6", 1), ("0", "0.01", 2)]
)
def test_private_side_and_within_the_promise(*, epsilon: str, delta: str, modes: int) -> None:
    budget = Budget(epsilon=epsilon, delta=delta)
    noise = calibrate_family(
        GaussianMixture, Question(budget=budget, sensitivities=(L2("2.5"),), fixed={"modes": modes})
    ).certificate.noise
    assert isinstance(noise, GaussianMixture)
    assert noise.spacing == Fraction("2.5")
    smaller = GaussianMixture(
        scale=noise.scale * (1 - PROMISED),
        modes=modes,
        spacing=noise.spacing,
        decay=noise.decay,
    )
    assert prove_delta(noise, L2("2.5"), budget.epsilon).certainly_at_most(budget.delta)
    assert prove_delta(smaller, L2("2.5"), budget.epsilon).certainly_above(budget.delta)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("epsilon", "delta", "fixed", "cut_off"),
    [
        ("0.1", "1e-6", {}, True),
        ("0.1", "1e-6", {"modes": 2}, False),
        ("1", "1e-6", {}, False),
        ("0.5", "1e-6", {}, False),
    ],
)
def test_a_search_that_was_cut_off_says_so(
    *, epsilon: str, delta: str, fixed: dict[str, int], cut_off: bool
) -> None:
    question = Question(budget=Budget(epsilon=epsilon, delta=delta), fixed=fixed)
    note = limit_of(gaussian_mixture_search(question), question)
    assert (note is not None) is cut_off
    assert note is None or f"up to {MOST_MODES}" in note


@pytest.mark.dense
def test_many_modes_where_few_do_not_help() -> None:
    """K = 26 has 68.9 % less E|X| than the Gaussian at (0.5, 1e-6); K <= 20 has 19.5 % less."""
    budget = Budget(epsilon="0.5", delta="1e-6")
    plain = Gaussian(scale=gaussian(1, budget)).mae
    question = Question(budget=budget, loss=Loss.MAE)
    law = gaussian_mixture_search(question)
    assert law.modes == 26
    assert 1 - law.mae / plain == pytest.approx(0.689, abs=5e-4)
    best = min(
        gaussian_mixture_search(replace(question, fixed={"modes": k})).mae for k in range(21)
    )
    assert 1 - best / plain == pytest.approx(0.1955, abs=5e-4)


@pytest.mark.slow
@settings(derandomize=True, max_examples=40, deadline=None)
@given(
    log_epsilon=st.floats(math.log(0.01), math.log(20)),
    log_delta=st.floats(math.log(1e-12), math.log(0.4)),
    modes=st.integers(0, 12),
    folded=st.booleans(),
    shares=st.lists(st.floats(0.02, 1), min_size=8, max_size=8),
)
def test_no_shift_exceeds_delta(
    *, log_epsilon: float, log_delta: float, modes: int, folded: bool, shares: list[float]
) -> None:
    """Anywhere in ε from 0.01 to 20 and δ from 1e-12 to 0.4: shifts at random, and close by."""
    budget = Budget(epsilon=math.exp(log_epsilon), delta=math.exp(log_delta))
    epsilon = float(budget.epsilon)
    question = Question(budget=budget, fixed={} if folded else {"modes": modes})
    law = fit.quasi_gaussian_search(question) if folded else gaussian_mixture_search(question)
    sigma = float(law.scale)
    kernels = Kernels(modes=law.modes, spacing=1 / sigma, decay=epsilon, folded=folded)
    peak_deltas = peaks(kernels, shift=1 / sigma, epsilon=epsilon)
    near = [peak_deltas.worst * sigma * factor for factor in (1 - 1e-3, 1 + 1e-3, 1 - 1e-6, 1)]
    for share in [*shares, *(k / 24 for k in range(1, 25)), *(min(x, 1.0) for x in near)]:
        value = log_divergence(kernels, shift=share / sigma, epsilon=epsilon)
        assert value <= math.log(budget.delta) + 1e-8


@pytest.mark.slow
def test_a_peak_that_closes_within_a_hair_of_sigma_is_proved_to_be_gone() -> None:
    """δ falls from 2e-11 to 7e-13 within 1e-7 of σ, and the search sees the foot alone."""
    calibrated = calibrate_family(
        GaussianMixture, Question(budget=Budget(epsilon=20, delta="1e-12"), sensitivities=(L2(1),))
    )
    assert calibrated.certificate.delta.upper <= 1e-12
    assert float(calibrated.certificate.noise.scale) == pytest.approx(0.140840049, rel=1e-6)


def test_what_it_cannot_do_is_refused() -> None:
    budget = Budget(epsilon=1, delta="1e-2")
    with pytest.raises(InvalidArgument, match="spacing is the sensitivity"):
        gaussian_mixture_search(Question(budget=budget, fixed={"spacing": Fraction(2)}))
    for delta, dimension in (("0", 1), ("1e-5", 2)):
        with pytest.raises(NotApplicable):
            calibrate_family(
                GaussianMixture,
                Question(
                    budget=Budget(epsilon=1, delta=delta),
                    sensitivities=(L2(1),),
                    dimension=dimension,
                ),
            )
