"""Tables that add up: from exact cells, over noisy ones or noisy sums, to what is published."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.errors import CertificateRejected
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.publish.table_files import read_table
from leastnoise.tables.publish.whole_counts import check_whole_counts, put_whole_counts, sums_by
from leastnoise.tables.query.layout import EXACT_SUMS, INT64_END
from leastnoise.tables.query.results import table_of
from leastnoise.tables.query.summed.levels import KeyTree, tree_of
from leastnoise.tables.query.summed.margins import ADDED, added_up, places_of
from leastnoise.tables.statistics.base import CLOSE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from leastnoise.tables.answers.noisy import BlockPlan
    from leastnoise.tables.plan.summed.cumulative import Cumulative
    from leastnoise.tables.plan.summed.levels import Levels
    from leastnoise.tables.plan.summed.margins import Margins
    from leastnoise.tables.query.results import Table

    Floats = NDArray[np.float64]
    Sums = Callable[[NDArray[Any]], list[NDArray[Any]]]


def sum_exactly(margins: Margins, cells: NDArray[np.int64], table: int) -> NDArray[np.int64]:
    """Return one table of the exact sums of `cells`, shape (numbers,); as secret as they are.

    Of several numbers in a cell they follow one another, cell by cell.

    A sum that int64 can't hold ends where that does, so that a unit moves it by no more.
    """
    whole = cells.astype(object).reshape(*margins.marginals.sizes, -1)
    others = margins.marginals.axes(margins.marginals.every[-1] & ~table)
    summed = np.clip(whole.sum(axis=others, keepdims=True), 1 - INT64_END, INT64_END - 1)
    return summed.reshape(-1).astype(np.int64)


def publish_margins(
    margins: Margins, blocks: Sequence[BlockPlan], cells: NDArray[np.int64], *, total: int = 0
) -> list[Table]:
    """Return the published tables of a query with margins, given the exact integers of its cells.

    Noise goes into each measured table; the rest is post-processing of these numbers, and of the
    `total`, if that is public.
    """
    noisy: dict[int, NDArray[np.float64]] = {}
    for table, claim in margins.measured.items():
        exact, chain = sum_exactly(margins, cells, table), margins.chain
        exact = exact if chain is None else chain.placed(exact)
        numbers = ScaledIntegers(numerators=exact, bits=margins.cells.bits)
        values = Mechanism(claim).release(numbers).values
        noisy[table] = values if chain is None else chain.replaced(values)
    return add_up(margins, blocks, noisy, total=total)


def add_up(
    margins: Margins,
    blocks: Sequence[BlockPlan],
    noisy: Mapping[int, NDArray[np.float64]],
    *,
    total: int = 0,
) -> list[Table]:
    """Return the published tables from the noisy numbers of each measured one.

    The estimates of the cells are rounded to `Margins.grids`, and their sums of values to
    `Margins.steps`. All tables are sums in whole numbers of these, all of which are floats. A
    `total` that is public is the sum of the cells, exactly.
    """
    marginals, each = margins.marginals, len(margins.drawn.components)
    grids, steps = (list(map(float, one)) for one in (margins.grids, margins.steps))
    numbers: list[NDArray[np.int64]] = []
    for one, grid in enumerate(grids):
        own = {table: values.reshape(-1, each)[:, one] for table, values in noisy.items()}
        estimate = marginals.estimate(margins.information[one], own, total=total)
        steps_of_cells = whole_steps(estimate / grid)
        if margins.total_is_known:
            steps_of_cells = _moved_to(steps_of_cells, int(total / Fraction(grid)))
        numbers.append(steps_of_cells)
    cells = np.stack([own * grid for own, grid in zip(numbers, grids, strict=True)])
    added = [
        whole_steps(np.tensordot(np.array(own, dtype=float), cells, axes=1) / step)
        for own, step in zip(added_up(margins.cells), steps, strict=True)
    ]
    sums = partial(_sums, margins)
    of_numbers, of_added = (zip(*map(sums, some), strict=True) for some in (numbers, added))
    found = [
        _published(
            margins,
            block,
            [one * grid for one, grid in zip(own, grids, strict=True)],
            [one * step for one, step in zip(own_added, steps, strict=True)],
        )
        for block, own, own_added in zip(blocks, of_numbers, of_added, strict=True)
    ]
    whole = margins.whole_counts
    return put_whole_counts(whole, blocks, found, numbers[0], grid=margins.grids[0], sums=sums)


def _moved_to(cells: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Return whole numbers that add up to `total`: all of them moved alike, but by 1 more or less.

    Rounding moved the sum of the cells by at most ½ for each, so that no cell moves by more than 1.
    """
    more, ones = divmod(total - int(cells.sum()), cells.size)
    return cells + more + (np.arange(cells.size) < ones).reshape(cells.shape)


