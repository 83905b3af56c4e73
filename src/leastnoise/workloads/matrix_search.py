"""Search in floats for a workload's strategy: the sums of cells to which noise is added.

Notation: x lists the n cells. W is the workload, the matrix of the questions, shape (m, n), and V =
WᵀW is `gram`. A is a strategy, the matrix of the sums that get noise, and X = AᵀA. y are prices of
the cells, and D = diag(√y). If each number of A x has noise of variance v, the variances of all
answers sum to tr(V X⁻¹)·v. Sources: theory/marginals.md §8; p-identities are by McKenna, Miklau,
Hay & Machanavajjhala (2018).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_OPERATIONS = 3e10  # about n³ times the number of steps of the fixed point
_ITERATIONS = 300  # largest number of steps
_SPARE = 1e-6  # this share of X is I, so that A has an inverse even if W lacks some directions
_SPREADS = (math.pi, (1 + math.sqrt(5)) / 2)  # fractional parts of multiples are spread evenly


def gaussian_strategy(gram: Floats) -> tuple[Floats, Floats]:
    """A strategy for Gaussian noise with nearly the least total variance, and prices that prove it.

    The strategy A has shape (n, n), and the prices y have shape (n,). A nearly minimises tr(V X⁻¹)
    under X_ii <= 1. Both come from the fixed point y = diag(M)/tr M, with M = (D V D)^½. By duality
    every y gives an X, and proves that tr(V X⁻¹) >= (tr M)²/Σ_i y_i for all allowed X. The strategy
    and the prices may be from different steps.
    """
    prices = _raise_to_floor(np.sqrt(np.diag(gram)))
    best, least, bound, proof = prices, math.inf, 0.0, prices
    for _ in range(int(min(max(_OPERATIONS / len(gram) ** 3, 30), _ITERATIONS))):
        roots, basis = _root(gram, prices)
        diagonal, total = (basis * basis) @ roots, float(roots.sum())
        value = total * float((diagonal / prices).max())
        if value < least:
            best, least = prices, value
        if total**2 > bound:
            bound, proof = total**2, prices
        if least <= bound * (1 + 1e-7):  # within 1e-7 of the optimum
            break
        # y ← y·X_ii^2 takes fewer steps than y ← y·X_ii
        prices = _raise_to_floor(prices * (diagonal / prices / total) ** 2)
    roots, basis = _root(gram, best)
    scaled = basis / np.sqrt(best)[:, None]
    matrix = (scaled * roots) @ scaled.T
    matrix *= (1 - _SPARE) / np.diag(matrix).max()
    matrix[np.diag_indices_from(matrix)] += _SPARE
    return np.asarray(np.linalg.cholesky(matrix).T, dtype=np.float64), proof


def _raise_to_floor(prices: Floats) -> Floats:
    floored = np.maximum(prices, 1e-9 * prices.max())  # so that floats can represent D⁻¹
    return np.asarray(floored / floored.sum(), dtype=np.float64)


def _root(gram: Floats, prices: Floats) -> tuple[Floats, Floats]:
    """The eigenvalues of the matrix (D V D)^½, and its eigenvectors in columns."""
    d = np.sqrt(prices)
    squares, basis = np.linalg.eigh(d[:, None] * gram * d)
    return np.sqrt(np.maximum(squares, 0.0)), np.asarray(basis, dtype=np.float64)


def p_identity(queries: Floats, gram: Floats) -> Floats:
    """Search for a strategy for Laplace noise with a small total variance tr(V X⁻¹): a p-identity.

    A p-identity is the identity matrix above p more rows Θ >= 0, with column j divided by 1 + Σ_k
    Θ_kj. So all its columns have the l1 norm 1. The result is the best of the local optima from a
    few starts, or the identity matrix if none is better.
    """
    from scipy.optimize import minimize  # noqa: PLC0415 (half a second, paid for where it is used)

    size = len(gram)
    gram = gram / np.trace(gram)  # slopes are compared with fixed numbers
    steps = int(min(max(_OPERATIONS / 100 / size**2, 100), _ITERATIONS))
    best, least = np.zeros((0, size)), 1.0
    # with larger entries tr(V X⁻¹) is a difference of nearly equal floats
    most_shared = 100.0
    for start in _list_starts(queries, gram):
        optimum = minimize(
            lambda flat, shape: _variance(flat.reshape(shape), gram),
            start.ravel(),
            args=(start.shape,),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, most_shared)] * start.size,
            options={"maxiter": steps},
        )
        if optimum.fun < least:
            best, least = optimum.x.reshape(start.shape), float(optimum.fun)
    kept = best[best.any(axis=1)]
    return np.asarray(np.concatenate([np.eye(size), kept]) / (1 + kept.sum(axis=0)))


def _list_starts(queries: Floats, gram: Floats) -> list[Floats]:
    """Start values of Θ: evenly spread numbers, the main directions of V, and W if it is small."""
    size = len(gram)
    rows = min(size, max(1, round(1.2 * math.sqrt(size))))  # beside I
    kinds = [(count, spread) for count in (rows, (rows + 1) // 2) for spread in _SPREADS]
    starts = [
        np.asarray(np.arange(1, count * size + 1) * spread % 1, dtype=np.float64).reshape(
            count, size
        )
        for count, spread in (kinds if size <= 300 else kinds[:1])  # for more cells, only one
    ]
    squares, basis = np.linalg.eigh(gram)
    asked = [np.abs(basis[:, -rows:] * np.sqrt(np.maximum(squares[-rows:], 0.0))).T]
    if len(queries) <= 64:  # Θ gets a row for each query, at most 64
        asked.append(np.abs(queries))
    scaled = (np.asarray(spread / spread.sum(axis=0).max(), dtype=np.float64) for spread in asked)
    return [*starts, *scaled]


def _variance(theta: Floats, gram: Floats) -> tuple[float, Floats]:
    """The total variance tr(V X⁻¹) of a p-identity with the rows Θ = `theta`, and its gradient.

    Let s be 1 plus the sum of all rows of Θ, U = diag(s) V diag(s) and C = (I + ΘΘᵀ)⁻¹. By
    Woodbury's identity X⁻¹ = diag(s)(I − ΘᵀCΘ)diag(s), so the total is tr U − tr CΘUΘᵀ.
    """
    s = 1 + theta.sum(axis=0)
    diagonal = s * s * np.diag(gram)
    seen = ((theta * s) @ gram) * s  # ΘU
    inner = np.linalg.inv(np.eye(len(theta)) + theta @ theta.T)
    fitted, moved = inner @ theta, inner @ seen
    of_scale = 2 * (diagonal - (seen * fitted).sum(axis=0)) / s
    slope = -2 * (moved - (moved @ theta.T) @ fitted) + of_scale
    value = float(diagonal.sum() - (fitted * seen).sum())
    return value, slope.ravel()
