"""δ(ε) of the l2 mechanism: one integral over the angle (theory/noise.md §6).

The privacy loss of x under a shift of length Δ is cos θ · Δ/σ for an angle θ in (0, π) with density
p(θ) ∝ e^(z cos θ) sin^(2ν)θ (1 + r sin²θ).  notation: a = Δ/σ, z = a/2, ν = (d−2)/2,
ρ_ν = K_ν(z)/K_{ν+1}(z) of modified Bessel functions, r = (z/2)ρ_ν/(ν+½).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastnoise.numerics.quadrature import gauss_legendre

_CUT = 140.0  # twice the exponent at which an integrand is dropped


def log_delta(*, dimension: int, epsilon: float, excess: float) -> float:
    """Return ln δ(ε), to about 1e-13, for dimension >= 2; −inf for excess <= 0 (pure DP).

    δ = ∫₀^θ₀ (1 − e^(ε − a cos θ)) p(θ) dθ, cos θ₀ = ε/a. It takes `excess` = a − ε rather than a,
    since near the pure guarantee all digits of δ sit in that difference.
    """
    if excess <= 0:
        return -math.inf
    a = epsilon + excess
    law = _AngleLaw(dimension, a / 2)
    theta_0 = 2 * math.asin(math.sqrt(excess / a / 2))
    centre = min(theta_0, law.mode)
    first, last = law.window(centre, lower=0.0, upper=theta_0)

    def loss_above(theta: NDArray[np.float64]) -> NDArray[np.float64]:
        gap = 2 * a * np.sin((theta_0 + theta) / 2) * np.sin((theta_0 - theta) / 2)
        return -np.expm1(-gap)

    above = law.integral(centre, first, last, loss_above)
    everything = law.integral(law.mode, *law.window(law.mode, lower=0.0, upper=math.pi), None)
    if above <= 0:
        return -math.inf
    return math.log(above / everything) + law.log_ratio(centre, law.mode)


@dataclass(frozen=True)
class _AngleLaw:
    """The density of θ up to a constant, always relative to its value at some angle."""

    dimension: int
    z: float

    @property
    def mode(self) -> float:
        """Where e^(z cos θ) sin^(d−1)θ peaks: cos θ = 2z/(m + √(m² + 4z²)), m = d − 1."""
        m = self.dimension - 1
        return math.acos(min(1.0, 2 * self.z / (m + math.hypot(m, 2 * self.z))))

    @property
    def _r(self) -> float:
        return self.z / (self.dimension - 1) * bessel_ratio(self.dimension - 2, self.z)

    def window(self, centre: float, *, lower: float, upper: float) -> tuple[float, float]:
        """Return the part of [lower, upper] where the log density is within _CUT/2 of `centre`'s.

        Second-order model at `centre`; to its left (towards 0) the curvature only grows, to its
        right it may fall, which the wide cut absorbs.
        """
        nu2 = self.dimension - 2
        sine, cosine = math.sin(centre), math.cos(centre)
        slope = nu2 * cosine / sine - self.z * sine  # of the log density, towards larger θ
        curvature = nu2 / sine**2 + self.z * cosine + 1e-9

        def reach(decline: float) -> float:
            decline = max(decline, 0.0)
            return _CUT / (decline + math.sqrt(decline * decline + _CUT * curvature))

        return max(lower, centre - reach(slope)), min(upper, centre + reach(-slope))

    def log_ratio(self, theta: float, reference: float) -> float:
        return float(self._log_ratios(np.array([theta]), reference)[0])

    def integral(
        self,
        reference: float,
        first: float,
        last: float,
        factor: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None,
    ) -> float:
        """Return ∫ p(θ)/p(reference) · factor(θ) dθ over [first, last]."""
        theta, weight = gauss_legendre(first, last)
        density = np.exp(self._log_ratios(theta, reference))
        return float(np.dot(weight, density if factor is None else density * factor(theta)))

    def _log_ratios(self, theta: NDArray[np.float64], reference: float) -> NDArray[np.float64]:
        tilt = 2 * self.z * np.sin((reference + theta) / 2) * np.sin((reference - theta) / 2)
        squares, square = _sine_squared(theta), _sine_squared(np.array([reference]))
        r = self._r
        shape = np.log1p(r * squares[0]) - math.log1p(r * float(square[0][0]))
        if self.dimension > 2:
            shape = shape + (self.dimension - 2) / 2 * (squares[1] - float(square[1][0]))
        return tilt + shape


def _sine_squared(
    theta: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sin²θ and its log; the log through cos²θ near π/2, where sin²θ rounds to 1."""
    sine, cosine = np.sin(theta), np.cos(theta)
    near_pole = np.abs(sine) < np.abs(cosine)
    log = np.where(
        near_pole,
        2 * np.log(np.where(near_pole, sine, 1.0)),
        np.log1p(-np.square(np.where(near_pole, 0.0, cosine))),
    )
    return sine * sine, log


def bessel_ratio(twice_order: int, z: float) -> float:
    """Return ρ_ν = K_ν(z)/K_{ν+1}(z), ν = twice_order/2, by its forward recurrence.

    ρ_{ν+1} = 1/(ρ_ν + 2(ν+1)/z) contracts by ρ_ν ρ_{ν+1} < 1 a step, so a start some orders below
    with any value in [0, 1] is enough if the order allows; else it starts exactly at order −½ or 0.
    """
    nu = twice_order / 2
    contraction = (z / (nu + math.hypot(nu, z))) ** 2
    steps = math.ceil(-40 / math.log(contraction)) + 2 if contraction < 1 else twice_order
    if 2 * steps < twice_order:
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
