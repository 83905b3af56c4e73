"""The public interface of compositions: ε for a δ, several mechanisms, and refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.accounting.composition import Composition
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.sensitivity import L2, ShiftBounds
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Gaussian, Laplace
from leastnoise.noise.kernels.law import GaussianMixture
from leastnoise.noise.question import Releases
from leastnoise.noise.radial.law import SphericalLaplace

ONE = ShiftBounds.of(L2(1))


def times(noise: Noise, count: int, *, points_per_std: int = 64) -> Composition:
    return Composition(
        parts=(Releases(noise=noise, shifts=ONE, compositions=count),),
        points_per_std=points_per_std,
    )


# Where the inversion integral in mpmath, 30 digits, is 1e-5, at scale 1 a release
@pytest.mark.parametrize(
    ("count", "epsilon"),
    [(1, 0.86802082), (10, 4.18332594), (100, 17.68991817), (1000, 91.46088488)],
)
def test_epsilon_of_the_l2_mechanism_in_ten_dimensions(count: int, epsilon: float) -> None:
    interval = times(SphericalLaplace(scale=1, dimension=10), count).epsilon(delta="1e-5")
    assert interval.lower - 6e-9 <= epsilon <= interval.upper + 6e-9  # the digits that are given
    assert interval.upper - interval.lower <= 1e-9 * epsilon


def test_epsilon_of_l2_and_gaussians_together() -> None:
    l2 = Releases(noise=SphericalLaplace(scale=1, dimension=10), shifts=ONE, compositions=10)
    normal = Releases(noise=Gaussian(scale=3), shifts=ONE, compositions=7)
    both = Composition(parts=(l2, normal))
    interval = both.epsilon(delta="1e-5")
    assert interval.upper - interval.lower <= 1e-9 * interval.upper
    assert interval.lower > Composition(parts=(l2,)).epsilon(delta="1e-5").upper
    assert (
        both.delta(epsilon=interval.upper).lower <= 1e-5 <= both.delta(epsilon=interval.lower).upper
    )


@pytest.mark.parametrize(("scale", "delta"), [(30, "0.1"), (1, "0.5")])
def test_no_epsilon_is_needed_where_delta_is_large(scale: int, delta: str) -> None:
    together = times(SphericalLaplace(scale=scale, dimension=10), 10)
    assert together.delta(epsilon=0).upper < float(delta)
    assert together.epsilon(delta=delta).upper == 0


@pytest.mark.parametrize("delta", ["1e-30", "1e-100", "1e-300"])
def test_epsilon_at_a_tiny_delta(delta: str) -> None:
    interval = times(SphericalLaplace(scale=1, dimension=10), 10).epsilon(delta=delta)
    assert interval.upper - interval.lower <= 1e-9
    assert 8 < interval.lower <= interval.upper < 10  # the largest loss


@pytest.mark.parametrize("count", [10, 1000, 10**6])
def test_gaussians_have_the_epsilon_of_one_gaussian(count: int) -> None:
    interval = times(Gaussian(scale="3.73063163481594183"), 1).epsilon(delta="1e-5")
    sigma = Fraction("3.73063163481594183") * Fraction(math.isqrt(count * 10**40), 10**20)
    many = times(Gaussian(scale=sigma), count).epsilon(delta="1e-5")
    assert interval.lower <= 1 <= interval.upper * (1 + 1e-14)
    assert many.lower <= interval.upper * (1 + 1e-12)
    assert interval.lower <= many.upper * (1 + 1e-12)
    assert many.upper - many.lower <= 2e-12


def test_epsilon_and_delta_are_inverse() -> None:
    together = times(Laplace(scale=4), 20)
    interval = together.epsilon(delta="1e-6")
    assert together.delta(epsilon=interval.upper).lower <= 1e-6
    assert together.delta(epsilon=interval.lower).upper >= 1e-6
    assert interval.upper - interval.lower <= 1e-3 * interval.upper


@pytest.mark.parametrize("order", [1, -1])
def test_the_largest_loss_of_one_law_lies_on_the_lattice_of_all(order: int) -> None:
    # half of what Laplace noise releases has that loss
    normal = Releases(noise=Gaussian(scale=20), shifts=ONE, compositions=5)
    laplace = Releases(noise=Laplace(scale=30), shifts=ONE, compositions=20)
    interval = Composition(parts=(normal, laplace)[::order]).delta(epsilon=1)
    assert interval.upper - interval.lower <= 5e-4 * interval.upper


def test_largest_losses_of_several_laws_have_a_lattice_in_common() -> None:
    # all three are multiples of 1/12; beyond 2/3 + 3/4 = 17/12 there is next to nothing
    scales = {"1.5": 1, "4": 3}
    parts = [
        Releases(noise=Laplace(scale=s), shifts=ONE, compositions=k) for s, k in scales.items()
    ]
    interval = Composition(parts=tuple(parts)).delta(epsilon="1.41")
    assert interval.lower > 0
    assert interval.upper - interval.lower <= 3e-4 * interval.upper


@pytest.mark.parametrize("decay", ["1e-5", "1e-9"])
def test_a_tiny_frequent_loss_makes_no_tiny_step(decay: str) -> None:
    law = GaussianMixture(scale="0.5", modes=3, spacing=1, decay=decay)
    interval = times(law, 2).delta(epsilon=3)
    assert interval.upper - interval.lower <= 1e-3 * interval.upper


@pytest.mark.parametrize(("count", "delta"), [(2, "1e-9"), (2, "1e-12"), (3, "1e-12")])
def test_epsilon_near_the_largest_loss(count: int, delta: str) -> None:
    """There the tilt is so strong that δ far below that ε is nothing but rounding."""
    together = times(SphericalLaplace(scale="0.83", dimension=10), count)
    interval = together.epsilon(delta=delta)
    assert 0 < interval.lower <= interval.upper <= 1.001 * interval.lower
    assert together.delta(epsilon=interval.upper).lower <= float(delta)
    assert together.delta(epsilon=interval.lower).upper >= float(delta)


def delta_by_inversion(scale: float, count: int, epsilon: float) -> float:
    """δ(ε) of `count` Laplace releases, as an integral of E e^(cZ) over complex c; Z is the loss.

    (1 − e^(ε−z))₊ is ∫ e^(c(z−ε))/(c(c+1)) dc/2πi along Re c = `tilt`, for any positive tilt. The
    integral is cut off, so this is accurate for many releases only.
    """
    tilt, step = 4 / (count**0.5 / scale), 0.1 / (count**0.5 / scale)
    c = tilt + 1j * np.arange(10**5) * step
    rising = np.exp(c / scale)
    moment = (
        rising + np.exp(-(1 + c) / scale) + rising * -np.expm1(-(2 * c + 1) / scale) / (2 * c + 1)
    ) / 2
    terms = (np.exp(count * np.log(moment) - c * epsilon) / (c * (c + 1))).real
    return step / math.pi * float(terms.sum() - terms[0] / 2)


# how accurate ε is to be, and how accurate it comes out at most
@pytest.mark.grid
@pytest.mark.parametrize(
    ("scale", "count", "accuracy"),
    [
        (1, 1000, "1e-6"),
        (10, 1000, "1e-3"),
        (10, 1000, "0"),
        (118, 1000, "1e-5"),
        (373, 10**4, "1e-3"),
        *(
            pytest.param(scale, count, accuracy, marks=pytest.mark.dense)
            for scale, count, left in [
                (1, 1000, ["1e-3", "1e-5", "0"]),
                (10, 1000, ["1e-5", "1e-6"]),
                (118, 1000, ["1e-3", "1e-6", "0"]),
                (373, 10**4, ["1e-5", "1e-6", "0"]),
            ]
            for accuracy in left
        ),
    ],
)
def test_epsilon_is_as_accurate_as_it_was_asked_for(scale: int, count: int, accuracy: str) -> None:
    interval = times(Laplace(scale=scale), count).epsilon(delta="1e-5", accuracy=accuracy)
    assert delta_by_inversion(scale, count, interval.lower) >= 1e-5
    assert delta_by_inversion(scale, count, interval.upper) <= 1e-5
    assert interval.width <= max(float(accuracy), 5e-7) * interval.upper


def test_epsilon_is_known_to_five_digits_unless_more_are_asked_for() -> None:
    together = times(Laplace(scale=118), 1000)
    usual, tight = together.epsilon(delta="1e-5"), together.epsilon(delta="1e-5", accuracy=0)
    assert usual.lower < tight.lower < tight.upper < usual.upper
    assert tight.width < 2e-8 * tight.upper < usual.width < 1e-5 * usual.upper


@pytest.mark.parametrize("accuracy", ["-0.1", 1])
def test_an_accuracy_is_a_small_number(accuracy: str | int) -> None:
    with pytest.raises(InvalidArgument, match="0 <= accuracy < 1"):
        times(Laplace(scale=1), 2).epsilon(delta="1e-5", accuracy=accuracy)


@pytest.mark.parametrize(
    ("scale", "count", "delta"),
    [("0.806", 5, "1e-30"), ("5.398", 85, "1e-30"), ("3.471", 5, "1e-9")],
)
def test_both_ends_are_found_where_few_losses_decide(scale: str, count: int, delta: str) -> None:
    """ε is next to the largest loss of all releases, and the best tilt far from any Gaussian's."""
    interval = times(Laplace(scale=scale), count).epsilon(delta=delta)
    assert interval.width <= 1e-6 * interval.upper
    assert interval.lower <= count / Fraction(scale)