def _sums(margins: Margins, cells: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the numbers of all published tables, given those of the cells."""
    marginals, whole = margins.marginals, cells.reshape(margins.marginals.sizes)
    others = [marginals.axes(marginals.every[-1] & ~table) for table in margins.cells.margins]
    return [whole.sum(axis=axes).reshape(-1) for axes in others]


def _published(
    margins: Margins, block: BlockPlan, numbers: Sequence[Floats], sums: Sequence[Floats]
) -> Table:
    """Return a table from its measured numbers, and from the counts and sums that these make."""
    layout = block.layout
    table = table_of(layout, _vector(margins, numbers, sums), block.noise_errors)
    for asked, uses in zip(layout.statistics, layout.uses, strict=True):
        if asked.kind in ADDED:  # as they are, and not but for one rounding more
            place, _ = places_of(margins.cells, layout.components[uses[0]])
            table.columns[asked.label] = sums[place].tolist()
    return table


def _vector(margins: Margins, numbers: Sequence[Floats], sums: Sequence[Floats]) -> Floats:
    """Return the numbers of a table's cells, as its layout has them."""
    columns: list[Floats] = []
    for one in margins.cells.components:
        place, _ = places_of(margins.cells, one)
        columns.append(numbers[place] if one.centre else sums[place] / float(one.radius))
    return np.stack(columns, axis=1).reshape(-1)


def whole_steps(estimate: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the nearest whole numbers, of which any sum is a float, as they are.

    Where all together might be none, each has its share of what is.
    """
    most = EXACT_SUMS // estimate.size
    if np.abs(estimate).sum() >= EXACT_SUMS / 2:
        estimate = np.clip(estimate, -most, most)
    return np.rint(estimate).astype(np.int64)


def check_sums(margins: Margins, folder: Path, blocks: Sequence[BlockPlan], kind: str) -> None:
    """Raise CertificateRejected unless counts and sums are those of the cells, exactly.

    And unless means follow from the sums and counts that are published beside them. Where no count
    is below 0 they are those that intervals tell: see `whole_counts`. The tables are as
    `check_table` found them.
    """
    marginals, sizes = margins.marginals, margins.marginals.sizes
    told = [read_table(folder / f"{one.name}.{kind}", [one.layout]) for one in blocks]
    for asked in (one for one in margins.cells.statistics if one.kind in ADDED):
        cells = np.array(told[0][asked.label], dtype=float).reshape(sizes)
        for block, own, table in zip(blocks, told, margins.cells.margins, strict=True):
            inside = marginals.axes(table)
            outside = marginals.axes(marginals.every[-1] & ~table)
            totals = np.array(own[asked.label], dtype=float).tolist()
            parts = cells.transpose(*inside, *outside).reshape(len(totals), -1)
            if list(map(math.fsum, parts.tolist())) != totals:
                what = "" if len(margins.cells.statistics) == 1 else f" in {asked.label}"
                raise CertificateRejected(
                    f"The table {block.name}.{kind} isn't the sum of {blocks[0].name}.{kind}{what}."
                )
    for block, own in zip(blocks, told, strict=True):
        for label in _wrong_means(margins, block, own):
            why = f"has a {label} that isn't its sum over its count"
            raise CertificateRejected(f"The table {block.name}.{kind} {why}.")
    sums, exact = partial(_sums, margins), margins.is_whole
    check_whole_counts(margins.whole_counts, folder, blocks, kind, sums=sums, exact=exact)


def _wrong_means(margins: Margins, block: BlockPlan, told: dict[str, list[Any]]) -> Iterator[str]:
    """Yield the means of a table that don't follow from the sum and the count beside them.

    But for the rounding of the cells' sums.
    """
    layout, cells, measured = block.layout, margins.cells, margins.drawn.components
    pairs = list(zip(layout.statistics, layout.uses, strict=True))
    sums = {
        places_of(cells, layout.components[uses[0]])[0]: np.array(told[asked.label], dtype=float)
        for asked, uses in pairs
        if asked.kind in ADDED
    }
    summed = margins.marginals.cells(margins.marginals.every[-1]) // layout.cells
    for asked, uses in pairs:
        place, count = places_of(cells, layout.components[uses[0]])
        if asked.kind != "mean" or count is None or not {place, count} <= sums.keys():
            continue
        middle, radius = float(measured[place].centre), float(measured[place].radius)
        size = np.where(sums[count] > 0, sums[count], np.inf)
        mean = np.clip(sums[place] / size, middle - radius, middle + radius)
        mean = np.where(sums[count] > 0, mean, middle)
        room = CLOSE * (radius + np.abs(mean)) + float(margins.steps[place]) * summed / 2 / size
        if (np.abs(np.array(told[asked.label], dtype=float) - mean) > room).any():
            yield asked.label


def publish_running_sums(
    whole: Cumulative, blocks: Sequence[BlockPlan], cells: NDArray[np.int64]
) -> list[Table]:
    """Return the tables of bins and of running sums, given the exact integers of the bins.

    Noise goes into the bins, and into cells of the trees that are no bin; the rest is
    post-processing.
    """
    padded = np.zeros((whole.groups, whole.noise.dimension), dtype=np.int64)
    padded[:, : whole.bins] = cells.reshape(whole.groups, whole.bins)
    integers = ScaledIntegers(numerators=padded.reshape(-1), bits=whole.cells.bits)
    noisy = Mechanism(whole.claim).release(integers).values.reshape(padded.shape)
    return _publish_counts(whole, blocks, noisy[:, : whole.bins], partial(_running_sums, whole))


def publish_levels(
    whole: Levels, blocks: Sequence[BlockPlan], cells: NDArray[np.int64]
) -> list[Table]:
    """Return the tables by key and by each level, given the exact integers of the keys.

    Noise goes into the keys, as they are sorted in the tree; the rest is post-processing.
    """
    tree = _tree(whole)
    integers = ScaledIntegers(numerators=cells[tree.order], bits=whole.cells.bits)
    noisy = np.empty(len(tree.order))
    noisy[tree.order] = Mechanism(whole.claim).release(integers).values
    return _publish_counts(whole, blocks, noisy, partial(_sums_by_level, tree))


def _publish_counts(
    whole: Cumulative | Levels,
    blocks: Sequence[BlockPlan],
    noisy: NDArray[np.float64],
    sums: Sums,
) -> list[Table]:
    counts = whole_steps(noisy)
    found = [
        table_of(block.layout, numbers.astype(np.float64), block.noise_errors)
        for block, numbers in zip(blocks, sums(counts), strict=True)
    ]
    step = Fraction(1)
    return put_whole_counts(whole.whole_counts, blocks, found, counts, grid=step, sums=sums)


def check_running_sums(
    whole: Cumulative, folder: Path, blocks: Sequence[BlockPlan], kind: str
) -> None:
    """Raise CertificateRejected unless bins are whole, and cumulative counts are their sums."""
    _check(whole, folder, blocks, kind, sums=partial(_running_sums, whole), what="running sums")


def check_levels(whole: Levels, folder: Path, blocks: Sequence[BlockPlan], kind: str) -> None:
    """Raise CertificateRejected unless counts by key are whole, and all others are their sums."""
    _check(whole, folder, blocks, kind, sums=partial(_sums_by_level, _tree(whole)), what="sum")


def _check(
    whole: Cumulative | Levels,
    folder: Path,
    blocks: Sequence[BlockPlan],
    kind: str,
    *,
    sums: Sums,
    what: str,
) -> None:
    """Check tables that `check_table` has checked, each by itself.

    Where none is below 0 they are those that intervals tell: see `whole_counts`.
    """
    told: list[list[float]] = []
    for block in blocks:
        columns = read_table(folder / f"{block.name}.{kind}", [block.layout])
        told.append(list(map(float, columns[block.layout.statistics[0].label])))
    are_whole = all(float(one).is_integer() for one in told[0])
    if not are_whole or sum(map(abs, told[0])) > EXACT_SUMS:  # as `whole_steps` leaves them
        raise CertificateRejected(
            f"The table {blocks[0].name}.{kind} has a count that isn't whole."
        )
    wanted = sums(np.array(told[0], dtype=np.int64))
    for block, numbers, added in zip(blocks, told, wanted, strict=True):
        if numbers != added.tolist():  # a float is compared with a whole number exactly
            why = f"isn't the {what} of {blocks[0].name}.{kind}"
            raise CertificateRejected(f"The table {block.name}.{kind} {why}.")
    check_whole_counts(whole.whole_counts, folder, blocks, kind, sums=sums, exact=True)


def _running_sums(whole: Cumulative, bins: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the numbers of both tables, given those of the bins."""
    return [bins.reshape(-1), bins.reshape(whole.groups, whole.bins).cumsum(axis=1).reshape(-1)]


def _sums_by_level(tree: KeyTree, counts: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the sums of counts by key, shape (keys,): by key, then by each level."""
    return [
        sums_by(places, counts, len(values))
        for places, values in zip(tree.places[::-1], tree.values[::-1], strict=True)
    ]


def _tree(whole: Levels) -> KeyTree:
    if whole.cells.hierarchy is None:
        raise TypeError("its keys have no levels")
    return tree_of(whole.cells.hierarchy)
