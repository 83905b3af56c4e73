"""Parameters, densities, moments: laplace."""

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
from leastnoise.noise.moments import exponential_moment

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.guarantees.sensitivity import Norm


# Laplace noise: one number, or i.i.d. on the coordinates of a vector.


@final
@dataclass(frozen=True, kw_only=True)
class Laplace(Noise):
    """Density (2b)^−d exp(−‖x‖₁/b) on R^dimension. notation: b = scale, d = dimension.

    Private against l1 shifts: δ(ε) = 1 − exp((ε − Δ/b)/2) for ε < Δ/b, and 0 from there on: pure
    ε-DP with ε = Δ/b (Dwork, McSherry, Nissim & Smith 2006; theory/noise.md §1d for vectors).

    >>> Laplace(scale=2, dimension=3).mse
    24.0
    """

    name: ClassVar[str] = "laplace"
    norm: ClassVar[Norm] = "l1"
    scale: Fraction
    dimension: int = 1

    def __init__(self, *, scale: Exact, dimension: int = 1) -> None:
        object.__setattr__(self, "scale", positive_scale(scale))
        checked = whole_dimension(dimension, least=1, family=self.name)
        object.__setattr__(self, "dimension", checked)

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        """Laplace noise serves every dimension and budget."""
        del dimension, delta

    def scaled(self, factor: Exact) -> Self:
        return type(self)(scale=self.scale * exact(factor, name="factor"), dimension=self.dimension)

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
@dataclass(frozen=True, kw_only=True)
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
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType({"radius": Fraction})
    scale: Fraction
    radius: Fraction
    dimension: int = 1

    def __init__(self, *, scale: Exact, radius: Exact, dimension: int = 1) -> None:
        object.__setattr__(self, "scale", positive_scale(scale))
        object.__setattr__(self, "radius", exact(radius, name="radius"))
        object.__setattr__(self, "dimension", whole_dimension(dimension, most=1, family=self.name))
        if not 0 < self.radius <= MAX_RADIUS:
            raise InvalidArgument(
                name="radius", value=str(radius)[:40], expected=f"0 < radius <= {MAX_RADIUS:,}"
            )

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        if dimension != 1:
            return "it is noise for one number"
        return "delta=0 is impossible for noise of bounded range" if delta == 0 else None

    def scaled(self, factor: Exact) -> Self:
        return type(self)(scale=self.scale * exact(factor, name="factor"), radius=self.radius)

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
