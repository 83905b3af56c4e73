"""Suppressed cells of tables that add up: no suppressed number follows from the shown ones.

Notation: a table is the set of attributes by which it is grouped, as a bit mask. B is the table of
a cell c, and D ⊆ B is a set of attributes with several keys.

A box for c has a second cell, which differs from c in all attributes of D. Its 2^|D| corners have
each attribute of D from one of the two cells. Add 1 or −1 to the corners, with alternating signs,
at one key of every attribute outside D. That changes only tables by all of D, only at the corners,
and all tables still add up. If these corners are suppressed, the shown numbers fit the data before
and after the change, so no corner follows from them. The fewest tables change if D is all of B's
attributes with several keys. D is a smallest set with which no more tables change.

If the total of all cells is public, D isn't empty. A table with a single cell is that total: its
number is public, whether it is suppressed or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Cell = tuple[int, ...]
    """A key for each attribute; 0 for an attribute that the table isn't by."""


_NEAR = 8
"""The search for a box begins with this number of keys of each attribute, near the cell."""


@final
@dataclass(frozen=True, kw_only=True)
class Suppression:
    """The published `tables` in which cells are suppressed, as bit masks of the attributes.

    `sizes` are the numbers of keys of the attributes. With `total_is_known` the sum of all cells is
    public.
    """

    sizes: tuple[int, ...]
    tables: tuple[int, ...]
    total_is_known: bool = False

    def add_secondary(self, counts: Mapping[int, Floats], below: float) -> dict[int, Bools]:
        """Suppress counts under `below` > 0, and all corners of a box for each suppressed cell.

        Returns an array for each table, True for suppressed cells. Tables are processed from the
        coarsest on, and cells in the order of their keys. If a cell has no box of suppressed cells,
        the box is suppressed whose other corners have the smallest sum of shown counts.
        """
        costs = {
            table: np.where(counts[table] < below, 0.0, counts[table]).reshape(self._shape(table))
            for table in self.tables
        }
        for _ in self._find_boxes(costs):
            pass
        return {table: (cost == 0).reshape(-1) for table, cost in costs.items()}

    def find_open(self, hidden: Mapping[int, Bools]) -> int | None:
        """Find a table with a suppressed cell that has no box of suppressed cells.

        None if each suppressed cell of each table has such a box.
        """
        costs = {
            table: np.where(hidden[table], 0.0, 1.0).reshape(self._shape(table))
            for table in self.tables
        }
        return next((table for table, cost in self._find_boxes(costs) if cost > 0), None)

    @property
    def _axes(self) -> range:
        """The indices of all attributes."""
        return range(len(self.sizes))

    def _shape(self, table: int) -> tuple[int, ...]:
        return tuple(size if table >> i & 1 else 1 for i, size in enumerate(self.sizes))

    @cached_property
    def _boxes(self) -> dict[int, tuple[tuple[int, ...], tuple[int, ...]]]:
        """For each table, the attributes D of its boxes, and the published tables by all of D."""
        boxes: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        for table in self.tables:
            several = [i for i, size in enumerate(self.sizes) if table >> i & 1 and size > 1]
            if self.total_is_known and not several:
                boxes[table] = (), (table,)
                continue
            least = self._tables_by(several)
            boxes[table] = next(
                (axes, least)
                for axes in _subsets(several)
                if self._tables_by(axes) == least and (axes or not self.total_is_known)
            )
        return boxes

    def _tables_by(self, axes: Sequence[int]) -> tuple[int, ...]:
        """The published tables that are grouped by all these attributes."""
        return tuple(table for table in self.tables if all(table >> i & 1 for i in axes))

    def _find_boxes(self, costs: Mapping[int, Floats]) -> Iterator[tuple[int, float]]:
        """Find the cheapest box of each cell of cost 0, and set the costs of its corners to 0.

        A corner of an earlier box is left out. Yields the cell's table and the cost of its box.
        """
        safe = {table: np.zeros(cost.shape, dtype=np.bool_) for table, cost in costs.items()}
        for table in sorted(self.tables, key=lambda table: (table.bit_count(), table)):
            for cell in np.argwhere(costs[table] == 0).tolist():
                if safe[table][tuple(cell)]:
                    continue
                cost, opposite = self._cheapest(table, cell, costs)
                for other, corner in self._corners(table, cell, opposite):
                    costs[other][corner] = 0.0
                    safe[other][corner] = True
                yield table, cost

    def _cheapest(
        self, table: int, cell: Sequence[int], costs: Mapping[int, Floats]
    ) -> tuple[float, Cell]:
        """The least cost of a box for a cell, and the opposite corner of such a box.

        The cost of a box is the sum of the costs of its corners. A box of cost 0 with keys near the
        cell is taken without further search. If many cells are suppressed, most cells have such a
        box.
        """
        keys = [*zip(cell, self.sizes, strict=True)]
        starts = [max(min(at - _NEAR // 2, size - _NEAR), 0) for at, size in keys]
        near = [slice(start, start + _NEAR) for start in starts]
        cost, opposite = self._cheapest_in(near, table, cell, costs)
        if cost == 0:
            return cost, opposite
        return self._cheapest_in([slice(0, size) for size in self.sizes], table, cell, costs)

    def _cheapest_in(
        self, spans: Sequence[slice], table: int, cell: Sequence[int], costs: Mapping[int, Floats]
    ) -> tuple[float, Cell]:
        """The least cost of a box whose opposite corner is within `spans`, and this corner.

        `spans` has a range of keys for each attribute.
        """
        axes, tables = self._boxes[table]
        kept = [slice(at, at + 1) for at in cell]
        spans = [
            kept[i] if table >> i & 1 and i not in axes else span for i, span in enumerate(spans)
        ]
        total = np.zeros((1,) * len(cell))
        for other in tables:
            for moved in _subsets(axes):
                keys = [kept[i] if i in axes and i not in moved else spans[i] for i in self._axes]
                # an attribute that `other` lacks has the single key 0, which these keys begin with
                total = total + costs[other][tuple(keys)]
        for i in axes:
            offset = cell[i] - spans[i].start
            if 0 <= offset < total.shape[i]:
                total[(slice(None),) * i + (offset,)] = np.inf  # an opposite cell differs there
        least = int(total.argmin())
        offsets = map(int, np.unravel_index(least, total.shape))
        opposite = [span.start + offset for span, offset in zip(spans, offsets, strict=True)]
        return float(total.flat[least]), tuple(opposite)

    def _corners(
        self, table: int, cell: Sequence[int], opposite: Cell
    ) -> Iterator[tuple[int, Cell]]:
        """Yield the corners of a box as pairs (table, cell)."""
        axes, tables = self._boxes[table]
        for other in tables:
            for moved in _subsets(axes):
                keys = [
                    cell[i] if i in axes and i not in moved else opposite[i] for i in self._axes
                ]
                yield other, tuple(keys[i] if other >> i & 1 else 0 for i in self._axes)


def _subsets(axes: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """All subsets of `axes`, the smallest first."""
    return chain.from_iterable(combinations(axes, count) for count in range(len(axes) + 1))
