"""Laplace noise: one number, or i.i.d. on the coordinates of a vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np

from leastnoise.guarantees.exact import Exact, exact
from leastnoise.noise.base import Noise, points_of, positive_scale, whole_dimension

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.guarantees.sensitivity import Norm


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
