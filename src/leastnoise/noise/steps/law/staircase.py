"""Staircase noise for one number (Geng & Viswanath 2014)."""

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

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.guarantees.sensitivity import Norm

# Second moments are floats: beyond these they would overflow or vanish.
SMALLEST_GAMMA = Fraction(1, 10**140)
SMALLEST_DECAY, LARGEST_DECAY = Fraction(1, 10**140), Fraction(10**6)


def step_decay(decay: Exact) -> Fraction:
    """Return by what steps fall, exactly; raises InvalidArgument unless 1e-140 <= decay <= 1e6."""
    number = exact(decay, name="decay")
    if not SMALLEST_DECAY <= number <= LARGEST_DECAY:
        raise InvalidArgument(
            name="decay", value=str(decay)[:40], expected="1e-140 <= decay <= 1e6"
        )
    return number


@final
@dataclass(frozen=True, kw_only=True)
class Staircase(Noise):
    """Density ∝ e^(−decay·k(|x|/scale)), k(r) = 0 for r < γ and ⌊r − γ⌋ + 1 from there.

    notation: γ = gamma in (0, 1], b = e^(−decay), m = b/(1 − b). With decay = ε it is purely
    ε-private for shifts up to scale, and the best that purely private noise can be if γ minimises
    the loss (Geng & Viswanath 2014). X is uniform on ±scale·(γ + J), P(J = j) ∝ b^j (γ + j).

    >>> law = Staircase(scale=1, gamma="0.5", decay=1)
    >>> round(law.mean_abs, 9), round(law.variance, 9)
    (0.966447418, 1.924680522)
    """

    name: ClassVar[str] = "staircase"
    norm: ClassVar[Norm] = "l2"
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType(
        {"gamma": Fraction, "decay": Fraction}
    )
    scale: Fraction
    gamma: Fraction
    decay: Fraction
    dimension: int = 1

    def __init__(self, *, scale: Exact, gamma: Exact, decay: Exact, dimension: int = 1) -> None:
        object.__setattr__(self, "scale", positive_scale(scale))
        object.__setattr__(self, "gamma", exact(gamma, name="gamma"))
        object.__setattr__(self, "decay", step_decay(decay))
        object.__setattr__(self, "dimension", whole_dimension(dimension, most=1, family=self.name))
        if not SMALLEST_GAMMA <= self.gamma <= 1:
            raise InvalidArgument(
                name="gamma", value=str(gamma)[:40], expected="1e-140 <= gamma <= 1"
            )

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        """It serves every δ, and leaves a positive one unspent."""
        del delta
        return "it is noise for one number" if dimension != 1 else None

    def scaled(self, factor: Exact) -> Self:
        scale = self.scale * exact(factor, name="factor")
        return type(self)(scale=scale, gamma=self.gamma, decay=self.decay)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """−decay·k(|x|/scale) − ln(2·scale·(γ + m)); see `Noise.log_density`."""
        scale, gamma = float(self.scale), float(self.gamma)
        magnitude = np.abs(points_of(x, dimension=self.dimension)[..., 0]) / scale
        step = np.maximum(0.0, np.floor(magnitude - gamma) + 1)
        return -float(self.decay) * step - math.log(2 * scale * (gamma + self.mean_step))

    @property
    def mean_step(self) -> float:
        """The m of the formulas: the mean of a geometric law with ratio b, 1/(e^decay − 1)."""
        return math.exp(-float(self.decay)) / -math.expm1(-float(self.decay))

    @property
    def variance(self) -> float:
        """Scale²·(γ·γ² + m·(3γ² + 3γ(1 + 2m) + 1 + 6m + 6m²))/(3(γ + m))."""
        gamma, m = float(self.gamma), self.mean_step
        higher = 3 * gamma * gamma + 3 * gamma * (1 + 2 * m) + 1 + 6 * m * (1 + m)
        return float(self.scale) ** 2 * self._mixed(gamma * gamma, higher) / 3

    @property
    def mean_abs(self) -> float:
        """Scale·(γ·γ + m·(2γ + 1 + 2m))/(2(γ + m))."""
        gamma = float(self.gamma)
        higher = 2 * gamma + 1 + 2 * self.mean_step
        return float(self.scale) * self._mixed(gamma, higher) / 2

    def _mixed(self, low: float, high: float) -> float:
        """(γ·low + m·high)/(γ + m)."""
        gamma, m = float(self.gamma), self.mean_step
        return gamma / (gamma + m) * low + m / (gamma + m) * high
