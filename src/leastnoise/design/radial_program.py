"""The linear program of the best spherical step density with given edges, solved in floats.

notation: shells i with edges e_{i−1} < e_i, heights h_i that fall in i, a shift of 1, c = e^ε, V_ik
the volume of shell i under shell k of the shifted copy, V_i∞ that beyond its last shell; volumes
are in units of the unit ball. Minimise Σ h_i ∫r^p over shell i subject to Σ h_i |shell i| = 1 and
δ = Σ_ik (h_i − c h_k)₊ V_ik + Σ_i h_i V_i∞. Only k > i expose anything, and they lie within 1.

Nothing here is proved: the density is evaluated again, exactly (theory/noise.md §1, §2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from leastnoise.design.effort import Allowance
from leastnoise.noise.shells.profile import outside

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]

_TOLERANCE = 1e-9  # of rows of size 1; near the smallest that HiGHS takes, 1e-10
_NEGLIGIBLE_VOLUME = 1e-13  # of the ball of the inner shell: the noise of its differences in floats
_NEGLIGIBLE_SHARE = 1e-10  # of δ, about what a pair of shells can expose at most
_SOLVED = 0


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class RadialProgram:
    """One program; `power` is 1 for mae and 2 for mse, `edges` rise, in sensitivities.

    Heights are h_i = g_i·u_i with u_i ∝ e^(−ε·(middle of shell i)), so that the g_i that the solver
    sees are all about 1.
    """

    dimension: int
    epsilon: float
    delta: float
    power: int
    edges: Floats

    def solve(self, *, allowance: Allowance) -> Floats | None:
        """Return the heights, falling, of total mass 1; None if the solver didn't get there."""
        from scipy.optimize import linprog  # noqa: PLC0415  (0.5 s to import)

        units = self._units()
        pairs = self._pairs(units)
        count, shells = len(pairs.inner), len(self.edges)
        nothing = np.zeros(count)
        limits = np.zeros(count + shells)
        limits[count] = 1.0
        found = linprog(
            np.append(units * self._shells(self.power), nothing),
            A_ub=self._matrix(units, pairs),
            b_ub=limits,
            A_eq=np.append(units * self._shells(0), nothing)[None, :],
            b_eq=[1.0],
            bounds=(0, None),
            method="highs-ds",
            options={
                "primal_feasibility_tolerance": _TOLERANCE,
                "dual_feasibility_tolerance": _TOLERANCE,
            }
            | allowance.options(rows=len(limits)),
        )
        return found.x[:shells] * units if found.status == _SOLVED else None

    def _shells(self, power: int) -> Floats:
        """Return ∫ r^power over every shell: d/(d + p)·(e_i^(d+p) − e_{i−1}^(d+p)), scaled.

        In units of the last ball, to stay in the range of floats.
        """
        d, total = self.dimension, self.dimension + power
        relative = self.edges / self.edges[-1]
        return d / total * self.edges[-1] ** power * np.diff(relative**total, prepend=0.0)

    def _units(self) -> Floats:
        """Return the u_i, for which Σ u_i |shell i| = 1."""
        middle = (self.edges + np.append(0.0, self.edges[:-1])) / 2
        units = np.exp(-self.epsilon * middle)
        return units / float(units @ self._shells(0))

    def _pairs(self, units: Floats) -> _Pairs:
        """Return the pairs of shells that can matter, their volumes and those beyond."""
        n, d = len(self.edges), self.dimension
        inner, outer = np.triu_indices(n)
        near = self.edges[outer] < self.edges[inner] + 1
        inner, outer = inner[near], outer[near]
        bare = np.zeros((n, n))  # the share of ball i outside the other's ball k
        bare[inner, outer] = outside(self.edges[inner], self.edges[outer], shift=1.0, dimension=d)
        shrink = np.append(0.0, self.edges[:-1] / self.edges[1:]) ** d
        below = np.vstack([np.zeros(n), bare[:-1]]) * shrink[:, None]
        shell = bare - below  # of shell i instead of ball i, in units of ball i
        covered = np.zeros((n, n))
        covered[:, 1:] = shell[:, :-1] - shell[:, 1:]
        balls = (self.edges / self.edges[-1]) ** d
        size = covered * (units * balls)[:, None] / self.delta
        i, k = np.nonzero(np.triu(covered > _NEGLIGIBLE_VOLUME, 1) & (size > _NEGLIGIBLE_SHARE))
        beyond = np.maximum(shell[:, -1], 0.0) * balls * units / self.delta
        return _Pairs(inner=i, outer=k, size=size[i, k], beyond=beyond)

    def _matrix(self, units: Floats, pairs: _Pairs) -> csr_matrix:
        """Rows: g_i − c g_k u_k/u_i <= t_ik/size_ik for the pairs, Σ t + … <= 1, heights fall.

        t_ik is the share of δ that the pair spends.
        """
        from scipy.sparse import csr_matrix  # noqa: PLC0415

        shells, count = len(units), len(pairs.inner)
        pair, shell = np.arange(count), np.arange(shells)
        weight = 1 / np.maximum(1.0, 1 / pairs.size)  # rows of size 1
        ratio = np.exp(self.epsilon) * units[pairs.outer] / units[pairs.inner]
        entries = (
            (pair, pairs.inner, weight),
            (pair, pairs.outer, -ratio * weight),
            (pair, shells + pair, -weight / pairs.size),
            (np.full(count, count), shells + pair, np.ones(count)),
            (np.full(shells, count), shell, pairs.beyond),
            (count + shell[1:], shell[1:], units[1:] / units[:-1]),
            (count + shell[1:], shell[:-1], -np.ones(shells - 1)),
        )
        row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
        return csr_matrix((value, (row, column)), shape=(count + shells, shells + count))


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Pairs:
    """Pairs of shells (i, k), i < k, what each can expose, and what each shell does beyond all.

    `size` and `beyond` are shares of δ where g = 1.
    """

    inner: NDArray[np.int64]
    outer: NDArray[np.int64]
    size: Floats
    beyond: Floats
