"""Staircase noise in the gauge of a body."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np

from leastnoise import _validate
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.noise.base import ParameterKind, points_of, positive_scale
from leastnoise.noise.body_noise import BodyNoise
from leastnoise.noise.common.law import log_step_sums, step_decay

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

SMALLEST_GAMMA = Fraction(1, 10**140)


@final
@dataclass(frozen=True, kw_only=True)
class KStaircase(BodyNoise):
    """Density ∝ e^(−decay·⌊N(x)/scale + 1 − γ⌋), N the gauge of `body`, 0 < γ = gamma <= 1.

    N moves by at most 1 under a shift in K, and so does the floor: with decay = ε and scale = 1 it
    is ε-DP for every shift in K. With the γ that is best for a loss ℓ(N(X)), ℓ rising, no ε-DP
    additive noise has less (theory/bodies.md §8, Theorem A). On an interval it is `staircase`.

    Two things that hold for `KNorm` do not hold here: Laplace's pair does not dominate it, and
    independent staircases in several cells do not hide a shift that is spread over them.

    >>> from leastnoise.guarantees.bodies.ball import Ball
    >>> law = KStaircase(scale=1, body=Ball(bound=1, coordinates=2), gamma="0.3", decay=5)
    >>> round(law.mse / (6 / 25), 2)  # over that of e^(−5N)
    0.59
    """

    name: ClassVar[str] = "k-staircase"
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType(
        {"body": Body, "gamma": Fraction, "decay": Fraction}
    )
    scale: Fraction
    body: Body
    gamma: Fraction
    decay: Fraction
    dimension: int

    def __init__(self, *, scale: Exact, body: Body, gamma: Exact, decay: Exact) -> None:
        object.__setattr__(self, "scale", positive_scale(scale))
        object.__setattr__(self, "body", _validate.instance(body, Body, name="body", like="a body"))
        object.__setattr__(self, "gamma", exact(gamma, name="gamma"))
        object.__setattr__(self, "decay", step_decay(decay, dimension=body.dimension, powers=3))
        object.__setattr__(self, "dimension", body.dimension)
        if not SMALLEST_GAMMA <= self.gamma <= 1:
            raise InvalidArgument(
                name="gamma", value=str(gamma)[:40], expected="1e-140 <= gamma <= 1"
            )

    @property
    def largest_loss(self) -> Fraction:
        return self.decay * math.ceil(1 / self.scale)

    def scaled(self, factor: Exact) -> Self:
        return type(self)(
            scale=self.scale * exact(factor, name="factor"),
            body=self.body,
            gamma=self.gamma,
            decay=self.decay,
        )

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The mass over |K|·scale^D is (1 − q) Σ_k q^k (k + γ)^D."""
        d = self.dimension
        steps = np.floor(self._gauges(points_of(x, dimension=d)) + 1 - float(self.gamma))
        log_mass = self.body.log_volume + d * math.log(float(self.scale)) + self._log_sums[0]
        return -float(self.decay) * np.maximum(steps, 0.0) - log_mass

    def _radial(self, order: int) -> float:
        """Return E ρ^n, n = order.

        X is uniform in (k + γ)K with probability ∝ q^k (k + γ)^D, so that it is D/(D + n) of the
        mean of (k + γ)^n.
        """
        d = self.dimension
        return d / (d + order) * math.exp(self._log_sums[order] - self._log_sums[0])

    @cached_property
    def _log_sums(self) -> NDArray[np.float64]:
        """Logarithms of (1 − q) Σ_k q^k (k + γ)^j for j = D, D + 1, D + 2."""
        d = self.dimension
        return log_step_sums(
            first=float(self.gamma), decay=float(self.decay), powers=np.arange(d, d + 3)
        )
