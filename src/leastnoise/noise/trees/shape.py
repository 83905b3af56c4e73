"""The shape of a tree: how many children its nodes have, and which nodes are alike.

Two nodes of a level are of one `kind` where what is below them is the same, but for its order; they
have one `place`, and so one law, where their parents have one place as well. A tree whose nodes
all have as many children as others of their level is even: it has one of each.
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
"""The kinds of a node's children, each with how many there are; () of a cell."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class TreeShape:
    """A tree of L levels below its root; level 0 is the root, level L the cells.

    `children` holds, for each level but the last, how many children each node has, in the order of
    the cells. `kinds` are those of each level; `places` pairs of a parent's place and a kind.
    `places_of` and `cells_below` say of each node what its place is, and how many cells it has.
    """

    children: tuple[Wholes, ...]
    kinds: tuple[tuple[Kind, ...], ...]
    places: tuple[tuple[tuple[int, int], ...], ...]
    places_of: tuple[Wholes, ...]
    cells_below: tuple[Wholes, ...]
    order: Wholes
    """The cells by number, where a node's children are sorted by kind."""

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.places_of[-1])

    @property
    def nodes(self) -> tuple[int, ...]:
        """Number of nodes of each level."""
        return tuple(map(len, self.places_of))

    def starts(self, level: int) -> Wholes:
        """Return the first cell of each node of a level."""
        ends = np.cumsum(self.cells_below[level])
        return ends - self.cells_below[level]

    def count(self, level: int) -> list[int]:
        """Return how many nodes of a level have each place."""
        return np.bincount(self.places_of[level]).tolist()


def split_branches(branches: Sequence[int], levels: int) -> list[Wholes] | None:
    """Return how many children each node has, by level; None if `branches` don't say that.

    They have a number for each level, or for each node but the cells, level by level.
    """
    if len(branches) == levels:
        above = [math.prod(branches[:level]) for level in range(levels)]
        return [np.full(nodes, b, np.int64) for nodes, b in zip(above, branches, strict=True)]
    found: list[Wholes] = []
    first, nodes = 0, 1
    for _ in range(levels):
        if first >= len(branches):
            return None
        found.append(np.array(branches[first : first + nodes], dtype=np.int64))
        first += nodes
        nodes = sum(branches[first - nodes : first])
    return found if first == len(branches) else None


@lru_cache(maxsize=64)
def shape_of(branches: tuple[int, ...], levels: int) -> TreeShape:
    """Return the shape that `split_branches` says; ValueError if it says none."""
    children = split_branches(branches, levels)
    if children is None:
        raise ValueError("branches say no tree of so many levels")
    below = [np.ones(int(children[-1].sum()), dtype=np.int64)]
    own_kinds, kinds = [np.zeros(len(below[0]), dtype=np.int64)], list[tuple[Kind, ...]]([((),)])
    for counts in reversed(children):
        ends = np.cumsum(counts)
        below.insert(0, np.add.reduceat(below[0], ends - counts))
        found, known = _kinds(own_kinds[0], counts)
        own_kinds.insert(0, found)
        kinds.insert(0, known)
    places_of, places = (
        [np.zeros(1, dtype=np.int64)],
        list[tuple[tuple[int, int], ...]]([((0, 0),)]),
    )
    order = np.zeros(1, dtype=np.int64)
    for counts, own in zip(children, own_kinds[1:], strict=True):
        pairs = np.stack([np.repeat(places_of[-1], counts), own], axis=1)
        listed, which = np.unique(pairs, axis=0, return_inverse=True)
        places.append(tuple((int(parent), int(kind)) for parent, kind in listed))
        places_of.append(which.reshape(-1).astype(np.int64))
        order = _below(order, counts, own)
    return TreeShape(
        children=tuple(children),
        kinds=tuple(kinds),
        places=tuple(places),
        places_of=tuple(places_of),
        cells_below=tuple(below),
        order=order,
    )


def _kinds(below: Wholes, counts: Wholes) -> tuple[Wholes, tuple[Kind, ...]]:
    """Return the kind of each node, given that of each child, and what kinds there are."""
    if not below.any() and (counts == counts[0]).all():
        return np.zeros(len(counts), dtype=np.int64), (((0, int(counts[0])),),)
    children, known = below.tolist(), dict[Kind, int]()
    ends = [0, *np.cumsum(counts).tolist()]
    own = [
        known.setdefault(tuple(sorted(Counter(children[first:end]).items())), len(known))
        for first, end in pairwise(ends)
    ]
    return np.array(own, dtype=np.int64), tuple(known)


def _below(order: Wholes, counts: Wholes, kinds: Wholes) -> Wholes:
    """Return the children of nodes in this order, those of each sorted by kind."""
    starts, each = np.cumsum(counts) - counts, counts[order]
    parents = np.repeat(np.arange(len(order)), each)
    inside = np.arange(len(parents)) - np.repeat(np.cumsum(each) - each, each)
    found = starts[order][parents] + inside
    return found[np.lexsort((kinds[found], parents))]
