"""How little variance additive noise can have: for one number, and in the answers to a workload."""

from __future__ import annotations

import math
from fractions import Fraction
from operator import mul
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.balls.core import ball, float_below, precision

if TYPE_CHECKING:
    from flint import arb
    from numpy.typing import NDArray

    from leastnoise.guarantees.budget import Budget

    Floats = NDArray[np.float64]

# Noise for one number: the lemma of theory/marginals.md §4.


_LEAST = Fraction(1, 2**40)  # ε counts as δ times that at least: nothing is divided by 0 then
_BITS = 256  # half of which the sums of k² lose there


def least_variance(budget: Budget) -> arb:
    """Return a ball for a variance that no noise which hides a shift of 1 is below.

    2q/(1 − q)² at δ = 0, q = e^(−ε). Beyond, k²f + |f|k²p/w + τ(s − k²p²/w) where p = q^k,
    w = Σ q^|i| and s = Σ i² q^|i| over i = 1 − k … k, τ = (e^ε − 1 + 2δ)/(e^ε + 1), f = 1 − τw.
    Proved for every k; the best one is where f changes its sign.
    """
    if budget.delta == 0:
        return 1 / (2 * (ball(budget.epsilon) / 2).sinh() ** 2)
    with precision(_BITS):  # what no noise has at a larger ε, none has at this one
        epsilon, delta = ball(max(budget.epsilon, budget.delta * _LEAST)), ball(budget.delta)
        q, off = (-epsilon).exp(), -(-epsilon).expm1()
        tau = (off + 2 * delta * q) / (1 + q)
        whole = ((tau / delta).log() / epsilon).mid().floor().unique_fmpz()
        k = 1 + max(int(whole or 0), 0)
        p, reached = (-epsilon * k).exp(), -(-epsilon * k).expm1()
        w = (1 + q) * reached / off
        f = p - 2 * delta * q * reached / off
        s = 2 * q * (1 + q) * reached / off**3 - p * (k**2 * (1 + q) / off + 4 * k * q / off**2)
        edge = k**2 * p / w
        return k**2 * f + abs(f) * edge + tau * (s - p * edge)


# How little variance any additive noise leaves in the answers to a workload: a proved bound.
#
# notation: W the workload, shape (m, n); y > 0 prices of the cells, D = diag(√y); U any matrix of
# W's shape; V₁ the least variance of noise for one number that hides a shift of 1; R the rows of a
# unit. The answers' variances add up to V₁R²·min tr(W X⁻¹ Wᵀ) at least, over X_ii <= 1, and that to
# V₁R²·(tr UᵀWD)²/(Σy·‖U‖²); ‖U‖² <= 1 + ‖G − I‖_F, G = UᵀU or UUᵀ. Proofs: theory/marginals.md §8.


_TURN_BITS = 26  # of U's numbers: of whole numbers below 2^53 floats add up exactly
_ROOT_BITS = 40  # of √y


def least_rms(queries: Floats, prices: Floats, *, budget: Budget, max_rows: int) -> float:
    """Return a lower bound on the root mean square std of the answers; proved, rounded down.

    For additive noise that hides a unit which adds up to `max_rows` to one cell. Neighbours where
    a unit may also move from cell to cell ask for more: it holds for them, too. Any `prices` will
    do, and U is rounded from the best in floats: W and both are then exact.
    """
    roots = np.rint(np.ldexp(np.sqrt(prices / prices.max()), _ROOT_BITS))
    rotation = np.rint(np.ldexp(_polar(queries * roots), _TURN_BITS))
    square = _norm_square(rotation)
    if square is None:
        return 0.0
    whole, bits = as_integers(queries)
    weights = _ints(roots)
    trace = sum(
        sum(map(mul, map(mul, _ints(row), _ints(turned)), weights))
        for row, turned in zip(whole, rotation, strict=True)
    )
    total = Fraction(trace, 1 << (bits + _TURN_BITS)) ** 2 / sum(map(mul, weights, weights))
    mean = max_rows**2 * total / square / len(queries)
    with precision():
        return float_below((least_variance(budget) * ball(mean)).sqrt())


def as_integers(queries: Floats) -> tuple[Floats, int]:
    """Return whole numbers N and the fewest bits b with W = N·2^−b."""
    bits = 0
    while not np.array_equal(found := np.ldexp(queries, bits), np.rint(found)):
        bits += 1
    return found, bits


def _ints(row: Floats) -> list[int]:
    return list(map(int, row.tolist()))


def _polar(matrix: Floats) -> Floats:
    """Return U with the largest tr UᵀM among those whose columns, or rows, are orthonormal."""
    tall = len(matrix) > matrix.shape[1]
    basis, rest = np.linalg.qr(matrix) if tall else (None, matrix)
    left, _, right = np.linalg.svd(rest, full_matrices=False)
    found = left @ right
    return np.asarray(found if basis is None else basis @ found, dtype=np.float64)


def _norm_square(whole: Floats) -> Fraction | None:
    """Return a number that ‖U‖² is not above, U = whole·2^−26; None if it isn't nearly 1.

    The products are whole and a sum of squares only rises, so that one below 2^53 was exact all
    along, in whatever order; and |Σuv| <= (Σu² + Σv²)/2 holds for every part of the other sums.
    """
    rows, columns = whole.shape
    gram = whole.T @ whole if rows >= columns else whole @ whole.T
    if not gram.diagonal().max() < 2.0**53:
        return None
    off = gram.astype(np.int64)
    off[np.diag_indices_from(off)] -= 1 << (2 * _TURN_BITS)
    squares = sum(one * one for one in off.ravel().tolist())
    return 1 + Fraction(math.isqrt(squares) + 1, 1 << (2 * _TURN_BITS))
