"""Public keys with levels: from exact counts to noisy ones, and their sums by each level."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.errors import CertificateRejected
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.publish.summed.margins import whole_steps
from leastnoise.tables.publish.summed.whole_counts import (
    check_whole_counts,
    put_whole_counts,
    sums_by,
)
from leastnoise.tables.publish.table_files import read_table
from leastnoise.tables.query.results import table_of
from leastnoise.tables.query.summed.levels import KeyTree, tree_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from leastnoise.tables.plan.plan import BlockPlan
    from leastnoise.tables.plan.summed.levels import Levels
    from leastnoise.tables.query.results import Table


def publish_levels(blocks: Sequence[BlockPlan], cells: NDArray[np.int64]) -> list[Table]:
    """Return the tables by key and by each level, given the exact integers of the keys.

    Noise goes into the keys, as they are sorted in the tree; the rest is post-processing.
    """
    whole, order = _whole(blocks), _tree(blocks).order
    integers = ScaledIntegers(numerators=cells[order], bits=whole.cells.bits)
    noisy = np.empty(len(order))
    noisy[order] = Mechanism(whole.claim).release(integers).values
    counts = whole_steps(noisy)
    sums = partial(_sums, _tree(blocks))
    found = [
        table_of(block.layout, numbers.astype(np.float64), block.noise_errors)
        for block, numbers in zip(blocks, sums(counts), strict=True)
    ]
    return put_whole_counts(blocks, found, counts, grid=Fraction(1), sums=sums)


def check_levels(folder: Path, blocks: Sequence[BlockPlan], kind: str) -> None:
    """Raise CertificateRejected unless counts by key are whole, and all others are their sums.

    Where none is below 0 they are those that intervals tell: see `whole_counts`. The tables are as
    `check_table` found them.
    """
    told = [_numbers(folder, block, kind) for block in blocks]
    if not all(one.is_integer() and abs(one) < 2**53 for one in told[0]):
        raise CertificateRejected(
            f"The table {blocks[0].name}.{kind} has a count that isn't whole."
        )
    wanted = _sums(_tree(blocks), np.array(told[0], dtype=np.int64))
    for block, numbers, sums in zip(blocks, told, wanted, strict=True):
        if numbers != sums.tolist():  # a float is compared with a whole number exactly
            why = f"isn't the sum of {blocks[0].name}.{kind}"
            raise CertificateRejected(f"The table {block.name}.{kind} {why}.")
    check_whole_counts(folder, blocks, kind, partial(_sums, _tree(blocks)), exact=True)


def _sums(tree: KeyTree, counts: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the sums of counts by key, shape (keys,): by key, then by each level."""
    return [
        sums_by(places, counts, len(values))
        for places, values in zip(tree.places[::-1], tree.values[::-1], strict=True)
    ]


def _numbers(folder: Path, block: BlockPlan, kind: str) -> list[float]:
    told = read_table(folder / f"{block.name}.{kind}", [block.layout])
    return list(map(float, told[block.layout.statistics[0].label]))


def _tree(blocks: Sequence[BlockPlan]) -> KeyTree:
    column = _whole(blocks).cells.hierarchy
    if column is None:
        raise TypeError("its keys have no levels")
    return tree_of(column)


def _whole(blocks: Sequence[BlockPlan]) -> Levels:
    if blocks[0].level is None:
        raise TypeError("these are tables of a block whose keys have no levels")
    return blocks[0].level.whole
