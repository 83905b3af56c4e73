"""Publication and checks of tables that add up.

Exact cells, or sums of them, get noise; the published tables are computed from the noisy numbers.
"""

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
from leastnoise.tables.answers.sums.margin_queries import places_of, tables_read, total_coefficients
from leastnoise.tables.answers.sums.publish_suppressed import read_shown
from leastnoise.tables.answers.sums.publish_whole import (
    check_whole_counts,
    put_whole_counts,
)
from leastnoise.tables.layout.layout import EXACT_SUMS, INT64_END
from leastnoise.tables.results.table import SHOWN, SUPPRESSED, table_of
from leastnoise.tables.results.table_files import read_table
from leastnoise.tables.statistics.base import CLOSE
from leastnoise.workloads.contrasts import BITS, exact_contrasts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.tables.answers.noisy import NoisyPart
    from leastnoise.tables.answers.sums.margins import Margins
    from leastnoise.tables.answers.sums.measured_sums import MeasuredSums
    from leastnoise.tables.answers.sums.trees import TreeSums
    from leastnoise.tables.results.table import Table
    from leastnoise.workloads.base import Strategy
    from leastnoise.workloads.marginal import Components, Marginals

    Floats = NDArray[np.float64]


def sum_exactly(
    margins: Margins, exact: NDArray[np.int64], table: int, *, of: int | None = None
) -> NDArray[np.int64]:
    """The exact numbers of one table, shape (numbers,); as secret as the cells.

    They are summed from `exact`: the numbers of the table `of`, or of the cells if `of` is None.
    The numbers of one cell are adjacent. Sums saturate at the range of int64, which never increases
    their shift by a unit.
    """
    marginals = margins.marginals
    axes = marginals.axes(marginals.whole if of is None else of)
    placed = exact.astype(object).reshape(*(marginals.sizes[i] for i in axes), -1)
    others = tuple(axis for axis, i in enumerate(axes) if not table >> i & 1)
    summed = np.clip(placed.sum(axis=others, keepdims=True), 1 - INT64_END, INT64_END - 1)
    return summed.reshape(-1).astype(np.int64)


def draw_estimate(
    strategy: Strategy,
    certificates: Iterable[Certificate],
    cells: NDArray[np.int64],
    *,
    bits: int,
) -> Floats:
    """Draw noise, and return the strategy's `estimate`, from which all tables are summed.

    `certificates` has a certificate for each of the strategy's draws. Noise is added to the numbers
    of each draw; the rest is post-processing. The exact `cells` are in units of 2^−bits.
    """
    placed = zip(certificates, strategy.place(cells), strict=True)
    return strategy.estimate([_release(claim, numbers, bits=bits) for claim, numbers in placed])


def _release(claim: Certificate, numbers: NDArray[np.int64], *, bits: int) -> Floats:
    """Add noise to exact numbers, which are in units of 2^−bits."""
    return Mechanism(claim).release(ScaledIntegers(numerators=numbers, bits=bits)).values


def publish_margins(
    margins: Margins, parts: Sequence[NoisyPart], *exact: NDArray[np.int64], total: int = 0
) -> list[Table]:
    """Draw noise and return the published tables of a query with margins.

    `exact` has the exact integers of the cells, or of each of `tables_read`. Noise is added to each
    measured table; the rest is post-processing of the noisy numbers, and of the `total` if it is
    public.
    """
    read = dict(zip(tables_read(margins.cells), exact, strict=True))
    noisy: dict[int, NDArray[np.float64]] = {}
    for table, claim in margins.measured.items():
        of = next(wider for wider in read if wider & table == table)
        numbers, bits = sum_exactly(margins, read[of], table, of=of), margins.cells.bits
        if margins.chain is not None:
            noisy[table] = draw_estimate(margins.chain.strategy, [claim], numbers, bits=bits)
            continue
        if margins.contrasts:  # counts are whole, so they have no bits after the point
            numbers, bits = exact_contrasts(numbers >> bits, margins.sizes(table)), BITS
        noisy[table] = _release(claim, numbers, bits=bits)
    return add_up(margins, parts, noisy, total=total)


