from __future__ import annotations

import math
from fractions import Fraction

import pytest

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.common import profile as common_profile
from leastnoise.noise.radial.law import GeneralizedGamma
from leastnoise.noise.radial.profile import log_delta
from tests.generalized_gamma import REFERENCES, Reference, law_of, plain_delta
from tests.grids import thin

ACCURACY = 1e-11  # relative; worst case measured 1e-14 of these, and 1.5e-11 at δ = 3e-17
DIMENSIONS = (1, 2, 3, 10, 1000, 10**6)


def by_floats(law: GeneralizedGamma, shift: float, epsilon: float) -> float:
    return log_delta(
        dimension=law.dimension,
        alpha=float(law.alpha),
        kappa=float(law.kappa),
        p=float(law.p),
        shift=shift / float(law.scale),
        epsilon=epsilon,
    )


@pytest.mark.parametrize("reference", REFERENCES, ids=str)
def test_references(reference: Reference) -> None:
    law, shift = law_of(reference)
    log_delta = math.exp(by_floats(law, float(shift), float(reference.epsilon)))
    accuracy = ACCURACY if reference.delta > 1e-12 else 1e-10
    assert log_delta == pytest.approx(reference.delta, rel=accuracy)


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize(
    ("epsilon", "mu"), [(0, 0.01), (0.1, 0.3), (1, 0.3), (1, 1.1), (3, 0.8), (3, 5.0), (20, 4.0)]
)
def test_the_gaussian_member(dimension: int, epsilon: float, mu: float) -> None:
    law = GeneralizedGamma(scale=1, alpha=dimension - 1, p=2, dimension=dimension)
    log_delta = by_floats(law, mu / math.sqrt(2), epsilon)
    assert log_delta == pytest.approx(
        common_profile.gaussian_log_delta(shift_ratio=mu, epsilon=epsilon), abs=1e-12
    )


@pytest.mark.parametrize("dimension", DIMENSIONS[1:])
@pytest.mark.parametrize(("epsilon", "excess"), [(0, 0.01), (0.1, 1), (1, 0.02), (3, 1), (3, 40)])
def test_the_l2_member(dimension: int, epsilon: float, excess: float) -> None:
    law = GeneralizedGamma(scale=1, alpha=dimension - 1, p=1, dimension=dimension)
    shift = epsilon + excess * math.sqrt(dimension)
    expected = common_profile.spherical_laplace_log_delta(
        dimension=dimension, epsilon=epsilon, excess=shift - epsilon
    )
    log_delta = by_floats(law, shift, epsilon)
    # ln δ itself is in the thousands for some: 2e-12 of it then
    assert log_delta == pytest.approx(expected, abs=1e-12, rel=2e-12)


@pytest.mark.grid
@pytest.mark.parametrize(("alpha", "p"), [("0.9", "1.4"), ("-0.5", "0.7"), ("1", "4"), ("0", "2")])
@pytest.mark.parametrize("epsilon", thin([0.3, 0, 2], 2))
def test_against_the_formula_of_the_paper(alpha: str, p: str, epsilon: float) -> None:
    law = GeneralizedGamma(scale="0.8", alpha=alpha, p=p, dimension=2)
    value, error = plain_delta(law, shift=1.0, epsilon=epsilon)
    assert error < 1e-2
    assert abs(math.exp(by_floats(law, 1.0, epsilon)) - value) <= error


@pytest.mark.dense
@pytest.mark.parametrize("shift", ["1e-6", "0.03", "1", "20", "1e6"])
@pytest.mark.parametrize(
    ("dimension", "alpha", "p"),
    [(1, "-0.5", "1"), (2, "0.5", "8"), (7, "6", "3"), (7, "5.5", "0.3"), (100, "30", "1.5")],
)
def test_floats_and_proof_agree(dimension: int, alpha: str, p: str, shift: str) -> None:
    law = GeneralizedGamma(scale=1, alpha=alpha, p=p, dimension=dimension)
    for epsilon in ("0", "0.05", "2"):
        proved = prove_delta(law, L2(shift), Fraction(epsilon)).interval
        log_delta = by_floats(law, float(shift), float(epsilon))
        if proved.upper > 1e-15:
            assert proved.lower * (1 - 1e-10) <= math.exp(log_delta) <= proved.upper * (1 + 1e-10)


def test_no_loss_above_the_pure_guarantee() -> None:
    """κ = 0 and p <= 1: the loss is at most s^p."""
    assert log_delta(dimension=3, alpha=2, kappa=0, p=0.5, shift=0.99, epsilon=1.0) == -math.inf
    assert log_delta(dimension=3, alpha=2, kappa=0, p=0.5, shift=1.5, epsilon=1.0) > -math.inf


@pytest.mark.parametrize("p", ["0.963194", "1.16183"])
@pytest.mark.parametrize("shift", [1e12, 4.142819507550685e15, 1e60])
def test_huge_shifts_tell_everything(shift: float, p: str) -> None:
    # near 0 r^p underflows where the radius after the shift doesn't, and far out r² overflows
    law = GeneralizedGamma(scale=1, alpha=0, p=p, dimension=1)
    assert math.exp(by_floats(law, shift, 0.02214)) == pytest.approx(1.0)


def test_the_total_variation_of_a_law_with_a_strong_pole() -> None:
    """ε = 0 where r^p underflows: P(|X₁| < s/2), proved."""
    law = GeneralizedGamma(scale=1, alpha="-0.98", p=8, dimension=2)
    proved = prove_delta(law, L2("1e-40"), Fraction(0)).interval
    assert math.exp(by_floats(law, 1e-40, 0)) == pytest.approx(proved.upper, rel=1e-9)


@pytest.mark.parametrize(("p", "shift"), [(1, 2e6 - 1000), (1, 2e6), (2, 1415.0)])
def test_shifts_about_as_long_as_two_radii_in_many_dimensions(p: int, shift: float) -> None:
    """No mass below r₁ may be dropped where r₁ is at the bulk of the radii."""
    dimension = 10**6
    law = GeneralizedGamma(scale=1, alpha=dimension - 1, p=p, dimension=dimension)
    assert by_floats(law, shift, 0) == pytest.approx(0, abs=1e-12)


@pytest.mark.grid
@pytest.mark.parametrize("p", ["1.3", "2", "8"])
def test_a_loss_that_is_exactly_epsilon_at_0(p: str) -> None:
    law = GeneralizedGamma(scale=1, alpha=2, p=p, dimension=3)
    proved = prove_delta(law, L2("0.99999999999"), Fraction(1)).interval
    assert by_floats(law, 1.0, 1.0) == pytest.approx(math.log(proved.upper), abs=1e-9)


@pytest.mark.dense
@pytest.mark.parametrize("shift", ["1e-12", "1e-6", "0.1"])
@pytest.mark.parametrize(("alpha", "p"), [("0", "8"), ("0", "0.5"), ("-0.1", "2")])
def test_short_shifts_of_one_number(alpha: str, p: str, shift: str) -> None:
    """The difference r + s − r would leave few digits of s."""
    law = GeneralizedGamma(scale=1, alpha=alpha, p=p, dimension=1)
    for epsilon in ("0", "0.002"):
        proved = prove_delta(law, L2(shift), Fraction(epsilon)).interval
        if proved.upper > 1e-15:
            log_delta = math.exp(by_floats(law, float(shift), float(epsilon)))
            assert log_delta == pytest.approx(proved.upper, rel=1e-10)
