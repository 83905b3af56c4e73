"""Proof of δ(ε) for several releases together, each with noise of its own.

Gaussians compose to a Gaussian exactly: μ² = Σ kᵢ(Δᵢ/σᵢ)². l2 mechanisms, and Gaussians beside
them, go through their moment generating functions (`moment_sum`). All else goes through loss
lattices from both sides (`common_lattice`), convolved with a proved allowance for rounding
(`composition`). The laws are fixed in advance; what theory/accounting.md §1 A proves of them is not
about scales that are chosen after outputs have been seen.

With Poisson subsampling the pair for a record that is removed and the pair for one that is added
are not each other's mirror images: each is composed alone, and the larger δ counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import arb

from leastnoise import _validate
from leastnoise.balls.core import ball, precision
from leastnoise.certify import generalized_gamma_losses, kernel_losses
from leastnoise.certify.common_lattice import (
    FINENESS,
    largest_finite_loss,
    lower_parts,
    upper_parts,
)
from leastnoise.certify.composition import composed_lower, composed_upper
from leastnoise.certify.gaussian import delta_of_ratio
from leastnoise.certify.losses import BITS, MONOTONE
from leastnoise.certify.moment_sum import delta_by_moments, serves
from leastnoise.certify.prove import ProvedDelta, prove_hidden, worst_shift
from leastnoise.certify.sampled import sampled_delta
from leastnoise.guarantees.budget import sampling_rate_of
from leastnoise.guarantees.hidden import Hidden
from leastnoise.guarantees.sensitivity import NEIGHBOURS, Neighbours, common_neighbours
from leastnoise.noise.base import Noise, Shape
from leastnoise.noise.generalized_gamma import GeneralizedGamma

_LENGTHY = kernel_losses.SHAPES | generalized_gamma_losses.SHAPES  # to prove of one release
_ONE_SHIFT = MONOTONE | {Shape.GENERALIZED_GAMMA}  # is the worst at every ε


@final
@dataclass(frozen=True, kw_only=True)
class Releases:
    """`count` releases with noise of one law, which must hide one set of shifts.

    With `rate` < 1 each is of a Poisson sample that every record is in with that probability,
    independently of the others and of other samples. `neighbours` is the relation under which no
    shift is longer; None: the one that whoever declared the sensitivity had in mind.
    """

    noise: Noise
    hidden: Hidden
    count: int = 1
    rate: Fraction = Fraction(1)
    neighbours: Neighbours | None = None

    def __post_init__(self) -> None:
        """Check and keep the parts; samples are about records that are there or not.

        Raises InvalidArgument, and NotApplicable for samples of records that are replaced.
        """
        _validate.instance(self.noise, Noise, name="noise", like="a noise law")
        _validate.instance(self.hidden, Hidden, name="hidden", like="a Hidden")
        object.__setattr__(self, "count", _validate.whole(self.count, name="compositions"))
        object.__setattr__(self, "rate", sampling_rate_of(self.rate))
        if self.neighbours is not None:
            _validate.one_of(self.neighbours, NEIGHBOURS, name="neighbours")
        if self.rate != 1:
            neighbours = common_neighbours((self.neighbours, "add-remove"))
            object.__setattr__(self, "neighbours", neighbours)


def prove_composed(
    parts: Sequence[Releases], epsilon: Fraction, *, fineness: int = FINENESS
) -> ProvedDelta:
    """Enclose the smallest δ at which all of `parts` together are (epsilon, δ)-private.

    Raises NotApplicable where losses or shifts are too large for a lattice, and for parts that are
    about different neighbours.
    """
    common_neighbours(part.neighbours for part in parts)
    if len(parts) == 1 and parts[0].count == 1:
        return _prove_one(parts[0], epsilon)
    if is_gaussian(parts):
        return _gaussians(parts, epsilon)
    if serves(parts) and (found := delta_by_moments(parts, epsilon)):
        return found
    summed = _summed(parts, epsilon)
    if summed.is_zero():
        return ProvedDelta.within(summed)
    found = [
        _by_lattices(parts, epsilon, removed=removed, fineness=fineness)
        for removed in directions(parts)
    ]
    with precision(BITS):
        upper = found[0].upper.max(found[-1].upper).min(summed)
        return ProvedDelta(lower=found[0].lower.max(found[-1].lower), upper=upper)


def prove_pair(
    parts: Sequence[Releases], epsilon: Fraction, *, removed: bool, fineness: int = FINENESS
) -> ProvedDelta:
    """Enclose δ of the outputs with a record against those without it, or of the latter against it.

    The former if the record is `removed`. Where the worst shift changes with ε, `upper` is above
    that of all shifts, and `lower` below that of one shift, the same at every ε: that of one pair
    of neighbours. Raises like `prove_composed`.
    """
    if len(parts) > 1 or parts[0].count > 1:
        if is_gaussian(parts) or serves(parts):
            return prove_composed(parts, epsilon, fineness=fineness)
        summed = _summed(parts, epsilon)
        if summed.is_zero():
            return ProvedDelta.within(summed)
        found = _by_lattices(parts, epsilon, removed=removed, fineness=fineness)
        with precision(BITS):
            return ProvedDelta(lower=found.lower, upper=found.upper.min(summed))
    enclosed = _prove_direction(parts[0], epsilon, removed=removed)
    if parts[0].noise.shape in _ONE_SHIFT:
        return enclosed
    below = lower_parts(parts, fineness=fineness, removed=removed)
    return ProvedDelta(lower=composed_lower(below, epsilon), upper=enclosed.upper)


def _by_lattices(
    parts: Sequence[Releases], epsilon: Fraction, *, removed: bool, fineness: int
) -> ProvedDelta:
    above = upper_parts(parts, fineness=fineness, removed=removed)
    below = lower_parts(parts, fineness=fineness, removed=removed)
    return ProvedDelta(lower=composed_lower(below, epsilon), upper=composed_upper(above, epsilon))


def composed_at_most(
    parts: Sequence[Releases], epsilon: Fraction, *, fineness: int = FINENESS
) -> arb:
    """Return a ball no point of which is below that δ; half the work of `prove_composed`."""
    common_neighbours(part.neighbours for part in parts)
    if len(parts) == 1 and parts[0].count == 1:
        return _prove_one(parts[0], epsilon).upper
    if is_gaussian(parts):
        return _gaussians(parts, epsilon).upper
    if serves(parts) and (by_moments := delta_by_moments(parts, epsilon)):
        return by_moments.upper
    summed = _summed(parts, epsilon)
    if summed.is_zero():
        return summed
    found = [
        composed_upper(upper_parts(parts, fineness=fineness, removed=removed), epsilon)
        for removed in directions(parts)
    ]
    return found[0].max(found[-1]).min(summed)


def directions(parts: Sequence[Releases]) -> tuple[bool, ...]:
    """Return for which pairs to account: that for a record removed, and the other if it differs."""
    return (True, False) if any(part.rate != 1 for part in parts) else (True,)


def _prove_one(part: Releases, epsilon: Fraction) -> ProvedDelta:
    """Enclose δ of one release, of any law: both pairs at once are worst at the worst shift."""
    if part.rate == 1:
        return prove_hidden(part.noise, part.hidden, epsilon)
    one, other = (_prove_direction(part, epsilon, removed=removed) for removed in (True, False))
    with precision(BITS):
        return ProvedDelta.within(one.enclosure.max(other.enclosure))


def _prove_direction(part: Releases, epsilon: Fraction, *, removed: bool) -> ProvedDelta:
    """Enclose δ of one release, of the pair for a record `removed` or added, at the worst shift."""
    if part.rate == 1:
        return prove_hidden(part.noise, part.hidden, epsilon)

    def profile(at: Fraction) -> arb:
        return prove_hidden(part.noise, part.hidden, at).enclosure

    with precision(BITS):
        return ProvedDelta.within(sampled_delta(profile, part.rate, epsilon, removed=removed))


def _summed(parts: Sequence[Releases], epsilon: Fraction) -> arb:
    """Return a ball no point of which is below Σkᵢδᵢ(εᵢ), Σkᵢεᵢ = ε: basic composition.

    The shares are as the largest losses are; any would be right. Where none leaks beyond its share
    that is 0, and next to there it is closer than a lattice. 1 for laws whose proof takes time.
    """
    if any(part.noise.shape in _LENGTHY for part in parts):
        return arb(1)
    laws = [((part.noise, part.hidden.outer, part.rate), part.count) for part in parts]
    largest = [largest_finite_loss(*law) for law, _ in laws]
    whole = sum(loss * count for loss, (_, count) in zip(largest, laws, strict=True))
    with precision(BITS):
        total = arb(0)
        for part, loss in zip(parts, largest, strict=True):
            total += part.count * _prove_one(part, epsilon * loss / whole).upper
        return total.min(arb(1))


def is_gaussian(parts: Sequence[Releases]) -> bool:
    """Say whether the composition is a single Gaussian."""
    return all(
        (part.noise.shape is Shape.GAUSSIAN or _is_named_otherwise(part.noise)) and part.rate == 1
        for part in parts
    )


def gaussian_square(parts: Sequence[Releases], *, inner: bool) -> Fraction:
    """Return μ² of Gaussian parts together, exactly."""
    total = Fraction(0)
    for part in parts:
        ball_of = part.hidden.inner if inner else part.hidden.outer
        square = (worst_shift(part.noise, ball_of) / part.noise.scale) ** 2
        total += part.count * (2 * square if _is_named_otherwise(part.noise) else square)
    return total


def _is_named_otherwise(noise: Noise) -> bool:
    """Say whether it is the generalized gamma law e^(−(r/scale)²): a Gaussian, σ² = scale²/2."""
    return isinstance(noise, GeneralizedGamma) and noise.is_classic and noise.p == 2


def _gaussians(parts: Sequence[Releases], epsilon: Fraction) -> ProvedDelta:
    with precision(BITS):
        lower, upper = (
            delta_of_ratio(ball(gaussian_square(parts, inner=inner)).sqrt(), epsilon=epsilon)
            for inner in (True, False)
        )
        return ProvedDelta(lower=lower, upper=upper)
