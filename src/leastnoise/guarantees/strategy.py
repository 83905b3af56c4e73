"""Strategy matrices: sums of cells to which noise is added, and how far a unit moves the sums.

Notation: A is the strategy, a matrix with one row for each sum and one column a_j for each cell j.
x lists the numbers of rows in the cells. Each row of a unit adds 1 to at most one cell, and a unit
has at most R rows. Noise is added to A x. A unit that is added or removed moves A x by at most
R·max ‖a_j‖, since a norm is convex. A unit that is replaced moves A x by at most R times the larger
of max ‖a_j‖ and max ‖a_i − a_j‖. The reason is that all rows of the unit may move from cell j to
cell i, or from no cell to cell i. These maxima are computed in integers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, final

import numpy as np

from leastnoise._record import field, one_of, record, takes, whole
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import float_at_least, root_above
from leastnoise.guarantees.sensitivity import (
    L1,
    L2,
    NEIGHBOURS,
    Neighbours,
    Norm,
    Sensitivity,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

BITS = 24
"""Entries of A are multiples of 2^−24, at most 1 in size.

So sums of 2^11 squared differences of entries fit an int64.
"""
_UNIT = 1 << BITS
MOST_SUMS = 1 << 11
MOST_CELLS = 1000
MOST_QUESTIONS = 10_000
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-9, 1e9
"""The range of the weights of a named sum; products of their squares stay in float64's range."""

StrategyNorm = Literal["l1", "l2"]
STRATEGY_NORMS: tuple[StrategyNorm, ...] = ("l1", "l2")
_ROW = re.compile("(?:0|-?[1-9][0-9]{0,7})(?: (?:0|-?[1-9][0-9]{0,7}))*")
MOST_ROWS = 2**34
"""The largest number of rows of a unit: as many as the most rows that a release reads."""


def _fits(rows: int, columns: int) -> bool:
    return rows <= MOST_SUMS and columns <= MOST_CELLS


def _check_numerators(numerators: NDArray[np.int64], *, name: str) -> NDArray[np.int64]:
    matrix = np.array(numerators)  # a copy, as the caller may change the original
    shape = matrix.shape
    if matrix.dtype != np.int64 or len(shape) != 2 or not all(shape) or not _fits(*shape):
        kind = f"an array of {matrix.dtype} of shape {shape}"
        expected = f"an int64 matrix of at most {MOST_SUMS:,} rows and {MOST_CELLS:,} columns"
        raise InvalidArgument(name=name, value=kind, expected=expected)
    if matrix.min() < -_UNIT or matrix.max() > _UNIT:
        expected = f"integers of at most 2^{BITS} in size"
        raise InvalidArgument(name=name, value="larger ones", expected=expected)
    matrix.setflags(write=False)
    return matrix


@final
@record(eq=False)
class StrategyMatrix:
    """The matrix A = numerators·2^−24, shape (sums, cells), of exact numbers in [−1, 1].

    Raises InvalidArgument unless the numerators are an int64 matrix of such numbers, with at most
    2,048 rows and 1,000 columns.

    >>> StrategyMatrix.within(np.array([[0.5, 0], [0, 0.5], [0.5, 0.5]])).reach("l1", "replace-one")
    Fraction(1, 1)
    """

    numerators: NDArray[np.int64] = field(converter=takes(_check_numerators))

    @classmethod
    def within(cls, matrix: NDArray[np.float64]) -> StrategyMatrix:
        """Round the entries of a matrix of floats in [−1, 1] toward 0 to multiples of 2^−24."""
        return cls(numerators=np.trunc(matrix * _UNIT).astype(np.int64))

    def __repr__(self) -> str:
        sums, cells = self.numerators.shape
        return f"<StrategyMatrix: {sums:,} sums of {cells:,} cells>"

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The matrix A, shape (sums, cells), exactly."""
        return np.asarray(self.numerators / _UNIT, dtype=np.float64)

    def image(self, cells: Sequence[Fraction]) -> list[Fraction]:
        """The sums A·cells, exactly."""
        common = math.lcm(*(cell.denominator for cell in cells))
        whole = np.array([int(cell * common) for cell in cells], dtype=object)
        sums: list[Any] = (self.numerators.astype(object) @ whole).tolist()
        return [Fraction(cell, common << BITS) for cell in sums]

    def reach(self, norm: StrategyNorm, neighbours: Neighbours) -> Fraction:
        """The largest move of A x by one row in this norm, exactly; for l2 its square."""
        longest = self._longest_column(norm)
        if neighbours == "replace-one":
            longest = max(longest, self._longest_differences[norm])
        return Fraction(longest, _UNIT if norm == "l1" else _UNIT**2)

    def sensitivity(self, norm: StrategyNorm, neighbours: Neighbours, max_rows: int) -> L1 | L2:
        """A ball that contains all moves of A x by a unit of at most `max_rows` rows."""
        most = self.reach(norm, neighbours)
        if norm == "l1":
            return L1(max_rows * most)
        return L2(Fraction(float_at_least(root_above(max_rows**2 * most))))

    def with_total(self, norm: StrategyNorm) -> StrategyMatrix:
        """Add a weighted total of all cells, which is free for replace-one neighbours.

        The added row (t, …, t) doesn't change the differences a_i − a_j of columns. The weight t is
        the largest multiple of 2^−24 up to 1 for which the new max ‖a_j‖ doesn't exceed max ‖a_i −
        a_j‖. If no such t > 0 exists, or if there are already MOST_SUMS rows, returns the strategy
        itself.
        """
        column, difference = self._longest_column(norm), self._longest_differences[norm]
        spare = max(difference - column, 0)
        total = min(spare if norm == "l1" else math.isqrt(spare), _UNIT)
        if not total or len(self.numerators) == MOST_SUMS:
            return self
        row = np.full((1, self.numerators.shape[1]), total, dtype=np.int64)
        return StrategyMatrix(numerators=np.concatenate([self.numerators, row]))

    def _longest_column(self, norm: StrategyNorm) -> int:
        return int(_lengths(self.numerators, norm).max())

    @cached_property
    def _longest_differences(self) -> Mapping[StrategyNorm, int]:
        """The largest distance of two columns of `numerators` in each norm, squared in l2."""
        columns = self.numerators.T.copy()
        lengths: dict[StrategyNorm, int] = {"l1": 0, "l2": 0}
        for i in range(len(columns) - 1):
            moves = (columns[i + 1 :] - columns[i]).T
            for norm, longest in lengths.items():
                lengths[norm] = max(longest, int(_lengths(moves, norm).max()))
        return lengths


def _lengths(columns: NDArray[np.int64], norm: StrategyNorm) -> NDArray[np.int64]:
    """The columns' l1 norms, or squared l2 norms."""
    parts = np.abs(columns) if norm == "l1" else columns * columns
    return np.asarray(parts.sum(axis=0), dtype=np.int64)


