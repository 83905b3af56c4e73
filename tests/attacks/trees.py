"""Noise on the cells of a tree: what single shifts prove its pure ε to be at least."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tests.attacks import truth

Record = dict[str, Any]

FAMILY = "agreeing"


def least_epsilon(noise: Record, sensitivity: Record, dimension: int) -> Fraction:
    """Return a loss that is met: where all sums that a shift moves have its sign."""
    law = noise["parameters"]
    shares = [truth.number(share) for share in law["shares"]]
    moved = [_cost(shift, law["branches"], shares) for shift in _shifts(sensitivity, dimension)]
    return max(moved) / truth.number(law["scale"])


def _shifts(sensitivity: Record, dimension: int) -> list[list[int]]:
    """Return some that a unit makes."""
    bound = int(truth.number(sensitivity["bound"]))
    most = sensitivity.get("l0", 1)
    first = [bound if i < most else 0 for i in range(dimension)]
    if sensitivity.get("neighbours") != "replace-one" or 2 * most > dimension:
        return [first]
    return [first, [one - other for one, other in zip(first, reversed(first), strict=True)]]


def _cost(shift: list[int], branches: list[int], shares: list[Fraction]) -> Fraction:
    """Return Σ_v w_v|s_v| of the nodes of this one and below."""
    own = shares[0] * abs(sum(shift))
    if not branches:
        return own
    width = len(shift) // branches[0]
    children = (shift[i : i + width] for i in range(0, len(shift), width))
    return own + sum((_cost(child, branches[1:], shares[1:]) for child in children), Fraction(0))
