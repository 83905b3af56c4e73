"""Units that move counts by whole rows, as whole-number noise needs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leastnoise.guarantees.units import RowCounts
from leastnoise.tables.layout.boundings.in_ball import InBall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.tables.layout.boundings.bounding import Bounding
    from leastnoise.tables.layout.layout import Layout


def fewest_whole_rows(ways: Sequence[Bounding], shape: Layout) -> Bounding | None:
    """Choose, among `ways`, the bounding with which a unit moves all counts by the fewest rows.

    Only boundings with a whole number of rows are considered. A ball (`InBall`) isn't considered,
    since it doesn't limit the number of rows. None if no bounding is left, or if a cell has other
    numbers than a single count.
    """
    if not shape.numbers.counts or shape.numbers.each > 1:
        return None
    bounded = [bounding for bounding in ways if not isinstance(bounding, InBall)]
    whole = [bounding for bounding in bounded if bounding.l1(shape.numbers).denominator == 1]
    return min(whole, key=lambda bounding: replace(shape, bounding=bounding).l1, default=None)


def row_counts(cells: Layout) -> RowCounts:
    """The sensitivity of the cells if one unit shifts them by whole rows.

    Raises TypeError if a cell has other numbers than a single count, or if a person over a limit
    may count as a fraction. Whole-number noise would not hide fractions, and after rounding a unit
    might move each cell by one more.
    """
    numbers = cells.numbers
    if not numbers.counts or numbers.each > 1 or not (cells.by_row or cells.bits == 0):
        raise TypeError("a unit must move these counts by whole rows")
    return RowCounts(cells.bounding.l1(numbers), neighbours=cells.neighbours)
