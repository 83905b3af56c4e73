"""Trade-off curves: against the Gaussian's in closed form and randomized response's two lines."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from numpy.typing import NDArray
from scipy.stats import norm

import leastnoise as ln
from leastnoise.accounting.composition import Composition
from leastnoise.accounting.curves import Tangents
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.sensitivity import ShiftBounds
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Gaussian
from leastnoise.noise.lattice.law import Optimal
from leastnoise.noise.question import ProvedDelta, Releases

Floats = NDArray[np.float64]

ALPHAS = (0.0, 1e-6, 0.01, 0.2, 0.5, 0.9, 1.0)
EPSILONS = [str(x) for x in np.linspace(0, 12, 600).round(4)]


def gaussians(mu: float, count: int) -> Composition:
    noise = Gaussian(scale=math.sqrt(count) / mu)
    return Composition(
        parts=(Releases(noise=noise, shifts=ShiftBounds.of(ln.L2(1)), compositions=count),)
    )


@pytest.mark.grid
@pytest.mark.parametrize(("mu", "count"), [(0.3, 1), (1.0, 100), (2.5, 7)])
def test_the_gaussian_curve_is_enclosed(mu: float, count: int) -> None:
    curve = gaussians(mu, count).trade_off(ALPHAS, epsilons=EPSILONS)
    for alpha, interval in zip(ALPHAS, curve, strict=True):
        true = norm.cdf(norm.isf(alpha) - mu)  # Dong, Roth & Su (2022), (6)
        assert interval.lower <= true * (1 + 1e-9)
        assert true <= interval.upper + 1e-12
        assert interval.upper - interval.lower <= 0.02
        assert true - interval.lower <= 1e-4


def test_few_epsilons_say_less_and_nothing_false() -> None:
    fine = gaussians(1.0, 4).trade_off(ALPHAS, epsilons=EPSILONS)
    coarse = gaussians(1.0, 4).trade_off(ALPHAS, epsilons=["1", "3"])
    for narrow, wide in zip(fine, coarse, strict=True):
        assert wide.lower <= narrow.upper
        assert narrow.lower <= wide.upper
        assert wide.lower <= narrow.lower
        assert wide.upper >= narrow.upper


def test_a_pure_guarantee_has_two_lines() -> None:
    """Randomized response at ε₀: δ(ε) = (e^ε₀ − e^ε)₊/(1 + e^ε₀)."""
    known = 1.5
    epsilons = tuple(Fraction(i, 100) for i in range(301))
    top = math.exp(known)
    deltas = [max(0.0, (top - math.exp(float(e))) / (1 + top)) for e in epsilons]
    proved = tuple(
        ProvedDelta(lower=arb(d * (1 - 1e-15)), upper=arb(d * (1 + 1e-15))) for d in deltas
    )
    curve = Tangents(epsilons=epsilons, rejecting=proved, keeping=proved)
    for alpha in (0.0, 0.05, 1 / (1 + top), 0.5, 1.0):
        interval = curve.type_two_error(Fraction(alpha))
        true = max(0.0, 1 - top * alpha, (1 - alpha) / top)
        assert interval.lower <= true + 1e-12
        assert true <= interval.upper + 1e-12
        assert true - interval.lower <= 1e-9
        assert interval.upper - true <= 0.02


def least_type_two(null: Floats, other: Floats, alpha: float) -> float:
    """The Neyman–Pearson test between two lists of probabilities, split at the last outcome."""
    order = np.argsort(null / other)
    rejected = np.append(0, np.cumsum(null[order]))
    kept = 1 - np.append(0, np.cumsum(other[order]))
    return float(np.interp(alpha, rejected, kept))


def sampled_gaussian(mu: float, rate: float, count: int) -> tuple[Floats, Floats]:
    """Probabilities of small cells for `count` (1 or 2) outputs, with the record and without it."""
    points = np.linspace(-8, 8 + mu, 1200 if count > 1 else 200_000)
    without, moved = (density / density.sum() for density in norm.pdf([points, points - mu]))
    there = (1 - rate) * without + rate * moved
    if count == 1:
        return there, without
    return np.outer(there, there).ravel(), np.outer(without, without).ravel()


@pytest.mark.grid
@pytest.mark.parametrize(
    ("mu", "rate", "count"),
    [
        (2.0, 0.3, 1),
        (4.0, 0.05, 1),
        pytest.param(1.5, 0.4, 2, marks=pytest.mark.slow),
    ],
)
def test_under_sampling_it_matters_which_hypothesis_is_rejected(
    mu: float, rate: float, count: int
) -> None:
    """Against Neyman–Pearson tests worked out from the densities alone."""
    noise = Gaussian(scale=1 / mu)
    part = Releases(
        noise=noise,
        shifts=ShiftBounds.of(ln.L2(1)),
        compositions=count,
        sampling_rate=Fraction(str(rate)),
    )
    together = Composition(parts=(part,))
    points = np.linspace(0, 3, 400 if count == 1 else 6)  # of two releases each takes a while
    epsilons, near = [str(x) for x in points.round(4)], 2e-3 if count == 1 else 0.06
    alphas = (0.02, 0.3, 0.7)
    there, without = sampled_gaussian(mu, rate, count)
    true = {
        "with": [least_type_two(there, without, alpha) for alpha in alphas],
        "without": [least_type_two(without, there, alpha) for alpha in alphas],
    }
    true["either"] = [min(pair) for pair in zip(true["with"], true["without"], strict=True)]
    assert max(abs(a - b) for a, b in zip(true["with"], true["without"], strict=True)) > 0.005
    for null, errors in true.items():
        curve = together.trade_off(alphas, epsilons=epsilons, null=null)
        for error, interval in zip(errors, curve, strict=True):
            assert interval.lower <= error + 1e-5  # of the cells
            assert error <= interval.upper + 1e-5
            assert error - interval.lower <= near
            assert interval.width <= 0.06 + 4 * near


def test_where_the_worst_shift_varies_the_upper_end_is_that_of_one_shift() -> None:
    """Whole-cell shifts of steps that rise and fall, by the test that knows both laws."""
    law = Optimal(scale=1, cells=2, masses=(5, 1, 4))
    curve = one_release(law).trade_off(
        ALPHAS, epsilons=[str(x) for x in np.linspace(0, 4, 25).round(3)]
    )
    cells = np.array([4, 1, 5, 1, 4]) / 15
    pairs = []
    for shift in (1, 2):
        computed = np.append(cells, np.zeros(shift)) + 1e-300
        pairs.append((computed, np.append(np.zeros(shift), cells) + 1e-300))
    for alpha, interval in zip(ALPHAS, curve, strict=True):
        errors = [least_type_two(expected_value, moved, alpha) for expected_value, moved in pairs]
        assert interval.lower <= min(errors) + 1e-12
        assert min(errors) <= interval.upper + 1e-12


def one_release(law: Noise) -> Composition:
    return Composition(parts=(Releases(noise=law, shifts=ShiftBounds.of(ln.L2(1))),))


def test_of_samples_the_larger_delta_is_a_bound() -> None:
    laplace = ln.calibrate("laplace", epsilon="1", sensitivity=ln.L1(1))
    both = laplace.compose(10, sampling_rate="0.1")
    (curve,) = both.trade_off(["0.1"], epsilons=["0", "0.2", "0.5", "1", "2"])
    for epsilon in ("0.2", "1"):
        delta = both.delta(epsilon=epsilon)
        assert curve.upper >= 1 - delta.upper - math.exp(float(epsilon)) * 0.1
    assert 0 < curve.lower < curve.upper < 0.9


def test_another_null_hypothesis_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="null"):
        gaussians(1.0, 1).trade_off(["0.1"], epsilons=["1"], null="removed")


def test_errors_outside_the_unit_interval_are_refused() -> None:
    for alpha in ("-0.1", "1.1"):
        with pytest.raises(InvalidArgument, match="alphas"):
            gaussians(1.0, 1).trade_off([alpha], epsilons=["1"])
