"""A common lattice for the losses of several releases, for bounds from above and from below.

The lattice of most laws follows from their profile δ(ε) (`balls.losses`); some families compute
their own. Lattices of samples are derived from the lattice of the whole data (`sampled`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from flint import arb

from leastnoise.accounting.proof.composed import is_attained, method_of
from leastnoise.accounting.proof.sampled import (
    find_sampled_spread,
    loss_range,
    sample_lower,
    sample_upper,
)
from leastnoise.balls.core import POINTS_PER_STD, precision
from leastnoise.balls.losses import (
    BITS,
    COARSE_POINTS,
    NOTHING,
    LossLattice,
    LowerCells,
    Profile,
    check_accurate,
    lower_cells,
    symmetric_lattice,
    upper_lattice,
)
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.base import Noise
from leastnoise.noise.family import OwnLosses
from leastnoise.noise.registry import registered_family
from leastnoise.numerics.bisection import Bisection

if TYPE_CHECKING:
    from leastnoise.noise.question import Releases

_MOST_POINTS = 6000  # lattice points above 0
_MOST_QUICK_POINTS = 16_000  # the same for samples, where the law's δ takes microseconds
_FINER_UPPER = 4  # upper lattices, which calibrate noise and cost least, may have 4 times as many
_MOST_OF_ALL = 1 << 17  # with more points, the window of a sum leaves out too much
_LARGEST_LOSS = 2**17  # largest loss of a release; it exceeds 100,000, the largest ε
_TOO_LARGE = f"its losses are too large to compose: they reach beyond {_LARGEST_LOSS:,}"
_LARGEST_SAMPLED_LOSS = 600  # largest finite loss of a release that is sampled; e^this is a float
_ROUGHLY = Bisection(halvings=6)  # for a largest loss in a negligible tail
_EDGE = Bisection(halvings=42)  # for a largest loss that is the edge of a bounded law


def make_upper_parts(
    parts: Sequence[Releases], *, points_per_std: int, removed: bool = True, coarser: float = 1.0
) -> list[tuple[LossLattice, int]]:
    """Make an upper lattice of losses for each part: its δ is nowhere below the δ of one release.

    The result has pairs of a lattice and the part's number of compositions. All lattices have the
    same step. The losses are for a record that is removed, or added if `removed` is False.
    `coarser` multiplies the step, but only of lattices that are finer than `points_per_std`
    requires (see `coarsest_factor`).
    """
    step = _step(parts, points_per_std, upper=True, coarser=coarser)
    return [(_upper(*law_of(part), step, removed=removed), part.compositions) for part in parts]


def make_lower_parts(
    parts: Sequence[Releases], *, points_per_std: int, removed: bool = True, coarser: float = 1.0
) -> list[tuple[LowerCells, int]]:
    """Make `LowerCells` of losses for each part: their δ is nowhere above the δ of one release.

    The result has pairs of `LowerCells` and the part's number of compositions. All have the same
    step. `removed` and `coarser` are as in `make_upper_parts`.
    """
    step = _step(parts, points_per_std, upper=False, coarser=coarser)
    inner = [(part.noise, part.shifts.inner, part.sampling_rate) for part in parts]
    return [
        (_lower(*law, step, removed=removed), part.compositions)
        for law, part in zip(inner, parts, strict=True)
    ]


def coarsest_factor(parts: Sequence[Releases], points_per_std: int) -> float:
    """The factor for the step of the first, coarsest lattices that a search of ε tries.

    It is 16 if lattices are finer than `points_per_std` requires, otherwise 1. Laws whose δ takes
    microseconds get such fine lattices. A sixteenth of the points often suffices, if the loss of
    most outputs is a lattice point.
    """
    return 16.0 if _is_fine(parts, points_per_std) else 1.0


def law_of(part: Releases) -> tuple[Noise, Sensitivity, Fraction]:
    """The noise, the outer bound on its shifts and the sampling rate: they determine the losses."""
    return part.noise, part.shifts.outer, part.sampling_rate


def _own_losses(noise: Noise) -> OwnLosses | None:
    return registered_family(type(noise)).part("losses")


def _profile(noise: Noise, sensitivity: Sensitivity) -> Profile:
    check_monotone(noise)
    method, shift = method_of(noise), noise.worst_shift(sensitivity)
    return lambda epsilon: method(noise, shift=shift, epsilon=epsilon)


def _step(
    parts: Sequence[Releases], points_per_std: int, *, upper: bool, coarser: float = 1.0
) -> Fraction:
    """The step h of all lattices: mostly a loss that many outputs have, over a whole number.

    A lattice adds about h² to the variance of each loss. So h² Σk is kept at Σks²/n², for parts
    with k compositions and a loss with the standard deviation s, and n = points_per_std. The
    frequent loss comes from the part with the largest k·loss², unless a common divisor of all
    frequent losses is nearly as large as the wanted step. Laws whose δ takes microseconds get a
    smaller step, as long as neither the largest loss nor the width of the sum has too many steps;
    `coarser` multiplies this step. The number of points is limited. The limit grows with
    points_per_std beyond the default, and is higher for `upper` lattices of samples.

    If all losses are multiples of one number, h is this number and no loss is rounded, unless there
    would be too many points.
    """
    widths = [_half_width(*law_of(part)) for part in parts]
    sampled = any(part.sampling_rate != 1 for part in parts)
    quick = sampled and all(registered_family(type(part.noise)).quick for part in parts)
    most = _MOST_QUICK_POINTS if quick else _MOST_POINTS
    if quick and upper and points_per_std >= POINTS_PER_STD:
        most *= _FINER_UPPER
    least = float(max(widths)) / min(most * max(1.0, points_per_std / POINTS_PER_STD), _MOST_OF_ALL)
    even = [loss for part in parts if (loss := _even_loss(part))]
    if len(even) == len(parts) and (divisor := _greatest_divisor(even)) > least:
        return divisor
    count = sum(part.compositions for part in parts)
    variance = sum(part.compositions * _spread(*law_of(part)) ** 2 for part in parts)
    wanted = math.sqrt(variance / count) / points_per_std
    if _is_fine(parts, points_per_std):
        many_points = 500  # lattice points above 0
        many_in_sum = 13_000  # points in a standard deviation of the sum; its window has 2^18
        enough = max(float(max(widths)) / many_points, math.sqrt(variance) / many_in_sum)
        wanted = min(wanted, enough) * coarser
    if sampled:
        finer_sampled = 1.5  # points of the lattice after subsampling cost little
        wanted /= finer_sampled
    wanted = max(wanted, least)
    frequent = [
        (part.compositions * loss**2, loss) for part in parts if (loss := find_frequent_loss(part))
    ]
    _, whole = max((pair for pair in frequent if pair[1] > wanted), default=(0, widths[0]))
    common = _greatest_divisor([loss for _, loss in frequent])
    finer = 4  # how much finer a lattice may be so that all frequent losses lie on it
    if common > max(wanted / finer, least):
        whole = common
    return whole / max(1, math.ceil(float(whole) / wanted))


def _greatest_divisor(losses: Sequence[Fraction]) -> Fraction:
    """The largest number of which all `losses` are whole multiples; 0 without losses."""
    denominator = math.lcm(*(loss.denominator for loss in losses))
    return Fraction(math.gcd(*(int(loss * denominator) for loss in losses)), denominator)


def find_frequent_loss(part: Releases) -> Fraction | None:
    """A loss that many outputs have, to be a lattice point; None if unknown, and for samples."""
    if part.sampling_rate != 1:  # lattices of samples have origins of their own
        return None
    shift = part.noise.worst_shift(part.shifts.outer)
    if (losses := _own_losses(part.noise)) and losses.frequent:
        return losses.frequent(part.noise, shift)
    return largest_loss(part.noise, shift)


def _even_loss(part: Releases) -> Fraction | None:
    """A number of which all finite losses are multiples; None if no such number is known."""
    unit = registered_family(type(part.noise)).loss_unit
    return getattr(part.noise, unit) if unit and part.sampling_rate == 1 else None


def _is_fine(parts: Sequence[Releases], points_per_std: int) -> bool:
    """True if the lattices are finer than `points_per_std` requires, as finer ones cost little."""
    cheap = all(
        part.sampling_rate == 1 and registered_family(type(part.noise)).quick for part in parts
    )
    return cheap and points_per_std >= POINTS_PER_STD


@lru_cache(maxsize=64)
def _upper(
    noise: Noise,
    sensitivity: Sensitivity,
    sampling_rate: Fraction,
    step: Fraction,
    *,
    removed: bool,
) -> LossLattice:
    if sampling_rate == 1:
        return _whole_upper(noise, sensitivity, step, math.ceil(_reach(noise, sensitivity) / step))
    base = _whole_upper(noise, sensitivity, *_base(noise, sensitivity, sampling_rate, step))
    ends = _loss_range(noise, sensitivity, sampling_rate)
    return sample_upper(base, sampling_rate=sampling_rate, ends=ends, step=step, removed=removed)


@lru_cache(maxsize=64)
def _lower(
    noise: Noise,
    sensitivity: Sensitivity,
    sampling_rate: Fraction,
    step: Fraction,
    *,
    removed: bool,
) -> LowerCells:
    if sampling_rate == 1:
        return _whole_lower(noise, sensitivity, step, math.ceil(_reach(noise, sensitivity) / step))
    base = _whole_lower(noise, sensitivity, *_base(noise, sensitivity, sampling_rate, step))
    ends = _loss_range(noise, sensitivity, sampling_rate)
    return sample_lower(base, sampling_rate=sampling_rate, ends=ends, step=step, removed=removed)


@lru_cache(maxsize=64)
def _whole_upper(noise: Noise, sensitivity: Sensitivity, step: Fraction, size: int) -> LossLattice:
    """An upper lattice at −size·step … size·step for a release of all rows, without sampling.

    Its δ is nowhere below the noise's δ.
    """
    if losses := _own_losses(noise):
        return losses.upper(noise, noise.worst_shift(sensitivity), step, size)
    profile = _profile(noise, sensitivity)
    if lattice_deltas := registered_family(type(noise)).part("lattice_deltas"):
        shift = noise.worst_shift(sensitivity)
        with precision(BITS):
            deltas = lattice_deltas(noise, shift=shift, step=step, size=size)
            return symmetric_lattice([*map(check_accurate, deltas)], step)
    return upper_lattice(profile, step, size)


@lru_cache(maxsize=64)
def _whole_lower(noise: Noise, sensitivity: Sensitivity, step: Fraction, size: int) -> LowerCells:
    """Atoms with losses near −size·step … size·step, for a release of all rows without sampling.

    Their δ is nowhere above the noise's δ. If the proof gives no lower bound, there is only an atom
    of loss 0.
    """
    shift = noise.worst_shift(sensitivity)
    if losses := _own_losses(noise):
        return losses.lower(noise, shift, step, size)
    if not is_attained(noise, sensitivity):  # nothing is known from below
        return LowerCells(step=step, first=0, atoms=((0.0, 1.0),), infinity=0.0)
    family = registered_family(type(noise))
    one_shift = family.part("lower_profile")
    profile = (one_shift and one_shift(noise)) or _profile(noise, sensitivity)
    upper = _whole_upper(noise, sensitivity, step, size)
    with precision(BITS):
        infinite = enclose_infinite(noise, shift=shift, profile=profile)
    known = family.part("tails")
    tails = partial(known, noise, shift) if known else None
    return lower_cells(profile, upper, infinite=infinite, tails=tails)


def _base(
    noise: Noise, sensitivity: Sensitivity, sampling_rate: Fraction, step: Fraction
) -> tuple[Fraction, int]:
    """The step and the size of the lattice of losses before subsampling.

    `step` is the step of the lattice after subsampling, and the size the number of steps from 0 to
    the largest lattice point. The errors of the two lattices add up. Each is proportional to the
    square of the step, relative to the standard deviation of the loss.
    """
    reach = min(_reach(noise, sensitivity), Fraction(_LARGEST_SAMPLED_LOSS))
    whole, part = (
        _spread(noise, sensitivity, Fraction(1)),
        _spread(noise, sensitivity, sampling_rate),
    )
    steps = registered_family(type(noise)).refinement * float(reach / step) * part
    size = math.ceil(steps / whole) if steps < _MOST_POINTS * whole else _MOST_POINTS
    return reach / size, size


def _half_width(noise: Noise, sensitivity: Sensitivity, sampling_rate: Fraction) -> Fraction:
    """Half the distance between the least and the largest loss, after subsampling if any."""
    if sampling_rate == 1:
        return _reach(noise, sensitivity)
    low, high = _loss_range(noise, sensitivity, sampling_rate)
    return (high - low) / 2


@lru_cache(maxsize=64)
def _loss_range(
    noise: Noise, sensitivity: Sensitivity, sampling_rate: Fraction
) -> tuple[Fraction, Fraction]:
    reach = min(_reach(noise, sensitivity), Fraction(_LARGEST_SAMPLED_LOSS))
    coarse = _whole_upper(noise, sensitivity, reach / COARSE_POINTS, COARSE_POINTS)
    leaks = coarse.infinity > NOTHING
    return loss_range(sampling_rate, reach, leaks=leaks)


@lru_cache(maxsize=64)
def _spread(noise: Noise, sensitivity: Sensitivity, sampling_rate: Fraction) -> float:
    """Approximate the standard deviation of the loss, after subsampling if any."""
    reach = _reach(noise, sensitivity)
    coarse = _whole_upper(noise, sensitivity, reach / COARSE_POINTS, COARSE_POINTS)
    return coarse.spread if sampling_rate == 1 else find_sampled_spread(coarse, sampling_rate)


def find_largest_finite_loss(
    noise: Noise, sensitivity: Sensitivity, sampling_rate: Fraction
) -> Fraction:
    """The upper end of a lattice for the losses of a release, for a removed record.

    It is the largest finite loss, or a loss beyond which finite losses count as infinite. No proof
    relies on it.
    """
    return (
        _reach(noise, sensitivity)
        if sampling_rate == 1
        else _loss_range(noise, sensitivity, sampling_rate)[1]
    )


@lru_cache(maxsize=64)
def _reach(noise: Noise, sensitivity: Sensitivity) -> Fraction:
    """The loss at which lattices end: the largest finite loss, or one with negligible mass beyond.

    A known largest finite loss is used, so that it is a lattice point. Any value gives valid
    bounds. Raises NotApplicable if the loss is too large for a lattice.
    """
    if known := largest_loss(noise, noise.worst_shift(sensitivity)):
        if known > _LARGEST_LOSS:
            raise NotApplicable(family=noise.name, why=_TOO_LARGE)
        return known
    if losses := _own_losses(noise):
        return losses.reach(noise, noise.worst_shift(sensitivity))
    profile = _profile(noise, sensitivity)
    with precision(BITS):
        is_constant = partial(_is_constant_beyond, profile)
        most = Fraction(_LARGEST_LOSS)
        ends = _ROUGHLY.beyond(is_constant, Fraction(0), Fraction(1, 8), most=most)
        if not ends:
            raise NotApplicable(family=noise.name, why=_TOO_LARGE)

        def in_tail(low: Fraction, _: Fraction) -> bool:
            return bool(profile(low) < arb(NOTHING) * 2**20)

        return _EDGE.close(is_constant, *ends, until=in_tail)[1]


def _is_constant_beyond(profile: Profile, epsilon: Fraction) -> bool:
    """True if δ(`epsilon`) is negligible, or can't be told from δ(2·`epsilon`) in this precision.

    Such a δ seems to be constant beyond `epsilon`. No proof relies on it.
    """
    here = profile(epsilon)
    return bool(here.is_zero() or here < arb(NOTHING) or here.overlaps(profile(2 * epsilon)))


def check_monotone(noise: Noise) -> None:
    """Raise NotApplicable unless the longest shift has the largest δ at every ε, by proof."""
    if not registered_family(type(noise)).longest_is_worst:
        raise NotApplicable(
            family=noise.name,
            why="its worst shift may change with epsilon, and its composition isn't proved here",
        )


# The largest finite loss, and the probability of an infinite one.


def largest_loss(noise: Noise, shift: Fraction) -> Fraction | None:
    """An upper bound on all finite losses under shifts up to `shift`; None if no bound is known.

    The bound holds because the norms of an output and of the shifted output differ by at most
    `shift`.
    """
    known = registered_family(type(noise)).part("largest_loss")
    return known(noise, shift) if known else None


def enclose_infinite(noise: Noise, *, shift: Fraction, profile: Profile) -> arb | None:
    """Enclose the probability of an infinite loss; None if no bound on finite losses is known.

    It is δ at an ε that no finite loss exceeds. The `profile` alone can't distinguish an infinite
    loss from a finite one above every ε it is called with.
    """
    if (largest := largest_loss(noise, shift)) is not None:
        return profile(largest)
    beyond = registered_family(type(noise)).part("no_loss_beyond")
    return profile(beyond(noise, shift)) if beyond else None
