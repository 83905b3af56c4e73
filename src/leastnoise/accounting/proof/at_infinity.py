"""The largest losses that there are: the finite ones, and how much has an infinite one."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.losses import Profile
from leastnoise.noise.base import Noise
from leastnoise.noise.registry import registered


def largest_loss(noise: Noise, shift: Fraction) -> Fraction | None:
    """Return a loss that no finite one exceeds, and that is met if noise is as large as the shift.

    Norms of x and x − v differ by |v| at most, and so many whole steps lie between two of them.
    None where it isn't as simple as that.
    """
    known = registered(type(noise)).part("largest_loss")
    return known(noise, shift) if known else None


def certain(noise: Noise, *, shift: Fraction, profile: Profile) -> arb | None:
    """Enclose P(Z = ∞): δ at an ε that no finite loss exceeds; None where no such ε is known.

    The `profile` alone can't tell it from a finite loss that is larger than all ε looked at.
    """
    if (largest := largest_loss(noise, shift)) is not None:
        return profile(largest)
    beyond = registered(type(noise)).part("no_loss_beyond")
    return profile(beyond(noise, shift)) if beyond else None
