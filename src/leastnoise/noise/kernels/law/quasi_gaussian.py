"""Quasi-Gaussian mixtures (Liu, Selvi & Wiesemann 2026, Definition 4.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np

from leastnoise.guarantees.exact import Exact, exact
from leastnoise.guarantees.sensitivity import Norm
from leastnoise.noise.base import ParameterKind, points_of, positive_scale, whole_dimension
from leastnoise.noise.kernels.law.kernels import KernelNoise, non_negative_decay, positive_spacing

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@final
@dataclass(frozen=True, kw_only=True)
class QuasiGaussian(KernelNoise):
    """Density ∝ e^(−x²/2σ²) + e^(−decay) e^(−(|x| − Δ)²/2σ²).

    notation: σ = scale, Δ = spacing, w = e^(−decay), Φ = Φ(Δ/σ), C = 1 + 2wΦ. A Gaussian about 0
    and, on either side, one about ±Δ that is cut off at 0, which leaves a kink there. With
    `decay` = ε and Δ the sensitivity it is the law of Liu, Selvi & Wiesemann (2026), Definition
    4.1. The worst shift need not be the longest. It is never purely private, and, unlike a mixture
    of Gaussians, has no zCDP or GDP guarantee of its components.

    >>> law = QuasiGaussian(scale="0.5", spacing=1, decay=1)
    >>> round(law.mean_abs, 12), round(law.variance, 12)
    (0.661903025276, 0.679827646524)
    """

    name: ClassVar[str] = "quasi-gaussian"
    norm: ClassVar[Norm] = "l2"
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType(
        {"spacing": Fraction, "decay": Fraction}
    )
    folded: ClassVar[bool] = True
    scale: Fraction
    spacing: Fraction
    decay: Fraction
    dimension: int = 1
    modes: int = field(init=False, repr=False, compare=False)

    def __init__(self, *, scale: Exact, spacing: Exact, decay: Exact, dimension: int = 1) -> None:
        object.__setattr__(self, "scale", positive_scale(scale))
        object.__setattr__(self, "spacing", positive_spacing(spacing))
        object.__setattr__(self, "decay", non_negative_decay(decay))
        object.__setattr__(self, "dimension", whole_dimension(dimension, most=1, family=self.name))
        object.__setattr__(self, "modes", 1)

    def scaled(self, factor: Exact) -> Self:
        by = exact(factor, name="factor")
        return type(self)(scale=self.scale * by, spacing=self.spacing * by, decay=self.decay)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The sum of the two kernels at |x|, over √(2π)σC."""
        sigma = float(self.scale)
        r, t = np.abs(points_of(x, dimension=self.dimension)[..., 0]) / sigma, self._ratio
        total = np.logaddexp(-r * r / 2, -((r - t) ** 2) / 2 - float(self.decay))
        return total - math.log(sigma * self._mass) - math.log(2 * math.pi) / 2

    @property
    def variance(self) -> float:
        """[σ² + 2w(Φ·(σ² + Δ²) + σΔ φ(Δ/σ))]/C, φ the normal density."""
        sigma, spacing, t = float(self.scale), float(self.spacing), self._ratio
        edge = sigma * spacing * math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
        outer = self._side * (sigma**2 + spacing**2) + edge
        return (sigma**2 + 2 * self._weight * outer) / self._mass

    @property
    def mean_abs(self) -> float:
        """[√(2/π) σ (1 + w e^(−Δ²/2σ²)) + 2wΔΦ]/C."""
        w, t = self._weight, self._ratio
        inner = math.sqrt(2 / math.pi) * float(self.scale) * (1 + w * math.exp(-t * t / 2))
        return (inner + 2 * w * float(self.spacing) * self._side) / self._mass

    @property
    def _ratio(self) -> float:
        return float(self.spacing / self.scale)

    @property
    def _weight(self) -> float:
        return math.exp(-float(self.decay))

    @property
    def _side(self) -> float:
        """Φ(Δ/σ), what is left of an outer kernel."""
        return math.erfc(-self._ratio / math.sqrt(2)) / 2

    @property
    def _mass(self) -> float:
        return 1 + 2 * self._weight * self._side
