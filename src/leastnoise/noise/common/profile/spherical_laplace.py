"""δ(ε) of the l2 mechanism: one integral over the angle (theory/noise.md §6).

The privacy loss of x under a shift of length Δ is cos θ · Δ/σ for an angle θ in (0, π) with density
p(θ) ∝ e^(z cos θ) sin^(2ν)θ (1 + r sin²θ).  notation: a = Δ/σ, z = a/2, ν = (d−2)/2,
ρ_ν = K_ν(z)/K_{ν+1}(z) of modified Bessel functions, r = (z/2)ρ_ν/(ν+½).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastnoise.numerics.quadrature import gauss_legendre

_Angles = NDArray[np.float64] | np.float64

_CUT = 140.0  # twice the exponent at which an integrand is dropped


def log_delta(*, dimension: int, epsilon: float, excess: float) -> float:
    """Return ln δ(ε), to about 1e-13, for dimension >= 2; −inf for excess <= 0 (pure DP).

    δ = ∫₀^θ₀ (1 − e^(ε − a cos θ)) p(θ) dθ, cos θ₀ = ε/a. It takes `excess` = a − ε rather than a,
    since near the pure guarantee all digits of δ sit in that difference.
    """
    if excess <= 0:
        return -math.inf
    a = epsilon + excess
    law = _AngleLaw.of(dimension=dimension, z=a / 2)
    theta_0 = 2 * math.asin(math.sqrt(excess / a / 2))
    centre = min(theta_0, law.mode)
    theta, weight = law.rule(centre, lower=0.0, upper=theta_0)
    gap = 2 * a * np.sin((theta_0 + theta) / 2) * np.sin((theta_0 - theta) / 2)
    above = float(np.dot(weight, np.exp(law.log_ratio(theta, centre)) * -np.expm1(-gap)))
    theta, weight = law.rule(law.mode, lower=0.0, upper=math.pi)
    everything = float(np.dot(weight, np.exp(law.log_ratio(theta, law.mode))))
    if above <= 0:
        return -math.inf
    return math.log(above / everything) + float(law.log_ratio(np.float64(centre), law.mode))


@dataclass(frozen=True, kw_only=True)
class _AngleLaw:
    """The density of θ up to a constant, always relative to its value at some angle."""

    dimension: int
    z: float
    r: float
    mode: float

    @classmethod
    def of(cls, *, dimension: int, z: float) -> _AngleLaw:
        """Take the mode of e^(z cos θ) sin^m θ, m = d−1: cos θ = 2z/(m + √(m² + 4z²))."""
        m = dimension - 1
        return cls(
            dimension=dimension,
            z=z,
            r=z / m * bessel_ratio(dimension - 2, z),
            mode=math.acos(min(1.0, 2 * z / (m + math.hypot(m, 2 * z)))),
        )

    def rule(
        self, centre: float, *, lower: float, upper: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a quadrature rule for the part of [lower, upper] that counts.

        That is where the log density is within _CUT/2 of its value at `centre`, by a second-order
        model there: to its left (towards 0) the curvature only grows; to its right it may fall,
        which the wide cut absorbs.
        """
        nu2 = self.dimension - 2
        sine, cosine = math.sin(centre), math.cos(centre)
        slope = nu2 * cosine / sine - self.z * sine  # of the log density, towards larger θ
        curvature = nu2 / sine**2 + self.z * cosine + 1e-9
        left, right = max(slope, 0.0), max(-slope, 0.0)
        return gauss_legendre(
            max(lower, centre - _CUT / (left + math.sqrt(left * left + _CUT * curvature))),
            min(upper, centre + _CUT / (right + math.sqrt(right * right + _CUT * curvature))),
        )

    def log_ratio(self, theta: _Angles, reference: float) -> _Angles:
        """Return ln p(θ)/p(reference)."""
        sine, reference_log = math.sin(reference), log_sine(np.float64(reference))
        tilt = 2 * self.z * np.sin((reference + theta) / 2) * np.sin((reference - theta) / 2)
        shape = np.log1p(self.r * np.sin(theta) ** 2) - math.log1p(self.r * sine**2)
        if self.dimension > 2:
            shape = shape + (self.dimension - 2) * (log_sine(theta) - reference_log)
        return tilt + shape


def log_sine(theta: _Angles) -> _Angles:
    """Ln sin θ; near π/2, where sin θ rounds to 1, through sin θ = 1 − 2s²/(1 + s²).

    s is tan(π/4 − θ/2). numpy's sin and cos take five times as long as its tan.
    """
    square = np.tan(np.pi / 4 - theta / 2) ** 2
    missing = 2 * square / (1 + square)
    tangent = np.tan(theta / 2)
    with np.errstate(divide="ignore"):
        near_pole = np.log(2 * tangent / (1 + tangent * tangent))
    return np.where(missing > 0.5, near_pole, np.log1p(-np.minimum(missing, 0.5)))


def bessel_ratio(twice_order: int, z: float) -> float:
    """Return ρ_ν = K_ν(z)/K_{ν+1}(z), ν = twice_order/2, by its forward recurrence.

    ρ_{ν+1} = 1/(ρ_ν + 2(ν+1)/z) contracts by ρ_ν ρ_{ν+1} < 1 a step, so a start some orders below
    with any value in [0, 1] is enough if the order allows; else it starts exactly at order −½ or 0.
    """
    nu = twice_order / 2
    half = nu / 2  # it contracts less at lower orders: counted at half the order, and kept above
    contraction = (z / (half + math.hypot(half, z))) ** 2
    shrinks = 1e-300 < contraction < 1
    steps = math.ceil(-40 / math.log(contraction)) + 2 if shrinks else twice_order
    if steps < half:
        order, ratio = nu - steps, 0.5
    elif twice_order % 2:
        order, ratio = -0.5, 1.0
    else:
        from scipy.special import k0e, k1e  # noqa: PLC0415  (0.2 s, needed here alone)

        order, ratio = 0.0, float(k0e(z) / k1e(z))
    while order < nu:
        ratio = 1 / (ratio + 2 * (order + 1) / z)
        order += 1
    return ratio
