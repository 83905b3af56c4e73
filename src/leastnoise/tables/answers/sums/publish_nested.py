"""Tables by levels and other columns: from exact cells to published tables, and their checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leastnoise.errors import CertificateRejected
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.answers.sums.publish_sums import check_agreement, whole_steps
from leastnoise.tables.layout.layout import EXACT_SUMS, INT64_END
from leastnoise.tables.results.table import table_of
from leastnoise.tables.results.table_files import read_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from leastnoise.tables.answers.noisy import NoisyPart
    from leastnoise.tables.answers.sums.nested import NestedMargins
    from leastnoise.tables.results.table import Table


def publish_nested(
    whole: NestedMargins, parts: Sequence[NoisyPart], cells: NDArray[np.int64]
) -> list[Table]:
    """The published tables, given the exact integers of the cells.

    Noise goes into each measured table; the rest is post-processing. A sum that int64 can't hold
    ends where int64 does, so that a unit moves it by no more. The finest table is the one with
    whole noise, or else the estimated cells. It is rounded to whole steps of a grid, and all tables
    are its sums, exactly.
    """
    nested, grid, finest = whole.nested, float(whole.grid), whole.finest
    last = nested.every[-1]
    exact = whole.nodes_first(cells.astype(object), last)
    noisy: dict[int, NDArray[np.float64]] = {}
    for table, claim in whole.measured.items():
        sums = np.clip(nested.sums(exact, table, of=last), 1 - INT64_END, INT64_END - 1)
        integers = sums.reshape(-1).astype(np.int64)
        values = ScaledIntegers(numerators=integers, bits=whole.cells.bits)
        noisy[table] = Mechanism(claim).release(values).values
    numbers = noisy[finest] if whole.is_whole else nested.estimate(whole.information, noisy)
    steps = whole_steps(numbers / grid)
    tables: list[Table] = []
    for part, table in zip(parts, nested.tables, strict=True):
        counts = whole.in_order(nested.sums(steps, table, of=finest), table) * grid
        tables.append(table_of(part.layout, counts, part.noise_errors))
    return tables


def check_nested(whole: NestedMargins, folder: Path, parts: Sequence[NoisyPart], kind: str) -> None:
    """Raise CertificateRejected unless tables have the same numbers in all tables that they share.

    `check_table` has checked the tables, each by itself.
    """
    nested, grid = whole.nested, float(whole.grid)
    numbers: list[NDArray[np.int64]] = []
    for part, table in zip(parts, nested.tables, strict=True):
        columns = read_table(folder / f"{part.name}.{kind}", [part.layout])
        label = part.layout.statistics[0].label
        steps = np.array(columns[label], dtype=float) / grid  # a power of two: exact
        if (steps != np.rint(steps)).any() or np.abs(steps).sum() > EXACT_SUMS:
            why = f"has a count that isn't a multiple of {whole.grid}"
            raise CertificateRejected(f"The table {part.name}.{kind} {why}.")
        numbers.append(whole.nodes_first(steps.astype(np.int64), table))

    def add_up(index: int, shared: int) -> list[float]:
        sums = nested.sums(numbers[index], shared, of=nested.tables[index])
        return sums.reshape(-1).tolist()

    check_agreement(whole, kind, nested.tables, nested.meet, add_up)
