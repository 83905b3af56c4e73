"""Linear maps that fit noise to the shape of a sensitivity.

Spherical noise X is added to W·v, and the result is mapped back by A = W⁻¹, which is
post-processing. So the released vector is v + A·X. Its guarantee is the guarantee of X for shifts
of length max ‖W v‖ over all shifts v of the query (theory/noise.md §8).

Notation: v is the vector of d sums or a shift of it, s the sum of its entries, n the number of
records. W is the geometry's matrix and A its inverse; 𝟙 = (1, …, 1), and I is the identity matrix.

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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.guarantees.structured import QuadraticForm

_MOST_ROWS = 200  # largest number of rows of a Matrix, whose inverse and products are dense


class Geometry(ABC):
    """A map between a query of `dimension` numbers and noise X of `noise_dimension` numbers.

    The two dimensions are equal, except for `CellGeometry`.
    """

    kind: ClassVar[str]

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of released coordinates."""

    @property
    def noise_dimension(self) -> int:
        """The number of coordinates of the noise X."""
        return self.dimension

    @abstractmethod
    def shifts(self, sensitivity: Sensitivity) -> ShiftBounds | None:
        """The shifts that X must hide; None if the geometry can't be used with this sensitivity."""

    def draws(self, sensitivity: Sensitivity) -> int:  # noqa: ARG002 (only CellGeometry uses it)
        """The number of independent draws of X that one person moves, each within `shifts`."""
        return 1

    @property
    def deviations(self) -> NDArray[np.float64]:
        """The ratio of each released coordinate's standard deviation to X's; shape (dimension,).

        A coordinate of A·X is the product of a row of A and spherical noise. So its law is the law
        of one coordinate of X, scaled by the length of the row.
        """
        values, counts = zip(*self.counted_deviations, strict=True)
        return np.repeat(values, counts)

    @property
    @abstractmethod
    def counted_deviations(self) -> list[tuple[float, int]]:
        """The values of `deviations` as pairs (value, number of coordinates that have it)."""

    @abstractmethod
    def covariance(self) -> NDArray[np.float64]:
        """The covariance A·Aᵀ in units of X's variance; shape (dimension, dimension)."""

    @abstractmethod
    def restore(self, noisy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map a noisy vector back: A·noisy in floats, post-processing of a private output."""


@final
@record()
class CountEllipse(Geometry):
    """A map that treats all queries alike, with or without a record count.

    Without a record count, entry i of W v is v_i + shared·s, where s is the sum of the v_i. With a
    record count n, it is v_i + shared·s + offset·n, and the last coordinate is total·n. Every W
    that treats all queries alike is of this form, up to scale and rotation of the noise. Raises
    InvalidArgument unless shared > −1/queries and total >= 0, and if offset isn't 0 but total is.
    """

    kind: ClassVar[str] = "count-ellipse"
    queries: int = field(converter=A_DIMENSION)
    shared: FractionField = field(converter=takes(exact), default=0)
    offset: FractionField = field(converter=takes(exact), default=0)
    total: FractionField = field(converter=takes(exact), default=0)
    """The factor of n in the last coordinate; 0 if n is not released."""

    def _check_together(self) -> None:
        if 1 + self.queries * self.shared <= 0 or self.total < 0:
            raise InvalidArgument(
                name="geometry",
                value=f"shared={float(self.shared):.6g}, total={float(self.total):.6g}",
                expected="shared > -1/queries and total >= 0",
            )
        if self.offset and not self.total:
            raise InvalidArgument(
                name="offset", value=decimal_text(self.offset), expected="0 if total is 0"
            )

    @property
    def with_total(self) -> bool:
        """True if the number of records is released too, as the last coordinate."""
        return self.total > 0

    @property
    def dimension(self) -> int:
        """The number of released coordinates."""
        return self.queries + self.with_total

    @property
    def form(self) -> QuadraticForm:
        """The squared length ‖W(v, n)‖² as a quadratic form in ‖v‖², s and n."""
        from leastnoise.guarantees.structured import QuadraticForm  # noqa: PLC0415 (most noise needs no geometry)

        d, c, e = self.queries, self.shared, self.offset
        return QuadraticForm(
            squares=Fraction(1),
            summed=2 * c + d * c**2,
            crossed=2 * e * (1 + d * c),
            counted=d * e**2 + self.total**2,
        )

    def shifts(self, sensitivity: Sensitivity) -> ShiftBounds | None:
        """Bounds on the shifts after the map, exact except for one square root.

        None if the geometry can't be used with this sensitivity.
        """
        from leastnoise.guarantees.structured import CountingQueries  # noqa: PLC0415 (most noise needs no geometry)

        if not isinstance(sensitivity, CountingQueries):
            return None
        if (sensitivity.dimension, sensitivity.with_total) != (self.queries, self.with_total):
            return None
        return ShiftBounds.of_length(sensitivity.largest(self.form))

    def offsets(self, total: Fraction, records: Fraction) -> tuple[Fraction, Fraction]:
        """The numbers that the map W adds to each query's sum and to the record count.

        `total` is the total of all queries' sums, and `records` the record count.
        """
        if not records:
            return self.shared * total, Fraction(0)
        return self.shared * total + self.offset * records, (self.total - 1) * records

    def restore(self, noisy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map a noisy vector back: W⁻¹·noisy, without a matrix."""
        d, h = self.queries, self._inverse_shared
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
    def _inverse_shared(self) -> float:
        """The number h for which I − h·𝟙𝟙ᵀ is the inverse of I + shared·𝟙𝟙ᵀ, over the d queries."""
        return float(self.shared / (1 + self.queries * self.shared))

    @property
    def _entries(self) -> tuple[float, float, float, float]:
        """The four different entries of A·Aᵀ, in units of X's variance.

        In order: the variance of the noise in a sum, its covariance between two sums, its
        covariance between a sum and the record count, and its variance in the record count. The
        last two are 0 without a record count.
        """
        d, h = self.queries, self.shared / (1 + self.queries * self.shared)
        lean, spread = Fraction(0), Fraction(0)
        if self.with_total:
            lean = -self.offset / (1 + d * self.shared)  # the noise that n contributes to each sum
            spread = 1 / self.total**2
        between = -2 * h + d * h**2 + lean**2 * spread
        return float(1 + between), float(between), float(lean * spread), float(spread)

    @property
    def counted_deviations(self) -> list[tuple[float, int]]:
        """Two pairs: (deviation of a query, number of queries), (deviation of the record count, 1).

        Without a record count the second pair is (0.0, 0).
        """
        variance, _, _, counted = self._entries
        return [(math.sqrt(variance), self.queries), (math.sqrt(counted), int(self.with_total))]

    def covariance(self) -> NDArray[np.float64]:
        variance, between, crossed, counted = self._entries
        matrix = np.full((self.dimension, self.dimension), between, dtype=np.float64)
        np.fill_diagonal(matrix, variance)
        if self.with_total:
            matrix[-1, :] = matrix[:, -1] = crossed
            matrix[-1, -1] = counted
        return matrix


@final
@record()
class Blocks(Geometry):
    """A `CountEllipse` with a record count, the same for each of `groups` disjoint groups.

    Raises InvalidArgument if the ellipse is malformed or has no record count.
    """

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
        """The number of released coordinates."""
        return self.groups * self.block.dimension

    def shifts(self, sensitivity: Sensitivity) -> ShiftBounds | None:
        """Bounds on the shifts after the map, exact except for one square root.

        None if the geometry can't be used with this sensitivity.
        """
        from leastnoise.guarantees.structured import Groups  # noqa: PLC0415 (most noise needs no geometry)

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


def _check_square(
    rows: Sequence[Sequence[Exact]], *, name: str
) -> tuple[tuple[Fraction, ...], ...]:
    matrix = exact_rows(rows, name=name)
    size = len(matrix)
    if not 1 <= size <= _MOST_ROWS or any(len(row) != size for row in matrix):
        raise InvalidArgument(
            name=name, value=f"{size} rows", expected=f"a square of up to {_MOST_ROWS} rows"
        )
    return matrix


@final
@record()
class Matrix(Geometry):
    """Any invertible matrix W, given by rows of exact numbers; for up to 200 coordinates.

    Raises InvalidArgument if the matrix isn't square, is too large or is nearly singular.
    """

    kind: ClassVar[str] = "matrix"
    rows: FractionRowsField = field(converter=takes(_check_square))

    def _check_together(self) -> None:
        if not np.linalg.cond(self._floats) < 1e12:
            raise InvalidArgument(
                name="rows",
                value="a singular or nearly singular matrix",
                expected="an invertible one",
            )

    @property
    def _floats(self) -> NDArray[np.float64]:
        return np.array([[float(value) for value in row] for row in self.rows])

    @property
    def dimension(self) -> int:
        """The number of released coordinates."""
        return len(self.rows)

    def shifts(self, sensitivity: Sensitivity) -> ShiftBounds | None:
        """Bounds on the shifts after the map, exact except for one square root.

        None if the geometry can't be used with this sensitivity.
        """
        from leastnoise.guarantees.structured import Vertices  # noqa: PLC0415 (most noise needs no geometry)

        if not isinstance(sensitivity, Vertices) or sensitivity.coordinates != self.dimension:
            return None
        return ShiftBounds.of_length(
            max(
                sum((value**2 for value in self.image(point)), Fraction(0))
                for point in sensitivity.points
            )
        )

    def image(self, vector: Sequence[Fraction]) -> list[Fraction]:
        """The image W·vector, exactly."""
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
    """Independent noise in each of `count` cells of one number; one person moves at most l0 cells.

    l0 comes from the sensitivity, an `Linf`. Cells that do not move reveal nothing about the
    person. The l0 cells that move are a composition of l0 releases. For symmetric and unimodal
    noise the worst case is that each of them moves by the whole bound (theory/noise.md §9).
    """

    kind: ClassVar[str] = "cells"
    count: int = field(converter=A_DIMENSION)

    @property
    def dimension(self) -> int:
        """The number of released coordinates."""
        return self.count

    @property
    def noise_dimension(self) -> int:
        """Always 1, since every cell gets independent noise for one number."""
        return 1

    def shifts(self, sensitivity: Sensitivity) -> ShiftBounds | None:
        from leastnoise.guarantees.structured import Linf  # noqa: PLC0415 (most noise needs no geometry)

        if not isinstance(sensitivity, Linf):
            return None
        return ShiftBounds.of((Integer if sensitivity.whole else L2)(sensitivity.bound))

    def draws(self, sensitivity: Sensitivity) -> int:
        """The largest number of cells that one person moves."""
        from leastnoise.guarantees.structured import Linf  # noqa: PLC0415 (most noise needs no geometry)

        return min(sensitivity.l0, self.count) if isinstance(sensitivity, Linf) else 1

    def restore(self, noisy: NDArray[np.float64]) -> NDArray[np.float64]:
        return noisy

    @property
    def counted_deviations(self) -> list[tuple[float, int]]:
        return [(1.0, self.count)]

    def covariance(self) -> NDArray[np.float64]:
        return np.eye(self.count)
