"""Tables, splits and diffprivlib's model for the linear regressions of bench_learning.

    python -m benchmarks.regression_peers [SPLITS]

prints only this part of the benchmark, in about a minute.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.learning_peers import DIFFPRIVLIB
from benchmarks.side_by_side.environments import install
from benchmarks.timing import print_rows
from experiments.liu2026.table8 import prepare
from leastnoise.learn import LinearRegression

Floats = NDArray[np.float64]
BOUNDS = {
    "income": ([17, 1, 1, 0, 0, 0], [90, 16, 99, 1, 1, 1]),
    "simulated": ([0, 0, -4, -30], [10, 20, 4, 60]),
}
"""The least and the largest value of each column, the target last."""
EPSILONS = (0.1, 1.0, 10.0)
SPLITS = 10
METHODS = ("leastnoise, δ = 0", "leastnoise, δ = 1/n²", "diffprivlib, δ = 0", "no noise")
_SIMULATED = 10_000


@cache
def _columns_of(name: str) -> Floats:
    if name == "simulated":  # with a coefficient of determination of about .8
        draws = np.random.default_rng(31)
        first = draws.uniform(0, 10, _SIMULATED)
        second = draws.gamma(2, 2, _SIMULATED)
        third = 0.3 * (first - 5) + draws.normal(0, 1, _SIMULATED)
        target = 3 * first + second - 2 * third + draws.normal(0, 4, _SIMULATED)
        return np.column_stack([first, second, third, target])
    rows = []  # Adult: income above 50,000, by age, schooling, hours, sex and marriage
    for file in ("adult.data", "adult.test"):
        text = (prepare.FOLDER / "adult" / file).read_text(encoding="utf-8")
        for line in text.splitlines():
            fields = [field.strip() for field in line.split(",")]
            if len(fields) == 15 and fields[0].isdigit():
                numbers = [float(fields[index]) for index in (0, 4, 12)]
                married = fields[5].startswith("Married-civ")
                rows.append([*numbers, fields[9] == "Male", married, fields[14].startswith(">50K")])
    return np.array(rows, dtype=float)


def _determined(weights: Floats, table: Floats) -> float:
    """R² of coefficients on a table; the last coefficient is the intercept."""
    target = table[:, -1]
    left = target - table[:, :-1] @ weights[:-1] - weights[-1]
    return 1 - float(left @ left / ((target - target.mean()) ** 2).sum())


def _by_diffprivlib(name: str, table: Floats) -> list[Floats]:
    """diffprivlib's coefficients at each ε, the intercept last."""
    python = install(DIFFPRIVLIB)
    script = Path(__file__).parent / "side_by_side" / "with_diffprivlib_regression.py"
    low, high = BOUNDS[name]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "split.npz"
        np.savez(file, features=table[:, :-1], target=table[:, -1], low=low, high=high)
        command = [python, script, file, json.dumps(EPSILONS)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [np.array(load) for load in json.loads(done.stdout)]


def _ours(name: str, table: Floats, epsilon: float, delta: int | None) -> Floats:
    pairs = list(zip(*BOUNDS[name], strict=True))
    model = LinearRegression(
        epsilon=epsilon, delta=delta, bounds=pairs[:-1], target_bounds=pairs[-1]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about directions that noise hides
        model.fit(table[:, :-1], table[:, -1])
    return np.append(model.coef_, model.intercept_)


def print_regressions(splits: int = SPLITS) -> None:
    """Print R² out of sample: its mean and its smallest value over random 80/20 splits."""
    rows = []
    for name in BOUNDS:
        table = _columns_of(name)
        buffer = np.empty((splits, len(EPSILONS), len(METHODS)))
        for seed in range(splits):
            inside, outside = prepare.split(len(table), seed)
            train, test = table[inside], table[outside]
            theirs = _by_diffprivlib(name, train)
            design = np.column_stack([train[:, :-1], np.ones(len(train))])
            exact = np.asarray(np.linalg.lstsq(design, train[:, -1], rcond=None)[0], np.float64)
            for index, epsilon in enumerate(EPSILONS):
                ours = (_ours(name, train, epsilon, delta) for delta in (0, None))
                every = (*ours, theirs[index], exact)
                buffer[seed, index] = [_determined(weights, test) for weights in every]
        for index, epsilon in enumerate(EPSILONS):
            here = buffer[:, index]
            cells = [
                f"{mean:.3f} ({least:.3f})"
                for mean, least in zip(here.mean(axis=0), here.min(axis=0), strict=True)
            ]
            rows.append((f"{name}, {epsilon:g}", *cells))
    print_rows("Linear regression out of sample: R², mean (least)", ("data, ε", *METHODS), rows)


if __name__ == "__main__":
    print_regressions(*map(int, sys.argv[1:]))
