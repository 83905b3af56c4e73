"""Parameters, densities, moments: lattice."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np

from leastnoise import _validate
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.guarantees.sensitivity import Norm
from leastnoise.noise.base import Noise, ParameterKind, points_of, positive_scale, whole_dimension
from leastnoise.noise.common.law import StepNoise, Steps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray


# Symmetric laws on an evenly spaced lattice, with whole-number weights.


MAX_POINTS = 50_000
_MAX_BITS = 20_000


@final
@dataclass(frozen=True, kw_only=True)
class Lattice:
    """P(K = k) = masses[|k|]/total for whole |k| < len(masses); lengths are K/cells.

    Raises InvalidArgument unless cells is a whole number >= 1 and masses are whole, non-negative,
    and positive at 0.

    >>> Lattice(cells=2, masses=(2, 1)).total
    4
    """

    cells: int
    masses: tuple[int, ...]

    def __init__(self, *, cells: int, masses: Iterable[int]) -> None:
        weights = _validate.wholes(masses, name="masses", least=0, most=(1 << _MAX_BITS) - 1)
        object.__setattr__(self, "cells", _validate.whole(cells, name="cells", most=MAX_POINTS))
        object.__setattr__(self, "masses", weights)
        if not 1 <= len(weights) <= MAX_POINTS or weights[0] == 0:
            raise InvalidArgument(
                name="masses",
                value=f"{len(weights)} of them",
                expected=f"1 to {MAX_POINTS:,} masses, the first of them positive",
            )

    @cached_property
    def total(self) -> int:
        """The sum of the weights over all whole k."""
        return 2 * sum(self.masses) - self.masses[0]

    @property
    def falls(self) -> bool:
        """Whether the weights never rise away from 0."""
        return all(a >= b for a, b in pairwise(self.masses))

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """P(K = k) for k = 0, 1, …, as floats."""
        return np.array([mass / self.total for mass in self.masses])  # Python rounds int/int right

    def moment(self, power: int) -> float:
        """E|K/cells|^power."""
        places = np.arange(len(self.masses), dtype=float) / self.cells
        return 2 * float(self.probabilities @ places**power)

    def log_probabilities(self) -> NDArray[np.float64]:
        """Log P(K = k) for k = 0, 1, …; −inf where it is 0."""
        log_total = math.log(self.total)
        return np.array([math.log(mass) - log_total if mass else -math.inf for mass in self.masses])


# Step densities whose steps are even: a law on a lattice, spread evenly over its cells.


class LatticeStepNoise(StepNoise):
    """X = scale·(K + U)/cells, P(K = k) ∝ masses[|k|], U uniform on (−½, ½)."""

    @property
    @abstractmethod
    def lattice(self) -> Lattice:
        """The law of K."""

    @property
    def steps(self) -> Steps:
        """Edges 0, ½, 1½, … over `cells`; the weights are the masses."""
        return self._steps

    @cached_property
    def _steps(self) -> Steps:
        masses, cells = self.lattice.masses, self.lattice.cells
        ends = (Fraction(2 * k + 1, 2 * cells) for k in range(len(masses)))
        return Steps(
            edges=(Fraction(0), *ends),
            weights=tuple(map(Fraction, masses)),
            levels=(0,) * len(masses),
            decay=Fraction(0),
        )


# Cactus noise: of all noise with the same expected loss, the hardest to tell from its shifts.


@final
@dataclass(frozen=True, kw_only=True)
class Cactus(LatticeStepNoise):
    """X = scale·(K + U)/cells, P(K = k) ∝ masses[|k|], U uniform on (−½, ½).

    Calibration takes the masses that minimise the largest KL divergence over shifts of at most
    `scale` under a bound on the expected loss (Alghamdi et al. 2022); the privacy that is proved is
    that of the masses, whatever they are. Where the loss bound is tight the density has a spike at
    every multiple of the scale, which gave it its name.

    >>> Cactus(scale=1, cells=1, masses=(2, 1)).mean_abs
    0.625
    """

    name: ClassVar[str] = "cactus"
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


# The best noise on the whole numbers, for queries that are whole numbers themselves.


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


# The best additive noise for one number, up to a proved gap: what `design` finds.


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
