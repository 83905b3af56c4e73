"""Half-widths for the sum of one number over several independent trees, one tree per group.

Notation: X is the noise of the number in one tree, and S is the sum of k = `copies` independent
draws of X. P is a probability, and E is the mean. X and S are symmetric. So the moment of order p
of a sum A + B of independent numbers is Σ_j C(p, 2j)·E A^2j·E B^(p − 2j), which increases with the
moments of A and B.

The Fourier transform of the law of S is the k-th power of the transform of X, modulo a window N.
Let the law of X have an error of at most e in the l1 norm. Then P(|S| <= h) has an error of at most
k·e·(1 + e)^(k−1), as one factor of the product is replaced at a time. Sums beyond the window add at
most E S^8/(N/2)^8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.noise.trees.levels import GIVEN_AWAY, SAFE, LevelLaw
from leastnoise.noise.trees.prefixes import ORDERS, prefix_laws, prefix_moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.noise.trees.law import Agreeing

    Floats = NDArray[np.float64]

MOST_NUMBERS = 1 << 24
"""The most probabilities that are computed, for all numbers X together.

Beyond it half-widths follow from moments.
"""
_ROWS = 16  # number of laws that are transformed at once
_ROUNDED_UP = 1e-3  # a bound on all rounding errors of a moment, relative to it
_ORDERS: Floats = np.array(ORDERS, dtype=np.float64)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Laws:
    """The laws of several symmetric numbers X: bounds on their moments, and probabilities.

    `moments` has upper bounds on E X^p for p in `ORDERS`, shape (numbers, 4). `halves` holds P(X =
    t) for t = 0, 1, …; None if they were not computed. `off` bounds the error of `halves` in the l1
    norm over all t.
    """

    moments: Floats
    halves: Floats | None
    off: Floats

    @classmethod
    def of_node(cls, law: LevelLaw) -> Laws:
        """The laws of a single number: the noise of one node."""
        halves, count = law.probabilities, 2 * len(law.probabilities)
        points = np.arange(len(halves), dtype=np.float64)
        mass = float(2 * halves.sum() - halves[0])
        off = SAFE * math.sqrt(count) * law.error + GIVEN_AWAY / 1000
        moments = [2 * float(halves @ points**p) / mass * (1 + _ROUNDED_UP) for p in ORDERS]
        return cls(
            moments=np.array([moments]),
            halves=halves[None],
            off=np.array([off + abs(1 - mass)]),
        )

    @classmethod
    def of_prefixes(cls, noise: Agreeing, count: int) -> Laws:
        """The laws of the sums of the first 1, …, `count` cells.

        Raises NotApplicable if the moments take too much work, as `prefix_moments` does.
        """
        moments = prefix_moments(noise)[1 : count + 1]
        laws = prefix_laws(noise)
        if laws is None:
            return cls(moments=moments, halves=None, off=np.zeros(count))
        halves, slack = (part[1 : count + 1] for part in laws)
        return cls(moments=moments, halves=halves, off=2 * slack[:, 0])

    def half_widths(self, copies: int, coverage: float) -> Floats:
        """For each number X, an h with P(|S| <= h) >= `coverage`; S sums `copies` draws of X."""
        moments = moments_of_copies(self.moments, copies)
        widths = np.floor((moments / (1 - coverage)) ** (1 / _ORDERS)).min(axis=1)
        least = 2 * float((moments[:, -1].max() / GIVEN_AWAY) ** (1 / ORDERS[-1]))
        if self.halves is None or least * len(moments) > MOST_NUMBERS:
            return widths
        size = 1 << max(6, math.ceil(math.log2(max(least, 2.0 * self.halves.shape[1], 1.0))))
        if size * len(moments) > MOST_NUMBERS:
            return widths
        for first in range(0, len(widths), _ROWS):
            rows = slice(first, first + _ROWS)
            law = np.zeros((len(widths[rows]), size))
            law[:, : self.halves.shape[1]] = self.halves[rows]
            law[:, 1:] += law[:, :0:-1].copy()
            sums = np.fft.irfft(np.fft.rfft(law).real ** copies, size)[:, : size // 2]
            growth = (1 + self.off[rows]) ** (copies - 1)
            slack = copies * self.off[rows] * growth + GIVEN_AWAY
            slack += moments[rows, -1] / (size / 2) ** ORDERS[-1]
            inside = 2 * np.cumsum(sums, axis=1) - sums[:, :1] - slack[:, None]
            enough = inside >= coverage
            exact = np.where(enough.any(axis=1), np.argmax(enough, axis=1), np.inf)
            widths[rows] = np.minimum(widths[rows], exact)
        return widths


def moments_of_copies(moments: Floats, copies: int) -> Floats:
    """Upper bounds on E S^p for p in `ORDERS`, from upper bounds on E X^p; shape (numbers, 4)."""
    total: Floats | None = None
    power = moments
    while True:
        if copies & 1:
            total = power if total is None else _add_moments(total, power)
        copies >>= 1
        if not copies:
            return power if total is None else total
        power = _add_moments(power, power)


def _add_moments(first: Floats, second: Floats) -> Floats:
    """Upper bounds on the moments of the sum of two independent symmetric numbers."""
    left, right = (np.insert(moments, 0, 1.0, axis=1) for moments in (first, second))
    return np.stack(
        [
            sum(math.comb(p, 2 * j) * left[:, j] * right[:, p // 2 - j] for j in range(p // 2 + 1))
            for p in ORDERS
        ],
        axis=1,
    )
