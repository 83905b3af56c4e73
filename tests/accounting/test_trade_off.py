"""Trade-off curves: against the Gaussian's in closed form and randomized response's two lines."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

import leastnoise as ln
from leastnoise.accounting.composition import Composition
from leastnoise.accounting.trade_off import type_two_error
from leastnoise.certify.composed import Releases
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.hidden import Hidden
from leastnoise.guarantees.interval import Interval
from leastnoise.noise.gaussian import Gaussian

ALPHAS = (0.0, 1e-6, 0.01, 0.2, 0.5, 0.9, 1.0)
EPSILONS = [str(x) for x in np.linspace(0, 12, 600).round(4)]


def gaussians(mu: float, count: int) -> Composition:
    noise = Gaussian(scale=math.sqrt(count) / mu)
    return Composition(parts=(Releases(noise=noise, hidden=Hidden.of(ln.L2(1)), count=count),))


@pytest.mark.parametrize(("mu", "count"), [(0.3, 1), (1.0, 100), (2.5, 7)])
def test_the_gaussian_curve_is_enclosed(mu: float, count: int) -> None:
    found = gaussians(mu, count).trade_off(ALPHAS, epsilons=EPSILONS)
    for alpha, interval in zip(ALPHAS, found, strict=True):
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
    epsilons = [Fraction(i, 100) for i in range(301)]
    top = math.exp(known)
    deltas = [max(0.0, (top - math.exp(float(e))) / (1 + top)) for e in epsilons]
    intervals = [Interval(d * (1 - 1e-15), d * (1 + 1e-15)) for d in deltas]
    for alpha in (0.0, 0.05, 1 / (1 + top), 0.5, 1.0):
        found = type_two_error(Fraction(alpha), epsilons, intervals)
        true = max(0.0, 1 - top * alpha, (1 - alpha) / top)
        assert found.lower <= true + 1e-12
        assert true <= found.upper + 1e-12
        assert true - found.lower <= 1e-9
        assert found.upper - true <= 0.02


def test_of_samples_the_larger_delta_counts() -> None:
    laplace = ln.calibrate("laplace", epsilon="1", sensitivity=ln.L1(1))
    both = laplace.compose(10, sampling_rate="0.1")
    (found,) = both.trade_off(["0.1"], epsilons=["0", "0.2", "0.5", "1", "2"])
    for epsilon in ("0.2", "1"):
        delta = both.delta(epsilon=epsilon)
        least = 1 - delta.upper - math.exp(float(epsilon)) * 0.1
        assert found.lower >= least - 1e-12
    assert 0 < found.lower < found.upper < 0.9


def test_errors_outside_the_unit_interval_are_refused() -> None:
    for alpha in ("-0.1", "1.1"):
        with pytest.raises(InvalidArgument, match="alphas"):
            gaussians(1.0, 1).trade_off([alpha], epsilons=["1"])
