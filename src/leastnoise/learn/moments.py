"""Second moments of several columns as one vector: exact sums, and how far a row moves them.

notation: x ∈ [−1, 1]^d a row's variables, the target among them, in whole multiples of 2^−20;
z = (1, x), or x where there is no constant; m its length, c = m − d; s = x² and t = x'².

The vector is that of the sums of

    v = (1 where rows are counted, z_i z_k for i < k, 2x_j² − 1),

whose numbers all lie in [−1, 1]. Products are exact, in units of 2^−40, and sums are of whole
numbers without a limit, so that what is said of rows holds to the last bit.

Where a row is added or removed it moves each of the numbers by 1 at most. Where one is replaced
their number is public, and it moves each by 2 at most, and all of them in l2 by Δ,

    Δ² = max(m², (m² + c + 7d)/2).

*Proof.* ‖zzᵀ − z'z'ᵀ‖² = ‖z‖⁴ + ‖z'‖⁴ − 2(z·z')² has products i < k twice, so that

    ‖v − v'‖² = ½‖zzᵀ − z'z'ᵀ‖² − ½‖s − t‖² + 4‖s − t‖² ≤ ½(c + Σs)² + ½(c + Σt)² + 7/2·‖s − t‖².

That is convex in (s, t), so largest where all of these are 0 or 1. With k places where s and t
differ it is at most ½(m² + (m − k)²) + 7k/2 (the other places are 1, and of sums of squares with
one total the most unequal is largest), convex in k, so largest at k = 0 or d. ∎
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

_ROWS_AT_ONCE = 1 << 16  # rows whose products of whole numbers are summed at once: far below 2^63


@final
@dataclass(frozen=True, kw_only=True)
class Moments:
    """Which numbers: of so many `variables`, d, with a `constant` or not, and of the rows' number.

    Rows are `counted` where one is added or removed.
    """

    variables: int
    constant: bool
    counted: bool

    @property
    def size(self) -> int:
        """How many numbers z has, m."""
        return self.variables + self.constant

    @property
    def dimension(self) -> int:
        """How many numbers are released."""
        return self.counted + self.size * (self.size - 1) // 2 + self.variables

    @property
    def sensitivity(self) -> tuple[Sensitivity, ...]:
        """How far one row moves them that is there or not, if rows are counted, or is replaced."""
        if self.counted:
            return (Linf(1, l0=self.dimension),)
        m, d = self.size, self.variables
        square = max(Fraction(m**2), Fraction(m**2 + self.constant + 7 * d, 2))
        return (L2(root_above(square)), Linf(2, l0=self.dimension))

    def sums(self, whole: Floats) -> NDArray[np.object_]:
        """Return the exact sums, Fractions, of rows x in whole numbers of 2^−20, shape (n, d).

        What isn't a whole number within ±2^20 is cut to one, so that no row counts for more.
        """
        rows = len(whole)
        total: Any = np.zeros((self.size, self.size), dtype=object)  # of ints without a limit
        for start in range(0, rows, _ROWS_AT_ONCE):
            total += self._products(whole[start : start + _ROWS_AT_ONCE])
        unit = 1 << 2 * BITS
        squares = np.diag(total)[int(self.constant) :]
        found = [
            *total[np.triu_indices(self.size, 1)],
            *(2 * int(square) - rows * unit for square in squares),
        ]
        counted = [Fraction(rows)] if self.counted else []
        return np.array(counted + [Fraction(int(one), unit) for one in found], dtype=object)

    def _products(self, whole: Floats) -> NDArray[np.int64]:
        """Return Σ zzᵀ, above the diagonal and on it, in units of 2^−40."""
        one = 1 << BITS
        within = np.clip(np.nan_to_num(whole.T), -one, one)
        columns = list(np.ascontiguousarray(within, dtype=np.int64))
        if self.constant:
            columns.insert(0, np.full(len(whole), one, dtype=np.int64))
        found = np.zeros((self.size, self.size), dtype=np.int64)
        for i, k in zip(*np.triu_indices(self.size), strict=True):
            found[i, k] = (columns[i] * columns[k]).sum()
        return found

    def read(self, values: Floats, variances: Floats, *, rows: int | None) -> NoisyMoments:
        """Return what was released, with its variances, as a matrix; `rows` where that is public.

        Noise of different numbers must be uncorrelated, as is that of balls and boxes.
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
        own = np.arange(int(self.constant), self.size)
        sums[own, own] = (values[split:] + count) / 2
        noise[own, own] = variances[split:] / 4
        shared = np.full(self.size, 0.5)
        if self.constant:
            sums[0, 0], shared[0] = count, 1.0
        return NoisyMoments(
            rows=count, sums=sums, noise=noise, shared=shared, count_variance=count_variance
        )


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyMoments:
    """Σ zzᵀ with noise N, shape (m, m), and the number of rows, noisy where it isn't public.

    N is symmetric, of independent numbers of variances `noise` for i <= k; the noise of the number
    of rows, of `count_variance`, is added to the diagonal as well, `shared` times.
    """

    rows: float
    sums: Floats
    noise: Floats
    shared: Floats
    count_variance: float

    def spread(self, inner: Floats) -> Floats:
        """Return E[N·inner·N] for a symmetric `inner`, shape (m, m)."""
        found = self.noise * inner
        np.fill_diagonal(found, self.noise @ np.diag(inner))
        return found + self.count_variance * np.outer(self.shared, self.shared) * inner
