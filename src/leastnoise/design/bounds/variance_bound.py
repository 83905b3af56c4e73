"""Lower bounds on the variance of additive noise: for a number, a workload, or counts of a tree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import TYPE_CHECKING, final

import numpy as np
from flint import fmpz_mat

from leastnoise.balls.core import AMPLE_BITS, ball, float_below, precision

if TYPE_CHECKING:
    from flint import arb
    from numpy.typing import NDArray

    from leastnoise.guarantees.budget import Budget

    Floats = NDArray[np.float64]
    from collections.abc import Sequence

    Wholes = NDArray[np.int64]

# Noise for one number: the lemma of theory/marginals.md §4.


_LEAST = Fraction(1, 2**40)  # ε is raised to at least this multiple of δ, against division by 0


def least_variance(budget: Budget) -> arb:
    """A lower bound, as a ball, on the variance of noise that hides a shift of 1.

    At δ = 0 it is 2q/(1 − q)², where q = e^(−ε). Otherwise, for a whole k >= 1, it is k²f +
    |f|k²p/w + τ(s − k²p²/w). Here p = q^k, w = Σ q^|i| and s = Σ i² q^|i| over i = 1 − k … k, τ =
    (e^ε − 1 + 2δ)/(e^ε + 1), and f = 1 − τw. This is proved for every k; the best k is where f
    changes its sign.
    """
    if budget.delta == 0:
        return 1 / (2 * (ball(budget.epsilon) / 2).sinh() ** 2)
    # The sums of k² lose half of the bits. A bound for a larger ε is a bound for this ε.
    with precision(AMPLE_BITS):
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


# A proved lower bound on the variance in the answers to a workload, for any additive noise.
#
# Notation: W is the workload, shape (m, n); y > 0 are prices of the cells, and D = diag(√y). U is
# any matrix of W's shape, ‖U‖ its largest singular value, and ‖·‖_F the Frobenius norm. V₁ is the
# least variance of noise for one number that hides a shift of 1, and R the rows of a unit. The
# answers' variances sum to at least V₁R²·min tr(W X⁻¹ Wᵀ) over matrices X > 0 with X_ii <= 1. This
# is at least V₁R²·(tr UᵀWD)²/(Σy·‖U‖²); ‖U‖² <= 1 + ‖G − I‖_F for G = UᵀU or UUᵀ. Proofs:
# theory/marginals.md §8.


_TURN_BITS = 26  # of U's numbers: floats add integers below 2^53 exactly
_ROOT_BITS = 40  # of √y


def least_rms(
    queries: Floats, prices: Floats, *, budget: Budget, max_rows: Fraction | int
) -> float:
    """A proved lower bound on the root-mean-square std of the answers to `queries`, rounded down.

    The bound holds for additive noise that hides a unit which may add `max_rows` to any one cell.
    If a unit may also move from cell to cell, the noise has to hide more, so the bound still holds.
    It holds for any `prices` and any matrix U (see the notation). So floats propose both, and the
    proof uses them rounded to integers. It is 0 if U isn't nearly orthonormal.
    """
    roots = np.rint(np.ldexp(np.sqrt(prices / prices.max()), _ROOT_BITS))
    rotation = np.rint(np.ldexp(_polar(queries * roots), _TURN_BITS))
    square = _norm_square(rotation)
    if square is None:
        return 0.0
    whole, bits = as_integers(queries)
    weights = _ints(roots)
    trace = sum(
        sum(map(mul, map(mul, _ints(row), _ints(rotated)), weights))
        for row, rotated in zip(whole, rotation, strict=True)
    )
    total = Fraction(trace, 1 << (bits + _TURN_BITS)) ** 2 / sum(map(mul, weights, weights))
    mean = max_rows**2 * total / square / len(queries)
    with precision():
        return float_below((least_variance(budget) * ball(mean)).sqrt())


def as_integers(queries: Floats) -> tuple[Floats, int]:
    """Integers N and the smallest b >= 0 with `queries` = N·2^−b, exactly."""
    bits = 0
    while not np.array_equal(scaled := np.ldexp(queries, bits), np.rint(scaled)):
        bits += 1
    return scaled, bits


def _ints(row: Floats) -> list[int]:
    return list(map(int, row.tolist()))


def _polar(matrix: Floats) -> Floats:
    """The matrix U that has orthonormal columns or rows and the largest tr UᵀM, for M = `matrix`.

    U has M's shape. Its columns are orthonormal if M has at least as many rows as columns, else its
    rows.
    """
    tall = len(matrix) > matrix.shape[1]
    basis, rest = np.linalg.qr(matrix) if tall else (None, matrix)
    left, _, right = np.linalg.svd(rest, full_matrices=False)
    rotation = left @ right
    return np.asarray(rotation if basis is None else basis @ rotation, dtype=np.float64)


def _norm_square(whole: Floats) -> Fraction | None:
    """An upper bound on ‖U‖² for U = whole·2^−26; None if U isn't nearly orthonormal.

    The products are integers, and a sum of squares only increases. So if the sum is below 2^53, it
    was exact at every step, in any order. Sums of other products were exact, too: at every step
    |Σuv| <= (Σu² + Σv²)/2.
    """
    rows, columns = whole.shape
    gram = whole.T @ whole if rows >= columns else whole @ whole.T
    if not gram.diagonal().max() < 2.0**53:
        return None
    off = gram.astype(np.int64)
    off[np.diag_indices_from(off)] -= 1 << (2 * _TURN_BITS)
    squares = sum(value * value for value in off.ravel().tolist())
    return 1 + Fraction(math.isqrt(squares) + 1, 1 << (2 * _TURN_BITS))


# A proved lower bound on the noise in counts of a tree, for any additive noise.
#
# Notation: there are T tables B, one for each level. A number j of B has the weight a_j = 1/|B|,
# w_j is the vector of the cells that it sums, and Var_j the variance of its noise. V₁ is the
# smallest variance of noise for one number that hides a shift of 1. For any vectors u_j of the
# cells, M = Σ_j u_j u_jᵀ, and any vector m with M ⪯ diag(m),
#
#     Σ_j a_j ln Var_j >= T ln V₁ + Σ_j a_j (2 ln|w_jᵀu_j| − ln a_j) − T ln(Σ_i m_i/T).
#
# Floats propose u_j, which are rounded to integers; all else is exact except for the logarithms.
# Proof: theory/marginals.md §9. Cells of one parent are alike, so u_j has one number for each
# parent, and u_j of a cell has another number at the cell itself.


MOST_PARENTS = 128
"""The largest number of parents of cells, which takes about a second.

