"""Noise on the cells of a tree: a lower bound on its pure ε, from single shifts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tests.attacks import truth

Record = dict[str, Any]

FAMILY = "agreeing"


def least_epsilon(noise: Record, sensitivity: Record, dimension: int) -> Fraction:
    """The largest loss of some shifts, at outputs where every moved sum has the shift's sign."""
    law = noise["parameters"]
    shares = [truth.number(share) for share in law["shares"]]
    moved = [_cost(shift, law["branches"], shares) for shift in _shifts(sensitivity, dimension)]
    return max(moved) / truth.number(law["scale"])


def _shifts(sensitivity: Record, dimension: int) -> list[list[int]]:
    """Some shifts that a unit can cause."""
    bound = int(truth.number(sensitivity["bound"]))
    most = sensitivity.get("l0", 1)
    first = [bound if i < most else 0 for i in range(dimension)]
    if sensitivity.get("neighbours") != "replace-one" or 2 * most > dimension:
        return [first]
    return [first, [item - other for item, other in zip(first, reversed(first), strict=True)]]


def _cost(shift: list[int], branches: list[int], shares: list[Fraction]) -> Fraction:
    """The cost Σ_v w_v|s_v| over all nodes v, computed from the cells upwards.

    `branches` has a number for each level, or for each node with children, level by level.
    """
    children = list(branches)
    if len(branches) == len(shares) - 1:
        above = [math.prod(branches[:level]) for level in range(len(branches))]
        children = [b for b, nodes in zip(branches, above, strict=True) for _ in range(nodes)]
    sums = list(shift)
    value = shares[-1] * sum(map(abs, sums))
    for share in shares[-2::-1]:
        parents: list[int] = []
        while sums:  # the last remaining node has the last cells
            last = children.pop()
            parents.insert(0, sum(sums[-last:]))
            del sums[-last:]
        sums = parents
        value += share * sum(map(abs, sums))
    assert not children
    return value
