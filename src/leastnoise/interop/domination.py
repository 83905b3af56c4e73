"""A law of privacy losses on a lattice, which bounds the losses of a mechanism from above.

Notation (theory/accounting.md §1 B and E): δ(α) is the privacy profile as a function of α = e^ε,
which is convex and starts at δ(0) = 1. α_i = e^(z_i) are chosen points, the "dots", at the losses
z_i. s_i is the slope of the chord that leaves the i-th dot to the right, 0 after the last one. P
and Q are the laws of the output on two neighbours, and H_α(P‖Q) = δ(α).

A chord between points on or above a convex function is on or above that function. Consider the law
with masses α_i(s_i − s_{i−1}) at z_i, and with the δ of the last dot at infinity. For any choice of
dots, its profile is nowhere below the profile of the mechanism. Dots that would make a mass
negative are left out. If the worst shift varies with ε, the profile is the supremum over shifts. It
is convex too, and the law bounds every shift at once, alone and composed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from flint import arb

from leastnoise.accounting.composition import Composition
from leastnoise.accounting.proof.common_lattice import find_frequent_loss, make_upper_parts
from leastnoise.accounting.proof.composed import bound_composed, is_gaussian, prove_delta
from leastnoise.accounting.proof.sampled import enclose_sampled
from leastnoise.balls.convolution import Convolution, tilt_for
from leastnoise.balls.core import POINTS_PER_STD, at_most_one, ball, float_above, precision
from leastnoise.balls.losses import BITS
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.noise.question import Releases
from leastnoise.noise.registry import registered_family
from leastnoise.numerics.bisection import Bisection

Profile = Callable[[Sequence[Fraction]], list[arb]]
"""Maps 0 <= ε₁ <= ε₂ <= … to balls; the i-th ball contains δ(εᵢ), or an upper bound on it."""

_TAIL = 2.0**-100  # the aim for δ at the last dot, which becomes mass at infinity
_MOST_PLACES = 2**23


@final
@dataclass(frozen=True, kw_only=True)
class LossLaw:
    """A law of privacy losses: masses, rounded up, at multiples of `interval` and at infinity.

    The dictionary `masses` has the index of each multiple as its key.
    """

    masses: dict[int, float]
    infinity: float


def dominating_laws(
    composition: Composition, *, interval: Fraction, points: int | None
) -> tuple[LossLaw, LossLaw | None]:
    """The laws for a removed and for an added record; the second is None without sampling.

    Without sampling both are equal. `points` is about the number of dots on either side of 0, 480
    if None. Raises NotApplicable if the composition isn't proved, InvalidArgument if `interval` is
    too small for losses of that size.
    """
    parts = composition.parts
    count = points or 480
    with precision(BITS):
        removed = _half(parts, interval, count, removed=True)
        if all(part.sampling_rate == 1 for part in parts):
            return _law(removed, removed, interval), None
        added = _half(parts, interval, count, removed=False)
        return _law(added, removed, interval), _law(removed, added, interval)


def _profile(parts: Sequence[Releases], *, removed: bool) -> Profile:
    slow = any(registered_family(type(part.noise)).lengthy for part in parts)
    if len(parts) == 1 and parts[0].compositions == 1 and not slow:
        return lambda epsilons: [
            _delta_of_one(parts[0], epsilon, removed=removed) for epsilon in epsilons
        ]
    if is_gaussian(parts):
        return lambda epsilons: [bound_composed(parts, epsilon) for epsilon in epsilons]
    return _convolution_profile(parts, removed=removed)


def _delta_of_one(part: Releases, epsilon: Fraction, *, removed: bool) -> arb:
    """Enclose the δ of one release at the worst shift.

    `removed` matters only for samples, as the record is removed or added.
    """

    def profile(at: Fraction) -> arb:
        return prove_delta(part.noise, part.shifts.outer, at).enclosure

    if part.sampling_rate == 1:
        return profile(epsilon)
    return enclose_sampled(profile, part.sampling_rate, epsilon, removed=removed)


def _convolution_profile(parts: Sequence[Releases], *, removed: bool) -> Profile:
    lattices = make_upper_parts(parts, points_per_std=POINTS_PER_STD, removed=removed)

    at_once = 8  # neighbouring dots that share one tilt

    def profile(epsilons: Sequence[Fraction]) -> list[arb]:
        deltas: list[arb] = []
        for start in range(0, len(epsilons), at_once):
            near = epsilons[start : start + at_once]
            tilt = tilt_for(lattices, near[len(near) // 2])
            convolution = Convolution.of(lattices, tilt)
            deltas += [convolution.delta(epsilon)[1] for epsilon in near]
        return deltas

    return profile


@final
@dataclass(frozen=True, kw_only=True)
class _Half:
    """Bounds on δ from above at some lattice points, whose `indices` are >= 0."""

    indices: list[int]
    deltas: list[arb]


def _half(parts: Sequence[Releases], interval: Fraction, points: int, *, removed: bool) -> _Half:
    profile = _profile(parts, removed=removed)
    last = -(-_reach(profile, interval) // interval)  # rounded up to a multiple
    if last > _MOST_PLACES:
        raise InvalidArgument(
            name="interval",
            value=float(interval),
            expected=f"interval >= {float(last * interval / _MOST_PLACES):.2g}",
            hint=f"Losses reach {float(last * interval):.3g}.",
        )
    stride = max(1, -(-last // points))
    near = {loss // interval + side for loss in _frequent(parts) for side in (0, 1)}
    indices = sorted({*range(0, last, stride), last, *(i for i in near if i < last)})
    deltas = profile([index * interval for index in indices])
    return _Half(indices=indices, deltas=[at_most_one(delta) for delta in deltas])


def _frequent(parts: Sequence[Releases]) -> list[Fraction]:
    """Losses that many outputs may share: just above each of them, δ is far smaller."""
    # a sample's losses jump at the same points as those of the whole data
    whole = replace(parts[0], sampling_rate=Fraction(1))
    loss, count = find_frequent_loss(whole), min(parts[0].compositions, 32)
    return [loss * i for i in range(count + 1)] if loss else []


def _reach(profile: Profile, interval: Fraction) -> Fraction:
    """Approximate the loss beyond which δ is below _TAIL or constant; any value is valid.

    Raises NotApplicable if the losses are too large.
    """

    def is_constant(epsilon: Fraction) -> bool:
        here = profile([epsilon])[0].upper()
        if here < arb(_TAIL):
            return True
        further = profile([2 * epsilon])[0].upper()
        return bool(further > here * (1 - arb(2) ** -30)) and not here > arb("0.99")

    high = Fraction(1, 2)
    while high > interval and is_constant(high / 2):
        high /= 2
    while not is_constant(high):
        high *= 2
        if high > 2**17:
            raise NotApplicable(family="composition", why="its losses are too large to export")
    low, end = high / 2, profile([high])[0]
    # near an edge, the last dot has to meet it; in a tail there is no edge
    edge = not (end > 0 and end < arb(_TAIL))
    near = Bisection(within=interval / 2)
    return near.close(is_constant, low, high, until=lambda a, b: not edge and b - a <= b / 16)[1]


def _law(opposite: _Half, forward: _Half, interval: Fraction) -> LossLaw:
    """The law from the chords through the dots: `forward` are of (P, Q), `opposite` of (Q, P).

    A dot with the index i is at α = e^(i·`interval`). The dots of (Q, P) give dots of (P, Q) at α <
    1, since H_α(P‖Q) = 1 − α + α·H_(1/α)(Q‖P) (theory/accounting.md §1 E).
    """
    dots: list[tuple[int, arb, arb]] = []
    for index, delta in zip(opposite.indices[:0:-1], opposite.deltas[:0:-1], strict=True):
        alpha = ball(-index * interval).exp()
        dots.append((-index, alpha, (1 - alpha + alpha * delta).upper()))
    for index, delta in zip(forward.indices, forward.deltas, strict=True):
        dots.append((index, ball(index * interval).exp(), delta))
    kept = _convex(dots)
    slopes = [(kept[0][2] - 1) / kept[0][1]]  # the slope of the chord from (0, 1)
    slopes += [_slope(kept[i], kept[i + 1]) for i in range(len(kept) - 1)]
    slopes.append(arb(0))
    masses = {
        index: max(0.0, float_above(alpha * (slopes[i + 1] - slopes[i])))
        for i, (index, alpha, _) in enumerate(kept)
    }
    return LossLaw(
        masses={index: mass for index, mass in masses.items() if mass > 0},
        infinity=max(0.0, float_above(kept[-1][2])),
    )


def _slope(left: tuple[int, arb, arb], right: tuple[int, arb, arb]) -> arb:
    return (right[2] - left[2]) / (right[1] - left[1])


def _convex(dots: Sequence[tuple[int, arb, arb]]) -> list[tuple[int, arb, arb]]:
    """The lower convex hull of the dots, changed so that it decreases."""
    kept: list[tuple[int, arb, arb]] = []
    for index, alpha, delta in dots:
        dot = (index, alpha, delta.min(kept[-1][2]) if kept else delta)
        while len(kept) > 1 and not _slope(kept[-2], kept[-1]) < _slope(kept[-1], dot):
            kept.pop()
        kept.append(dot)
    return kept
