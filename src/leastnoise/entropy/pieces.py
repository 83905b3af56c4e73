"""Magnitudes in several parts, by inversion: uniform on intervals, or rescaled parts of other laws.

Notation: X, g, Q, u, w and V as in entropy/base.py, N = 2^63, and E the mean; Q̂ is a float near
Q(u).

`UniformPieces` are intervals on which |X| is uniform, or fixed numbers. The pieces j = 0, 1, … are
numbered from the centre outward. In piece j, |X|/g is uniform on [l_j, r_j] (an atom if l_j = r_j),
with probability S_j − S_{j+1}, so S_j = P(not in the first j pieces). Then

    Q(u) = r_j − (r_j − l_j)(u − S_{j+1})/(S_j − S_{j+1})   for S_{j+1} < u < S_j:

|X|/g = Q(U) lies in piece j with the right probability, and is uniform given that it does. Balls
decide the piece, or integers if they are certainly right; u is an S_j with probability 0.

A `RescaledPart` is a part of Q that comes from another law. The parts are listed from the tail
inward, each for bottom < u < top, where Q(u) = factor·T(v),

    v = low + slope·(u − bottom),

and T is the Q of a smooth law, with a Taylor table. So a truncated law, or a law of two parts,
needs no table of its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
from flint import arb, ctx

from leastnoise.balls.core import ball, precision
from leastnoise.entropy.base import (
    WORD_BITS,
    InverseSurvival,
    Lookup,
    float_near,
    nearest_word,
)
from leastnoise.entropy.scaled import ScaledDraws
from leastnoise.entropy.smooth_quantiles import ETA, SmoothQuantile, look_up_floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FEW = 16  # words for which neither a table nor floats of curves are worth while
_WORDS_PER_PIECE = 0.25  # building a piece of the table takes a fourth of the time of an exact draw
_FINEST = 2.0**-40  # balls serve pieces where Q changes by more than this times E|X| a word
_DOUBT = 2  # words around each S_j for which balls decide the piece
_BITS = 192  # precision, far more than t_j, ĥ and the floats of curves need


@final
@dataclass(frozen=True, kw_only=True)
class UniformPieces:
    """The law of |X|/g as pieces; l_j, r_j, S_j and u are in the notation of this file.

    `ends(j)` are l_j and r_j. `survival(j)` encloses S_j at the current precision, S_0 = 1.
    `locate(u)` is the j with S_{j+1} < u < S_j, or None if the ball u doesn't decide j. The first
    `tabled` pieces have positive probability and may be put into a table of floats.
    """

    ends: Callable[[int], tuple[Fraction, Fraction]]
    survival: Callable[[int], arb]
    locate: Callable[[arb], int | None]
    tabled: int


def finite_pieces(
    ends: Callable[[int], tuple[Fraction, Fraction]], survival: Callable[[int], arb], count: int
) -> UniformPieces:
    """A law of `count` pieces, each of positive probability; S_count = 0.

    `ends` and `survival` are as in `UniformPieces`.
    """

    def locate(u: arb) -> int | None:
        # the first j for which u isn't certainly at most S_{j+1}
        j = bisect_left(range(count - 1), 1, key=lambda j: int(not u <= survival(j + 1)))
        above = j == count - 1 or survival(j + 1) <= u
        below = j == 0 or u <= survival(j)
        return j if above and below else None

    return UniformPieces(ends=ends, survival=survival, locate=locate, tabled=count)


@final
class Survival:
    """The function j ↦ S_j, computed from enclosures of the pieces' masses.

    `masses()` encloses the probabilities of the pieces, times any common factor, at the current
    precision; all have to be positive. They are summed once for each precision.
    """

    def __init__(self, masses: Callable[[], Sequence[arb]]) -> None:
        self._masses = masses
        self._sums: dict[int, list[arb]] = {}

    def __call__(self, j: int) -> arb:
        """Enclose S_j at the current precision."""
        if ctx.prec not in self._sums:
            # from the outermost piece inward, so that small tails have the same relative precision
            sums = list(accumulate(reversed(self._masses()), initial=arb(0)))
            self._sums[ctx.prec] = sums[::-1]
        sums = self._sums[ctx.prec]
        return sums[j] / sums[0] if j else arb(1)


@final
class PiecewiseUniform(InverseSurvival):
    """The function Q of `pieces`, in balls, and for many words also by a table of floats.

    The table is only built after many words were looked up.
    """

    def __init__(self, pieces: UniformPieces) -> None:
        self._pieces = pieces
        self._table: _Table | None = None
        self._words = 0

    def enclose(self, u: arb) -> arb:
        j = self._pieces.locate(u)
        if j is None:
            return arb("nan")
        left, right = self._pieces.ends(j)
        if left == right:
            return ball(right)
        near, far = self._pieces.survival(j), self._pieces.survival(j + 1)
        return ball(right) - ball(right - left) * ((u - far) / (near - far))

    def look_up(self, words: NDArray[np.uint64]) -> Lookup | None:
        """Look up words in the table of floats; None as long as the table isn't built.

        Whether the table exists changes no released number.
        """
        self._words += words.size
        if self._table is None:
            tabled = self._pieces.tabled
            if not tabled or self._words <= _FEW + _WORDS_PER_PIECE * tabled:
                return None
            with precision(_BITS):
                self._table = _Table(self._pieces)
        return self._table.look_up(words)


@final
class _Table:
    """A table for Q̂: binary search in integers near N·S_j finds the piece, in which Q̂ is a line.

    Let the integers t_j satisfy |t_j − N S_j| <= 1. A word w >= t_j + 1 has u = (w + V)/N > S_j for
    every V. A word w <= t_j − 2 has u < S_j. The two other words, t_j − 1 and t_j, are `beyond`.
    All other words are certainly in the piece where the search finds them, so Q̂ has an error only
    within it.

    Proof of `error`. In piece j let h = (r_j − l_j)/(N S_j − N S_{j+1}), by which Q changes from
    word to word. Let ĥ be its float, and k = w − (t_{j+1} − 1) >= 2. Then Q(u) = r_j − h(w + V − N
    S_{j+1}). The bracket is k + V − 1 + (t_{j+1} − N S_{j+1}). It is within 2 of k, and at most
    N(S_j − S_{j+1}). The line fl(r_j) − fl(ĥ fl(k)), with fl the nearest float and |ĥ − h| <= 2^-52
    h, rounds by less than 2^-50 (r_j − l_j + 2h) + 2^-51 r_j. With R >= every r_j here, |Q̂ − Q(u)|
    <= 2.1 h + 2^-49 R.

    If h is above _FINEST·E|X|/g, balls serve the piece, at little cost: its probability (r_j −
    l_j)/(hN) is below 2^-23 (r_j − l_j)/(E|X|/g).
    """

    def __init__(self, pieces: UniformPieces) -> None:
        count = pieces.tabled
        survival = [pieces.survival(j) for j in range(count + 1)]
        masses = [near - far for near, far in pairwise(survival)]
        ends = [pieces.ends(j) for j in range(count)]
        left, right = (np.array([float(pair[side]) for pair in ends]) for side in (0, 1))
        slopes = np.array(
            [_slope(end - start, mass) for (start, end), mass in zip(ends, masses, strict=True)]
        )
        mean = float(np.array([float(mass.mid()) for mass in masses]) @ (left + right)) / 2
        tabled = slopes <= _FINEST * mean
        self.error = 2.1 * float(slopes[tabled].max(initial=0.0)) + 2.0**-49 * float(
            right[tabled].max(initial=0.0)
        )
        self.reach = float(right[tabled].max(initial=0.0)) * (1 + 2.0**-50)
        # ascending in w: index 0 is for words below all pieces, if there are any
        self._first = np.array([nearest_word(sj) - 1 for sj in survival[:0:-1]], dtype=np.int64)
        self._start = np.append(np.int64(0), self._first)
        self._right = np.append(0.0, np.where(tabled, right, 0.0)[::-1])
        self._slope = np.append(0.0, np.where(tabled, slopes, 0.0)[::-1])
        self._unserved = np.append(True, ~tabled[::-1])

    def look_up(self, words: NDArray[np.uint64]) -> Lookup:
        w = words.view(np.int64)
        index = np.searchsorted(self._first, w, side="right")
        offset = w - self._start.take(index)
        beyond = self._unserved.take(index)
        beyond |= offset < _DOUBT
        line = offset.astype(np.float64)
        line *= self._slope.take(index)
        values = np.subtract(self._right.take(index), line, out=line)
        return Lookup(values=values, beyond=beyond, error=self.error, reach=self.reach)


def _slope(width: Fraction, mass: arb) -> float:
    """A float near h = width/(2^63·mass); inf if the mass isn't known precisely enough."""
    return float_near(ball(width) / (mass * arb((1, WORD_BITS))))


