"""Proof of δ(ε) of one release, from its law alone, or of several, each with noise of its own.

Gaussians compose to a Gaussian exactly: μ² = Σ kᵢ(Δᵢ/σᵢ)². All else, and what is about Poisson
samples, goes by the law of the losses (`by_losses`). The laws are fixed in advance; what
theory/accounting.md §1 A proves of them is not about scales that are chosen after outputs have been
seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from types import ModuleType

from flint import arb

from leastnoise.balls.core import ball, precision
from leastnoise.balls.losses import BITS, POINTS_PER_STD
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.geometry import ShiftBounds
from leastnoise.guarantees.sensitivity import Sensitivity, common_neighbours
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.common.proof import delta_of_ratio
from leastnoise.noise.question import ProvedDelta, Releases
from leastnoise.noise.registry import part_of, registered_family

# Working precisions in turn; the first whose enclosure is as accurate as is enough for the family
# is used.
PRECISIONS = (128, 256, 512, 1024, 4096)


def method_of(noise: Noise) -> Callable[..., arb]:
    """Return the function of `shift` and `epsilon` that encloses δ(ε); raises NotRegistered."""
    return part_of(type(noise), "proof")


def prove_hidden(noise: Noise, shifts: ShiftBounds, epsilon: Fraction) -> ProvedDelta:
    """Enclose δ(ε) of `noise` under shifts that lie in shifts.outer and reach out of shifts.inner.

    δ grows with the length of the longest shift, so that it lies between those of the two balls.
    """
    proved = prove_delta(noise, shifts.outer, epsilon)
    if shifts.inner == shifts.outer:
        return proved
    least = prove_delta(noise, shifts.inner, epsilon)
    return ProvedDelta(lower=least.lower, upper=proved.upper)


def prove_delta(noise: Noise, sensitivity: Sensitivity, epsilon: Fraction) -> ProvedDelta:
    """Enclose δ(ε) of `noise` under `sensitivity`, as tightly as doubles can tell.

    Raises NotApplicable if the sensitivity isn't known in the noise's norm.
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
    lower = enclosure if attained(noise, sensitivity) else arb(0)
    return ProvedDelta(lower=lower, upper=enclosure)


def attained(noise: Noise, sensitivity: Sensitivity) -> bool:
    """Return True only if the proof's ball is δ(ε) itself for all shifts of `sensitivity`."""
    known = registered_family(type(noise)).part("attained")
    return known(noise, sensitivity) if known else not isinstance(noise, VectorNoise)


# What a proof may cost: bounds on what a statement is about, looked at before any work is done.
#
# A certificate comes from anywhere, and some laws within a family's own bounds take hours to prove,
# or more memory than there is. These bounds are public numbers alone, alike on every machine, and
# the same for `prove`: whatever leastnoise calibrates, it verifies. Each is that of some half a
# minute on one core, or of 500 MB, of proofs measured with CPython 3.11 and python-flint 0.8.


def check_work(part: Releases, epsilon: Fraction) -> None:
    """Raise NotApplicable if the proof of `part` at `epsilon` takes too much time or memory."""
    bound = registered_family(type(part.noise)).part("work")
    why = bound(part, part.noise.worst_shift(part.shifts.outer), epsilon) if bound else None
    if why:
        raise NotApplicable(family=part.noise.name, why=why)


def prove_composed(
    parts: Sequence[Releases], epsilon: Fraction, *, points_per_std: int = POINTS_PER_STD
) -> ProvedDelta:
    """Enclose the smallest δ at which all of `parts` together are (epsilon, δ)-private.

    Raises NotApplicable where losses or shifts are too large for a lattice, and for parts that are
    about different neighbours.
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
    """Enclose δ of the outputs with a record against those without it, or of the latter against it.

    The former if the record is `removed`. Where the worst shift changes with ε, `upper` is above
    that of all shifts, and `lower` below that of one shift, the same at every ε: that of one pair
    of neighbours. Raises like `prove_composed`.
    """
    common_neighbours(part.neighbours for part in parts)
    if is_gaussian(parts):
        return _gaussians(parts, epsilon)
    return _by_losses().enclose_pair(parts, epsilon, removed=removed, points_per_std=points_per_std)


def bound_composed(
    parts: Sequence[Releases], epsilon: Fraction, *, points_per_std: int = POINTS_PER_STD
) -> arb:
    """Return a ball no point of which is below that δ; half the work of `prove_composed`."""
    common_neighbours(part.neighbours for part in parts)
    if is_whole(parts):
        return prove_hidden(parts[0].noise, parts[0].shifts, epsilon).upper
    if is_gaussian(parts):
        return _gaussians(parts, epsilon).upper
    return _by_losses().at_most(parts, epsilon, points_per_std=points_per_std)


def _by_losses() -> ModuleType:
    """Import the accountant: it is large, and one release of the whole data has no need of it."""
    from leastnoise.accounting.proof import by_losses  # noqa: PLC0415

    return by_losses


def is_whole(parts: Sequence[Releases]) -> bool:
    """Whether it is one release, of the whole data."""
    return len(parts) == 1 and parts[0].compositions == 1 and parts[0].sampling_rate == 1


def is_gaussian(parts: Sequence[Releases]) -> bool:
    """Whether the composition is a single Gaussian."""
    return all(part.noise.gaussian_square is not None and part.sampling_rate == 1 for part in parts)


def gaussian_square(parts: Sequence[Releases], *, inner: bool) -> Fraction:
    """Return μ² of Gaussian parts together, exactly; at most that, of Gaussian noise and more.

    Raises NotApplicable for other noise.
    """
    total = Fraction(0)
    for part in parts:
        ball_of = part.shifts.inner if inner else part.shifts.outer
        square = part.noise.smoothed_square
        if square is None:
            raise NotApplicable(family=part.noise.name, why="it isn't Gaussian noise and more")
        total += part.compositions * part.noise.worst_shift(ball_of) ** 2 / square
    return total


def _gaussians(parts: Sequence[Releases], epsilon: Fraction) -> ProvedDelta:
    with precision(BITS):
        lower, upper = (
            delta_of_ratio(ball(gaussian_square(parts, inner=inner)).sqrt(), epsilon=epsilon)
            for inner in (True, False)
        )
        return ProvedDelta(lower=lower, upper=upper)