def test_a_finer_lattice_is_a_tighter_interval() -> None:
    coarse = times(Laplace(scale=4), 20, points_per_std=16).delta(epsilon=2)
    fine = times(Laplace(scale=4), 20, points_per_std=128).delta(epsilon=2)
    assert coarse.lower <= fine.lower <= fine.upper <= coarse.upper
    assert fine.upper - fine.lower < 0.05 * (coarse.upper - coarse.lower)


def test_several_mechanisms_together() -> None:
    l2 = ln.calibrate("l2", epsilon="0.1", delta="1e-6", sensitivity=L2(1), dimension=5)
    normal = ln.calibrate("gaussian", epsilon="0.1", delta="1e-6", sensitivity=L2(1), dimension=5)
    both = ln.compose([(l2, 10), (normal, 10)]).epsilon(delta="1e-5")
    alone = ln.compose([(l2, 10)]).epsilon(delta="1e-5")
    assert alone.upper < both.lower
    assert both.upper < 2.0  # Σε, which basic composition would give with δ = 2e-5
    assert l2.compose(10).epsilon(delta="1e-5") == alone


def test_calibrated_for_many_releases_means_that_many_fit() -> None:
    mechanism = ln.calibrate(
        "laplace", epsilon="1", delta="1e-6", sensitivity=ln.L1(1), compositions=16
    )
    assert mechanism.certificate.compositions == 16
    assert mechanism.compose(16).delta(epsilon=1).upper <= 1e-6
    assert mechanism.compose(17).delta(epsilon=1).lower > 1e-6
    tighter = ln.noise.Laplace(scale=mechanism.noise.scale * Fraction("0.9995"))
    assert times(tighter, 16).delta(epsilon=1).lower > 1e-6


