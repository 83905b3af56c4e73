"""Staircase noise in the gauge of a body, cut off: for δ > 0."""

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
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.noise.base import ParameterKind, points_of, positive_scale
from leastnoise.noise.body_noise import BodyNoise
from leastnoise.noise.common.law import checked_steps, truncated_steps

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.noise.common.law import RadialSteps


@final
@dataclass(frozen=True, kw_only=True)
class TruncatedKStaircase(BodyNoise):
    """Density ∝ e^(−decay·k(N(x)/scale)) for N(x) <= radius·scale, 0 beyond; N the gauge of `body`.

    notation: γ = gamma in (0, 1], R = radius > 0, k(r) = 0 for r < γ and ⌊r − γ⌋ + 1 from there.
    With decay = ε and scale = 1 the loss under a shift in K is ∞, ε, 0 or −ε, and δ(ε) is the mass
    that the shift moves beyond R: at most that of a cube at its corner (theory/bodies.md §9). On an
    interval it is `truncated-staircase`, on a ball `spherical-staircase`, whose δ is known exactly.

    No ε is enough for δ = 0: what a shift moves beyond R gives it away for sure.

    >>> from leastnoise.guarantees.bodies.box import Box
    >>> law = TruncatedKStaircase(
    ...     scale=1, body=Box(bounds=[1, 1]), gamma="0.7", radius="6.2658", decay=1
    ... )
    >>> round(law.mse, 2)  # e^(−N), δ = 0: 8
    6.99
    """

    name: ClassVar[str] = "truncated-k-staircase"
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType(
        {"body": Body, "gamma": Fraction, "radius": Fraction, "decay": Fraction}
    )
    purely_private: ClassVar[bool] = False
    scale: Fraction
    body: Body
    gamma: Fraction
    radius: Fraction
    decay: Fraction
    dimension: int

    def __init__(
        self, *, scale: Exact, body: Body, gamma: Exact, radius: Exact, decay: Exact
    ) -> None:
        object.__setattr__(self, "scale", positive_scale(scale))
        object.__setattr__(self, "body", _validate.instance(body, Body, name="body", like="a body"))
        object.__setattr__(self, "dimension", body.dimension)
        steps = checked_steps(gamma=gamma, radius=radius, decay=decay)
        for name, value in zip(("gamma", "radius", "decay"), steps, strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        if dimension == 1:
            return "in one dimension it is the same law as truncated-staircase"
        return "delta=0 is impossible for noise of bounded range" if delta == 0 else None

    @property
    def largest_loss(self) -> Fraction:
        """Of the finite losses."""
        return self.decay * min(math.ceil(1 / self.scale), max(self.steps.levels))

    def scaled(self, factor: Exact) -> Self:
        return type(self)(
            scale=self.scale * exact(factor, name="factor"),
            body=self.body,
            gamma=self.gamma,
            radius=self.radius,
            decay=self.decay,
        )

    @property
    def steps(self) -> RadialSteps:
        """Edges γ, γ + 1, … below R, and R, of N(x)/scale."""
        return self._steps

    @cached_property
    def _steps(self) -> RadialSteps:
        return truncated_steps(gamma=self.gamma, radius=self.radius, decay=self.decay)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """It is −inf beyond R."""
        d, steps = self.dimension, self.steps
        log_unit = self.body.log_volume + d * math.log(float(self.scale))
        peak = steps.log_peak(d) - log_unit
        logs = np.append(peak + steps.log_heights - steps.log_heights[0], -np.inf)
        gauges = self._gauges(points_of(x, dimension=d))
        return logs[np.searchsorted(steps.float_edges, gauges, side="right")]

    def _radial(self, order: int) -> float:
        """Return E ρ^n, n = order: X is uniform in e_j·K with probability π_j."""
        d, steps = self.dimension, self.steps
        mean = float(steps.ball_masses(d) @ steps.float_edges**order)
        return d / (d + order) * mean
