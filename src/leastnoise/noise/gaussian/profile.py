"""Quantiles of Gaussian noise, and what it guarantees at all ε at once.

δ(ε) is in noise/common/profile.py, as others use it.
"""

from __future__ import annotations

import math
from fractions import Fraction

from leastnoise.noise.common.profile import solve
from leastnoise.noise.gaussian.law import Gaussian


def quantile(noise: Gaussian, outside: float) -> float:
    """Invert P(|X| > t) = erfc(t/√2)."""
    del noise
    return solve(lambda t: math.erfc(t / math.sqrt(2)), outside, guess=1.5)


# What follows holds for a Gaussian, and for a mixture of Gaussians of standard deviation σ whose
# component is drawn without looking at the data: publishing the component too gives a plain
# Gaussian, and forgetting it is post-processing (theory/accounting.md §5). Not for quasi-Gaussian
# noise.


def zero_concentrated(*, sigma: Fraction, sensitivity: Fraction) -> Fraction:
    """Return ρ = Δ²/2σ², exact: the noise is ρ-zCDP (Bun & Steinke 2016, Proposition 1.6).

    >>> zero_concentrated(sigma=Fraction(2), sensitivity=Fraction(1))
    Fraction(1, 8)
    """
    return sensitivity**2 / (2 * sigma**2)


def gaussian_differential(*, sigma: Fraction, sensitivity: Fraction) -> Fraction:
    """Return μ = Δ/σ, exact: the noise is μ-GDP (Dong, Roth & Su 2022, Theorem 2.7).

    >>> gaussian_differential(sigma=Fraction(2), sensitivity=Fraction(1))
    Fraction(1, 2)
    """
    return sensitivity / sigma
