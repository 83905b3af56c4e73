"""Magnitudes whose inverse survival function is, in parts, that of another law, rescaled.

notation: parts from the tail inward, each on bottom < u < top, where |X| = factor·T(v),

    v = low + slope·(u − bottom),

T a smooth Q with a Taylor table; Q, u, w, V as in entropy/inverse.py, N = 2^63. So a law that is
cut off, or is made of two, needs no table of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
from flint import arb

from leastnoise.balls.core import precision
from leastnoise.entropy.inverse import WORD_BITS, InverseSurvival, Lookup, float_near, nearest_word
from leastnoise.entropy.quantiles import ETA, Quantile, look_up_floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FEW = 16  # words that aren't worth the floats
_BITS = 192  # of precision: far more than the floats need
_STEEPEST = 2.0**8  # parts with a larger slope have too few digits; they are improbable


class Constants(NamedTuple):
    """What belongs to a part; balls, at the precision that they were asked for."""

    bottom: arb
    top: arb
    low: arb
    slope: arb
    factor: arb


@final
@dataclass(frozen=True, kw_only=True)
class Curve:
    """One part: T, and `constants()` that enclose what the notation names.

    |T′(v)| <= 1.3/v has to hold. It does for both laws: v|T′| is 1 for the exponential one, and
    the ratio of the normal tail to the density for the other, at most √(π/2) (Mills).
    """

    quantile: Quantile
    constants: Callable[[], Constants]


@final
class Curved(InverseSurvival):
    """Q of the given parts, which cover (0, 1)."""

    def __init__(self, *curves: Curve) -> None:
        self._curves = curves
        self._parts: list[_Part] | None = None
        self._words = 0

    def enclose(self, u: arb) -> arb:
        for curve in self._curves:
            one = curve.constants()
            if u >= one.bottom and u <= one.top:
                return one.factor * curve.quantile.enclose(one.low + one.slope * (u - one.bottom))
        return arb("nan")

    def look_up(self, words: NDArray[np.uint64]) -> Lookup | None:
        """That few words are left to balls changes no number."""
        self._words += words.size
        if self._words <= _FEW:
            return None
        if self._parts is None:
            with precision(_BITS):
                parts = [_Part(curve) for curve in self._curves]
            self._parts = [part for part in parts if part.slope <= _STEEPEST]
        return _merged([part.look_up(words) for part in self._parts], words.size)


def _merged(parts: list[Lookup], count: int) -> Lookup:
    """Return the values of whichever part has one."""
    values, beyond = np.zeros(count), np.ones(count, dtype=bool)
    for part in parts:
        np.copyto(values, part.values, where=~part.beyond)
        beyond &= part.beyond
    error = max((part.error for part in parts), default=0.0)
    reach = max((part.reach for part in parts), default=0.0)
    return Lookup(values=values, beyond=beyond, error=error, reach=reach)


@final
class _Part:
    """A part in floats.

    Let t be whole, |t − N·bottom| <= 1. A word w from t + 1 on, and at most two below the whole
    number near N·top, is certainly in this part, as in entropy/pieces.py; the others are `beyond`.

    Proof of `error`. N·v = N·low + slope·(w + V − N·bottom), where the bracket is within 2 of
    w − t + 1/2. Floats evaluate (N·low + slope/2) + slope·(w − t), a sum of positive terms whose
    constants are right to 2^-52, to a relative 2^-50. So |v̂ − v| <= 2^-50 v + 2 slope/N. The table
    has v̂ >= 2^-17, and 1.3/v times that is below 2^-49 + slope·2^-44. With η for the table and a
    factor that is right to 2^-52, |Q̂ − Q(u)| <= 1.001 factor (η + 2^-49 + slope·2^-44) +
    2^-50 factor·reach.
    """

    def __init__(self, curve: Curve) -> None:
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
        """Return Q̂ of the words of this part."""
        offset = words.view(np.int64) - np.int64(self._start)
        outside = offset < 1
        outside |= offset > self._last - self._start
        place = offset.astype(np.float64)
        place *= self.slope
        place += self._low
        found = look_up_floats(self._quantile, place)
        values = found.values
        values *= self._factor
        outside |= found.beyond
        return Lookup(
            values=values,
            beyond=outside,
            error=self._error,
            reach=self._factor * found.reach * (1 + 2.0**-50),
        )
