"""Second moments of several columns as one vector: exact sums, and their sensitivity to one row.

Notation: x ∈ [−1, 1]^d has a row's d variables, including the target, in whole multiples of 2^−20;
z = (1, x), or x without a constant. m is the length of z, and c = m − d is 1 with a constant, else
0. s = x² has the squares of the variables; x', z', v' and t = x'² belong to another row.

The vector is the sum over rows of

    v = (1 if rows are counted, z_i z_k for i < k, 2x_j² − 1),

whose numbers all lie in [−1, 1]. Products are exact, in units of 2^−40, and sums are of unbounded
integers, so that statements about rows hold to the last bit.

If a row is added or removed, each number moves by at most 1. If a row is replaced, the number of
rows is public, each number moves by at most 2, and all of them in l2 by at most Δ,

    Δ² = max(m², (m² + c + 7d)/2).

*Proof.* ‖zzᵀ − z'z'ᵀ‖² = ‖z‖⁴ + ‖z'‖⁴ − 2(z·z')² has products i < k twice, so that

    ‖v − v'‖² = ½‖zzᵀ − z'z'ᵀ‖² − ½‖s − t‖² + 4‖s − t‖²
              ≤ ½(c + Σs)² + ½(c + Σt)² + 7/2·‖s − t‖².

The bound is convex in (s, t), so it is largest if all of these are 0 or 1. If s and t differ in k
coordinates, the bound is at most ½(m² + (m − k)²) + 7k/2. The reason is that the other coordinates
are 1 in the worst case, and for a given total the most unequal sums have the largest squares. This
is convex in k, so it is largest at k = 0 or d. ∎
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from leastnoise.guarantees.exact import root_above
from leastnoise.guarantees.sensitivity import L2, Sensitivity
from leastnoise.guarantees.structured import Linf
from leastnoise.learn.training import BITS

Floats = NDArray[np.float64]

_ROWS_AT_ONCE = 1 << 16  # rows that are summed at once: sums of their products stay far below 2^63


@final
@dataclass(frozen=True, kw_only=True)
class Moments:
    """The layout of the released numbers.

    Attributes:
        variables: Number of variables d.
        constant: True if z has a constant.
        counted: True if the number of rows is released, because rows are added or removed.

    """

    variables: int
    constant: bool
    counted: bool

    @property
    def size(self) -> int:
        """The length m of z."""
        return self.variables + self.constant

    @property
    def dimension(self) -> int:
        """The number of released numbers: the length of the vector v."""
        return self.counted + self.size * (self.size - 1) // 2 + self.variables

    @property
    def sensitivity(self) -> tuple[Sensitivity, ...]:
        """Alternative sensitivities; each of them bounds the change by one row.

        The row is added or removed if rows are counted; otherwise it is replaced.
        """
        if self.counted:
            return (Linf(1, l0=self.dimension),)
        m, d = self.size, self.variables
        square = max(Fraction(m**2), Fraction(m**2 + self.constant + 7 * d, 2))
        return (L2(root_above(square)), Linf(2, l0=self.dimension))

    def sums(self, whole: Floats) -> NDArray[np.object_]:
        """Compute the exact sums.

        Args:
            whole: Rows x in whole multiples of 2^−20, shape (n, d). Other numbers are truncated,
                and clipped to ±2^20, so that every row has a bounded effect.

        Returns:
            The sums as Fractions, shape (dimension,).

        """
        rows = len(whole)
        # of Python ints, which are unbounded
        total: Any = np.zeros((self.size, self.size), dtype=object)
        for start in range(0, rows, _ROWS_AT_ONCE):
            total += self._products(whole[start : start + _ROWS_AT_ONCE])
        unit = 1 << 2 * BITS
        squares = np.diag(total)[int(self.constant) :]
        numerators = [
            *total[np.triu_indices(self.size, 1)],
            *(2 * int(square) - rows * unit for square in squares),
        ]
        counted = [Fraction(rows)] if self.counted else []
        sums = [Fraction(int(numerator), unit) for numerator in numerators]
        return np.array(counted + sums, dtype=object)

    def _products(self, whole: Floats) -> NDArray[np.int64]:
        """The sum of zzᵀ over all rows, on and above the diagonal, in units of 2^−40."""
        unit = 1 << BITS
        within = np.clip(np.nan_to_num(whole.T), -unit, unit)
        columns = list(np.ascontiguousarray(within, dtype=np.int64))
        if self.constant:
            columns.insert(0, np.full(len(whole), unit, dtype=np.int64))
        products = np.zeros((self.size, self.size), dtype=np.int64)
        for i, k in zip(*np.triu_indices(self.size), strict=True):
            products[i, k] = (columns[i] * columns[k]).sum()
        return products

    def read(self, values: Floats, variances: Floats, *, rows: int | None) -> NoisyMoments:
        """Arrange the released numbers as a matrix.

        The noise of different numbers must be uncorrelated, as it is for balls and boxes.

        Args:
            values: Released numbers, shape (dimension,).
            variances: Variances of their noise, shape (dimension,).
            rows: Number of rows if it is public, else None.

        Returns:
            The noisy moments.

        """
        count, count_variance = float(rows or 0), 0.0
        if self.counted:
            count, count_variance = float(values[0]), float(variances[0])
            values, variances = values[1:], variances[1:]
        pairs = np.triu_indices(self.size, 1)
        split = len(pairs[0])
        above = np.zeros((2, self.size, self.size))
        above[:, *pairs] = values[:split], variances[:split]
        sums, noise = above + above.transpose(0, 2, 1)
        diagonal = np.arange(int(self.constant), self.size)
        sums[diagonal, diagonal] = (values[split:] + count) / 2
        noise[diagonal, diagonal] = variances[split:] / 4
        shared = np.full(self.size, 0.5)
        if self.constant:
            sums[0, 0], shared[0] = count, 1.0
        return NoisyMoments(
            rows=count, sums=sums, noise=noise, shared=shared, count_variance=count_variance
        )


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyMoments:
    """The matrix Σ zzᵀ with symmetric noise N.

    Attributes:
        rows: Number of rows; noisy unless it is public.
        sums: Σ zzᵀ + N, shape (m, m).
        noise: Variances of the entries of N, shape (m, m), without the noise of the number of rows.
            The entries for i <= k are uncorrelated.
        shared: The multiple of the noise of the number of rows that each diagonal entry contains,
            shape (m,).
        count_variance: Variance of the noise of the number of rows.

    """

    rows: float
    sums: Floats
    noise: Floats
    shared: Floats
    count_variance: float

    def spread(self, inner: Floats) -> Floats:
        """The mean of N·inner·N over the noise N, for a symmetric matrix `inner`.

        Args:
            inner: The matrix, shape (m, m).

        Returns:
            The mean, shape (m, m).
        """
        expectation = self.noise * inner
        np.fill_diagonal(expectation, self.noise @ np.diag(inner))
        return expectation + self.count_variance * np.outer(self.shared, self.shared) * inner
