"""Parameters, densities, moments: radial."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.noise.base import Noise, ParameterKind, points_of, positive_scale, whole_dimension
from leastnoise.noise.moments import gamma_ratio, log_gamma_ratio

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.guarantees.sensitivity import Norm


# Spherical generalized gamma noise (Wei, Bienstock & Polychroniadou 2026).


LEAST_POWER, LARGEST_POWER = Fraction(1, 5), Fraction(50)
LEAST_MASS_POWER = Fraction(1, 10**6)  # of α + 1: below it, all but the whole mass is at 0
MAX_DIMENSION = 10**6
# Beyond this a proof takes seconds and the gain is gone: there only the Gaussian and l2 members.
MAX_SHAPED_DIMENSION = 2000
_LARGEST_LOG = 600.0  # of a variance, in floats


@final
@dataclass(frozen=True, kw_only=True)
class GeneralizedGamma(Noise):
    """Density ∝ ‖x‖^(α+1−d) e^(−(‖x‖/scale)^p) on R^d, so the radius has density ∝ r^α e^(−r^p).

    notation: α = alpha in (−1, d−1], d = dimension, β = scale^(−p), k = (α+1)/p. α = d−1 is the
    Gaussian for p = 2 (σ = scale/√2) and the l2 mechanism for p = 1. For α > d−1 the density
    vanishes at 0, where the longest shift need not be the worst (theory/noise.md §7): refused.

    >>> round(GeneralizedGamma(scale=1, alpha=6, p=1, dimension=7).mse, 9)
    56.0
    """

    name: ClassVar[str] = "generalized-gamma"
    norm: ClassVar[Norm] = "l2"
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType(
        {"alpha": Fraction, "p": Fraction}
    )
    scale: Fraction
    alpha: Fraction
    p: Fraction
    dimension: int

    def __init__(self, *, scale: Exact, alpha: Exact, p: Exact, dimension: int) -> None:
        object.__setattr__(self, "scale", positive_scale(scale))
        checked = whole_dimension(dimension, most=MAX_DIMENSION, family=self.name)
        object.__setattr__(self, "dimension", checked)
        object.__setattr__(self, "alpha", checked_alpha(alpha, dimension=checked))
        object.__setattr__(self, "p", checked_power(p))
        if checked > MAX_SHAPED_DIMENSION and not self.is_classic:
            raise InvalidArgument(
                name="dimension",
                value=checked,
                expected=f"dimension <= {MAX_SHAPED_DIMENSION} for shapes beside alpha = "
                "dimension - 1, p = 1 or 2",
                hint="So far out nothing is gained on gaussian and l2.",
            )
        if abs(self._log_moment(2) + 2 * math.log(self.scale)) > _LARGEST_LOG:
            raise InvalidArgument(
                name="scale",
                value=f"{float(self.scale):.3g}",
                expected="a scale at which the variance fits a float",
            )

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        if dimension > MAX_DIMENSION:
            return f"it serves up to {MAX_DIMENSION:,} dimensions"
        return "delta=0 is left to l2 and laplace" if delta == 0 else None

    def scaled(self, factor: Exact) -> Self:
        scale = self.scale * exact(factor, name="factor")
        return type(self)(scale=scale, alpha=self.alpha, p=self.p, dimension=self.dimension)

    @property
    def is_classic(self) -> bool:
        """Whether it is the Gaussian (p = 2) or the l2 mechanism (p = 1) under another name."""
        return self.kappa == 0 and self.p in {1, 2}

    @property
    def kappa(self) -> Fraction:
        """κ = d − 1 − α >= 0, the power of the density's pole at 0."""
        return self.dimension - 1 - self.alpha

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """−κ ln r − r^p − ln(S Γ(k)/p) with r = ‖x‖/scale, S the unit sphere; +∞ at 0 if κ > 0."""
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
        """E R²/d = scale² Γ(k + 2/p)/(Γ(k) d)."""
        return float(self.scale) ** 2 * math.exp(self._log_moment(2)) / self.dimension

    @property
    def mean_abs(self) -> float:
        """E R · E|U_1| = scale Γ(k + 1/p)/Γ(k) · Γ(d/2)/(√π Γ((d+1)/2)), U on the sphere."""
        log_cosine = -log_gamma_ratio(self.dimension / 2, 0.5) - math.log(math.pi) / 2
        return float(self.scale) * math.exp(self._log_moment(1) + log_cosine)

    def _log_moment(self, order: int) -> float:
        """Ln E (R/scale)^order = ln Γ(k + order/p)/Γ(k)."""
        return log_gamma_ratio(float((self.alpha + 1) / self.p), float(order / self.p))


