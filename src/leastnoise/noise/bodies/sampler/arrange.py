"""Vectors of random reals built from others, and the interface between recipes of bodies.

Notation: x_i is entry i of a vector. K is a body, D is its dimension, and N is its gauge: N(x) is
the least t >= 0 with x ∈ tK.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.balls.core import ball
from leastnoise.entropy.base import TINY
from leastnoise.entropy.lazy import LazyReal
from leastnoise.noise.bodies.sampler.reals import Estimates, Listed, Reals, one_of

if TYPE_CHECKING:
    from flint import arb
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy
    from leastnoise.guarantees.bodies.base import Body
    from leastnoise.guarantees.bodies.one_sided import OneSided


ONE = (Fraction(1),)


@final
class ScaledRows(Reals):
    """The products x_i = units[i mod u]·factors[⌊i/q⌋]·parts[i]: q = `row` parts share a factor.

    The number u of units divides q. Proof of `error`: let a be a factor and b a part, with floats â
    and b̂ that are within e and e' of them, and at most r and r' in size. Then |âb̂ − ab| <= e·r' +
    (r + e)·e'. The unit and two products round by less than 4·2^-53 of unit·r·r', and 1.001 covers
    the rounding of the bound.
    """

    def __init__(
        self, *, factors: Reals, parts: Reals, units: Sequence[Fraction] = ONE, row: int
    ) -> None:
        self.size = parts.size
        self._factors, self._parts, self._row = factors, parts, row
        self._units = units
        floats = np.array([unit.numerator / unit.denominator for unit in units])
        self._floats = floats[:1] if np.all(floats == floats[0]) else floats
        self._largest = float(np.abs(floats).max())

    def floats(self, start: int, stop: int) -> Estimates:
        q = self._row
        first, last = start // q, -(-stop // q)
        parts, factors = self._parts.floats(start, stop), self._factors.floats(first, last)
        values, beyond = parts.values, parts.beyond
        if last - first <= 1:  # one row, which may be very long
            values *= factors.values
            beyond |= factors.beyond
        else:
            inside = slice(start - first * q, stop - first * q)
            values *= np.repeat(factors.values, q)[inside]
            beyond |= np.repeat(factors.beyond, q)[inside]
        units = self._floats
        values *= units if units.size == 1 else units.take(np.arange(start, stop) % units.size)
        error = factors.error * parts.reach + (factors.reach + factors.error) * parts.error
        error += 2.0**-51 * factors.reach * parts.reach
        return Estimates(
            values=values,
            beyond=beyond,
            error=1.001 * self._largest * error + TINY,
            reach=1.001 * self._largest * factors.reach * parts.reach + TINY,
        )

    def enclose(self, index: int, bits: int) -> arb:
        factor = self._factors.enclose(index // self._row, bits)
        unit = self._units[index % len(self._units)]
        return ball(unit) * factor * self._parts.enclose(index, bits)


@final
class Affine(Reals):
    """The numbers x_i = centre + half·parts[i], half >= 0.

    If the parts are uniform on (−1, 1), the numbers are uniform on an interval.
    """

    def __init__(self, *, parts: Reals, centre: Fraction, half: Fraction) -> None:
        self.size = parts.size
        self._parts, self._centre, self._half = parts, centre, half

    def floats(self, start: int, stop: int) -> Estimates:
        """Estimates in floats. The constants and two operations round by under 2^-51 of `reach`."""
        estimates = self._parts.floats(start, stop)
        centre, half = float(self._centre), float(self._half)
        values = estimates.values
        values *= half
        values += centre
        reach = 1.001 * (abs(centre) + half * estimates.reach) + TINY
        error = 1.001 * (half * estimates.error + 2.0**-51 * reach) + TINY
        return Estimates(values=values, beyond=estimates.beyond, error=error, reach=reach)

    def enclose(self, index: int, bits: int) -> arb:
        return ball(self._centre) + ball(self._half) * self._parts.enclose(index, bits)


@final
class JoinedReals(Reals):
    """Several vectors, one after the other."""

    def __init__(self, parts: Sequence[Reals]) -> None:
        self._parts = [part for part in parts if part.size]
        self._starts = np.array([0, *accumulate(part.size for part in self._parts)])
        self.size = int(self._starts[-1])

    def floats(self, start: int, stop: int) -> Estimates:
        values, beyond = np.empty(stop - start), np.empty(stop - start, dtype=bool)
        error = reach = 0.0
        index = self._part_of(start)
        while index < len(self._parts) and self._starts[index] < stop:
            offset = int(self._starts[index])
            low, high = max(start, offset), min(stop, offset + self._parts[index].size)
            estimates = self._parts[index].floats(low - offset, high - offset)
            values[low - start : high - start] = estimates.values
            beyond[low - start : high - start] = estimates.beyond
            error, reach = max(error, estimates.error), max(reach, estimates.reach)
            index += 1
        return Estimates(values=values, beyond=beyond, error=error, reach=reach)

    def enclose(self, index: int, bits: int) -> arb:
        part = self._part_of(index)
        return self._parts[part].enclose(index - int(self._starts[part]), bits)

    def _part_of(self, index: int) -> int:
        return int(np.searchsorted(self._starts, index, side="right")) - 1


@final
class Columns(Reals):
    """The columns `first` … `first` + `width` − 1 of a matrix whose rows have `row` numbers."""

    def __init__(self, reals: Reals, *, first: int, width: int, row: int) -> None:
        self.size = reals.size // row * width
        self._reals, self._first, self._width, self._row = reals, first, width, row

    def floats(self, start: int, stop: int) -> Estimates:
        low, high = self._source_index(start), self._source_index(stop - 1) + 1
        estimates = self._reals.floats(low, high)
        if high - low == stop - start:
            return estimates
        rows, columns = np.divmod(np.arange(start, stop), self._width)
        here = rows * self._row + columns + (self._first - low)
        return Estimates(
            values=estimates.values.take(here),
            beyond=estimates.beyond.take(here),
            error=estimates.error,
            reach=estimates.reach,
        )

    def enclose(self, index: int, bits: int) -> arb:
        return self._reals.enclose(self._source_index(index), bits)

    def _source_index(self, index: int) -> int:
        row, column = divmod(index, self._width)
        return row * self._row + self._first + column


@final
class Interleaved(Reals):
    """Several matrices side by side: row i of the result joins row i of every matrix."""

    def __init__(self, parts: Sequence[Reals], *, rows: int) -> None:
        self.size = sum(part.size for part in parts)
        self._parts = parts
        self._widths = [part.size // rows for part in parts]
        self._firsts = [
            0,
            *accumulate(self._widths),
        ]  # first columns; the last entry is the length of a row

    def floats(self, start: int, stop: int) -> Estimates:
        values, beyond = np.empty(stop - start), np.empty(stop - start, dtype=bool)
        error = reach = 0.0
        for index, width in enumerate(self._widths):
            low, high = self._count_before(start, index), self._count_before(stop, index)
            if low == high:
                continue
            estimates = self._parts[index].floats(low, high)
            rows, columns = np.divmod(np.arange(low, high), width)
            here = rows * self._firsts[-1] + columns + (self._firsts[index] - start)
            values[here], beyond[here] = estimates.values, estimates.beyond
            error, reach = max(error, estimates.error), max(reach, estimates.reach)
        return Estimates(values=values, beyond=beyond, error=error, reach=reach)

    def enclose(self, index: int, bits: int) -> arb:
        part = bisect_right(self._firsts, index % self._firsts[-1]) - 1
        return self._parts[part].enclose(self._count_before(index, part), bits)

    def _count_before(self, index: int, part: int) -> int:
        """The number of entries of matrix `part` that come before entry `index` of the result."""
        row, column = divmod(index, self._firsts[-1])
        width = self._widths[part]
        return row * width + min(max(column - self._firsts[part], 0), width)


def join_columns(parts: Sequence[Reals], *, rows: int) -> Reals:
    """The rows of all parts, side by side; each part has `rows` rows."""
    if len(parts) == 1:
        return parts[0]
    return JoinedReals(parts) if rows == 1 else Interleaved(parts, rows=rows)


@final
class Gathered(Reals):
    """The numbers x_i = parts[indices[i]]; indices may come in any order and repeat."""

    def __init__(self, parts: Reals, indices: NDArray[np.int64]) -> None:
        self.size = indices.size
        self._parts, self._indices = parts, indices
        self._all: Estimates | None = None

    def floats(self, start: int, stop: int) -> Estimates:
        if self._all is None:
            self._all = self._parts.floats(0, self._parts.size)
        here = self._indices[start:stop]
        return Estimates(
            values=self._all.values.take(here),
            beyond=self._all.beyond.take(here),
            error=self._all.error,
            reach=self._all.reach,
        )

    def enclose(self, index: int, bits: int) -> arb:
        return self._parts.enclose(int(self._indices[index]), bits)


def scale_by(unit: Fraction, reals: Reals) -> Reals:
    """The numbers unit·x for each x in `reals`, unit >= 0."""
    return Affine(parts=reals, centre=Fraction(0), half=unit)


# The interface through which the recipe of one body draws points of another.


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Moves:
    """The gauges P(x) and Q(x) and the shape s of a point x, chosen before x is drawn.

    P = `added` is the gauge of the added part of x, and Q = `removed` the gauge of the removed part
    (guarantees/bodies/one_sided.py). s = `shape` is a number 0 … D; for counts, s coordinates are
    above 0. P has no effect if s = 0, and Q has no effect if s = D.
    """

    shape: int
    added: LazyReal
    removed: LazyReal


class PointSource(ABC):
    """A source of random points of any body.

    Each method returns a vector with the coordinates of all its points, one point after another.
    Notation: U is a uniform point of K, and V = U/N(U) is the boundary point in the same direction
    (theory/bodies.md §1).
    """

    entropy: Entropy

    @abstractmethod
    def surface(self, body: Body, gauges: Reals) -> Reals:
        """Draw a point g·V for each number g in `gauges`, independently; its gauge is g."""

    @abstractmethod
    def uniform(self, body: Body, radii: Reals) -> Reals:
        """Draw a point r·U for each number r in `radii`, independently; it is uniform in r·K."""

    @abstractmethod
    def exponential_points(self, body: Body, count: int) -> Reals:
        """Draw `count` independent points of density ∝ e^(−N(x))."""

    @abstractmethod
    def sides(self, of: OneSided, moves: Moves, *, inside: bool) -> Reals:
        """Draw a random point with the P, Q and shape of `moves`; P and Q belong to the set `of`.

        If `inside`, P and Q are only upper limits: the point is uniform among the points of this
        shape with at most these P and Q.
        """


def map_rows(rows: Reals, point: Callable[[LazyReal], Reals]) -> Reals:
    """Join the vectors point(x) for every x in `rows`."""
    return JoinedReals([point(one_of(rows, row)) for row in range(rows.size)])


def as_vector(number: LazyReal) -> Reals:
    """The vector with this number as its only entry."""
    return Listed([number])
