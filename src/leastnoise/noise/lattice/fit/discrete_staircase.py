"""k-fold noise on whole numbers: which share of the budget `design` gets for one release."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.noise.base import Noise
from leastnoise.noise.common.fit.several import Several, by_share

# Of δ/k: what one release may leak by itself. Where losses just add up it is all of δ.
_SHARES = (Fraction(1, 2), Fraction(63, 64))
_RELATIVE = 1e-4  # of ε'


def several(task: Several) -> Noise:
    """Return noise on whole numbers that may be drawn several times; δ > 0.

    It can't be spread out, and has a largest loss of ε' but for what leaks: ε' is searched, between
    ε/k and ε/√k. Raises what the design raises.
    """
    return by_share(task, shares=_SHARES, relative=_RELATIVE)
