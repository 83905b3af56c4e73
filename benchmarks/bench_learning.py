"""The time of private training, and the quality of models compared with objective perturbation.

    python -m benchmarks.bench_learning [SPLITS]

Errors and log losses are out of sample, means over random 80/20 splits (20 splits; 4 for the two
large data sets). leastnoise and the tight peer have δ = 1/n² for n training rows. diffprivlib has δ
= 0, since it has no other option. A difference counts if Student's paired test finds it at 95 %.
Linear regressions are compared with diffprivlib's and with a regression without noise (`python -m
benchmarks.regression_peers` prints only these, in a minute or two). This isn't a part of `make
bench`: it takes about ten minutes of processor time, and the time of diffprivlib, whose environment
is made on demand.
"""

from __future__ import annotations

import math
import sys
import time
import warnings

import numpy as np
from scipy.special import stdtrit

import leastnoise as ln
from benchmarks.learning_peers import (
    SQUARED_NORMS,
    Floats,
    Split,
    by_diffprivlib,
    data_of,
    split_of,
    tightly,
)
from benchmarks.regression_peers import print_regressions
from benchmarks.timing import median_seconds, print_rows, show
from leastnoise.errors import NotApplicable
from leastnoise.learn import LogisticRegression
from leastnoise.noise.registry import all_families

ROWS, RELEASES = 45_222, 1500
CALIBRATION, FIT = "2 s", "20 s"
EPSILONS = (0.1, 1.0, 10.0)
SPLITS, SHARE_OF_LARGE = 20, 5
LARGE = ("visits", "adult")
METHODS = ("leastnoise, δ = 1/n²", "diffprivlib, δ = 0", "objective, tightly, δ = 1/n²")


def _calibrations() -> list[tuple[str, ...]]:
    rows = []
    for family in all_families():
        modes = {"modes": 10} if family.name == "gaussian-mixture" else None
        started = time.perf_counter()  # once, because a second run would use caches
        try:
            mechanism = ln.calibrate(
                family.name,
                epsilon=5,
                delta=str(1 / ROWS**2),
                sensitivity=ln.L2(2),
                compositions=RELEASES,
                parameters=modes,
            )
        except NotApplicable:
            continue
        seconds = show(time.perf_counter() - started)
        rows.append((family.name, f"{mechanism.mse:.6g}", seconds, CALIBRATION))
    return rows


def _fits() -> list[tuple[str, ...]]:
    features, labels = data_of("adult")
    rows = []
    for updates in ("coordinates", "vectors", "auto"):
        model = LogisticRegression(
            epsilon=5, classes=(-1, 1), max_norm="3.6055512755", updates=updates, noise="gaussian"
        )

        def fitted(model: LogisticRegression = model) -> object:
            return model.fit(features, labels)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # coordinates don't converge
            seconds = median_seconds(fitted, runs=3)
        error = 1 - model.score(features, labels)
        rows.append((f"adult, {updates}", f"{100 * error:.1f} %", show(seconds), FIT))
    return rows


def _ours(split: Split, epsilon: float) -> Floats:
    norm = f"{split.norm + 1e-9:.9f}"
    model = LogisticRegression(epsilon=epsilon, classes=(-1, 1), max_norm=norm)
    model.fit(split.features, split.labels)
    return np.append(model.coef_[0], model.intercept_)


def _scored(name: str, splits: int) -> Floats:
    """Errors and log losses, an array of shape (splits, ε, methods, 2)."""
    buffer = np.empty((splits, len(EPSILONS), len(METHODS), 2))
    for seed in range(splits):
        split = split_of(name, seed)
        theirs = by_diffprivlib(split, EPSILONS)
        for index, epsilon in enumerate(EPSILONS):
            tight = tightly(split, epsilon, np.random.default_rng([seed, index]))
            every = (_ours(split, epsilon), theirs[index], tight)
            buffer[seed, index] = [split.scores(weights) for weights in every]
    return buffer


def _verdict(found: Floats, other: int) -> str:
    """A text: is the error or the log loss better or worse than the peer's, by Student's test?"""
    words = []
    for which, measure in enumerate(("error", "log loss")):
        by = found[:, 0, which] - found[:, other, which]
        sure = stdtrit(len(by) - 1, 0.975) * by.std(ddof=1) / math.sqrt(len(by))
        if abs(by.mean()) > sure:
            words.append(f"{measure} {'worse' if by.mean() > 0 else 'better'}")
    return ", ".join(words) or "the same"


def _models(splits: int) -> list[tuple[str, ...]]:
    rows = []
    for name in SQUARED_NORMS:
        count = max(3, splits // SHARE_OF_LARGE) if name in LARGE else splits
        result = _scored(name, count)
        for index, epsilon in enumerate(EPSILONS):
            here = result[:, index]
            cells = [f"{error:.2f} %, {loss:.4f}" for error, loss in here.mean(axis=0)]
            against = [_verdict(here, other) for other in (1, 2)]
            rows.append((f"{name}, {epsilon:g}", *cells, *against))
            sys.stderr.write(" | ".join(rows[-1]) + "\n")
    return rows


def main(splits: int = SPLITS) -> None:
    print_rows(
        "Calibration of 1,500 releases at (5, 1/45,222²)",
        ("family", "mse", "time", "target"),
        _calibrations(),
    )
    print_rows("A private fit", ("data, updates", "error", "time", "target"), _fits())
    print_rows(
        "Out of sample: error and log loss, and leastnoise against each of the others",
        ("data, ε", *METHODS, "against diffprivlib", "against it tightly"),
        _models(splits),
    )
    print_regressions()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
