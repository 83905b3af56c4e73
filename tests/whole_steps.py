"""Step noise on the whole numbers from its definition, in mpmath, without the library."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import mpmath as mp

_LOG_TAIL = 75  # masses below e^−75 of the peak are left out


def weight(law: Any, k: int) -> Any:
    """e^(−decay·s(|k|)), with s(j) = 0 for j < core and ⌊(j − core)/cells⌋ + 1 for j >= core."""
    j = abs(k)
    steps = 0 if j < law.core else (j - law.core) // law.cells + 1
    return mp.exp(-mp.mpf(law.decay.numerator) / law.decay.denominator * steps)


def last(law: Any) -> int:
    """The last k that isn't negligible."""
    return law.core + law.cells * math.ceil(_LOG_TAIL / law.decay)


def chances(law: Any) -> list[Any]:
    """P(K = k) for k = 0, 1, …, `last`."""
    return _chances(law, mp.mp.dps)


@cache
def _chances(law: Any, dps: int) -> list[Any]:
    with mp.workdps(dps):
        weights = [weight(law, k) for k in range(last(law) + 1)]
        total = 2 * mp.fsum(weights) - weights[0]
        return [weight / total for weight in weights]


def chance(law: Any, k: int) -> Any:
    """P(K = k); 0 beyond `last`."""
    known = chances(law)
    return known[abs(k)] if abs(k) < len(known) else mp.mpf(0)


def delta(law: Any, cells: int, epsilon: Any) -> Any:
    """δ at the shift `cells`: Σ_k (P(K = k) − e^ε P(K = k − cells))₊."""
    far, factor = last(law), mp.exp(epsilon)
    gains = (chance(law, k) - factor * chance(law, k - cells) for k in range(-far, far + 1))
    return mp.fsum(gain for gain in gains if gain > 0)
