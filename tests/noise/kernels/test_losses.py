"""Sums of Gaussian kernels, composed: against the Gaussian, one-ε proofs, and direct sums."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.balls.atoms import SortedAtoms, inscribe
from leastnoise.balls.core import precision
from leastnoise.balls.losses import LossLattice
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.exact import Interval
from leastnoise.guarantees.sensitivity import L2, ShiftBounds
from leastnoise.noise.classic.law import Gaussian
from leastnoise.noise.kernels import privacy_losses as kernel_losses
from leastnoise.noise.kernels.law import GaussianMixture, KernelNoise, QuasiGaussian
from leastnoise.noise.kernels.proof.every_shift import delta_ball
from leastnoise.noise.question import Releases
from tests.grids import thin

ONE = ShiftBounds.of(L2(1))
CLOSE = 5e-4  # of δ; the worst measured is 3.6e-4, where δ is 2e-13


def prove_case(noise: KernelNoise | Gaussian, count: int, epsilon: str | float) -> Interval:
    part = Releases(noise=noise, shifts=ONE, compositions=count)
    return prove_composed((part,), Fraction(epsilon)).interval


@pytest.mark.grid
@pytest.mark.parametrize(
    ("scale", "count", "epsilon"),
    [("5", 10, "1"), ("5", 2, "1"), ("100", 1000, "1"), ("1", 3, "4"), ("4", 30, "12")],
)
@pytest.mark.parametrize(("modes", "decay"), [(0, 1), (1, 200)])
def test_without_outer_kernels_it_is_the_gaussian(
    *, scale: str, count: int, epsilon: str, modes: int, decay: int
) -> None:
    noise = GaussianMixture(scale=scale, modes=modes, spacing=1, decay=decay)
    interval, exact = (
        prove_case(noise, count, epsilon),
        prove_case(Gaussian(scale=scale), count, epsilon),
    )
    assert interval.lower <= exact.lower <= exact.upper <= interval.upper
    assert interval.width <= 3e-3 * interval.upper  # the last, at δ = 5e-17; 1.5e-4 at the first


def log_densities(noise: KernelNoise, shift: float) -> tuple[np.ndarray, np.ndarray, float]:
    """ln f(y + φ) and ln f(y) on a grid of y, and the grid's step."""
    reach = 9 * float(noise.scale) + noise.modes * float(noise.spacing)
    y = np.linspace(-reach - shift, reach, 1200)
    return (
        noise.log_density((y + shift)[:, None]),
        noise.log_density(y[:, None]),
        float(y[1] - y[0]),
    )


def direct(noise: KernelNoise, shifts: tuple[float, ...], epsilon: float) -> float:
    """δ of two releases whose shifts are given: the plain sum over a grid in the plane."""
    (p, q, h), (p2, q2, h2) = (log_densities(noise, shift) for shift in shifts)
    gap = (p - q)[:, None] + (p2 - q2) - epsilon
    return float((np.exp(p[:, None] + p2) * np.maximum(0, -np.expm1(-gap))).sum() * h * h2)


@pytest.mark.dense
@pytest.mark.parametrize(
    ("noise", "epsilon", "apart"),
    [
        (GaussianMixture(scale="0.45", modes=4, spacing=1, decay="0.5"), 1.0, 5e-3),
        (GaussianMixture(scale="0.9", modes=2, spacing=1, decay="0.5"), 2.5, 2e-4),
        (QuasiGaussian(scale="0.3", spacing=1, decay=1), 2.0, 5e-3),
    ],
)
def test_two_releases_whatever_their_shifts(
    noise: KernelNoise, epsilon: float, apart: float
) -> None:
    interval = prove_case(noise, 2, epsilon)
    every = itertools.combinations_with_replacement((0.4, 0.7, 0.85, 1.0), 2)
    worst = max(direct(noise, shifts, epsilon) for shifts in every)
    assert worst * (1 - 1e-6) <= interval.upper <= worst * (1 + apart)
    assert interval.lower <= worst * (1 + 1e-6)


def delta_of(law: LossLattice, epsilon: float) -> float:
    """δ(ε) of a law of losses on a lattice, by definition."""
    z = float(law.origin) + (law.first + np.arange(len(law.masses))) * float(law.step)
    return law.infinity + float(law.masses @ np.maximum(0, -np.expm1(epsilon - z)))


