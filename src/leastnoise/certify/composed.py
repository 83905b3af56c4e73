"""Proof of δ(ε) for several releases together, each with noise of its own.

Gaussians compose to a Gaussian exactly: μ² = Σ kᵢ(Δᵢ/σᵢ)². l2 mechanisms, and Gaussians beside
them, go through their moment generating functions (`moment_sum`). All else goes through loss
lattices from both sides (`losses`), convolved with a proved allowance for rounding (`composition`).
The laws are fixed in advance; what theory/accounting.md §1 A proves of them is not about scales
that are chosen after outputs have been seen.

With Poisson subsampling the pair for a record that is removed and the pair for one that is added
are not each other's mirror images: each is composed alone, and the larger δ counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from types import MappingProxyType
from typing import final

import numpy as np
from flint import arb

from leastnoise.balls.core import ball, precision
from leastnoise.certify import gaussian, generalized_gamma_losses, kernel_losses, lattice_losses
from leastnoise.certify.at_infinity import certain, largest_loss
from leastnoise.certify.composition import composed_lower, composed_upper
from leastnoise.certify.gaussian import delta_of_ratio
from leastnoise.certify.losses import (
    BITS,
    LossLattice,
    LowerCells,
    Profile,
    check_monotone,
    lower_cells,
    upper_lattice,
)
from leastnoise.certify.moment_sum import delta_by_moments, serves
from leastnoise.certify.prove import ProvedDelta, method_of, prove_hidden, worst_shift
from leastnoise.certify.sampled import (
    loss_range,
    sampled_delta,
    sampled_lower,
    sampled_spread,
    sampled_upper,
)
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.hidden import Hidden
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.base import Noise, Shape
from leastnoise.noise.generalized_gamma import GeneralizedGamma
from leastnoise.noise.kernels import KernelNoise

FINENESS = 64
"""Lattice steps in a standard deviation of the loss; errors fall with its square."""

# How the losses of a law get on a lattice, where that isn't worked out from its profile (`losses`):
# modules with `upper`, `lower` and `reach`.
_OWN_LOSSES = MappingProxyType(
    {
        shape: own
        for own in (generalized_gamma_losses, kernel_losses, lattice_losses)
        for shape in own.SHAPES
    }
)

_LENGTHY = kernel_losses.SHAPES | generalized_gamma_losses.SHAPES  # to prove of one release

_COARSE = 48
_LARGEST = 6000  # lattice points above 0
_CHEAP = frozenset({Shape.GAUSSIAN, Shape.LAPLACE_PRODUCT, Shape.TRUNCATED_LAPLACE})
_MANY_POINTS = 500  # of a lattice, above 0
_MANY_IN_SUM = 13_000  # in a standard deviation: the window is of 2^18 points
_LARGEST_SAMPLED = 600  # largest finite loss of a release that is sampled; e^this is a float
# Samples: the lattice after subsampling is finer, as its points cost little; and the steps of the
# one that it starts from, in one of its own, fewer where each point takes long.
_FINER_SAMPLED = 1.5
_FINER = 2.5
_LESS_FINE = MappingProxyType(
    {Shape.FLIPPED_HUBER: 1.25, Shape.GENERALIZED_GAMMA: 0.75, Shape.SPHERICAL_LAPLACE: 1.25}
)
_ROUGHLY, _HALVINGS = 6, 48  # of an interval in which the largest loss is: a tail's, an edge's
_NOTHING = 2.0**-140  # losses beyond the point where δ is this are put at infinity


@final
@dataclass(frozen=True, kw_only=True)
class Releases:
    """`count` releases with noise of one law, which must hide one set of shifts.

    Each is of a sample that every record is in with probability `rate`, independently of the
    others and of other samples; neighbouring data differ by a record that is there or not.
    """

    noise: Noise
    hidden: Hidden
    count: int = 1
    rate: Fraction = Fraction(1)


def prove_composed(
    parts: Sequence[Releases], epsilon: Fraction, *, fineness: int = FINENESS
) -> ProvedDelta:
    """Enclose the smallest δ at which all of `parts` together are (epsilon, δ)-private.

    Raises NotApplicable where losses or shifts are too large for a lattice.
    """
    if len(parts) == 1 and parts[0].count == 1:
        return _prove_one(parts[0], epsilon)
    if is_gaussian(parts):
        return _gaussians(parts, epsilon)
    if serves(parts) and (found := delta_by_moments(parts, epsilon)):
        return found
    summed = _summed(parts, epsilon)
    if summed.is_zero():
        return ProvedDelta.within(summed)
    upper, lower = arb(0), arb(0)
    for removed in directions(parts):
        above = upper_parts(parts, fineness=fineness, removed=removed)
        below = lower_parts(parts, fineness=fineness, removed=removed)
        upper = upper.max(composed_upper(above, epsilon))
        lower = lower.max(composed_lower(below, epsilon))
    with precision(BITS):
        return ProvedDelta(lower=lower, upper=upper.min(summed))


def composed_at_most(
    parts: Sequence[Releases], epsilon: Fraction, *, fineness: int = FINENESS
) -> arb:
    """Return a ball no point of which is below that δ; half the work of `prove_composed`."""
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

    def profile(at: Fraction) -> arb:
        return prove_hidden(part.noise, part.hidden, at).enclosure

    with precision(BITS):
        found = [
            sampled_delta(profile, part.rate, epsilon, removed=removed) for removed in (True, False)
        ]
        return ProvedDelta.within(found[0].max(found[1]))


def _summed(parts: Sequence[Releases], epsilon: Fraction) -> arb:
    """Return a ball no point of which is below Σkᵢδᵢ(εᵢ), Σkᵢεᵢ = ε: basic composition.

    The shares are as the largest losses are; any would be right. Where none leaks beyond its share
    that is 0, and next to there it is closer than a lattice. 1 for laws whose proof takes time.
    """
    if any(part.noise.shape in _LENGTHY for part in parts):
        return arb(1)
    laws = [((part.noise, part.hidden.outer, part.rate), part.count) for part in parts]
    largest = [_largest_loss(*law) for law, _ in laws]
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


def upper_parts(
    parts: Sequence[Releases], *, fineness: int, removed: bool = True
) -> list[tuple[LossLattice, int]]:
    """Return an upper lattice for each law, all of one step, of the pair for a record `removed`."""
    step = _step(parts, fineness)
    return [
        (_upper(part.noise, part.hidden.outer, part.rate, step, removed=removed), part.count)
        for part in parts
    ]


def lower_parts(
    parts: Sequence[Releases], *, fineness: int, removed: bool = True
) -> list[tuple[LowerCells, int]]:
    """Return cells from below for each law, all of one step, of the pair for a record `removed`."""
    step = _step(parts, fineness)
    return [
        (_lower(part.noise, part.hidden.inner, part.rate, step, removed=removed), part.count)
        for part in parts
    ]


def _profile(noise: Noise, sensitivity: Sensitivity) -> Profile:
    check_monotone(noise)
    method, shift = method_of(noise), worst_shift(noise, sensitivity)
    return lambda epsilon: method(noise, shift=shift, epsilon=epsilon)


def _step(parts: Sequence[Releases], fineness: int) -> Fraction:
    """Return the common step: a whole fraction of a frequent loss, of the law that it matters to.

    A lattice adds about h² to the variance of each loss, so h² Σk is kept at Σks²/fineness². Laws
    whose δ takes microseconds get a smaller one, as long as there are not too many points of it in
    the largest loss and in the width of the sum.
    """
    laws = [((part.noise, part.hidden.outer, part.rate), part.count) for part in parts]
    count = sum(count for _, count in laws)
    variance = sum(k * _spread(*law) ** 2 for law, k in laws)
    wanted = math.sqrt(variance / count) / fineness
    widths = [_half_width(*law) for law, _ in laws]
    if fineness >= FINENESS and all(_is_cheap(part) for part in parts):
        enough = max(float(max(widths)) / _MANY_POINTS, math.sqrt(variance) / _MANY_IN_SUM)
        wanted = min(wanted, enough)
    if any(part.rate != 1 for part in parts):
        wanted /= _FINER_SAMPLED
    wanted = max(wanted, float(max(widths)) / _LARGEST)
    frequent = [(part.count * loss**2, loss) for part in parts if (loss := _frequent(part))]
    _, whole = max((one for one in frequent if one[1] > wanted), default=(0, widths[0]))
    return whole / max(1, math.ceil(float(whole) / wanted))


def _frequent(part: Releases) -> Fraction | None:
    """Return a loss that many outputs have: it is best a lattice point. None if there is none."""
    if part.rate != 1:  # lattices of samples have origins of their own
        return None
    if isinstance(part.noise, KernelNoise):
        return part.noise.decay  # of wide stretches, where spacing is the shift
    if part.noise.shape in lattice_losses.SHAPES:
        return _reach(part.noise, part.hidden.outer)
    return largest_loss(part.noise, worst_shift(part.noise, part.hidden.outer))


def _is_cheap(part: Releases) -> bool:
    return part.rate == 1 and part.noise.shape in _CHEAP


@lru_cache(maxsize=64)
def _upper(
    noise: Noise, sensitivity: Sensitivity, rate: Fraction, step: Fraction, *, removed: bool
) -> LossLattice:
    if rate == 1:
        return _whole_upper(noise, sensitivity, step, math.ceil(_reach(noise, sensitivity) / step))
    base = _whole_upper(noise, sensitivity, *_base(noise, sensitivity, rate, step))
    ends = _loss_range(noise, sensitivity, rate)
    return sampled_upper(base, rate=rate, ends=ends, step=step, removed=removed)


@lru_cache(maxsize=64)
def _lower(
    noise: Noise, sensitivity: Sensitivity, rate: Fraction, step: Fraction, *, removed: bool
) -> LowerCells:
    if rate == 1:
        return _whole_lower(noise, sensitivity, step, math.ceil(_reach(noise, sensitivity) / step))
    base = _whole_lower(noise, sensitivity, *_base(noise, sensitivity, rate, step))
    ends = _loss_range(noise, sensitivity, rate)
    return sampled_lower(base, rate=rate, ends=ends, step=step, removed=removed)


@lru_cache(maxsize=64)
def _whole_upper(noise: Noise, sensitivity: Sensitivity, step: Fraction, size: int) -> LossLattice:
    """Return an upper lattice of −size·step … size·step, without samples."""
    if own := _OWN_LOSSES.get(noise.shape):
        return own.upper(noise, worst_shift(noise, sensitivity), step, size)
    return upper_lattice(_profile(noise, sensitivity), step, size)


@lru_cache(maxsize=64)
def _whole_lower(noise: Noise, sensitivity: Sensitivity, step: Fraction, size: int) -> LowerCells:
    """Return cells from below at −size·step … size·step, without samples."""
    shift = worst_shift(noise, sensitivity)
    if own := _OWN_LOSSES.get(noise.shape):
        return own.lower(noise, shift, step, size)
    profile = _profile(noise, sensitivity)
    upper = _whole_upper(noise, sensitivity, step, size)
    with precision(BITS):
        infinite = certain(noise, shift=shift, profile=profile)
    closed = noise.shape is Shape.GAUSSIAN  # next to it, slopes of δ take three times as long
    tails = partial(gaussian.tails, noise, shift) if closed else None
    return lower_cells(profile, upper, infinite=infinite, tails=tails)


def _base(
    noise: Noise, sensitivity: Sensitivity, rate: Fraction, step: Fraction
) -> tuple[Fraction, int]:
    """Return step and size of the lattice that subsampling starts from, finer than that of `step`.

    Its error adds to that of the other, as the square of the step against the spread. The largest
    loss is a lattice point.
    """
    reach = min(_reach(noise, sensitivity), Fraction(_LARGEST_SAMPLED))
    whole, part = _spread(noise, sensitivity, Fraction(1)), _spread(noise, sensitivity, rate)
    steps = _LESS_FINE.get(noise.shape, _FINER) * float(reach / step) * part
    size = math.ceil(steps / whole) if steps < _LARGEST * whole else _LARGEST
    return reach / size, size


def _half_width(noise: Noise, sensitivity: Sensitivity, rate: Fraction) -> Fraction:
    """Return half of the distance between the least and the largest loss."""
    if rate == 1:
        return _reach(noise, sensitivity)
    low, high = _loss_range(noise, sensitivity, rate)
    return (high - low) / 2


@lru_cache(maxsize=64)
def _loss_range(
    noise: Noise, sensitivity: Sensitivity, rate: Fraction
) -> tuple[Fraction, Fraction]:
    reach = min(_reach(noise, sensitivity), Fraction(_LARGEST_SAMPLED))
    leaks = _whole_upper(noise, sensitivity, reach / _COARSE, _COARSE).infinity > _NOTHING
    return loss_range(rate, reach, leaks=leaks)


@lru_cache(maxsize=64)
def _spread(noise: Noise, sensitivity: Sensitivity, rate: Fraction) -> float:
    """Return about the standard deviation of the loss."""
    reach = _reach(noise, sensitivity)
    coarse = _whole_upper(noise, sensitivity, reach / _COARSE, _COARSE)
    if rate != 1:
        return sampled_spread(coarse, rate)
    z = (coarse.first + np.arange(len(coarse.masses))) * float(coarse.step)
    weights = coarse.masses / coarse.masses.sum()
    return math.sqrt(float(weights @ (z - weights @ z) ** 2))


def _largest_loss(noise: Noise, sensitivity: Sensitivity, rate: Fraction) -> Fraction:
    """Return the largest finite loss or more, of the pair for a record removed."""
    return _reach(noise, sensitivity) if rate == 1 else _loss_range(noise, sensitivity, rate)[1]


@lru_cache(maxsize=64)
def _reach(noise: Noise, sensitivity: Sensitivity) -> Fraction:
    """Return a loss beyond which there is nothing but what is at infinity; any is right.

    For a bounded loss it is the largest one, to be met by a lattice point.
    """
    if known := largest_loss(noise, worst_shift(noise, sensitivity)):
        return known
    if own := _OWN_LOSSES.get(noise.shape):
        return own.reach(noise, worst_shift(noise, sensitivity))
    profile = _profile(noise, sensitivity)
    with precision(BITS):
        low, high = Fraction(0), Fraction(1, 8)
        while not _settled(profile, high):
            low, high = high, 2 * high
            if high > 2**17:
                raise NotApplicable(family=noise.name, why="its losses are too large to compose")
        for i in range(_HALVINGS):
            if i >= _ROUGHLY and profile(low) < arb(_NOTHING) * 2**20:
                break  # a tail, no edge
            middle = (low + high) / 2
            low, high = (low, middle) if _settled(profile, middle) else (middle, high)
    return high


def _settled(profile: Profile, epsilon: Fraction) -> bool:
    """Say whether δ stays as it is beyond `epsilon`: next to nothing, or a constant."""
    here = profile(epsilon)
    return bool(here.is_zero() or here < arb(_NOTHING) or here.overlaps(profile(2 * epsilon)))