def add_up(
    margins: Margins,
    parts: Sequence[NoisyPart],
    noisy: Mapping[int, NDArray[np.float64]],
    *,
    total: int = 0,
) -> list[Table]:
    """The published tables, computed from the noisy numbers of each measured table.

    The cells' estimates are rounded to `Margins.grids`. From these, counts and sums of values are
    computed for each cell, and rounded to `Margins.steps`. All tables are sums of these rounded
    numbers, and every sum is exact as a float. If the `total` is public, the cells add up to it
    exactly. If cells aren't estimated, tables are rounded by `round_together` instead. If the spec
    asks for whole counts, `put_whole_counts` changes the tables at the end.
    """
    marginals, each = margins.marginals, len(margins.measured_cells.components)
    grids, steps = (list(map(float, number)) for number in (margins.grids, margins.steps))
    numbers: list[NDArray[np.int64]] = []
    for number, grid in enumerate(grids):
        values_of_number = {
            table: values.reshape(-1, each)[:, number] for table, values in noisy.items()
        }
        components = margins.components(values_of_number, number, total=total)
        if not marginals.is_small:  # then there is only one number, a count
            rounded = round_together(marginals, components, grid)
            pairs = zip(parts, margins.cells.margins, strict=True)
            numbers_of = {part: np.asarray(at.reshape(-1) * grid) for part, at in rounded.items()}
            return [
                _make_table(margins, part, [numbers_of[table]], [numbers_of[table]])
                for part, table in pairs
            ]
        estimate = marginals.table(components, marginals.whole)
        steps_of_cells = whole_steps(estimate / grid)
        if margins.total_is_known:
            steps_of_cells = _shift_to(steps_of_cells, int(total / Fraction(grid)))
        numbers.append(steps_of_cells)
    cells = np.stack(
        [values_of_number * grid for values_of_number, grid in zip(numbers, grids, strict=True)]
    )
    added = [
        whole_steps(np.tensordot(np.array(values_of_number, dtype=float), cells, axes=1) / step)
        for values_of_number, step in zip(total_coefficients(margins.cells), steps, strict=True)
    ]
    sums = partial(_sums, margins)
    of_numbers, of_added = (zip(*map(sums, some), strict=True) for some in (numbers, added))
    tables = [
        _make_table(
            margins,
            part,
            [number * grid for number, grid in zip(values_of_number, grids, strict=True)],
            [number * step for number, step in zip(own_added, steps, strict=True)],
        )
        for part, values_of_number, own_added in zip(parts, of_numbers, of_added, strict=True)
    ]
    whole = margins.whole_counts
    return put_whole_counts(whole, parts, tables, numbers[0], grid=margins.grids[0], sums=sums)


def round_together(
    marginals: Marginals, components: Components, grid: float
) -> dict[int, NDArray[np.int64]]:
    """Round the tables of a query whose cells aren't estimated, so that they agree exactly.

    Returns whole steps of the grid, by table. In each table, the numbers that belong to no column's
    last key are rounded. The other numbers follow by subtraction from these, and from the tables by
    fewer columns. So each number combines at most as many rounded numbers as its table has numbers.
    Estimates that are too large for exact sums in floats are clipped before they are rounded.
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
        for axis, i in enumerate(axes):
            above = rounded[table & ~(1 << i)]
            free = [marginals.sizes[j] - 1 for j in axes[axis + 1 :]]
            full = [marginals.sizes[j] for j in axes[:axis]]
            above = above[tuple(map(slice, (*full, *free)))]
            last = np.expand_dims(above - kept.sum(axis=axis), axis)
            kept = np.concatenate([kept, last], axis=axis)
        rounded[table] = kept
    return rounded


def _shift_to(cells: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Add the same whole number to all cells, and 1 more to some, so that they add up to `total`.

    Rounding moved the sum by at most ½ for each cell, so that no cell moves by more than 1 here.
    """
    more, ones = divmod(total - int(cells.sum()), cells.size)
    return cells + more + (np.arange(cells.size) < ones).reshape(cells.shape)


def _sums(margins: Margins, cells: NDArray[Any]) -> list[NDArray[Any]]:
    """The numbers of all published tables, given the numbers of the cells."""
    marginals, whole = margins.marginals, cells.reshape(margins.marginals.sizes)
    others = [marginals.axes(marginals.whole & ~table) for table in margins.cells.margins]
    return [whole.sum(axis=axes).reshape(-1) for axes in others]


