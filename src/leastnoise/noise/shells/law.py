"""Parameters, densities, moments: shells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import ClassVar, Self, final

from leastnoise import _validate
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.guarantees.sensitivity import Norm
from leastnoise.noise.base import ParameterKind, positive_scale, whole_dimension
from leastnoise.noise.common.law import RadialStepNoise, RadialSteps, checked_steps, truncated_steps

# The best spherical noise for a vector with a falling step profile: what `design` finds.


MAX_STEPS = 10_000
OPTIMAL_RADIAL_MAX_DIMENSION = 20
_LARGEST = 2**256 - 1  # of cells, edges and weights


@final
@dataclass(frozen=True, kw_only=True)
class OptimalRadial(RadialStepNoise):
    """Density ∝ weights[j] for edges[j−1] <= cells·‖x‖₂/scale < edges[j], edges[−1] = 0; 0 beyond.

    Edges are whole numbers that rise, weights whole numbers that never do. δ(ε) is a finite sum of
    volumes of two balls, for every shift (theory/noise.md §1).

    >>> law = OptimalRadial(scale=1, dimension=2, cells=2, edges=(1, 3), weights=(4, 1))
    >>> [float(edge) for edge in law.steps.edges], round(law.mse, 9)
    ([0.5, 1.5], 0.875)
    """

    name: ClassVar[str] = "optimal-radial"
    norm: ClassVar[Norm] = "l2"
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType(
        {"cells": int, "edges": tuple, "weights": tuple}
    )
    scale: Fraction
    dimension: int
    cells: int
    edges: tuple[int, ...]
    weights: tuple[int, ...]

    def __init__(
        self,
        *,
        scale: Exact,
        dimension: int,
        cells: int,
        edges: Iterable[int],
        weights: Iterable[int],
    ) -> None:
        checked = whole_dimension(
            dimension, least=2, most=OPTIMAL_RADIAL_MAX_DIMENSION, family=self.name
        )
        object.__setattr__(self, "dimension", checked)
        object.__setattr__(self, "scale", positive_scale(scale))
        object.__setattr__(self, "cells", _validate.whole(cells, name="cells", most=_LARGEST))
        for name, values in (("edges", edges), ("weights", weights)):
            object.__setattr__(self, name, _validate.wholes(values, name=name, most=_LARGEST))
        if not 1 <= len(self.edges) <= MAX_STEPS or len(self.edges) != len(self.weights):
            raise InvalidArgument(
                name="edges",
                value=f"{len(self.edges)} edges, {len(self.weights)} weights",
                expected=f"1 to {MAX_STEPS:,} edges, and a weight for each",
            )
        if any(a >= b for a, b in pairwise(self.edges)):
            raise InvalidArgument(name="edges", value="a list", expected="edges that rise")
        if any(a < b for a, b in pairwise(self.weights)):
            raise InvalidArgument(
                name="weights", value="a list", expected="weights that never rise"
            )

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        if dimension == 1:
            return "it is noise for a vector; for one number there is optimal"
        if dimension > OPTIMAL_RADIAL_MAX_DIMENSION:
            return f"it is designed up to dimension {OPTIMAL_RADIAL_MAX_DIMENSION}"
        return "delta=0 is impossible for noise of bounded range" if delta == 0 else None

    def scaled(self, factor: Exact) -> Self:
        return type(self)(
            scale=self.scale * exact(factor, name="factor"),
            dimension=self.dimension,
            cells=self.cells,
            edges=self.edges,
            weights=self.weights,
        )

    @property
    def steps(self) -> RadialSteps:
        """The edges over `cells`, the weights as they are."""
        return self._steps

    @cached_property
    def _steps(self) -> RadialSteps:
        return RadialSteps(
            edges=tuple(Fraction(edge, self.cells) for edge in self.edges),
            weights=self.weights,
            levels=(0,) * len(self.edges),
            decay=Fraction(0),
        )


# The truncated staircase as a spherical law, for a vector (theory/noise.md §2).


SPHERICAL_STAIRCASE_MAX_DIMENSION = (
    10_000  # proofs are tested up to here; above it other laws have less noise anyway
)


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
        checked = whole_dimension(
            dimension, least=2, most=SPHERICAL_STAIRCASE_MAX_DIMENSION, family=self.name
        )
        object.__setattr__(self, "dimension", checked)
        object.__setattr__(self, "scale", positive_scale(scale))
        steps = checked_steps(gamma=gamma, radius=radius, decay=decay)
        for name, value in zip(self.parameter_kinds, steps, strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        if dimension == 1:
            return "in one dimension it is the same law as truncated-staircase"
        if dimension > SPHERICAL_STAIRCASE_MAX_DIMENSION:
            return f"it is offered up to dimension {SPHERICAL_STAIRCASE_MAX_DIMENSION:,}"
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
