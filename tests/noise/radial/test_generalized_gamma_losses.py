"""Composed generalized gamma noise: against quadrature in two dimensions, and its classic members.

The quadrature is numpy's alone: Z₁ on a grid of radii and cosines, δ₂(ε) = E δ₁(ε − Z₁), with δ₁
from the float profile, and δ(−ε) = 1 − e^(−ε) + e^(−ε)δ(ε).
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from leastnoise.accounting.proof.common_lattice import make_lower_parts, make_upper_parts
from leastnoise.accounting.proof.composed import prove_composed, prove_delta
from leastnoise.balls.atoms import chords
from leastnoise.balls.convolution import composed_lower, composed_upper
from leastnoise.balls.core import ball, float_above, float_below, precision
from leastnoise.guarantees.exact import Interval
from leastnoise.guarantees.sensitivity import L2, ShiftBounds
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Laplace
from leastnoise.noise.common import profile as common_profile
from leastnoise.noise.question import Releases
from leastnoise.noise.radial.law import GeneralizedGamma, SphericalLaplace
from leastnoise.noise.radial.privacy_losses import MOST_LOSSES, _delta_grid, loss_grid, sketch
from leastnoise.noise.radial.profile import log_delta

ONE = ShiftBounds.of(L2(1))
COARSE = 16  # lattice steps in a standard deviation: 18 quadratures for a law
QUADRATURE = 1e-5  # relative, of the reference; its rules agree with finer ones to 1e-6
Floats = NDArray[np.float64]

# dimension, α, p, scale (for a shift of 1), ε: no pole and p on both sides of 1 and 2; a pole
Case = tuple[int, str, str, str, str]
LAWS: tuple[Case, ...] = (
    (1, "0", "0.7", "2", "0.5"),
    (1, "0", "1.5", "2", "1"),
    (1, "-0.3", "1.7", "2.5", "1"),
    (2, "1", "1.4", "2", "1"),
    (2, "0.9", "1.4", "2", "1"),
    (3, "2", "0.8", "1.5", "0.7"),
    (3, "1.9", "3", "3", "0.8"),
    (7, "5.5", "1.7", "4", "0.6"),
)


def law_of(dimension: int, alpha: str, p: str, scale: str) -> GeneralizedGamma:
    return GeneralizedGamma(scale=scale, alpha=alpha, p=p, dimension=dimension)


def grid(law: GeneralizedGamma, *, radii: int, cosines: int) -> tuple[Floats, Floats]:
    """Losses and their masses: an even grid of u with r^p = k e^u, and Gauss's rule for angles."""
    k, p, s = float((law.alpha + 1) / law.p), float(law.p), 1 / float(law.scale)
    low, high = -36 / k - 9 / math.sqrt(k), math.log(36 / k + 9 / math.sqrt(k) + 1)
    u = np.linspace(low, high, radii)
    radial = np.exp(k * (u - np.expm1(u)))
    r = (k * np.exp(u)) ** (1 / p)
    if law.dimension == 1:
        cosine, angular = np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    else:
        y, gauss = np.polynomial.legendre.leggauss(cosines)
        theta = math.pi * (y + 1) / 2
        cosine, angular = np.cos(theta), gauss * np.sin(theta) ** (law.dimension - 2)
    rho = np.sqrt(r[:, None] ** 2 + s * s + 2 * s * r[:, None] * cosine)
    losses = float(law.kappa) * np.log(rho / r[:, None]) + rho**p - r[:, None] ** p
    masses = (radial / radial.sum())[:, None] * (angular / angular.sum())
    return losses.ravel(), masses.ravel()


def delta_of_two(law: GeneralizedGamma, epsilon: float) -> float:
    """δ of two releases, E δ₁(ε − Z₁); δ₁ is a spline through values of the float profile."""
    losses, masses = grid(law, radii=4000 if law.dimension == 1 else 400, cosines=240)
    at = epsilon - losses
    knots = np.concatenate([[0.0], np.linspace(1e-6, 1.02 * np.abs(at[masses > 1e-25]).max(), 400)])
    values = [
        math.exp(
            log_delta(
                dimension=law.dimension,
                alpha=float(law.alpha),
                kappa=float(law.kappa),
                p=float(law.p),
                shift=1 / float(law.scale),
                epsilon=knot,
            )
        )
        for knot in knots
    ]
    beyond = CubicSpline(knots, values)(np.minimum(np.abs(at), knots[-1]))
    with np.errstate(over="ignore", invalid="ignore"):
        mirrored = np.where(at < 0, -np.expm1(at) + np.exp(at) * beyond, beyond)
    return float(masses @ mirrored)


