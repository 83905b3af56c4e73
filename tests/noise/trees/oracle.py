"""Noise on a tree, computed slowly from its definition: node by node, by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from leastnoise.noise.trees.law import Agreeing

Whole = NDArray[np.int64]


def sums_of(cells: Whole, branches: tuple[int, ...], levels: int | None = None) -> list[Whole]:
    """The sums of the nodes of each level, the root's level first; the last axis has the cells.

    `branches` has a number for each level, or for each node if `levels` differs from its length.
    """
    if levels not in {None, len(branches)}:
        return _sums_of_nodes(cells, list(branches), levels or 0)
    if not branches:
        return [cells]
    width = cells.shape[-1] // branches[0]
    children = [
        sums_of(cells[..., child * width : (child + 1) * width], branches[1:])
        for child in range(branches[0])
    ]
    below = [np.concatenate(parts, axis=-1) for parts in zip(*children, strict=True)]
    return [cells.sum(axis=-1, keepdims=True), *below]


def _sums_of_nodes(cells: Whole, branches: list[int], levels: int) -> list[Whole]:
    """Split `branches` into levels, and sum from the cells upwards, node by node."""
    children, nodes = list[list[int]](), 1
    for _ in range(levels):
        children.append([branches.pop(0) for _ in range(nodes)])
        nodes = sum(children[-1])
    assert not branches
    levels_of_sums = [cells]
    for counts in reversed(children):
        below, sums = (
            [levels_of_sums[0][..., j] for j in range(levels_of_sums[0].shape[-1])],
            list[Whole](),
        )
        for count in counts:
            sums.append(np.sum([below.pop(0) for _ in range(count)], axis=0))
        levels_of_sums.insert(0, np.stack(sums, axis=-1))
    return levels_of_sums


def exponents(noise: Agreeing, cells: Whole) -> tuple[Whole, int]:
    """Σ_v w_v|z_v|/scale exactly: the numerators, and their common denominator."""
    rates = [share / noise.scale for share in noise.shares]
    denominator = math.lcm(*(rate.denominator for rate in rates))
    total = np.zeros(cells.shape[:-1], dtype=np.int64)
    for rate, sums in zip(rates, sums_of(cells, noise.branches, len(rates) - 1), strict=True):
        total += int(rate * denominator) * np.abs(sums).sum(axis=-1)
    return total, denominator


def all_points(dimension: int, reach: int) -> Whole:
    """All integer vectors in [−reach, reach]^dimension."""
    axes = np.meshgrid(*[np.arange(-reach, reach + 1)] * dimension, indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=-1)


def enumerated(noise: Agreeing, reach: int) -> tuple[Whole, NDArray[np.float64]]:
    """All points within `reach`, and their probabilities given that the noise is within `reach`."""
    points = all_points(noise.dimension, reach)
    logs = np.zeros(len(points))
    for share, sums in zip(
        noise.shares, sums_of(points, noise.branches, len(noise.shares) - 1), strict=True
    ):
        logs -= float(share / noise.scale) * np.abs(sums).sum(axis=-1)
    weights = np.exp(logs)
    return points, weights / weights.sum()


def added(dimension: int, most: int) -> Iterator[Whole]:
    """Yield the vectors that a unit of at most `most` rows can add."""
    for table in itertools.product(range(most + 1), repeat=dimension):
        if sum(table) <= most:
            yield np.array(table)


def moved_by_rows(dimension: int, most: int, *, replaced: bool) -> list[Whole]:
    """All shifts by a unit that is added or removed, or that is replaced."""
    units = list(added(dimension, most))
    if not replaced:
        return [sign * unit for unit in units for sign in (1, -1)]
    return [unit - other for unit in units for other in units]


def largest_cost(noise: Agreeing, shifts: list[Whole]) -> Fraction:
    """The largest Σ_v w_v|s_v| over the `shifts`."""
    costs, denominator = exponents(noise, np.array(shifts))
    return Fraction(int(costs.max()), denominator) * noise.scale


def largest_loss(noise: Agreeing, shifts: list[Whole], outputs: Whole) -> Fraction:
    """The largest privacy loss over the shifts and the outputs."""
    here, denominator = exponents(noise, outputs)
    losses = [exponents(noise, outputs - shift)[0] - here for shift in shifts]
    return Fraction(int(np.max(losses)), denominator)
