"""The shape of a tree: the numbers of children, and the nodes that have the same law.

Two nodes of a level are of the same kind if their subtrees are equal up to order. They have the
same position, and so the same law, if their parents have the same position, too. A tree is even if
all nodes of a level have the same number of children; then each level has one kind and position.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Wholes = NDArray[np.int64]

Kind = tuple[tuple[int, int], ...]
"""The kind of a node: pairs (index of a child's kind, number of such children); () for a cell."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class TreeShape:
    """A tree of L levels below its root; level 0 is the root, and level L has the cells.

    `children` holds, for each level but the last, the number of children of each node, in the order
    of the cells. `kinds` lists the kinds of each level; `positions` lists pairs (parent's position,
    kind). `positions_of` and `cells_below` hold the position of each node and the number of its
    cells.
    """

    children: tuple[Wholes, ...]
    kinds: tuple[tuple[Kind, ...], ...]
    positions: tuple[tuple[tuple[int, int], ...], ...]
    positions_of: tuple[Wholes, ...]
    cells_below: tuple[Wholes, ...]
    order: Wholes
    """Indices of the cells in the order in which each node's children are sorted by kind."""

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.positions_of[-1])

    @property
    def nodes(self) -> tuple[int, ...]:
        """The number of nodes of each level."""
        return tuple(map(len, self.positions_of))

    def starts(self, level: int) -> Wholes:
        """The first cell of each node of a level."""
        ends = np.cumsum(self.cells_below[level])
        return ends - self.cells_below[level]

    def count(self, level: int) -> list[int]:
        """The number of nodes at each position of a level."""
        return np.bincount(self.positions_of[level]).tolist()


def split_branches(branches: Sequence[int], levels: int) -> list[Wholes] | None:
    """The number of children of each node, by level; None if `branches` don't describe a tree.

    `branches` hold a number for each level, or for each node above the cells, level by level.
    """
    if len(branches) == levels:
        above = [math.prod(branches[:level]) for level in range(levels)]
        return [np.full(nodes, b, np.int64) for nodes, b in zip(above, branches, strict=True)]
    by_level: list[Wholes] = []
    first, nodes = 0, 1
    for _ in range(levels):
        if first >= len(branches):
            return None
        by_level.append(np.array(branches[first : first + nodes], dtype=np.int64))
        first += nodes
        nodes = sum(branches[first - nodes : first])
    return by_level if first == len(branches) else None


@lru_cache(maxsize=64)
def shape_of(branches: tuple[int, ...], levels: int) -> TreeShape:
    """The shape that `branches` describe; raises ValueError if they describe none."""
    children = split_branches(branches, levels)
    if children is None:
        raise ValueError(f"branches describe no tree with {levels} levels")
    below = [np.ones(int(children[-1].sum()), dtype=np.int64)]
    kinds_of_nodes, kinds = (
        [np.zeros(len(below[0]), dtype=np.int64)],
        list[tuple[Kind, ...]]([((),)]),
    )
    for counts in reversed(children):
        ends = np.cumsum(counts)
        below.insert(0, np.add.reduceat(below[0], ends - counts))
        kinds_here, known = _find_kinds(kinds_of_nodes[0], counts)
        kinds_of_nodes.insert(0, kinds_here)
        kinds.insert(0, known)
    positions_of, positions = (
        [np.zeros(1, dtype=np.int64)],
        list[tuple[tuple[int, int], ...]]([((0, 0),)]),
    )
    order = np.zeros(1, dtype=np.int64)
    for counts, kinds_of_level in zip(children, kinds_of_nodes[1:], strict=True):
        pairs = np.stack([np.repeat(positions_of[-1], counts), kinds_of_level], axis=1)
        listed, position_of_node = np.unique(pairs, axis=0, return_inverse=True)
        positions.append(tuple((int(parent), int(kind)) for parent, kind in listed))
        positions_of.append(position_of_node.reshape(-1).astype(np.int64))
        order = _order_children(order, counts, kinds_of_level)
    return TreeShape(
        children=tuple(children),
        kinds=tuple(kinds),
        positions=tuple(positions),
        positions_of=tuple(positions_of),
        cells_below=tuple(below),
        order=order,
    )


def _find_kinds(below: Wholes, counts: Wholes) -> tuple[Wholes, tuple[Kind, ...]]:
    """For the nodes of one level, the index of each node's kind, and the list of kinds.

    `below` has the kind of each node one level below, and `counts` the number of children.
    """
    if not below.any() and (counts == counts[0]).all():
        return np.zeros(len(counts), dtype=np.int64), (((0, int(counts[0])),),)
    children, known = below.tolist(), dict[Kind, int]()
    ends = [0, *np.cumsum(counts).tolist()]
    kinds_of_nodes = [
        known.setdefault(tuple(sorted(Counter(children[first:end]).items())), len(known))
        for first, end in pairwise(ends)
    ]
    return np.array(kinds_of_nodes, dtype=np.int64), tuple(known)


def _order_children(order: Wholes, counts: Wholes, kinds: Wholes) -> Wholes:
    """Indices of the children of the nodes in `order`, with each node's children sorted by kind.

    `counts` has the number of children of each node, and `kinds` the kind of each child.
    """
    starts, counts_in_order = np.cumsum(counts) - counts, counts[order]
    parents = np.repeat(np.arange(len(order)), counts_in_order)
    inside = np.arange(len(parents)) - np.repeat(
        np.cumsum(counts_in_order) - counts_in_order, counts_in_order
    )
    unsorted = starts[order][parents] + inside
    return unsorted[np.lexsort((kinds[unsorted], parents))]
