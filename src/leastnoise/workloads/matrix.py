"""Consistent answers to linear questions, by least squares from noisy sums of cells.

Notation: x lists the n cells. W is the matrix of m questions, shape (m, n), and A the strategy, the
matrix of the p sums that get noise, shape (p, n). y = A x + noise, A⁺ is the pseudoinverse of A,
and W A⁺ y are the answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul
from typing import TYPE_CHECKING, cast, final

import numpy as np

from leastnoise.design.bounds.variance_bound import as_integers
from leastnoise.guarantees.strategy import BITS, StrategyMatrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FINER_BITS = 16
"""Extra bits of an estimated cell below the grid, so that sums of 1,000 cells are nearly on it."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LeastSquares:
    """The questions `queries`, shape (questions, cells), with noise in the sums of a `strategy`.

    Without a strategy the noise is in the cells.
    """

    queries: Floats
    strategy: StrategyMatrix | None

    @cached_property
    def inverse(self) -> Floats:
        """The pseudoinverse A⁺ in floats, which estimates cells from sums; shape (cells, sums)."""
        if self.strategy is None:
            return np.eye(self.queries.shape[1])
        # singular values below 1e-12 of the largest count as 0: rows of W may be dependent
        inverse = np.linalg.pinv(self.strategy.matrix, rcond=1e-12)
        return np.asarray(inverse, dtype=np.float64)

    @cached_property
    def of_noise(self) -> Floats:
        """The weights W A⁺ of each sum's noise in each answer, shape (questions, sums)."""
        return self.queries if self.strategy is None else self.queries @ self.inverse

    def find_stds(self, variances: Floats) -> Floats:
        """The standard deviation of each answer, given the variance of each noisy sum."""
        squares = self.of_noise * self.of_noise
        return np.asarray(np.sqrt(squares @ variances), dtype=np.float64)

    def sum_cells(self, cells: Sequence[Fraction]) -> list[Fraction]:
        """The exact sums A x, to which noise is added."""
        return [*cells] if self.strategy is None else self.strategy.image(cells)

    def answer(self, noisy: Floats, grid: Fraction) -> Floats:
        """The answers to all questions, given noisy sums that are multiples of `grid`.

        Cells are estimated by A⁺y and rounded to multiples of grid·2^−16; without a strategy they
        are y itself. The answers are exact weighted sums of these cells, rounded to floats.
        """
        steps = [int(Fraction(number) / grid) for number in noisy.tolist()]
        if self.strategy is not None:
            finer = [number << FINER_BITS for number in steps]
            steps = _fit(self.strategy, self.inverse, finer)
            grid /= 1 << FINER_BITS
        weights, bits = as_integers(self.queries)
        unit = grid / (1 << bits)
        sums = (sum(map(mul, map(int, row.tolist()), steps)) for row in weights)
        return np.array([float(number * unit) for number in sums])


def _fit(strategy: StrategyMatrix, inverse: Floats, sums: Sequence[int]) -> list[int]:
    """A⁺·sums, rounded to whole numbers, by iterative refinement with exact residuals."""
    rows = strategy.numerators.astype(object)
    wanted = np.array([number << BITS for number in sums], dtype=object)
    cells = np.zeros(rows.shape[1], dtype=object)
    for _ in range(4):  # each step leaves about 1e-9 of a residual that begins below 2^78
        left = np.array([float(number) for number in wanted - rows @ cells])
        moved = np.rint(inverse @ np.ldexp(left, -BITS))
        cells = cells + np.array([int(number) for number in moved.tolist()], dtype=object)
    return cast("list[int]", cells.tolist())
