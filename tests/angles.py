"""The loss of the l2 mechanism by the angle between noise and shift, in mpmath alone."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from mpmath import besselk, mp, mpf

from leastnoise.accounting.proof.moment_sum_laws import SphericalMoments


def spherical(dimension: int, ratio: str, count: int = 1) -> SphericalMoments:
    return SphericalMoments(ratio=Fraction(ratio), dimension=dimension, compositions=count)


def weights(law: SphericalMoments) -> tuple[Any, Any]:
    """ν and β' = xρ_ν/(2ν+1), by mpmath's Bessel functions."""
    nu, x = mpf(law.dimension - 2) / 2, mpf(law.ratio.numerator) / law.ratio.denominator / 2
    return nu, x * besselk(nu, x) / besselk(nu + 1, x) / (2 * nu + 1)


def angle_integral(law: SphericalMoments, of: Any, start: Any = 0) -> Any:
    """∫ of(a cos θ) over the density of the angle between noise and shift, θ from `start` to π.

    See theory/noise.md §6; the constant is left out.
    """
    nu, r = weights(law)
    a = mpf(law.ratio.numerator) / law.ratio.denominator

    def weight(theta: Any) -> Any:
        sine = mp.sin(theta)
        return mp.exp(a / 2 * mp.cos(theta)) * sine ** (2 * nu) * (1 + r * sine**2)

    return mp.quad(lambda t: weight(t) * of(a * mp.cos(t)), mp.linspace(start, mp.pi, 5))
