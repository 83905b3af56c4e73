"""The linear program of the best noise on a lattice (theory/noise.md §4), solved in floats.

notation: m = cells, h = 1/m, q_i = P(X = ih) = q_{−i} for |i| <= n, c = e^ε, and T_r the mass
of all i > n with i ≡ n + 1 + r mod m. Minimise the loss subject to, for every shift j = 1 … m,
Σ_i w_{ji} <= δ with w_{ji} >= q_i − c q_{i−j}. What lies beyond n is costed at its first point and
exposed at j = m alone: a relaxation, so that the dual is a bound on every noise.

The structured form keeps only the rows that move a point outward, |i − j| > |i|: a density that
falls exposes no others. Dropping rows relaxes the program, so that its bound holds all the same;
whether its law needs the others is seen when δ is evaluated exactly.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TOLERANCE = 1e-9  # of rows of size 1; at the smallest that HiGHS takes, 1e-10, it often gives up
# Where one way of pricing ends in "unknown", another mostly doesn't.
_STRATEGIES = (("devex", _TOLERANCE), ("steepest", _TOLERANCE), ("devex", 1e-7))
_SOLVED, _OUT_OF_TIME = 0, 1


@final
@dataclass(frozen=True, kw_only=True)
class Program:
    """One lattice program; `power` is 1 for mae and 2 for mse, lengths in sensitivities.

    Points |i| < `calm` may not be exposed at all, which makes the law one that can be lengthened
    there (`repair.whole_masses`); its prices prove a bound only for calm = 0.
    """

    cells: int
    reach: int
    epsilon: float
    delta: float
    power: int
    structured: bool = True
    calm: int = 0

    def solve(self, *, seconds: float) -> Solution | None:
        """Return the optimum, or None if the solver didn't get there in time."""
        from scipy.optimize import linprog  # noqa: PLC0415  (0.5 s to import)

        rows = self._rows()
        deadline = time.perf_counter() + seconds
        matrix, total = self._matrix(rows), self._normalisation(len(rows.shift))
        limits = np.append(np.zeros(len(rows.shift)), np.ones(self.cells))
        for pricing, dual_tolerance in _STRATEGIES:
            found = linprog(
                self._costs(len(rows.shift)),
                A_ub=matrix,
                b_ub=limits,
                A_eq=total,
                b_eq=[1.0],
                bounds=(0, None),
                method="highs-ds",
                options={
                    "primal_feasibility_tolerance": _TOLERANCE,
                    "dual_feasibility_tolerance": dual_tolerance,
                    "simplex_dual_edge_weight_strategy": pricing,
                    "time_limit": max(deadline - time.perf_counter(), 0.01),
                },
            )
            if found.status == _SOLVED:
                return self._solution(rows, found)
            if found.status == _OUT_OF_TIME:
                return None
        return None

    def _solution(self, rows: Rows, kept: Any) -> Solution:
        prices = -kept.ineqlin.marginals
        multipliers = prices[len(rows.shift) :] / self.delta
        return Solution(
            program=self,
            masses=kept.x[: self.reach + 1],
            multipliers=multipliers,
            rows=rows,
            prices=prices[: len(rows.shift)] / rows.size,
            level=float(kept.eqlin.marginals[0]),
        )

    def _rows(self) -> Rows:
        """Return the rows (j, i) with the columns and coefficients of q_i and q_{i−j}.

        A row is divided by the size that q_i has (about e^{−ε|ih|}, δ in the far tail): without
        that the solver's absolute tolerances would swamp a small δ.
        """
        n, m, c = self.reach, self.cells, math.exp(self.epsilon)
        shifts, places = [], []
        for j in range(1, m + 1):
            last = (j - 1) // 2 if self.structured else n
            i = np.arange(-n, min(last, n) + 1)
            i = i[2 * i != j]  # q_i − c q_{−i} <= 0
            places.append(i)
            shifts.append(np.full(len(i), j))
        shift, place = np.concatenate(shifts), np.concatenate(places)
        source = place - shift
        tail = source < -n
        return Rows(
            shift=shift,
            place=place,
            source=np.where(tail, -source, np.abs(source)),  # n + 1 + r is the column of T_r
            factor=np.where(tail & (shift == m), c - 1, c),
            size=np.maximum(np.exp(-self.epsilon * np.abs(place) / m), self.delta),
        )

    @property
    def _columns(self) -> int:
        """The q_i and T_r."""
        return self.reach + 1 + self.cells

    def _weights(self) -> Floats:
        """How many points each of the first columns stands for."""
        return np.append(1.0, np.full(self._columns - 1, 2.0))

    def _costs(self, rows: int) -> Floats:
        places = np.arange(self._columns) / self.cells
        return np.append(self._weights() * places**self.power, np.zeros(rows))

    def _normalisation(self, rows: int) -> object:
        from scipy.sparse import csr_matrix  # noqa: PLC0415

        return csr_matrix(np.append(self._weights(), np.zeros(rows))[None, :])

    def _matrix(self, rows: Rows) -> object:
        from scipy.sparse import csr_matrix  # noqa: PLC0415

        count = len(rows.shift)
        index, w = np.arange(count), self._columns + np.arange(count)
        entries = (
            (index, np.abs(rows.place), 1 / rows.size),
            (index, rows.source, -rows.factor / rows.size),
            (index, w, np.where(np.abs(rows.place) < self.calm, 0.0, -self.delta / rows.size)),
            (count + rows.shift - 1, w, np.ones(count)),
        )
        row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
        shape = (count + self.cells, self._columns + count)
        return csr_matrix((value, (row, column)), shape=shape)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """The rows (j, i) of a program: `shift` j, `place` i, `source` the column of q_{i−j}."""

    shift: NDArray[np.int64]
    place: NDArray[np.int64]
    source: NDArray[np.int64]
    factor: Floats
    size: Floats


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Solution:
    """Floats: `masses` q_0 … q_n, `multipliers` λ_1 … λ_m, `prices` ψ in the order of `rows`.

    `level` is the price of the normalisation, which the dual bound's minimum over i should reach.
    """

    program: Program
    masses: Floats
    multipliers: Floats
    rows: Rows
    prices: Floats
    level: float

    def prices_of(self, shift: int) -> Floats:
        """Return ψ_{shift,i} for i = −n …, as far as there are rows."""
        chosen = self.rows.shift == shift
        places = self.rows.place[chosen] + self.program.reach
        dense = np.zeros(int(places.max()) + 1)
        dense[places] = self.prices[chosen]
        return dense
