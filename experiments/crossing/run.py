"""Noise that agrees where tables cross, and that of counts with sums: what either would save.

Neither is in leastnoise; README.md, which this writes beside itself in ten minutes, says why:
    python experiments/crossing/run.py
All is simulated or computed in floats, and nothing is proved.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.optimize import minimize

from leastnoise.workloads.marginal import (
    Marginals,
    best_shares,
    geometric_mean_std,
    log_variance,
    pure_information,
)

Floats = NDArray[np.float64]
HERE = Path(__file__).parent
RATIO = math.exp(-1 / 4)  # four tables with a quarter of ε = 1 each
REACH = 60  # of the noise of a cell: e^-15 of it is left out
OFFERED = 64
DRAWS = {(3, 2): 20_000, (6, 7): 2_000, (20, 10): 300}
TABLES = ("total", "rows", "columns", "cells")
ROOM, CHANCE = 0.02, 1e-6
TREE = (2, 10, 20)  # sex, age, region
STEPS = 4  # of the largest value, where sums are on a lattice
AROUND = 256


@dataclass(frozen=True)
class Crossing:
    """Noise of cells ∝ RATIO^(Σ|cell| + Σ|sum of a row| + Σ|sum of a column| + |total|).

    Rows are drawn in turn, given the sums of the columns so far. A row is drawn by what is still to
    come of each column, kept for its own sum or drawn again, and the whole attempt is given up
    where the sums so far have become unlikely: so that the law is that above, but for floats.
    """

    rows: int
    columns: int

    @cached_property
    def ahead(self) -> list[Floats]:
        """After each number of rows, what is to come of a column by the sum that it has so far."""
        results = [RATIO ** np.abs(np.arange(-REACH * 12.0, REACH * 12.0 + 1))]
        for _ in range(self.rows):
            results.insert(0, np.convolve(results[0], self._cell, mode="same"))
        return results

    @property
    def _cell(self) -> Floats:
        return RATIO ** np.abs(np.arange(-REACH, REACH + 1.0))

    @cached_property
    def _best(self) -> list[float]:
        zero = np.zeros(self.columns, dtype=np.int64)
        return [self._chance(self._laws(row, zero)) for row in range(self.rows)]

    def draw(self, random: Generator) -> NDArray[np.int64]:
        """Return the noise of the cells."""
        while (result := self._attempt(random)) is None:
            pass
        return result

    def _attempt(self, random: Generator) -> NDArray[np.int64] | None:
        sums = np.zeros(self.columns, dtype=np.int64)
        cells = np.empty((self.rows, self.columns), dtype=np.int64)
        for row in range(self.rows):
            laws = self._laws(row, sums)
            if random.random() >= self._chance(laws) / self._best[row]:
                return None
            cells[row] = self._row(laws, random)
            sums += cells[row]
        return cells if random.random() < RATIO ** abs(int(cells.sum())) else None

    def _laws(self, row: int, sums: NDArray[np.int64]) -> Floats:
        """Return how likely each value of the row's cells is, by column."""
        middle = len(self.ahead[0]) // 2 + sums[:, None]
        after = self.ahead[row + 1][middle + np.arange(-REACH, REACH + 1)]
        value: Floats = self._cell * after / self.ahead[row][middle]
        return value

    def _chance(self, laws: Floats) -> float:
        """Return how likely a row drawn by these laws is kept."""
        size = self.columns * 2 * REACH + 1
        sums = np.fft.irfft(np.prod(np.fft.rfft(laws, size + 1), axis=0), size + 1)[:size]
        return float(sums @ RATIO ** np.abs(np.arange(size) - self.columns * REACH))

    def _row(self, laws: Floats, random: Generator) -> NDArray[np.int64]:
        falls = np.cumsum(laws, axis=1)
        while True:
            offers = random.random((OFFERED, self.columns)) * falls[:, -1]
            drawn = [np.searchsorted(*pair) for pair in zip(falls, offers.T, strict=True)]
            cells = np.stack(drawn, axis=1) - REACH
            keeps = random.random(OFFERED) < RATIO ** np.abs(cells.sum(axis=1))
            if keeps.any():
                kept: NDArray[np.int64] = cells[np.argmax(keeps)]
                return kept


