"""Numbers that peers publish in their tests, against enclosures of the same numbers.

Source: google/differential-privacy, python/dp_accounting, pld/privacy_loss_mechanism_test.py at
commit 1a3c5b3e, the expected values of test_laplace_get_delta_for_epsilon,
test_gaussian_get_delta_for_epsilon (of a record removed, which costs more at epsilon >= 0) and
test_gaussian_from_privacy_parameters. They are stated to 7 and 3 places.

Source: the same project, go/noise: TestDeltaForGaussian and TestGaussianStatistics of
gaussian_noise_test.go at commit 08929816, TestConfidenceIntervalLaplace and
TestConfidenceIntervalFloat64 of laplace_noise_test.go at commit 17dd3f54. Deltas are stated to 10
places and half-widths to 10 digits; variances are of a search that ends within .1 % above the least
standard deviation. The library's epsilon ln 3 is written to 17 digits.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

import leastnoise as ln
from leastnoise.accounting.composition import Composition
from leastnoise.guarantees.sensitivity import L1, L2, Sensitivity, ShiftBounds
from leastnoise.guarantees.structured import Linf
from leastnoise.learn.steps import noise_multiplier
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Gaussian, Laplace
from leastnoise.noise.draw import find_quantile
from leastnoise.noise.question import Releases

# scale, sensitivity, sampling rate, epsilon, delta
LAPLACE = (
    (1, 1, "1", 1, 0.0),
    (2, 4, "1", "0.5", 0.52763345),
    (1, 1, "1", 0, 0.39346934),
    (2, 4, "0.8", "0.5", 0.4039564635032081),
    (1, 1, "0.6", "0.2", 0.1741992102060086),
    (2, 2, "0.3", 0, 0.1180408020862099),
)
GAUSSIAN = (
    (1, 1, "1", 1, 0.12693674),
    (1, 3, "1", 1, 0.78760074),
    (5, 5, "1", 2, 0.02092364),
    (1, 1, "0.8", 1, 0.0816951786585355),
    (1, 3, "0.7", 1, 0.5356298793262404),
    (2, 6, "0.4", 1, 0.2888308005139968),
    (1, 1, "0.3", 2, 0.0003341102928869332),
)
# sensitivity, sampling rate, epsilon, delta, standard deviation
DEVIATIONS = (
    (1, "1", 1, "0.12693674", 1.0),
    (3, "1", 1, "0.78760074", 1.0),
    (1, "1", 16, "1e-5", 0.344),
    (5, "0.75", 2, "0.0087720149", 5.0),
    (1, "0.3", 16, "0.0000329405", 0.3),
)
LN_3, TWICE_LN_3 = "1.0986122886681098", "2.1972245773362196"
# scale, cells, change of each cell, epsilon, delta
GAUSSIAN_OF_CELLS = (
    (10, 1, 1, "0.1", 0.008751768145810),
    (20, 1, 2, "0.1", 0.008751768145810),
    (20, 4, 1, "0.1", 0.008751768145810),
    (10, 1, 5, LN_3, 0.004159742234000802),
    ("0.5", 1, 1, 0, 0.6826894921370859),
)
# cells, change of each cell, epsilon, delta, variance
VARIANCES = (
    (1, 1, LN_3, "1e-10", 28.76478576660),
    (1, 2, TWICE_LN_3, "1e-10", 30.637955),
    (2, 1, TWICE_LN_3, "1e-10", 15.318977),
    (1, 1, TWICE_LN_3, "1e-10", 7.65948867798),
    (1, 1, LN_3, "1e-5", 11.73597717285),
)
# scale, level, half-width
INTERVALS = (
    (27.33333333333, 0.95, 81.88334881),
    (60.0, 0.76, 85.6269813),
    (6.6666666666667, 0.4, 3.405504158),
    (700.0, 0.2, 156.2004859),
    (2 * 4.3 / 0.6, 0.8, 23.06861008),
)
SEVEN_PLACES, THREE_PLACES = 6e-8, 6e-4
TEN_PLACES, ABOVE_LEAST = 1e-10, 1e-3


def composed(
    noise: Noise, ball: Sensitivity, rate: str, count: int = 1, **more: int
) -> Composition:
    shifts = ShiftBounds.of(ball)
    part = Releases(noise=noise, shifts=shifts, compositions=count, sampling_rate=Fraction(rate))
    return Composition(parts=(part,), **more)


@pytest.mark.parametrize(
    ("family", "case"),
    [*((Laplace, case) for case in LAPLACE), *((Gaussian, case) for case in GAUSSIAN)],
)
def test_deltas_of_one_release(
    family: type[Laplace | Gaussian], case: tuple[int, int, str, int | str, float]
) -> None:
    scale, sensitivity, rate, epsilon, delta = case
    ball = (L1 if family is Laplace else L2)(sensitivity)
    interval = composed(family(scale=scale), ball, rate).delta(epsilon=epsilon)
    assert interval.lower - SEVEN_PLACES <= delta <= interval.upper + SEVEN_PLACES
    assert interval.upper - interval.lower < 1e-12


@pytest.mark.parametrize("case", DEVIATIONS)
def test_standard_deviations_of_a_budget(case: tuple[int, str, int, str, float]) -> None:
    sensitivity, rate, epsilon, delta, deviation = case
    mechanism = ln.calibrate(
        "gaussian",
        epsilon=epsilon,
        delta=delta,
        sensitivity=L2(sensitivity),
        sampling_rate=rate,
    )
    assert float(mechanism.noise.scale) == pytest.approx(deviation, abs=THREE_PLACES)


@pytest.mark.parametrize("case", GAUSSIAN_OF_CELLS)
def test_deltas_of_several_cells(case: tuple[int | str, int, int, int | str, float]) -> None:
    scale, cells, change, epsilon, delta = case
    noise = Gaussian(scale=scale, dimension=cells)
    interval = composed(noise, Linf(change, l0=cells), "1").delta(epsilon=epsilon)
    assert interval.lower - TEN_PLACES <= delta <= interval.upper + TEN_PLACES
    assert interval.upper - interval.lower < 1e-12


@pytest.mark.parametrize("case", VARIANCES)
def test_variances_of_several_cells(case: tuple[int, int, str, str, float]) -> None:
    cells, change, epsilon, delta, variance = case
    mechanism = ln.calibrate(
        "gaussian",
        epsilon=epsilon,
        delta=delta,
        dimension=cells,
        sensitivity=Linf(change, l0=cells),
    )
    least = float(mechanism.noise.scale)
    assert least * (1 - 1e-6) <= variance**0.5 <= least * (1 + ABOVE_LEAST)


@pytest.mark.parametrize(("scale", "level", "half_width"), INTERVALS)
def test_intervals_of_laplace(scale: float, level: float, half_width: float) -> None:
    quantile = find_quantile(Laplace(scale=scale), level)
    assert quantile == pytest.approx(half_width, rel=1e-9)


@pytest.mark.slow
def test_noise_for_steps_of_training_is_hardly_above_the_least() -> None:
    """dp_accounting 0.6.0 has 3.209565 for a sensitivity of 6."""
    multiplier = noise_multiplier(epsilon=1, delta="1e-5", steps=25, sampling_rate="0.001")
    assert 3.2095 < 6 * multiplier < 3.209565 * (1 + 2e-5)


@pytest.mark.slow
def test_points_per_std_lowers_the_bound_where_losses_have_a_long_range() -> None:
    """From above, which noise is scaled by; from below, there is hardly a gain."""
    noise, ball = Gaussian(scale="0.5349"), L2(1)
    intervals = [
        composed(noise, ball, "0.001", 25, points_per_std=points).delta(epsilon=1)
        for points in (64, 256)
    ]
    assert intervals[1].upper < intervals[0].upper * (1 - 1e-4)
