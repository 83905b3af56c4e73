"""How noise is fitted to a sensitivity's shape: a linear map between the query and the noise.

The released vector is v + A·X, X spherical: W·v + X mapped back by A = W⁻¹, which is
post-processing. So it is as private as X is for shifts of length max ‖W v‖ (theory/noise.md §8).

notation: v the d sums, s = Σvᵢ, n the number of records, 𝟙 = (1, …, 1).

| API | meaning |
|---|---|
| `CountEllipse` | W treats all queries alike, with or without n as one more coordinate |
| `Blocks` | the same W for each of several groups |
| `Matrix` | any W |
| `CellGeometry` | no map: independent noise for one number in each of d cells |
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise import _validate
from leastnoise._record import A_DIMENSION, field, record, takes
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import Exact, decimal_text, exact, exact_rows
from leastnoise.guarantees.fields import FractionField, FractionRowsField
from leastnoise.guarantees.sensitivity import L2, Integer, Sensitivity, ShiftBounds
from leastnoise.guarantees.structured import CountingQueries, Groups, Linf, QuadraticForm, Vertices

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_ROWS = 200  # of a Matrix: its inverse and its products are dense


class Geometry(ABC):
    """A map between a query of `dimension` coordinates and noise of `noise_dimension`."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of coordinates that are released."""

    @property
    def noise_dimension(self) -> int:
        """Number of coordinates of the noise X."""
        return self.dimension

    @abstractmethod
    def shifts(self, sensitivity: Sensitivity) -> ShiftBounds | None:
        """Return the shifts that X must hide, None if the geometry isn't for that sensitivity."""

    def draws(self, sensitivity: Sensitivity) -> int:  # noqa: ARG002 (Cells alone asks)
        """Return the number of independent X that one person reaches, each by `shifts`."""
        return 1

    @property
    def deviations(self) -> NDArray[np.float64]:
        """Standard deviation of each released coordinate, in those of X's, shape (dimension,).

        A X is spherical noise seen along the rows of A, so that each coordinate has the law of one
        coordinate of X times its row's length.
        """
        values, counts = zip(*self.counted_deviations, strict=True)
        return np.repeat(values, counts)

    @property
    @abstractmethod
    def counted_deviations(self) -> list[tuple[float, int]]:
        """The `deviations`, each with how many coordinates have it: no array of all of them."""

    @abstractmethod
    def covariance(self) -> NDArray[np.float64]:
        """Return A·Aᵀ, the covariance in units of X's variance, shape (dimension, dimension)."""

    @abstractmethod
    def restore(self, noisy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return A·noisy: post-processing of what X has made safe, in floats."""


@final
@record()
class CountEllipse(Geometry):
    """(W v)ᵢ = vᵢ + shared·s, or (vᵢ + shared·s + offset·n, total·n) with the number of records n.

    Every symmetric W up to scale is of this form. Raises InvalidArgument if W has no inverse.
    """

    kind: ClassVar[str] = "count-ellipse"
    queries: int = field(converter=A_DIMENSION)
    shared: FractionField = field(converter=takes(exact), default=0)
    offset: FractionField = field(converter=takes(exact), default=0)
    total: FractionField = field(converter=takes(exact), default=0)
    """0: n is not released."""

    def _check_together(self) -> None:
        if 1 + self.queries * self.shared <= 0 or self.total < 0:
            raise InvalidArgument(
                name="geometry",
                value=f"shared={float(self.shared):.6g}, total={float(self.total):.6g}",
                expected="shared > -1/queries and total >= 0",
            )
        if self.offset and not self.total:
            raise InvalidArgument(
                name="offset", value=decimal_text(self.offset), expected="0 where total is 0"
            )

    @property
    def with_total(self) -> bool:
        """Whether the number of records is released too, as the last coordinate."""
        return self.total > 0

    @property
    def dimension(self) -> int:
        """Number of coordinates that are released."""
        return self.queries + self.with_total

    @property
    def form(self) -> QuadraticForm:
        """‖W(v, n)‖² as a form in ‖v‖², s and n."""
        d, c, e = self.queries, self.shared, self.offset
        return QuadraticForm(
            squares=Fraction(1),
            summed=2 * c + d * c**2,
            crossed=2 * e * (1 + d * c),
            counted=d * e**2 + self.total**2,
        )

    def shifts(self, sensitivity: Sensitivity) -> ShiftBounds | None:
        """Exact but for the root."""
        if not isinstance(sensitivity, CountingQueries):
            return None
        if (sensitivity.dimension, sensitivity.with_total) != (self.queries, self.with_total):
            return None
        return ShiftBounds.of_length(sensitivity.largest(self.form))

    def offsets(self, total: Fraction, records: Fraction) -> tuple[Fraction, Fraction]:
        """Return the offsets that W adds to each sum and to n, for s = `total`, n = `records`."""
        if not records:
            return self.shared * total, Fraction(0)
        return self.shared * total + self.offset * records, (self.total - 1) * records

    def restore(self, noisy: NDArray[np.float64]) -> NDArray[np.float64]:
        """It is W⁻¹, without a matrix."""
        d, h = self.queries, self._drawn_in
        sums = noisy[:d]
        if not self.with_total:
            return sums - h * sums.sum()
        records = noisy[d] / float(self.total)
        lean = float(self.offset) * records
        restored = np.empty_like(noisy)
        np.subtract(sums, lean + h * (sums.sum() - d * lean), out=restored[:d])
        restored[d] = records
        return restored

    @cached_property
    def _drawn_in(self) -> float:
        """The h of (I + c·𝟙𝟙ᵀ)⁻¹ = I − h·𝟙𝟙ᵀ."""
        return float(self.shared / (1 + self.queries * self.shared))

    @property
    def _entries(self) -> tuple[float, float, float, float]:
        """The four numbers in A·Aᵀ: Var vᵢ, Cov(vᵢ, vⱼ), Cov(vᵢ, n) and Var n."""
        d, h = self.queries, self.shared / (1 + self.queries * self.shared)
        lean, spread = Fraction(0), Fraction(0)
        if self.with_total:
            lean = -self.offset / (1 + d * self.shared)  # what the noise in n brings to each sum
            spread = 1 / self.total**2
        between = -2 * h + d * h**2 + lean**2 * spread
        return float(1 + between), float(between), float(lean * spread), float(spread)

    @property
    def counted_deviations(self) -> list[tuple[float, int]]:
        """Of the queries, and of the total after them."""
        variance, _, _, counted = self._entries
        return [(math.sqrt(variance), self.queries), (math.sqrt(counted), int(self.with_total))]

    def covariance(self) -> NDArray[np.float64]:
        variance, between, crossed, counted = self._entries
        found = np.full((self.dimension, self.dimension), between, dtype=np.float64)
        np.fill_diagonal(found, variance)
        if self.with_total:
            found[-1, :] = found[:, -1] = crossed
            found[-1, -1] = counted
        return found


@final
@record()
class Blocks(Geometry):
    """The same `CountEllipse`, with n, for each of `groups` disjoint groups."""

    kind: ClassVar[str] = "blocks"
    groups: int = field(converter=A_DIMENSION)
    queries: int = field(converter=A_DIMENSION)
    shared: FractionField = field(converter=takes(exact), default=0)
    offset: FractionField = field(converter=takes(exact), default=0)
    total: FractionField = field(converter=takes(exact), default=1)

    def _check_together(self) -> None:
        if not self.block.with_total:
            raise InvalidArgument(
                name="total", value=decimal_text(self.total), expected="total > 0"
            )
        _validate.dimension(self.dimension)

    @property
    def block(self) -> CountEllipse:
        """The map of one group."""
        return CountEllipse(
            queries=self.queries, shared=self.shared, offset=self.offset, total=self.total
        )

    @property
    def dimension(self) -> int:
        """Number of coordinates that are released."""
        return self.groups * self.block.dimension

    def shifts(self, sensitivity: Sensitivity) -> ShiftBounds | None:
        """Exact but for the root."""
        if not isinstance(sensitivity, Groups):
            return None
        if (sensitivity.groups, sensitivity.dimension) != (self.groups, self.queries):
            return None
        return ShiftBounds.of_length(sensitivity.largest(self.block.form))

    def restore(self, noisy: NDArray[np.float64]) -> NDArray[np.float64]:
        parts = noisy.reshape(self.groups, self.block.dimension)
        return np.concatenate([self.block.restore(part) for part in parts])

    @property
    def deviations(self) -> NDArray[np.float64]:
        return np.tile(self.block.deviations, self.groups)

    @property
    def counted_deviations(self) -> list[tuple[float, int]]:
        return [(value, count * self.groups) for value, count in self.block.counted_deviations]

    def covariance(self) -> NDArray[np.float64]:
        return np.asarray(np.kron(np.eye(self.groups), self.block.covariance()), dtype=np.float64)


def _square(rows: Sequence[Sequence[Exact]], *, name: str) -> tuple[tuple[Fraction, ...], ...]:
    found = exact_rows(rows, name=name)
    size = len(found)
    if not 1 <= size <= _MOST_ROWS or any(len(row) != size for row in found):
        raise InvalidArgument(
            name=name, value=f"{size} rows", expected=f"a square of up to {_MOST_ROWS} rows"
        )
    return found


@final
@record()
class Matrix(Geometry):
    """Any invertible W, given by its rows of exact numbers; for up to 200 coordinates."""

    kind: ClassVar[str] = "matrix"
    rows: FractionRowsField = field(converter=takes(_square))

    def _check_together(self) -> None:
        if not np.linalg.cond(self._floats) < 1e12:
            raise InvalidArgument(
                name="rows", value="a matrix that is singular or nearly so", expected="an inverse"
            )

    @property
    def _floats(self) -> NDArray[np.float64]:
        return np.array([[float(value) for value in row] for row in self.rows])

    @property
    def dimension(self) -> int:
        """Number of coordinates that are released."""
        return len(self.rows)

    def shifts(self, sensitivity: Sensitivity) -> ShiftBounds | None:
        """Exact but for the root."""
        if not isinstance(sensitivity, Vertices) or sensitivity.coordinates != self.dimension:
            return None
        return ShiftBounds.of_length(
            max(
                sum((value**2 for value in self.image(point)), Fraction(0))
                for point in sensitivity.points
            )
        )

    def image(self, vector: Sequence[Fraction]) -> list[Fraction]:
        """Return W·vector, exactly."""
        return [
            sum((a * x for a, x in zip(row, vector, strict=True)), Fraction(0)) for row in self.rows
        ]

    def restore(self, noisy: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.linalg.solve(self._floats, noisy), dtype=np.float64)

    @property
    def counted_deviations(self) -> list[tuple[float, int]]:
        return [(float(root), 1) for root in np.sqrt(np.diag(self.covariance()))]

    def covariance(self) -> NDArray[np.float64]:
        inverse = np.asarray(np.linalg.inv(self._floats), dtype=np.float64)
        return inverse @ inverse.T


@final
@record()
class CellGeometry(Geometry):
    """Independent noise for one number in each of `count` cells, of which one person moves l0.

    The others are left alone, so that their noise says nothing. Those that move are a composition
    of l0 releases, whose worst case is that each moves by the whole bound (theory/noise.md §9): for
    noise that is symmetric and unimodal.
    """

    kind: ClassVar[str] = "cells"
    count: int = field(converter=A_DIMENSION)

    @property
    def dimension(self) -> int:
        """Number of coordinates that are released."""
        return self.count

    @property
    def noise_dimension(self) -> int:
        """1: the law of one number."""
        return 1

    def shifts(self, sensitivity: Sensitivity) -> ShiftBounds | None:
        if not isinstance(sensitivity, Linf):
            return None
        return ShiftBounds.of((Integer if sensitivity.whole else L2)(sensitivity.bound))

    def draws(self, sensitivity: Sensitivity) -> int:
        """The cells that one person moves."""
        return min(sensitivity.l0, self.count) if isinstance(sensitivity, Linf) else 1

    def restore(self, noisy: NDArray[np.float64]) -> NDArray[np.float64]:
        return noisy

    @property
    def counted_deviations(self) -> list[tuple[float, int]]:
        return [(1.0, self.count)]

    def covariance(self) -> NDArray[np.float64]:
        return np.eye(self.count)
