"""Mixtures of Gaussians at equal distances (Liu, Selvi & Wiesemann 2026, Definition 3.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np

from leastnoise import _validate
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.guarantees.sensitivity import Norm
from leastnoise.noise.base import ParameterKind, points_of, positive_scale, whole_dimension
from leastnoise.noise.kernels.law.kernels import (
    MAX_MODES,
    KernelNoise,
    non_negative_decay,
    positive_spacing,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@final
@dataclass(frozen=True, kw_only=True)
class GaussianMixture(KernelNoise):
    """Σ_k w_k N(k·spacing, scale²), w_k ∝ e^(−|k|·decay), k = −modes … modes.

    notation: σ = scale, K = modes, Δ = spacing, m_k = kΔ. It is multimodal where σ is small beside
    Δ, so the worst shift need not be the longest (theory/noise.md §1c). With `decay` = ε and Δ the
    sensitivity it is the law of Liu, Selvi & Wiesemann (2026), Definition 3.1. For fixed spacing,
    decay and modes δ(ε) falls as σ grows: a wider law is this one plus an independent Gaussian,
    which is post-processing. It is never purely private.

    >>> law = GaussianMixture(scale="0.5", modes=1, spacing=1, decay=1)
    >>> round(law.mean_abs, 12), round(law.variance, 12)
    (0.657319564496, 0.673883115234)
    """

    name: ClassVar[str] = "gaussian-mixture"
    norm: ClassVar[Norm] = "l2"
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType(
        {"modes": int, "spacing": Fraction, "decay": Fraction}
    )
    folded: ClassVar[bool] = False
    scale: Fraction
    modes: int
    spacing: Fraction
    decay: Fraction
    dimension: int = 1

    def __init__(
        self, *, scale: Exact, modes: int, spacing: Exact, decay: Exact, dimension: int = 1
    ) -> None:
        object.__setattr__(self, "scale", positive_scale(scale))
        object.__setattr__(self, "modes", checked_modes(modes))
        object.__setattr__(self, "spacing", positive_spacing(spacing))
        object.__setattr__(self, "decay", non_negative_decay(decay))
        object.__setattr__(self, "dimension", whole_dimension(dimension, most=1, family=self.name))

    def scaled(self, factor: Exact) -> Self:
        by = exact(factor, name="factor")
        return type(self)(
            scale=self.scale * by, modes=self.modes, spacing=self.spacing * by, decay=self.decay
        )

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """Log of Σ_k w_k φ((x − m_k)/σ)/σ; see `Noise.log_density`."""
        sigma = float(self.scale)
        points = points_of(x, dimension=self.dimension)[..., 0]
        k = np.arange(-self.modes, self.modes + 1)
        centres = k * float(self.spacing)
        exponents = -(((points[..., None] - centres) / sigma) ** 2) / 2
        exponents -= np.abs(k) * float(self.decay)
        largest = exponents.max(axis=-1)
        total = np.log(np.exp(exponents - largest[..., None]).sum(axis=-1))
        norm = math.log(self._total_weight) + math.log(sigma) + math.log(2 * math.pi) / 2
        return largest + total - norm

    @property
    def smoothed_square(self) -> Fraction:
        return self.scale**2

    @property
    def variance(self) -> float:
        """σ² + Σ_k w_k m_k²."""
        spacing = float(self.spacing)
        return float(self.scale) ** 2 + self._mean_over_modes(lambda k: (k * spacing) ** 2)

    @property
    def mean_abs(self) -> float:
        """Σ_k w_k [σ√(2/π) e^(−m_k²/2σ²) + m_k erf(m_k/σ√2)]."""
        sigma, spacing = float(self.scale), float(self.spacing)

        def one(k: int) -> float:
            m = k * spacing
            bulk = sigma * math.sqrt(2 / math.pi) * math.exp(-((m / sigma) ** 2) / 2)
            return bulk + m * math.erf(m / sigma / math.sqrt(2))

        return self._mean_over_modes(one)

    @property
    def _total_weight(self) -> float:
        decay = float(self.decay)
        return 1 + 2 * math.fsum(math.exp(-k * decay) for k in range(1, self.modes + 1))

    def _mean_over_modes(self, f: Callable[[int], float]) -> float:
        """Σ_k w_k f(|k|)."""
        decay = float(self.decay)
        sides = math.fsum(math.exp(-k * decay) * f(k) for k in range(1, self.modes + 1))
        return (f(0) + 2 * sides) / self._total_weight


def checked_modes(modes: int) -> int:
    """Return `modes`; raises InvalidArgument unless it is whole and from 0 to MAX_MODES."""
    return _validate.whole(modes, name="modes", least=0, most=MAX_MODES)
