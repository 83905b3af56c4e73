"""The l2 mechanism's noise: a spherical Laplace law (Joseph, Kulesza & Yu 2025)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np

from leastnoise.guarantees.exact import Exact, exact
from leastnoise.noise.base import Noise, points_of, positive_scale, whole_dimension
from leastnoise.noise.moments import gamma_ratio

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.guarantees.sensitivity import Norm


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