def composed(
    law: Noise, count: int, epsilon: str | int, *, points_per_std: int = COARSE
) -> Interval:
    part = Releases(noise=law, shifts=ONE, compositions=count)
    return prove_composed((part,), Fraction(epsilon), points_per_std=points_per_std).interval


@pytest.mark.slow
@pytest.mark.parametrize("case", LAWS[:5], ids=str)
def test_two_releases_are_enclosed(case: Case) -> None:
    check_two_releases(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", LAWS[5:], ids=str)
def test_two_releases_of_more_dimensions_are_enclosed(case: Case) -> None:
    check_two_releases(case)


def check_two_releases(case: Case) -> None:
    dimension, alpha, p, scale, epsilon = case
    law = law_of(dimension, alpha, p, scale)
    interval = composed(law, 2, epsilon)
    truth = delta_of_two(law, float(epsilon))
    assert interval.lower <= truth * (1 + QUADRATURE)
    assert truth <= interval.upper * (1 + QUADRATURE)
    assert (
        interval.upper <= interval.lower * 1.2
    )  # measured: 1.14 where p < 1, below 1.05 elsewhere


@pytest.mark.slow
def test_the_interval_closes_with_the_places() -> None:
    law = law_of(3, "2", "1.6", "3")
    widths = []
    for points_per_std in (16, 32, 64):
        interval = composed(law, 10, 1, points_per_std=points_per_std)
        widths.append(math.log(interval.upper / interval.lower))
    assert widths[1] < widths[0] / 3
    assert widths[2] < widths[1] / 3


def test_on_a_line_it_is_narrow() -> None:
    law = law_of(1, "0", "1.5", "3")
    interval = composed(law, 10, 1, points_per_std=64)
    assert interval.upper < interval.lower * 1.002


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "count"), [(1, 40), (2, 5), (6, 40)])
def test_a_neighbour_of_the_gaussian_encloses_it(dimension: int, count: int) -> None:
    """Its own route, with p so near 2 that δ is that of the Gaussian to 1e-6."""
    law = law_of(dimension, str(dimension - 1), "2.0000001", "4")
    interval = composed(law, count, 1)
    mu = math.sqrt(2 * count) / 4
    truth = math.exp(common_profile.gaussian_log_delta(shift_ratio=mu, epsilon=1))
    assert interval.lower < truth < interval.upper < interval.lower * 1.12


def test_a_neighbour_of_laplace_encloses_it() -> None:
    law = law_of(1, "0", "1.0000001", "2")
    interval = composed(law, 3, 1)
    truth = composed(Laplace(scale=2), 3, 1, points_per_std=64)
    assert interval.lower < truth.lower <= truth.upper < interval.upper < interval.lower * 1.05


def test_the_classic_members_are_composed_as_such() -> None:
    scale = Fraction(7, 2)
    normal = composed(law_of(4, "3", "2", "3.5"), 9, 1)
    mu = math.sqrt(2 * 9) / float(scale)
    truth = math.exp(common_profile.gaussian_log_delta(shift_ratio=mu, epsilon=1))
    assert normal.lower <= normal.upper < normal.lower * (1 + 1e-12)
    assert normal.lower == pytest.approx(truth, rel=1e-12)
    for dimension, same in (
        (4, SphericalLaplace(scale=scale, dimension=4)),
        (1, Laplace(scale=scale)),
    ):
        named = composed(
            law_of(dimension, str(dimension - 1), "1", "3.5"), 3, "0.5", points_per_std=32
        )
        other = composed(same, 3, "0.5", points_per_std=32)
        assert named.lower == pytest.approx(other.lower, rel=1e-3)
        assert named.lower <= other.upper
        assert other.lower <= named.upper


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0", "0.13", "0.777", "1.5"])
def test_one_release_through_the_lattice(epsilon: str) -> None:
    law, at = law_of(2, "0.9", "1.4", "2"), Fraction(epsilon)
    parts = (Releases(noise=law, shifts=ONE),)
    truth = prove_delta(law, ONE.outer, at).interval
    above = composed_upper(make_upper_parts(parts, points_per_std=COARSE), at)
    below = composed_lower(make_lower_parts(parts, points_per_std=COARSE), at)
    assert float_below(below) <= truth.lower <= truth.upper <= float_above(above)


