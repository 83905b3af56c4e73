"""Which families a comparison has no need to search: those that take seconds and can't be ahead."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from leastnoise.noise.base import Noise
from leastnoise.noise.gaussian import Gaussian
from leastnoise.noise.generalized_gamma import GeneralizedGamma
from leastnoise.noise.k_norm import KNorm
from leastnoise.noise.loss import Loss
from leastnoise.noise.optimal_radial import OptimalRadial
from leastnoise.noise.spherical_laplace import SphericalLaplace
from leastnoise.noise.spherical_staircase import SphericalStaircase
from leastnoise.noise.two_sided_laplace import TwoSidedLaplace
from leastnoise.selection.comparison import Candidate

SLOW: tuple[type[Noise], ...] = (GeneralizedGamma, OptimalRadial, SphericalStaircase)
"""Spherical families whose search takes seconds."""

_FAR_AHEAD = Fraction(3, 4)


def why_needless(family: type[Noise], found: Sequence[Candidate], loss: Loss) -> str | None:
    """Return why a search for `family` is left out; None if it is worth its time.

    The shape is what counts where exponential noise in the shape of the body has less than three
    quarters of the loss of the better of `gaussian` and `l2`, spherical noise as simple. What a
    spherical family gains on these, by less than that quarter at moderate ε and by its steps at
    a large one, a staircase in the shape of the body gains as well.
    """
    if family not in SLOW:
        return None
    body = _least(found, (KNorm, TwoSidedLaplace), loss)
    sphere = _least(found, (Gaussian, SphericalLaplace), loss)
    if body is None or sphere is None or body[0] >= _FAR_AHEAD * sphere[0]:
        return None
    share = 100 * body[0] / sphere[0]
    return (
        f"it isn't searched, as the shape decides: {body[1]} noise has {share:.0f} % of the "
        f"{loss.value} of {sphere[1]} noise; calibrate it alone to see it"
    )


def _least(
    found: Sequence[Candidate], families: tuple[type[Noise], ...], loss: Loss
) -> tuple[float, str] | None:
    losses = [
        (loss.of(one.mechanism), one.label)
        for one in found
        if isinstance(one.mechanism.noise, families)
    ]
    return min(losses, default=None)
