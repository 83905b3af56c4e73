"""Contrasts of a table, in whole numbers: the information that tables by fewer attributes lack.

Gaussian noise in contrasts costs less of the budget than noise in the tables, since a row moves the
contrasts of table A by only √p_A, but A by 1 (Xiao, He, Zhang & Kifer 2023, ResidualPlanner).

Notation: n_i are the `sizes` of the attributes of a table A, its numbers of keys, and v lists the
numbers of A. For an attribute of n keys, h_k = (1, …, 1, −k, 0, …, 0) with k ones, k = 1 … n − 1.
These vectors are orthogonal and of sum 0, with ‖h_k‖² = k(k + 1). H is the matrix whose rows are
all tensor products of one h_k for each attribute: Hv are the contrasts. K_j is the squared length
of row j, and K = diag(K_j). a_j = ⌊2^28/√K_j⌋/2^28 scales the contrasts, and y = diag(a)Hv + noise.
p_A is the product of all 1 − 1/n_i. HᵀK⁻¹H is the projection on the arrays whose sums along each
attribute are 0. Proofs: theory/marginals.md §14.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BITS = 28
"""The a_j are multiples of 2^−28. So 2^28·a_j·(Hv)_j is an int64 if the counts sum to <= 2^34."""
_END = 2**62


def squared_norms(sizes: Sequence[int]) -> NDArray[np.int64]:
    """The squared lengths K_j of the rows of H, one for each contrast."""
    norms = np.ones(1, dtype=np.int64)
    for size in sizes:
        ones = np.arange(1, size, dtype=np.int64)
        norms = np.outer(norms, ones * (ones + 1)).reshape(-1)
    return norms


def numerators(sizes: Sequence[int]) -> NDArray[np.int64]:
    """The factors a_j of all contrasts times 2^28: the largest whole numbers with a_j² K_j <= 1."""
    norms = squared_norms(sizes)
    factors = {norm: math.isqrt(4**BITS // norm) for norm in np.unique(norms).tolist()}
    return np.array([factors[norm] for norm in norms.tolist()], dtype=np.int64)


def exact_contrasts(numbers: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.int64]:
    """The scaled contrasts 2^28·a_j·(Hv)_j of a table's integers v = `numbers`, exactly.

    Each is clipped at ±2^62, which never moves the contrasts of two tables further apart.
    """
    contrasts: NDArray[Any] = numbers.astype(object).reshape(tuple(sizes))
    for axis, size in enumerate(sizes):
        before = np.cumsum(contrasts, axis=axis).take(range(size - 1), axis=axis)
        shape = [1] * len(sizes)
        shape[axis] = size - 1
        places = np.arange(1, size).astype(object).reshape(shape)
        contrasts = before - places * contrasts.take(range(1, size), axis=axis)
    scaled = contrasts.reshape(-1) * numerators(sizes).astype(object)
    return np.clip(scaled, -_END, _END).astype(np.int64)


def component(noisy: Floats, sizes: Sequence[int]) -> Floats:
    """The estimate of the part of A that tables by fewer attributes lack; shape `sizes`.

    It is HᵀK⁻¹ diag(1/a) y, where `noisy` is y.
    """
    factors = 2.0**BITS / (squared_norms(sizes) * numerators(sizes).astype(float))
    numbers = (noisy * factors).reshape([size - 1 for size in sizes])
    for axis, size in enumerate(sizes):
        first = np.zeros([1 if at == axis else n for at, n in enumerate(numbers.shape)])
        padded = np.concatenate([first, numbers], axis=axis)
        shape = [1] * len(sizes)
        shape[axis] = size
        after = padded.sum(axis=axis, keepdims=True) - np.cumsum(padded, axis=axis)
        numbers = after - np.arange(size).reshape(shape) * padded
    return numbers


def variance_of_component(sizes: Sequence[int]) -> float:
    """A bound on the variance of each number of `component`, for noise of variance 1.

    The variance of number b is the sum of H_jb²/(K_j a_j)² over all rows j. It is at most p_A·max_j
    1/(a_j² K_j), since the sum of H_jb²/K_j is p_A.
    """
    squares = numerators(sizes).astype(float) ** 2 * squared_norms(sizes)
    return float(squared_reach(sizes)) * 4.0**BITS / float(squares.min())


def squared_reach(sizes: Sequence[int], *, replaced: bool = False) -> Fraction:
    """A bound on the squared l2 distance by which one unit moves diag(a)Hv.

    A unit adds 1 to at most one number b of the table. That moves diag(a)Hv by the squared length
    Σ_j a_j² H_jb² <= p_A. A `replaced` unit also takes 1 away from another number c. Let D be the
    attributes in which b and c differ, and e_b the array that is 1 at b and 0 elsewhere. The
    projection of e_b − e_c has the squared length 2(p_A − Π_{i∈D}(−1/n_i)·Π_{i∉D}(1 − 1/n_i)). It
    is largest if D is the single attribute with the least n_i. Then it is twice the product of 1 −
    1/n_i over the other attributes.
    """
    parts = sorted(1 - Fraction(1, size) for size in sizes)
    if not replaced or not parts:
        return math.prod(parts, start=Fraction(1))
    return 2 * math.prod(parts[1:], start=Fraction(1))
