"""Who draws a law: the sampler of its family."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.entropy.base import Sampler
from leastnoise.entropy.source import Entropy
from leastnoise.errors import NotApplicable
from leastnoise.noise.base import Noise
from leastnoise.noise.registry import FAMILIES, registered


def sampler_of(noise: Noise, *, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of `noise`, in units of `grid`.

    Raises NotApplicable for a family that has no exact sampler.
    """
    family = type(noise)
    make = registered(family).part("sampler") if family.name in FAMILIES else None
    if make is None:
        raise NotApplicable(family=noise.name, why="no exact sampler is known for it")
    return make(noise, grid, entropy)
