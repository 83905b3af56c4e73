from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.balls.core import float_above, float_below, precision
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.kernels.law import GaussianMixture, KernelNoise, QuasiGaussian
from leastnoise.noise.kernels.proof.every_shift import at_multiple, delta_ball
from leastnoise.noise.kernels.proof.one_shift import Divergence
from leastnoise.noise.kernels.proof.table import DensityTable, KernelLaw
from tests.grids import thin
from tests.kernel_problems import HARD_SCALES, LEAST_SCALES


@pytest.mark.slow
@pytest.mark.parametrize(
    ("modes", "epsilon", "delta", "scale", "shift"),
    [
        *LEAST_SCALES,
        HARD_SCALES[0],
        *(pytest.param(*hard_scale, marks=pytest.mark.slow) for hard_scale in HARD_SCALES[1:]),
    ],
)
def test_the_least_scale_is_between_proved_and_refuted(
    *, modes: int, epsilon: str, delta: str, scale: str, shift: float
) -> None:
    step = Fraction(2, 10**9)  # the references are good to 1e-9
    for factor, private in ((1 + step, True), (1 - step, False)):
        noise = GaussianMixture(
            scale=Fraction(scale) * factor, modes=modes, spacing=1, decay=epsilon
        )
        proved = prove_delta(noise, L2(1), Fraction(epsilon))
        assert proved.certainly_at_most(Fraction(delta)) is private
        assert proved.certainly_above(Fraction(delta)) is not private
        assert proved.interval.width <= 2e-9 * proved.interval.upper


def _divergence(noise: KernelNoise, shift: mp.mpf | float, epsilon: float) -> mp.mpf:
    """∫ (f(y + φ) − e^ε f(y))₊ in mpmath, split where the sign changes on a fine grid."""
    sigma, spacing, decay = (
        mp.mpf(value.numerator) / value.denominator
        for value in (noise.scale, noise.spacing, noise.decay)
    )
    first = 0 if noise.folded else -noise.modes
    weights = {k: mp.exp(-abs(k) * decay) for k in range(first, noise.modes + 1)}

    def below(x: mp.mpf) -> Any:
        if noise.folded and x > 0:
            return 2 * below(mp.mpf(0)) - below(-x)
        side = -1 if noise.folded else 1
        return mp.fsum(w * mp.ncdf(x, side * k * spacing, sigma) for k, w in weights.items())

    total = 2 * below(mp.mpf(0))

    def f(x: mp.mpf) -> mp.mpf:
        x = abs(x) if noise.folded else x
        return mp.fsum(w * mp.npdf(x, k * spacing, sigma) for k, w in weights.items()) / total

    def gap(y: mp.mpf) -> mp.mpf:
        return f(y + shift) - mp.exp(epsilon) * f(y)

    def mass(y: mp.mpf) -> mp.mpf:
        return (below(y + shift) - mp.exp(epsilon) * below(y)) / total

    reach = float(noise.modes * spacing + shift + 12 * sigma)
    nodes = sorted([mp.mpf(reach) * i / 150 for i in range(-150, 151)] + [-mp.mpf(shift)])
    values = [gap(y) for y in nodes]
    h = mp.mpf(0)
    for a, b, fa, fb in zip(nodes, nodes[1:], values, values[1:], strict=False):
        if fa > 0 or fb > 0:
            if (fa > 0) != (fb > 0):
                root = mp.findroot(gap, (a, b), solver="anderson", verify=False)
                h += mass(root) - mass(a) if fa > 0 else mass(b) - mass(root)
            else:
                h += mass(b) - mass(a)
    return h


@pytest.mark.dense
@pytest.mark.grid
@pytest.mark.parametrize("share", thin(["0.3", "0.9", "0.99999999", "1.01"], 2))
def test_h_at_a_shift_is_enclosed(share: str) -> None:
    """Near the spacing most of f(y + φ) and e^ε f(y) cancels."""
    noise = GaussianMixture(scale="0.4", modes=2, spacing=1, decay="0.5")
    _check_one_shift(noise, Fraction(share), 0.5)


@pytest.mark.dense
@pytest.mark.parametrize(("scale", "share"), thin([("0.4", "0.3"), ("1", "0.5"), ("1", "0.01")], 1))
def test_h_of_a_folded_law_is_enclosed(scale: str, share: str) -> None:
    """With no fall and ε = 0, {f(y + φ) > f(y)} reaches beyond the kink at y = 0."""
    for decay, epsilon in (("0.5", 0.5), ("0", 0.0)):
        noise = QuasiGaussian(scale=scale, spacing=1, decay=decay)
        _check_one_shift(noise, Fraction(share), epsilon)


