"""Tables that are sums of the same cells, and the interface of strategies for their noise."""

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

    `find` computes `part_of`, once and only if it is needed. With `running` the numbers come in
    runs of that length, and each number is a running total within its run.
    """

    count: int
    find: Callable[[], Wholes]
    running: int = 1

    @cached_property
    def part_of(self) -> Wholes:
        """The number that each cell is part of, from 0 to `count` − 1; shape (cells,)."""
        return self.find()

    def add_up(self, cells: NDArray[Any]) -> NDArray[Any]:
        """The numbers, given the cells: shape (count,), of the type and the unit of the cells."""
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
        """The numbers of each table, given the cells, shape (cells,)."""
        return [table.add_up(cells) for table in self.tables]


class Strategy(Protocol):
    """A way to draw noise for all tables of a workload at once, from one draw or several.

    The error of a number has a variance in the squared unit of the cells and a half-width in their
    unit. Arrays have shape (count,), or (1,) if the numbers of a table are alike. If groups are
    alike, they are about one group.
    """

    def variance(self, table: int) -> Floats:
        """The variance of each number of a table."""
        ...

    def half_widths(self, table: int, probabilities: Sequence[float]) -> list[Floats]:
        """For each probability and number of a table an h with P(|error| <= h) >= probability."""
        ...

    def is_alike(self, table: int) -> bool:
        """True if all numbers of a table have one law."""
        ...

    def place(self, cells: NDArray[Any]) -> list[NDArray[Any]]:
        """The numbers of each draw of noise, given the exact cells, shape (cells,)."""
        ...

    def estimate(self, noisy: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Estimate the cells, whose sums are the tables, from the noisy numbers of each draw."""
        ...
