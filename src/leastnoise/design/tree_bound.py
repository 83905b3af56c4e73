"""How little noise any additive noise leaves in counts of a tree, whatever its shape: proved.

notation: T tables B, one for each level; a_j = 1/|B| the weight of each number of B, w_j the cells
that number j sums. V₁ is the least variance of noise for one number that hides a shift of 1. For
any vectors u_j of the cells, M = Σ_j u_j u_jᵀ, and any m with M ⪯ diag(m),

    Σ_j a_j ln Var_j >= T ln V₁ + Σ_j a_j (2 ln|w_jᵀu_j| − ln a_j) − T ln(Σ_i m_i/T).

Floats propose u_j, which are rounded to whole numbers: all else is exact but the logarithms. Proof:
theory/marginals.md §9. Cells of one parent are alike, so that u_j has one number for each parent,
and that of a cell another one at the cell itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np
from flint import fmpz_mat

from leastnoise.balls.core import ball, float_below, precision
from leastnoise.design.variance_bound import least_variance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from leastnoise.guarantees.budget import Budget

    Floats = NDArray[np.float64]
    Wholes = NDArray[np.int64]

MOST_PARENTS = 128
"""Of cells. Below so many, which take a second, tables count with V₁ alone."""
_STEPS = 300  # of the fixed point: to 1e-7 of the best bound, measured
_VECTOR_BITS = 50  # of the largest number of all vectors


def least_log_variance(children: Sequence[Wholes], *, budget: Budget, root: bool = True) -> float:
    """Return a lower bound on Σ_B (mean of ln Var over the numbers of B); proved, rounded down.

    For additive noise that hides a shift of any one cell by 1. `children` are how many each node
    has, by level, the root's first. The tables are those of all levels, of the `root` where it is
    published.
    """
    kept = len(children)
    while len(children[kept - 1]) > MOST_PARENTS:  # the root is one node
        kept -= 1
    tree = _Tree.of(children[:kept], root=root)
    sums, around, own = _whole_vectors(tree)
    cell = Fraction(1, sum(tree.below))
    products = [
        (weight, sum(n * u[k] for k, n in enumerate(tree.below) if inside[k]))
        for weight, u, inside in zip(tree.weights, sums, tree.inside, strict=True)
    ]
    products += [(n * cell, own[k] + around[k][k]) for k, n in enumerate(tree.below)]
    tables = sum(tree.weights, Fraction(1))
    price = Fraction(_price(tree, sums, around, own), tables)
    with precision():
        value = ball(tables + len(children) - kept) * least_variance(budget).log()
        for weight, product in products:  # of unlike numbers one may be 0, which proves nothing
            value += ball(2 * weight) * ball(abs(product)).log()
        value -= sum((ball(one) * ball(one).log() for one in tree.weights), ball(cell).log())
        return float_below(value - ball(tables) * ball(price).log())


@final
@dataclass(frozen=True, kw_only=True)
class _Tree:
    """The parents of all cells, `below` of each, and the numbers that are sums of parents.

    Of each of these the weight, and whether a parent is `inside`.
    """

    below: list[int]
    weights: list[Fraction]
    inside: list[list[bool]]

    @classmethod
    def of(cls, children: Sequence[Wholes], *, root: bool) -> _Tree:
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


def _whole_vectors(tree: _Tree) -> tuple[list[list[int]], list[list[int]], list[int]]:
    """Return u_j of sums, and of a cell of each parent: around it, and what its own number is more.

    notation: X as in theory/marginals.md §9, θ_k among the cells of a parent k, a matrix between
    parents, whose norms are √n_k. u_j = √(a_j/v_j)·X⁻¹w_j, v_j = w_jᵀX⁻¹w_j; M is diagonal where X
    is best. y are prices of the cells: a fixed point has X_ii = 1, as in §8.
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
    own = np.sqrt(of_cells) / theta
    around = np.sqrt(of_cells)[:, None] * inverse / np.sqrt(np.outer(n, n)) - np.diag(own / n)
    sums = np.sqrt(of_sums)[:, None] * (numbers @ inverse) / np.sqrt(n)
    unit = max(float(np.abs(one).max(initial=0)) for one in (own, around, sums))
    found = [
        np.rint(np.ldexp(one / unit, _VECTOR_BITS)).astype(np.int64).tolist()
        for one in (sums, around, own)
    ]
    return found[0], found[1], found[2]


def _price(tree: _Tree, sums: list[list[int]], around: list[list[int]], own: list[int]) -> int:
    """Return Σ_i m_i, m_i = Σ_j |M_ij|, in whole numbers.

    Two cells of parents k and l share the products of all vectors there; of a cell's own vector
    there is `own` more at that cell.
    """
    n, of_sums = (
        tree.below,
        fmpz_mat(len(sums), len(tree.below), [one for row in sums for one in row]),
    )
    scaled = fmpz_mat([[count * one for one in row] for count, row in zip(n, around, strict=True)])
    products = fmpz_mat(around).transpose() * scaled + of_sums.transpose() * of_sums
    total = 0
    for k, count in enumerate(n):
        alike = int(products[k, k]) + 2 * own[k] * around[k][k]
        row = abs(alike + own[k] ** 2) + (count - 1) * abs(alike)
        for other, cells in enumerate(n):
            if other != k:
                both = own[k] * around[k][other] + own[other] * around[other][k]
                row += cells * abs(int(products[k, other]) + both)
        total += count * row
    return total