def checked_alpha(alpha: Exact, *, dimension: int) -> Fraction:
    """Return `alpha`; raises InvalidArgument unless −1 < alpha <= dimension − 1."""
    number = exact(alpha, name="alpha")
    if number > dimension - 1:
        raise InvalidArgument(
            name="alpha",
            value=str(alpha)[:40],
            expected=f"alpha <= dimension - 1 = {dimension - 1}",
            hint="Above it the density vanishes at 0 and no worst shift is known.",
        )
    if number < LEAST_MASS_POWER - 1:
        raise InvalidArgument(name="alpha", value=str(alpha)[:40], expected="alpha >= -1 + 1e-6")
    return number


def checked_power(p: Exact) -> Fraction:
    """Return `p`; raises InvalidArgument unless 1/5 <= p <= 50."""
    number = exact(p, name="p")
    if not LEAST_POWER <= number <= LARGEST_POWER:
        raise InvalidArgument(name="p", value=str(p)[:40], expected="0.2 <= p <= 50")
    return number


# The l2 mechanism's noise: a spherical Laplace law (Joseph, Kulesza & Yu 2025).


@final
@dataclass(frozen=True, kw_only=True)
class SphericalLaplace(Noise):
    """Density ∝ exp(−‖x‖₂/σ) on R^dimension, dimension >= 2. notation: σ = scale, d = dimension.

    Private against l2 shifts; pure ε-DP with exactly ε = Δ/σ (theory/noise.md §6). In one dimension
    it is the Laplace law, which goes by that name.

    >>> SphericalLaplace(scale=1, dimension=7).mse
    56.0
    """

    name: ClassVar[str] = "l2"
    norm: ClassVar[Norm] = "l2"
    scale: Fraction
    dimension: int

    def __init__(self, *, scale: Exact, dimension: int) -> None:
        object.__setattr__(self, "scale", positive_scale(scale))
        checked = whole_dimension(dimension, least=2, family=self.name)
        object.__setattr__(self, "dimension", checked)

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        del delta
        return "in one dimension it is the same law as laplace" if dimension == 1 else None

    def scaled(self, factor: Exact) -> Self:
        return type(self)(scale=self.scale * exact(factor, name="factor"), dimension=self.dimension)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """−‖x‖/σ − ln(σ^d S Γ(d)), S = 2π^{d/2}/Γ(d/2) the unit sphere; see `Noise.log_density`."""
        d, sigma = self.dimension, float(self.scale)
        log_sphere = math.log(2) + d / 2 * math.log(math.pi) - math.lgamma(d / 2)
        log_mass = d * math.log(sigma) + log_sphere + math.lgamma(d)
        return -np.linalg.norm(points_of(x, dimension=self.dimension), axis=-1) / sigma - log_mass

    @property
    def exponential(self) -> bool:
        return True

    @property
    def variance(self) -> float:
        """σ²(d+1): the radius is Gamma(d, σ), so E‖X‖² = σ²d(d+1)."""
        return float(self.scale) ** 2 * (self.dimension + 1)

    @property
    def mean_abs(self) -> float:
        """E R · E|U_1| = σ (2/√π) Γ(d/2 + 1)/Γ((d+1)/2), U uniform on the sphere."""
        d = self.dimension
        return float(self.scale) * 2 / math.sqrt(math.pi) * gamma_ratio((d + 1) / 2)