@pytest.mark.dense
def test_it_mixes_with_other_noise() -> None:
    """With one Laplace draw: E δ_Laplace(ε − Z), δ_Laplace(ε) = 1 − e^((ε−a)/2) for 0 <= ε <= a."""
    law, other = law_of(1, "0", "1.5", "2"), Laplace(scale=3)
    parts = (Releases(noise=law, shifts=ONE), Releases(noise=other, shifts=ONE))
    interval = prove_composed(parts, Fraction(1, 2)).interval
    losses, masses = grid(law, radii=20000, cosines=1)
    at = 0.5 - losses
    beyond = np.maximum(0.0, -np.expm1((np.abs(at) - 1 / 3) / 2))
    truth = float(masses @ np.where(at < 0, -np.expm1(at) + np.exp(at) * beyond, beyond))
    assert interval.lower <= truth * (1 + QUADRATURE)
    assert truth <= interval.upper * (1 + QUADRATURE)
    assert interval.upper < interval.lower * 1.01


@pytest.mark.parametrize("case", LAWS, ids=str)
def test_the_sketch_is_about_right(case: Case) -> None:
    dimension, alpha, p, scale, epsilon = case
    law = law_of(dimension, alpha, p, scale)
    losses = sketch(law, 1 / float(scale))
    about = float(losses.masses @ np.maximum(0.0, -np.expm1(float(epsilon) - losses.losses)))
    truth = prove_delta(law, L2(1), Fraction(epsilon)).interval.upper
    assert about == pytest.approx(truth, rel=1e-3)
    z = [loss for loss, _ in loss_grid(law, 1 / float(scale))]
    assert len(z) == MOST_LOSSES + 1
    assert z[0] == 0.0
    assert all(a < b for a, b in pairwise(z))


@pytest.mark.parametrize("scale", ["2", "1e4"])
def test_the_guess_of_delta_is_about_right(scale: str) -> None:
    """The guess sets the goal of a proof; a guess far too large costs a second quadrature."""
    law = law_of(3, "2", "1.4", scale)
    losses, log_deltas = _delta_grid(law, 1 / float(scale))
    for index in (0, 40, 120, 200):
        truth = prove_delta(law, L2(1), Fraction(losses[index])).interval.upper
        assert math.exp(log_deltas[index]) == pytest.approx(truth, rel=0.02)


def test_chords_are_above_a_convex_function_that_falls() -> None:
    """Also where bounds on it are rough: 0.3 % off at random, and one that is worthless."""
    rng = np.random.default_rng(5)  # makes rough bounds, no noise
    at = [Fraction(i, 8) for i in range(40)]

    def delta(epsilon: Fraction) -> float:
        return math.exp(common_profile.gaussian_log_delta(shift_ratio=1, epsilon=float(epsilon)))

    rough = [arb(delta(e) * (1 + 0.003 * rng.random())) for e in at]
    rough[7] = arb(1)
    with precision(128):
        finer = [Fraction(i, 24) for i in range(130)]
        results = [float(chord) for chord in chords(list(zip(at, rough, strict=True)), finer)]
    exact = [delta(e) for e in finer]
    alphas = [math.exp(e) for e in finer]
    slopes = [
        (b - a) / (y - x)
        for (a, b), (x, y) in zip(pairwise(results), pairwise(alphas), strict=True)
    ]
    assert all(a >= b * (1 - 1e-12) for a, b in zip(results, exact, strict=True))
    assert all(a <= b + 1e-12 for a, b in pairwise(slopes))
    assert results[-1] == results[-10] == min(float(item) for item in rough)


def test_chords_are_straight_in_alpha() -> None:
    with precision(128):
        ends = [(e, 1 - ball(e).exp() / 8) for e in (Fraction(0), Fraction(2))]
        inner = [Fraction(i, 7) for i in range(14)]
        for epsilon, delta in zip(inner, chords(ends, inner), strict=True):
            assert delta.overlaps(1 - ball(epsilon).exp() / 8)
            assert delta.rel_accuracy_bits() > 100
