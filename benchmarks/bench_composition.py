"""Compositions: ε at δ = 1e-5 from both sides, and noise that may be drawn k times."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import leastnoise as ln
from benchmarks.timing import median_seconds, print_rows, show
from leastnoise.accounting.composition import Composition
from leastnoise.guarantees.exact import Interval
from leastnoise.guarantees.sensitivity import L1, L2, ShiftBounds
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import TruncatedLaplace
from leastnoise.noise.question import Releases
from leastnoise.noise.steps.law import Staircase

SIGMA = 3.730631634815942  # the standard deviation of Gaussian noise with ε(1e-5) = 1
_RUNS = 5

Part = tuple[Noise, int, str]
"""Noise, the number of draws, and the sampling rate."""

CASES: tuple[tuple[str, tuple[Part, ...]], ...] = (
    *(
        (f"gaussian, k = {k:,}", ((ln.noise.Gaussian(scale=SIGMA * k**0.5), k, "1"),))
        for k in (10, 1000, 10**6)
    ),
    *(
        (f"laplace, k = {k:,}", ((ln.noise.Laplace(scale=SIGMA * k**0.5), k, "1"),))
        for k in (10, 100, 1000, 10**4)
    ),
    *(
        (f"l2, d = 10, k = {k:,}", ((ln.noise.SphericalLaplace(scale=1, dimension=10), k, "1"),))
        for k in (10, 100, 1000)
    ),
    (
        "laplace, k = 4, and gaussian, k = 3",
        ((ln.noise.Laplace(scale=3), 4, "1"), (ln.noise.Gaussian(scale=5), 3, "1")),
    ),
    (
        "laplace, k = 1,000, and gaussian, k = 300",
        ((ln.noise.Laplace(scale=100), 1000, "1"), (ln.noise.Gaussian(scale=50), 300, "1")),
    ),
    ("truncated-laplace, k = 1,000", ((TruncatedLaplace(scale=30, radius=300), 1000, "1"),)),
    ("staircase, k = 100", ((Staircase(scale=10, gamma="0.4", decay="0.1"), 100, "1"),)),
    ("laplace, k = 1,000, sampled at 0.1", ((ln.noise.Laplace(scale=1), 1000, "0.1"),)),
    ("gaussian, k = 1,000, sampled at 0.05", ((ln.noise.Gaussian(scale=2), 1000, "0.05"),)),
    (
        "l2, d = 10, k = 1,000, sampled at 0.05",
        ((ln.noise.SphericalLaplace(scale="0.5", dimension=10), 1000, "0.05"),),
    ),
)

# family, dimension, k, sampling rate
CALIBRATED = (
    ("gaussian", 1, 1000, "1"),
    ("laplace", 1, 1000, "1"),
    ("l2", 10, 8, "1"),
    ("l2", 10, 1000, "1"),
    ("staircase", 1, 100, "1"),
    ("truncated-laplace", 1, 100, "1"),
    ("truncated-staircase", 1, 100, "1"),
    ("laplace", 1, 1000, "0.1"),
    ("gaussian", 1, 1000, "0.05"),
    ("l2", 10, 1000, "0.05"),
)


def _slightly(noise: Noise, counter: itertools.count[int]) -> Noise:
    """The noise with a slightly larger scale, for which no lattice is cached."""
    return noise.scaled(1 + Fraction(next(counter), 10**9))


def _epsilon(
    parts: tuple[Part, ...], counter: itertools.count[int], accuracy: str = "1e-5"
) -> Interval:
    return Composition(
        parts=tuple(
            Releases(
                noise=_slightly(noise, counter),
                shifts=ShiftBounds.of(L1(1) if noise.norm == "l1" else L2(1)),
                compositions=count,
                sampling_rate=Fraction(rate),
            )
            for noise, count, rate in parts
        )
    ).epsilon(delta="1e-5", accuracy=accuracy)


def interval_rows(median: Callable[..., float] = median_seconds) -> list[tuple[str, ...]]:
    """One row per case: the interval of ε, its width and its time, at two accuracies."""
    rows: list[tuple[str, ...]] = []
    for title, parts in CASES:
        counter, columns = itertools.count(), [title]
        for accuracy in ("1e-5", "0"):
            interval = _epsilon(parts, counter, accuracy)
            work = partial(_epsilon, parts, counter, accuracy)
            width = (interval.upper - interval.lower) / interval.upper
            columns += [
                f"[{interval.lower:.12g}, {interval.upper:.12g}]",
                f"{width:.1e}",
                show(median(work, runs=_RUNS)),
            ]
        rows.append(tuple(columns))
    return rows


def _calibrated(case: tuple[str, int, int, str], counter: itertools.count[int]) -> ln.Mechanism:
    name, dimension, count, rate = case
    return ln.calibrate(
        name,
        epsilon="1",
        delta=Fraction(1, 10**5 + next(counter)),
        sensitivity=L1(1) if name == "laplace" else L2(1),
        dimension=dimension,
        compositions=count,
        sampling_rate=rate,
    )


def calibration_rows(median: Callable[..., float] = median_seconds) -> list[tuple[str, ...]]:
    """One row per case: the mse of one release if all meet (1, 1e-5) together, and the time."""
    rows: list[tuple[str, ...]] = []
    for case in CALIBRATED:
        name, dimension, count, rate = case
        calibrated = partial(_calibrated, case, itertools.count())
        mechanism = calibrated()
        sampled = "" if rate == "1" else f", sampled at {rate}"
        title = f"{name}, d = {dimension}, k = {count:,}{sampled}"
        rows.append((title, f"{mechanism.mse:.8g}", show(median(calibrated, runs=_RUNS))))
    return rows


def main() -> None:
    print_rows(
        "ε of compositions at δ = 1e-5",
        ("releases", "ε", "relative width", "time", "ε, accuracy = 0", "width", "time"),
        interval_rows(),
    )
    print_rows(
        "Calibration for k releases at (1, 1e-5) in all, and its proof",
        ("noise", "mse of a release", "time"),
        calibration_rows(),
    )


if __name__ == "__main__":
    main()
