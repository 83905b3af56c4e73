"""Spherical step densities in R^d: constant on shells whose radii are exact."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.noise.base import Noise, points_of
from leastnoise.noise.moments import gamma_ratio

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@final
@dataclass(frozen=True, kw_only=True)
class RadialSteps:
    """A density ∝ weight_j · e^(−decay·level_j) where edge_{j−1} <= ‖x‖ < edge_j, and 0 beyond.

    All three tuples have n entries; edge_{−1} is 0. Edges rise and densities never do, so that the
    law is a mixture of uniform laws on the balls of radius edge_j (layer cake). Edges, weights and
    decay are rational, so that which radii and which heights of two copies agree is known exactly.
    """

    edges: tuple[Fraction, ...]
    weights: tuple[int, ...]
    levels: tuple[int, ...]
    decay: Fraction

    @cached_property
    def log_heights(self) -> NDArray[np.float64]:
        """ln(weight_j) − decay·level_j, as floats of shape (n,)."""
        logs = np.array([math.log(weight) for weight in self.weights])
        return logs - float(self.decay) * np.array(self.levels, dtype=float)

    @cached_property
    def float_edges(self) -> NDArray[np.float64]:
        """The edges, as floats of shape (n,)."""
        return np.array([float(edge) for edge in self.edges])

    def ball_masses(self, dimension: int) -> NDArray[np.float64]:
        """π_j ∝ (height_j − height_{j+1}) edge_j^d, the share of the ball of radius edge_j."""
        logs = self._log_ball_masses(dimension)
        masses = np.exp(logs - logs.max())
        return masses / masses.sum()

    def log_peak(self, dimension: int) -> float:
        """Return ln of the first step's density, but for the volume of the unit ball."""
        logs = self._log_ball_masses(dimension)
        top = float(logs.max())
        return float(self.log_heights[0]) - top - math.log(float(np.exp(logs - top).sum()))

    def _log_ball_masses(self, dimension: int) -> NDArray[np.float64]:
        drops = np.diff(self.log_heights, append=-np.inf)
        with np.errstate(divide="ignore"):  # steps of equal height are one
            logs = self.log_heights + np.log(-np.expm1(drops))
        return logs + dimension * np.log(self.float_edges)


class RadialStepNoise(Noise):
    """A spherical noise whose density is a `RadialSteps`, in units of its scale.

    notation: X = edge_J · (uniform in the unit ball), P(J = j) = π_j (theory/noise.md §2).
    """

    @property
    @abstractmethod
    def steps(self) -> RadialSteps:
        """The density of X/scale."""

    @cached_property
    def ball_masses(self) -> NDArray[np.float64]:
        """The π_j, as floats of shape (n,)."""
        return self.steps.ball_masses(self.dimension)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the log of the step that ‖x‖/scale is on, −inf beyond the last; see `Noise`."""
        d, steps = self.dimension, self.steps
        radius = np.linalg.norm(points_of(x, dimension=self.dimension), axis=-1) / float(self.scale)
        log_ball = d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1)
        peak = steps.log_peak(d) - log_ball - d * math.log(float(self.scale))
        logs = np.append(peak + steps.log_heights - steps.log_heights[0], -np.inf)
        index = np.searchsorted(steps.float_edges, radius, side="right")
        return logs[index]

    @property
    def variance(self) -> float:
        """Scale²·Σ π_j edge_j²/(d + 2): E‖U‖² = d/(d + 2) for U uniform in the unit ball."""
        squares = float(self.ball_masses @ self.steps.float_edges**2)
        return float(self.scale) ** 2 * squares / (self.dimension + 2)

    @property
    def mean_abs(self) -> float:
        """Scale·Σ π_j edge_j · E|U_1|, E|U_1| = (d/(d + 1)) Γ(d/2)/(√π Γ((d + 1)/2))."""
        d = self.dimension
        unit = d / (d + 1) / (math.sqrt(math.pi) * gamma_ratio(d / 2))
        return float(self.scale) * float(self.ball_masses @ self.steps.float_edges) * unit
