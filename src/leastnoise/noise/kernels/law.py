"""Gaussian mixtures and quasi-Gaussian noise: parameters, densities and moments.

Notation: X is a draw of the noise, f its density and E the expectation. σ (`scale`) is the standard
deviation of each kernel, Δ (`spacing`) the distance of neighbouring kernels, and K = `modes`. The
kernels k = −K … K have the centres m_k = kΔ and the weights w_k ∝ e^(−|k|·decay), which add up to
1. φ and Φ are the standard normal density and distribution function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np

from leastnoise._record import derived, field, record, takes, whole
from leastnoise.guarantees.exact import Exact, exact, exact_where
from leastnoise.guarantees.fields import FractionField
from leastnoise.guarantees.sensitivity import Norm
from leastnoise.noise.base import DIMENSION, SCALE, Noise, points_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


# Laws of Gaussian kernels of one width σ at the multiples of a spacing.


MAX_MODES = 1000


class KernelNoise(Noise):
    """Noise for one number whose density is a sum of Gaussian kernels at multiples of a spacing.

    The density at x is proportional to the sum of e^(−|k|·decay) e^(−(x − kΔ)²/2σ²) over k = −K …
    K. If `folded`, the law is quasi-Gaussian. Then the sum is over k = 0, 1 and x is replaced by
    |x|, so the density has a kink at 0.

    Proofs and searches are the same for both, because the slope of ln f at x is (m(x) − x)/σ² with
    an increasing function m. For a mixture, m(x) is the mean of the centres, each weighted by its
    kernel's share of the density at x. Its derivative is the variance of the centres over σ². For
    the folded law m is odd, and jumps up at 0.
    """

    folded: ClassVar[bool]
    most_dimension: ClassVar[int] = 1
    without_delta: ClassVar[str] = "delta=0 is impossible for Gaussian tails at any scale"
    spacing: Fraction
    decay: Fraction
    modes: int  # K: there are components at −K·spacing … K·spacing

    def scaled(self, factor: Exact) -> Self:
        by = exact(factor, name="factor")
        law: Any = self  # a record
        return replace(law, scale=self.scale * by, spacing=self.spacing * by)


SPACING = takes(exact_where, holds=lambda spacing: spacing > 0, expected="spacing > 0")
DECAY = takes(exact_where, holds=lambda decay: decay >= 0, expected="decay >= 0")


# Mixtures of Gaussians at equal distances (Liu, Selvi & Wiesemann 2026, Definition 3.1).


@final
@record()
class GaussianMixture(KernelNoise):
    """A mixture of Gaussians at equal distances, with weights that fall away from 0.

    It has 2K + 1 components k = −K … K. Component k is normal with the mean kΔ and the standard
    deviation σ, and has a weight ∝ e^(−|k|·decay). The law is multimodal if σ is small compared
    with Δ, so the worst shift need not be the longest (theory/noise.md §1c). For fixed spacing,
    decay and modes δ(ε) decreases in σ: a wider law is this law plus an independent Gaussian, which
    is post-processing. It is never purely private.

    Args:
        scale: σ > 0, the standard deviation of each kernel.
        modes: K, 0 to 1,000; there are 2K + 1 kernels.
        spacing: Δ > 0, the distance of neighbouring kernels; usually the sensitivity.
        decay: Each kernel has e^−decay times the weight of its neighbour towards 0; usually ε.
        dimension: 1.

    Raises:
        InvalidArgument: A parameter is out of its range.

    Source:
        Liu, Selvi & Wiesemann (2026), Definition 3.1.

    Examples:
        >>> law = GaussianMixture(scale="0.5", modes=1, spacing=1, decay=1)
        >>> round(law.mean_abs, 12), round(law.variance, 12)
        (0.657319564496, 0.673883115234)
    """

    name: ClassVar[str] = "gaussian-mixture"
    norm: ClassVar[Norm] = "l2"
    folded: ClassVar[bool] = False
    scale: FractionField = field(converter=SCALE)
    modes: int = field(converter=whole(least=0, most=MAX_MODES))
    spacing: FractionField = field(converter=SPACING)
    decay: FractionField = field(converter=DECAY)
    dimension: int = field(converter=DIMENSION, default=1)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of the density at `x`, which is Σ_k w_k φ((x − m_k)/σ)/σ."""
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
        """The variance σ² + Σ_k w_k m_k²."""
        spacing = float(self.spacing)
        return float(self.scale) ** 2 + self._mean_over_modes(lambda k: (k * spacing) ** 2)

    @property
    def mean_abs(self) -> float:
        """The mean E|X|, which is Σ_k w_k [σ√(2/π) e^(−m_k²/2σ²) + m_k erf(m_k/σ√2)]."""
        sigma, spacing = float(self.scale), float(self.spacing)

        def mean_abs_of_mode(k: int) -> float:
            m = k * spacing
            bulk = sigma * math.sqrt(2 / math.pi) * math.exp(-((m / sigma) ** 2) / 2)
            return bulk + m * math.erf(m / sigma / math.sqrt(2))

        return self._mean_over_modes(mean_abs_of_mode)

    @property
    def _total_weight(self) -> float:
        decay = float(self.decay)
        return 1 + 2 * math.fsum(math.exp(-k * decay) for k in range(1, self.modes + 1))

    def _mean_over_modes(self, f: Callable[[int], float]) -> float:
        """The mean of f(|k|) over the kernels k, with their weights w_k."""
        decay = float(self.decay)
        sides = math.fsum(math.exp(-k * decay) * f(k) for k in range(1, self.modes + 1))
        return (f(0) + 2 * sides) / self._total_weight


