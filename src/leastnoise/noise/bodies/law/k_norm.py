"""K-norm noise: exponential in the gauge of a body (Hardt & Talwar 2010)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np

from leastnoise import _validate
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.noise.base import ParameterKind, points_of, positive_scale
from leastnoise.noise.body_noise import BodyNoise

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@final
@dataclass(frozen=True, kw_only=True)
class KNorm(BodyNoise):
    """Density e^(−N(x)/scale)/(|K|·D!·scale^D), N the gauge of K = body, D its dimension.

    |N(x) − N(x − s)| <= N(s), so that with scale = 1/ε it is ε-DP for every shift s in K, and for
    nothing less; δ(ε') is at most Laplace's at ε (theory/bodies.md §1, Theorem 1). On an interval
    or on cells of intervals it is independent Laplace noise, on a ball it is `l2`.

    >>> from leastnoise.guarantees.bodies.counts import Counts
    >>> from leastnoise.guarantees.bodies.signed import Signed
    >>> law = KNorm(scale=1, body=Signed(of=Counts(queries=10)))
    >>> round(law.variance, 9), law.dimension
    (26.0, 10)
    """

    name: ClassVar[str] = "k-norm"
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType({"body": Body})
    scale: Fraction
    body: Body
    dimension: int

    def __init__(self, *, scale: Exact, body: Body) -> None:
        object.__setattr__(self, "scale", positive_scale(scale))
        object.__setattr__(self, "body", _validate.instance(body, Body, name="body", like="a body"))
        object.__setattr__(self, "dimension", body.dimension)

    @property
    def largest_loss(self) -> Fraction:
        return 1 / self.scale

    def scaled(self, factor: Exact) -> Self:
        return type(self)(scale=self.scale * exact(factor, name="factor"), body=self.body)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        d = self.dimension
        log_mass = self.body.log_volume + math.lgamma(d + 1) + d * math.log(float(self.scale))
        return -self._gauges(points_of(x, dimension=self.dimension)) - log_mass

    def _radial(self, order: int) -> float:
        """Return E ρ^order for ρ ~ Gamma(D)."""
        d = self.dimension
        return float(d * (d + 1) if order == 2 else d)
