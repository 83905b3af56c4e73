"""Tables that add up: from exact cells over noisy sums of them to one estimate, and its sums."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.errors import CertificateRejected
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.publish.table_files import read_table
from leastnoise.tables.query.margins import ADDED, added_up, places_of
from leastnoise.tables.query.results import table_of, values_of
from leastnoise.tables.statistics.base import CLOSE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from leastnoise.tables.plan.margins import Margins
    from leastnoise.tables.plan.plan import BlockPlan
    from leastnoise.tables.query.results import Table

_LARGEST = 2**63 - 1
_EXACT = 2**53


def sum_exactly(margins: Margins, cells: NDArray[np.int64], table: int) -> NDArray[np.int64]:
    """Return one table of the exact sums of `cells`, shape (numbers,); as secret as they are.

    Of several numbers in a cell they follow one another, cell by cell.

    A sum that int64 can't hold ends where that does, so that a unit moves it by no more.
    """
    whole = cells.astype(object).reshape(*margins.marginals.sizes, -1)
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

    What adds up, the counts and the sums of values, is estimated for every cell and rounded to
    `Margins.steps`. The tables are sums in whole numbers of these, all of which are floats; all
    else is made of them.
    """
    margins = margins_of(blocks)
    marginals, each = margins.marginals, len(margins.drawn.components)
    estimates = np.array([
        marginals.estimate(
            margins.information[one],
            {table: values.reshape(-1, each)[:, one] for table, values in noisy.items()},
        )
        for one in range(each)
    ])  # fmt: skip
    coefficients = np.array(added_up(margins.cells), dtype=float)
    grids = list(map(float, margins.steps))
    added = [
        whole_steps(np.tensordot(own, estimates, axes=1) / grid)
        for own, grid in zip(coefficients, grids, strict=True)
    ]
    found: list[Table] = []
    for block, table in zip(blocks, margins.cells.margins, strict=True):
        axes = marginals.axes(marginals.every[-1] & ~table)
        sums = [
            one.sum(axis=axes).reshape(-1) * grid for one, grid in zip(added, grids, strict=True)
        ]
        found.append(_published(margins, block, sums))
    return found


def _published(margins: Margins, block: BlockPlan, sums: Sequence[NDArray[np.float64]]) -> Table:
    """Return a table from the counts and sums in it, by measured number."""
    table = table_of(block.layout, scale_sums(margins, sums), block.noise_errors)
    for asked, uses in zip(block.layout.statistics, block.layout.uses, strict=True):
        if asked.kind in ADDED:  # as they are, and not but for one rounding more
            place, _ = places_of(margins.cells, block.layout.components[uses[0]])
            table.columns[asked.label] = sums[place].tolist()
    return table


def scale_sums(margins: Margins, sums: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the vector of a table from the counts and sums in it, by measured number."""
    columns: list[NDArray[np.float64]] = []
    for one in margins.cells.components:
        place, count = places_of(margins.cells, one)
        own = sums[place] if count is None else sums[place] - float(one.centre) * sums[count]
        columns.append(own / float(one.radius))
    return np.stack(columns, axis=1).reshape(-1)


def whole_steps(estimate: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the nearest whole numbers, of which any sum is a float, as they are.

    Where all together might be none, each has its share of what is.
    """
    most = _EXACT // estimate.size
    if np.abs(estimate).sum() >= _EXACT / 2:
        estimate = np.clip(estimate, -most, most)
    return np.rint(estimate).astype(np.int64)


def check_sums(folder: Path, blocks: Sequence[BlockPlan], kind: str) -> None:
    """Raise CertificateRejected unless counts and sums are those of the cells, exactly.

    And unless means follow from the sums and counts that are published beside them. The tables are
    as `check_table` found them.
    """
    margins = margins_of(blocks)
    marginals, sizes = margins.marginals, margins.marginals.sizes
    told = [read_table(folder / f"{one.name}.{kind}", [one.layout]) for one in blocks]
    for asked in (one for one in margins.cells.statistics if one.kind in ADDED):
        cells = np.array(told[0][asked.label], dtype=float).reshape(sizes)
        for block, own, table in zip(blocks, told, margins.cells.margins, strict=True):
            inside = marginals.axes(table)
            outside = marginals.axes(marginals.every[-1] & ~table)
            totals = np.array(own[asked.label], dtype=float).tolist()
            parts = cells.transpose(*inside, *outside).reshape(len(totals), -1)
            if any(map(_differ, parts.tolist(), totals)):
                what = "" if len(margins.cells.statistics) == 1 else f" in {asked.label}"
                raise CertificateRejected(
                    f"The table {block.name}.{kind} isn't the sum of {blocks[0].name}.{kind}{what}."
                )
    for block, own in zip(blocks, told, strict=True):
        for label in _wrong_means(margins, block, own):
            why = f"has a {label} that isn't its sum over its count"
            raise CertificateRejected(f"The table {block.name}.{kind} {why}.")


def _differ(parts: list[float], total: float) -> bool:
    return math.fsum(parts) != total


def _wrong_means(margins: Margins, block: BlockPlan, told: dict[str, list[Any]]) -> Iterator[str]:
    """Yield the means of a table that don't follow from the sum and the count beside them."""
    layout, cells = block.layout, margins.cells
    every = list(zip(layout.statistics, layout.uses, strict=True))
    published = {
        places_of(cells, layout.components[uses[0]])[0]: np.array(told[asked.label], dtype=float)
        for asked, uses in every
        if asked.kind in ADDED
    }
    unknown = np.zeros(layout.cells)
    sums = [published.get(place, unknown) for place in range(len(margins.drawn.components))]
    vector = scale_sums(margins, sums).reshape(layout.cells, -1)
    again = values_of(layout, vector, block.noise_errors)
    for (asked, uses), own, (value, *_) in zip(
        every, layout.ingredients(block.noise_errors), again, strict=True
    ):
        made_of = {places_of(cells, layout.components[use])[0] for use in uses}
        if asked.kind == "mean" and made_of <= published.keys():
            mean = np.array(told[asked.label], dtype=float)
            if (np.abs(mean - value) > CLOSE * (own.unit + np.abs(value))).any():
                yield asked.label


def margins_of(blocks: Sequence[BlockPlan]) -> Margins:
    """Return what the published tables of a block are tables of."""
    margin = blocks[0].margin
    if margin is None:
        raise TypeError("these are tables of a block without margins")
    return margin.whole
