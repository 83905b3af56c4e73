"""Private proximal descent in numpy; what is summed is whole numbers, with exact sensitivities.

notation: x_i a row in [−1, 1]^d, y_i = ±1 its label, h the coefficients. The loss is
1/n Σ log(1 + exp(−y_i h·x_i)) + λ‖h‖₁, and a row's part of n times its derivatives is s_i x_i with
s_i = −y_i/(1 + exp(y_i h·x_i)) in [−1, 1].

Features are whole multiples of 2^−20, cut towards 0, and so is each product s_i x_ij: it is never
larger than x_ij, whatever floats made of s_i. So a row moves a sum by what its features allow, to
the last bit, and all sums are exact (below 2^53).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import InvalidArgument
from leastnoise.learn.plan import TrainingPlan

Floats = NDArray[np.float64]

BITS = 20
_UNIT = 1 << BITS
MOST_ROWS = 1 << 32  # whose sums of whole numbers up to 2^20 are exact in a double
_FAR = 2.0**40  # coefficients beyond it are at it for margins, which then stay finite

_quietly = np.errstate(all="ignore")  # a caller's np.seterr must not turn a value into an error

Noisy = Callable[[Floats], Floats]
"""From sums in units of 2^−20, whole numbers, to what is released of them, in units of 1."""


@_quietly
def whole_features(features: Floats, *, squared_norm: Fraction | None) -> Floats:
    """Return features as whole numbers of 2^−20, shape (n, d), in a row's order in memory.

    Each is cut to [−1, 1] and every row to ‖x‖₂² <= `squared_norm`, if there is one, exactly.
    """
    if len(features) > MOST_ROWS:
        raise InvalidArgument(
            name="X", value=f"{len(features):,} rows", expected=f"at most {MOST_ROWS:,} rows"
        )
    whole = np.trunc(np.clip(features, -1.0, 1.0) * _UNIT)
    if squared_norm is None:
        return whole
    limit = int(squared_norm * _UNIT**2)
    squares = (whole.astype(np.int64) ** 2).sum(axis=1)
    long = squares > limit
    if long.any():
        shorter = 1 - 2.0**-40  # than the limit, for the roundings of a factor and its products
        factors = np.sqrt(limit / squares[long]) * shorter
        whole[long] = np.trunc(whole[long] * factors[:, None])
        still = (whole.astype(np.int64) ** 2).sum(axis=1) > limit
        whole[still] = 0.0  # never seen: the factor has room
    return whole


@_quietly
def shorten(features: Floats, *, squared_norm: Fraction | None) -> Floats:
    """Return features as training sees them, but for the cut to multiples of 2^−20: for scores."""
    near = np.clip(features, -1.0, 1.0)
    if squared_norm is None:
        return near
    lengths = np.sqrt((near**2).sum(axis=1, keepdims=True))
    return near * np.minimum(1.0, math.sqrt(squared_norm) / np.maximum(lengths, 1 / _UNIT))


@_quietly
def coordinate_rounds(
    whole: Floats,
    labels: Floats,
    *,
    plan: TrainingPlan,
    rows: int,
    penalty: float,
    order: Iterator[NDArray[np.int64]],
    noisy: Noisy,
) -> Floats:
    """Return h, shape (d,), by proximal coordinate descent (Mangold et al. 2022, Algorithm 1).

    A round updates the first coordinates of a permutation of `order`, one after the other, and ends
    at the average of what it passed through. `rows` is the public n, `penalty` is λ.
    """
    columns = np.asfortranarray(whole)
    weights = np.zeros(whole.shape[1])
    for _ in range(plan.rounds):
        now, passed = weights.copy(), np.zeros_like(weights)
        margins = _margins(columns, now)
        for j in next(order)[: plan.per_round]:
            total = np.trunc(_slopes(margins, labels) * columns[:, j]).sum()
            (derivative,) = noisy(np.array([total]))
            moved = _shrunk(now[j] - plan.step * derivative / rows, plan.step * penalty)
            margins += columns[:, j] * ((moved - now[j]) / _UNIT)
            now[j] = moved
            passed += now
        weights = passed / plan.per_round
    return weights


@_quietly
def vector_rounds(
    whole: Floats,
    labels: Floats,
    *,
    plan: TrainingPlan,
    rows: int,
    penalty: float,
    noisy: Noisy,
) -> Floats:
    """Return h, shape (d,), by Nesterov's accelerated proximal descent with the plan's ridge.

    The average over all rounds, the later the more, before the penalty shrinks it: shrinking each
    first would leave no average at 0.
    """
    columns = np.asfortranarray(whole)
    weights = np.zeros(whole.shape[1])
    ahead, passed = weights, np.zeros_like(weights)
    for turn in range(1, plan.rounds + 1):
        gradient = noisy(_sums(columns, labels, ahead)) / rows + plan.ridge * ahead
        moved = ahead - plan.step * gradient
        before, weights = weights, _shrunk(moved, plan.step * penalty)
        ahead = weights + plan.momentum * (weights - before)
        passed += turn * moved
    average = passed * (2 / (plan.rounds * (plan.rounds + 1)))
    return _shrunk(average, plan.step * penalty)


def _sums(columns: Floats, labels: Floats, weights: Floats) -> Floats:
    """Return n times the derivatives, in units of 2^−20: the sum of whole numbers, so exact.

    In blocks that stay in a processor's cache; a row's part is the same in any block.
    """
    size = max(1 << 12, (1 << 17) // max(1, columns.shape[1]))  # rows: 2^17 numbers, or more
    totals = np.zeros(columns.shape[1])
    for start in range(0, len(columns), size):
        block = columns[start : start + size]
        slopes = _slopes(_margins(block, weights), labels[start : start + size])
        parts = np.empty_like(slopes)
        for place, column in enumerate(block.T):
            np.multiply(column, slopes, out=parts)
            totals[place] += np.trunc(parts, out=parts).sum()
    return totals


def _margins(columns: Floats, weights: Floats) -> Floats:
    """Return h·x_i for every row, each by the same operations in the same order.

    A matrix product may round a row by its place and by how many rows there are, so that a row that
    is there or not would change what others add to a sum.
    """
    margins = np.zeros(len(columns))
    near = np.clip(np.nan_to_num(weights), -_FAR, _FAR)
    for column, weight in zip(columns.T, near / _UNIT, strict=True):
        margins += column * weight
    return margins


def _slopes(margins: Floats, labels: Floats) -> Floats:
    """Return s_i, in [−1, 1] whatever overflows."""
    return np.clip(-labels / (1 + np.exp(labels * margins)), -1.0, 1.0)


def _shrunk(weights: Floats, by: float) -> Floats:
    """Return the proximal operator of by·‖·‖₁."""
    return np.sign(weights) * np.maximum(np.abs(weights) - by, 0.0)