def draws_of_pieces(pieces: UniformPieces) -> ScaledDraws:
    """A factory of draws: a fair sign times a magnitude whose law has these `pieces`."""
    return ScaledDraws(quantile=PiecewiseUniform(pieces))


class PartConstants(NamedTuple):
    """The constants of a part (see the module's notation), as balls at the current precision."""

    bottom: arb
    top: arb
    low: arb
    slope: arb
    factor: arb


@final
@dataclass(frozen=True, kw_only=True)
class RescaledPart:
    """One part of Q, a rescaled part of the function T = `quantile`.

    `constants()` encloses the constants of the notation at the current precision. |T′(v)| <= 1.3/v
    has to hold. It does for the exponential law, where v|T′| is 1, and for the half-normal law,
    where it is the ratio of the tail to the density, at most √(π/2) (Mills).
    """

    quantile: SmoothQuantile
    constants: Callable[[], PartConstants]


@final
class PiecewiseRescaled(InverseSurvival):
    """The function Q of the given parts, which cover (0, 1)."""

    def __init__(self, *curves: RescaledPart) -> None:
        self._curves = curves
        self._parts: list[_PartInFloats] | None = None
        self._words = 0

    def enclose(self, u: arb) -> arb:
        for curve in self._curves:
            constants = curve.constants()
            if u >= constants.bottom and u <= constants.top:
                return constants.factor * curve.quantile.enclose(
                    constants.low + constants.slope * (u - constants.bottom)
                )
        return arb("nan")

    def look_up(self, words: NDArray[np.uint64]) -> Lookup | None:
        """Look up words in tables of floats; None for the first few words, which balls serve.

        The choice between floats and balls changes no released number.
        """
        self._words += words.size
        if self._words <= _FEW:
            return None
        if self._parts is None:
            with precision(_BITS):
                parts = [_PartInFloats(curve) for curve in self._curves]
            steepest = 2.0**8  # curves with a larger slope have too few digits; they are improbable
            self._parts = [part for part in parts if part.slope <= steepest]
        return _merge_lookups([part.look_up(words) for part in self._parts], words.size)


