"""Prove δ(ε) of one release from its law, or of several releases, each with noise of its own.

Gaussian releases compose to one Gaussian exactly. If part i has kᵢ releases of scale σᵢ and worst
shift Δᵢ, this Gaussian has the shift μ in its scales, with μ² = Σ kᵢ(Δᵢ/σᵢ)². All other
compositions, and Poisson samples, go through the law of the losses (`by_losses`). The laws are
fixed in advance: theory/accounting.md §1 A proves nothing about scales that are chosen after
outputs were seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from types import ModuleType

from flint import arb

from leastnoise.balls.core import AMPLE_BITS, POINTS_PER_STD, ball, precision
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.sensitivity import Sensitivity, ShiftBounds, common_neighbours
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.common.proof import delta_of_ratio
from leastnoise.noise.question import ProvedDelta, Releases
from leastnoise.noise.registry import part_of, registered_family

# Working precisions, tried in this order until the enclosure is accurate enough for the family.
PRECISIONS = (128, 256, 512, 1024, 4096)


def method_of(noise: Noise) -> Callable[..., arb]:
    """The proof of the noise's family: it encloses δ(ε) from the noise, a `shift` and `epsilon`.

    Raises NotRegistered for a law of no registered family.
    """
    return part_of(type(noise), "proof")


def prove_hidden(noise: Noise, shifts: ShiftBounds, epsilon: Fraction) -> ProvedDelta:
    """Enclose δ(ε) of `noise` under shifts that are only known within bounds.

    All shifts lie in `shifts.outer`, and some shift is at least as long as the longest in
    `shifts.inner`. δ grows with the longest shift, so it lies between the δ of these two
    sensitivities.
    """
    proved = prove_delta(noise, shifts.outer, epsilon)
    if shifts.inner == shifts.outer:
        return proved
    least = prove_delta(noise, shifts.inner, epsilon)
    return ProvedDelta(lower=least.lower, upper=proved.upper)


def prove_delta(noise: Noise, sensitivity: Sensitivity, epsilon: Fraction) -> ProvedDelta:
    """Enclose δ(ε) of `noise` under `sensitivity`, to the accuracy that its family declares.

    If 4,096 bits aren't enough for that, the enclosure is wider. The lower bound is 0 if the proof
    gives only an upper bound (`is_attained`). Raises NotApplicable if the sensitivity isn't known
    in the noise's norm.
    """
    method, enough = method_of(noise), registered_family(type(noise)).enough_bits
    shift = noise.worst_shift(sensitivity)
    enclosure = arb.nan()
    for bits in PRECISIONS:
        with precision(bits):
            enclosure = method(noise, shift=shift, epsilon=epsilon)
        if enclosure.is_zero() or (
            enclosure.is_finite() and enclosure.rel_accuracy_bits() >= enough
        ):
            break
    lower = enclosure if is_attained(noise, sensitivity) else arb(0)
    return ProvedDelta(lower=lower, upper=enclosure)


def is_attained(noise: Noise, sensitivity: Sensitivity) -> bool:
    """True only if the proof encloses δ(ε) itself for all shifts of `sensitivity`.

    If False, the proof's upper end is an upper bound on δ(ε), and its lower end means nothing.
    """
    known = registered_family(type(noise)).part("attained")
    return known(noise, sensitivity) if known else not isinstance(noise, VectorNoise)


# Limits on the work of a proof, checked before any work is done.
#
# A certificate may come from anywhere, and some valid laws take hours to prove, or more memory than
# there is. The limits depend on public numbers only, are the same on every machine, and the same
# for `prove`: leastnoise verifies everything that it calibrates. Each stands for about half a
# minute on one core, or 500 MB, measured with CPython 3.11 and python-flint 0.8.


def check_work(part: Releases, epsilon: Fraction) -> None:
    """Raise NotApplicable if the proof of `part` at `epsilon` takes too much time or memory."""
    bound = registered_family(type(part.noise)).part("work")
    why = bound(part, part.noise.worst_shift(part.shifts.outer), epsilon) if bound else None
    if why:
        raise NotApplicable(family=part.noise.name, why=why)


def prove_composed(
    parts: Sequence[Releases], epsilon: Fraction, *, points_per_std: int = POINTS_PER_STD
) -> ProvedDelta:
    """Enclose δ(epsilon), the smallest δ at which `parts` together are (epsilon, δ)-private.

    Raises NotApplicable if the composition of a law isn't proved here, if its losses are too large
    for a lattice, or if the parts are about different neighbours.
    """
    common_neighbours(part.neighbours for part in parts)
    if is_whole(parts):
        return prove_hidden(parts[0].noise, parts[0].shifts, epsilon)
    if is_gaussian(parts):
        return _gaussians(parts, epsilon)
    return _by_losses().enclose(parts, epsilon, points_per_std=points_per_std)


def prove_pair(
    parts: Sequence[Releases],
    epsilon: Fraction,
    *,
    removed: bool,
    points_per_std: int = POINTS_PER_STD,
) -> ProvedDelta:
    """Enclose δ(epsilon) of one pair of neighbours, for a record that is removed or added.

    If the record is `removed`, δ compares the outputs with the record to the outputs without it;
    otherwise the reverse. If the worst shift changes with ε, `upper` holds for all shifts. `lower`
    then holds for one shift that is the same at every ε, so for one pair of neighbours. The errors
    are as in `prove_composed`.
    """
    common_neighbours(part.neighbours for part in parts)
    if is_gaussian(parts):
        return _gaussians(parts, epsilon)
    return _by_losses().enclose_pair(parts, epsilon, removed=removed, points_per_std=points_per_std)


def bound_composed(
    parts: Sequence[Releases], epsilon: Fraction, *, points_per_std: int = POINTS_PER_STD
) -> arb:
    """Enclose an upper bound on δ(epsilon) of all parts together.

    The upper end of the ball is at least δ. Most compositions take half the work of
    `prove_composed`, as they need no lower bound.
    """
    common_neighbours(part.neighbours for part in parts)
    if is_whole(parts):
        return prove_hidden(parts[0].noise, parts[0].shifts, epsilon).upper
    if is_gaussian(parts):
        return _gaussians(parts, epsilon).upper
    return _by_losses().bound_above(parts, epsilon, points_per_std=points_per_std)


def _by_losses() -> ModuleType:
    """Import `by_losses`. It is large, and one release of the whole data doesn't need it."""
    from leastnoise.accounting.proof import by_losses  # noqa: PLC0415

    return by_losses


