"""Bisection: the point from which on a condition holds, in the arithmetic of its ends.

Proofs may use it as well: the condition itself was asked about the point that is returned, and
nothing rests on the way to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

_Floats = NDArray[np.float64]
_N = TypeVar("_N", int, float, Fraction, arb)
_Until = Callable[[_N, _N], bool] | None
_Aim = Callable[[_N, _N], _N] | None


@final
@dataclass(frozen=True, kw_only=True)
class Bisection:
    """Halves what is between a point where a condition fails and one from which on it holds.

    It ends with neighbours (of whole numbers or floats), when they are `within` so much of each
    other, or after so many `halvings`; Fractions need one of the two. The point at which the
    condition holds may be the smaller one.

    >>> Bisection().close(lambda n: n * n > 10, 0, 100)
    (3, 4)
    >>> Bisection(within=Fraction(1, 8)).close(lambda x: x * x > 2, Fraction(2), Fraction(1))[1] < 2
    True
    """

    within: float | Fraction = 0
    halvings: int = 10_000

    def close(
        self,
        holds: Callable[[_N], bool | None],
        fails: _N,
        at: _N,
        *,
        until: _Until[_N] = None,
        aim: _Aim[_N] = None,
    ) -> tuple[_N, _N]:
        """Return close points at which it fails and holds, from two; the ends aren't tried.

        It ends early where it can't be told whether the condition holds (None), and as soon as the
        two points are good enough, which `until` says of them. `aim` returns the point between the
        two to try; their middle is tried after an aim that has left more than half of them.
        """
        last = None
        for _ in range(self.halvings):
            middle, apart = _middle(fails, at)
            near = apart <= self.within or middle in (fails, at)
            if near or (until and until(fails, at)):
                break
            halved = last is None or 2 * apart <= last
            point, last = aim(fails, at) if aim and halved else middle, apart
            if (found := holds(point)) is None:
                break
            fails, at = (fails, point) if found else (point, at)
        return fails, at

    def beyond(
        self,
        holds: Callable[[_N], bool],
        fails: _N,
        guess: _N,
        *,
        most: _N,
        until: _Until[_N] = None,
        aim: _Aim[_N] = None,
    ) -> tuple[_N, _N] | None:
        """Return such points, with `guess` doubled until it holds; None if that is beyond `most`.

        >>> Bisection().beyond(lambda n: n * n > 1000, 0, 1, most=64)
        (31, 32)
        """
        while not holds(guess):
            fails, guess = guess, 2 * guess
            if guess > most:
                return None
        return self.close(holds, fails, guess, until=until, aim=aim)

    def around(
        self, holds: Callable[[int], bool], guess: int, *, fails: int, most: int
    ) -> int | None:
        """Return the least number for which it holds, in growing steps from a guess that is near.

        None if that is beyond `most`.

        >>> Bisection().around(lambda n: n * n > 1000, 30, fails=0, most=64)
        32
        """
        at, step = guess, 1
        if holds(at):
            while at - step > fails and holds(at - step):
                at, step = at - step, 2 * step
            return self.close(holds, max(fails, at - step), at)[1]
        while at < most:
            fails, at, step = at, min(at + step, most), 2 * step
            if holds(at):
                return self.close(holds, fails, at)[1]
        return None

    def shares(
        self, holds: Callable[[_Floats], NDArray[np.bool_]], count: int
    ) -> tuple[_Floats, _Floats]:
        """Return where `count` conditions, tried at once, fail and hold on [0, 1]; by `halvings`.

        >>> Bisection(halvings=2).shares(lambda x: x > np.array([0.3, 0.8]), 2)[1].tolist()
        [0.5, 1.0]
        """
        fails, at = np.zeros(count), np.ones(count)
        for _ in range(self.halvings):
            found = holds(middle := (fails + at) / 2)
            fails, at = np.where(found, fails, middle), np.where(found, middle, at)
        return fails, at


def _middle(one: Any, other: Any) -> tuple[Any, Any]:
    """Return the middle, whole between whole numbers, and the distance of the two."""
    apart = abs(other - one)
    if isinstance(one, int):
        return (one + other) // 2, apart
    middle = (one + other) / 2
    return middle.mid() if isinstance(middle, arb) else middle, apart
