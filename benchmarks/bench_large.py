"""Exact noise on very large vectors, in chunks: seconds on one core, and the peak memory.

python -m benchmarks.bench_large [DIMENSION …]
"""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np

import leastnoise as ln
from benchmarks.bench_sources import most_memory

_DIMENSIONS = ("100000000", "1000000000")
_CHUNK = 10**6


def main() -> None:
    """Print a line per family and dimension, each from a separate process."""
    for dimension in sys.argv[1:] or _DIMENSIONS:
        for family in ("gaussian", "l2"):
            command = [sys.executable, "-m", "benchmarks.bench_large", "one", family, dimension]
            print(
                subprocess.run(command, capture_output=True, text=True, check=True).stdout, end=""
            )


def _one(family: str, dimension: int) -> None:
    started = time.perf_counter()
    noise = ln.calibrate(
        family, epsilon="1", delta="1e-6", sensitivity=ln.L2(1), dimension=dimension
    )
    result, total, chunk = time.perf_counter(), 0.0, np.zeros(_CHUNK)
    for part in noise.release_chunks(chunk for _ in range(dimension // _CHUNK)):
        total += float(part @ part)
    taken = time.perf_counter() - result
    memory = most_memory()
    print(
        f"{family:<10}{dimension:>14,} coordinates {taken:>7.1f} s, {memory:>6,.0f} MB, "
        f"calibrated in {result - started:.1f} s; mean square over its expectation "
        f"{total / noise.mse:.5f}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        _one(sys.argv[2], int(sys.argv[3]))
    else:
        main()
