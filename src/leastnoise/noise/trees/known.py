"""Arrays with indices modulo a window, and error bounds for their products and convolutions.

Notation: N is the window, the length of an array. x are the exact numbers x_t of a `Known`, and y
are the exact numbers of another. Transforms are discrete Fourier transforms. ‖·‖ is the l2 norm.
Rounding is bounded in this norm, by the theorem that `balls.rounded` rests on.
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
EXPONENTIAL = 2.0**-50  # absolute error of e^−x, x >= 0, if x has an error of 2^-52·x
SAFE = 1.01  # covers second-order terms of rounding errors, and the rounding of the bounds


def norm(values: Floats) -> float:
    """The l2 norm of the `values`, in floats."""
    return float(np.linalg.norm(values))


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """Numbers x_t >= 0, t modulo N, that `values` estimate: ‖values − x‖ <= error.

    The x_t sum to at most `mass`, and |Σ(values − x)| <= `sum_error`; √N·error is always a bound.
    """

    values: NDArray[np.float64]
    error: float
    mass: float = math.inf
    sum_error: float = math.inf

    def times(self, weights: Floats) -> Known:
        """The products x_t·w_t for numbers w_t = e^(−r|t|) <= 1 with a rate r >= 0.

        Each of `weights` estimates a w_t with an error of at most `EXPONENTIAL`. By the
        Cauchy–Schwarz inequality, the errors of x, each times w_t, sum to at most error·‖w‖.
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
        """The products x_t·y_t, where y are the numbers of `other`."""
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
        """The numbers x/Σx, which sum to 1, and an estimate of Σx."""
        total, size = float(self.values.sum()), len(self.values)
        off = min(self.sum_error, math.sqrt(size) * self.error)
        off += size * UNIT * float(np.abs(self.values).sum())
        relative = off / (total - off) if off < total else math.inf
        error = self.error / total + norm(self.values) / total * (relative + UNIT)
        law = Known(values=self.values / total, error=SAFE * (1 + relative) * error, mass=1.0)
        return law, total

    def convolved(self, other: Known) -> Known:
        """The numbers Σ_s x_s·y_{t−s} for each t, where y are the numbers of `other`.

        The error follows from x̂ŷ − x̂'ŷ' = x̂(ŷ − ŷ') + ŷ'(x̂ − x̂'), where hats are transforms
        and primes are computed values.
        """
        nu = relative_error(len(self.values))
        values = inverse(transform(self.values) * transform(other.values))
        error = self.largest() * other.spectrum_error() + other.largest() * self.spectrum_error()
        return Known(
            values=values,
            error=SAFE * (error + (nu + 3 * UNIT) * norm(values)),
            mass=self.mass * other.mass,
        )

    def power(self, count: int) -> Known:
        """The law of the sum of `count` independent draws from the law x.

        For count = 0 it is the law of the number 0.
        """
        if count <= 1:
            unit = np.zeros(len(self.values))
            unit[0] = 1.0
            return self if count else Known(values=unit, error=0.0, mass=1.0)
        nu = relative_error(len(self.values))
        values = inverse(raise_to(transform(self.values), count))
        error = count * self.largest() ** (count - 1) * self.spectrum_error()
        return Known(
            values=values,
            error=SAFE * (error + (nu + 3 * count * UNIT) * norm(values)),
            mass=self.mass**count,
        )

    def largest(self) -> float:
        """An upper bound on the size of each number of the transform of x, both exact and computed.

        For the exact transform the bound is Σx, which is at most `mass`. A bound on Σx follows from
        `values`, too.
        """
        rooted = math.sqrt(len(self.values))
        total = float(np.abs(self.values).sum()) * (1 + 1e-9)
        computed = total + rooted * relative_error(len(self.values)) * norm(self.values)
        return max(computed, min(self.mass, total + rooted * self.error))

    def spectrum_error(self) -> float:
        """A bound on the l2 norm of the error of the computed transform of x, divided by √N."""
        return self.error + relative_error(len(self.values)) * norm(self.values)


def all_but_one(parts: Sequence[tuple[Known, int]]) -> list[Known]:
    """For each part, the law of the sum of all summands except one of this part.

    A part is a pair of a law and the number of summands with this law. Sums are products of
    transforms, as in `power`. Their error is at most Σ_j m_j·err_j/max_j times Π_j max_j^m_j. Here
    m_j is the number of summands of part j, max_j bounds the numbers of its transform, and err_j is
    their error.
    """
    if len(parts) == 1:
        return [parts[0][0].power(parts[0][1] - 1)]
    spectra = [transform(law.values) for law, _ in parts]
    whole = [raise_to(spectrum, count) for spectrum, (_, count) in zip(spectra, parts, strict=True)]
    after = [np.ones_like(spectra[0])]
    for law in reversed(whole[1:]):
        after.insert(0, law * after[0])
    products = math.fsum(count for _, count in parts) + 2 * len(parts)
    off = relative_error(len(parts[0][0].values)) + 3 * products * UNIT
    error = math.fsum(count * law.spectrum_error() / law.largest() for law, count in parts)
    error *= math.prod(max(law.largest(), 1.0) ** count for law, count in parts)
    before, results = np.ones_like(spectra[0]), list[Known]()
    for spectrum, whole_power, behind, (_, count) in zip(spectra, whole, after, parts, strict=True):
        values = inverse(before * raise_to(spectrum, count - 1) * behind)
        mass = math.prod(law.mass**times for law, times in parts)  # one factor too many: a bound
        results.append(
            Known(values=values, error=SAFE * (error + off * norm(values)), mass=max(mass, 1.0))
        )
        before = before * whole_power
    return results


def raise_to(values: NDArray[_Number], count: int) -> NDArray[_Number]:
    """The powers values^count, by products with an error of √5·2^-53 each for complex values."""
    if not count:
        return np.ones_like(values)
    result: NDArray[Any] | None = None
    power: NDArray[Any] = values
    while True:
        if count & 1:
            result = power if result is None else result * power
        count >>= 1
        if not count:
            return values if result is None else result
        power = power * power
