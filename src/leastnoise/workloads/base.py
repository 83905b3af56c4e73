"""Tables that are sums of the same cells, and the interface of strategies for their noise.

The interface has no lower bound on the noise, since a bound holds for every strategy. It follows
from the tables and the budget alone: see `marginal_bounds`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Wholes = NDArray[np.int64]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class SummedTable:
    """A table of `count` numbers, each the sum of some cells.

    `find` computes the value of `part_of`; it is called at most once. With `running` > 1 the
    numbers come in runs of that length, and each number is a running total within its run.
    """

    count: int
    find: Callable[[], Wholes]
    running: int = 1

    @cached_property
    def part_of(self) -> Wholes:
        """For each cell, the index of the number that includes it, from 0 on; shape (cells,).

        With `running` > 1, it is the index of the first running total that includes the cell.
        """
        return self.find()

    def add_up(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Sum the cells to the table's numbers, shape (count,); type and unit stay the same."""
        sums = np.zeros(self.count, dtype=cells.dtype)
        np.add.at(sums, self.part_of, cells.reshape(-1))
        return sums.reshape(-1, self.running).cumsum(axis=1).reshape(-1)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Workload:
    """The tables that are published, all of them sums of the same `cells`."""

    cells: int
    tables: tuple[SummedTable, ...]

    def add_up(self, cells: NDArray[Any]) -> list[NDArray[Any]]:
        """Sum the cells, shape (cells,), to the numbers of each table."""
        return [table.add_up(cells) for table in self.tables]


class Strategy(Protocol):
    """A strategy: noise for all tables of a workload at once, from one draw or several.

    A variance is in the squared unit of the cells, and a half-width in their unit. Arrays have
    shape (count,) for a table of `count` numbers. They may have shape (1,) if the errors of all
    numbers have the same law. If all groups have the same errors, arrays are about one group.
    """

    def variance(self, table: int) -> Floats:
        """The variance of each number of a table."""
        ...

    def half_widths(self, table: int, probabilities: Sequence[float]) -> list[Floats]:
        """For each probability, an array of half-widths of the numbers of a table.

        A half-width h has P(|error| <= h) >= probability.
        """
        ...

    def is_alike(self, table: int) -> bool:
        """True if the errors of all numbers of a table have the same law."""
        ...

    def place(self, cells: NDArray[Any]) -> list[NDArray[Any]]:
        """The exact numbers to which each draw adds noise, computed from the exact cells."""
        ...

    def estimate(self, noisy: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Estimate all cells from the noisy numbers of each draw; the tables are their sums."""
        ...
