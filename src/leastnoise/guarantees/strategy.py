"""Which sums of cells get noise: a matrix of exact numbers, and how far a unit moves them.

notation: A, shape (p, n), the strategy; x the n cells, to at most one of which a unit adds 1, or R
times so if it has R rows; a_j the columns of A. Noise is added to A x. A unit that is added or
removed moves A x by R·max ‖a_j‖ at most, since a norm is convex; one that is replaced also by
R·max ‖a_i − a_j‖, as all its rows may move from cell j to cell i, or from outside all cells. All of
it is worked out in whole numbers.
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
"""A's numbers are multiples of 2^−24, at most 1: the sums below fit an int64 for 2^11 rows."""
_UNIT = 1 << BITS
MOST_SUMS = 1 << 11
MOST_CELLS = 1000
MOST_QUESTIONS = 10_000
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-9, 1e9
"""The sizes of weights in questions: products of their squares stay in range."""

StrategyNorm = Literal["l1", "l2"]
STRATEGY_NORMS: tuple[StrategyNorm, ...] = ("l1", "l2")
_ROW = re.compile("(?:0|-?[1-9][0-9]{0,7})(?: (?:0|-?[1-9][0-9]{0,7}))*")
MOST_ROWS = 2**34
"""The most rows of a unit, as many as a release reads."""


def _fits(rows: int, columns: int) -> bool:
    return rows <= MOST_SUMS and columns <= MOST_CELLS


def _numerators(numerators: NDArray[np.int64], *, name: str) -> NDArray[np.int64]:
    found = np.array(numerators)  # a copy: whoever gave it may change it
    shape = found.shape
    if found.dtype != np.int64 or len(shape) != 2 or not all(shape) or not _fits(*shape):
        kind = f"an array of {found.dtype} of shape {shape}"
        expected = f"an int64 matrix of at most {MOST_SUMS:,} rows and {MOST_CELLS:,} columns"
        raise InvalidArgument(name=name, value=kind, expected=expected)
    if found.min() < -_UNIT or found.max() > _UNIT:
        expected = f"whole numbers of at most 2^{BITS} in size"
        raise InvalidArgument(name=name, value="larger ones", expected=expected)
    found.setflags(write=False)
    return found


@final
@record(eq=False)
class Strategy:
    """The matrix A = numerators·2^−24, shape (sums, cells), of exact numbers in [−1, 1].

    Raises InvalidArgument for what is no int64 matrix of such numbers of up to 2,048 rows and 1,000
    columns.

    >>> Strategy.within(np.array([[0.5, 0], [0, 0.5], [0.5, 0.5]])).reach("l1", "replace-one")
    Fraction(1, 1)
    """

    numerators: NDArray[np.int64] = field(converter=takes(_numerators))

    @classmethod
    def within(cls, matrix: NDArray[np.float64]) -> Strategy:
        """Return the strategy next to a matrix of floats in [−1, 1], none of its numbers larger."""
        return cls(numerators=np.trunc(matrix * _UNIT).astype(np.int64))

    def __repr__(self) -> str:
        sums, cells = self.numerators.shape
        return f"<Strategy: {sums:,} sums of {cells:,} cells>"

    @property
    def matrix(self) -> NDArray[np.float64]:
        """A, shape (sums, cells), exactly."""
        return np.asarray(self.numerators / _UNIT, dtype=np.float64)

    def image(self, cells: Sequence[Fraction]) -> list[Fraction]:
        """Return A·cells, exactly."""
        common = math.lcm(*(one.denominator for one in cells))
        whole = np.array([int(one * common) for one in cells], dtype=object)
        sums: list[Any] = (self.numerators.astype(object) @ whole).tolist()
        return [Fraction(one, common << BITS) for one in sums]

    def reach(self, norm: StrategyNorm, neighbours: Neighbours) -> Fraction:
        """Return the most by which one row moves A x, exactly; in l2 its square."""
        found = self._own(norm)
        if neighbours == "replace-one":
            found = max(found, self._between[norm])
        return Fraction(found, _UNIT if norm == "l1" else _UNIT**2)

    def sensitivity(self, norm: StrategyNorm, neighbours: Neighbours, max_rows: int) -> L1 | L2:
        """Return the ball that holds all shifts of A x by a unit of so many rows."""
        most = self.reach(norm, neighbours)
        if norm == "l1":
            return L1(max_rows * most)
        return L2(Fraction(float_at_least(root_above(max_rows**2 * most))))

    def with_total(self, norm: StrategyNorm) -> Strategy:
        """Return it with the total of all cells, as far as that costs nothing in replace-one.

        A row (t, …, t) leaves a_i − a_j alone, and t is what max ‖a_j‖ then has to spare.
        """
        own, between = self._own(norm), self._between[norm]
        spare = max(between - own, 0)
        total = min(spare if norm == "l1" else math.isqrt(spare), _UNIT)
        row = np.full((1, self.numerators.shape[1]), total, dtype=np.int64)
        return Strategy(numerators=np.concatenate([self.numerators, row])) if total else self

    def _own(self, norm: StrategyNorm) -> int:
        return int(_lengths(self.numerators, norm).max())

    @cached_property
    def _between(self) -> Mapping[StrategyNorm, int]:
        """Longest ‖a_i − a_j‖, in l2 its square: of up to 2^11 differences, each at most 2^25."""
        columns = self.numerators.T.copy()
        found: dict[StrategyNorm, int] = {"l1": 0, "l2": 0}
        for i in range(len(columns) - 1):
            moves = (columns[i + 1 :] - columns[i]).T
            for norm, longest in found.items():
                found[norm] = max(longest, int(_lengths(moves, norm).max()))
        return found


