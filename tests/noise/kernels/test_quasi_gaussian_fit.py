from __future__ import annotations

from fractions import Fraction

import pytest

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.calibration import calibrate_family
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.kernels.fit import quasi_gaussian_search
from leastnoise.noise.kernels.law import QuasiGaussian
from leastnoise.noise.question import Question
from tests.kernel_problems import FOLDED_SCALES

PROMISED = Fraction(1, 10**9)


@pytest.mark.grid
@pytest.mark.parametrize(("epsilon", "delta", "scale", "shift"), FOLDED_SCALES)
def test_reference_scales(*, epsilon: str, delta: str, scale: str, shift: float) -> None:
    del shift
    law = quasi_gaussian_search(Question(budget=Budget(epsilon=epsilon, delta=delta)))
    assert float(law.scale) == pytest.approx(float(scale), rel=2e-7)
    assert (law.spacing, law.decay) == (1, Fraction(epsilon))


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta", "scale", "shift"), FOLDED_SCALES)
def test_private_side_and_within_the_promise(
    *, epsilon: str, delta: str, scale: str, shift: float
) -> None:
    del scale, shift
    budget = Budget(epsilon=epsilon, delta=delta)
    noise = calibrate_family(
        QuasiGaussian, Question(budget=budget, sensitivities=(L2("2.5"),))
    ).certificate.noise
    assert isinstance(noise, QuasiGaussian)
    smaller = QuasiGaussian(
        scale=noise.scale * (1 - PROMISED), spacing=noise.spacing, decay=noise.decay
    )
    assert noise.spacing == Fraction("2.5")
    assert prove_delta(noise, L2("2.5"), budget.epsilon).certainly_at_most(budget.delta)
    assert prove_delta(smaller, L2("2.5"), budget.epsilon).certainly_above(budget.delta)


@pytest.mark.grid
@pytest.mark.parametrize("decay", ["0", "0.3", "4"])
def test_a_fixed_decay_gets_its_least_scale(decay: str) -> None:
    budget = Budget(epsilon=1, delta="1e-2")
    law = quasi_gaussian_search(Question(budget=budget, fixed={"decay": Fraction(decay)}))
    assert law.decay == Fraction(decay)
    smaller = QuasiGaussian(scale=law.scale * (1 - PROMISED), spacing=1, decay=decay)
    assert prove_delta(law, L2(1), budget.epsilon).certainly_at_most(budget.delta)
    assert prove_delta(smaller, L2(1), budget.epsilon).certainly_above(budget.delta)


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="spacing is the sensitivity"):
        quasi_gaussian_search(
            Question(budget=Budget(epsilon=1, delta="1e-2"), fixed={"spacing": Fraction(2)})
        )
    for delta, dimension in (("0", 1), ("1e-5", 2)):
        with pytest.raises(NotApplicable):
            calibrate_family(
                QuasiGaussian,
                Question(
                    budget=Budget(epsilon=1, delta=delta),
                    sensitivities=(L2(1),),
                    dimension=dimension,
                ),
            )
