"""Conversions of budgets enclose their formulas in 50 digits; exact ones are reached by a law."""

from __future__ import annotations

from collections.abc import Iterator

import mpmath
import pytest
from mpmath import mpf

import leastnoise as ln
from leastnoise.accounting import conversions as to
from leastnoise.accounting.conversions import Converted, Nature
from leastnoise.errors import InvalidArgument, NotApplicable

PURES = ("0.01", "1", "8", "60")


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    with mpmath.workdps(50):
        yield


def holds(found: Converted, true: mpf) -> bool:
    """Say whether the interval contains `true` and is about as tight as floats can be."""
    value = found.value
    return value.lower <= true <= value.upper <= value.lower * (1 + 1e-12) + 1e-300


def response(pure: str) -> tuple[mpf, mpf]:
    """Randomized response: the probabilities of its two answers."""
    odds = mpmath.exp(mpf(pure))
    return mpf(odds / (1 + odds)), mpf(1 / (1 + odds))


@pytest.mark.parametrize("pure", PURES)
def test_pure_privacy_is_randomized_response(pure: str) -> None:
    p, q = response(pure)
    for epsilon in ("0", "0.005", "0.5", "7"):
        true = max(mpf(0), p - mpmath.exp(mpf(epsilon)) * q)
        assert holds(to.delta_of_pure(pure, epsilon=epsilon), true)
        leaky = to.delta_of_approximate(pure, "0.001", epsilon=epsilon)
        assert holds(leaky, mpf("0.001") + mpf("0.999") * true)
    for order in ("1.5", "2", "30"):
        a = mpf(order)
        moment = p**a * q ** (1 - a) + q**a * p ** (1 - a)
        assert holds(to.rdp_of_pure(pure, order=order), mpmath.log(moment) / (a - 1))
        assert to.rdp_of_pure(pure, order=order).value.upper <= float(pure) * (1 + 1e-12)


@pytest.mark.parametrize("pure", PURES)
def test_the_gaussian_of_a_pure_guarantee_is_no_wider_than_it_must(pure: str) -> None:
    p, _ = response(pure)
    value = to.gdp_of_pure(pure).value
    assert mpmath.ncdf(mpf(value.lower) / 2) <= p <= mpmath.ncdf(mpf(value.upper) / 2)
    assert value.upper <= value.lower * (1 + 1e-9)
    mu = value.upper  # so δ of the Gaussian is above that of randomized response at every ε
    for epsilon in ("0", "0.3", "5"):
        weak = to.delta_of_gdp(mu, epsilon=epsilon).value.upper
        assert weak >= to.delta_of_pure(pure, epsilon=epsilon).value.lower


@pytest.mark.parametrize("pure", ["0.5", "3", "30"])
@pytest.mark.parametrize("delta", ["1e-9", "0.01"])
def test_epsilon_and_delta_are_inverse(pure: str, delta: str) -> None:
    spent = to.epsilon_of_pure(pure, delta=delta).value.upper
    assert to.delta_of_pure(pure, epsilon=spent).value.lower <= float(delta)
    assert to.delta_of_pure(pure, epsilon=spent).value.upper == pytest.approx(
        float(delta), rel=1e-5
    )
    rho = to.zcdp_of_pure(pure).value.upper
    spent = to.epsilon_of_zcdp(rho, delta=delta)
    assert spent.nature is Nature.UPPER_BOUND
    again = to.delta_of_zcdp(rho, epsilon=spent.value.upper).value.upper
    assert again == pytest.approx(float(delta), rel=1e-6)


def test_hardly_any_privacy_is_lost_where_delta_covers_it() -> None:
    assert to.epsilon_of_pure("0.01", delta="0.3").value.upper == 0
    assert to.delta_of_zcdp("700", epsilon="0").value.upper == 1


@pytest.mark.parametrize(("mu", "epsilon"), [("0.1", "0"), ("1", "1"), ("3", "12"), ("0.5", "20")])
def test_gaussian_privacy(mu: str, epsilon: str) -> None:
    m, e = mpf(mu), mpf(epsilon)
    true = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
    converted = to.delta_of_gdp(mu, epsilon=epsilon)
    assert converted.nature is Nature.EXACT
    assert holds(converted, true)
    assert holds(to.zcdp_of_gdp(mu), m * m / 2)
    if converted.value.upper > 1e-300:
        back = to.epsilon_of_gdp(mu, delta=converted.value.upper).value
        assert back.upper == pytest.approx(float(epsilon), abs=1e-9)
    # what zCDP says of the same law is true, and no better than the law itself
    rho = to.zcdp_of_gdp(mu).value.upper
    assert to.delta_of_zcdp(rho, epsilon=epsilon).value.upper >= converted.value.lower


