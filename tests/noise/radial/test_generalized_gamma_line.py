from __future__ import annotations

import math
from fractions import Fraction

import pytest

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.classic.law import Laplace
from leastnoise.noise.radial.law import GeneralizedGamma
from leastnoise.noise.radial.profile import log_delta
from tests.generalized_gamma import plain_delta
from tests.grids import thin

# α, p, shift, ε: gaps [a, b] of every kind, and those that hardly are any
HARD = (
    ("0", "2.5", "0.5", "0.1"),  # a = 0
    ("0", "2.5", "2", "0.1"),  # none
    ("0", "3", "0.1", "0.001"),  # s^p = ε: none, only just
    ("0", "0.5", "2", "0.7"),  # b = ∞
    ("0", "1.00003", "0.02991", "0.0299"),  # b far out: nearly Laplace
    ("0", "0.99997", "0.02991", "0.0299"),
    ("-0.5", "1", "0.7", "0.7"),  # the loss tends to ε
    ("-0.5", "1", "0.7", "0.71"),
    ("-0.5", "3", "0.3", "0.5"),  # a and b
    ("-0.5", "3", "0.3", "0.05"),
    ("-0.5", "3", "0.9", "1.2"),
    ("-0.000001", "2", "43.56", "0.007"),  # κ tiny
    ("-0.000001", "3", "0.5", "0.2"),
    ("-0.999999", "1.0000044", "0.012063", "0.012063"),  # all but 1e-6 of the mass is at 0
    ("-0.999999", "8", "0.5", "1"),
)


@pytest.mark.dense
@pytest.mark.parametrize(("alpha", "p", "shift", "epsilon"), HARD)
def test_the_closed_form_is_tight_and_holds_the_integral(
    alpha: str, p: str, shift: str, epsilon: str
) -> None:
    law = GeneralizedGamma(scale="0.5", alpha=alpha, p=p, dimension=1)
    proved = prove_delta(law, L2(Fraction(shift) / 2), Fraction(epsilon)).interval
    by_float = math.exp(
        log_delta(
            dimension=1,
            alpha=float(alpha),
            kappa=float(law.kappa),
            p=float(p),
            shift=float(shift),
            epsilon=float(epsilon),
        )
    )
    assert proved.width <= 1e-14 * proved.upper
    # the floats' own error near a loss that is ε nearly everywhere
    assert proved.lower == pytest.approx(by_float, rel=2e-9)


@pytest.mark.grid
@pytest.mark.parametrize(("alpha", "p"), [("0", "3"), ("-0.5", "3"), ("-0.3", "0.6")])
@pytest.mark.parametrize("epsilon", thin(["0", "0.05", "0.5"], 2))
def test_against_the_formula_of_the_paper(alpha: str, p: str, epsilon: str) -> None:
    law = GeneralizedGamma(scale=1, alpha=alpha, p=p, dimension=1)
    proved = prove_delta(law, L2("0.3"), Fraction(epsilon)).interval
    value, error = plain_delta(law, shift=0.3, epsilon=float(epsilon))
    assert error < 1e-3
    assert proved.lower - error <= value <= proved.upper + error


@pytest.mark.parametrize("epsilon", ["0", "0.7", "2"])
def test_the_laplace_member(epsilon: str) -> None:
    law = GeneralizedGamma(scale="0.5", alpha=0, p=1, dimension=1)
    same = Laplace(scale="0.5", dimension=1)
    assert (
        prove_delta(law, L2(1), Fraction(epsilon)).interval
        == prove_delta(same, L2(1), Fraction(epsilon)).interval
    )
