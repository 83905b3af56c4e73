"""δ at a given shift of laws on a lattice, by sums over its points; see `shifts`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import mpmath as mp
import numpy as np

from tests.shift_route import LOG_STEP_TAIL, Route, mpf


@final
@dataclass(frozen=True, kw_only=True)
class LatticeSteps(Route):
    """P(K = k) ∝ masses[|k|], masses whole numbers; with `spread`, uniform over cells of `pitch`.

    At a shift by whole cells H is a sum of whole numbers. With `spread`, H is affine in between.
    """

    masses: np.ndarray
    pitch: Fraction
    limit: Fraction
    epsilon: Fraction
    spread: bool

    @classmethod
    def of(cls, law: Any, limit: Fraction, epsilon: Fraction) -> LatticeSteps:
        half = [int(mass) for mass in law.masses]
        return cls(
            masses=np.array([*half[:0:-1], *half], dtype=object),
            pitch=law.scale / law.cells,
            limit=limit,
            epsilon=epsilon,
            spread=law.name != "discrete-staircase",
        )

    def turns(self) -> list[Fraction]:
        """Shifts by whole cells: all of them if that is quick, else the largest by floats."""
        last = int(self.limit / self.pitch)
        shifts = list(range(1, last + 1))
        if len(self.masses) * last > 200_000:
            total = int(self.masses.sum())
            p = np.array([int(mass) / total for mass in self.masses])
            c = math.exp(self.epsilon)
            sums = [p[:j].sum() + np.maximum(p[j:] - c * p[:-j], 0).sum() for j in shifts]
            shifts = [shifts[i] for i in np.argsort(sums)[-6:]] + shifts[-1:]
        return [self.pitch * j for j in shifts] + ([self.limit] if self.spread else [])

    def certain(self, shift: Fraction) -> float:
        cells = shift / self.pitch
        j = math.floor(cells)
        below = self._whole(j)
        part = float(cells - j)
        return ((1 - part) * below + part * self._whole(j + 1) if part else below) * (1 - 1e-13)

    def _whole(self, j: int) -> float:
        if j >= len(self.masses):
            return 1.0
        with mp.workprec(300):
            c: Any = mp.exp(mpf(self.epsilon))
            factor = int(c * 2**200) + 2  # too large
        ahead = self.masses * 2**200
        ahead[j:] -= factor * self.masses[: len(self.masses) - j]
        return float(Fraction(int(np.maximum(ahead, 0).sum()), int(self.masses.sum()) * 2**200))


@final
@dataclass(frozen=True, kw_only=True)
class WholeSteps(Route):
    """X = pitch·K, P(K = k) ∝ e^(−decay·s(|k|)), s(j) = 0 for j < core, ⌊(j − core)/cells⌋ + 1."""

    logs: np.ndarray  # ln P(K = k) + constant, k = −n … n
    steps: np.ndarray
    decay: Fraction
    pitch: Fraction
    limit: Fraction
    epsilon: Fraction

    @classmethod
    def of(cls, law: Any, limit: Fraction, epsilon: Fraction) -> WholeSteps:
        far = law.core + law.cells * math.ceil(LOG_STEP_TAIL / law.decay)
        k = np.abs(np.arange(-far, far + 1))
        steps = np.where(k < law.core, 0, (k - law.core) // law.cells + 1)
        return cls(
            logs=-float(law.decay) * steps,
            steps=steps,
            decay=law.decay,
            pitch=law.scale / law.cells,
            limit=limit,
            epsilon=epsilon,
        )

    def turns(self) -> list[Fraction]:
        return [Fraction(v) for v in range(1, math.floor(self.limit) + 1)]

    def certain(self, shift: Fraction) -> float:
        cells = shift / self.pitch
        if cells.denominator != 1:
            return 1.0
        j = int(cells)
        jumps = self.steps[: len(self.steps) - j] - self.steps[j:]
        least = math.floor(self.epsilon / self.decay) + 1  # steps that lose more than ε
        lost = [
            -math.expm1(float(self.epsilon - self.decay * i))
            for i in range(least, int(jumps.max(initial=0)) + 1)
        ]
        gains = np.array([0.0] * least + lost)[np.maximum(jumps, 0)]
        mass = np.exp(self.logs)
        return float(mass[j:] @ gains / mass.sum()) * (1 - 1e-12)