# mse a release for the budget (1, 1e-5) in all, d = 10: issue's independent values
@pytest.mark.parametrize(("count", "mse"), [(2, 227.064011662), (8, 1142.330480218)])
def test_the_l2_mechanism_for_many_releases(count: int, mse: float) -> None:
    mechanism = ln.calibrate(
        "l2", epsilon="1", delta="1e-5", sensitivity=L2(1), dimension=10, compositions=count
    )
    assert mse * (1 - 1e-11) <= mechanism.mse <= mse * (1 + 1e-9)
    read = ln.Certificate.from_json(mechanism.certificate.to_json())
    assert read.verify().upper <= 1e-5


@pytest.mark.dense
@pytest.mark.parametrize(("dimension", "count"), [(2, 6), (10, 6), (100, 7)])
def test_the_gaussian_overtakes_l2(dimension: int, count: int) -> None:
    """A convolution in floats has, at (1, 1e-5) in all, δ = 1.0073e-5 for d = 100, k = 7."""

    def mse(noise: str, releases: int) -> float:
        return ln.calibrate(
            noise,
            epsilon="1",
            delta="1e-5",
            sensitivity=L2(1),
            dimension=dimension,
            compositions=releases,
        ).mse

    assert mse("l2", count - 1) < mse("gaussian", count - 1)
    assert mse("gaussian", count) < mse("l2", count)


