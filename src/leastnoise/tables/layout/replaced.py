"""Sensitivities where one unit is replaced by another: differences of two units' contributions.

notation: T = the set of vectors that a unit may add to a query, as `boundings` bounds them; a shift
is t − t′ with t and t′ in T. r = the largest size of one number, R = the largest sum of the cells'
largest numbers. A number is *raised* if no row lowers it (counts, and sums of values >= 0), and
*lowered* otherwise. A sum of squares 2u² − 1 is lowered: a replaced row moves it by up to 2 (u from
0 to ±1), as it moves u by up to 2 (from −1 to 1), and both are at most the count of their values in
size. That both can't move by 2 at the same time isn't used: it holds only before rows are rounded.
Proofs: theory/release.md §5, "Replace-one".
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.plain import MOST_BOUNDS, Box
from leastnoise.guarantees.exact import root_above
from leastnoise.guarantees.hulls import replaced_record
from leastnoise.guarantees.sensitivity import L1, L2, Integer, Sensitivity
from leastnoise.guarantees.structured import CountingQueries, Linf, Within
from leastnoise.tables.layout.boundings import FirstCells, InBall, InCells

if TYPE_CHECKING:
    from leastnoise.guarantees.bodies.base import Body
    from leastnoise.tables.layout.boundings import CellBounding, Numbers

_NEAR = (
    4  # if the sizes of a box of raised numbers add up to more than 4·R, the hull has less noise
)


def sensitivities(bounding: CellBounding, numbers: Numbers) -> tuple[Sensitivity, ...]:
    """Alternative sensitivities, each of which holds for every shift by one replaced unit."""
    if isinstance(bounding, InBall):
        return (L2(root_above(_ball_squared(bounding.squared, numbers))),)
    return _of_cells(_in_cells(bounding), numbers)


def bodies(bounding: CellBounding, numbers: Numbers) -> tuple[Body, ...]:
    """The hull of all cells' boxes, and the box of all numbers where its noise may be less."""
    if isinstance(bounding, InBall):
        return ()
    cells = _in_cells(bounding)
    each, count = (1, numbers.all) if cells.by_number else (numbers.each, numbers.cells)
    if count == 1:
        return (Box(bounds=_sizes(cells, numbers)),)
    _, spread = _reach(cells, numbers)
    return (Cells(bodies=[Box(bounds=[spread] * each)], copies=[count]), *_box(cells, numbers))


def l1(bounding: CellBounding, numbers: Numbers) -> Fraction:
    """A bound on the l1 norm of every shift by one replaced unit."""
    if isinstance(bounding, InBall):
        return root_above(_ball_squared(bounding.squared, numbers) * numbers.all)
    return min(2 * bounding.l1(numbers), _box_sum(_in_cells(bounding).most, numbers, power=1))


def _in_cells(bounding: FirstCells | InCells) -> InCells:
    """The bounding in cells that `FirstCells` implies: 0 or 1 in each of the first cells."""
    if isinstance(bounding, InCells):
        return bounding
    most = Fraction(bounding.most)
    return InCells(per_cell=Fraction(1), total=most, first=bounding.most)


def _of_cells(bounding: InCells, numbers: Numbers) -> tuple[Sensitivity, ...]:
    size, spread = _reach(bounding, numbers)
    unshrunk = not bounding.by_number and not bounding.shrinks(
        numbers
    )  # shrinking a unit's numbers leaves them not whole
    whole = numbers.counts and unshrunk and size.denominator == 1
    if numbers.all == 1:
        return (Integer(size),) if whole else (L1(size),)
    squared = _ball_squared(bounding.squared(numbers), numbers)
    ball = L2(root_above(min(squared, _box_sum(bounding.most, numbers, power=2))))
    if numbers.each > 1 and not bounding.by_number:
        # a count and a lowered sum can't both move by their largest amounts at the same time
        return (*map(Within, bodies(bounding, numbers)), L1(l1(bounding, numbers)), ball)
    shaped = map(Within, (*_signed(bounding, numbers), *_box(bounding, numbers)))
    return (*_of_few_cells(bounding, numbers, whole=whole), *shaped, L1(spread), ball)


