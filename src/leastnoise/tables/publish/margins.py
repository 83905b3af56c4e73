"""Tables that add up: from exact cells over noisy sums of them to one estimate, and its sums."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.errors import CertificateRejected
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.publish.table_files import read_table
from leastnoise.tables.publish.whole_counts import check_whole_counts, put_whole_counts
from leastnoise.tables.query.results import table_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from leastnoise.tables.plan.margins import Margins
    from leastnoise.tables.plan.plan import BlockPlan
    from leastnoise.tables.query.results import Table

_LARGEST = 2**63 - 1
_EXACT = 2**53


def sum_exactly(margins: Margins, cells: NDArray[np.int64], table: int) -> NDArray[np.int64]:
    """Return one table of the exact sums of `cells`, shape (numbers,); as secret as they are.

    A sum that int64 can't hold ends where that does, so that a unit moves it by no more.
    """
    whole = cells.astype(object).reshape(margins.marginals.sizes)
    others = margins.marginals.axes(margins.marginals.every[-1] & ~table)
    summed = np.clip(whole.sum(axis=others, keepdims=True), -_LARGEST, _LARGEST)
    return summed.reshape(-1).astype(np.int64)


def publish_margins(blocks: Sequence[BlockPlan], cells: NDArray[np.int64]) -> list[Table]:
    """Return the published tables of a block with margins, given the exact integers of its cells.

    Noise goes into each measured table; the rest is post-processing of these numbers.
    """
    margins = margins_of(blocks)
    noisy: dict[int, NDArray[np.float64]] = {}
    for table, claim in margins.measured.items():
        exact, chain = sum_exactly(margins, cells, table), margins.chain
        exact = exact if chain is None else chain.placed(exact)
        numbers = ScaledIntegers(numerators=exact, bits=margins.cells.bits)
        values = Mechanism(claim).release(numbers).values
        noisy[table] = values if chain is None else chain.replaced(values)
    return add_up(blocks, noisy)


def add_up(blocks: Sequence[BlockPlan], noisy: Mapping[int, NDArray[np.float64]]) -> list[Table]:
    """Return the published tables from the noisy numbers of each measured one.

    The estimate of every cell is rounded to the grid of `Margins.grid`, and the tables are its sums
    in whole numbers of it, all of which are floats.
    """
    margins = margins_of(blocks)
    grid = float(margins.grid)
    steps = whole_steps(margins.marginals.estimate(margins.information, noisy) / grid)
    sums = partial(_sums, margins)
    found = [
        table_of(block.layout, summed * grid, block.noise_errors)
        for block, summed in zip(blocks, sums(steps), strict=True)
    ]
    return put_whole_counts(blocks, found, steps, grid=margins.grid, sums=sums)


def _sums(margins: Margins, cells: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the numbers of all published tables, given those of the cells."""
    marginals, whole = margins.marginals, cells.reshape(margins.marginals.sizes)
    others = [marginals.axes(marginals.every[-1] & ~table) for table in margins.cells.margins]
    return [whole.sum(axis=axes).reshape(-1) for axes in others]


def whole_steps(estimate: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the nearest whole numbers, of which any sum is a float, as they are.

    Where all together might be none, each has its share of what is.
    """
    most = _EXACT // estimate.size
    if np.abs(estimate).sum() >= _EXACT / 2:
        estimate = np.clip(estimate, -most, most)
    return np.rint(estimate).astype(np.int64)


def check_sums(folder: Path, blocks: Sequence[BlockPlan], kind: str) -> None:
    """Raise CertificateRejected unless every published table is the sum of the cells, exactly.

    Where none is below 0 they are those that intervals tell: see `whole_counts`. The tables are as
    `check_table` found them.
    """
    margins = margins_of(blocks)
    marginals, label = margins.marginals, margins.cells.statistics[0].label
    told: dict[str, list[float]] = {
        block.name: list(map(float, _numbers(folder, block, kind)[label])) for block in blocks
    }
    cells = np.array(told[blocks[0].name]).reshape(marginals.sizes)
    for block, table in zip(blocks, margins.cells.margins, strict=True):
        inside = marginals.axes(table)
        outside = marginals.axes(marginals.every[-1] & ~table)
        parts = cells.transpose(*inside, *outside).reshape(len(told[block.name]), -1)
        if any(map(_differ, parts.tolist(), told[block.name])):
            raise CertificateRejected(
                f"The table {block.name}.{kind} isn't the sum of {blocks[0].name}.{kind}."
            )
    sums = partial(_sums, margins)
    check_whole_counts(folder, blocks, kind, sums, exact=margins.is_whole)


def _differ(parts: list[float], total: float) -> bool:
    return math.fsum(parts) != total


def _numbers(folder: Path, block: BlockPlan, kind: str) -> dict[str, list[Any]]:
    return read_table(folder / f"{block.name}.{kind}", [block.layout])


def margins_of(blocks: Sequence[BlockPlan]) -> Margins:
    """Return what the published tables of a block are tables of."""
    margin = blocks[0].margin
    if margin is None:
        raise TypeError("these are tables of a block without margins")
    return margin.whole
