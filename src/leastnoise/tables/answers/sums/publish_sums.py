"""Tables that add up: from exact cells, over noisy ones or noisy sums, to what is published."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.errors import CertificateRejected
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.answers.sums.margin_queries import added_up, places_of, tables_read
from leastnoise.tables.answers.sums.publish_whole import (
    check_whole_counts,
    put_whole_counts,
)
from leastnoise.tables.layout.layout import EXACT_SUMS, INT64_END
from leastnoise.tables.results.table import table_of
from leastnoise.tables.results.table_files import read_table
from leastnoise.tables.statistics.base import CLOSE
from leastnoise.workloads.contrasts import BITS, exact_contrasts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from leastnoise.tables.answers.noisy import BlockPlan
    from leastnoise.tables.answers.sums.margins import Margins
    from leastnoise.tables.answers.sums.measured_sums import MeasuredSums
    from leastnoise.tables.answers.sums.trees import TreeSums
    from leastnoise.tables.results.table import Table
    from leastnoise.workloads.marginal import Components, Marginals

    Floats = NDArray[np.float64]


def sum_exactly(
    margins: Margins, exact: NDArray[np.int64], table: int, *, of: int | None = None
) -> NDArray[np.int64]:
    """Return one table of the exact sums of the cells, shape (numbers,); as secret as they are.

    `exact` has the numbers of a table `of` that holds it, without that of the cells. Of several
    numbers in a cell they follow one another, cell by cell.

    A sum that int64 can't hold ends where that does, so that a unit moves it by no more.
    """
    marginals = margins.marginals
    axes = marginals.axes(marginals.whole if of is None else of)
    placed = exact.astype(object).reshape(*(marginals.sizes[i] for i in axes), -1)
    others = tuple(place for place, i in enumerate(axes) if not table >> i & 1)
    summed = np.clip(placed.sum(axis=others, keepdims=True), 1 - INT64_END, INT64_END - 1)
    return summed.reshape(-1).astype(np.int64)


def publish_margins(
    margins: Margins, blocks: Sequence[BlockPlan], *exact: NDArray[np.int64], total: int = 0
) -> list[Table]:
    """Return the published tables of a query with margins, given its exact integers.

    Those of its cells, or of all `tables_read`. Noise goes into each measured table; the rest is
    post-processing of these numbers, and of the `total`, if that is public.
    """
    read = dict(zip(tables_read(margins.cells), exact, strict=True))
    noisy: dict[int, NDArray[np.float64]] = {}
    for table, claim in margins.measured.items():
        of = next(wider for wider in read if wider & table == table)
        numbers, chain = sum_exactly(margins, read[of], table, of=of), margins.chain
        numbers, bits = (
            numbers if chain is None else chain.strategy.place(numbers),
            margins.cells.bits,
        )
        if margins.contrasts:  # of counts, which are whole
            numbers, bits = exact_contrasts(numbers >> bits, margins.sizes(table)), BITS
        values = Mechanism(claim).release(ScaledIntegers(numerators=numbers, bits=bits)).values
        noisy[table] = values if chain is None else chain.strategy.estimate(values)
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
        components = margins.components(own, one, total=total)
        if not marginals.is_small:  # of one count
            rounded = round_together(marginals, components, grid)
            pairs = zip(blocks, margins.cells.margins, strict=True)
            numbers_of = {part: np.asarray(at.reshape(-1) * grid) for part, at in rounded.items()}
            return [
                _published(margins, block, [numbers_of[table]], [numbers_of[table]])
                for block, table in pairs
            ]
        estimate = marginals.table(components, marginals.whole)
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


def round_together(
    marginals: Marginals, components: Components, grid: float
) -> dict[int, NDArray[np.int64]]:
    """Return tables in whole steps of the grid that agree exactly, by table, without any cells.

    Of each table the numbers that are at no attribute's last value are rounded. All others follow
    from these and from the tables by fewer attributes, by subtraction: a number of table B is a sum
    of at most n_B rounded ones. Where all together might be no float, each has its share of what
    is.
    """
    rounded: dict[int, NDArray[np.int64]] = {}
    tables = (
        table for table in marginals.every if table in marginals.tables or table != marginals.whole
    )
    for table in sorted(tables, key=int.bit_count):
        axes = marginals.axes(table)
        estimate = marginals.table(components, table) / grid
        size = max(estimate.size, 1)
        if np.abs(estimate).sum() >= EXACT_SUMS / 8:
            estimate = np.clip(estimate, -EXACT_SUMS // (8 * size), EXACT_SUMS // (8 * size))
        whole = np.rint(estimate).astype(np.int64)
        kept = whole[tuple(slice(marginals.sizes[i] - 1) for i in axes)]
        for place, i in enumerate(axes):
            above = rounded[table & ~(1 << i)]
            free = [marginals.sizes[j] - 1 for j in axes[place + 1 :]]
            full = [marginals.sizes[j] for j in axes[:place]]
            above = above[tuple(map(slice, (*full, *free)))]
            last = np.expand_dims(above - kept.sum(axis=place), place)
            kept = np.concatenate([kept, last], axis=place)
        rounded[table] = kept
    return rounded


def _moved_to(cells: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Return whole numbers that add up to `total`: all of them moved alike, but by 1 more or less.

    Rounding moved the sum of the cells by at most ½ for each, so that no cell moves by more than 1.
    """
    more, ones = divmod(total - int(cells.sum()), cells.size)
    return cells + more + (np.arange(cells.size) < ones).reshape(cells.shape)


