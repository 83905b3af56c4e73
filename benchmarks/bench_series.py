"""A register over time: standard deviations of periods and running totals, and the rivals' figures.

All figures are at ε = 1 for one added or removed row. They are root mean squares over the releases
unless a title says otherwise. A rival adds Laplace or Gaussian noise to its own numbers. The first
table has the costs of a release of 400 cells by the command line.

python -m benchmarks.bench_series
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import leastnoise as ln
from benchmarks.timing import print_rows
from leastnoise.calibration import find_gaussian
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import Rows
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.next_leaf import draw_next_leaf
from leastnoise.workloads.tree import FirstLeaves, Nodes, TreeStrategy
from leastnoise.workloads.tree_search import offer_releases, rank_noise

WEEKS = 52
CELLS = 400
_SPEC = """
version = 1
[data]
source = "rows.csv"
types = {{ week = "int", cell = "int" }}
[privacy]
unit = "row"
epsilon = "{epsilon}"
ledger = {{ path = "a.ledger" }}
[series]
releases = 52
each = "row"
report = "week"
totals = true
branches = [4, 13]
[[query]]
name = "cases"
statistics = ["count"]
group_by = {{ cell = {cells} }}
[output]
path = "weekly"
"""
_GAUSSIAN = Budget(epsilon=1, delta="1e-6")


def find_noise(count: int, branches: tuple[int, ...] | None, epsilon: Fraction) -> Agreeing:
    """The noise of a series on the tree that its plan uses."""
    offers = offer_releases(count, branches)
    rows = Rows(most=1, replaced=False)
    return rank_noise(offers, 1 / epsilon, rows, largest=False)[0][1]


def figures(noise: Agreeing, count: int) -> list[float]:
    """Standard deviations: of a count, and of totals (root mean square, largest, last)."""
    tables = (Nodes(level=len(noise.branches)), *map(partial(_first), range(1, count + 1)))
    strategy = TreeStrategy(noise=noise, tables=tables)
    variances = np.array([strategy.variance(table)[0] for table in range(count + 1)])
    totals = variances[1:]
    return [math.sqrt(v) for v in (variances[0], totals.mean(), totals.max(), totals[-1])]


def _first(cells: int) -> FirstLeaves:
    return FirstLeaves(cells=cells)


def fresh(epsilon: float) -> float:
    """The standard deviation of geometric noise."""
    ratio = math.exp(-epsilon)
    return math.sqrt(2 * ratio) / (1 - ratio)


def subtracting_tree(count: int, epsilon: float) -> float:
    """The root mean square std of the best k-ary tree with subtraction (Andersson et al. 2024).

    The nodes have Laplace noise.
    """
    return min(
        math.sqrt(np.mean([_nodes(t, k) for t in range(1, count + 1)]) * 2) * levels / epsilon
        for k in range(3, 61, 2)
        for levels in range(1, 8)
        if (k**levels - 1) / 2 >= count
    )


def _nodes(total: int, k: int) -> int:
    """The number of nodes added or subtracted for a total: its balanced digits to the base k."""
    nodes = 0
    while total:
        digit = (total + k // 2) % k - k // 2
        total, nodes = (total - digit) // k, nodes + abs(digit)
    return nodes


def square_root(count: int) -> float:
    """The root mean square std of the square-root factorisation, Gaussian noise, at (1, 1e-6)."""
    steps = np.arange(1, count)
    roots = np.concatenate([[1.0], np.cumprod((2 * steps - 1) / (2 * steps))])
    squares = np.cumsum(roots**2)
    return float(find_gaussian(_GAUSSIAN).scale) * math.sqrt(squares[-1] * squares.mean())


def least_squares(branches: tuple[int, ...], count: int) -> float:
    """The std of totals by least squares, if all nodes have geometric noise with best shares."""
    leaves = math.prod(branches)
    rows = [np.eye(leaves)]
    for level in range(len(branches)):
        span = math.prod(branches[level:])
        rows.insert(level, np.kron(np.eye(leaves // span), np.ones(span)))
    prefixes = np.tri(leaves)[:count]

    def mean(logits: np.ndarray) -> float:
        shares = np.exp(logits) / np.exp(logits).sum()
        weights = [1 / fresh(share) ** 2 for share in shares]
        information = sum(w * level.T @ level for w, level in zip(weights, rows, strict=True))
        return float(np.einsum("ij,ij->", prefixes @ np.linalg.inv(information), prefixes)) / count

    minimum = minimize(mean, np.zeros(len(rows)), method="Nelder-Mead", options={"maxiter": 400})
    return math.sqrt(minimum.fun)


def least(count: int) -> float:
    """A proved bound: no additive noise has a smaller root mean square over all totals."""
    return ln.workload(np.tri(count), epsilon="1").bound


def draw_seconds(epsilon: Fraction, cells: int) -> float:
    """The processor time to draw week 21 of 52 in a number of cells."""
    noise, sums = find_noise(WEEKS, (4, 13), epsilon), [(9, -5)] * cells
    started = time.process_time()
    draw_next_leaf(noise, 20, sums, InsecureSeededEntropy(1))
    return time.process_time() - started


def release_costs(epsilon: str) -> list[tuple[str, ...]]:
    """Processor seconds, peak MB and kB of the state for two releases of the command line."""
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as name:
        folder, cells = Path(name), list(range(CELLS))
        lines = "".join(f"{1 + n % WEEKS},{n * 7 % CELLS}\n" for n in range(100 * CELLS))
        (folder / "rows.csv").write_text(f"week,cell\n{lines}")
        (folder / "spec.toml").write_text(_SPEC.format(epsilon=epsilon, cells=cells))
        account = ("--dataset", "d", "--unit", "row", "--epsilon", epsilon)
        _run(folder, "ledger", "init", "a.ledger", *account)
        for week in ("first", "second"):
            seconds, megabytes = _run(folder, "release", "spec.toml")
            state = (folder / "weekly.state").stat().st_size / 1e3
            rows.append((epsilon, week, *(f"{x:.3g}" for x in (seconds, megabytes, state))))
    return rows


def _run(folder: Path, *words: str) -> tuple[float, float]:
    """The processor seconds of a command, and its peak MB (at least the MB of this process)."""
    command = [sys.executable, "-m", "leastnoise", *words]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"leastnoise {words[0]} fails")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Print the tables."""
    heads = ("ε", "release", "CPU s", "peak MB", "state kB")
    costs = [row for epsilon in ("1", "0.1") for row in release_costs(epsilon)]
    print_rows(f"A release of {CELLS} cells, 4 × 13", heads, costs)
    rows: list[tuple[str, ...]] = []
    for count, branches, epsilon in (
        (12, (3, 4), "1"),
        (WEEKS, (4, 13), "1"),
        (WEEKS, None, "1"),
        (365, None, "1"),
        (1000, None, "1"),
        (WEEKS, (4, 13), "0.1"),
    ):
        noise = find_noise(count, branches, Fraction(epsilon))
        alone = fresh(float(Fraction(epsilon)))
        whole = alone * math.sqrt(count)
        fresh_figures = [alone, alone * math.sqrt((count + 1) / 2), whole, whole]
        tree = " × ".join(map(str, noise.branches))
        for name, stds in (
            ("fresh noise, no state", fresh_figures),
            (f"one draw on {tree}", figures(noise, count)),
        ):
            rows.append((f"{count}, ε = {epsilon}", name, *(f"{std:.4g}" for std in stds)))
    heads = ("releases", "noise", "a release", "totals", "largest total", "all")
    print_rows("A register over time: standard deviations", heads, rows)
    quarters = TreeStrategy(
        noise=find_noise(WEEKS, (4, 13), Fraction(1)), tables=(Nodes(level=1),)
    ).variance(0)
    counts = (12, WEEKS, 365, 1000)
    rivals = [
        ("k-ary tree with subtraction", *(f"{subtracting_tree(n, 1):.4g}" for n in counts)),
        ("square root, Gaussian (1, 1e-6)", *(f"{square_root(n):.4g}" for n in counts)),
        ("geometric on 4 × 4 × 4, least squares", "", f"{least_squares((4, 4, 4), WEEKS):.4g}"),
        ("no additive noise has less", *(f"{least(n):.4g}" for n in counts[:2])),
        ("a quarter, one draw on 4 × 13", "", f"{math.sqrt(quarters[0]):.4g}"),
    ]
    heads = ("root mean square of all totals, ε = 1", *map(str, counts))
    columns = [(*row, *[""] * (len(heads) - len(row))) for row in rivals]
    print_rows("Other noise for running totals", heads, columns)
    seconds = [(f"{e}", f"{draw_seconds(Fraction(e), 100):.2g}") for e in ("1", "0.1")]
    print_rows("A draw in 100 cells, 4 × 13", ("ε", "CPU s"), seconds)


if __name__ == "__main__":
    main()
