"""Poisson subsampling: enclosures contain the δ of integrals, sums over cells and a library."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb

from leastnoise.accounting.composition import Composition
from leastnoise.accounting.proof.common_lattice import make_lower_parts, make_upper_parts
from leastnoise.accounting.proof.composed import bound_composed, prove_composed
from leastnoise.accounting.proof.sampled import enclose_sampled, sample_upper
from leastnoise.balls.convolution import composed_lower, composed_upper
from leastnoise.balls.losses import LossLattice
from leastnoise.guarantees.sensitivity import L1, L2, Integer, ShiftBounds
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Gaussian, Laplace, TruncatedLaplace
from leastnoise.noise.common.proof import delta_of_ratio
from leastnoise.noise.lattice.law import DiscreteStaircase
from leastnoise.noise.question import Releases
from leastnoise.noise.radial.law import SphericalLaplace
from tests.grids import thin
from tests.scalar import density

LAPLACE, NORMAL = Laplace(scale=1), Gaussian(scale=2)
L2_TEN = SphericalLaplace(scale="0.5", dimension=10)
CUT = TruncatedLaplace(scale="0.5", radius="1.5")


def sampled(noise: Noise, rate: str, count: int = 1) -> Releases:
    ball = L1(1) if noise.norm == "l1" else L2(1)
    return Releases(
        noise=noise, shifts=ShiftBounds.of(ball), compositions=count, sampling_rate=Fraction(rate)
    )


def integral(noise: Noise, rate: str, epsilon: float | str, *, removed: bool) -> mpmath.mpf:
    """∫(r − αq)₊ if `removed`, else ∫(q − αr)₊. As r/q increases, the positive part is one ray."""
    scale, gamma = mpmath.mpf(float(noise.scale)), mpmath.mpf(rate)
    alpha = mpmath.exp(mpmath.mpf(epsilon))

    def above(x: mpmath.mpf) -> mpmath.mpf:
        if isinstance(noise, Laplace):
            tail = mpmath.exp(-abs(x) / scale) / 2
            return tail if x > 0 else 1 - tail
        return mpmath.ncdf(-x / scale)

    def loss(x: mpmath.mpf) -> mpmath.mpf:
        if isinstance(noise, Laplace):
            return (abs(x) - abs(x - 1)) / scale
        return (2 * x - 1) / (2 * scale**2)

    def first_is_larger(x: mpmath.mpf) -> bool:
        ratio = 1 - gamma + gamma * mpmath.exp(loss(x))
        return ratio > alpha if removed else alpha * ratio < 1

    low, high = mpmath.mpf(-100), mpmath.mpf(100)
    if first_is_larger(low) == first_is_larger(high):
        return mpmath.mpf(0) if not first_is_larger(low) else 1 - alpha
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if first_is_larger(middle) != removed else (low, middle)
    without, shifted = above(low), above(low - 1)
    sampled_tail = (1 - gamma) * without + gamma * shifted
    if removed:
        return sampled_tail - alpha * without
    return (1 - without) - alpha * (1 - sampled_tail)


@pytest.mark.parametrize("noise", [LAPLACE, NORMAL])
@pytest.mark.parametrize(("rate", "epsilon"), [("0.1", "0.05"), ("0.7", "0.3"), ("0.01", "0.001")])
def test_one_release_is_the_larger_of_two_integrals(noise: Noise, rate: str, epsilon: str) -> None:
    with mpmath.workdps(30):
        both = [integral(noise, rate, epsilon, removed=removed) for removed in (True, False)]
    interval = prove_composed((sampled(noise, rate),), Fraction(epsilon)).interval
    assert interval.lower * (1 - 1e-12) <= max(both) <= interval.upper * (1 + 1e-12)
    assert interval.upper <= interval.lower * (1 + 1e-14)


@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize("noise", [LAPLACE, NORMAL])
def test_lattices_lie_on_their_sides_at_every_epsilon(noise: Noise, removed: bool) -> None:
    part = sampled(noise, "0.3")
    upper = make_upper_parts((part,), points_per_std=16, removed=removed)[0][0]
    lower = make_lower_parts((part,), points_per_std=16, removed=removed)[0][0].lattice(1.0)

    def delta_of(lattice: LossLattice, epsilon: float) -> float:
        losses = float(lattice.origin) + float(lattice.step) * (
            lattice.first + np.arange(len(lattice.masses))
        )
        return float(lattice.masses @ np.maximum(-np.expm1(epsilon - losses), 0)) + lattice.infinity

    widest = 0.0
    for epsilon in (-1.0, -0.3, -0.1, -0.01, 0.0, 0.02, 0.07, 0.2, 0.4):
        with mpmath.workdps(20):
            true = float(integral(noise, "0.3", epsilon, removed=removed))
        assert delta_of(lower, epsilon) <= true + 1e-13
        assert true <= delta_of(upper, epsilon) + 1e-13
        widest = max(widest, delta_of(upper, epsilon) - delta_of(lower, epsilon))
    assert widest < 0.01


# Independent computations (50 digits); remove, add at δ = 1e-5, k = 1000
@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "removed", "added"),
    [
        (sampled(LAPLACE, "0.1", 1000), 16.21372, 15.07673),
        (sampled(NORMAL, "0.05", 1000), 3.69974, 3.40942),
        (sampled(L2_TEN, "0.05", 1000), 4.927415, 4.507453),
    ],
    ids=["laplace", "gaussian", "l2"],
)
def test_a_thousand_releases(part: Releases, removed: float, added: float) -> None:
    interval = Composition(parts=(part,), points_per_std=32).epsilon(delta="1e-5")
    assert interval.lower - 5e-6 <= removed <= interval.upper + 5e-6  # the digits that are given
    assert interval.upper - interval.lower < 2e-3 * removed
    upper = make_upper_parts((part,), points_per_std=32, removed=False)
    lower = make_lower_parts((part,), points_per_std=32, removed=False)
    assert float(composed_upper(upper, Fraction(added + 1e-5)).upper()) > 0.98e-5
    assert float(composed_upper(upper, Fraction(added * 1.001)).upper()) <= 1e-5
    assert float(composed_lower(lower, Fraction(added - 1e-5)).lower()) <= 1e-5 * 1.0001
    assert float(composed_lower(lower, Fraction(added * 0.99)).lower()) > 1e-5


def cells(noise: Noise, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Masses of n equal cells without the record, and with the record sampled, shapes (n,)."""
    ends = np.linspace(-16, 16, 1025)
    nodes, weights = np.polynomial.legendre.leggauss(5)
    half = (ends[1] - ends[0]) / 2
    x = (ends[:-1, None] + half * (1 + nodes)).ravel()
    without, shifted = (
        half * (density(noise, x - shift).reshape(-1, 5) @ weights) for shift in (0.0, 1.0)
    )
    return without, (1 - rate) * without + rate * shifted


