"""Tulap noise for one number: truncated uniform-Laplace (Awan & Slavković 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self, final

from leastnoise.guarantees.exact import Exact, exact
from leastnoise.noise.base import ParameterKind
from leastnoise.noise.common.law.steps import StepNoise, Steps
from leastnoise.noise.steps.law.truncated_staircase import TruncatedStaircase

if TYPE_CHECKING:
    from leastnoise.guarantees.sensitivity import Norm


@final
@dataclass(frozen=True, kw_only=True)
class Tulap(StepNoise):
    """N + U cut off at |N + U| <= radius, times scale: P(N = n) ∝ e^(−decay·|n|), U ~ U(−½, ½).

    The canonical noise for (ε, δ) if decay = ε, scale = Δ and the radius cuts off the mass
    q = 2δb/(1 − b + 2δb), b = e^(−ε), half of it on each side (Awan & Slavković 2020). Its density
    is e^(−decay·n) where |x|/scale rounds to n: that of `truncated-staircase` with gamma = ½.

    >>> law = Tulap(scale=1, radius="2.25", decay=1)
    >>> [float(edge) for edge in law.steps.edges], law.steps.levels
    ([0.0, 0.5, 1.5, 2.25], (0, 1, 2))
    """

    name: ClassVar[str] = "tulap"
    norm: ClassVar[Norm] = "l2"
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType(
        {"radius": Fraction, "decay": Fraction}
    )
    scale: Fraction
    radius: Fraction
    decay: Fraction
    dimension: int = 1

    def __init__(self, *, scale: Exact, radius: Exact, decay: Exact, dimension: int = 1) -> None:
        same = TruncatedStaircase(
            scale=scale, gamma=Fraction(1, 2), radius=radius, decay=decay, dimension=dimension
        )
        for name in ("scale", "radius", "decay", "dimension"):
            object.__setattr__(self, name, getattr(same, name))

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        if dimension != 1:
            return "it is noise for one number"
        return "delta=0 cuts nothing off: that is staircase with gamma=1/2" if delta == 0 else None

    def scaled(self, factor: Exact) -> Self:
        scale = self.scale * exact(factor, name="factor")
        return type(self)(scale=scale, radius=self.radius, decay=self.decay)

    @property
    def steps(self) -> Steps:
        """Edges 0, ½, 3/2, … below the radius, and the radius."""
        return self._steps

    @cached_property
    def _steps(self) -> Steps:
        return TruncatedStaircase(
            scale=self.scale, gamma=Fraction(1, 2), radius=self.radius, decay=self.decay
        ).steps
