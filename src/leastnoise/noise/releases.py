"""What is released, and what is proved of it: the records that all proofs speak in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self, final

from flint import arb

from leastnoise import _validate
from leastnoise._record import field, instance_of, record, takes, whole
from leastnoise.balls.core import ball, float_above, float_below, precision
from leastnoise.guarantees.budget import A_SAMPLING_RATE
from leastnoise.guarantees.interval import Interval
from leastnoise.guarantees.sensitivity import NEIGHBOURS, Neighbours, ShiftBounds, common_neighbours
from leastnoise.noise.base import Noise


def _checked_neighbours(
    stated: Neighbours | None, *, name: str, record: Releases
) -> Neighbours | None:
    """Return `stated`; samples are about records that are there or not, and nothing else."""
    if stated is not None:
        _validate.one_of(stated, NEIGHBOURS, name=name)
    return stated if record.sampling_rate == 1 else common_neighbours((stated, "add-remove"))


@final
@record()
class Releases:
    """What a proof is about: releases with noise of one law, which must hide one set of shifts.

    There are `compositions` of them. With `sampling_rate` < 1 each is of a Poisson sample that
    every record is in with that probability, independently of the others and of other samples.
    `neighbours` is the relation under which no shift is longer; None: the one that whoever declared
    the sensitivity had in mind.

    This is no `Question`. That has a budget, and no noise yet; this has noise, and a δ at every ε.
    Several of them, of different noise and shifts, are proved together. Their shifts are behind the
    geometry, bounded from both sides, and each draw of one release counts as a composition.
    """

    noise: Noise = field(converter=instance_of(Noise, like="a noise law"))
    shifts: ShiftBounds = field(converter=instance_of(ShiftBounds, like="ShiftBounds"))
    compositions: int = field(converter=whole(), default=1)
    sampling_rate: Fraction = field(converter=A_SAMPLING_RATE, default=Fraction(1))
    neighbours: Neighbours | None = field(
        converter=takes(_checked_neighbours, of_record=True), default=None
    )

    def times(self, count: int) -> Releases:
        """Return `count` times as many releases."""
        return replace(self, compositions=self.compositions * count)


@final
@dataclass(frozen=True, kw_only=True)
class ProvedDelta:
    """Lower and upper enclosures of δ(ε); comparisons are rigorous.

    Two balls, as the radius of one that holds both has 30 bits only.
    """

    lower: arb
    upper: arb

    @classmethod
    def within(cls, enclosure: arb) -> Self:
        """Return that δ(ε) lies in a ball."""
        return cls(lower=enclosure, upper=enclosure)

    @property
    def enclosure(self) -> arb:
        """A ball that δ(ε) lies in."""
        return self.lower.union(self.upper)

    @property
    def interval(self) -> Interval:
        """What is proved, rounded outward to floats; [0, 1] if nothing is known."""
        with precision():
            if not (self.lower.is_finite() and self.upper.is_finite()):
                return Interval(0.0, 1.0)
            lower, upper = float_below(self.lower), float_above(self.upper)
            return Interval(max(0.0, lower), min(1.0, upper))

    def certainly_at_most(self, delta: Fraction) -> bool:
        """Return True only if δ(ε) <= `delta` is proved."""
        with precision():
            return bool(self.upper <= ball(delta))

    def certainly_above(self, delta: Fraction) -> bool:
        """Return True only if δ(ε) > `delta` is proved."""
        with precision():
            return bool(self.lower > ball(delta))
