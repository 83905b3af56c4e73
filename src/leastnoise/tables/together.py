"""Blocks that one draw of noise serves together, because one unit moves them all the same way.

Conditions and counts of persons, in all of which a unit may be, are together as many counting
queries: an added unit moves all of them up, a removed one all of them down. Noise for all at once
has a variance of about (D + 2)(D + 3)/6ε² each, noise apart (D_i + 2)(D_i + 3)/6ε_i²
(theory/bodies.md §3, §7): small blocks gain by it, large ones lose.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import final

import numpy as np

from leastnoise.guarantees.structured import CountingQueries
from leastnoise.tables.layout import Layout
from leastnoise.tables.limits import FirstCells

MOST_BLOCKS = 8  # whose partitions are all tried: 4,140
MOST_QUERIES = 30  # together; beyond it spherical noise comes near
_CORES = np.geomspace(0.05, 40.0, 60)


@final
@dataclass(frozen=True, kw_only=True)
class Counted:
    """A block of `queries` counts, in all of which a unit may be, with its `share` of ε and δ."""

    index: int
    queries: int
    share: Fraction


def counting(layouts: Sequence[Layout]) -> CountingQueries | None:
    """Return what blocks are together, if a unit adds 0 or 1 to each cell of each."""
    most = 0
    for layout in layouts:
        if not isinstance(layout.bounding, FirstCells):
            return None
        most += min(layout.bounding.most, layout.cells)
    return CountingQueries(dimension=sum(one.cells for one in layouts), max_nonzero=most)


def in_all(layout: Layout) -> bool:
    """Say whether a unit adds 0 or 1 to each cell of a block, to all of them at most."""
    return isinstance(layout.bounding, FirstCells) and layout.bounding.most >= layout.cells


def partition(blocks: Sequence[Counted], epsilon: Fraction) -> list[tuple[int, ...]]:
    """Return which of `blocks` are best drawn together, by their indexes.

    Of all partitions in which no block has more noise than apart the one with the least
    Σ share·ln(variance), in floats: what it leads to is proved later, like all else.
    """
    alone = [(block.index,) for block in blocks]
    if not 2 <= len(blocks) <= MOST_BLOCKS or not epsilon:
        return alone
    best, least = alone, math.inf
    for groups in _partitions(tuple(blocks)):
        total = 0.0
        for group in groups:
            queries = sum(block.queries for block in group)
            share = sum((block.share for block in group), Fraction(0))
            log = _log_variance(queries, float(epsilon * share))
            if len(group) > 1 and (
                queries > MOST_QUERIES
                or any(
                    log > _log_variance(block.queries, float(epsilon * block.share))
                    for block in group
                )
            ):
                break
            total += float(share) * log
        else:
            if total < least:
                best, least = [tuple(block.index for block in group) for group in groups], total
    return sorted(tuple(sorted(group)) for group in best)


def _partitions(blocks: tuple[Counted, ...]) -> Iterator[list[tuple[Counted, ...]]]:
    if not blocks:
        yield []
        return
    first, rest = blocks[0], blocks[1:]
    for size in range(len(rest) + 1):
        for chosen in combinations(rest, size):
            others = tuple(block for block in rest if block not in chosen)
            for groups in _partitions(others):
                yield [(first, *chosen), *groups]


@cache
def _log_variance(queries: int, epsilon: float) -> float:
    """Return ln of the variance of a query of the count staircase, at its best core (§3).

    Of one query it is that of noise on the whole numbers, which is less.
    """
    if queries == 1:
        return math.log(2) - epsilon - 2 * math.log(-math.expm1(-epsilon))
    count = math.ceil((queries + 60 + 12 * math.sqrt(queries)) / epsilon) + 2
    if count > 10**5:  # then it is the smooth law, to 1e-4
        return math.log((queries + 2) * (queries + 3) / (6 * epsilon**2))
    n = np.arange(count, dtype=float)
    least = math.inf
    for core in _CORES:
        logs = (queries - 1) * np.log(2 * core + n) - epsilon * n
        weights = np.exp(logs - logs.max())
        cubes = np.cumsum((core + n) ** 3)
        mean = 2 / 3 * float(weights @ cubes) / float(weights @ ((n + 1) * (2 * core + n)))
        least = min(least, mean)
    return math.log(least)