The variances of larger tables are bounded by V₁ alone.
"""
_STEPS = 300  # of the fixed point: to 1e-7 of the best bound, measured
_VECTOR_BITS = 50  # of the largest entry of all vectors


def least_log_variance(children: Sequence[Wholes], *, budget: Budget, root: bool = True) -> float:
    """A proved lower bound on the sum, over tables, of the mean ln variance of a table's numbers.

    It is rounded down. The bound is for additive noise that hides a shift of any one cell by 1.
    `children` has the number of children of each node above the cells, by level, root first. Each
    level has a table, and so have the cells; the root's table is left out if `root` is False.
    """
    levels = len(children)
    while len(children[levels - 1]) > MOST_PARENTS:  # the root is one node
        levels -= 1
    tree = _BoundTree.of(children[:levels], root=root)
    sums, background, extra = _whole_vectors(tree)
    cell = Fraction(1, sum(tree.below))
    products = [
        (weight, sum(n * u[k] for k, n in enumerate(tree.below) if inside[k]))
        for weight, u, inside in zip(tree.weights, sums, tree.inside, strict=True)
    ]
    products += [(n * cell, extra[k] + background[k][k]) for k, n in enumerate(tree.below)]
    tables = sum(tree.weights, Fraction(1))
    price = Fraction(_price(tree, sums, background, extra), tables)
    with precision():
        value = ball(tables + len(children) - levels) * least_variance(budget).log()
        for weight, product in products:  # a product of 0 proves nothing
            value += ball(2 * weight) * ball(abs(product)).log()
        value -= sum((ball(a) * ball(a).log() for a in tree.weights), ball(cell).log())
        return float_below(value - ball(tables) * ball(price).log())


@final
@dataclass(frozen=True, kw_only=True)
class _BoundTree:
    """The parents of the cells in a tree, and the published sums over these parents.

    Parent k has `below[k]` cells. Sum j has the weight `weights[j]` = a_j, and `inside[j][k]` is
    True if it includes the cells of parent k.
    """

    below: list[int]
    weights: list[Fraction]
    inside: list[list[bool]]

    @classmethod
    def of(cls, children: Sequence[Wholes], *, root: bool) -> _BoundTree:
        tables, owner = list["Wholes"](), np.arange(len(children[-1]))
        for level in reversed(range(len(children))):
            tables.insert(0, owner)
            if level:
                owner = np.repeat(np.arange(len(children[level - 1])), children[level - 1])[owner]
        weights, inside = list[Fraction](), list[list[bool]]()
        for owner in tables[0 if root else 1 :]:
            nodes = int(owner[-1]) + 1
            weights += [Fraction(1, nodes)] * nodes
            inside += (owner == np.arange(nodes)[:, None]).tolist()
        return cls(below=children[-1].tolist(), weights=weights, inside=inside)


def _whole_vectors(tree: _BoundTree) -> tuple[list[list[int]], list[list[int]], list[int]]:
    """Propose the vectors u_j of the bound on counts of a tree, all times one factor, as integers.

    The factor cancels in the bound. a_j is the weight of number j, and w_j the vector of the cells
    that it sums: see the notation above `least_log_variance`. Cells of one parent are alike, so u_j
    is given by one number for each parent. Only a cell's own vector has another number at the cell
    itself. Returns three lists: u_j of each sum; u_j of one cell of each parent, without its extra;
    and for each parent the extra to add at the cell itself.

    The best vectors are u_j = √(a_j/v_j)·X⁻¹w_j with v_j = w_jᵀX⁻¹w_j, where X is the matrix over
    the cells that minimises Σ_j a_j ln v_j under X_ii <= 1 (theory/marginals.md §9). Cells of one
    parent are alike. So X is θ_k times a projection among the n_k cells of parent k (`theta`), next
    to a matrix between parents (`matrix`). A fixed point over prices of the cells finds X, as in
    theory/marginals.md §8.
    """
    n = np.array(tree.below, dtype=np.float64)
    weights, cell = np.array(tree.weights, dtype=np.float64), 1 / n.sum()
    numbers = np.array(tree.inside, dtype=np.bool_).reshape(-1, len(n)) * np.sqrt(n)
    prices, of_sums, of_cells = np.full(len(n), cell), weights, np.full(len(n), cell)
    theta, inverse = np.ones(len(n)), np.eye(len(n))
    for _ in range(_STEPS):
        roots = np.sqrt(prices)
        between = roots[:, None] * ((numbers.T * of_sums) @ numbers + np.diag(of_cells)) * roots
        values, basis = np.linalg.eigh(between)
        inverse = roots[:, None] * ((basis / np.sqrt(values)) @ basis.T) * roots
        matrix = (basis * np.sqrt(values)) @ basis.T / roots[:, None] / roots
        theta = np.sqrt(of_cells / prices)
        of_sums = weights / np.einsum("jk,kl,jl->j", numbers, inverse, numbers)
        of_cells = cell / ((1 - 1 / n) / theta + np.diag(inverse) / n)
        prices *= theta * (1 - 1 / n) + np.diag(matrix) / n
        prices /= n @ prices
    extra = np.sqrt(of_cells) / theta
    background = np.sqrt(of_cells)[:, None] * inverse / np.sqrt(np.outer(n, n)) - np.diag(extra / n)
    sums = np.sqrt(of_sums)[:, None] * (numbers @ inverse) / np.sqrt(n)
    unit = max(float(np.abs(array).max(initial=0)) for array in (extra, background, sums))
    integers = [
        np.rint(np.ldexp(array / unit, _VECTOR_BITS)).astype(np.int64).tolist()
        for array in (sums, background, extra)
    ]
    return integers[0], integers[1], integers[2]


def _price(
    tree: _BoundTree, sums: list[list[int]], background: list[list[int]], extra: list[int]
) -> int:
    """The price Σ_i m_i over all cells i, in integers, of the vectors from `_whole_vectors`.

    `sums`, `background` and `extra` are the three lists that it returns. M = Σ_j u_j u_jᵀ and m_i =
    Σ_k |M_ik|, so M ⪯ diag(m). All pairs of two cells with parents k and l have the same M_ik. A
    cell's own vector has `extra` more at that cell.
    """
    n, of_sums = (
        tree.below,
        fmpz_mat(len(sums), len(tree.below), [entry for row in sums for entry in row]),
    )
    scaled = fmpz_mat(
        [[count * entry for entry in row] for count, row in zip(n, background, strict=True)]
    )
    products = fmpz_mat(background).transpose() * scaled + of_sums.transpose() * of_sums
    total = 0
    for k, count in enumerate(n):
        alike = int(products[k, k]) + 2 * extra[k] * background[k][k]
        row = abs(alike + extra[k] ** 2) + (count - 1) * abs(alike)
        for other, cells in enumerate(n):
            if other != k:
                both = extra[k] * background[k][other] + extra[other] * background[other][k]
                row += cells * abs(int(products[k, other]) + both)
        total += count * row
    return total