def table_stds(cells: NDArray[Any], weights: Floats | None = None) -> Floats:
    """Return the std of each of TABLES; draws are the first axis of `cells`."""
    tables = (cells.sum(axis=(1, 2)), cells.sum(axis=2), cells.sum(axis=1), cells)
    squares = [(table.reshape(len(cells), -1) ** 2.0).mean(axis=1) for table in tables]
    return np.sqrt(np.average(squares, axis=1, weights=weights))


def enumerated() -> Floats:
    """Return the stds of 3 × 2 cells, by all noise of at most 12 a cell."""
    values = np.arange(-12, 13)
    rows = np.stack(np.meshgrid(values, values, indexing="ij"), axis=-1).reshape(-1, 2)
    two = np.stack([np.repeat(rows, len(rows), axis=0), np.tile(rows, (len(rows), 1))], axis=1)
    squares, mass = np.zeros(len(TABLES)), 0.0
    for row in rows:
        cells = np.concatenate([two, np.broadcast_to(row, (len(two), 1, 2))], axis=1)
        away = np.abs(cells).sum(axis=(1, 2)) + np.abs(cells.sum(axis=(1, 2)))
        away += np.abs(cells.sum(axis=1)).sum(axis=1) + np.abs(cells.sum(axis=2)).sum(axis=1)
        weights = RATIO**away
        squares += table_stds(cells, weights) ** 2 * weights.sum()
        mass += float(weights.sum())
    return np.sqrt(squares / mass)


def measured(sizes: tuple[int, ...], *, with_sums: bool = False) -> tuple[float, float]:
    """Return what leastnoise has: the smallest largest std, and the least geometric mean."""
    marginals = Marginals(sizes=sizes, tables=tuple(range(1 << len(sizes))))
    whole = np.full(len(marginals.every), fill_value=not with_sums)
    # the noise of a box of two numbers is that of an l1 norm of √2 (theory/marginals.md §12)
    pure = pure_information(1.0, np.where(whole, 1.0, math.sqrt(2)), whole=whole)
    largest = log_variance(marginals, best_shares(marginals, None, pure), None, pure)
    weights = [1.0] * len(marginals.tables)
    summed = log_variance(marginals, best_shares(marginals, weights, pure), weights, pure)
    return math.exp(largest / 2), geometric_mean_std(summed, len(weights))


def node_variances(shares: Sequence[float]) -> list[float]:
    """Return the variance of a count by the level of TREE, 0 the root.

    Noise of counts and sums z has density ∝ e^{-Σ share·max(|count|, |sum|)} over all nodes.
    """
    counts = np.fft.fftfreq(2 * AROUND, 1 / (2 * AROUND))[:, None]
    wide = 2 * AROUND * STEPS
    norm = np.maximum(np.abs(counts), np.abs(np.fft.fftfreq(wide, 1 / wide) / STEPS))
    computed = [np.exp(-share * norm) for share in shares]
    below = [computed[-1] / computed[-1].sum()]
    for tilt, children in zip(computed[-2::-1], TREE[::-1], strict=True):
        inner = tilt * np.maximum(np.fft.irfft2(np.fft.rfft2(below[0]) ** children, norm.shape), 0)
        below.insert(0, inner / inner.sum())
    above, result = np.ones_like(norm), list[float]()
    for level, law in enumerate(below):
        result.append(float((law * above * counts**2).sum() / (law * above).sum()))
        if level < len(TREE):
            siblings = np.fft.rfft2(below[level + 1]) ** (TREE[level] - 1)
            both = np.fft.irfft2(np.fft.rfft2(above * computed[level]) * siblings, norm.shape)
            above = np.maximum(both, 0) / both.max()
    return result


