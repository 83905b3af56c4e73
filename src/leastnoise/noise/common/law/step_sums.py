"""Sums over the steps of a staircase: Σ_k e^(−εk)(k + a)^j, in logarithms."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import Exact, exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

SMALLEST_DECAY, LARGEST_DECAY = Fraction(1, 1000), Fraction(10**6)
_MOST_TERMS = 20_000_000
_NEGLIGIBLE = 45.0  # e^−45 of the largest term, which later terms fall off from geometrically


def step_decay(value: Exact, *, dimension: int, powers: int) -> Fraction:
    """Return a decay exactly, for sums of so many powers up to `dimension` and a little more.

    Raises InvalidArgument for a decay whose sums are too long: where ε is small beside the
    dimension, a staircase has the error of the exponential law to all digits.
    """
    decay = exact(value, name="decay")
    in_range = SMALLEST_DECAY <= decay <= LARGEST_DECAY
    if not in_range or step_terms(decay, dimension=dimension, powers=powers) > _MOST_TERMS:
        raise InvalidArgument(
            name="decay",
            value=str(value)[:40],
            expected=f"1e-3 <= decay <= 1e6, and not so small in {dimension:,} dimensions",
            hint="There the exponential law has the same error.",
        )
    return decay


def step_terms(decay: Fraction, *, dimension: int, powers: int) -> float:
    """Return about how many terms the sums of so many powers up to about `dimension` have."""
    low, high = _window(0.0, float(decay), dimension)
    return powers * (high - low)


def _window(first: float, decay: float, power: int) -> tuple[int, int]:
    """Return k beyond which, on either side, terms are e^−45 of the largest or less.

    x^j e^(−x), x = ε(k + a), is largest at j and falls from there at least like the bell of
    variance j on the left, and like that of j + 45 on the right; where a is larger, from a on.
    """
    spread = math.sqrt(2 * _NEGLIGIBLE * (power + 1))
    low = max(0.0, (power - spread) / decay - first - 1)
    high = (power + _NEGLIGIBLE + spread) / decay + 2 - min(first, power / decay)
    return math.floor(low), math.ceil(high) + 1


def log_step_sums(*, first: float, decay: float, powers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ln((1 − q) Σ_{k>=0} q^k (k + a)^j) for each j in `powers`; q = e^(−decay), a = first.

    All terms are positive, so that nothing cancels.

    >>> log_step_sums(first=0.5, decay=2.0, powers=np.array([0, 1])).round(6)
    array([ 0.      , -0.420806])
    """
    found = np.array([_log_sum(first, decay, int(power)) for power in powers])
    return found + math.log(-math.expm1(-decay))


def _log_sum(first: float, decay: float, power: int) -> float:
    k = np.arange(*_window(first, decay, power), dtype=float)
    logs = power * np.log(k + first) - decay * k
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))