@pytest.mark.slow
@pytest.mark.parametrize("noise", [LAPLACE, NORMAL, CUT])
@pytest.mark.parametrize("epsilon", ["0.05", "0.4"])
def test_two_mixed_releases_hold_what_cells_of_both_tell(noise: Noise, epsilon: str) -> None:
    parts = (sampled(noise, "0.4"), sampled(NORMAL, "1"))
    interval = prove_composed(parts, Fraction(epsilon)).interval
    (item, one_sampled), (other, other_sampled) = cells(noise, 0.4), cells(NORMAL, 1.0)
    without = np.multiply.outer(item, other)
    with_record = np.multiply.outer(one_sampled, other_sampled)
    alpha = math.exp(float(epsilon))
    lines = [
        float(np.maximum(first - alpha * second, 0).sum())
        for first, second in ((with_record, without), (without, with_record))
    ]
    assert max(lines) <= interval.upper
    assert interval.lower <= max(lines) * 1.002
    assert max(lines) * 0.998 <= interval.upper <= max(lines) * 1.01


def test_another_accountant_agrees_within_its_discretization() -> None:
    pld: Any = pytest.importorskip("dp_accounting.pld", reason="dp-accounting (extra bench)")
    theirs = pld.privacy_loss_distribution.from_gaussian_mechanism(
        2.0, sampling_prob=0.05, value_discretization_interval=1e-3
    ).self_compose(50)
    part = sampled(NORMAL, "0.05", 50)
    ours = prove_composed((part,), Fraction("0.5"), points_per_std=24).interval
    assert ours.lower <= theirs.get_delta_for_epsilon(0.5)
    assert ours.upper >= theirs.get_delta_for_epsilon(0.5) * (1 - 2e-2)


