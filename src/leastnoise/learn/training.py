"""Private proximal descent in numpy, with sums of whole numbers and exact sensitivities.

Notation: n rows have d features each. x_i is a row in [−1, 1]^d with entries x_ij, y_i = ±1 its
label, and h the coefficients. The loss is 1/n Σ log(1 + exp(−y_i h·x_i)) + λ‖h‖₁, with the
penalty's weight λ. Row i adds s_i x_i to n times the derivatives of the loss without its penalty,
with the slope s_i = −y_i/(1 + exp(y_i h·x_i)) in [−1, 1].

Features are truncated to whole multiples of 2^−20, and so is each product s_i x_ij. So a product is
never larger than x_ij in size, even if s_i is rounded. A row moves a sum by at most its own
features, exactly, and all sums are exact (below 2^53). Arrays `whole` and `columns` hold features
as integers in units of 2^−20.
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
MOST_ROWS = 1 << 32  # a double sums this many whole numbers of at most 2^20 exactly
_FAR = 2.0**40  # limit to which coefficients are clipped in margins, so that these stay finite

_quietly = np.errstate(all="ignore")  # a caller's np.seterr must not turn a value into an error

Noisy = Callable[[Floats], Floats]
"""A function that releases sums: from integers in units of 2^−20 to noisy sums in units of 1."""


@_quietly
def whole_features(features: Floats, *, squared_norm: Fraction | None) -> Floats:
    """Convert features to integers in units of 2^−20, as floats of shape (n, d).

    Each feature is clipped to [−1, 1] and every row to ‖x‖₂² <= `squared_norm`, if it is given,
    exactly. Raises InvalidArgument for too many rows.
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
        shorter = 1 - 2.0**-40  # allows for the rounding of a factor and its products
        factors = np.sqrt(limit / squares[long]) * shorter
        whole[long] = np.trunc(whole[long] * factors[:, None])
        still = (whole.astype(np.int64) ** 2).sum(axis=1) > limit
        whole[still] = 0.0  # never happens, because the factor allows for rounding
    return whole


@_quietly
def shorten(features: Floats, *, squared_norm: Fraction | None) -> Floats:
    """Clip features for scores: as in training, but without truncation to multiples of 2^−20."""
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
    """Train coefficients, shape (d,), by proximal coordinate descent (Mangold et al. 2022).

    It is their Algorithm 1. A round updates the first coordinates of a permutation of `order` in
    turn, and ends at the average of its iterates. `rows` is the public n, `penalty` is λ, and
    `noisy` adds the noise of the `plan` to exact sums.
    """
    columns = np.asfortranarray(whole)
    weights = np.zeros(whole.shape[1])
    for _ in range(plan.rounds):
        now, passed = weights.copy(), np.zeros_like(weights)
        margins = _margins(columns, now)
        for j in next(order)[: plan.per_round]:
            total = np.trunc(_slopes(margins, labels) * columns[:, j]).sum()
            (derivative,) = noisy(np.array([total]))
            moved = _shrink(now[j] - plan.step * derivative / rows, plan.step * penalty)
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
    """Train coefficients, shape (d,), by Nesterov's accelerated proximal descent with a ridge.

    The ridge is the plan's. `rows` is the public n, `penalty` is λ, and `noisy` adds the noise of
    the `plan` to exact sums. The result is the average over all rounds, with larger weights for
    later ones. The penalty shrinks the average, because an average of shrunk iterates is never 0.
    """
    columns = np.asfortranarray(whole)
    weights = np.zeros(whole.shape[1])
    ahead, passed = weights, np.zeros_like(weights)
    for turn in range(1, plan.rounds + 1):
        gradient = noisy(_sums(columns, labels, ahead)) / rows + plan.ridge * ahead
        moved = ahead - plan.step * gradient
        before, weights = weights, _shrink(moved, plan.step * penalty)
        ahead = weights + plan.momentum * (weights - before)
        passed += turn * moved
    average = passed * (2 / (plan.rounds * (plan.rounds + 1)))
    return _shrink(average, plan.step * penalty)


def _sums(columns: Floats, labels: Floats, weights: Floats) -> Floats:
    """The derivatives times n, in units of 2^−20: sums of whole numbers, so exact.

    Rows are processed in blocks that fit a processor's cache; a row's part doesn't depend on the
    block.
    """
    size = max(1 << 12, (1 << 17) // max(1, columns.shape[1]))  # rows in a block of 2^17 numbers
    totals = np.zeros(columns.shape[1])
    for start in range(0, len(columns), size):
        block = columns[start : start + size]
        slopes = _slopes(_margins(block, weights), labels[start : start + size])
        parts = np.empty_like(slopes)
        for j, column in enumerate(block.T):
            np.multiply(column, slopes, out=parts)
            totals[j] += np.trunc(parts, out=parts).sum()
    return totals


def _margins(columns: Floats, weights: Floats) -> Floats:
    """The products h·x_i for all rows, each computed by the same operations in the same order."""
    margins = np.zeros(len(columns))
    near = np.clip(np.nan_to_num(weights), -_FAR, _FAR)
    for column, weight in zip(columns.T, near / _UNIT, strict=True):
        margins += column * weight
    return margins


def _slopes(margins: Floats, labels: Floats) -> Floats:
    """The slopes s_i of all rows, in [−1, 1] even if something overflows."""
    return np.clip(-labels / (1 + np.exp(labels * margins)), -1.0, 1.0)


def _shrink(weights: Floats, by: float) -> Floats:
    """Shrink each weight towards 0 by at most `by`: the proximal operator of by·‖·‖₁."""
    return np.sign(weights) * np.maximum(np.abs(weights) - by, 0.0)