def sums_agree(logs: Floats) -> float:
    """Return the geometric mean std of all tables, of shares in the proportions e^logs and 1."""
    shares = np.exp([*logs, 0.0])
    nodes = node_variances([0.0, *(shares / shares.sum())])
    levels = range(len(TREE))
    pairs = [  # two cells that part at a level
        (nodes[item] - n * nodes[item + 1]) / (n * (n - 1)) / math.prod(TREE[item + 1 :]) ** 2
        for item, n in enumerate(TREE)
    ]
    total = 0.0
    for free in (combination for size in range(4) for combination in combinations(levels, size)):
        variance = nodes[-1] + sum(
            pairs[item]
            * (TREE[item] - 1)
            * math.prod(TREE[below] for below in free if below > item)
            for item in free
        )
        total += math.log(variance * math.prod(TREE[item] for item in free))
    return geometric_mean_std(total, 1 << len(TREE))


def page() -> list[str]:
    """Return the lines of README.md."""
    random = np.random.default_rng(1)
    rows: list[str] = []
    needed = math.ceil(math.log(1 / CHANCE) / (2 * ROOM**2))
    for (first, second), count in DRAWS.items():
        law = Crossing(rows=first, columns=second)
        begin = time.process_time()
        result = table_stds(np.stack([law.draw(random) for _ in range(count)]))
        seconds = (time.process_time() - begin) / count
        stds = ", ".join(f"{item:.2f}" for item in result)
        largest, _ = measured((first, second))
        rows.append(
            f"| {first} × {second} | {largest:.2f} | {stds} | {count:,} | {seconds:.1g} "
            f"| {needed * seconds / 3600:.1g} |"
        )
    exact = ", ".join(f"{item:.2f}" for item in enumerated())
    best = minimize(
        sums_agree, [-1.2, -1.2], method="Nelder-Mead", options={"xatol": 0.05, "fatol": 1e-3}
    )
    _, apart = measured((20, 2, 10), with_sums=True)
    return [
        "# Noise that agrees where tables cross, or of counts and sums together",
        "",
        "Generated by `python experiments/crossing/run.py`. Neither is in leastnoise; here is why.",
        "ε = 1, δ = 0, one row a person.",
        "",
        "## Where tables cross",
        "",
        "Of rows × columns all four tables are published, with a quarter of ε each. The noise of",
        "cells is conditioned on all sums at once, and drawn exactly but for floats. Beside it is",
        "the smallest largest std of independent noise in measured tables, which leastnoise has.",
        "",
        f"| cells | measured: largest | crossing: {', '.join(TABLES)} | draws | s a draw | hours |",
        f"|{'---|' * 6}",
        *rows,
        "",
        f"By enumeration 3 × 2 has {exact}.",
        "",
        "Of such noise a table's std is at most that in a tree of some of the tables. Of intervals",
        "nothing is known but what draws tell, anew for each plan, since shares and ε differ.",
        f"A half-width that holds at least 95 %, but with chance {CHANCE:.0e}, and at most",
        f"{95 + 100 * ROOM:.0f} % takes {needed:,} draws: so many hours, and more beyond.",
        "Beyond tiny tables no plan can take them, and what wasn't computed isn't told.",
        "",
        "## Counts and sums together",
        "",
        "Of 20 × 2 × 10 cells with counts and sums all eight tables are published. Noise that",
        "agrees on the tree of sex, age and region, of weights e^(−ω·max(|count|, |sum|)),",
        f"would have a geometric mean std of {best.fun:.2f} a count. Independent noise in measured",
        f"tables has {apart:.2f}, {100 * (apart / best.fun - 1):.1f} % more, and is what there is.",
        "For so little there is no second family of trees, with laws of two numbers.",
    ]


if __name__ == "__main__":
    (HERE / "README.md").write_text("\n".join(page()) + "\n", encoding="utf-8")
