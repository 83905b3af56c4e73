"""Proof of δ(ε) for several releases together, each with noise of its own.

Gaussians compose to a Gaussian exactly: μ² = Σ kᵢ(Δᵢ/σᵢ)². All else, and what is about Poisson
samples, goes by the law of the losses (`by_losses`). The laws are fixed in advance; what
theory/accounting.md §1 A proves of them is not about scales that are chosen after outputs have been
seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from types import ModuleType

from flint import arb

from leastnoise.accounting.proof.single import prove_hidden
from leastnoise.balls.core import ball, precision
from leastnoise.balls.losses import BITS, POINTS_PER_STD
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.sensitivity import common_neighbours
from leastnoise.noise.common.proof import delta_of_ratio
from leastnoise.noise.releases import ProvedDelta, Releases


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
