"""The budget that Gaussian noise of a given σ meets once: other shapes are taken for it."""

from __future__ import annotations

import math
from fractions import Fraction

from leastnoise.guarantees.budget import Budget
from leastnoise.noise.common.fit import classic

NEARLY = 1e-3  # of the Gaussian's scale, that others are matched to
_BISECTIONS = 20


def matched(sigma: float, leaked: Fraction) -> Budget:
    """Return about the (ε', leaked) that a Gaussian of that σ meets in one release."""
    log_leaked = math.log(leaked)
    most = (1 / (2 * sigma) + math.sqrt(-2 * log_leaked)) / sigma  # P(Z > ε') < leaked
    low, high = math.log(most) - 12, math.log(most)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        needed = classic.gaussian(1, Budget(epsilon=Fraction(math.exp(middle)), delta=leaked))
        low, high = (middle, high) if float(needed) > sigma else (low, middle)
    return Budget(epsilon=Fraction(math.exp(high)).limit_denominator(10**6), delta=leaked)
