"""Purely private noise on the whole numbers: the geometric law, and staircases of several cells."""

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
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.noise.base import Noise, ParameterKind, points_of, positive_scale, whole_dimension
from leastnoise.noise.steps.law.staircase import Staircase, step_decay

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.guarantees.sensitivity import Norm

_NEAR = 1e-9  # of the place, and of a cell: how far a float may be from its lattice point


@final
@dataclass(frozen=True, kw_only=True)
class Geometric(Noise):
    """X = scale·K/cells, P(K = k) ∝ e^(−decay·s(|k|)); on the whole numbers for scale = cells.

    notation: c = cells >= 1, a = core in 1 … c, b = e^(−decay), m = b/(1 − b); s(j) = 0 for j < a
    and ⌊(j − a)/c⌋ + 1 from there. c = a = 1 is the geometric mechanism (Ghosh, Roughgarden &
    Sundararajan 2012), others are the staircase on the whole numbers (Geng & Viswanath 2014).

    Private against whole shifts only: it needs a query that is always a whole number (`Integer`).
    With decay = ε and scale = cells it is purely ε-private for whole shifts up to cells. It is
    `staircase` rounded to the lattice, and hides shifts on the lattice exactly as well
    (theory/noise.md §10).

    >>> law = Geometric(scale=1, cells=1, core=1, decay=1)
    >>> round(law.mean_abs, 9), round(law.variance, 9)
    (0.850918128, 1.841347188)
    """

    name: ClassVar[str] = "geometric"
    norm: ClassVar[Norm] = "integer"
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType(
        {"cells": int, "core": int, "decay": Fraction}
    )
    scale: Fraction
    cells: int
    core: int
    decay: Fraction
    dimension: int = 1

    def __init__(
        self, *, scale: Exact, cells: int, core: int, decay: Exact, dimension: int = 1
    ) -> None:
        object.__setattr__(self, "scale", positive_scale(scale))
        object.__setattr__(self, "cells", _validate.whole(cells, name="cells"))
        object.__setattr__(self, "core", _validate.whole(core, name="core"))
        object.__setattr__(self, "decay", step_decay(decay))
        object.__setattr__(self, "dimension", whole_dimension(dimension, most=1, family=self.name))
        if self.core > self.cells:
            raise InvalidArgument(
                name="core", value=self.core, expected=f"core <= {self.cells}, the number of cells"
            )

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        """It serves every δ, and leaves a positive one unspent."""
        del delta
        return "it is noise for one number" if dimension != 1 else None

    @cached_property
    def staircase(self) -> Staircase:
        """The density that is constant on each cell (k − ½, k + ½)·scale/cells, with its mass."""
        gamma = Fraction(2 * self.core - 1, 2 * self.cells)
        return Staircase(scale=self.scale, gamma=gamma, decay=self.decay)

    def scaled(self, factor: Exact) -> Self:
        scale = self.scale * exact(factor, name="factor")
        return type(self)(scale=scale, cells=self.cells, core=self.core, decay=self.decay)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """−decay·s(|K|) − ln(2a − 1 + 2cm), −inf off the lattice; see `Noise.log_density`."""
        places = np.abs(points_of(x, dimension=self.dimension)[..., 0]) * (
            self.cells / float(self.scale)
        )
        nearest = np.rint(places)
        steps = np.maximum(0.0, np.floor((nearest - self.core) / self.cells) + 1)
        total = 2 * self.core - 1 + 2 * self.cells * self.staircase.mean_step
        logs = -float(self.decay) * steps - math.log(total)
        return np.where(np.abs(places - nearest) < _NEAR * (1 + nearest), logs, -np.inf)

    @property
    def variance(self) -> float:
        """Scale²·(q₂ + m·(α² + α(1 − κ) + (1 − κ)(2 − κ)/6 + m(2α + 2 − κ + 2m)))/(α − κ/2 + m).

        κ = 1/c, α = a/c and q₂ = (α − κ)α(2α − κ)/6: E K² = 2Σk²P(K = k), summed over the core and
        over the cells of all steps. No term is negative.
        """
        kappa, alpha, m = 1 / self.cells, self.core / self.cells, self.staircase.mean_step
        low = (self.core - 1) / self.cells * alpha * (2 * alpha - kappa) / 6
        high = alpha * (alpha + 1 - kappa) + (1 - kappa) * (2 - kappa) / 6
        high += m * (2 * alpha + 2 - kappa + 2 * m)
        return float(self.scale) ** 2 * self._mixed(low, high)

    @property
    def mean_abs(self) -> float:
        """Scale·((α − κ)α/2 + m·(α + (1 − κ)/2 + m))/(α − κ/2 + m); see `variance`."""
        kappa, alpha, m = 1 / self.cells, self.core / self.cells, self.staircase.mean_step
        low = (self.core - 1) / self.cells * alpha / 2
        return float(self.scale) * self._mixed(low, alpha + (1 - kappa) / 2 + m)

    def _mixed(self, low: float, high: float) -> float:
        """(low + m·high)/(γ + m), γ = α − κ/2; one by one, as m may be as large as 1e140."""
        m = self.staircase.mean_step
        total = float(self.staircase.gamma) + m
        return low / total + m / total * high