def _make_table(
    margins: Margins, part: NoisyPart, numbers: Sequence[Floats], sums: Sequence[Floats]
) -> Table:
    """The table of a part, computed from its noisy measured `numbers` and its rounded `sums`.

    `sums` has counts and sums of values, in the units of their columns.
    """
    layout = part.layout
    table = table_of(layout, _vector(margins, numbers, sums), part.noise_errors)
    for asked, uses in zip(layout.statistics, layout.uses, strict=True):
        if asked.adds_up:  # exactly as summed, without another rounding
            index, _ = places_of(margins.cells, layout.components[uses[0]])
            table.columns[asked.label] = sums[index].tolist()
    return table


def _vector(margins: Margins, numbers: Sequence[Floats], sums: Sequence[Floats]) -> Floats:
    """The vector of a table's numbers: cell by cell, in the order of the layout's components."""
    columns: list[Floats] = []
    for component in margins.cells.components:
        index, _ = places_of(margins.cells, component)
        columns.append(
            numbers[index] if component.centre else sums[index] / float(component.radius)
        )
    return np.stack(columns, axis=1).reshape(-1)


def whole_steps(estimate: NDArray[np.float64]) -> NDArray[np.int64]:
    """Round to the nearest whole numbers, clipped so that their sums are exact as floats."""
    most = EXACT_SUMS // estimate.size
    if np.abs(estimate).sum() >= EXACT_SUMS / 2:
        estimate = np.clip(estimate, -most, most)
    return np.rint(estimate).astype(np.int64)


def check_sums(margins: Margins, folder: Path, parts: Sequence[NoisyPart], kind: str) -> None:
    """Raise CertificateRejected unless any two tables agree in all sums that both contain.

    Means have to follow from the published sums and counts beside them. If the spec asks for whole
    counts and no row is suppressed, counts have to fit their intervals: see `check_whole_counts`.
    `check_table` checked each table by itself before.
    """
    columns = [read_shown(folder, part, kind) for part in parts]
    tables = margins.cells.margins
    for asked in (asked for asked in margins.cells.statistics if asked.adds_up):
        numbers = [np.array(table[asked.label], dtype=float) for table in columns]

        def add_up(index: int, shared: int, numbers: Sequence[Floats] = numbers) -> list[float]:
            return _exact_sums(margins, numbers[index], tables[index], shared)

        what = "" if len(margins.cells.statistics) == 1 else f" in {asked.label}"
        check_agreement(margins, kind, tables, operator.and_, add_up, what=what)
    for part, table in zip(parts, columns, strict=True):
        for label in _wrong_means(margins, part, table):
            why = f"has a {label} that isn't its sum over its count"
            raise CertificateRejected(f"The table {part.name}.{kind} {why}.")
    if any(set(table.get(SUPPRESSED, ())) > {SHOWN} for table in columns):
        return  # to check whole counts, all cells have to be known
    sums, exact = partial(_sums, margins), margins.is_whole
    check_whole_counts(margins.whole_counts, folder, parts, kind, sums=sums, exact=exact)


def check_agreement(  # noqa: PLR0917 (two calls)
    sums: MeasuredSums,
    kind: str,
    tables: Sequence[int],
    meet: Callable[[int, int], int],
    add_up: Callable[[int, int], list[float]],
    *,
    what: str = "",
) -> None:
    """Raise CertificateRejected unless any two tables agree in all sums that both contain.

    `meet` returns the largest table to which two tables can both be summed. `add_up` sums the table
    at an index to such a shared table; a sum with a suppressed number is NaN. `what` ends a
    message, for example with the name of a statistic. To save time, each table is compared only
    with the first table that can be summed to the same shared table.
    """
    for shared in dict.fromkeys(meet(table, other) for table, other in combinations(tables, 2)):
        wider = [position for position, table in enumerate(tables) if meet(table, shared) == shared]
        expected = add_up(wider[0], shared)
        for position in wider[1:]:
            pairs = [*zip(expected, add_up(position, shared), strict=True)]
            expected = [other if math.isnan(number) else number for number, other in pairs]
            if all(a == b or math.isnan(a) or math.isnan(b) for a, b in pairs):
                continue
            name, first = (f"{sums.parts[index].name}.{kind}" for index in (position, wider[0]))
            if tables[position] == shared:
                raise CertificateRejected(f"The table {name} isn't the sum of {first}{what}.")
            by = f"sums by {sums.in_columns(shared)}" if sums.columns(shared) else "total"
            why = f"don't have the same {by}{what}"
            raise CertificateRejected(f"The tables {name} and {first} {why}.")


