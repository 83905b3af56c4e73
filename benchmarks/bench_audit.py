"""The time of an audit, and the violations that its tests can detect, by computation.

python -m benchmarks.bench_audit
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import norm

import leastnoise as ln
from benchmarks.timing import median_seconds, print_rows, show
from leastnoise.audit.audit import DETECTORS
from leastnoise.audit.power import detectable_below, detectable_rate

DRAWS = 10**6
TARGET = "10 s"
LEVEL = 1e-9 / 6 / 40  # of one bound: six detectors, about twenty events with two bounds each


def _times() -> list[tuple[str, ...]]:
    gaussian = ln.calibrate("gaussian", epsilon=1, delta="1e-5", sensitivity=ln.L2(1))
    laplace = ln.calibrate("laplace", epsilon=1, sensitivity=ln.L1(1))
    generator = np.random.default_rng(1)

    def numpys(value: float, count: int) -> Any:
        return value + generator.laplace(0, 10, count)

    claim = ln.Claim(epsilon="0.1", sensitivity=ln.L1(1), noise=ln.noise.Laplace(scale=10))
    work: list[tuple[str, Callable[[], object]]] = [
        ("leastnoise, gaussian", lambda: ln.audit_mechanism(gaussian, draws=DRAWS)),
        ("leastnoise, laplace", lambda: ln.audit_mechanism(laplace, draws=DRAWS)),
        ("numpy, laplace", lambda: ln.audit_mechanism(numpys, claim, draws=DRAWS)),
    ]
    rows = [(name, show(median_seconds(item, runs=3)), TARGET) for name, item in work]
    for name in DETECTORS:
        seconds = median_seconds(
            lambda name=name: ln.audit_mechanism(gaussian, draws=DRAWS, detectors=[name]), runs=3
        )
        rows.append((f"leastnoise, gaussian, {name} alone", show(seconds), ""))
    return rows


def _distinguishes(draws: int, *, smaller: float) -> bool:
    """True if a half-line shows, with 99 %, that Gaussian noise `smaller` by a share isn't private.

    The claim is (1, 1e-5)-DP. Half of the draws choose the event, and half test it.
    """
    scale = float(
        ln.calibrate("gaussian", epsilon=1, delta="1e-5", sensitivity=ln.L2(1)).noise.scale
    )
    sigma = scale * (1 - smaller)
    for t in np.linspace(0, 6, 121):
        other = float(norm.sf(t + 1 / sigma))
        needed = detectable_rate(
            other, (draws // 2, draws // 2), epsilon=1.0, delta=1e-5, level=LEVEL
        )
        if needed is not None and norm.sf(t) >= needed:
            return True
    return False


def _fits_worse(draws: int, *, smaller: float) -> bool:
    """True if some threshold shows with probability 99 % that there is less noise than claimed."""
    result = (
        detectable_below(float(norm.sf(t)), 9 * draws // 10, level=LEVEL, miss=0.01)
        for t in np.linspace(0.2, 3, 57)
    )
    seen = (rate is not None and norm.sf(t / (1 - smaller)) <= rate
            for rate, t in zip(result, np.linspace(0.2, 3, 57), strict=True))  # fmt: skip
    return any(seen)


def _draws_needed(seen: Callable[[int], bool]) -> str:
    for exponent in range(8, 61):
        draws = int(10 ** (exponent / 4))
        if draws > 10**12:
            break
        if seen(draws):
            return f"{draws:,.0f}"
    return "more than 10^12"


def _power() -> list[tuple[str, ...]]:
    return [
        (
            f"{100 * smaller:g} %",
            _draws_needed(lambda draws, smaller=smaller: _distinguishes(draws, smaller=smaller)),
            _draws_needed(lambda draws, smaller=smaller: _fits_worse(draws, smaller=smaller)),
        )
        for smaller in (0.02, 0.05, 0.1, 0.2)
    ]


def main() -> None:
    print_rows(f"An audit in {DRAWS:,} draws an input", ("mechanism", "time", "target"), _times())
    print_rows(
        "Draws an input to see, to 99 %, that a Gaussian for (1, 1e-5) has less noise than claimed",
        ("less noise", "by δ at ε = 1 (distinguishing)", "by P(Y > u) (noise)"),
        _power(),
    )


if __name__ == "__main__":
    main()
