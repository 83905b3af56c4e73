"""Histograms with cumulative counts: from exact bins to noisy ones, and their running sums."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.errors import CertificateRejected
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.publish.summed.margins import whole_steps
from leastnoise.tables.publish.summed.whole_counts import check_whole_counts, put_whole_counts
from leastnoise.tables.publish.table_files import read_table
from leastnoise.tables.query.results import table_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from leastnoise.tables.plan.plan import BlockPlan
    from leastnoise.tables.plan.summed.cumulative import Cumulative
    from leastnoise.tables.query.results import Table


def publish_running_sums(blocks: Sequence[BlockPlan], cells: NDArray[np.int64]) -> list[Table]:
    """Return the tables of bins and of running sums, given the exact integers of the bins.

    Noise goes into the bins, and into cells of the trees that are no bin; the rest is
    post-processing.
    """
    whole = _whole(blocks)
    padded = np.zeros((whole.groups, whole.noise.dimension), dtype=np.int64)
    padded[:, : whole.bins] = cells.reshape(whole.groups, whole.bins)
    integers = ScaledIntegers(numerators=padded.reshape(-1), bits=whole.cells.bits)
    noisy = Mechanism(whole.claim).release(integers).values.reshape(padded.shape)
    bins = whole_steps(noisy[:, : whole.bins])
    sums = partial(_sums, whole)
    found = [
        table_of(block.layout, numbers.astype(np.float64), block.noise_errors)
        for block, numbers in zip(blocks, sums(bins), strict=True)
    ]
    return put_whole_counts(blocks, found, bins, grid=Fraction(1), sums=sums)


def _sums(whole: Cumulative, bins: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the numbers of both tables, given those of the bins."""
    return [bins.reshape(-1), bins.reshape(whole.groups, whole.bins).cumsum(axis=1).reshape(-1)]


def check_running_sums(folder: Path, blocks: Sequence[BlockPlan], kind: str) -> None:
    """Raise CertificateRejected unless the bins are whole, and cumulative counts are their sums.

    Where none is below 0 they are those that intervals tell: see `whole_counts`. The tables are as
    `check_table` found them.
    """
    bins, sums = (_numbers(folder, block, kind) for block in blocks)
    if not all(one.is_integer() for one in bins):
        raise CertificateRejected(
            f"The table {blocks[0].name}.{kind} has a count that isn't whole."
        )
    each = _whole(blocks).bins
    wanted = [
        total
        for first in range(0, len(bins), each)
        for total in accumulate(map(int, bins[first : first + each]))
    ]
    if sums != wanted:  # a float is compared with a whole number exactly
        raise CertificateRejected(
            f"The table {blocks[1].name}.{kind} isn't the running sums of {blocks[0].name}.{kind}."
        )
    check_whole_counts(folder, blocks, kind, partial(_sums, _whole(blocks)), exact=True)


def _numbers(folder: Path, block: BlockPlan, kind: str) -> list[float]:
    told = read_table(folder / f"{block.name}.{kind}", [block.layout])
    return list(map(float, told[block.layout.statistics[0].label]))


def _whole(blocks: Sequence[BlockPlan]) -> Cumulative:
    if blocks[0].running is None:
        raise TypeError("these are tables of a block without cumulative counts")
    return blocks[0].running.whole
