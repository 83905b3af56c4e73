"""`make bench`: all benchmarks except learning, as Markdown tables."""

from __future__ import annotations

import os
import platform
import sys

from benchmarks import (
    bench_audit,
    bench_composition,
    bench_generalized_gamma,
    bench_geometry,
    bench_ledger,
    bench_margins,
    bench_plans,
    bench_quantiles,
    bench_sampling,
    bench_scan,
    bench_search,
    bench_selection,
    bench_series,
    bench_sources,
    bench_startup,
    bench_tables,
    bench_unlisted,
)


def main() -> None:
    print(
        f"Python {platform.python_version()}, {platform.machine()}, "
        f"{os.cpu_count()} cores; medians of several runs."
    )
    for bench in (
        bench_search,
        bench_generalized_gamma,
        bench_startup,
        bench_sampling,
        bench_geometry,
        bench_composition,
        bench_ledger,
        bench_margins,
        bench_plans,
        bench_quantiles,
        bench_selection,
        bench_series,
        bench_sources,
        bench_scan,
        bench_tables,
        bench_unlisted,
        bench_audit,
    ):
        bench.main()


if __name__ == "__main__":
    sys.exit(main())