@pytest.mark.parametrize("order", ["1.01", "2", "17.5"])
def test_renyi_bounds_are_the_published_formula(order: str) -> None:
    a, tau = mpf(order), mpf("0.4")
    for epsilon in ("0.6", "3"):
        true = mpmath.exp((a - 1) * (tau - mpf(epsilon))) * (1 - 1 / a) ** (a - 1) / a
        assert holds(to.delta_of_rdp("0.4", order=order, epsilon=epsilon), min(mpf(1), true))
    spent = tau + (mpmath.log(mpf(10) ** 6) - mpmath.log(a)) / (a - 1) + mpmath.log(1 - 1 / a)
    assert holds(to.epsilon_of_rdp("0.4", order=order, delta="1e-6"), spent)
    assert holds(to.rdp_of_zcdp("0.4", order=order), a * tau)


def test_zcdp_takes_the_best_order() -> None:
    upper = to.epsilon_of_zcdp("0.1", delta="1e-6").value.upper
    grid = (1 + mpf(at) / 100 for at in range(1, 6000, 7))
    best = min(
        mpf("0.1") * a + (mpmath.log(10**6) - mpmath.log(a)) / (a - 1) + mpmath.log(1 - 1 / a)
        for a in grid
    )
    assert best * (1 - 1e-4) <= upper <= best
    assert to.epsilon_of_gdp(mpmath.nstr(mpmath.sqrt("0.2"), 17), delta="1e-6").value.upper < upper


def test_concentrated_privacy_is_not_gaussian_privacy() -> None:
    # theory/accounting.md §5: randomized response ε₀ = 1 has ρ = ½, but no √(2ρ) = 1-GDP
    pure = to.delta_of_pure("1", epsilon="0").value.lower
    assert pure > to.delta_of_gdp("1", epsilon="0").value.upper
    assert not hasattr(to, "gdp_of_zcdp")


def test_mechanisms_say_what_they_are() -> None:
    gauss = ln.calibrate("gaussian", epsilon="1", delta="1e-5", sensitivity=ln.L2(2), dimension=3)
    ratio = 2 / mpf(float(gauss.noise.scale))
    assert holds(gauss.gdp, ratio)
    assert holds(gauss.zcdp, ratio**2 / 2)
    assert gauss.zcdp.nature is Nature.EXACT
    epsilon = to.epsilon_of_gdp(gauss.gdp.value.upper, delta="1e-5").value
    assert epsilon.upper == pytest.approx(1, abs=1e-9)
    laplace = ln.calibrate("laplace", epsilon="1", sensitivity=ln.L1(1))
    sampled = ln.calibrate(
        "gaussian", epsilon="1", delta="1e-5", sensitivity=ln.L2(1), sampling_rate="0.5"
    )
    for other in (laplace, sampled):
        with pytest.raises(NotApplicable, match="mixtures"):
            _ = other.zcdp


def test_a_mixture_is_at_least_as_private_as_its_component() -> None:
    mixed = ln.calibrate(
        "gaussian-mixture",
        epsilon="1",
        delta="1e-2",
        sensitivity=ln.L2(1),
        parameters={"modes": 1},
    )
    assert mixed.gdp.nature is Nature.UPPER_BOUND
    for epsilon in ("0.2", "1", "3"):
        bound = to.delta_of_gdp(mixed.gdp.value.upper, epsilon=epsilon).value.upper
        assert mixed.delta(epsilon=epsilon).lower <= bound


def test_what_is_no_guarantee_is_refused() -> None:
    for pure in ("0", "-1", "701", "nan"):
        with pytest.raises(InvalidArgument):
            to.delta_of_pure(pure, epsilon="1")
    with pytest.raises(InvalidArgument, match="order > 1"):
        to.delta_of_rdp("1", order="1", epsilon="1")
    with pytest.raises(InvalidArgument, match="0 < delta"):
        to.epsilon_of_zcdp("1", delta="0")
    with pytest.raises(NotApplicable):
        to.epsilon_of_gdp("1", delta="0")
