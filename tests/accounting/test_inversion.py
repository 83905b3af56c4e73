"""ε(δ): both ends are proved, and no further apart than the known interval of δ requires."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb

import leastnoise as ln
from leastnoise.accounting.composition import Composition
from leastnoise.accounting.curves import enclose_epsilon
from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.balls.core import ball, precision
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.exact import Interval
from leastnoise.guarantees.sensitivity import L1, L2, Integer, ShiftBounds
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Gaussian, Laplace, TruncatedLaplace
from leastnoise.noise.question import ProvedDelta, Releases
from leastnoise.noise.radial.law import SphericalLaplace
from tests.laws import LATTICE_LAWS, LAWS, label

SLOW = {"generalized-gamma", "gaussian-mixture", "quasi-gaussian"}  # seconds a law
HIDDEN = {"l1": L1(1), "integer": Integer(1)}


def one(noise: Noise) -> Composition:
    ball_of = HIDDEN.get(noise.norm, L2(1))
    return Composition(parts=(Releases(noise=noise, shifts=ShiftBounds.of(ball_of)),))


def epsilon(noise: Noise, delta: str | Fraction | int) -> Interval:
    return one(noise).epsilon(delta=delta)


def test_inverts_the_calibration() -> None:
    at = epsilon(Gaussian(scale="3.730631634815941832250"), "1e-5")
    assert at.lower <= 1 <= at.upper * (1 + 1e-20)
    assert at.width < 1e-11


def test_pure_guarantee() -> None:
    at = epsilon(SphericalLaplace(scale="0.5", dimension=4), 0)
    assert at.lower <= 2 <= at.upper
    assert at.width < 1e-11


@pytest.mark.parametrize("scale", ["1e9", "1e-4"])
def test_the_width_is_relative(scale: str) -> None:
    at = epsilon(Laplace(scale=scale), 0)
    assert at.lower <= 1 / Fraction(scale) <= at.upper
    assert at.width <= 1e-12 * at.upper


def test_enough_noise_needs_no_epsilon() -> None:
    at = epsilon(Laplace(scale=1000), Fraction(1, 2))
    assert (at.lower, at.upper) == (0, 0)


def test_a_gaussian_is_never_pure() -> None:
    with pytest.raises(NotApplicable, match="delta=0"):
        epsilon(Gaussian(scale=1), 0)


def test_no_epsilon_is_enough_for_less_than_what_is_at_infinity() -> None:
    truncated = TruncatedLaplace(scale=1, radius="2.5")
    with pytest.raises(NotApplicable, match="no epsilon up to 100,000"):
        epsilon(truncated, "1e-6")


@pytest.mark.parametrize("doubt", ["0", "1e-13", "1e-8", "1e-3", "0.3"])
@pytest.mark.parametrize("rate", ["1e-2", "3", "1e5"])
@pytest.mark.parametrize("delta", ["1e-250", "1e-5", "0.1"])
def test_the_interval_is_as_wide_as_the_doubt_about_delta(
    doubt: str, rate: str, delta: str
) -> None:
    """δ(ε) = e^(−rate·ε)/2, known up to a factor of 1 ± doubt."""
    steep, unsure, wanted = Fraction(rate), Fraction(doubt), Fraction(delta)

    def prove_case(at: Fraction) -> ProvedDelta:
        with precision(128):
            true = (-ball(steep * at)).exp() / 2
            return ProvedDelta(
                lower=true * (1 - ball(unsure)), upper=(true * (1 + ball(unsure))).min(arb(1))
            )

    interval = enclose_epsilon(prove_case, wanted, family="exponential")
    true = math.log(float(1 / (2 * wanted))) / float(steep)
    assert interval.lower <= true * (1 + 1e-12)
    assert true * (1 - 1e-12) <= interval.upper
    open_to_doubt = (math.log1p(float(unsure)) - math.log1p(-float(unsure))) / float(steep)
    assert interval.width <= open_to_doubt * (1 + 1e-9) + 2e-12 * true


def test_where_zero_is_undecided_the_lower_end_is_zero() -> None:
    """δ(0) lies on both sides of what is asked for."""

    def prove_case(at: Fraction) -> ProvedDelta:
        with precision(128):
            true = (-ball(at)).exp() / 2
            return ProvedDelta(lower=true * (1 - arb(1e-6)), upper=true * (1 + arb(1e-6)))

    interval = enclose_epsilon(prove_case, Fraction(1, 2), family="exponential")
    assert interval.lower == 0.0
    assert 1e-6 <= interval.upper <= 1.02e-6


def test_an_undecided_epsilon_never_becomes_a_lower_end() -> None:
    """Nothing is proved below ε = 5: all that is known is that 5 is enough."""

    def prove_case(at: Fraction) -> ProvedDelta:
        return ProvedDelta(lower=arb(0), upper=arb(1) if at < 5 else arb(0))

    interval = enclose_epsilon(prove_case, Fraction(1, 10), family="unknown")
    assert interval.lower == 0.0
    assert 5 <= interval.upper <= 5.1


@pytest.mark.grid
@pytest.mark.parametrize(
    "law",
    [
        pytest.param(law, marks=[pytest.mark.slow] if law.name in SLOW else [])
        for law in (*LAWS, *LATTICE_LAWS)
    ],
    ids=label,
)
@pytest.mark.parametrize("at", ["0.3", "1"])
def test_round_trips(law: Noise, at: str) -> None:
    together = one(law)
    known = together.delta(epsilon=at)
    delta = (Fraction(known.lower) + Fraction(known.upper)) / 2
    if delta == 1:  # a shift that is longer than the noise
        return
    try:
        interval = together.epsilon(delta=delta)
    except NotApplicable:  # δ(ε) is a constant there: what has an infinite loss
        assert together.delta(epsilon=50).upper >= float(delta) * (1 - 1e-9)
        return
    slack = 1 + 1e-14  # the middle of two floats is off by one of them
    assert interval.lower <= float(at) * slack
    assert float(at) <= interval.upper * slack
    with_less, with_more = (
        prove_composed(together.parts, Fraction(end)) for end in (interval.lower, interval.upper)
    )
    assert with_less.certainly_above(delta)
    assert with_more.certainly_at_most(delta)
    # no further than a few times what is known of δ, or than what a float of ε tells
    assert with_less.interval.lower <= float(delta) * (1 + 1e-11) + 3 * known.width
    assert with_more.interval.upper >= float(delta) * (1 - 1e-11) - 3 * known.width


@pytest.mark.slow  # ten seconds
def test_the_same_question_has_one_answer() -> None:
    noise = ln.calibrate(
        "generalized-gamma", epsilon="1", delta="1e-5", sensitivity=L2(1), dimension=7
    )
    known = noise.delta(epsilon=1)
    middle = (Fraction(known.lower) + Fraction(known.upper)) / 2
    interval = ln.compose([(noise, 1)]).epsilon(delta=middle)
    assert interval == noise.epsilon(delta=middle)
    assert interval.lower < 1 < interval.upper
    assert interval.width < 1e-8


@pytest.mark.grid
@pytest.mark.parametrize("count", [2, 30])
@pytest.mark.parametrize("delta", ["1e-3", "1e-9"])
def test_ends_for_several_releases_are_proved(count: int, delta: str) -> None:
    for noise in (Laplace(scale=4), SphericalLaplace(scale=4, dimension=3)):
        part = Releases(noise=noise, shifts=ShiftBounds.of(L2(1)), compositions=count)
        interval = Composition(parts=(part,)).epsilon(delta=delta)
        assert 0 < interval.lower < interval.upper
        assert prove_composed((part,), Fraction(interval.lower)).interval.upper >= float(delta)
        assert prove_composed((part,), Fraction(interval.upper)).interval.lower <= float(delta)
