"""One number of a cell, or two of them together: noise that is alike in boxes of q numbers.

notation: G = the gauge of a cell's noise, in scales. Given it, one of the cell's q numbers is its
bound times G in size, each with probability 1/q, and the others are uniform below theirs (see
`gauge`). M_k(x) = E[G^(−k); G > x]. U and V are uniform in [−1, 1].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

_PAIR = 2


@final
@dataclass(frozen=True, kw_only=True)
class CellLaw:
    """The law of a cell's noise: `each` is q, and `moment` M_k(x) of k < q, k <= 2, and x."""

    each: int
    moment: Callable[[int, float], float]

    def tail(self, c: float) -> float:
        """Return P(|X_i| > c·b) of one number, b its bound."""
        beyond = self.moment(0, c)
        q = self.each
        return beyond if q == 1 else beyond - (q - 1) / q * c * self.moment(1, c)

    def tail_of_difference(self, t: float, a: float, b: float) -> float:
        """Return P(|X_i − r·X_j| > t), a the bound of X_i and b > 0 that of r·X_j.

        Given G it is G·|a + bV| where X_i is at its end, G·|b + aV| where X_j is, each with 1/q,
        and else G·|aU + bV|. All three densities change where G·(a + b) and G·|a − b| pass t:
        `near` and `far` are the moments beyond these.
        """
        q, most, least = self.each, max(a, b), min(a, b)
        orders = range(min(q, 3))
        near = [self.moment(k, t / (most + least)) for k in orders]
        far = [0.0 if least == most else self.moment(k, t / (most - least)) for k in orders]
        between = [one - other for one, other in zip(near, far, strict=True)]
        sloping = (most + least) * between[0] - t * between[1]
        larger = far[0] + sloping / (2 * least)
        smaller = far[0] - t * far[1] / most + sloping / (2 * most)
        if q == _PAIR:
            return (larger + smaller) / 2
        sloping = (most + least) * sloping - t * ((most + least) * between[1] - t * between[2])
        neither = far[0] - t * far[1] / most + sloping / (4 * most * least)
        return (larger + smaller + (q - 2) * neither) / q
