from __future__ import annotations

from fractions import Fraction

import pytest

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.calibration import calibrate_family
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.kernels.fit import published_scale, quasi_gaussian_search
from leastnoise.noise.kernels.law import QuasiGaussian
from leastnoise.noise.question import Question
from tests.kernel_problems import FOLDED_SCALES

PROMISED = Fraction(1, 10**9)

# ε, δ, σ₁ and σ₂ of Theorem 4.2, from code that is not part of leastnoise, which states 1e-10.
PUBLISHED = (
    ("0.1", "1e-6", "36.27746618601", "1.046139812819"),
    ("0.1", "0.25", "0.8921801084613", "1.046139812819"),
    ("0.5", "0.25", "0.5414862384794", "0.3763997287585"),
    ("1", "1e-4", "3.130784487712", "0.3408720383713"),
    ("1", "0.25", "0", "0.3408720383713"),
    ("2", "0.1", "0.3922537805521", "0.2981591088126"),
    ("5", "1e-6", "0.8939111894168", "0.2336875325151"),
    ("5", "0.1", "0", "0.2336875325151"),
    ("10", "0.1", "0", "0.1847500378181"),
)


@pytest.mark.parametrize(("epsilon", "delta", "scale", "shift"), FOLDED_SCALES)
def test_reference_scales(*, epsilon: str, delta: str, scale: str, shift: float) -> None:
    del shift
    found = quasi_gaussian_search(Question(budget=Budget(epsilon=epsilon, delta=delta)))
    assert float(found.scale) == pytest.approx(float(scale), rel=2e-7)
    assert (found.spacing, found.decay) == (1, Fraction(epsilon))


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


@pytest.mark.parametrize(("epsilon", "delta", "first", "second"), PUBLISHED)
def test_theorem_4_2(*, epsilon: str, delta: str, first: str, second: str) -> None:
    found = published_scale(Budget(epsilon=epsilon, delta=delta))
    assert float(found) == pytest.approx(max(float(first), float(second)), rel=1e-11)


@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "0.01"), ("2", "0.25"), ("20", "1e-9")])
def test_theorem_4_2_is_private_and_never_below_the_exact(epsilon: str, delta: str) -> None:
    budget = Budget(epsilon=epsilon, delta=delta)
    law = QuasiGaussian(
        scale=published_scale(budget) * (1 + PROMISED), spacing=1, decay=budget.epsilon
    )
    assert prove_delta(law, L2(1), budget.epsilon).certainly_at_most(budget.delta)
    assert quasi_gaussian_search(Question(budget=budget)).scale <= law.scale


def test_the_published_scale_can_be_a_third_too_large() -> None:
    budget = Budget(epsilon=2, delta="0.25")
    excess = published_scale(budget) / quasi_gaussian_search(Question(budget=budget)).scale
    assert float(excess) == pytest.approx(1.32033, abs=1e-5)


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
    with pytest.raises(NotApplicable, match=r"Theorem 4\.2"):
        published_scale(Budget(epsilon=0, delta="1e-2"))
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
