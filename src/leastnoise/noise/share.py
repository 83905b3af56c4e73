"""Noise that several clients add a part of each, so that nobody has to be trusted with the sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from leastnoise.entropy.base import Sampler
from leastnoise.entropy.source import Entropy
from leastnoise.errors import NotApplicable
from leastnoise.noise.base import Noise
from leastnoise.noise.registry import FAMILIES, registered


@final
@dataclass(frozen=True, kw_only=True)
class Share:
    """One of several equal parts of a law, independent of each other.

    sampler: makes a draw of it, in units of `grid`.
    grid: what each client's sum is rounded to.
    distance: the sum of all roundings is within this total variation of a function of the sum of
        all values and noise of the law, whatever the values are.
    """

    sampler: Callable[[Entropy], Sampler]
    grid: Fraction
    distance: Fraction


def share_of(noise: Noise, *, grid: Fraction, count: int) -> Share:
    """Return one of `count` shares of `noise`.

    Raises NotApplicable for a law whose sum of shares isn't proved to be it.
    """
    family = type(noise)
    make = registered(family).part("share") if family.name in FAMILIES else None
    if make is None:
        why = "it can't be added in shares; gaussian and geometric noise can"
        raise NotApplicable(family=noise.name, why=why)
    return make(noise, grid, count)
