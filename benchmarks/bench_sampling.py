"""Exact noise on 10^6 coordinates or cells, compared with numpy and OpenDP's exact Gaussian.

python -m benchmarks.bench_sampling
"""

from __future__ import annotations

import time
from importlib.util import find_spec

import numpy as np

from benchmarks.timing import median_seconds, print_rows, show
from leastnoise.guarantees.bodies import cells as bodies
from leastnoise.guarantees.bodies.cells import AtMost
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.plain import Box, Segment
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.guarantees.sensitivity import L2
from leastnoise.mechanism.rounding import add_noise, default_grid
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.noise.base import Noise
from leastnoise.noise.bodies.law.k_norm import KNorm, KStaircase
from leastnoise.noise.bodies.law.two_sided import TwoSidedStaircase
from leastnoise.noise.classic.law import FlippedHuber, Gaussian, Laplace, TruncatedLaplace
from leastnoise.noise.lattice.law import DiscreteStaircase, Optimal
from leastnoise.noise.radial.law import SphericalLaplace
from leastnoise.noise.steps.law import Staircase, TruncatedStaircase, Tulap
from leastnoise.selection.public import calibrate

DIMENSION = 10**6
PEER_DIMENSION = 10**4  # the peer takes as long for these
SCALE = "3.3"
_CALLS = 500
TARGETS = {"gaussian": "80 ns", "laplace": "", "l2": "450 ns"}


def _per_coordinate(seconds: float, dimension: int) -> str:
    return f"{seconds * 1e9 / dimension:,.1f} ns"


def _ours() -> list[tuple[str, ...]]:
    floats = np.linspace(-50, 50, DIMENSION)
    integers = ScaledIntegers(numerators=np.arange(DIMENSION, dtype=np.int64), bits=20)
    rows = []
    for family in (Gaussian, Laplace, SphericalLaplace):
        noise: Noise = family(scale=SCALE, dimension=DIMENSION)
        grid = default_grid(noise)
        for kind, values in (("floats", floats), ("integers", integers)):
            seconds = median_seconds(lambda v=values, n=noise, g=grid: add_noise(n, g, v), runs=7)
            name = f"leastnoise, {noise.name}, {kind}"
            rows.append((name, _per_coordinate(seconds, DIMENSION), TARGETS[noise.name]))
    gaussian = Gaussian(scale=SCALE)
    seconds = median_seconds(lambda: add_noise(gaussian, default_grid(gaussian), 0.5), runs=101)
    rows.append(("leastnoise, gaussian, one number", _per_coordinate(seconds, 1), ""))
    return rows


def _cells() -> list[tuple[str, ...]]:
    """Noise for one number: in each of 10^6 cells, and once."""
    floats, cells = np.linspace(-50, 50, DIMENSION), CellGeometry(count=DIMENSION)
    masses = [int(10**12 * 0.6**k) for k in range(40)]
    laws: tuple[Noise, ...] = (
        Staircase(scale=1, gamma="0.4", decay="0.5"),
        TruncatedStaircase(scale=1, gamma="0.4", radius="21.4", decay="0.5"),
        Tulap(scale=1, radius="21.3", decay="0.5"),
        DiscreteStaircase(scale=1, cells=1, masses=masses),
        Optimal(scale=1, cells=4, masses=masses),
        TruncatedLaplace(scale=2, radius=10),
        FlippedHuber(scale=2, alpha="0.5", gamma="1.2"),
    )
    rows = []
    for noise in laws:
        grid = default_grid(noise)
        bulk = median_seconds(
            lambda n=noise, g=grid: add_noise(n, g, floats, geometry=cells), runs=3
        )
        item = median_seconds(lambda n=noise, g=grid: add_noise(n, g, 0.5), runs=101)
        rows += [
            (f"leastnoise, {noise.name}, cells", _per_coordinate(bulk, DIMENSION), "1,000 ns"),
            (f"leastnoise, {noise.name}, one number", _per_coordinate(item, 1), ""),
        ]
    return rows


