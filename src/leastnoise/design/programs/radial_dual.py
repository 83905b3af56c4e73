"""The linear program that proposes the prices of a `RadialWitness` (theory/noise.md §5), in floats.

Notation: as in `radial_bound`: r, v, U, ω, ω_l, J_l, ψ, λ, and G(r) and z of `RadialWitness.bound`.
J_l is linear between the radii x_n of the nodes, so the unknowns are its values J_{n,l} >= 0 there.

Maximise z − λδ subject to r² + G(r) >= z + m(r) at sampled radii r, and Σ_l J_{n,l} <= λ. In terms
of ω = −cos of the angle between x and v, both terms of G vary slowly with r in any dimension: the
first depends on r only through J.

The proof covers every r, with rounding. If it proves less than the program's value, the difference
becomes the margin m(r) of the next program, and new radii are sampled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from leastnoise.design.bounds.radial_bound import LEVEL_BITS, RadialWitness
from leastnoise.design.programs.effort import Allowance, Effort
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.base import Noise
from leastnoise.noise.question import Question
from leastnoise.noise.registry import FAMILIES

Floats = NDArray[np.float64]

_SAMPLES = 12  # radii r in each span
_NEWEST = 0.4  # share of the newest prices in the running mean, which oscillates less
_FINEST = 1 << 11
_PRICE_BITS = 38
_ROUNDS = 9  # with new samples
_WORK = 1 << 23  # pairs (cell, boundary) in a proof: about a second
_MOST_STEPS = 20_000  # of one program; usually 60, or 6,000 if the simplex has to finish it


def propose(budget: Budget, dimension: int, *, effort: Effort) -> RadialWitness:
    """The best witness that is found, for an l2 sensitivity of 1.

    The number of programs is limited, also by the time limit of `effort`, but not by its `work`.
    Raises NotApplicable if the noise is too wide for the grid, or no bound above 0 was proved.
    """
    allowance = effort.begin()
    # a smaller δ is hidden by the solver's tolerances; the proof uses the true δ
    least_delta = 1e-9
    delta = max(float(budget.delta), least_delta)
    for attempt in range(3):  # a larger δ is an easier program, and a weaker bound
        easier = min(delta * 30**attempt, 0.1)
        search = _DualSearch.of(budget, dimension, delta=easier)
        best: tuple[float, RadialWitness] | None = None
        for value, witness in search.witnesses(allowance):
            if best is None or value > best[0]:
                best = value, witness
            if effort.progress:
                least = max(best[0], 0)
                effort.progress(f"Bounding noise in {dimension} dimensions: mse >= {least:.4g}")
            if allowance.spent:
                break
        if best is not None and best[0] > 0:
            return best[1]
    raise NotApplicable(family="lower bound", why="no linear program was solved")


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _DualSearch:
    """A search for prices: `nodes`, `levels` and `cells` as in `RadialWitness`.

    `radii` are the nodes in sensitivities, and `angles` the angles θ_l between 0 and π/2 with cos
    θ_l = ω_l. `delta` is the δ of the programs, and `true_delta` is the δ of the budget.
    """

    dimension: int
    epsilon: Fraction
    delta: float
    true_delta: float
    cells: int
    nodes: NDArray[np.int64]
    levels: NDArray[np.int64]

    @classmethod
    def of(cls, budget: Budget, dimension: int, *, delta: float) -> _DualSearch:
        reach = _reach(budget, dimension, delta)
        most_cells = 1 << 16
        finest = min(_FINEST, math.sqrt(_WORK / (reach + 1)), most_cells / (reach + 1))
        if finest < 1:
            raise NotApplicable(family="lower bound", why="the noise is too wide for its grid")
        cells = 1 << int(math.log2(finest))
        last = math.ceil(reach * cells)
        spans = np.linspace(0, last, 61)  # with more of them J oscillates between the samples
        nodes = np.unique(np.concatenate([spans, spans[1] * np.array([0.2, 0.5])]).astype(int))
        most_chance = 0.48  # P(ω > ω_0): ω_0 is just above 0
        angles = _angle(dimension, np.geomspace(most_chance, min(delta, 1e-3), 36))
        levels = np.round(np.cos(angles) * 2.0**LEVEL_BITS).astype(np.int64)
        return cls(
            dimension=dimension,
            epsilon=budget.epsilon,
            delta=delta,
            true_delta=float(budget.delta),
            cells=cells,
            nodes=nodes,
            levels=np.unique(np.clip(levels, 1, (1 << LEVEL_BITS) - 1)),
        )

    @property
    def radii(self) -> Floats:
        return self.nodes / self.cells

    @property
    def angles(self) -> Floats:
        below_one = ((1 << LEVEL_BITS) - self.levels) / 2.0**LEVEL_BITS
        return 2 * np.arcsin(np.sqrt(below_one / 2))

    def witnesses(self, allowance: Allowance) -> Iterator[tuple[float, RadialWitness]]:
        """Yield pairs (lower bound in floats, its witness); the bounds usually increase."""
        from scipy.sparse import vstack  # noqa: PLC0415  (slow to import)

        samples = self._first_samples()
        matrix, margin = self._coefficients(samples), np.zeros(len(samples))
        mean: Floats | None = None
        persistence = 0.9  # of a margin from round to round, as its shortfall may return
        enough = 1e-3  # relative distance between the proved value and the program's
        for _ in range(_ROUNDS):
            solved = self._solve(matrix, samples, margin, allowance)
            if solved is None:
                return
            level, prices = solved
            witness, values = self._round_witness(prices)
            spent = self.true_delta * float(prices.sum(axis=1).max())
            yield float(values.min()) - spent, witness
            if values.min() > level * (1 - enough):
                return
            mean = prices if mean is None else (1 - _NEWEST) * mean + _NEWEST * prices
            steady, steady_values = self._round_witness(mean)
            spent = self.true_delta * float(mean.sum(axis=1).max())
            yield float(steady_values.min()) - spent, steady
            cuts = self._cuts(values, level, samples)
            all_samples = np.concatenate([samples, cuts])
            order = np.argsort(all_samples)
            margin = np.concatenate([margin, np.interp(cuts, samples, margin)])[order]
            rows = [matrix, self._coefficients(cuts)] if len(cuts) else [matrix]
            matrix, samples = vstack(rows).tocsr()[order], all_samples[order]
            believed = samples**2 + matrix @ prices.ravel()
            shortfall = believed - values[(samples * self.cells).astype(int)]
            margin = np.maximum(np.maximum(shortfall, 0.0), persistence * margin)

    def _first_samples(self) -> Floats:
        x, cells = self.radii, self.cells
        inner = x[:-1] + np.arange(_SAMPLES)[:, None] / _SAMPLES * np.diff(x)
        beyond = np.arange(self.nodes[-1], self.nodes[-1] + cells, max(1, cells // 20)) / cells
        steep = 1 + np.array([1, 2, 4]) / cells  # the second term sets in at r = 1
        samples = np.unique(np.concatenate([inner.ravel(), beyond + 1e-9, steep]))
        return samples[samples > 0]

    def _cuts(self, values: Floats, level: float, samples: Floats) -> Floats:
        """The radii to sample next, each near the start of a cell, without those in `samples`.

        `values` are the proved values of the cells, and `level` is the program's z. A cell is
        chosen if its value is below `level` and neither neighbour's is lower; at most 200 are.
        """
        before, after = np.append(math.inf, values[:-1]), np.append(values[1:], math.inf)
        short = (values < level * (1 - 1e-5)) & (values <= before) & (values <= after)
        cells = np.nonzero(short)[0]
        cells = cells[np.argsort(values[cells])[:200]]
        return np.setdiff1d((cells + 0.02) / self.cells, samples)

    def _round_witness(self, prices: Floats) -> tuple[RadialWitness, Floats]:
        bits = _PRICE_BITS - math.ceil(math.log2(max(prices.sum(axis=1).max(), 1e-200)))
        whole = np.floor(np.ldexp(prices, bits)).astype(np.int64)
        whole[-1] = 0
        witness = RadialWitness(
            dimension=self.dimension,
            cells=self.cells,
            bits=bits,
            ceiling=int(whole.sum(axis=1).max()),
            nodes=tuple(self.nodes.tolist()),
            levels=tuple(self.levels.tolist()),
            prices=tuple(tuple(row) for row in whole.tolist()),
        )
        return witness, witness.values(self.epsilon)

    def _solve(
        self, matrix: Any, samples: Floats, margin: Floats, allowance: Allowance
    ) -> tuple[float, Floats] | None:
        """The optimal z, and the prices J_{n,l} by node and level; None if the solver failed.

        The unknowns are δ·J, row by row, then z and δλ.
        """
        from scipy.optimize import linprog  # noqa: PLC0415
        from scipy.sparse import csr_matrix, eye, hstack, kron, vstack  # noqa: PLC0415

        nodes, levels, rows = len(self.nodes), len(self.levels), len(samples)
        ones, zeros = np.ones((rows, 1)), csr_matrix((rows, 1))
        sums = kron(eye(nodes), np.ones((1, levels)))
        above = hstack([-matrix / self.delta, ones, zeros])
        capped = hstack([sums, csr_matrix((nodes, 1)), -np.ones((nodes, 1))])
        inner = (nodes - 1) * levels
        share = 0.4  # of the remaining time for one program, if there is a time limit
        result = linprog(
            np.append(np.zeros(nodes * levels), [-1.0, 1.0]),
            A_ub=vstack([above, capped]).tocsr(),
            b_ub=np.append(samples**2 - margin, np.zeros(nodes)),
            bounds=[(0, None)] * inner + [(0, 0)] * levels + [(None, None), (0, None)],
            method="highs-ipm",
            options=allowance.part(share).options(rows=rows, most=_MOST_STEPS),
        )
        if result.status != 0:
            return None
        prices = np.maximum(result.x[:-2], 0.0).reshape(nodes, levels) / self.delta
        return float(result.x[-2]), prices

    def _coefficients(self, samples: Floats) -> Any:
        """The matrix that maps the prices J_{n,l}, row by row, to G(r) at the samples r."""
        from scipy.sparse import csr_matrix, vstack  # noqa: PLC0415

        chances = _chance(self.dimension, self.angles)
        quantiles = np.append(0.0, np.geomspace(chances.min() / 100, 0.5, 1500))
        edges = _angle(self.dimension, quantiles)  # of the angle between U and −v
        middle, weights = (edges[1:] + edges[:-1]) / 2, np.diff(quantiles)
        rows = []
        for r in samples.tolist():
            row = self._moved(r, middle, weights)
            if r < self.radii[-1]:
                n, share = self._between(np.array([r]))
                row[n] += (1 - share)[:, None] * chances
                row[n + 1] += share[:, None] * chances
            rows.append(csr_matrix(row.reshape(1, -1)))
        return vstack(rows)

    def _moved(self, r: float, angles: Floats, weights: Floats) -> Floats:
        """The coefficients of the prices J_{n,l} in −c·E ψ(|rU + v|, r), as an array (node, level).

        `weights` are the probabilities of the `angles` between U and −v.
        """
        shape = len(self.nodes), len(self.levels) + 1
        if r <= 1:  # no point has ω > 0 there
            return np.zeros((shape[0], shape[1] - 1))
        a = np.sqrt((r - 1) ** 2 + 4 * r * np.sin(angles / 2) ** 2)
        opposite = np.arctan2(r * np.sin(angles), r * np.cos(angles) - 1)  # ω = cos of it
        near = (a < self.radii[-1]) & (opposite <= math.pi / 2)
        n, share = self._between(a[near])
        passed = np.searchsorted(-self.angles, -opposite[near])  # the number of ω_l below ω
        cost = math.exp(self.epsilon) * weights[near]
        coefficients = np.zeros(shape)
        np.add.at(coefficients, (n, passed), -cost * (1 - share))
        np.add.at(coefficients, (n + 1, passed), -cost * share)
        return coefficients[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]

    def _between(self, radius: Floats) -> tuple[NDArray[np.intp], Floats]:
        x = self.radii
        n = np.clip(np.searchsorted(x, radius, side="right") - 1, 0, len(x) - 2)
        return n, (radius - x[n]) / (x[n + 1] - x[n])


def _reach(budget: Budget, dimension: int, delta: float) -> float:
    """A radius that private noise of a known family exceeds with a tiny probability.

    Of two families, the one with the smaller mean squared error is used.
    """
    from scipy.special import gammainccinv  # noqa: PLC0415

    rough = Question(budget=Budget(epsilon=budget.epsilon, delta=delta), dimension=dimension)
    rare = min(delta / 10, 1e-5)
    laws: list[Noise] = [FAMILIES[name].part("fit")(rough) for name in ("l2", "gaussian")]
    best = min(laws, key=lambda law: law.mse)
    if best.exponential:
        return float(best.scale) * float(gammainccinv(dimension, rare))
    return float(best.scale) * math.sqrt(2 * float(gammainccinv(dimension / 2, rare)))


def _chance(dimension: int, angle: Floats) -> Floats:
    """The probability that a uniform direction is within `angle` <= π/2 of a fixed direction."""
    from scipy.special import betainc  # noqa: PLC0415

    return betainc((dimension - 1) / 2, 0.5, np.sin(angle) ** 2) / 2


def _angle(dimension: int, chance: Floats) -> Floats:
    from scipy.special import betaincinv  # noqa: PLC0415

    return np.arcsin(np.sqrt(betaincinv((dimension - 1) / 2, 0.5, 2 * chance)))
