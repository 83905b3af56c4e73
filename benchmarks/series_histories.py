"""Random histories of a series with running totals: no period has two values, no charge is lost.

The histories are defined in tests/tables/series_histories.py. Their seeds are FIRST, FIRST + 1, …,
and the seed of a history that fails is printed. Nine of ten histories read no rows, since that
would take most of the time; they make all their writes.

python -m benchmarks.series_histories 10000 [FIRST]
"""

from __future__ import annotations

import gc
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from leastnoise.errors import LeastnoiseError
from tests.tables.series_histories import History, import_all

_FEWEST, _MOST = 2, 7  # steps of a history


def main() -> None:
    """Run the histories, and print the counts of their outcomes."""
    count, first = (*map(int, sys.argv[1:]), 1000)[:2]
    with tempfile.TemporaryDirectory() as folder:
        import_all(Path(folder))
    gc.collect()
    gc.freeze()
    counts = Counter[str]()
    for seed in range(first, first + count):
        steps = random.Random(seed).randint(_FEWEST, _MOST)
        with tempfile.TemporaryDirectory() as folder:
            history = History(Path(folder), seed, reads=seed % 10 == 0)
            try:
                history.run(steps)
            except (AssertionError, LeastnoiseError):
                print(f"The history with seed {seed} and {steps} steps fails.", flush=True)
                raise
        counts += history.counts + Counter(histories=1, steps=steps)
        if counts["histories"] % 100 == 0:
            print(dict(counts), flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
