"""Symmetric step densities on the line: piecewise constant, with exact edges."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.noise.base import Noise, points_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@final
@dataclass(frozen=True, kw_only=True)
class Steps:
    """A density ∝ weight_j · e^(−decay·level_j) where edge_j <= |x| < edge_{j+1}, and 0 beyond.

    `edges` (n + 1 of them) rise from 0; `weights` and `levels` have n entries. Edges, weights and
    decay are rational, so that which edges of two shifted copies coincide is known exactly.
    """

    edges: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    levels: tuple[int, ...]
    decay: Fraction

    @property
    def falls(self) -> bool:
        """Whether the density certainly never rises away from 0."""
        weights = all(a >= b for a, b in pairwise(self.weights))
        return weights and all(a <= b for a, b in pairwise(self.levels))

    def overlay(self, shift: Fraction) -> Iterator[tuple[Fraction, int, int | None]]:
        """Yield (width, i, k) for the pieces of the line where X and X + shift are both constant.

        i is the step that X's density is on, k that of the other, None where the other is 0; pieces
        where X's own density is 0 are left out. Exact: which edges coincide is decided between
        rationals.
        """
        ends = (*(-edge for edge in reversed(self.edges[1:])), *self.edges)
        n = len(self.weights)
        steps = (*range(n - 1, -1, -1), *range(n))
        other = 0  # the other copy's next end is ends[other] + shift
        for (left, right), here in zip(pairwise(ends), steps, strict=True):
            start = left
            while start < right:
                while other < len(ends) and ends[other] + shift <= start:
                    other += 1
                stop = min(right, ends[other] + shift) if other < len(ends) else right
                there = steps[other - 1] if 0 < other < len(ends) else None
                yield stop - start, here, there
                start = stop

    def worst_shifts(self, limit: Fraction) -> tuple[Fraction, ...]:
        """Return shifts in (0, limit], one of which is the worst of all v with |v| <= limit.

        If the density never rises that is `limit` (theory/noise.md §1). Otherwise H(v) is affine
        between shifts at which edges of the two copies meet: the widths of the pieces are.
        """
        if self.falls:
            return (limit,)
        meets = {abs(a + sign * b) for a in self.edges for b in self.edges for sign in (1, -1)}
        return (*(shift for shift in meets if 0 < shift < limit), limit)

    @cached_property
    def masses(self) -> NDArray[np.float64]:
        """P(edge_j <= |X| < edge_{j+1}), as floats of shape (n,)."""
        heights = np.array([float(weight) for weight in self.weights])
        heights *= np.exp(-float(self.decay) * np.array(self.levels, dtype=float))
        masses = heights * np.diff(self.float_edges)
        return masses / masses.sum()

    @cached_property
    def float_edges(self) -> NDArray[np.float64]:
        """The edges, as floats of shape (n + 1,)."""
        return np.array([float(edge) for edge in self.edges])


class StepNoise(Noise):
    """A noise for one number, exactly 0 with probability `atom`, of density `steps` otherwise."""

    atom: Fraction = Fraction(0)

    @property
    @abstractmethod
    def steps(self) -> Steps:
        """The density of X/scale, apart from the atom."""

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """Return the log of the step that |x|/scale is on, −inf beyond the last; see `Noise`.

        The steps have the mass 1 − atom; the atom itself has no density.
        """
        scale, steps = float(self.scale), self.steps
        magnitude = np.abs(points_of(x, dimension=self.dimension)[..., 0]) / scale
        index = np.searchsorted(steps.float_edges, magnitude, side="right") - 1
        with np.errstate(divide="ignore"):
            logs = np.log(steps.masses / np.diff(steps.float_edges) / (2 * scale))
        logs += math.log(1 - self.atom)
        return np.append(logs, -np.inf)[np.minimum(index, len(logs))]

    @property
    def variance(self) -> float:
        """Σ mass_j (a² + ab + b²)/3 over the steps [a, b), times scale² and 1 − atom."""
        a, b = self.steps.float_edges[:-1], self.steps.float_edges[1:]
        spread = float(self.steps.masses @ (a * a + a * b + b * b)) / 3
        return float(1 - self.atom) * float(self.scale) ** 2 * spread

    @property
    def mean_abs(self) -> float:
        """Σ mass_j (a + b)/2 over the steps [a, b), times scale and 1 − atom."""
        a, b = self.steps.float_edges[:-1], self.steps.float_edges[1:]
        spread = float(self.steps.masses @ (a + b)) / 2
        return float(1 - self.atom) * float(self.scale) * spread
