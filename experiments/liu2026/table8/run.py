"""Liu, Selvi & Wiesemann (2026), Table 8: private classifiers on six data sets.

    python experiments/liu2026/table8/run.py [SPLITS]

writes errors.csv and README.md beside itself: mean errors over SPLITS random 80/20 splits of each
data set (500; a tenth of that for adult), in half an hour. Noise is drawn by leastnoise's exact
samplers from a seeded source, and splits by numpy from a seed: the table can be made again.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray
from page import page
from prepare import ALL, SQUARED_NORMS, Prepared, split

import leastnoise as ln
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.learn import StepAccountant
from leastnoise.learn.plan import Problem, TrainingPlan, plan_training
from leastnoise.learn.training import BITS, Floats, coordinate_rounds, vector_rounds, whole_features
from leastnoise.mechanism.rounding import add_noise, default_grid
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Gaussian

HERE = Path(__file__).parent
SPLITS = 500
SHARE_OF_ADULT = 10  # a split of it takes as long as a hundred of the others
EPSILON = 5
ROUNDS, PENALTY = 100, 1e-8
METHODS = (
    "gaussian",
    "quasi-gaussian",
    "gaussian-mixture",
    "theorem 3.1",
    "leastnoise",
    "no noise",
)
HEADER = (
    *("data", "method", "splits", "in", "in_error", "out", "out_error"),
    *("updates", "releases", "scale", "epsilon"),
)


@final
@dataclass(frozen=True, kw_only=True)
class Method:
    """A training: `noise` of its releases, None for none, and the true ε of them together."""

    plan: TrainingPlan
    noise: Noise | None
    epsilon: float


def problem_of(data: Prepared, noise: str) -> Problem:
    """Return the paper's problem: ε = 5, δ = 1/N², a row replaced, N the size of the whole set."""
    rows, features = data.features.shape
    return Problem(
        budget=ln.Budget(epsilon=EPSILON, delta=Fraction(1, rows**2)),
        neighbours="replace-one",
        rows=rows,
        features=features,
        rounds=ROUNDS,
        squared_norm=Fraction(SQUARED_NORMS[data.name]),
        noise=noise,
        parameters=(("modes", 10),) if noise == "gaussian-mixture" else (),
    )


def method_of(data: Prepared, name: str) -> Method:
    """Return how `name` trains on `data`."""
    if name == "leastnoise":
        plan = plan_training(replace(problem_of(data, "auto"), rounds=None))
        return Method(plan=plan, noise=plan.mechanism.noise, epsilon=EPSILON)
    if name in {"theorem 3.1", "no noise"}:
        plan = plan_training(problem_of(data, "gaussian"), updates="coordinates")
        if name == "no noise":
            return Method(plan=plan, noise=None, epsilon=math.inf)
        law = Gaussian(scale=Fraction(theorem_scale(plan, len(data.labels))), dimension=1)
        return Method(plan=plan, noise=law, epsilon=true_epsilon(law, plan.releases, data))
    plan = plan_training(problem_of(data, name), updates="coordinates")
    return Method(plan=plan, noise=plan.mechanism.noise, epsilon=EPSILON)


def theorem_scale(plan: TrainingPlan, rows: int) -> float:
    """Return σ of a sum by Mangold et al. (2022), Theorem 3.1: σ² = 12 T K ln(1/δ)/ε², L_j = 1."""
    return math.sqrt(12 * plan.releases * math.log(rows**2)) / EPSILON


def true_epsilon(law: Noise, releases: int, data: Prepared) -> float:
    """Return ε of so many releases at δ = 1/N², where a row moves each by 2 at most."""
    steps = StepAccountant(noise_multiplier=law.scale / 2, steps=releases)
    return steps.epsilon(delta=Fraction(1, len(data.labels) ** 2)).upper


def draws(method: Method, seed: int) -> Callable[[Floats], Floats]:
    """Return what adds the method's noise to sums, drawn exactly and from `seed`."""
    if method.noise is None:
        return lambda sums: sums / 2**BITS
    law, releases, entropy = method.noise, method.plan.releases, InsecureSeededEntropy(seed)
    if law.dimension > 1:
        grid = method.plan.mechanism.grid
        return lambda sums: sums / 2**BITS + add_noise(law, grid, 0 * sums, entropy=entropy)
    cells = CellGeometry(count=releases)  # all releases' noise in one draw
    every = add_noise(law, default_grid(law), np.zeros(releases), geometry=cells, entropy=entropy)
    kept = iter(every)
    return lambda sums: sums / 2**BITS + next(kept)


def permutations(size: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield the permutations of a training."""
    order = np.random.default_rng(seed)
    while True:
        yield order.permutation(size)


def trained(method: Method, whole: Floats, labels: Floats, seed: int) -> Floats:
    """Return the coefficients by `method` on rows of whole numbers."""
    noisy, plan, rows = draws(method, seed), method.plan, len(labels)
    if plan.updates == "vectors":
        return vector_rounds(whole, labels, plan=plan, rows=rows, penalty=PENALTY, noisy=noisy)
    order = permutations(whole.shape[1], seed)
    return coordinate_rounds(
        whole, labels, plan=plan, rows=rows, penalty=PENALTY, order=order, noisy=noisy
    )


def errors_of(data: Prepared, method: Method, splits: int) -> NDArray[np.float64]:
    """Return in- and out-of-sample errors in per cent, shape (splits, 2)."""
    whole = whole_features(data.features, squared_norm=Fraction(SQUARED_NORMS[data.name]))
    buffer = np.empty((splits, 2))
    for seed in range(splits):
        inside, outside = split(len(data.labels), seed)
        weights = trained(method, whole[inside], data.labels[inside], seed)
        for index, rows in enumerate((inside, outside)):
            wrong = data.labels[rows] * (whole[rows] @ weights) <= 0
            buffer[seed, index] = 100 * wrong.mean()
    return buffer


def line_of(data: Prepared, name: str, splits: int) -> dict[str, str]:
    """Return a line of errors.csv."""
    method = method_of(data, name)
    result = errors_of(data, method, splits)
    means, spread = result.mean(axis=0), result.std(axis=0, ddof=1) / math.sqrt(splits)
    return {
        "data": data.name,
        "method": name,
        "splits": str(splits),
        "in": f"{means[0]:.3f}",
        "in_error": f"{spread[0]:.3f}",
        "out": f"{means[1]:.3f}",
        "out_error": f"{spread[1]:.3f}",
        "updates": method.plan.updates,
        "releases": str(method.plan.releases),
        "scale": "0" if method.noise is None else f"{float(method.noise.scale):.6g}",
        "epsilon": f"{method.epsilon:.6g}",
    }


def main(splits: int = SPLITS) -> None:
    """Write errors.csv and README.md."""
    lines: list[dict[str, str]] = []
    for name, prepared in ALL.items():
        data = prepared()
        count = max(2, splits // SHARE_OF_ADULT) if name == "adult" else splits
        for method in METHODS:
            lines.append(line_of(data, method, count))
            print(*lines[-1].values(), flush=True)
    with (HERE / "errors.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, HEADER, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    (HERE / "README.md").write_text(page(lines), encoding="utf-8")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
