"""Generalized gamma noise and the noise of the l2 mechanism: parameters, densities and moments.

Notation: d is the dimension. α = `alpha` and p are the shape of generalized gamma noise, k =
(α+1)/p, and κ = d − 1 − α. X is a draw of the noise, X_i one coordinate, and R = ‖X‖ its length,
called radius. E is the expectation, and r the length of an output in scales. U_1 is a coordinate of
a uniform direction.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise._record import field, record, takes
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import Exact, exact, exact_where
from leastnoise.guarantees.fields import FractionField
from leastnoise.noise.base import (
    DIMENSION,
    SCALE,
    Noise,
    dimension_of,
    gamma_ratio,
    log_gamma_ratio,
    points_of,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.guarantees.sensitivity import Norm


# Spherical generalized gamma noise (Wei, Bienstock & Polychroniadou 2026).


LEAST_POWER, LARGEST_POWER = Fraction(1, 5), Fraction(50)
LEAST_MASS_POWER = Fraction(1, 10**6)  # smallest α + 1; below it nearly all of the mass is at 0
MAX_DIMENSION = 10**6
# Above it a proof takes seconds and gains nothing, so only the Gaussian and l2 members remain.
MAX_SHAPED_DIMENSION = 2000
_LARGEST_LOG = 600.0  # largest ln of a variance, which must be a float


def _checked_alpha(alpha: Exact, *, name: str, record: GeneralizedGamma) -> Fraction:
    """Return `alpha` as a Fraction; raises InvalidArgument if it is out of its range.

    The range is −1 + 1e-6 <= alpha <= dimension − 1.
    """
    number, largest = exact(alpha, name=name), dimension_of(record.dimension, record=record) - 1
    if number > largest:
        raise InvalidArgument(
            name=name,
            value=str(alpha)[:40],
            expected=f"alpha <= dimension - 1 = {largest}",
            hint="With a larger alpha the density is 0 at the centre, and the worst shift for "
            "privacy isn't known.",
        )
    if number < LEAST_MASS_POWER - 1:
        raise InvalidArgument(name=name, value=str(alpha)[:40], expected="alpha >= -1 + 1e-6")
    return number


POWER = takes(
    exact_where, holds=lambda p: LEAST_POWER <= p <= LARGEST_POWER, expected="0.2 <= p <= 50"
)


@final
@record()
class GeneralizedGamma(Noise):
    """Spherical generalized gamma noise: a uniform direction times a generalized gamma radius.

    In units of the scale the radius r has the density ∝ r^α e^(−r^p), with α = alpha. So in d
    dimensions the noise has the density ∝ r^(α+1−d) e^(−r^p). With α = d−1 it is the Gaussian for p
    = 2 (of standard deviation scale/√2), and the l2 mechanism for p = 1. α > d−1 is an error: the
    density would vanish at 0, and the longest shift need not be the worst.

    Args:
        scale: Unit of the radius, > 0, in the query's unit.
        alpha: Power of the radius in its density, −1 + 1e-6 <= alpha <= dimension − 1.
        p: Power of the radius in the exponent, 0.2 <= p <= 50.
        dimension: Number of coordinates, up to 1,000,000. Above 2,000, alpha must be
            dimension − 1, and p must be 1 or 2.

    Raises:
        InvalidArgument: A parameter is out of its range, or the variance doesn't fit a float.

    Source:
        Wei, Bienstock & Polychroniadou (2026); theory/noise.md §7.

    Examples:
        >>> round(GeneralizedGamma(scale=1, alpha=6, p=1, dimension=7).mse, 9)
        56.0
    """

    name: ClassVar[str] = "generalized-gamma"
    norm: ClassVar[Norm] = "l2"
    most_dimension: ClassVar[int] = MAX_DIMENSION
    too_many: ClassVar[str] = f"it supports at most {MAX_DIMENSION:,} dimensions"
    without_delta: ClassVar[str] = "for delta=0 use l2 or laplace"
    scale: FractionField = field(converter=SCALE)
    alpha: FractionField = field(converter=takes(_checked_alpha, of_record=True))
    p: FractionField = field(converter=POWER)
    dimension: int = field(converter=DIMENSION)

    def _check_together(self) -> None:
        if self.dimension > MAX_SHAPED_DIMENSION and not self.is_classic:
            raise InvalidArgument(
                name="dimension",
                value=self.dimension,
                expected=f"dimension <= {MAX_SHAPED_DIMENSION} unless alpha = dimension - 1 "
                "and p = 1 or 2",
                hint="In more dimensions, other values of alpha and p gain nothing over gaussian "
                "and l2 noise.",
            )
        if abs(self._log_moment(2) + 2 * math.log(self.scale)) > _LARGEST_LOG:
            raise InvalidArgument(
                name="scale",
                value=f"{float(self.scale):.3g}",
                expected="a scale at which the variance fits a float",
            )

    @property
    def is_classic(self) -> bool:
        """True if the law is the Gaussian (p = 2), or the l2 mechanism or Laplace (p = 1)."""
        return self.kappa == 0 and self.p in {1, 2}

    @property
    def kappa(self) -> Fraction:
        """The power κ = d − 1 − α >= 0 of the density's pole at 0; 0 if there is no pole."""
        return self.dimension - 1 - self.alpha

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of the density at `x`; +∞ at 0 if κ > 0.

        It is −κ ln r − r^p − ln(S Γ(k)/p) − d ln scale, where S is the area of the unit sphere.
        """
        d, p, sigma = self.dimension, float(self.p), float(self.scale)
        log_sphere = math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)
        log_mass = log_sphere + math.lgamma(float((self.alpha + 1) / self.p)) - math.log(p)
        r = np.linalg.norm(points_of(x, dimension=self.dimension), axis=-1) / sigma
        pole = 0.0
        if self.kappa > 0:
            with np.errstate(divide="ignore"):
                pole = float(self.kappa) * np.log(r)
        return -(r**p) - pole - log_mass - d * math.log(sigma)

    @property
    def gaussian_square(self) -> Fraction | None:
        return self.scale**2 / 2 if self.is_classic and self.p == 2 else None

    @property
    def exponential(self) -> bool:
        return self.is_classic and self.p == 1 and self.dimension > 1

    @property
    def variance(self) -> float:
        """The variance of one coordinate, E R²/d = scale² Γ(k + 2/p)/(Γ(k) d)."""
        return float(self.scale) ** 2 * math.exp(self._log_moment(2)) / self.dimension

    @property
    def mean_abs(self) -> float:
        """The mean absolute value of one coordinate, E|X_i| = E R · E|U_1|.

        It is scale Γ(k + 1/p)/Γ(k) · Γ(d/2)/(√π Γ((d+1)/2)).
        """
        log_cosine = -log_gamma_ratio(self.dimension / 2, 0.5) - math.log(math.pi) / 2
        return float(self.scale) * math.exp(self._log_moment(1) + log_cosine)

    def _log_moment(self, order: int) -> float:
        """The logarithm of E (R/scale)^order = Γ(k + order/p)/Γ(k), a moment of the radius."""
        return log_gamma_ratio(float((self.alpha + 1) / self.p), float(order / self.p))


# The l2 mechanism's noise: a spherical Laplace law (Joseph, Kulesza & Yu 2025).


@final
@record()
class SphericalLaplace(Noise):
    """Spherical Laplace noise, the noise of the l2 mechanism.

    The density at x is proportional to exp(−‖x‖₂/σ), with σ = scale. For l2 shifts of length at
    most Δ it is purely ε-private (δ = 0) with ε = Δ/σ, and for no smaller ε. In one dimension use
    `Laplace`, which is the same law.

    Args:
        scale: σ > 0, in the query's unit.
        dimension: Number of coordinates, at least 2.

    Raises:
        InvalidArgument: A parameter is out of its range.

    Source:
        Joseph, Kulesza & Yu (2025); theory/noise.md §6.

    Examples:
        >>> SphericalLaplace(scale=1, dimension=7).mse
        56.0
    """

    name: ClassVar[str] = "l2"
    norm: ClassVar[Norm] = "l2"
    least_dimension: ClassVar[int] = 2
    too_few: ClassVar[str] = "in one dimension it is the same law as laplace"
    scale: FractionField = field(converter=SCALE)
    dimension: int = field(converter=DIMENSION)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of the density at `x`.

        It is −‖x‖/σ − ln(σ^d S Γ(d)), where σ = `scale` and S is the area of the unit sphere.
        """
        d, sigma = self.dimension, float(self.scale)
        log_sphere = math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)
        log_mass = d * math.log(sigma) + log_sphere + math.lgamma(d)
        return -np.linalg.norm(points_of(x, dimension=self.dimension), axis=-1) / sigma - log_mass

    @property
    def exponential(self) -> bool:
        return True

    @property
    def variance(self) -> float:
        """The variance of one coordinate, σ²(d+1), where σ = `scale`.

        The radius has the gamma law of shape d and scale σ, so its mean square is σ²d(d+1).
        """
        return float(self.scale) ** 2 * (self.dimension + 1)

    @property
    def mean_abs(self) -> float:
        """The mean absolute value of one coordinate, E|X_i| = E R · E|U_1|.

        It is σ (2/√π) Γ(d/2 + 1)/Γ((d+1)/2), where σ = `scale`.
        """
        d = self.dimension
        return float(self.scale) * 2 / math.sqrt(math.pi) * gamma_ratio((d + 1) / 2)
