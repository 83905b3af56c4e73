"""Publication and checks of tables by levels and other columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leastnoise.errors import CertificateRejected
from leastnoise.tables.answers.sums.publish_sums import check_agreement, draw_estimate, whole_steps
from leastnoise.tables.layout.layout import EXACT_SUMS
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
    """Draw noise and return the published tables, from the exact integers of the cells.

    The finest table is rounded to whole steps of a grid. All other tables are exact sums of it.
    """
    strategy, grid = whole.strategy, float(whole.strategy.grid)
    certificates = whole.measured.values()
    estimate = draw_estimate(strategy, certificates, cells, bits=whole.cells.bits)
    steps = whole_steps(estimate / grid)
    return [
        table_of(part.layout, strategy.add_up(steps, table) * grid, part.noise_errors)
        for table, part in enumerate(parts)
    ]


def check_nested(whole: NestedMargins, folder: Path, parts: Sequence[NoisyPart], kind: str) -> None:
    """Raise CertificateRejected unless any two tables agree in all sums that both contain.

    Counts have to be multiples of the strategy's grid. `check_table` checked each table by itself
    before.
    """
    nested, grid = whole.nested, float(whole.strategy.grid)
    numbers: list[NDArray[np.int64]] = []
    for part in parts:
        columns = read_table(folder / f"{part.name}.{kind}", [part.layout])
        label = part.layout.statistics[0].label
        steps = np.array(columns[label], dtype=float) / grid  # a power of two: exact
        if (steps != np.rint(steps)).any() or np.abs(steps).sum() > EXACT_SUMS:
            why = f"has a count that isn't a multiple of {whole.strategy.grid}"
            raise CertificateRejected(f"The table {part.name}.{kind} {why}.")
        numbers.append(steps.astype(np.int64))

    def add_up(table: int, shared: int) -> list[float]:
        return whole.strategy.sum_shared(numbers[table], table, shared).tolist()

    check_agreement(whole, kind, nested.tables, nested.meet, add_up)