def _merge_lookups(parts: list[Lookup], count: int) -> Lookup:
    """Merge the lookups of all parts: each word has the value of the part that covers it."""
    values, beyond = np.zeros(count), np.ones(count, dtype=bool)
    for part in parts:
        np.copyto(values, part.values, where=~part.beyond)
        beyond &= part.beyond
    error = max((part.error for part in parts), default=0.0)
    reach = max((part.reach for part in parts), default=0.0)
    return Lookup(values=values, beyond=beyond, error=error, reach=reach)


@final
class _PartInFloats:
    """A part of Q in floats, with a proved error.

    Let t be an integer with |t − N·bottom| <= 1. A word w >= t + 1 that is at least two below the
    integer near N·top is certainly in this part, as in `_Table`. The other words are `beyond`.

    Proof of `error`. N·v = N·low + slope·(w + V − N·bottom), where the bracket is within 2 of w − t
    + 1/2. Floats evaluate (N·low + slope/2) + slope·(w − t), a sum of positive terms whose
    constants are right to 2^-52, to a relative 2^-50. So the float v̂ has |v̂ − v| <= 2^-50 v + 2
    slope/N. The table has v̂ >= 2^-17, and 1.3/v times that is below 2^-49 + slope·2^-44. With the
    error η = ETA of the table and a factor that is right to 2^-52, |Q̂ − Q(u)| <= 1.001 factor (η +
    2^-49 + slope·2^-44) + 2^-50 factor·reach.
    """

    def __init__(self, curve: RescaledPart) -> None:
        bottom, top, low, slope, factor = curve.constants()
        self._quantile = curve.quantile
        self._start = nearest_word(bottom)
        self._last = nearest_word(top) - 2
        self._low = float_near(low * arb((1, WORD_BITS)) + slope / 2)
        self.slope = float_near(slope)
        self._factor = float_near(factor)
        self._error = (
            1.001 * self._factor * (ETA + 2.0**-49 + self.slope * 2.0**-44)
            + 2.0**-50 * self._factor * curve.quantile.reach
        )

    def look_up(self, words: NDArray[np.uint64]) -> Lookup:
        """Look up the words of this part; all other words are `beyond`."""
        offset = words.view(np.int64) - np.int64(self._start)
        outside = offset < 1
        outside |= offset > self._last - self._start
        positions = offset.astype(np.float64)
        positions *= self.slope
        positions += self._low
        table_values = look_up_floats(self._quantile, positions)
        values = table_values.values
        values *= self._factor
        outside |= table_values.beyond
        return Lookup(
            values=values,
            beyond=outside,
            error=self._error,
            reach=self._factor * table_values.reach * (1 + 2.0**-50),
        )
