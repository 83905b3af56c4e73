"""What noise may rely on where one unit is replaced by another: differences of what two units add.

notation: T holds what a unit may add to a block, as `limits` bounds it; shifts are t − t′ of t and
t′ in T. r = the most that one number may be, R = the most that the cells' largest may add up to. A
number is *raised* if no row lowers it (counts, and sums of values >= 0), *lowered* if one may. A
sum of squares 2u² − 1 is lowered: a row replaced by another moves it by up to 2 (u from 0 to ±1),
as it moves u by up to 2 (from −1 to 1), and both are below the count of their values. They don't
move by 2 both at once, which isn't used: it is true of rows before they are rounded alone.
Proofs: theory/release.md §5, "Replace-one".
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.plain import MOST_BOUNDS, Box
from leastnoise.guarantees.exact import root_above
from leastnoise.guarantees.sensitivity import L1, L2, Integer, Sensitivity, replaced_record
from leastnoise.guarantees.structured import CountingQueries, Linf, Within
from leastnoise.tables.layout.limits import FirstCells, InBall, InCells

if TYPE_CHECKING:
    from leastnoise.guarantees.bodies.base import Body
    from leastnoise.tables.layout.limits import CellBounding, Numbers

_NEAR = 4  # times R: a box of raised numbers that add up to more has more noise than the hull


def sensitivities(way: CellBounding, numbers: Numbers) -> tuple[Sensitivity, ...]:
    """Return what is true of every shift by one replaced unit, each by itself."""
    if isinstance(way, InBall):
        return (L2(root_above(_ball_squared(way.squared, numbers))),)
    return _of_cells(_in_cells(way), numbers)


def bodies(way: CellBounding, numbers: Numbers) -> tuple[Body, ...]:
    """Return the hull of all cells' boxes that holds every shift, and a box where that is less."""
    if isinstance(way, InBall):
        return ()
    cells = _in_cells(way)
    each, count = (1, numbers.all) if cells.by_number else (numbers.each, numbers.cells)
    if count == 1:
        return (Box(bounds=_sizes(cells, numbers)),)
    _, spread = _reach(cells, numbers)
    return (Cells(bodies=[Box(bounds=[spread] * each)], copies=[count]), *_box(cells, numbers))


def l1(way: CellBounding, numbers: Numbers) -> Fraction:
    """Return a bound on the l1 norm of every shift by one replaced unit."""
    if isinstance(way, InBall):
        return root_above(_ball_squared(way.squared, numbers) * numbers.all)
    return min(2 * way.l1(numbers), _box_sum(_in_cells(way).most, numbers, power=1))


def _in_cells(way: FirstCells | InCells) -> InCells:
    """Return the limits that hold of 0 or 1 in each of the first cells."""
    if isinstance(way, InCells):
        return way
    most = Fraction(way.most)
    return InCells(per_cell=Fraction(1), total=most, first=way.most)


def _of_cells(way: InCells, numbers: Numbers) -> tuple[Sensitivity, ...]:
    size, spread = _reach(way, numbers)
    cut_off = not way.by_number and not way.shrinks(numbers)  # what is shrunk isn't whole any more
    whole = numbers.counts and cut_off and size.denominator == 1
    if numbers.all == 1:
        return (Integer(size),) if whole else (L1(size),)
    squared = _ball_squared(way.squared(numbers), numbers)
    ball = L2(root_above(min(squared, _box_sum(way.most, numbers, power=2))))
    if numbers.each > 1 and not way.by_number:
        # a count and a sum that rows may lower don't move by the most that each may at once
        return (*map(Within, bodies(way, numbers)), L1(l1(way, numbers)), ball)
    shaped = map(Within, (*_signed(way, numbers), *_box(way, numbers)))
    return (*_of_few_cells(way, numbers, whole=whole), *shaped, L1(spread), ball)


def _of_few_cells(way: InCells, numbers: Numbers, *, whole: bool) -> tuple[Sensitivity, ...]:
    """Return what is true of single numbers of which T has some up to r, and the others 0.

    A replaced unit moves twice as many. Where they may move either way, each by 2r, that says less
    than their sum does, but for all cells.
    """
    cells, moved = numbers.all, way.moved(numbers)
    if way.shrinks(numbers) or (numbers.lowered and moved < cells):
        return ()
    size, _ = _reach(way, numbers)
    linf = Linf(size, l0=min(2 * moved, cells), whole=whole)
    if numbers.lowered:
        return (linf,)
    counting = CountingQueries(
        dimension=cells, max_nonzero=moved, neighbours="replace-one", bound=size
    )
    return (counting, linf)


def _reach(way: InCells, numbers: Numbers) -> tuple[Fraction, Fraction]:
    """Return the most that one number can move, and that the cells' largest moves add up to.

    Raised numbers lie in [0, r], and so no two of them are further apart than r.
    """
    size = 2 * way.most if numbers.lowered else way.most
    cells = numbers.all if way.by_number else numbers.cells
    return size, min(2 * way.all_cells(numbers), size * cells)


def _sizes(way: InCells, numbers: Numbers) -> list[Fraction]:
    """Return the most that each number of a cell can move; by_number: a cell is a number."""
    if way.by_number:
        return [2 * way.most if numbers.lowered else way.most]
    return [(2 if j in numbers.lowered else 1) * way.most for j in range(numbers.each)]


def _signed(way: InCells, numbers: Numbers) -> tuple[Body, ...]:
    """Return the differences of two of {x >= 0, Σx <= R}, where all numbers are raised."""
    if numbers.lowered:
        return ()
    total = way.all_cells(numbers)
    hull = replaced_record(bound=total, most=1, queries=numbers.all)
    return () if hull is None else (hull,)


def _box(way: InCells, numbers: Numbers) -> tuple[Body, ...]:
    """Return the box of all numbers, unless the hull of the cells has less noise anyway."""
    cells = numbers.all if way.by_number else numbers.cells
    near = 1 if numbers.lowered else _NEAR
    if way.most * cells > near * way.all_cells(numbers) or numbers.all > MOST_BOUNDS:
        return ()
    return (Box(bounds=_sizes(way, numbers) * cells),)


def _ball_squared(squared: Fraction, numbers: Numbers) -> Fraction:
    """Return what ‖t − t′‖² is at most where ‖t‖² and ‖t′‖² are at most `squared`."""
    if not numbers.lowered:
        return squared if numbers.all == 1 else 2 * squared
    n = max(_below_counts(numbers), default=0)
    return 4 * squared * Fraction(n, n + 1) if n else 4 * squared


def _below_counts(numbers: Numbers) -> list[int]:
    """Return how many lowered sums each count of a cell bounds, each sum below one count.

    Those of a column whose values are counted are below that count, the others below the rows'.
    Empty if a sum is below none.
    """
    others = len(numbers.lowered) - sum(numbers.values)
    if others and not numbers.rows:
        return []
    return [n for n in (*numbers.values, others) if n]


def _box_sum(most: Fraction, numbers: Numbers, *, power: int) -> Fraction:
    """Return a bound on Σ |t − t′|^power over all numbers, none of which is above `most`.

    Where rows or values are counted beside sums that a row may lower, |sum| <= count, and what the
    count moves by is in what the sums are given.
    """
    lowered = len(numbers.lowered)
    raised = numbers.each - lowered - len(_below_counts(numbers))
    return numbers.cells * (raised * most**power + lowered * (2 * most) ** power)
