"""How long private training takes: calibration of 1,500 releases by family, and a fit on adult.

python -m benchmarks.bench_learning
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import leastnoise as ln
from benchmarks.timing import median_seconds, print_rows, show
from leastnoise.errors import NotApplicable
from leastnoise.learn import LogisticRegression
from leastnoise.noise.registry import all_families

ADULT = Path(__file__).parents[1] / "experiments" / "liu2026" / "table8"
ROWS, RELEASES = 45_222, 1500
CALIBRATION, FIT = "2 s", "20 s"


def _calibrations() -> list[tuple[str, ...]]:
    rows = []
    for family in all_families():
        modes = {"modes": 10} if family.name == "gaussian-mixture" else None
        started = time.perf_counter()  # once: a second time much would be remembered
        try:
            found = ln.calibrate(
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
        rows.append((family.name, f"{found.mse:.6g}", seconds, CALIBRATION))
    return rows


def _fits() -> list[tuple[str, ...]]:
    sys.path.insert(0, str(ADULT))
    from prepare import adult  # type: ignore[import-not-found]  # pyright: ignore

    data = adult()
    features = data.features[:, 1:]  # the classifier has an intercept of its own
    rows = []
    for updates in ("coordinates", "vectors", "auto"):
        model = LogisticRegression(
            epsilon=5, classes=(-1, 1), max_norm="3.6055512755", updates=updates, noise="gaussian"
        )

        def fitted(model: LogisticRegression = model) -> object:
            return model.fit(features, data.labels)

        seconds = median_seconds(fitted, runs=3)
        error = 1 - model.score(features, data.labels)
        rows.append((f"adult, {updates}", f"{100 * error:.1f} %", show(seconds), FIT))
    return rows


def main() -> None:
    print_rows(
        "Calibration of 1,500 releases at (5, 1/45,222²)",
        ("family", "mse", "time", "target"),
        _calibrations(),
    )
    print_rows("A private fit", ("data, updates", "error", "time", "target"), _fits())


if __name__ == "__main__":
    main()
