"""Truncated staircase noise for one number (theory/noise.md §2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Self, final

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.guarantees.sensitivity import Norm
from leastnoise.noise.base import ParameterKind, positive_scale, whole_dimension
from leastnoise.noise.common.law.steps import StepNoise, Steps

MAX_STEPS = 200_000


@final
@dataclass(frozen=True, kw_only=True)
class TruncatedStaircase(StepNoise):
    """Density ∝ e^(−decay·k(|x|/scale)) for |x| <= radius·scale, 0 beyond.

    notation: γ = gamma in (0, 1], R = radius > 0, k(r) = 0 for r < γ and ⌊r − γ⌋ + 1 from there.
    With decay = ε the loss under a shift of `scale` is ∞, ε, 0 or −ε, and δ(ε) is the mass that the
    shift moves beyond R (theory/noise.md §2).

    With an `atom` w > 0 the noise is exactly 0 with probability w, and as above otherwise: the
    exact answer is published with that probability, and δ(ε') >= w at every ε'. It may lower the
    error for large ε or δ. It is 0 unless you set it.

    >>> law = TruncatedStaircase(scale=1, gamma="0.5", radius=2, decay=1)
    >>> [float(edge) for edge in law.steps.edges], law.steps.levels
    ([0.0, 0.5, 1.5, 2.0], (0, 1, 2))
    """

    name: ClassVar[str] = "truncated-staircase"
    norm: ClassVar[Norm] = "l2"
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType(
        {"gamma": Fraction, "radius": Fraction, "decay": Fraction, "atom": Fraction}
    )
    scale: Fraction
    gamma: Fraction
    radius: Fraction
    decay: Fraction
    atom: Fraction = Fraction(0)
    dimension: int = 1

    def __init__(
        self,
        *,
        scale: Exact,
        gamma: Exact,
        radius: Exact,
        decay: Exact,
        atom: Exact = 0,
        dimension: int = 1,
    ) -> None:
        object.__setattr__(self, "scale", positive_scale(scale))
        object.__setattr__(self, "gamma", exact(gamma, name="gamma"))
        object.__setattr__(self, "radius", exact(radius, name="radius"))
        object.__setattr__(self, "decay", exact(decay, name="decay"))
        object.__setattr__(self, "atom", exact(atom, name="atom"))
        object.__setattr__(self, "dimension", whole_dimension(dimension, most=1, family=self.name))
        if not 0 < self.gamma <= 1:
            raise InvalidArgument(name="gamma", value=str(gamma)[:40], expected="0 < gamma <= 1")
        if not 0 < self.radius <= MAX_STEPS:
            raise InvalidArgument(
                name="radius", value=str(radius)[:40], expected=f"0 < radius <= {MAX_STEPS:,}"
            )
        if self.decay < 0:
            raise InvalidArgument(name="decay", value=str(decay)[:40], expected="decay >= 0")
        if not 0 <= self.atom < 1:
            raise InvalidArgument(name="atom", value=str(atom)[:40], expected="0 <= atom < 1")

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        if dimension != 1:
            return "it is noise for one number"
        return "delta=0 is impossible for noise of bounded range" if delta == 0 else None

    def scaled(self, factor: Exact) -> Self:
        return type(self)(
            scale=self.scale * exact(factor, name="factor"),
            gamma=self.gamma,
            radius=self.radius,
            decay=self.decay,
            atom=self.atom,
        )

    @property
    def steps(self) -> Steps:
        """Edges 0, γ, γ + 1, … below R, and R."""
        return self._steps

    @cached_property
    def _steps(self) -> Steps:
        count = max(0, math.ceil(self.radius - self.gamma))
        edges = (Fraction(0), *(self.gamma + j for j in range(count)), self.radius)
        pieces = len(edges) - 1
        return Steps(
            edges=edges,
            weights=(Fraction(1),) * pieces,
            levels=tuple(range(pieces)),
            decay=self.decay,
        )
