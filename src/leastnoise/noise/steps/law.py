"""Parameters, densities, moments: steps."""

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
from leastnoise.guarantees.sensitivity import Norm
from leastnoise.noise.base import Noise, ParameterKind, points_of, positive_scale, whole_dimension
from leastnoise.noise.common.law import StepNoise, Steps

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


# Staircase noise for one number (Geng & Viswanath 2014).


# Second moments are floats: beyond these they would overflow or vanish.
SMALLEST_GAMMA = Fraction(1, 10**140)
SMALLEST_DECAY, LARGEST_DECAY = Fraction(1, 10**140), Fraction(10**6)


def step_decay(decay: Exact) -> Fraction:
    """Return by what steps fall, exactly; raises InvalidArgument unless 1e-140 <= decay <= 1e6."""
    number = exact(decay, name="decay")
    if not SMALLEST_DECAY <= number <= LARGEST_DECAY:
        raise InvalidArgument(
            name="decay", value=str(decay)[:40], expected="1e-140 <= decay <= 1e6"
        )
    return number


@final
@dataclass(frozen=True, kw_only=True)
class Staircase(Noise):
    """Density ∝ e^(−decay·k(|x|/scale)), k(r) = 0 for r < γ and ⌊r − γ⌋ + 1 from there.

    notation: γ = gamma in (0, 1], b = e^(−decay), m = b/(1 − b). With decay = ε it is purely
    ε-private for shifts up to scale, and the best that purely private noise can be if γ minimises
    the loss (Geng & Viswanath 2014). X is uniform on ±scale·(γ + J), P(J = j) ∝ b^j (γ + j).

    >>> law = Staircase(scale=1, gamma="0.5", decay=1)
    >>> round(law.mean_abs, 9), round(law.variance, 9)
    (0.966447418, 1.924680522)
    """

    name: ClassVar[str] = "staircase"
    norm: ClassVar[Norm] = "l2"
    parameter_kinds: ClassVar[Mapping[str, ParameterKind]] = MappingProxyType(
        {"gamma": Fraction, "decay": Fraction}
    )
    scale: Fraction
    gamma: Fraction
    decay: Fraction
    dimension: int = 1

    def __init__(self, *, scale: Exact, gamma: Exact, decay: Exact, dimension: int = 1) -> None:
        object.__setattr__(self, "scale", positive_scale(scale))
        object.__setattr__(self, "gamma", exact(gamma, name="gamma"))
        object.__setattr__(self, "decay", step_decay(decay))
        object.__setattr__(self, "dimension", whole_dimension(dimension, most=1, family=self.name))
        if not SMALLEST_GAMMA <= self.gamma <= 1:
            raise InvalidArgument(
                name="gamma", value=str(gamma)[:40], expected="1e-140 <= gamma <= 1"
            )

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        """It serves every δ, and leaves a positive one unspent."""
        del delta
        return "it is noise for one number" if dimension != 1 else None

    def scaled(self, factor: Exact) -> Self:
        scale = self.scale * exact(factor, name="factor")
        return type(self)(scale=scale, gamma=self.gamma, decay=self.decay)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """−decay·k(|x|/scale) − ln(2·scale·(γ + m)); see `Noise.log_density`."""
        scale, gamma = float(self.scale), float(self.gamma)
        magnitude = np.abs(points_of(x, dimension=self.dimension)[..., 0]) / scale
        step = np.maximum(0.0, np.floor(magnitude - gamma) + 1)
        return -float(self.decay) * step - math.log(2 * scale * (gamma + self.mean_step))

    @property
    def mean_step(self) -> float:
        """The m of the formulas: the mean of a geometric law with ratio b, 1/(e^decay − 1)."""
        return math.exp(-float(self.decay)) / -math.expm1(-float(self.decay))

    @property
    def variance(self) -> float:
        """Scale²·(γ·γ² + m·(3γ² + 3γ(1 + 2m) + 1 + 6m + 6m²))/(3(γ + m))."""
        gamma, m = float(self.gamma), self.mean_step
        higher = 3 * gamma * gamma + 3 * gamma * (1 + 2 * m) + 1 + 6 * m * (1 + m)
        return float(self.scale) ** 2 * self._mixed(gamma * gamma, higher) / 3

    @property
    def mean_abs(self) -> float:
        """Scale·(γ·γ + m·(2γ + 1 + 2m))/(2(γ + m))."""
        gamma = float(self.gamma)
        higher = 2 * gamma + 1 + 2 * self.mean_step
        return float(self.scale) * self._mixed(gamma, higher) / 2

    def _mixed(self, low: float, high: float) -> float:
        """(γ·low + m·high)/(γ + m)."""
        gamma, m = float(self.gamma), self.mean_step
        return gamma / (gamma + m) * low + m / (gamma + m) * high


# Purely private noise on the whole numbers: the geometric law, and staircases of several cells.


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


# Truncated staircase noise for one number (theory/noise.md §2).


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


# Tulap noise for one number: truncated uniform-Laplace (Awan & Slavković 2020).


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
