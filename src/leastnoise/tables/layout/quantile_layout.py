"""The public layout of the quantiles of one column: cells, candidates and limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from leastnoise.tables.layout.axes import Nearest
from leastnoise.tables.layout.table_shape import TableShape

if TYPE_CHECKING:
    from fractions import Fraction

    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.statistics.quantiles import Quantile


@final
@dataclass(frozen=True, kw_only=True)
class QuantileLayout(TableShape):
    """The quantiles of one column in a query.

    `counted` is how rows are counted: as a histogram by the query's `axes` and the candidates.
    What one unit adds to all its cells is at most `reach` in all. `sizes` are numbers of rows that
    a plan compares an error in ranks with. With `by_tree` they are read off noisy counts. Where the
    total of these decides which groups are published, `count` is the layout of its column.
    """

    statistics: tuple[Quantile, ...]
    histogram: Layout
    reach: Fraction
    sizes: tuple[int, ...]
    by_tree: bool = False
    count: Layout | None = None

    @property
    def candidates(self) -> Nearest:
        """The candidates, and the column."""
        (*_, axis) = self.histogram.axes
        if not isinstance(axis, Nearest):
            raise TypeError("the rows are counted by candidates last")
        return axis

    @property
    def published(self) -> list[int] | list[float]:
        """The candidates as a table has them: whole numbers if all are."""
        values = self.candidates.values
        whole = all(one.denominator == 1 and abs(one) < 2**53 for one in values)
        return list(map(int, values)) if whole else list(map(float, values))

    @property
    def limits(self) -> str:
        """What one unit can do, to end a sentence that begins with the unit."""
        rows = "one row" if self.reach == 1 else f"{float(self.reach):,.6g} rows"
        return f"counts for at most {rows} in its quantiles: with more, each row counts for less"
