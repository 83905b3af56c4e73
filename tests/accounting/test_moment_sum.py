"""Sums over moment generating functions: against exact answers, other proofs and integrals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import expm1, mp, mpf, ncdf

from leastnoise.accounting.composition import Composition
from leastnoise.accounting.proof import moment_sum
from leastnoise.accounting.proof.common_lattice import make_lower_parts, make_upper_parts
from leastnoise.accounting.proof.composed import bound_composed, prove_composed
from leastnoise.accounting.proof.moment_sum import MomentSum, prove_by_moments, serves
from leastnoise.accounting.proof.moment_sum_laws import (
    GaussianMoments,
    LossMoments,
    SphericalMoments,
    laws_of,
)
from leastnoise.balls.convolution import composed_lower, composed_upper
from leastnoise.balls.core import ball, precision
from leastnoise.guarantees.exact import Interval
from leastnoise.guarantees.sensitivity import L1, L2, ShiftBounds
from leastnoise.noise.classic.law import Gaussian, Laplace
from leastnoise.noise.common.proof import delta_of_ratio
from leastnoise.noise.question import Releases
from leastnoise.noise.radial.law import GeneralizedGamma, SphericalLaplace
from leastnoise.noise.radial.proof import spherical_laplace
from tests.angles import angle_integral, spherical, weights

ONE = ShiftBounds.of(L2(1))


def l2(dimension: int, scale: str, count: int) -> Releases:
    noise = SphericalLaplace(scale=scale, dimension=dimension)
    return Releases(noise=noise, shifts=ONE, compositions=count)


def normal(scale: str, count: int) -> Releases:
    return Releases(noise=Gaussian(scale=scale), shifts=ONE, compositions=count)


def laplace(scale: str, count: int, *, dimension: int = 1) -> Releases:
    noise = Laplace(scale=scale, dimension=dimension)
    return Releases(noise=noise, shifts=ShiftBounds.of(L1(1)), compositions=count)


def find_case(parts: Sequence[Releases], epsilon: Fraction | int | str) -> Interval:
    proved = prove_by_moments(parts, Fraction(epsilon))
    assert proved is not None
    return proved.interval


def width(interval: Interval) -> float:
    return (interval.upper - interval.lower) / interval.upper


def two_releases(law: SphericalMoments, epsilon: Any) -> Any:
    """δ of two releases, by a double integral over their angles."""
    a = mpf(law.ratio.numerator) / law.ratio.denominator

    def upper_part(rest: Any) -> Any:
        """∫ (1 − e^(rest − z))₊ over the angles θ with a loss z = a cos θ above `rest`."""
        nu, r = weights(law)
        if rest >= a:
            return mpf(0)
        last = mp.pi if rest <= -a else mp.acos(rest / a)

        def inside(t: Any) -> Any:
            sine, z = mp.sin(t), a * mp.cos(t)
            mass = mp.exp(z / 2) * sine ** (2 * nu) * (1 + r * sine**2)
            return mass * -expm1(rest - z)

        return mp.quad(inside, [0, last])

    nu, r = weights(law)

    def outside(t: Any) -> Any:
        sine, z = mp.sin(t), a * mp.cos(t)
        return mp.exp(z / 2) * sine ** (2 * nu) * (1 + r * sine**2) * upper_part(epsilon - z)

    # where one loss alone reaches ε the inner integral has a kink
    kinks: list[Any] = [mp.acos(z / a) for z in (epsilon - a, epsilon + a) if -a < z < a]
    whole = angle_integral(law, lambda z: mpf(1))
    return mp.quad(outside, sorted([0, *kinks, mp.pi])) / whole**2


# scales and moment generating functions in other arithmetic; reference values "l2 composed"
@pytest.mark.parametrize(("count", "scale"), [(2, "1.436738768125"), (8, "3.222549076032")])
def test_reference_scales_have_the_reference_delta(count: int, scale: str) -> None:
    delta = find_case((l2(10, scale, count),), 1)
    # the scales have 13 digits, and ln δ falls by up to 40 for one unit of ln σ
    assert delta.lower == pytest.approx(1e-5, rel=1e-10)
    assert width(delta) < 1e-12


# ε(1e-5) at scale 1, where the same integral in mpmath's Bessel functions, 30 digits, is 1e-5
@pytest.mark.parametrize(
    ("count", "epsilon"), [(10, "4.18332594"), (100, "17.68991817"), (1000, "91.460885")]
)
def test_reference_epsilons(count: int, epsilon: str) -> None:
    half = Fraction(1, 2 * 10 ** len(epsilon.split(".")[1]))  # the digits that are given
    part = l2(10, "1", count)
    assert find_case((part,), Fraction(epsilon) + half).upper < 1e-5
    assert find_case((part,), Fraction(epsilon) - half).lower > 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dimension", "scale", "epsilon"), [(3, "1", "0.3"), (5, "1", "1"), (9, "1.2", "1.1")]
)
def test_two_releases_by_a_double_integral(dimension: int, scale: str, epsilon: str) -> None:
    part = l2(dimension, scale, 2)
    (law,) = laws_of((part,), inner=False)
    assert isinstance(law, SphericalMoments)
    with mp.workdps(20):
        exact = two_releases(law, mpf(epsilon))
    interval = find_case((part,), epsilon)
    assert width(interval) < 1e-6
    assert interval.lower * (1 - 1e-13) <= exact <= interval.upper * (1 + 1e-13)


@pytest.mark.parametrize(
    ("dimension", "ratio", "epsilon"),
    [(7, "1", "0.1"), (10, "2", "1"), (40, "2", "1"), (101, "1.7", "0.5"), (10**5, "100", "1")],
)
def test_one_release_agrees_with_the_proof_of_one_release(
    dimension: int, ratio: str, epsilon: str
) -> None:
    law = spherical(dimension, ratio)
    noise = SphericalLaplace(scale=1 / law.ratio, dimension=dimension)
    moment_sum = MomentSum.near([law], Fraction(epsilon))
    assert moment_sum is not None
    lower, upper = moment_sum.delta(Fraction(epsilon))
    with precision(256):
        exact = spherical_laplace.delta_ball(noise, shift=Fraction(1), epsilon=Fraction(epsilon))
        assert not lower > exact
        assert not upper < exact
        assert upper - lower < arb("1e-8") * exact


def exact_gaussian(square: Fraction, epsilon: Fraction) -> arb:
    with precision(512):
        return delta_of_ratio(ball(square).sqrt(), epsilon=epsilon)


@pytest.mark.dense
@settings(max_examples=60, deadline=None, derandomize=True)
@given(log_mu=st.floats(-3, 1), deviations=st.floats(-3, 11))
def test_gaussians_have_their_closed_form_inside(*, log_mu: float, deviations: float) -> None:
    mu = Fraction(round(10**log_mu, 4))
    epsilon = Fraction(round(max(0.0, float(mu) ** 2 / 2 + deviations * float(mu)), 6))
    moment_sum = MomentSum.near([GaussianMoments(square=mu**2)], epsilon)
    assert moment_sum is not None
    lower, upper = moment_sum.delta(epsilon)
    exact = exact_gaussian(mu**2, epsilon)
    with precision(256):
        assert not lower > exact
        assert not upper < exact
        assert upper - lower < arb("1e-9") * exact


def truncated(laws: Sequence[LossMoments], epsilon: Fraction, *, wider: float, share: float) -> Any:
    """Return a sum over a `share` of the range, with nodes `wider` times as far apart.

    Its bounds must cover what this leaves out.
    """
    best = MomentSum.near(laws, epsilon)
    assert best is not None
    spacing = best.spacing * Fraction(wider)
    count = max(1, round(share / wider * (len(best.nodes) - 1)))
    with precision(128):
        dropped = arb(1)
        for law in laws:
            dropped *= law.envelope(best.tilt).beyond(spacing * count) ** law.compositions
        return MomentSum(
            tilt=best.tilt,
            spacing=spacing,
            log_moment=best.log_moment,
            nodes=moment_sum._nodes(laws, best.tilt, spacing, count),
            dropped=dropped / (arb.pi() * ball(spacing * count)),
            far=best.far,
            reach=best.reach,
        )


@pytest.mark.parametrize("wider", [1.0, 2.0, 4.0, 7.0])
@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("epsilon", ["0.05", "1", "60"])
def test_bounds_cover_aliases_and_what_is_dropped(wider: float, share: float, epsilon: str) -> None:
    # μ = 1, k = 100, ε = 0.05 is where a lower bound without r is wrong (theory §2, Check i)
    laws = [GaussianMoments(square=Fraction(100))]
    lower, upper = truncated(laws, Fraction(epsilon), wider=wider, share=share).delta(
        Fraction(epsilon)
    )
    exact = exact_gaussian(Fraction(100), Fraction(epsilon))
    assert not lower > exact
    assert not upper < exact


@pytest.mark.dense
@pytest.mark.parametrize("wider", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
@pytest.mark.parametrize(("dimension", "count"), [(2, 6), (2, 30), (3, 4), (10, 2), (10, 30)])
def test_bounds_cover_it_for_l2_too(dimension: int, count: int, wider: float, share: float) -> None:
    laws = laws_of((l2(dimension, "1", count),), inner=False)
    best = MomentSum.near(laws, Fraction(1))
    assert best is not None
    low, high = best.delta(Fraction(1))
    lower, upper = truncated(laws, Fraction(1), wider=wider, share=share).delta(Fraction(1))
    assert not lower > high
    assert not upper < low


CASES = [
    ((l2(2, "2", 8),), "1"),
    ((l2(2, "8", 40),), "0.4"),
    ((l2(3, "1", 5),), "2"),
    ((l2(10, "3", 20),), "2"),
    ((l2(10, "0.2", 3),), "9"),
    ((l2(5, "3", 4), l2(5, "2", 3)), "1"),
    ((l2(5, "3", 4), normal("4", 3)), "1"),
    ((l2(2, "3", 1), l2(30, "1", 2), normal("9", 1)), "0.5"),
    ((l2(10, "3", 2), laplace("2", 3)), "0.6"),
    ((l2(3, "3", 4), normal("4", 1), laplace("5", 1), laplace("9", 2)), "0.6"),
    ((normal("3", 1), laplace("2", 5)), "1"),
    ((l2(600, "1.7", 1), l2(200, "8.8", 1), l2(400, "1.56", 1)), "0.1"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("parts", "epsilon"), CASES)
def test_lattices_enclose_what_the_sum_encloses(parts: tuple[Releases, ...], epsilon: str) -> None:
    interval = find_case(parts, epsilon)
    exact = Fraction(epsilon)
    low = composed_lower(make_lower_parts(parts, points_per_std=32), exact)
    high = composed_upper(make_upper_parts(parts, points_per_std=32), exact)
    assert float(low.lower()) <= interval.lower <= interval.upper <= float(high.upper())
    assert width(interval) < 1e-7 < float((high - low) / high)


def test_far_up_where_bessel_functions_are_hazy_a_series_tells_the_moments() -> None:
    """In 400 dimensions Bessel functions of orders 199 and 200 lose all digits at the last node."""
    assert width(find_case(*CASES[-1])) < 1e-9


def test_composition_goes_by_the_sum() -> None:
    part = l2(10, "3", 20)
    assert prove_composed((part,), Fraction(2)).interval == find_case((part,), 2)
    assert width(prove_composed((part,), Fraction(2)).interval) < 1e-12


def test_generalized_gamma_noise_that_is_the_l2_mechanism_is_served() -> None:
    renamed = GeneralizedGamma(scale=3, alpha=9, p=1, dimension=10)
    other = Releases(noise=renamed, shifts=ONE, compositions=20)
    assert find_case((other,), 2) == find_case((l2(10, "3", 20),), 2)
    both = (other, l2(10, "3", 5))
    assert find_case(both, 2) == find_case((l2(10, "3", 25),), 2)
    one_number = GeneralizedGamma(scale=3, alpha=0, p=1, dimension=1)
    near = GeneralizedGamma(scale=3, alpha=9, p="1.001", dimension=10)
    assert not any(
        serves((Releases(noise=n, shifts=ONE, compositions=2),)) for n in (one_number, near)
    )


def test_generalized_gamma_noise_that_is_gaussian_composes_with_others_as_that() -> None:
    renamed = GeneralizedGamma(scale=3, alpha=9, p=2, dimension=10)  # of variance 9/2
    beside = l2(10, "3", 5)
    mixed = find_case((Releases(noise=renamed, shifts=ONE, compositions=20), beside), 2)
    assert mixed == find_case((normal("3", 40), beside), 2)
    assert mixed != find_case((normal("3", 20), beside), 2)


def test_what_is_not_served() -> None:
    assert serves((l2(3, "1", 2), normal("1", 1)))
    assert not serves((normal("1", 2),))
    # moments of Laplace noise don't fall, so that too many nodes would be needed
    assert not serves((laplace("1", 2), laplace("2", 1)))
    assert serves((normal("1", 2), laplace("2", 1)))
    assert serves((l2(3, "1", 2), laplace("2", 1)))
    sampled = Releases(
        noise=l2(3, "1", 2).noise, shifts=ONE, compositions=2, sampling_rate=Fraction(1, 2)
    )
    assert not serves((sampled,))


@pytest.mark.parametrize("epsilon", ["0", "0.3", "1", "4"])
def test_laplace_beside_gaussian_noise_by_an_integral_over_its_losses(epsilon: str) -> None:
    a, mu = mpf("0.8"), mpf("0.5")

    def gaussian_delta(at: Any) -> Any:
        return ncdf(mu / 2 - at / mu) - mp.exp(at) * ncdf(-mu / 2 - at / mu)

    with mp.workdps(30):
        e = mpf(epsilon)
        ends = (gaussian_delta(e - a) + mp.exp(-a) * gaussian_delta(e + a)) / 2
        between = mp.quad(lambda y: mp.exp(-y) * gaussian_delta(e - a + 2 * y) / 2, [0, a])
        exact = ends + between
        interval = find_case((normal("2", 1), laplace("1.25", 1)), epsilon)
        assert width(interval) < 1e-9
        assert mpf(interval.lower) <= exact <= mpf(interval.upper)


def test_the_dimension_of_laplace_noise_does_not_matter() -> None:
    beside = l2(10, "3", 5)
    vector = find_case((laplace("2", 2, dimension=7), beside, laplace("2", 1)), 1)
    assert vector == find_case((laplace("2", 3), beside), 1)
    assert vector != find_case((laplace("2", 2), beside), 1)


@pytest.mark.slow
def test_two_releases_of_two_dimensions_have_the_fewest_digits() -> None:
    part = l2(2, "1", 2)
    interval = find_case((part,), 1)
    assert 1e-6 < width(interval) < 3e-5
    with mp.workdps(20):
        (law,) = laws_of((part,), inner=False)
        assert isinstance(law, SphericalMoments)
        assert interval.lower <= two_releases(law, mpf(1)) <= interval.upper


def test_too_many_nodes_are_left_to_lattices(monkeypatch: pytest.MonkeyPatch) -> None:
    part, epsilon = l2(3, "1", 4), Fraction(1)
    inside = find_case((part,), epsilon)
    monkeypatch.setattr(moment_sum, "_TOLERANCES", ((1e-13, 8),))
    assert prove_by_moments((part,), epsilon) is None
    assert MomentSum.for_delta(laws_of((part,), inner=False), 1e-5) is None
    interval = prove_composed((part,), epsilon).interval
    assert interval.lower <= inside.lower <= inside.upper <= interval.upper
    assert width(interval) < 0.01
    least = bound_composed((part,), epsilon)
    assert float(least.upper()) >= inside.upper
    spent = Composition(parts=(part,)).epsilon(delta="1e-5")
    assert 0 < spent.lower < spent.upper < 1.01 * spent.lower


def test_nothing_leaks_beyond_the_largest_loss() -> None:
    part = l2(4, "3", 6)
    assert find_case((part,), 2) == Interval(0.0, 0.0)
    just_below = find_case((part,), 2 - Fraction(1, 1000))
    assert 0 < just_below.lower <= just_below.upper < 1e-30
    assert find_case((part, normal("100", 1)), 2).lower > 0


def test_shifts_that_are_known_within_bounds() -> None:
    shifts = ShiftBounds(inner=L2(1), outer=L2("1.001"))
    noise = SphericalLaplace(scale=3, dimension=10)
    interval = find_case((Releases(noise=noise, shifts=shifts, compositions=20),), 2)
    assert interval.lower == pytest.approx(find_case((l2(10, "3", 20),), 2).lower, rel=1e-9)
    wider = SphericalLaplace(scale=3 / Fraction("1.001"), dimension=10)
    outer = find_case((Releases(noise=wider, shifts=ONE, compositions=20),), 2)
    assert interval.upper == pytest.approx(outer.upper, rel=1e-9)


@pytest.mark.parametrize("dimension", [2, 7, 1000, 10**6])
@pytest.mark.parametrize("count", [32, 10**6])
def test_many_releases_in_few_and_many_dimensions(dimension: int, count: int) -> None:
    # about the scale at which the Gaussian limit has δ(1) = 1e-5
    scale = str(round(3.73063 * math.sqrt(count / dimension), 6))
    interval = find_case((l2(dimension, scale, count),), 1)
    assert width(interval) < 1e-11
    assert interval.upper == pytest.approx(1e-5, rel=0.5)


def test_order_and_grouping_do_not_matter() -> None:
    together = find_case((l2(5, "3", 7), normal("4", 3)), 1)
    apart = find_case((normal("4", 1), l2(5, "3", 4), normal("4", 2), l2(5, "3", 3)), 1)
    assert together == apart
    more = find_case((l2(5, "3", 8), normal("4", 3)), 1)
    assert more.lower > together.upper


@pytest.mark.parametrize("tilt", ["1", "19/10"])
def test_all_aliases_above_are_counted(tilt: str) -> None:
    """Against a partial sum of Chernoff bounds at ε + jΛ: slow where both tilts are near."""
    law = GaussianMoments(square=Fraction(1))
    built = MomentSum.near([law], Fraction(1))
    assert built is not None
    with precision():
        built = replace(built, tilt=Fraction(tilt), spacing=Fraction(6), far=(Fraction(2), arb(3)))
        c, period, e = ball(built.tilt), built._period, 1
        alone = (arb(3) - 2 * e).exp() * moment_sum._kappa(arb(2))
        terms = [alone * ((c - 2) * period * j).exp() for j in range(1, 1000)]
        assert float(built._above(Fraction(e)) / sum(terms, arb(0))) == pytest.approx(1, rel=1e-9)
