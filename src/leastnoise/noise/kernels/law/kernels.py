"""Laws made of Gaussian kernels of one width σ at the multiples of a spacing."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.noise.base import Noise

MAX_MODES = 1000


class KernelNoise(Noise):
    """Noise for one number, density ∝ Σ_k e^(−|k|·decay) e^(−(x − k·spacing)²/2σ²), k = −K…K.

    notation: σ = scale, K = modes, t = spacing/σ. If `folded`, the law is quasi-Gaussian: the sum
    runs over k = 0, 1 and x is replaced by |x|, which leaves a kink at 0.

    What makes one method serve both: the slope of ln f is (m(x) − x)/σ² with m increasing. For a
    mixture m(x) is the mean of the centres under their weights given x, whose derivative is their
    variance over σ²; for the folded law it is odd, and jumps up at 0.
    """

    folded: ClassVar[bool]
    spacing: Fraction
    decay: Fraction
    modes: int  # K: there are components at −K·spacing … K·spacing

    @classmethod
    def _why_not(cls, *, dimension: int, delta: Fraction) -> str | None:
        if dimension != 1:
            return "it is noise for one number"
        return "delta=0 is impossible for Gaussian tails at any scale" if delta == 0 else None


def positive_spacing(spacing: Exact) -> Fraction:
    """Return `spacing` exactly; raises InvalidArgument unless it is positive and finite."""
    number = exact(spacing, name="spacing")
    if number <= 0:
        raise InvalidArgument(name="spacing", value=str(spacing)[:40], expected="spacing > 0")
    return number


def non_negative_decay(decay: Exact) -> Fraction:
    """Return `decay` exactly; raises InvalidArgument unless it is finite and at least 0."""
    number = exact(decay, name="decay")
    if number < 0:
        raise InvalidArgument(name="decay", value=str(decay)[:40], expected="decay >= 0")
    return number
