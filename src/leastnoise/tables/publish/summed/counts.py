"""Counts that add up along one tree, of bins or of keys with levels: noisy ones, and their sums."""

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
from leastnoise.tables.query.layout import EXACT_SUMS
from leastnoise.tables.query.results import table_of
from leastnoise.tables.query.summed.levels import KeyTree, tree_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from leastnoise.tables.plan.plan import BlockPlan
    from leastnoise.tables.plan.summed.cumulative import Cumulative
    from leastnoise.tables.plan.summed.levels import Levels
    from leastnoise.tables.query.results import Table

    Sums = Callable[[NDArray[Any]], list[NDArray[Any]]]


def publish_running_sums(blocks: Sequence[BlockPlan], cells: NDArray[np.int64]) -> list[Table]:
    """Return the tables of bins and of running sums, given the exact integers of the bins.

    Noise goes into the bins, and into cells of the trees that are no bin; the rest is
    post-processing.
    """
    whole = _cumulative(blocks)
    padded = np.zeros((whole.groups, whole.noise.dimension), dtype=np.int64)
    padded[:, : whole.bins] = cells.reshape(whole.groups, whole.bins)
    integers = ScaledIntegers(numerators=padded.reshape(-1), bits=whole.cells.bits)
    noisy = Mechanism(whole.claim).release(integers).values.reshape(padded.shape)
    return _published(blocks, noisy[:, : whole.bins], partial(_running_sums, whole))


def publish_levels(blocks: Sequence[BlockPlan], cells: NDArray[np.int64]) -> list[Table]:
    """Return the tables by key and by each level, given the exact integers of the keys.

    Noise goes into the keys, as they are sorted in the tree; the rest is post-processing.
    """
    whole, tree = _levels(blocks), _tree(blocks)
    integers = ScaledIntegers(numerators=cells[tree.order], bits=whole.cells.bits)
    noisy = np.empty(len(tree.order))
    noisy[tree.order] = Mechanism(whole.claim).release(integers).values
    return _published(blocks, noisy, partial(_sums_by_level, tree))


def _published(blocks: Sequence[BlockPlan], noisy: NDArray[np.float64], sums: Sums) -> list[Table]:
    counts = whole_steps(noisy)
    found = [
        table_of(block.layout, numbers.astype(np.float64), block.noise_errors)
        for block, numbers in zip(blocks, sums(counts), strict=True)
    ]
    return put_whole_counts(blocks, found, counts, grid=Fraction(1), sums=sums)


def check_running_sums(folder: Path, blocks: Sequence[BlockPlan], kind: str) -> None:
    """Raise CertificateRejected unless bins are whole, and cumulative counts are their sums."""
    _check(folder, blocks, kind, partial(_running_sums, _cumulative(blocks)), what="running sums")


def check_levels(folder: Path, blocks: Sequence[BlockPlan], kind: str) -> None:
    """Raise CertificateRejected unless counts by key are whole, and all others are their sums."""
    _check(folder, blocks, kind, partial(_sums_by_level, _tree(blocks)), what="sum")


def _check(folder: Path, blocks: Sequence[BlockPlan], kind: str, sums: Sums, *, what: str) -> None:
    """Check tables that `check_table` has checked, each by itself.

    Where none is below 0 they are those that intervals tell: see `whole_counts`.
    """
    told: list[list[float]] = []
    for block in blocks:
        columns = read_table(folder / f"{block.name}.{kind}", [block.layout])
        told.append(list(map(float, columns[block.layout.statistics[0].label])))
    whole = all(one.is_integer() for one in told[0])
    if not whole or sum(map(abs, told[0])) > EXACT_SUMS:  # as `whole_steps` leaves them
        raise CertificateRejected(
            f"The table {blocks[0].name}.{kind} has a count that isn't whole."
        )
    wanted = sums(np.array(told[0], dtype=np.int64))
    for block, numbers, added in zip(blocks, told, wanted, strict=True):
        if numbers != added.tolist():  # a float is compared with a whole number exactly
            why = f"isn't the {what} of {blocks[0].name}.{kind}"
            raise CertificateRejected(f"The table {block.name}.{kind} {why}.")
    check_whole_counts(folder, blocks, kind, sums, exact=True)


def _running_sums(whole: Cumulative, bins: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the numbers of both tables, given those of the bins."""
    return [bins.reshape(-1), bins.reshape(whole.groups, whole.bins).cumsum(axis=1).reshape(-1)]


def _sums_by_level(tree: KeyTree, counts: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the sums of counts by key, shape (keys,): by key, then by each level."""
    return [
        sums_by(places, counts, len(values))
        for places, values in zip(tree.places[::-1], tree.values[::-1], strict=True)
    ]


def _cumulative(blocks: Sequence[BlockPlan]) -> Cumulative:
    if blocks[0].running is None:
        raise TypeError("these are tables of a block without cumulative counts")
    return blocks[0].running.whole


def _levels(blocks: Sequence[BlockPlan]) -> Levels:
    if blocks[0].level is None:
        raise TypeError("these are tables of a block whose keys have no levels")
    return blocks[0].level.whole


def _tree(blocks: Sequence[BlockPlan]) -> KeyTree:
    column = _levels(blocks).cells.hierarchy
    if column is None:
        raise TypeError("its keys have no levels")
    return tree_of(column)
