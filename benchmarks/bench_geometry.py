"""The CPU time of correlated noise, compared with spherical noise of the same dimension.

python -m benchmarks.bench_geometry
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks.timing import print_rows, show
from leastnoise.design.programs.ellipse import least_variance
from leastnoise.guarantees.structured import CountingQueries
from leastnoise.mechanism.rounding import add_noise, default_grid
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.noise.classic.law import Gaussian
from leastnoise.noise.radial.law import SphericalLaplace

DIMENSIONS = (10**3, 10**6)


def _least(*works: Callable[[], object], runs: int) -> list[float]:
    """The least CPU time of each of `works`. They run in turn, so that all meet the same load."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(runs):
        for work, result in zip(works, times, strict=True):
            started = time.process_time()
            work()
            result.append(time.process_time() - started)
    return [min(time) for time in times]


def _row(family: type[Gaussian | SphericalLaplace], dimension: int, kind: str) -> tuple[str, ...]:
    geometry = least_variance(CountingQueries(dimension=dimension))
    noise = family(scale="3.3", dimension=dimension)
    grid = default_grid(noise)
    counts = ScaledIntegers(numerators=np.arange(dimension, dtype=np.int64), bits=0)
    values = counts if kind == "counts" else np.linspace(-50, 50, dimension)
    spherical, correlated = _least(
        lambda: add_noise(noise, grid, values),
        lambda: add_noise(noise, grid, values, geometry=geometry),
        runs=300 if dimension < 10**5 else 15,
    )
    ratio = f"{correlated / spherical:.2f}"
    return (
        f"{noise.name}, d = {dimension:,}, {kind}",
        show(spherical),
        show(correlated),
        ratio,
        "1.3",
    )


def main() -> None:
    rows = [
        _row(family, dimension, kind)
        for dimension in DIMENSIONS
        for family in (Gaussian, SphericalLaplace)
        for kind in ("counts", "floats")
    ]
    header = ("noise", "spherical", "correlated", "ratio", "target")
    print_rows("Correlated vectors beside spherical ones, CPU time", header, rows)


if __name__ == "__main__":
    main()
