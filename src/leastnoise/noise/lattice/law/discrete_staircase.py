"""The best noise on the whole numbers, for queries that are whole numbers themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np

from leastnoise.guarantees.exact import Exact, exact
from leastnoise.guarantees.sensitivity import Norm
from leastnoise.noise.base import Noise, ParameterKind, points_of, positive_scale, whole_dimension
from leastnoise.noise.lattice.law.lattice import Lattice

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@final
@dataclass(frozen=True, kw_only=True)
class DiscreteStaircase(Noise):
    """X = scale·K/cells, P(K = k) ∝ masses[|k|]; on the whole numbers for scale = cells.

    Private against whole shifts only: it needs a query that is always a whole number
    (`Integer`). For a shift of at most 1 the best masses fall by e^−ε a step and end in one
    smaller mass (theory/noise.md §3); beyond, they solve a linear program.

    >>> DiscreteStaircase(scale=1, cells=1, masses=(2, 1)).variance
    0.5
    """

    name: ClassVar[str] = "discrete-staircase"
    norm: ClassVar[Norm] = "integer"
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

    @cached_property
    def lattice(self) -> Lattice:
        """The law of K."""
        return Lattice(cells=self.cells, masses=self.masses)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """Log P(X = x), −inf off the lattice; see `Noise.log_density`."""
        places = (
            np.abs(points_of(x, dimension=self.dimension)[..., 0]) * self.cells / float(self.scale)
        )
        nearest = np.rint(places)
        logs = np.append(self.lattice.log_probabilities(), -np.inf)
        found = logs[np.minimum(nearest, len(logs) - 1).astype(int)]
        return np.where(np.abs(places - nearest) < 1e-9 * (1 + nearest), found, -np.inf)

    @property
    def variance(self) -> float:
        """scale² E(K/cells)²."""
        return float(self.scale) ** 2 * self.lattice.moment(2)

    @property
    def mean_abs(self) -> float:
        """Scale · E|K/cells|."""
        return float(self.scale) * self.lattice.moment(1)
