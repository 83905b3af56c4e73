"""Vectors of random reals made of others, and what the recipe of one body may ask of others."""

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


# Vectors of random reals made of others: products by rows, one after the other, in new places.


ONE = (Fraction(1),)


@final
class ScaledRows(Reals):
    """x_i = units[i mod u] · factors[⌊i/q⌋] · parts[i]; q of the parts, a row, share a factor.

    u, the number of units, divides q. Proof of `error`: with â, b̂ of error e, e' and reach r, r',
    |âb̂ − ab| <= e r' + (r + e) e'; the unit and two products round by less than 4·2^-53 of
    unit·r·r'; 1.001 covers the rounding of the bound.
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
class Moved(Reals):
    """x_i = centre + half · parts[i]: uniform on an interval, for parts uniform on (−1, 1)."""

    def __init__(self, *, parts: Reals, centre: Fraction, half: Fraction) -> None:
        self.size = parts.size
        self._parts, self._centre, self._half = parts, centre, half

    def floats(self, start: int, stop: int) -> Estimates:
        """The constants and two operations round by under 2^-51 of reach."""
        found = self._parts.floats(start, stop)
        centre, half = float(self._centre), float(self._half)
        values = found.values
        values *= half
        values += centre
        reach = 1.001 * (abs(centre) + half * found.reach) + TINY
        error = 1.001 * (half * found.error + 2.0**-51 * reach) + TINY
        return Estimates(values=values, beyond=found.beyond, error=error, reach=reach)

    def enclose(self, index: int, bits: int) -> arb:
        return ball(self._centre) + ball(self._half) * self._parts.enclose(index, bits)


@final
class JoinedReals(Reals):
    """One vector after the other."""

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
            found = self._parts[index].floats(low - offset, high - offset)
            values[low - start : high - start] = found.values
            beyond[low - start : high - start] = found.beyond
            error, reach = max(error, found.error), max(reach, found.reach)
            index += 1
        return Estimates(values=values, beyond=beyond, error=error, reach=reach)

    def enclose(self, index: int, bits: int) -> arb:
        part = self._part_of(index)
        return self._parts[part].enclose(index - int(self._starts[part]), bits)

    def _part_of(self, index: int) -> int:
        return int(np.searchsorted(self._starts, index, side="right")) - 1


@final
class Columns(Reals):
    """`width` of the numbers in each row, from column `first` on; `row` numbers are a row."""

    def __init__(self, reals: Reals, *, first: int, width: int, row: int) -> None:
        self.size = reals.size // row * width
        self._reals, self._first, self._width, self._row = reals, first, width, row

    def floats(self, start: int, stop: int) -> Estimates:
        low, high = self._place(start), self._place(stop - 1) + 1
        found = self._reals.floats(low, high)
        if high - low == stop - start:
            return found
        rows, columns = np.divmod(np.arange(start, stop), self._width)
        here = rows * self._row + columns + (self._first - low)
        return Estimates(
            values=found.values.take(here),
            beyond=found.beyond.take(here),
            error=found.error,
            reach=found.reach,
        )

    def enclose(self, index: int, bits: int) -> arb:
        return self._reals.enclose(self._place(index), bits)

    def _place(self, index: int) -> int:
        row, column = divmod(index, self._width)
        return row * self._row + self._first + column


@final
class Interleaved(Reals):
    """Several vectors row by row: of each the next numbers, as many as a row of it has."""

    def __init__(self, parts: Sequence[Reals], *, rows: int) -> None:
        self.size = sum(part.size for part in parts)
        self._parts = parts
        self._widths = [part.size // rows for part in parts]
        self._firsts = [0, *accumulate(self._widths)]  # columns; the last is the length of a row

    def floats(self, start: int, stop: int) -> Estimates:
        values, beyond = np.empty(stop - start), np.empty(stop - start, dtype=bool)
        error = reach = 0.0
        for index, width in enumerate(self._widths):
            low, high = self._count_before(start, index), self._count_before(stop, index)
            if low == high:
                continue
            found = self._parts[index].floats(low, high)
            rows, columns = np.divmod(np.arange(low, high), width)
            here = rows * self._firsts[-1] + columns + (self._firsts[index] - start)
            values[here], beyond[here] = found.values, found.beyond
            error, reach = max(error, found.error), max(reach, found.reach)
        return Estimates(values=values, beyond=beyond, error=error, reach=reach)

    def enclose(self, index: int, bits: int) -> arb:
        part = bisect_right(self._firsts, index % self._firsts[-1]) - 1
        return self._parts[part].enclose(self._count_before(index, part), bits)

    def _count_before(self, place: int, part: int) -> int:
        """Count the numbers of a part that come before the place."""
        row, column = divmod(place, self._firsts[-1])
        width = self._widths[part]
        return row * width + min(max(column - self._firsts[part], 0), width)


def beside(parts: Sequence[Reals], *, rows: int) -> Reals:
    """Return rows of all parts, side by side; each part has as many rows."""
    if len(parts) == 1:
        return parts[0]
    return JoinedReals(parts) if rows == 1 else Interleaved(parts, rows=rows)


@final
class Gathered(Reals):
    """x_i = parts[places[i]]."""

    def __init__(self, parts: Reals, places: NDArray[np.int64]) -> None:
        self.size = places.size
        self._parts, self._places = parts, places
        self._all: Estimates | None = None

    def floats(self, start: int, stop: int) -> Estimates:
        if self._all is None:
            self._all = self._parts.floats(0, self._parts.size)
        here = self._places[start:stop]
        return Estimates(
            values=self._all.values.take(here),
            beyond=self._all.beyond.take(here),
            error=self._all.error,
            reach=self._all.reach,
        )

    def enclose(self, index: int, bits: int) -> arb:
        return self._parts.enclose(int(self._places[index]), bits)


def scaled(unit: Fraction, reals: Reals) -> Reals:
    """Return unit·x for all x."""
    return Moved(parts=reals, centre=Fraction(0), half=unit)


# What the recipe of one body may ask of those of others.


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Moves:
    """How far a point x of T's space is from 0: P(x) and Q(x), and of which shape P is.

    notation: s = shape, t = D − s, P = added, Q = removed as in guarantees/bodies/one_sided.py. P
    counts for nothing where s = 0, and Q where t = 0.
    """

    shape: int
    added: LazyReal
    removed: LazyReal


class PointSource(ABC):
    """Random points of any body, row by row: one of D coordinates for each number asked for.

    notation: U uniform in K, V = U/N(U), its point on the boundary (theory/bodies.md §1).
    """

    entropy: Entropy

    @abstractmethod
    def surface(self, body: Body, gauges: Reals) -> Reals:
        """Return gauges[r]·V_r."""

    @abstractmethod
    def uniform(self, body: Body, radii: Reals) -> Reals:
        """Return radii[r]·U_r."""

    @abstractmethod
    def falling(self, body: Body, count: int) -> Reals:
        """Return `count` points of density ∝ e^(−N(x))."""

    @abstractmethod
    def sides(self, of: OneSided, moves: Moves, *, inside: bool) -> Reals:
        """Return a random point of T's space with these P and Q.

        If it is `inside`, one uniform among those of this shape up to these P and Q.
        """


def each(rows: Reals, point: Callable[[LazyReal], Reals]) -> Reals:
    """Return point(x) of every x in `rows`, one after the other."""
    return JoinedReals([point(one_of(rows, row)) for row in range(rows.size)])


def alone(number: LazyReal) -> Reals:
    """Return one number as a vector."""
    return Listed([number])