# Quasi-Gaussian mixtures (Liu, Selvi & Wiesemann 2026, Definition 4.1).


@final
@record()
class QuasiGaussian(KernelNoise):
    """Quasi-Gaussian noise: a Gaussian about 0 and, on each side, a Gaussian that is cut off at 0.

    The density at x is proportional to e^(−x²/2σ²) + e^(−decay) e^(−(|x| − Δ)²/2σ²). It has a kink
    at 0. The worst shift need not be the longest. The law is never purely private. zCDP and GDP
    guarantees are stated for mixtures of Gaussians, but not for this law.

    Args:
        scale: σ > 0, the standard deviation of each kernel.
        spacing: Δ > 0; usually the sensitivity.
        decay: The outer kernels have e^−decay times the weight of the inner one; usually ε.
        dimension: 1.

    Raises:
        InvalidArgument: A parameter is out of its range.

    Source:
        Liu, Selvi & Wiesemann (2026), Definition 4.1.

    Examples:
        >>> law = QuasiGaussian(scale="0.5", spacing=1, decay=1)
        >>> round(law.mean_abs, 12), round(law.variance, 12)
        (0.661903025276, 0.679827646524)
    """

    name: ClassVar[str] = "quasi-gaussian"
    norm: ClassVar[Norm] = "l2"
    folded: ClassVar[bool] = True
    scale: FractionField = field(converter=SCALE)
    spacing: FractionField = field(converter=SPACING)
    decay: FractionField = field(converter=DECAY)
    dimension: int = field(converter=DIMENSION, default=1)
    modes: int = derived(lambda _: 1, repr=False, compare=False)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of the density at `x`: the sum of both kernels at |x|, normalised."""
        sigma = float(self.scale)
        r, t = np.abs(points_of(x, dimension=self.dimension)[..., 0]) / sigma, self._ratio
        total = np.logaddexp(-r * r / 2, -((r - t) ** 2) / 2 - float(self.decay))
        return total - math.log(sigma * self._mass) - math.log(2 * math.pi) / 2

    @property
    def variance(self) -> float:
        """The variance [σ² + 2w(Φ(Δ/σ)·(σ² + Δ²) + σΔ φ(Δ/σ))]/C.

        The inner kernel has the weight 1 and an outer kernel w = e^(−decay). C = 1 + 2wΦ(Δ/σ) is
        the mass of all kernels.
        """
        sigma, spacing, t = float(self.scale), float(self.spacing), self._ratio
        edge = sigma * spacing * math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
        outer = self._side * (sigma**2 + spacing**2) + edge
        return (sigma**2 + 2 * self._weight * outer) / self._mass

    @property
    def mean_abs(self) -> float:
        """The mean E|X|, which is [√(2/π) σ (1 + w e^(−Δ²/2σ²)) + 2wΔΦ(Δ/σ)]/C.

        The inner kernel has the weight 1 and an outer kernel w = e^(−decay). C = 1 + 2wΦ(Δ/σ) is
        the mass of all kernels.
        """
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
        """The mass of an outer kernel on its own side of 0, Φ(Δ/σ)."""
        return math.erfc(-self._ratio / math.sqrt(2)) / 2

    @property
    def _mass(self) -> float:
        return 1 + 2 * self._weight * self._side
