"""Gaussian noise (Balle & Wang 2018 for its exact privacy)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise._record import field, record
from leastnoise.noise.base import DIMENSION, SCALE, Noise, points_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.guarantees.sensitivity import Norm


@final
@record()
class Gaussian(Noise):
    """N(0, scale² I) on R^dimension. notation: σ = scale, d = dimension.

    Private against l2 shifts: δ(ε) = Φ(Δ/2σ − εσ/Δ) − e^ε Φ(−Δ/2σ − εσ/Δ) (Balle & Wang 2018,
    Theorem 8), positive for every ε, so it is never purely private (δ = 0).

    >>> Gaussian(scale=2, dimension=3).mse
    12.0
    """

    name: ClassVar[str] = "gaussian"
    norm: ClassVar[Norm] = "l2"
    without_delta: ClassVar[str] = "delta=0 is impossible for a Gaussian at any scale"
    scale: Fraction = field(converter=SCALE)
    dimension: int = field(converter=DIMENSION, default=1)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """−‖x‖²/2σ² − d ln(σ√2π); see `Noise.log_density`."""
        sigma = float(self.scale)
        squares = np.sum((points_of(x, dimension=self.dimension) / sigma) ** 2, axis=-1)
        return -squares / 2 - self.dimension * (math.log(sigma) + math.log(2 * math.pi) / 2)

    @property
    def gaussian_square(self) -> Fraction:
        return self.scale**2

    @property
    def variance(self) -> float:
        """σ²."""
        return float(self.scale) ** 2

    @property
    def mean_abs(self) -> float:
        """σ√(2/π)."""
        return float(self.scale) * math.sqrt(2 / math.pi)