def test_a_smaller_sample_leaks_less_and_the_whole_is_the_limit() -> None:
    deltas = [
        prove_composed((sampled(LAPLACE, rate, 5),), Fraction(1)).interval
        for rate in ("0.1", "0.5", "0.999999", "1")
    ]
    for less, more in itertools.pairwise(deltas[:-1]):
        assert less.upper < more.lower
    assert deltas[2].lower <= deltas[3].upper
    assert deltas[3].upper <= deltas[2].upper * 1.01


def test_pure_privacy_is_amplified_exactly() -> None:
    # ln(1 + γ(e^ε₀ − 1)) is private, and nothing less
    edge = Fraction(math.log1p(0.1 * math.expm1(1.0)))
    part = sampled(LAPLACE, "0.1")
    assert prove_composed((part,), edge + Fraction(1, 10**12)).interval.upper == 0
    assert prove_composed((part,), edge - Fraction(1, 10**12)).interval.lower > 0
    many = sampled(LAPLACE, "0.1", 50)
    assert bound_composed((many,), 50 * (edge + Fraction(1, 10**12))).is_zero()


def test_deep_tails_of_a_single_release_are_told() -> None:
    interval = prove_composed((sampled(NORMAL, "0.001"),), Fraction(2)).interval
    with mpmath.workdps(60):
        alpha = mpmath.exp(2)
        base = (alpha - 1 + mpmath.mpf("0.001")) / mpmath.mpf("0.001")
        mu, epsilon = mpmath.mpf(0.5), mpmath.log(base)
        true = mpmath.mpf("0.001") * (
            mpmath.ncdf(mu / 2 - epsilon / mu) - base * mpmath.ncdf(-mu / 2 - epsilon / mu)
        )
    assert interval.lower <= true <= interval.upper
    assert interval.upper < 1e-50


def exactly_sampled(epsilon: Any, mu: mpmath.mpf, gamma: mpmath.mpf, *, removed: bool) -> Any:
    """δ of one sampled Gaussian release at any real ε: Balle & Wang (2018), and theory §4."""
    alpha = mpmath.exp(epsilon)

    def whole(at: Any) -> Any:
        t = at / mu
        return mpmath.ncdf(mu / 2 - t) - mpmath.exp(at) * mpmath.ncdf(-mu / 2 - t)

    if removed:
        base = (alpha - 1 + gamma) / gamma
        return gamma * whole(mpmath.log(base)) if base > 0 else 1 - alpha
    factor = 1 - alpha * (1 - gamma)
    return factor * whole(mpmath.log(alpha * gamma / factor)) if factor > 0 else mpmath.mpf(0)


@pytest.mark.dense
@pytest.mark.grid
@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize("epsilon", thin(["0.02", "0.5"], 1))
def test_two_sampled_gaussians_by_an_integral(epsilon: str, removed: bool) -> None:
    part = sampled(Gaussian(scale=1), "0.3", 2)
    above = composed_upper(
        make_upper_parts((part,), points_per_std=64, removed=removed), Fraction(epsilon)
    )
    below = composed_lower(
        make_lower_parts((part,), points_per_std=64, removed=removed), Fraction(epsilon)
    )
    with mpmath.workdps(15):
        gamma, mu = mpmath.mpf("0.3"), mpmath.mpf(1)

        def inner(x: Any) -> Any:
            ratio = 1 - gamma + gamma * mpmath.exp(x - mpmath.mpf(1) / 2)
            loss = mpmath.log(ratio) if removed else -mpmath.log(ratio)
            density = mpmath.npdf(x) * (ratio if removed else 1)
            return density * exactly_sampled(mpmath.mpf(epsilon) - loss, mu, gamma, removed=removed)

        kinks = [mpmath.mpf(x) for x in (-9, -4, -2, -1, 0, 1, 2, 3, 5, 10)]
        integral: Any = mpmath.quad(inner, kinks)
        true = float(integral)
    assert float(below.lower()) <= true * (1 + 1e-9)
    assert true * (1 - 1e-9) <= float(above.upper())
    assert float(above.upper()) - float(below.lower()) < 2e-3 * true