def _read_rows(rows: Sequence[str], *, name: str) -> tuple[str, ...]:
    row_texts = tuple(rows) if isinstance(rows, list | tuple) and len(rows) <= MOST_SUMS else ()
    row_texts = (
        row_texts
        if all(isinstance(row, str) and row.count(" ") < MOST_CELLS for row in row_texts)
        else ()
    )
    all_numbers = all(isinstance(row, str) and _ROW.fullmatch(row) for row in row_texts)
    if not row_texts or not all_numbers or len({row.count(" ") for row in row_texts}) > 1:
        expected = "texts with the same number of integers each, separated by one space"
        raise InvalidArgument(name=name, value="other rows", expected=expected)
    return row_texts


@final
@record()
class SumsOfCells(Sensitivity):
    """A `norm` ball that contains all shifts of the sums A x by one unit.

    Its radius follows from the strategy A, and x lists the numbers of rows in the cells. `rows` are
    the numerators of A, as in `StrategyMatrix`: for each sum a text of integers, separated by one
    space. A unit has at most `max_rows` rows, each of which adds at most 1 to one cell. Neighbours
    differ by one unit that is added or removed, or by one that is replaced. Raises InvalidArgument
    for malformed rows, and if no unit moves a sum.

    >>> SumsOfCells(rows=["8388608 0", "8388608 16777216"], norm="l1").bound
    Fraction(1, 1)
    """

    kind: ClassVar[str] = "sums-of-cells"
    rows: tuple[str, ...] = field(converter=takes(_read_rows))
    norm: StrategyNorm = field(converter=one_of(STRATEGY_NORMS))
    max_rows: int = field(converter=whole(most=MOST_ROWS), default=1)
    neighbours: Neighbours = field(converter=one_of(NEIGHBOURS), default="add-remove")

    @classmethod
    def of(
        cls, strategy: StrategyMatrix, norm: StrategyNorm, neighbours: Neighbours, max_rows: int
    ) -> SumsOfCells:
        """The sensitivity of the sums of a strategy."""
        rows = [" ".join(map(str, row)) for row in strategy.numerators.tolist()]
        return cls(rows=rows, norm=norm, max_rows=max_rows, neighbours=neighbours)

    def _check_together(self) -> None:
        if not self.strategy.numerators.any():
            expected = "a number that isn't 0"
            raise InvalidArgument(name="rows", value="zeros alone", expected=expected)

    @cached_property
    def strategy(self) -> StrategyMatrix:
        """The matrix A, read from `rows`."""
        numbers = [[int(number) for number in row.split(" ")] for row in self.rows]
        return StrategyMatrix(numerators=np.array(numbers, dtype=np.int64))

    @cached_property
    def ball(self) -> L1 | L2:
        """The ball as an `L1` or `L2` sensitivity."""
        return self.strategy.sensitivity(self.norm, self.neighbours, self.max_rows)

    @property
    def bound(self) -> Fraction:
        """The radius of the ball."""
        return self.ball.bound

    @property
    def coordinates(self) -> int:
        """The number of sums."""
        return len(self.rows)

    @property
    def stated_neighbours(self) -> Neighbours:
        return self.neighbours

    def _radius(self, norm: Norm, *, dimension: int) -> Fraction | None:
        return self.ball.radius(norm, dimension=dimension) if dimension == len(self.rows) else None
