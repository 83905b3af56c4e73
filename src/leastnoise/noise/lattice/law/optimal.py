"""The best additive noise for one number, up to a proved gap: what `design` finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar, Self, final

from leastnoise.guarantees.exact import Exact, exact
from leastnoise.guarantees.sensitivity import Norm
from leastnoise.noise.base import ParameterKind, positive_scale, whole_dimension
from leastnoise.noise.lattice.law.lattice import Lattice
from leastnoise.noise.lattice.law.lattice_steps import LatticeStepNoise


@final
@dataclass(frozen=True, kw_only=True)
class Optimal(LatticeStepNoise):
    """X = scale·(K + U)/cells, P(K = k) ∝ masses[|k|], U uniform on (−½, ½).

    A step density of even steps. δ(ε) is exactly linear in the shift between lattice shifts
    j·scale/cells, and a finite sum at each (theory/noise.md §4).

    >>> Optimal(scale=1, cells=1, masses=(2, 1)).mean_abs
    0.625
    """

    name: ClassVar[str] = "optimal"
    norm: ClassVar[Norm] = "l2"
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType(
        {"cells": int, "masses": tuple}
    )
    scale: Fraction
    cells: int
    masses: tuple[int, ...]
    dimension: int = 1

    def __init__(
        self, *, scale: Exact, cells: int, masses: Iterable[int], dimension: int = 1
    ) -> None:
        lattice = Lattice(cells=cells, masses=masses)
        object.__setattr__(self, "scale", positive_scale(scale))
        object.__setattr__(self, "cells", lattice.cells)
        object.__setattr__(self, "masses", lattice.masses)
        object.__setattr__(self, "dimension", whole_dimension(dimension, most=1, family=self.name))

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        if dimension != 1:
            return "it is noise for one number"
        return "delta=0 is impossible for noise of bounded range" if delta == 0 else None

    def scaled(self, factor: Exact) -> Self:
        scale = self.scale * exact(factor, name="factor")
        return type(self)(scale=scale, cells=self.cells, masses=self.masses)

    @property
    def lattice(self) -> Lattice:
        return self._lattice

    @cached_property
    def _lattice(self) -> Lattice:
        return Lattice(cells=self.cells, masses=self.masses)
