"""Every proof encloses the reference values, and mpmath's evaluation of the formula."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.sensitivity import L1, L2
from leastnoise.noise.classic.law import Gaussian, Laplace
from leastnoise.noise.radial.law import SphericalLaplace
from leastnoise.noise.registry import family_named
from tests.problems import DELTAS, MINIMAL_SCALES, Delta, MinimalScale, fractions_of


@pytest.mark.parametrize("problem", DELTAS, ids=lambda problem: problem.name)
def test_reference_deltas_are_enclosed(problem: Delta) -> None:
    exact = fractions_of(problem)
    noise = family_named(problem.family)(scale=problem.scale, dimension=problem.dimension)
    interval = prove_delta(noise, L2(1), exact["epsilon"]).interval
    assert interval.contains(exact["delta"])
    assert interval.width <= 5e-16 * interval.upper


@pytest.mark.parametrize("problem", MINIMAL_SCALES, ids=lambda problem: problem.name)
def test_the_minimal_scale_is_between_proved_and_refuted(problem: MinimalScale) -> None:
    exact = fractions_of(problem)
    step = Fraction(problem.relative_error) * 10 + Fraction(1, 10**18)
    family = family_named(problem.family)

    def at(scale: Fraction) -> tuple[bool, bool]:
        proved = prove_delta(
            family(scale=scale, dimension=problem.dimension), L2(1), exact["epsilon"]
        )
        return proved.certainly_at_most(exact["delta"]), proved.certainly_above(exact["delta"])

    assert at(exact["scale"] * (1 + step)) == (True, False)
    assert at(exact["scale"] * (1 - step)) == (False, True)


@pytest.mark.dense
@settings(derandomize=True, max_examples=30, deadline=None)
@given(st.fractions("1/50", 200, max_denominator=1000), st.fractions(0, 20, max_denominator=1000))
def test_gaussian_against_mpmath(scale: Fraction, epsilon: Fraction) -> None:
    with mp.workdps(1500):  # the textbook difference, with digits to lose
        s, e = mp.mpf(scale.numerator) / scale.denominator, mp.mpf(epsilon.numerator)
        e /= epsilon.denominator
        truth = mp.ncdf(1 / (2 * s) - e * s) - mp.exp(e) * mp.ncdf(-1 / (2 * s) - e * s)
        interval = prove_delta(Gaussian(scale=scale), L2(1), epsilon).interval
        assert mp.mpf(interval.lower) <= truth <= mp.mpf(interval.upper)


@pytest.mark.dense
@pytest.mark.parametrize("dimension", [2, 3, 4, 9, 30])
@pytest.mark.parametrize(
    ("scale", "epsilon"), [("0.3", "1"), ("0.5", "1.9"), ("5", "0"), ("0.9", "1")]
)
def test_l2_against_mpmath(dimension: int, scale: str, epsilon: str) -> None:
    """The closed form with its normalisation by K_{ν+1}, which the proof never forms."""
    with mp.workdps(40):
        s, e, nu = mp.mpf(scale), mp.mpf(epsilon), mp.mpf(dimension - 2) / 2
        z = 1 / (2 * s)
        a = z * (z / 2) ** nu * mp.besselk(nu + 1, z) / (mp.sqrt(mp.pi) * mp.gamma(nu + 0.5))
        ratio = z / 2 * mp.besselk(nu, z) / ((nu + 0.5) * mp.besselk(nu + 1, z))

        def integrand(t: mp.mpf) -> mp.mpf:
            density = mp.exp(z * mp.cos(t)) * mp.sin(t) ** (2 * nu) * (1 + ratio * mp.sin(t) ** 2)
            return a * density * (1 - mp.exp(e - mp.cos(t) / s))

        truth = mp.quad(integrand, mp.linspace(0, mp.acos(e * s), 9))
    noise = SphericalLaplace(scale=scale, dimension=dimension)
    interval = prove_delta(noise, L2(1), Fraction(epsilon)).interval
    assert mp.mpf(interval.lower) <= truth <= mp.mpf(interval.upper)


@pytest.mark.parametrize("family", ["laplace", "l2"])
def test_zero_from_the_pure_guarantee_on_is_exact(family: str) -> None:
    noise = family_named(family)(scale="1/3", dimension=5)
    at = prove_delta(noise, L1(1), Fraction(3)).interval
    assert (at.lower, at.upper) == (0.0, 0.0)
    below = prove_delta(noise, L1(1), Fraction(3) - Fraction(1, 10**12)).interval
    assert below.lower > 0


def test_the_l1_vertex_is_the_worst_shift_of_iid_laplace() -> None:
    """theory/noise.md §1d: b = 1, ε = ½: .2212 at a vertex; (½, ½) would give only .1238."""
    proved = prove_delta(Laplace(scale=1, dimension=2), L1(1), Fraction(1, 2)).interval
    assert proved.lower == pytest.approx(0.22119921692859512, rel=1e-12)


def test_laplace_needs_an_l1_sensitivity() -> None:
    with pytest.raises(NotApplicable, match="l1"):
        Laplace(scale=1, dimension=2).worst_shift(L2(1))


def test_nothing_known_proves_nothing() -> None:
    """A scale so extreme that no precision on the ladder suffices is never called private."""
    noise = Gaussian(scale=Fraction(1, 10**30))
    proved = prove_delta(noise, L2(1), Fraction(1))
    assert not proved.certainly_at_most(Fraction(1, 2))
