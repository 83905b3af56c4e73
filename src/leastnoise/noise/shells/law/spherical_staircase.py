"""The truncated staircase as a spherical law, for a vector (theory/noise.md §2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Self, final

from leastnoise.guarantees.exact import Exact, exact
from leastnoise.guarantees.sensitivity import Norm
from leastnoise.noise.base import ParameterKind, positive_scale, whole_dimension
from leastnoise.noise.common.law.radial_steps import RadialStepNoise, RadialSteps
from leastnoise.noise.common.law.truncated_steps import checked_steps, truncated_steps

MAX_DIMENSION = 10_000  # proofs are tested up to here; above it other laws have less noise anyway


@final
@dataclass(frozen=True, kw_only=True)
class SphericalStaircase(RadialStepNoise):
    """Density ∝ e^(−decay·k(‖x‖₂/scale)) for ‖x‖₂ <= radius·scale in R^dimension, 0 beyond.

    notation: γ = gamma in (0, 1], R = radius > 0, k(r) = 0 for r < γ and ⌊r − γ⌋ + 1 from there.
    With decay = ε the loss under a shift of `scale` is ∞, ε, 0 or −ε, and δ(ε) is the mass that the
    shift moves beyond R (theory/noise.md §2). In one dimension it is `truncated-staircase`.

    >>> law = SphericalStaircase(scale=1, dimension=7, gamma="0.5", radius=2, decay=1)
    >>> [float(edge) for edge in law.steps.edges], law.steps.levels
    ([0.5, 1.5, 2.0], (0, 1, 2))
    """

    name: ClassVar[str] = "spherical-staircase"
    norm: ClassVar[Norm] = "l2"
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType(
        {"gamma": Fraction, "radius": Fraction, "decay": Fraction}
    )
    scale: Fraction
    dimension: int
    gamma: Fraction
    radius: Fraction
    decay: Fraction

    def __init__(
        self, *, scale: Exact, dimension: int, gamma: Exact, radius: Exact, decay: Exact
    ) -> None:
        checked = whole_dimension(dimension, least=2, most=MAX_DIMENSION, family=self.name)
        object.__setattr__(self, "dimension", checked)
        object.__setattr__(self, "scale", positive_scale(scale))
        steps = checked_steps(gamma=gamma, radius=radius, decay=decay)
        for name, value in zip(self.parameter_kinds, steps, strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        if dimension == 1:
            return "in one dimension it is the same law as truncated-staircase"
        if dimension > MAX_DIMENSION:
            return f"it is offered up to dimension {MAX_DIMENSION:,}"
        return "delta=0 is impossible for noise of bounded range" if delta == 0 else None

    def scaled(self, factor: Exact) -> Self:
        return type(self)(
            scale=self.scale * exact(factor, name="factor"),
            dimension=self.dimension,
            gamma=self.gamma,
            radius=self.radius,
            decay=self.decay,
        )

    @property
    def steps(self) -> RadialSteps:
        """Edges γ, γ + 1, … below R, and R."""
        return self._steps

    @cached_property
    def _steps(self) -> RadialSteps:
        return truncated_steps(gamma=self.gamma, radius=self.radius, decay=self.decay)