def is_whole(parts: Sequence[Releases]) -> bool:
    """True if `parts` are a single release of all rows, without sampling."""
    return len(parts) == 1 and parts[0].compositions == 1 and parts[0].sampling_rate == 1


def is_gaussian(parts: Sequence[Releases]) -> bool:
    """True if all parts are Gaussian noise without sampling, which compose to one Gaussian."""
    return all(part.noise.gaussian_square is not None and part.sampling_rate == 1 for part in parts)


def gaussian_square(parts: Sequence[Releases], *, inner: bool) -> Fraction:
    """The sum of k(Δ/σ)² over `parts`: k the number of releases, Δ the worst shift, σ the scale.

    For Gaussian noise it is the μ² of Gaussian DP. In a mixture of Gaussians, σ is the scale of the
    Gaussian part, which alone hides no more than the mixture. So the sum is an upper bound on μ².
    With `inner`, Δ comes from the inner bounds on the shifts, otherwise from the outer bounds.
    Raises NotApplicable for other noise.
    """
    total = Fraction(0)
    for part in parts:
        ball_of = part.shifts.inner if inner else part.shifts.outer
        square = part.noise.smoothed_square
        if square is None:
            raise NotApplicable(family=part.noise.name, why="it isn't a mixture of Gaussians")
        total += part.compositions * part.noise.worst_shift(ball_of) ** 2 / square
    return total


def _gaussians(parts: Sequence[Releases], epsilon: Fraction) -> ProvedDelta:
    with precision(AMPLE_BITS):
        lower, upper = (
            delta_of_ratio(ball(gaussian_square(parts, inner=inner)).sqrt(), epsilon=epsilon)
            for inner in (True, False)
        )
        return ProvedDelta(lower=lower, upper=upper)