def _exact_sums(margins: Margins, numbers: Floats, table: int, shared: int) -> list[float]:
    """Sum the `numbers` of a `table` to the table `shared`, by a subset of its columns."""
    marginals = margins.marginals
    axes = marginals.axes(table)
    kept = [axis for axis, i in enumerate(axes) if shared >> i & 1]
    summed = [axis for axis, i in enumerate(axes) if not shared >> i & 1]
    placed = numbers.reshape([marginals.sizes[i] for i in axes]).transpose(*kept, *summed)
    return list(map(math.fsum, placed.reshape(marginals.cells(shared), -1).tolist()))


def _wrong_means(
    margins: Margins, part: NoisyPart, published: dict[str, list[Any]]
) -> Iterator[str]:
    """Yield the labels of means that don't follow from the sum and the count beside them.

    Differences that the rounding of the cells' sums explains are accepted.
    """
    layout, cells, measured = part.layout, margins.cells, margins.measured_cells.components
    pairs = list(zip(layout.statistics, layout.uses, strict=True))
    sums = {
        places_of(cells, layout.components[uses[0]])[0]: np.array(
            published[asked.label], dtype=float
        )
        for asked, uses in pairs
        if asked.adds_up
    }
    summed = margins.marginals.cells(margins.marginals.whole) // layout.cells
    for asked, uses in pairs:
        index, count = places_of(cells, layout.components[uses[0]])
        if asked.adds_up or count is None or not {index, count} <= sums.keys():
            continue
        middle, radius = float(measured[index].centre), float(measured[index].radius)
        size = np.where(sums[count] > 0, sums[count], np.inf)
        mean = np.clip(sums[index] / size, middle - radius, middle + radius)
        mean = np.where(sums[count] > 0, mean, middle)
        room = CLOSE * (radius + np.abs(mean)) + float(margins.steps[index]) * summed / 2 / size
        if (np.abs(np.array(published[asked.label], dtype=float) - mean) > room).any():
            yield asked.label


def publish_on_tree(
    whole: TreeSums, parts: Sequence[NoisyPart], cells: NDArray[np.int64]
) -> list[Table]:
    """Draw noise on trees and return all tables of a query, from the exact integers of its cells.

    Noise is added to the cells of the trees; the rest is post-processing.
    """
    bits, sums = whole.cells.bits, whole.workload.add_up
    counts = whole_steps(draw_estimate(whole.strategy, [whole.certificate], cells, bits=bits))
    tables = [
        table_of(part.layout, numbers.astype(np.float64), part.noise_errors)
        for part, numbers in zip(parts, sums(counts), strict=True)
    ]
    return put_whole_counts(whole.whole_counts, parts, tables, counts, grid=Fraction(1), sums=sums)


def check_on_tree(whole: TreeSums, folder: Path, parts: Sequence[NoisyPart], kind: str) -> None:
    """Raise CertificateRejected unless counts are whole, and all other numbers are their sums.

    If the spec asks for whole counts, counts have to fit their intervals: see `check_whole_counts`.
    `check_table` checked each table by itself before.
    """
    read: list[list[float]] = []
    for part in parts:
        columns = read_table(folder / f"{part.name}.{kind}", [part.layout])
        read.append(list(map(float, columns[part.layout.statistics[0].label])))
    are_whole = all(float(count).is_integer() for count in read[0])
    if not are_whole or sum(map(abs, read[0])) > EXACT_SUMS:  # clipped as `whole_steps` clips them
        raise CertificateRejected(
            f"The table {parts[0].name}.{kind} has a count that isn't a whole number."
        )
    sums = whole.workload.add_up
    wanted = sums(np.array(read[0], dtype=np.int64))
    for part, numbers, added in zip(parts, read, wanted, strict=True):
        if numbers != added.tolist():  # Python compares a float with an int exactly
            why = f"isn't the {whole.summed} of {parts[0].name}.{kind}"
            raise CertificateRejected(f"The table {part.name}.{kind} {why}.")
    check_whole_counts(whole.whole_counts, folder, parts, kind, sums=sums, exact=True)
