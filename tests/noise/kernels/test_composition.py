"""The quick δ of several releases against proofs, and against the Gaussian's closed form."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.guarantees.sensitivity import L2, ShiftBounds
from leastnoise.noise.common import profile as common_profile
from leastnoise.noise.kernels.law import GaussianMixture, KernelNoise, QuasiGaussian
from leastnoise.noise.kernels.profile.crossings import Kernels
from leastnoise.noise.kernels.several import log_composed_delta
from leastnoise.noise.question import Releases
from tests.grids import thin


def about(noise: KernelNoise, count: int, epsilon: float) -> float:
    law = Kernels(
        modes=noise.modes,
        spacing=float(noise.spacing / noise.scale),
        decay=float(noise.decay),
        folded=noise.folded,
    )
    shift = float(1 / noise.scale)
    return log_composed_delta(law, shift=shift, epsilon=epsilon, compositions=count)


@pytest.mark.parametrize(
    ("scale", "count", "epsilon"), [(5, 10, 1.0), (1, 2, 4.0), (200, 10_000, 2.0), (40, 9, 0.0)]
)
def test_one_kernel_is_the_gaussian(scale: int, count: int, epsilon: float) -> None:
    noise = GaussianMixture(scale=scale, modes=0, spacing=1, decay=1)
    exact = common_profile.gaussian_log_delta(shift_ratio=math.sqrt(count) / scale, epsilon=epsilon)
    assert about(noise, count, epsilon) == pytest.approx(exact, abs=5e-3)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("noise", "count", "epsilon"),
    thin(
        [
            (GaussianMixture(scale="0.385", modes=9, spacing=1, decay="0.511"), 2, 1.0),
            (GaussianMixture(scale="3", modes=15, spacing=1, decay="0.34"), 4, 1.0),
            (QuasiGaussian(scale="1.1", spacing=1, decay="2.8"), 2, 4.0),
            (QuasiGaussian(scale="0.3", spacing=1, decay=1), 2, 2.0),
        ],
        2,
    ),
)
def test_it_is_near_what_is_proved(noise: KernelNoise, count: int, epsilon: float) -> None:
    part = Releases(noise=noise, shifts=ShiftBounds.of(L2(1)), compositions=count)
    proved = prove_composed((part,), Fraction(epsilon)).interval.upper
    assert about(noise, count, epsilon) == pytest.approx(math.log(proved), abs=0.02)


def test_nothing_is_left_to_tell_from_where_losses_are_small() -> None:
    noise = GaussianMixture(scale=100, modes=1, spacing=1, decay=1)
    assert about(noise, 2, 50.0) == -math.inf
