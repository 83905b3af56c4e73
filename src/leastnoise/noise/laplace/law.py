"""Parameters, densities, moments: laplace."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise._record import field, record, takes
from leastnoise.guarantees.exact import exact_where
from leastnoise.noise.base import BOUNDED, DIMENSION, SCALE, Noise, exponential_moment, points_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.guarantees.sensitivity import Norm


# Laplace noise: one number, or i.i.d. on the coordinates of a vector.


@final
@record()
class Laplace(Noise):
    """Density (2b)^−d exp(−‖x‖₁/b) on R^dimension. notation: b = scale, d = dimension.

    Private against l1 shifts: δ(ε) = 1 − exp((ε − Δ/b)/2) for ε < Δ/b, and 0 from there on: pure
    ε-DP with ε = Δ/b (Dwork, McSherry, Nissim & Smith 2006; theory/noise.md §1d for vectors).

    >>> Laplace(scale=2, dimension=3).mse
    24.0
    """

    name: ClassVar[str] = "laplace"
    norm: ClassVar[Norm] = "l1"
    scale: Fraction = field(converter=SCALE)
    dimension: int = field(converter=DIMENSION, default=1)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """−‖x‖₁/b − d ln(2b); see `Noise.log_density`."""
        b = float(self.scale)
        lengths = np.sum(np.abs(points_of(x, dimension=self.dimension)), axis=-1)
        return -lengths / b - self.dimension * math.log(2 * b)

    @property
    def exponential(self) -> bool:
        return True

    @property
    def variance(self) -> float:
        """2b²."""
        return 2 * float(self.scale) ** 2

    @property
    def mean_abs(self) -> float:
        """The scale b itself."""
        return float(self.scale)


# Truncated Laplace noise for one number (Geng, Ding, Guo & Kumar 2020).


MAX_RADIUS = 10**9  # keeps the moments inside the floats; e^(−radius) is 0 long before


@final
@record()
class TruncatedLaplace(Noise):
    """Density ∝ e^(−|x|/b) for |x| <= radius·b, 0 beyond. notation: b = scale, a = radius.

    Geng, Ding, Guo & Kumar (2020) take b = Δ/ε and a = ln(1 + (e^ε − 1)/(2δ)), for which δ(ε) is
    the mass (e^ε − 1)/(2(e^a − 1)) that a shift of Δ moves out of the range.

    >>> law = TruncatedLaplace(scale=1, radius=2)
    >>> round(law.mean_abs, 9), round(law.variance, 9)
    (0.686964715, 0.747858858)
    """

    name: ClassVar[str] = "truncated-laplace"
    norm: ClassVar[Norm] = "l2"
    most_dimension: ClassVar[int] = 1
    without_delta: ClassVar[str] = BOUNDED
    scale: Fraction = field(converter=SCALE)
    radius: Fraction = field(
        converter=takes(
            exact_where,
            holds=lambda radius: 0 < radius <= MAX_RADIUS,
            expected=f"0 < radius <= {MAX_RADIUS:,}",
        )
    )
    dimension: int = field(converter=DIMENSION, default=1)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """−|x|/b − ln(2b(1 − e^(−a))) for |x| <= ab, −inf beyond; see `Noise.log_density`."""
        b, a = float(self.scale), float(self.radius)
        magnitude = np.abs(points_of(x, dimension=self.dimension)[..., 0]) / b
        log_mass = math.log(2 * b) + math.log(-math.expm1(-a))
        return np.where(magnitude <= a, -magnitude - log_mass, -np.inf)

    @property
    def variance(self) -> float:
        """b²(2 − (a² + 2a)/(e^a − 1))."""
        return self._moment(2)

    @property
    def mean_abs(self) -> float:
        """b(1 − a/(e^a − 1))."""
        return self._moment(1)

    def _moment(self, power: int) -> float:
        """E|X|^power as (ab)^power times a ratio of moments up to a."""
        a = float(self.radius)
        ratio = exponential_moment(power, a) / exponential_moment(0, a)
        return ratio * float(self.scale * self.radius) ** power
