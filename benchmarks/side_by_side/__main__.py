"""`make side-by-side`: the same release by each library, as a Markdown table.

The release has counts by region and sex, the mean income by region, a histogram of ages, and three
conditions that overlap, for 200,000 persons with one row each. ε = 1 and δ = 1e-8 for an added or
removed person. Each of the four tables is computed from a quarter of this budget only. Standard
deviations follow from the noise that each library states, by closed forms; nothing is simulated.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.side_by_side.census import PERSONS, Region, mean_std, write
from benchmarks.side_by_side.environments import (
    CannotRunError,
    Library,
    install,
    lines_of_code,
    release,
)
from benchmarks.timing import print_rows

LIBRARIES = (
    Library(name="leastnoise", script="with_leastnoise", arguments=("1e-8",)),
    Library(name="leastnoise, δ = 0", script="with_leastnoise", arguments=("0",)),
    Library(
        name="OpenDP",
        script="with_opendp",
        requirements=("opendp[polars]==0.16.0",),
    ),
    Library(
        name="diffprivlib",
        script="with_diffprivlib",
        # diffprivlib doesn't import with a later scikit-learn.
        requirements=("diffprivlib==0.6.6", "scikit-learn<1.7", "pandas"),
    ),
    Library(
        name="PipelineDP",
        script="with_pipelinedp",
        requirements=("pipeline-dp==0.3.1",),
    ),
    Library(
        name="Tumult Analytics",
        script="with_tumult",
        requirements=("tmlt.analytics==0.21.0",),
        java=True,
    ),
)
HEADER = (
    "library",
    "guarantee",
    "one row a person",
    "count",
    "mean income",
    "age band",
    "condition",
    "time",
    "lines",
)


def main() -> None:
    load = os.getloadavg()[0]
    print(
        f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"load {load:.1f} at the start; each release once."
    )
    rows: list[tuple[str, ...]] = []
    missing: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "census.csv"
        regions = write(table)
        for library in LIBRARIES:
            print(library.name, file=sys.stderr, flush=True)
            try:
                rows.append(_row(library, release(library, install(library), table), regions))
            except CannotRunError as error:
                missing.append(f"{library.name} isn't in the table: {error}.")
    print_rows(f"Standard deviations of one release of {PERSONS:,} persons", HEADER, rows)
    print("", *missing, sep="\n")


def _row(library: Library, found: dict[str, Any], regions: list[Region]) -> tuple[str, ...]:
    name, comma, setting = library.name.partition(",")
    stds = found["stds"]
    return (
        f"{name} {found['version']}{comma}{setting}",
        f"(1, {found['delta']})",
        found["one_row"],
        f"{stds['count']:.3f}",
        f"{mean_std(regions, total=stds['total'], size=stds['size']):.1f}",
        f"{stds['band']:.3f}",
        f"{stds['condition']:.3f}",
        f"{found['seconds']:.0f} s",
        str(lines_of_code(library.path)),
    )


if __name__ == "__main__":
    main()
