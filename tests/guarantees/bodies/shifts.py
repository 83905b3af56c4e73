"""The extreme shifts of each example body, listed without any code under test."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]


def subsets(queries: int, most: int, bound: float = 1.0) -> Points:
    """The shifts by a row that meets at most `most` of the conditions."""
    vectors = [
        x for x in itertools.product((0.0, bound), repeat=queries) if 0 < sum(x) <= most * bound
    ]
    return np.array(vectors)


def rows(cells: int, bounds: tuple[float, ...]) -> Points:
    """The extreme shifts by a row in one cell: 1 in its count, ± the bounds in its sums."""
    vectors = []
    for cell in range(cells):
        for signs in itertools.product((-1.0, 1.0), repeat=len(bounds) - 1):
            x = np.zeros((cells, len(bounds)))
            x[cell] = np.array(bounds) * (1.0, *signs)
            vectors.append(x.ravel())
    return np.array(vectors)


def counted(points: Points, bound: float) -> Points:
    """The shifts `points` or 0 by one row, with the count of rows as one more coordinate."""
    padded = np.vstack([np.zeros(points.shape[1]), points])
    return np.hstack([padded, np.full((len(padded), 1), bound)])


def product(*blocks: Points) -> Points:
    """The shifts that move each block by one of its shifts or by 0."""
    choices = [[np.zeros(block.shape[1]), *block] for block in blocks]
    vectors = [np.concatenate(parts) for parts in itertools.product(*choices)]
    return np.array([x for x in vectors if x.any()])


def single_case(*blocks: Points) -> Points:
    """The shifts that move one block, and no other."""
    sizes = [block.shape[1] for block in blocks]
    vectors = []
    for i, block in enumerate(blocks):
        left, right = sum(sizes[:i]), sum(sizes[i + 1 :])
        vectors.append(np.pad(block, ((0, 0), (left, right))))
    return np.vstack(vectors)


def both_ways(points: Points) -> Points:
    return np.vstack([points, -points])


def box(*bounds: float) -> Points:
    return np.array(list(itertools.product(*((-b, b) for b in bounds))))


def some_of(points: Points, *, most: int, cells: int) -> Points:
    """The extreme shifts that move `most` of `cells` cells, each by one of `points`."""
    zero = np.zeros(points.shape[1])
    vectors = []
    for moved in itertools.combinations(range(cells), most):
        for parts in itertools.product(points, repeat=most):
            x = [zero] * cells
            for move, part in zip(moved, parts, strict=True):
                x[move] = part
            vectors.append(np.concatenate(x))
    return np.array(vectors)


def circle(radius: float, points: int = 60) -> Points:
    """The corners of a polygon around the disc, at 1/cos(π/points) times its radius."""
    angles = 2 * np.pi * (np.arange(points) + 0.5) / points
    return radius / math.cos(math.pi / points) * np.stack([np.cos(angles), np.sin(angles)], axis=1)


PAIR, ROWS = subsets(2, 2), rows(2, (1.0, 2.0))

ADDED: dict[str, Points] = {
    "all of 2": PAIR,
    "all of 3": subsets(3, 3, 0.5),
    "1 of 3": subsets(3, 1),
    "2 of 4": subsets(4, 2, 2.0),
    "a count and a sum": rows(1, (1.0, 2.0)),
    "two cells with sums": ROWS,
    "a cell with two sums": rows(1, (1.0, 1.0, 3.0)),
    "2 counted": counted(PAIR, 0.5),
    "1 of 2 counted": counted(subsets(2, 1), 2.0),
    "counts and more counts": product(PAIR, subsets(2, 1, 3.0)),
    "two blocks of rows": product(ROWS, 1.5 * rows(1, (1.0,))),
    "split": single_case(3 * PAIR, 1.5 * subsets(1, 1)),
}

HEXAGON = both_ways(PAIR)
SHIFTS: dict[str, Points] = {
    "interval": box(1.5),
    "box": box(1.0, 0.5, 2.0),
    "hexagon": HEXAGON,
    "skew polygon": both_ways(np.array([[2.0, 1.0], [-1.0, 1.0], [0.5, 2.0], [-0.1, 0.2]])),
    "cells": single_case(box(1.0), box(1.0), box(1.0, 2.0)),
    "cells of hexagons": single_case(HEXAGON, HEXAGON),
    "2 of 3": some_of(box(1.0), most=2, cells=3),
    "2 of 5": some_of(box(2.0), most=2, cells=5),
    "2 of 3 boxes": some_of(box(1.0, 2.0), most=2, cells=3),
    "product": product(box(1.0), HEXAGON),
    "split": single_case(3 * HEXAGON, box(1.5)),
    "nested": product(single_case(box(1.0, 1.0), box(1.0, 1.0)), box(2.0)),
    **{f"signed {name}": both_ways(points) for name, points in ADDED.items()},
    **{
        f"differences of {name}": np.array(
            [a - b for a, b in itertools.permutations([np.zeros(points.shape[1]), *points], 2)]
        )
        for name, points in ADDED.items()
    },
}
