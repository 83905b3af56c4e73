"""Bisection for the point from which on a condition holds, in ints, floats, Fractions or balls.

Proofs may use it, too: the condition was evaluated at the returned point itself, and nothing
depends on the path to it.
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
    """Halve the distance between a point where a condition fails and a point where it holds.

    The search ends with neighbouring integers or floats, with points at most `within` apart, or
    after `halvings` steps; Fractions need `within` or `halvings`. The point where the condition
    holds may be the smaller of the two.

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
        """Return two close points: the condition fails at the first, and holds at the second.

        The condition isn't evaluated at the given ends. The search stops early where the condition
        is undecided (None), and as soon as `until` is true for the two points. `aim` returns the
        point between the two to evaluate next; the middle is used after an aim that left more than
        half of the distance.
        """
        last = None
        for _ in range(self.halvings):
            middle, distance = _middle(fails, at)
            near = distance <= self.within or middle in (fails, at)
            if near or (until and until(fails, at)):
                break
            halved = last is None or 2 * distance <= last
            point, last = aim(fails, at) if aim and halved else middle, distance
            if (decision := holds(point)) is None:
                break
            fails, at = (fails, point) if decision else (point, at)
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
        """Double `guess` until the condition holds, then bisect; return two points as `close` does.

        None if the doubled guess exceeds `most` first; the given `guess` isn't compared with it.
        `until` and `aim` are as in `close`.

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
        """The smallest integer at which the condition holds, searched from a near guess.

        None if this integer is above `most`. The guess has to be above `fails`, at most `most`.

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
        """Bisect `count` conditions on [0, 1] at once, each of which fails at 0 and holds at 1.

        Returns two arrays of `count` points, where each condition fails and where it holds. The
        search takes all `halvings` steps; `within` isn't used.

        >>> Bisection(halvings=2).shares(lambda x: x > np.array([0.3, 0.8]), 2)[1].tolist()
        [0.5, 1.0]
        """
        fails, at = np.zeros(count), np.ones(count)
        for _ in range(self.halvings):
            true = holds(middle := (fails + at) / 2)
            fails, at = np.where(true, fails, middle), np.where(true, middle, at)
        return fails, at


def _middle(first: Any, second: Any) -> tuple[Any, Any]:
    """The middle (an integer between integers), and the distance between the two points."""
    distance = abs(second - first)
    if isinstance(first, int):
        return (first + second) // 2, distance
    middle = (first + second) / 2
    return middle.mid() if isinstance(middle, arb) else middle, distance