def _bodies() -> list[tuple[str, ...]]:
    """Noise in the shape of a body for 10^6 numbers, and for a few numbers."""
    interval, box = Segment(bound=1), Box(bounds=[1, 1])
    cells = bodies.Cells(bodies=[interval], copies=[DIMENSION])
    pairs = bodies.Cells(bodies=[box], copies=[DIMENSION // 2])
    mean = bodies.Cells(bodies=[box, interval], copies=[1, 1])
    means = bodies.Cells(bodies=[mean], copies=[10**5])
    laws: dict[str, Noise] = {
        "k-norm, a count and a mean in 10^5 cells": KNorm(scale=1, body=means),
        "k-staircase, a count and a mean in 10^5 cells": KStaircase(
            scale=1, body=means, gamma="0.5", decay=1
        ),
        "k-norm, 10^6 cells": KNorm(scale=1, body=cells),
        "k-norm, 5·10^5 cells of two numbers": KNorm(scale=1, body=pairs),
        "k-staircase, 10^6 cells": KStaircase(scale=1, body=cells, gamma="0.5", decay=1),
        "k-norm, 10^5 counts": KNorm(scale=1, body=Signed(of=Counts(queries=10**5))),
        "k-norm, at most 3 of 10^5": KNorm(scale=1, body=AtMost(most=3, cells=10**5, of=interval)),
        "k-staircase, a box of 3": KStaircase(scale=1, body=Box(bounds=[1] * 3), gamma=1, decay=1),
        "two-sided-staircase, 10 counts": TwoSidedStaircase(
            scale=1, of=Counts(queries=10), core=3, decay=1
        ),
    }
    rows = []
    for name, noise in laws.items():
        d, grid = noise.dimension, default_grid(noise)
        zeros = np.zeros(d)
        seconds = median_seconds(
            lambda n=noise, g=grid, v=zeros: add_noise(n, g, v), runs=3 if d > 100 else 101
        )
        target = "1,000 ns" if d > 100 else ""
        rows.append((f"leastnoise, {name}", _per_coordinate(seconds, d), target))
    return rows


def _calls() -> list[tuple[str, ...]]:
    """The CPU time of a call of `release` for one number, by an existing mechanism."""
    rows = []
    for name in ("gaussian", "laplace", "staircase", "truncated-staircase", "gaussian-mixture"):
        delta = 0 if name in {"laplace", "staircase"} else "1e-6"
        mechanism = calibrate(name, epsilon=1, delta=delta, sensitivity=L2(1))
        mechanism.release(0.5)
        started = time.process_time()
        for _ in range(_CALLS):
            mechanism.release(0.5)
        spent = (time.process_time() - started) / _CALLS
        rows.append((f"leastnoise, {name}, `release` of one number", show(spent), "0.15 ms"))
    return rows


def _numpy() -> tuple[str, ...]:
    generator = np.random.default_rng()
    values = np.linspace(-50, 50, DIMENSION)
    seconds = median_seconds(lambda: values + generator.normal(0, 3.3, DIMENSION), runs=7)
    return "numpy, gaussian (floats: not private)", _per_coordinate(seconds, DIMENSION), ""


def _opendp() -> tuple[str, ...]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    mechanism = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(SCALE))
    values = np.linspace(-50, 50, PEER_DIMENSION).tolist()
    seconds = median_seconds(lambda: mechanism(values), runs=3)
    return "OpenDP, exact gaussian", _per_coordinate(seconds, PEER_DIMENSION), ""


def main() -> None:
    rows = [*_ours(), *_cells(), *_bodies(), *_calls(), _numpy()]
    if find_spec("opendp"):
        rows.append(_opendp())
    print_rows("Noise, a coordinate", ("sampler", "time", "target"), rows)


if __name__ == "__main__":
    main()
