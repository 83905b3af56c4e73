"""Numbers of a law modulo a window with a bound on their error, through sums and products.

Rounding is bounded in the l2 norm, by the theorem that `balls.rounded` rests on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np

from leastnoise.balls.core import UNIT
from leastnoise.balls.rounded import inverse, relative_error, transform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_Number = TypeVar("_Number", np.float64, np.complex128)
EXPONENTIAL = 2.0**-50  # error of e^−x, x >= 0, absolute, for an x that is off by 2^-52·x
SAFE = 1.01  # covers second orders of all rounding errors, and the rounding of the bounds


def norm(values: Floats) -> float:
    """Return ‖values‖₂."""
    return float(np.linalg.norm(values))


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """Numbers x_t >= 0, t modulo N: ‖values − x‖₂ <= error.

    All x together are at most `mass`, and |Σ(values − x)| at most `sum_error`, which by itself is
    no more than √N·error.
    """

    values: NDArray[np.float64]
    error: float
    mass: float = math.inf
    sum_error: float = math.inf

    def times(self, weights: Floats) -> Known:
        """Return x·w for weights e^(−r|t|) <= 1, which are off by `EXPONENTIAL`.

        Cauchy and Schwarz: the errors of x add up to error·‖w‖ at most.
        """
        off = 2 * EXPONENTIAL * norm(self.values)
        summed = self.error * norm(weights) + 2 * EXPONENTIAL * float(np.abs(self.values).sum())
        return Known(
            values=self.values * weights,
            error=SAFE * (self.error + off),
            mass=self.mass,
            sum_error=SAFE * summed,
        )

    def times_known(self, other: Known) -> Known:
        """Return x·y."""
        largest, others = float(self.values.max()), float(other.values.max())
        error = others * self.error + (largest + self.error) * other.error
        summed = norm(other.values) * self.error + (norm(self.values) + self.error) * other.error
        product = self.values * other.values
        return Known(
            values=product,
            error=SAFE * (error + UNIT * norm(product)),
            sum_error=SAFE * (summed + UNIT * float(np.abs(product).sum())),
        )

    def normalised(self) -> tuple[Known, float]:
        """Return x/Σx, and about Σx."""
        total, size = float(self.values.sum()), len(self.values)
        off = min(self.sum_error, math.sqrt(size) * self.error)
        off += size * UNIT * float(np.abs(self.values).sum())
        relative = off / (total - off) if off < total else math.inf
        error = self.error / total + norm(self.values) / total * (relative + UNIT)
        law = Known(values=self.values / total, error=SAFE * (1 + relative) * error, mass=1.0)
        return law, total

    def convolved(self, other: Known) -> Known:
        """Return Σ_s x_s y_{t−s}: with hats for transforms, x̂ŷ − x̂'ŷ' = x̂(ŷ − ŷ') + ŷ'(x̂ − x̂')."""
        nu = relative_error(len(self.values))
        found = inverse(transform(self.values) * transform(other.values))
        error = self.largest() * other.spectrum_error() + other.largest() * self.spectrum_error()
        return Known(
            values=found,
            error=SAFE * (error + (nu + 3 * UNIT) * norm(found)),
            mass=self.mass * other.mass,
        )

    def power(self, count: int) -> Known:
        """Return x convolved with itself, `count` times in all; 1 at t = 0 for none."""
        if count <= 1:
            one = np.zeros(len(self.values))
            one[0] = 1.0
            return self if count else Known(values=one, error=0.0, mass=1.0)
        nu = relative_error(len(self.values))
        found = inverse(raised(transform(self.values), count))
        error = count * self.largest() ** (count - 1) * self.spectrum_error()
        return Known(
            values=found,
            error=SAFE * (error + (nu + 3 * count * UNIT) * norm(found)),
            mass=self.mass**count,
        )

    def largest(self) -> float:
        """Return what no number of the transform exceeds, of x and as it is computed.

        That of x is at most Σx: its mass, or else what the values say.
        """
        rooted = math.sqrt(len(self.values))
        own = float(np.abs(self.values).sum()) * (1 + 1e-9)
        computed = own + rooted * relative_error(len(self.values)) * norm(self.values)
        return max(computed, min(self.mass, own + rooted * self.error))

    def spectrum_error(self) -> float:
        """Return the error of the transform in the l2 norm, over √N."""
        return self.error + relative_error(len(self.values)) * norm(self.values)


def all_but_one(parts: Sequence[tuple[Known, int]]) -> list[Known]:
    """Return, for each part, the sum of all but one of it; a part is a law and how many have it.

    notation: x_j, m_j times, of which one is left out. By products of transforms, as in `power`:
    the error is Σ_j m_j·err_j/max_j of Π_j max_j^m_j, where max_j and err_j are the largest number
    of a transform and its error.
    """
    if len(parts) == 1:
        return [parts[0][0].power(parts[0][1] - 1)]
    spectra = [transform(one.values) for one, _ in parts]
    whole = [raised(own, count) for own, (_, count) in zip(spectra, parts, strict=True)]
    after = [np.ones_like(spectra[0])]
    for one in reversed(whole[1:]):
        after.insert(0, one * after[0])
    products = math.fsum(count for _, count in parts) + 2 * len(parts)
    off = relative_error(len(parts[0][0].values)) + 3 * products * UNIT
    error = math.fsum(count * one.spectrum_error() / one.largest() for one, count in parts)
    error *= math.prod(max(one.largest(), 1.0) ** count for one, count in parts)
    before, found = np.ones_like(spectra[0]), list[Known]()
    for own, every, behind, (_, count) in zip(spectra, whole, after, parts, strict=True):
        values = inverse(before * raised(own, count - 1) * behind)
        mass = math.prod(one.mass**times for one, times in parts)  # of one more, at most
        found.append(
            Known(values=values, error=SAFE * (error + off * norm(values)), mass=max(mass, 1.0))
        )
        before = before * every
    return found


def raised(values: NDArray[_Number], count: int) -> NDArray[_Number]:
    """Return values^count by products, each off by √5·2^-53 if they are complex."""
    if not count:
        return np.ones_like(values)
    found: NDArray[Any] | None = None
    power: NDArray[Any] = values
    while True:
        if count & 1:
            found = power if found is None else found * power
        count >>= 1
        if not count:
            return values if found is None else found
        power = power * power