def _check_one_shift(noise: KernelNoise, shift: Fraction, epsilon: float) -> None:
    with precision(128):
        table = DensityTable(
            law=KernelLaw.of(noise), per_sigma=32, longest=shift / noise.scale, far=14
        )
        look = Divergence(table=table, c=math.exp(epsilon)).look(shift / noise.scale)
    with mp.workdps(30):
        divergence = _divergence(noise, mp.mpf(shift.numerator) / shift.denominator, epsilon)
    assert look.low <= divergence * (1 + mp.mpf(10) ** -15)
    assert look.high >= divergence * (1 - mp.mpf(10) ** -15)
    assert look.high - look.low <= 1e-9 * look.high + 1e-15


def test_rounding_is_counted_where_all_cancels() -> None:
    """A shift by the spacing: f(y + φ) = e^ε f(y) on the left half, but for the last component."""
    noise, epsilon = GaussianMixture(scale="0.4", modes=12, spacing=1, decay=2), Fraction(2)
    with precision(128):
        law = KernelLaw.of(noise)
        table = DensityTable(law=law, per_sigma=256, longest=law.apart, far=15)
        look = Divergence(table=table, c=math.exp(2)).look(law.apart)
        exact = at_multiple(law, 1, decay=epsilon, epsilon=epsilon)
    assert look.low <= float_below(exact)
    assert look.high >= float_above(exact)


@pytest.mark.slow
@settings(derandomize=True, max_examples=5, deadline=None)
@given(
    modes=st.integers(0, 2),
    scale=st.sampled_from(["0.3", "0.5", "1.3"]),
    decay=st.sampled_from(["0", "0.4", "2"]),
    epsilon=st.sampled_from(["0", "0.7", "2"]),
    bound=st.sampled_from(["0.4", "1", "1.5"]),
)
def test_no_shift_exceeds_what_is_proved(
    *, modes: int, scale: str, decay: str, epsilon: str, bound: str
) -> None:
    noise = GaussianMixture(scale=scale, modes=modes, spacing=1, decay=decay)
    interval = prove_delta(noise, L2(bound), Fraction(epsilon)).interval
    with mp.workdps(20):
        divergences = [
            _divergence(noise, float(bound) * i / 4, float(epsilon)) for i in range(1, 5)
        ]
    assert max(divergences) <= interval.upper * (1 + 1e-13)
    assert interval.width <= 1e-8 * interval.upper


@pytest.mark.dense
def test_tail_mass_alone() -> None:
    """K = 0 is the Gaussian, whose proof is another."""
    from leastnoise.noise.classic.law import Gaussian  # noqa: PLC0415

    for scale, epsilon in (("0.7", "1"), ("3", "0"), ("0.15", "20")):
        interval = prove_delta(Gaussian(scale=scale), L2(1), Fraction(epsilon)).interval
        mixture = GaussianMixture(scale=scale, modes=0, spacing=1, decay=1)
        other = prove_delta(mixture, L2(1), Fraction(epsilon)).interval
        assert max(interval.lower, other.lower) <= min(interval.upper, other.upper)
        assert other.width <= 1e-9 * other.upper


@pytest.mark.parametrize(
    "noise",
    [
        GaussianMixture(scale=1, modes=1, spacing=Fraction(1, 10**9), decay=1),
        GaussianMixture(scale=10**50, modes=1, spacing=Fraction(1, 10**290), decay=1),
        QuasiGaussian(scale=10**50, spacing=Fraction(1, 10**290), decay=1),
        GaussianMixture(scale=1, modes=1, spacing=10**7, decay=1),
        QuasiGaussian(scale=1, spacing=10**7, decay=1),
    ],
)
def test_spacings_far_below_and_above_the_scale(noise: KernelNoise) -> None:
    """Neither a polynomial of a billion terms nor a table of as many points is made.

    With a tiny spacing the law is all but the Gaussian, with a vast one nothing is claimed.
    """
    with precision(128):
        enclosure = delta_ball(noise, shift=noise.scale, epsilon=Fraction(1))
        low, high = float_below(enclosure), float_above(enclosure)
    gaussian = 0.1269367375066  # Φ(−1/2) − eΦ(−3/2)
    if noise.spacing < noise.scale:
        assert low == pytest.approx(gaussian, rel=1e-8)
        assert high == pytest.approx(gaussian, rel=1e-8)
    else:
        assert low <= gaussian / 2 <= high
