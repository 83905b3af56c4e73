from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from leastnoise.balls.core import precision
from leastnoise.noise.kernels.law import GaussianMixture, KernelNoise, QuasiGaussian
from leastnoise.noise.kernels.proof.one_shift import integrate_positive_part
from leastnoise.noise.kernels.proof.table import DensityTable, KernelLaw, Row

LAWS = (
    GaussianMixture(scale="0.4", modes=2, spacing=1, decay="0.5"),
    GaussianMixture(scale="70", modes=1, spacing=1, decay="0.01"),
    QuasiGaussian(scale="0.4", spacing=1, decay="0.5"),
)
LONGEST = Fraction(5, 2)
SUM = 3e-5  # of the midpoint rule in the test of positive parts


def _density(noise: KernelNoise, x: mp.mpf, order: int) -> mp.mpf:
    """f, f′, f″, f⁗ or f⁶ in units of σ, right of a kink, from the definition."""
    t, decay = noise.spacing / noise.scale, noise.decay
    weights = {
        k: mp.exp(-abs(k) * mp.mpf(decay.numerator) / decay.denominator)
        for k in range(-noise.modes, noise.modes + 1)
    }
    total = mp.fsum(weights.values())
    if noise.folded:
        far = mp.mpf(t.numerator) / t.denominator
        weights = {0: weights[0], 1 if x >= 0 else -1: weights[1]}
        total = 1 + 2 * weights[1 if x >= 0 else -1] * mp.ncdf(far)

    def derivative(z: mp.mpf) -> mp.mpf:
        return (-1) ** order * mp.hermite(order, z / mp.sqrt(2)) / mp.sqrt(2) ** order * mp.npdf(z)

    centre = mp.mpf(t.numerator) / t.denominator
    return mp.fsum(w * derivative(x - k * centre) for k, w in weights.items()) / total


def _table(noise: KernelNoise) -> DensityTable:
    with precision(128):
        return DensityTable(law=KernelLaw.of(noise), per_sigma=32, longest=LONGEST, far=14)


def _row(table: DensityTable, shift: Fraction) -> Row:
    with precision(128):
        return table.row(shift)


@pytest.mark.parametrize("noise", LAWS)
@pytest.mark.parametrize("shift", [Fraction(0), Fraction(1, 3), LONGEST])
def test_a_row_is_the_density_within_its_rounding(noise: KernelNoise, shift: Fraction) -> None:
    table = _table(noise)
    row = _row(table, shift)
    with mp.workdps(30):
        for i in range(0, table.count, 97):
            x = mp.mpf(table.points[i]) + mp.mpf(shift.numerator) / shift.denominator
            f, slope, bend = (_density(noise, x, order) for order in range(3))
            assert abs(row.f[i] - f) <= table.rounding * f + 1e-36
            assert abs(row.slope[i] - slope) <= 15 * table.rounding * f + 1e-36
            assert abs(row.bend[i] - bend) <= 200 * table.rounding * f + 1e-36


@pytest.mark.parametrize("noise", LAWS)
def test_higher_derivatives_are_bounded_about_a_point(noise: KernelNoise) -> None:
    table, shift = _table(noise), Fraction(1, 3)
    row = _row(table, shift)
    with mp.workdps(30):
        for i in range(450, table.count, 41):
            for step in (-2.4, -1, 0, 1.7, 3.4):
                here = table.points[i] + float(shift)
                x = here + step * table.step
                if noise.folded and (x >= 0) != (here >= 0):
                    continue  # the other side's kernels are bounded from that side
                assert abs(_density(noise, mp.mpf(x), 4)) <= row.fourth[i] + 1e-30
                assert abs(_density(noise, mp.mpf(x), 6)) <= row.sixth[i] + 1e-30


def test_the_positive_part_of_polynomials() -> None:
    """Against sums over a grid of random quintics, most of them with several sign changes."""
    rng = np.random.default_rng(3)  # makes polynomials, no noise
    coefficients = rng.normal(size=(6, 400))
    coefficients[:, ::7] = np.abs(coefficients[:, ::7])  # of one sign
    coefficients[:, 1::7] = np.sort(coefficients[:, 1::7], axis=0)  # monotone
    coefficients[:, 2::7] = -np.sort(-coefficients[:, 2::7], axis=0)
    widths = rng.uniform(0, 2, 400)
    s = (np.arange(4000) + 0.5) / 4000
    basis = np.stack([math.comb(5, k) * s**k * (1 - s) ** (5 - k) for k in range(6)])
    for count in (400, 7):
        part, width = coefficients[:, :count], widths[:count]
        value = float(np.maximum(part.T @ basis, 0).mean(axis=1) @ width)
        low, high = integrate_positive_part(part, np.zeros(count), width)
        assert low <= value + SUM
        assert high >= value - SUM
        assert high - low <= 2e-5
    errors = rng.uniform(0, 0.1, 400)
    low, high = integrate_positive_part(coefficients, errors, widths)
    for sign in (-1, 1):
        moved = float(np.maximum((coefficients + sign * errors).T @ basis, 0).mean(axis=1) @ widths)
        assert low <= moved + SUM
        assert high >= moved - SUM


@pytest.mark.dense
def test_long_sums_stay_outside() -> None:
    """All roundings of a plain sum go down: each term has a little more than sums can hold."""
    count, term = 1 << 21, 1 + 0.99 * 2.0**-38
    low, high = integrate_positive_part(np.full((6, count), term), np.zeros(count), np.ones(count))
    assert low <= term * count <= high