def _of_few_cells(bounding: InCells, numbers: Numbers, *, whole: bool) -> tuple[Sensitivity, ...]:
    """Sensitivities if T has at most k numbers of at most r, and the others 0.

    A replaced unit moves at most 2k numbers. With lowered numbers, each of which may move by 2r,
    the bound on their sum says more, unless k is the number of all cells.
    """
    cells, moved = numbers.all, bounding.moved(numbers)
    if bounding.shrinks(numbers) or (numbers.lowered and moved < cells):
        return ()
    size, _ = _reach(bounding, numbers)
    linf = Linf(size, l0=min(2 * moved, cells), whole=whole)
    if numbers.lowered:
        return (linf,)
    counting = CountingQueries(
        dimension=cells, max_nonzero=moved, neighbours="replace-one", bound=size
    )
    return (counting, linf)


def _reach(bounding: InCells, numbers: Numbers) -> tuple[Fraction, Fraction]:
    """The largest move of one number, and the largest sum of the cells' largest moves.

    Raised numbers lie in [0, r], so they move by at most r.
    """
    size = 2 * bounding.most if numbers.lowered else bounding.most
    cells = numbers.all if bounding.by_number else numbers.cells
    return size, min(2 * bounding.all_cells(numbers), size * cells)


def _sizes(bounding: InCells, numbers: Numbers) -> list[Fraction]:
    """The largest move of each number of a cell; with `by_number` a cell is one number."""
    if bounding.by_number:
        return [2 * bounding.most if numbers.lowered else bounding.most]
    return [(2 if j in numbers.lowered else 1) * bounding.most for j in range(numbers.each)]


def _signed(bounding: InCells, numbers: Numbers) -> tuple[Body, ...]:
    """The body {x − x′: x, x′ ≥ 0, Σx ≤ R, Σx′ ≤ R}, if all numbers are raised."""
    if numbers.lowered:
        return ()
    total = bounding.all_cells(numbers)
    hull = replaced_record(bound=total, most=1, queries=numbers.all)
    return () if hull is None else (hull,)


def _box(bounding: InCells, numbers: Numbers) -> tuple[Body, ...]:
    """The box of all numbers, or () if the hull of the cells certainly has less noise."""
    cells = numbers.all if bounding.by_number else numbers.cells
    near = 1 if numbers.lowered else _NEAR
    if bounding.most * cells > near * bounding.all_cells(numbers) or numbers.all > MOST_BOUNDS:
        return ()
    return (Box(bounds=_sizes(bounding, numbers) * cells),)


def _ball_squared(squared: Fraction, numbers: Numbers) -> Fraction:
    """A bound on ‖t − t′‖² where ‖t‖² and ‖t′‖² are at most `squared`."""
    if not numbers.lowered:
        return squared if numbers.all == 1 else 2 * squared
    n = max(_below_counts(numbers), default=0)
    return 4 * squared * Fraction(n, n + 1) if n else 4 * squared


def _below_counts(numbers: Numbers) -> list[int]:
    """For each count of a cell, the number of lowered sums whose absolute value it bounds.

    A count of a column's values bounds that column's sums; the count of rows bounds all others.
    Empty if a sum has no such count.
    """
    others = len(numbers.lowered) - sum(numbers.values)
    if others and not numbers.rows:
        return []
    return [n for n in (*numbers.values, others) if n]


def _box_sum(most: Fraction, numbers: Numbers, *, power: int) -> Fraction:
    """A bound on Σ |t − t′|^power over all numbers, each at most `most` in size.

    A count that bounds lowered sums (|sum| <= count) adds nothing: its move is covered by the
    bound (2·most)^power for each of the sums.
    """
    lowered = len(numbers.lowered)
    raised = numbers.each - lowered - len(_below_counts(numbers))
    return numbers.cells * (raised * most**power + lowered * (2 * most) ** power)