PROBLEMS = (
    # islands, twin peaks of H, a fold
    (GaussianMixture(scale="0.3344", modes=4, spacing=1, decay=1), 1),
    (GaussianMixture(scale="0.1847", modes=2, spacing=1, decay=10), 1),
    (GaussianMixture(scale="0.45", modes=6, spacing=1, decay="0.1"), "1.3"),
    (GaussianMixture(scale="1.77", modes=1, spacing=1, decay=1), 1),
    (QuasiGaussian(scale="0.262", spacing=1, decay=1), 1),
    (QuasiGaussian(scale="0.2", spacing=1, decay=0), "0.37"),
    (QuasiGaussian(scale="1.3", spacing=1, decay="0.5"), 1),
    (QuasiGaussian(scale=1, spacing=1, decay=0), 1),  # the kink is between two items
)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "bound"), PROBLEMS)
def test_lattice_points_agree_with_proofs_at_one_epsilon(
    noise: KernelNoise, bound: int | str
) -> None:
    shift, size = Fraction(bound), 300
    step = kernel_losses.reach(noise, shift) / size
    above = kernel_losses.upper(noise, shift, step, size)
    below = kernel_losses.lower(noise, shift, step, size).lattice(1.0)
    for i in (0, 3, 15, 40, 90, 180):
        with precision(128):
            exact = delta_ball(noise, shift=shift, epsilon=i * step)
        low, high = float(exact.lower()), float(exact.upper())
        assert low <= delta_of(above, float(i * step)) <= high * (1 + CLOSE)
        assert delta_of(below, float(i * step)) <= high * (1 + 1e-12)


@pytest.mark.slow
def test_between_shifts_the_worst_is_covered() -> None:
    """The worst shift runs with ε through places that the table doesn't hold."""
    noise = GaussianMixture(scale="0.2885811961416", modes=3, spacing=1, decay="0.5")
    step, size = Fraction(1, 40), 60
    above = kernel_losses.upper(noise, Fraction(1), step, size)
    for i in range(0, size, 7):
        with precision(128):
            exact = delta_ball(noise, shift=Fraction(1), epsilon=i * step)
        result = delta_of(above, float(i * step))
        assert float(exact.lower()) <= result <= float(exact.upper()) * (1 + 1e-4)


@pytest.mark.parametrize("noise", thin([PROBLEMS[0][0], PROBLEMS[3][0], PROBLEMS[6][0]], 1))
def test_how_far_h_may_bend_counts_all_that_may_leak(noise: KernelNoise) -> None:
    """∫ max(0, −f″) over the y at which a shift of the cell leaks, by a sum of its own."""
    alphas = np.exp(np.array([0.0, 0.2, 0.5, 1.0, 1.5]))
    sigma, shifts = float(noise.scale), kernel_losses.shifts_of(noise, Fraction(1))
    y = np.linspace(-12, 12, 60_001)
    w = y[1] - y[0]

    def f(x: np.ndarray) -> np.ndarray:
        return np.exp(noise.log_density(sigma * x[:, None])) * sigma

    for first in (Fraction(1, 4), shifts.longest - Fraction(1, 128)):
        item, two = (shifts.examine(at) for at in (first, first + Fraction(1, 128)))
        bent = shifts.bend(item, two, alphas)
        at = float(item.shift) + 1 / 256
        fall = np.maximum(0, 2 * f(y + at) - f(y + at + 1e-3) - f(y + at - 1e-3)) / 1e-6
        for alpha, result in zip(alphas, bent, strict=True):
            leaks = f(y + at) > alpha * f(y)
            assert fall[leaks].sum() * w <= result * (1 + 1e-4)
            assert result <= fall[f(y + at) > alpha * 0.85 * f(y)].sum() * w * 1.1 + 0.05


def test_short_shifts_keep_their_digits() -> None:
    noise = QuasiGaussian(scale=2000, spacing=1, decay=1)
    interval = prove_case(noise, 10**5, 1)
    gaussian = prove_case(Gaussian(scale=2000), 10**5, 1)
    assert interval.width <= 2e-3 * interval.upper
    assert interval.upper == pytest.approx(gaussian.upper, rel=0.2)


def test_more_releases_leak_more_and_wider_laws_less() -> None:
    noise = GaussianMixture(scale=2, modes=2, spacing=1, decay=1)
    intervals = [prove_case(noise, count, 2) for count in (2, 3, 4)]
    assert intervals[0].upper < intervals[1].lower
    assert intervals[1].upper < intervals[2].lower
    wider = GaussianMixture(scale="2.1", modes=2, spacing=1, decay=1)
    assert prove_case(wider, 3, 2).upper < intervals[1].lower


@pytest.mark.parametrize("scale", ["0.02", "1e-7"])
def test_what_is_too_far_apart_is_refused(scale: str) -> None:
    with pytest.raises(NotApplicable, match="too far apart"):
        prove_case(QuasiGaussian(scale=scale, spacing=1, decay=1), 2, 1)


def test_roundings_of_sums_are_counted() -> None:
    """All roundings of a plain sum go down: each term has a little more than sums can hold."""
    count, term = 1 << 18, 1 + 0.49 * 2.0**-35
    p, q = np.full(count, term), np.full(count, 2.0**-40)
    exact = count * (Fraction(term) - Fraction(2) ** -39)
    above = SortedAtoms.of(p, q).above(np.array([2.0]))[0]
    assert exact <= Fraction(above) <= exact * (1 + Fraction(1, 10**8))
    p_low, q_high = inscribe(q, p, 0.5, 4)
    assert sum(map(Fraction, q_high)) >= count * Fraction(term)
    assert sum(map(Fraction, p_low)) <= count * Fraction(2) ** -40
    assert math.isclose(p_low.sum(), count * 2.0**-40, rel_tol=1e-8)
