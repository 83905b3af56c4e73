"""Which sums of Gaussian kernels are proved: how wide, and at which ε."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import cast

from leastnoise.noise.common.proof import over
from leastnoise.noise.kernels.law import KernelNoise
from leastnoise.noise.releases import Releases

MOST_KERNEL_EPSILON = 500  # beyond it e^ε isn't formed in floats
# shift/σ times the length of the law in σ: 2,370 for the narrowest that is calibrated, at ε = 500
MOST_KERNEL_WORK, MOST_KERNEL_WORK_COMPOSED = 4_000, 1_000


def too_long(part: Releases, shift: Fraction, epsilon: Fraction) -> str | None:
    """Return why a sum of Gaussian kernels isn't proved, or None."""
    noise = cast("KernelNoise", part.noise)
    sigma = noise.scale
    return why_not_kernels(
        modes=noise.modes,
        spacing=noise.spacing / sigma,
        shift=shift / sigma,
        epsilon=epsilon,
        count=part.count,
    )


def why_not_kernels(
    *, modes: int, spacing: Fraction, shift: Fraction, epsilon: Fraction, count: int
) -> str | None:
    """Return why a sum of Gaussians isn't proved, or None; spacing and shift in σ.

    Tables go over the whole law, from kernel to kernel, for each of the shifts that are looked at.
    """
    if count == 1 and epsilon > MOST_KERNEL_EPSILON:
        return f"it is proved up to epsilon = {MOST_KERNEL_EPSILON}; e^epsilon is formed in floats"
    far = math.sqrt(2 * (98 + min(float(epsilon), MOST_KERNEL_EPSILON)))
    work = shift * (modes * spacing + (Fraction(far) if count == 1 else shift + 14))
    most = MOST_KERNEL_WORK if count == 1 else MOST_KERNEL_WORK_COMPOSED
    what = "the shift times the length of the law, both in scales,"
    return over(work, most, what)