@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.45, 0.9])
def test_sampled_steps_by_every_outcome(epsilon: float, removed: bool) -> None:
    # masses 1 3 5 9 5 3 1 in 27ths, shifted by 2: all outcomes of two releases
    noise = DiscreteStaircase(scale=2, cells=2, masses=(9, 5, 3, 1))
    masses = np.array([1, 3, 5, 9, 5, 3, 1]) / 27
    p, q = np.append(masses, [0.0, 0.0]), np.append([0.0, 0.0], masses)
    mixed = 0.4 * p + 0.6 * q
    item, other = (mixed, q) if removed else (q, mixed)
    value = float(
        np.maximum(np.outer(item, item) - math.exp(epsilon) * np.outer(other, other), 0).sum()
    )
    part = Releases(
        noise=noise,
        shifts=ShiftBounds.of(Integer(2)),
        compositions=2,
        sampling_rate=Fraction("0.4"),
    )
    above = composed_upper(
        make_upper_parts((part,), points_per_std=64, removed=removed), Fraction(epsilon)
    )
    below = composed_lower(
        make_lower_parts((part,), points_per_std=64, removed=removed), Fraction(epsilon)
    )
    assert float(below.lower()) <= value * (1 + 1e-13)
    assert value <= float(above.upper()) * (1 + 1e-13)
    assert float(above.upper()) <= value * 1.05 + 1e-4
    assert float(below.lower()) >= value * 0.95 - 1e-4


# δ of the pairs together at the ε before samples started from the lattice of the whole
# (24c792b): what is enclosed now must overlap
@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "epsilon", "lower", "upper"),
    [
        (sampled(LAPLACE, "0.1", 1000), "16.21372", 9.935551581976268e-06, 1.0001867361344157e-05),
        (sampled(NORMAL, "0.05", 1000), "3.69974", 9.997888795051875e-06, 1.0003691156761039e-05),
        (sampled(L2_TEN, "0.05", 1000), "4.927415", 9.990987436094383e-06, 1.0003825909788262e-05),
    ],
    ids=["laplace", "gaussian", "l2"],
)
def test_enclosures_overlap_what_they_were(
    part: Releases, epsilon: str, lower: float, upper: float
) -> None:
    interval = prove_composed((part,), Fraction(epsilon)).interval
    assert max(interval.lower, lower) <= min(interval.upper, upper)
    assert interval.upper - interval.lower <= 1.2 * (upper - lower)


@pytest.mark.dense
def test_cells_that_are_too_few_for_the_largest_losses_are_put_at_infinity() -> None:
    part = sampled(Laplace(scale="0.001"), "0.01", 2)  # losses of up to 1000
    interval = prove_composed((part,), Fraction(20)).interval
    assert interval.lower <= 1 - 0.99**2 <= interval.upper * (1 + 1e-9)
    assert interval.upper - interval.lower < 1e-3


def test_what_lies_beyond_the_lattice_is_put_at_infinity() -> None:
    base = LossLattice(
        step=Fraction(1), origin=Fraction(0), first=-1, masses=np.array([0.2, 0.3, 0.5]), infinity=0
    )
    ends = (Fraction(-1), Fraction(1, 4))  # the largest loss is log(½ + e/2) > 0.6
    lattice = sample_upper(
        base, sampling_rate=Fraction(1, 2), ends=ends, step=Fraction(1, 4), removed=True
    )
    assert lattice.infinity == pytest.approx(0.5 / 2 + 0.5 / math.e / 2)
    assert lattice.masses[-1] < 1e-13


@pytest.mark.parametrize("epsilon", ["-0.8", "-3"])
def test_far_below_0_all_of_one_law_is_above_a_multiple_of_the_other(epsilon: str) -> None:
    """H_α = 1 − α where α ≤ 1 − γ: a sample without the record has that much of the other's law."""

    def profile(at: Fraction) -> arb:
        return delta_of_ratio(arb(1), epsilon=at)

    interval = enclose_sampled(profile, Fraction(1, 2), Fraction(epsilon), removed=True)
    assert float(interval) == pytest.approx(1 - math.exp(float(epsilon)), rel=1e-12)