def _sums(margins: Margins, cells: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the numbers of all published tables, given those of the cells."""
    marginals, whole = margins.marginals, cells.reshape(margins.marginals.sizes)
    others = [marginals.axes(marginals.whole & ~table) for table in margins.cells.margins]
    return [whole.sum(axis=axes).reshape(-1) for axes in others]


def _published(
    margins: Margins, block: BlockPlan, numbers: Sequence[Floats], sums: Sequence[Floats]
) -> Table:
    """Return a table from its measured numbers, and from the counts and sums that these make."""
    layout = block.layout
    table = table_of(layout, _vector(margins, numbers, sums), block.noise_errors)
    for asked, uses in zip(layout.statistics, layout.uses, strict=True):
        if asked.adds_up:  # as they are, and not but for one rounding more
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
    """Raise CertificateRejected unless all tables have the same counts and sums by what they share.

    And unless means follow from the sums and counts that are published beside them. If no count is
    below 0, the counts have to follow from their intervals: see `whole_counts`. `check_table` has
    checked the tables, each by itself.
    """
    columns = [read_table(folder / f"{block.name}.{kind}", [block.layout]) for block in blocks]
    tables = margins.cells.margins
    for asked in (asked for asked in margins.cells.statistics if asked.adds_up):
        numbers = [np.array(table[asked.label], dtype=float) for table in columns]

        def add_up(place: int, shared: int, numbers: Sequence[Floats] = numbers) -> list[float]:
            return _exact_sums(margins, numbers[place], tables[place], shared)

        what = "" if len(margins.cells.statistics) == 1 else f" in {asked.label}"
        check_agreement(margins, kind, tables, operator.and_, add_up, what=what)
    for block, table in zip(blocks, columns, strict=True):
        for label in _wrong_means(margins, block, table):
            why = f"has a {label} that isn't its sum over its count"
            raise CertificateRejected(f"The table {block.name}.{kind} {why}.")
    sums, exact = partial(_sums, margins), margins.is_whole
    check_whole_counts(margins.whole_counts, folder, blocks, kind, sums=sums, exact=exact)


def check_agreement(  # noqa: PLR0917 (two calls)
    sums: MeasuredSums,
    kind: str,
    tables: Sequence[int],
    meet: Callable[[int, int], int],
    add_up: Callable[[int, int], list[float]],
    *,
    what: str = "",
) -> None:
    """Raise CertificateRejected unless tables have the same numbers in all tables that they share.

    `meet` gives the largest table that two tables are both summed to; `add_up` sums the table at a
    place to a shared table. Of all tables that are summed to one, each is compared with the first.
    """
    for shared in dict.fromkeys(meet(table, other) for table, other in combinations(tables, 2)):
        wider = [place for place, table in enumerate(tables) if meet(table, shared) == shared]
        expected = add_up(wider[0], shared)
        for place in wider[1:]:
            if add_up(place, shared) == expected:
                continue
            name, first = (f"{sums.parts[index].name}.{kind}" for index in (place, wider[0]))
            if tables[place] == shared:
                raise CertificateRejected(f"The table {name} isn't the sum of {first}{what}.")
            by = f"sums by {sums.in_columns(shared)}" if sums.columns(shared) else "total"
            why = f"don't have the same {by}{what}"
            raise CertificateRejected(f"The tables {name} and {first} {why}.")


def _exact_sums(margins: Margins, numbers: Floats, table: int, shared: int) -> list[float]:
    """Return the table `shared` of the numbers of another `table` that holds it."""
    marginals = margins.marginals
    axes = marginals.axes(table)
    kept = [place for place, i in enumerate(axes) if shared >> i & 1]
    summed = [place for place, i in enumerate(axes) if not shared >> i & 1]
    placed = numbers.reshape([marginals.sizes[i] for i in axes]).transpose(*kept, *summed)
    return list(map(math.fsum, placed.reshape(marginals.cells(shared), -1).tolist()))


def _wrong_means(margins: Margins, block: BlockPlan, told: dict[str, list[Any]]) -> Iterator[str]:
    """Yield the means of a table that don't follow from the sum and the count beside them.

    But for the rounding of the cells' sums.
    """
    layout, cells, measured = block.layout, margins.cells, margins.drawn.components
    pairs = list(zip(layout.statistics, layout.uses, strict=True))
    sums = {
        places_of(cells, layout.components[uses[0]])[0]: np.array(told[asked.label], dtype=float)
        for asked, uses in pairs
        if asked.adds_up
    }
    summed = margins.marginals.cells(margins.marginals.whole) // layout.cells
    for asked, uses in pairs:
        place, count = places_of(cells, layout.components[uses[0]])
        if asked.adds_up or count is None or not {place, count} <= sums.keys():
            continue
        middle, radius = float(measured[place].centre), float(measured[place].radius)
        size = np.where(sums[count] > 0, sums[count], np.inf)
        mean = np.clip(sums[place] / size, middle - radius, middle + radius)
        mean = np.where(sums[count] > 0, mean, middle)
        room = CLOSE * (radius + np.abs(mean)) + float(margins.steps[place]) * summed / 2 / size
        if (np.abs(np.array(told[asked.label], dtype=float) - mean) > room).any():
            yield asked.label


def publish_on_tree(
    whole: TreeSums, blocks: Sequence[BlockPlan], cells: NDArray[np.int64]
) -> list[Table]:
    """Return all tables that are sums of counts, given the exact integers of the counts.

    Noise goes into the cells of the trees; the rest is post-processing.
    """
    integers = ScaledIntegers(numerators=whole.strategy.place(cells), bits=whole.cells.bits)
    noisy = Mechanism(whole.certificate).release(integers).values
    counts, sums = whole_steps(whole.strategy.estimate(noisy)), whole.workload.add_up
    tables = [
        table_of(block.layout, numbers.astype(np.float64), block.noise_errors)
        for block, numbers in zip(blocks, sums(counts), strict=True)
    ]
    return put_whole_counts(whole.whole_counts, blocks, tables, counts, grid=Fraction(1), sums=sums)


def check_on_tree(whole: TreeSums, folder: Path, blocks: Sequence[BlockPlan], kind: str) -> None:
    """Raise CertificateRejected unless counts are whole, and all other numbers are their sums.

    `check_table` has checked the tables, each by itself. Where no count is below 0 they are those
    that intervals tell: see `whole_counts`.
    """
    read: list[list[float]] = []
    for block in blocks:
        columns = read_table(folder / f"{block.name}.{kind}", [block.layout])
        read.append(list(map(float, columns[block.layout.statistics[0].label])))
    are_whole = all(float(count).is_integer() for count in read[0])
    if not are_whole or sum(map(abs, read[0])) > EXACT_SUMS:  # as `whole_steps` leaves them
        raise CertificateRejected(
            f"The table {blocks[0].name}.{kind} has a count that isn't whole."
        )
    sums = whole.workload.add_up
    wanted = sums(np.array(read[0], dtype=np.int64))
    for block, numbers, added in zip(blocks, read, wanted, strict=True):
        if numbers != added.tolist():  # a float is compared with a whole number exactly
            why = f"isn't the {whole.summed} of {blocks[0].name}.{kind}"
            raise CertificateRejected(f"The table {block.name}.{kind} {why}.")
    check_whole_counts(whole.whole_counts, folder, blocks, kind, sums=sums, exact=True)
