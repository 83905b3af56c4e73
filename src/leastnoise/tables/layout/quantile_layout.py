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


@dataclass(frozen=True, kw_only=True)
class QuantileLayout(TableShape):
    """The layout of the quantiles of one column in a query.

    Rows are counted in a `histogram` by the query's `axes` and the candidates. `sizes` are numbers
    of rows in a group: for each of them, a plan shows the errors in ranks as shares of these rows.
    The total of a tree of the histogram's counts may decide which groups are published. Then
    `count` is the layout of the table's column with that total. `share` is the share of the query's
    budget that the spec gives to the quantiles of all columns. If it is None, the share is
    proportional to the number of quantiles.
    """

    statistics: tuple[Quantile, ...]
    histogram: Layout
    sizes: tuple[int, ...]
    count: Layout | None = None
    share: Fraction | None = None

    @property
    def reach(self) -> Fraction:
        """The most that one unit adds to all cells of the histogram in total."""
        return self.histogram.bounding.l1(self.histogram.numbers)

    @property
    def candidates(self) -> Nearest:
        """The axis with the column and its candidates."""
        (*_, axis) = self.histogram.axes
        if not isinstance(axis, Nearest):
            raise TypeError("expected the candidates as the last axis of the histogram")
        return axis

    @property
    def published(self) -> list[int] | list[float]:
        """The candidates as they are published: ints if all are whole and < 2^53, else floats."""
        values = self.candidates.values
        whole = all(value.denominator == 1 and abs(value) < 2**53 for value in values)
        return list(map(int, values)) if whole else list(map(float, values))


@final
@dataclass(frozen=True, kw_only=True)
class WeighedQuantiles(QuantileLayout):
    """The layout of quantiles in which each row of a unit over its limit counts as a fraction."""

    @property
    def limits(self) -> str:
        """The limit of one unit, in words that follow its name: "counts for at most 3 rows …"."""
        rows = "one row" if self.reach == 1 else f"{float(self.reach):,.6g} rows"
        return (
            f"counts for at most {rows} in each quantile: if there are more rows, each of them "
            "counts for less"
        )


@final
@dataclass(frozen=True, kw_only=True)
class WholeRowQuantiles(QuantileLayout):
    """The layout of quantiles in which whole rows count: for a unit over its limits, only some."""

    @property
    def limits(self) -> str:
        """The limit of one unit, in words that follow its name, such as "is counted once"."""
        return self.histogram.limits