def _lengths(columns: NDArray[np.int64], norm: StrategyNorm) -> NDArray[np.int64]:
    """Return the columns' l1 norms, or squared l2 norms."""
    parts = np.abs(columns) if norm == "l1" else columns * columns
    return np.asarray(parts.sum(axis=0), dtype=np.int64)


def _read_rows(rows: Sequence[str], *, name: str) -> tuple[str, ...]:
    kept = tuple(rows) if isinstance(rows, list | tuple) and len(rows) <= MOST_SUMS else ()
    kept = kept if all(isinstance(row, str) and row.count(" ") < MOST_CELLS for row in kept) else ()
    texts = all(isinstance(row, str) and _ROW.fullmatch(row) for row in kept)
    if not kept or not texts or len({row.count(" ") for row in kept}) > 1:
        expected = "texts of as many whole numbers each, with a space between two"
        raise InvalidArgument(name=name, value="other rows", expected=expected)
    return kept


@final
@record()
class SumsOfCells(Sensitivity):
    """The `norm` ball around all shifts of A x by one unit: it says A, and its radius follows.

    `rows` are the numerators of A, which `Strategy` says, a text for each sum with a space between
    two numbers. A unit has at most `max_rows` rows, each of which adds at most 1 to one cell.
    Neighbours differ by one unit that is added or removed, or by one that is replaced by another.
    Raises InvalidArgument for other rows, and if no unit moves a sum.

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
        cls, strategy: Strategy, norm: StrategyNorm, neighbours: Neighbours, max_rows: int
    ) -> SumsOfCells:
        """The shifts of the sums of a strategy."""
        rows = [" ".join(map(str, row)) for row in strategy.numerators.tolist()]
        return cls(rows=rows, norm=norm, max_rows=max_rows, neighbours=neighbours)

    def _check_together(self) -> None:
        if not self.strategy.numerators.any():
            expected = "a number that isn't 0"
            raise InvalidArgument(name="rows", value="zeros alone", expected=expected)

    @cached_property
    def strategy(self) -> Strategy:
        """A."""
        numbers = [[int(number) for number in row.split(" ")] for row in self.rows]
        return Strategy(numerators=np.array(numbers, dtype=np.int64))

    @cached_property
    def ball(self) -> L1 | L2:
        """The ball by itself."""
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