@pytest.mark.slow
def test_a_comparison_is_for_the_releases_asked_for() -> None:
    for count, first in ((5, "l2"), (6, "gaussian")):
        comparison = ln.compare(
            epsilon="1",
            delta="1e-5",
            sensitivity=L2(1),
            dimension=10,
            compositions=count,
            parameters={  # whose searches take seconds
                "generalized-gamma": {"alpha": 9, "p": 1},
                "spherical-staircase": {"gamma": "0.5"},
            },
        )
        both = [
            mechanism.noise.name
            for mechanism in comparison.mechanisms
            if mechanism.noise.name in {"l2", "gaussian"}
        ]
        assert both[0] == first
        assert [mechanism.mse for mechanism in comparison.mechanisms] == sorted(
            mechanism.mse for mechanism in comparison.mechanisms
        )
        assert all(
            mechanism.certificate.compositions == count for mechanism in comparison.mechanisms
        )
        assert comparison.best_possible is None  # the bound is about one release


def test_pure_budgets_are_shared_out() -> None:
    mechanism = ln.calibrate("laplace", epsilon="1", sensitivity=ln.L1(2), compositions=10)
    assert mechanism.noise.scale == 20
    assert mechanism.certificate.delta.upper == 0


@pytest.mark.parametrize("dimension", [1, 2])
def test_noise_that_is_designed_for_one_release_is_refused_for_many(dimension: int) -> None:
    with pytest.raises(NotApplicable, match="one release"):
        ln.calibrate(
            "optimal",
            epsilon="1",
            delta="1e-5",
            sensitivity=L2(1),
            dimension=dimension,
            compositions=2,
        )


@pytest.mark.parametrize("count", [0, -1, 10**8, True])
def test_counts_out_of_range_are_refused(count: int) -> None:
    with pytest.raises(InvalidArgument, match="compositions"):
        ln.compare(epsilon=1, delta="1e-5", sensitivity=L2(1), compositions=count)


def test_no_release_is_no_composition() -> None:
    with pytest.raises(InvalidArgument, match="at least one"):
        ln.compose([])


def test_no_epsilon_where_the_infinite_losses_exceed_delta() -> None:
    truncated = ln.calibrate("truncated-laplace", epsilon="1", delta="1e-3", sensitivity=L2(1))
    with pytest.raises(NotApplicable, match="probability above delta"):
        truncated.compose(10).epsilon(delta="1e-4")
    assert truncated.compose(10).epsilon(delta="0.02").upper < 10


def test_pure_epsilons_of_different_sizes_add_up() -> None:
    mechanism = ln.calibrate("laplace", epsilon="0.5", sensitivity=ln.L1(1))
    other = ln.calibrate("staircase", epsilon="0.2", sensitivity=L2(1))
    ball = ln.calibrate("l2", epsilon="0.3", sensitivity=L2(1), dimension=3)
    together = ln.compose([(mechanism, 2), (other, 3), (ball, 1)])
    interval = together.epsilon(delta=0)
    assert interval.lower <= 1.9 <= interval.upper <= 1.9 * (1 + 1e-9)
    assert together.delta(epsilon="1.9000001").upper == 0.0
    sampled = ln.compose([(mechanism, 4)], sampling_rate="0.1").epsilon(delta=0)
    assert sampled.upper == pytest.approx(4 * math.log1p(0.1 * math.expm1(0.5)), rel=1e-9)
    truncated = ln.calibrate("truncated-laplace", epsilon="1", delta="1e-3", sensitivity=L2(1))
    with pytest.raises(NotApplicable):
        ln.compose([(mechanism, 2), (truncated, 1)]).epsilon(delta=0)
