"""Prove δ(ε) of several releases, or of samples, by the law of their privacy losses.

Most compositions of l2, Gaussian and Laplace noise go through moment generating functions
(`moment_sum`). All others go through loss lattices from both sides (`common_lattice`), convolved
with a proved allowance for rounding (`balls.convolution`). A single sample needs neither
(`sampled`).

Each δ is about a pair of output laws, on two neighbouring inputs. With Poisson subsampling, the
pairs for a removed and for an added record aren't mirror images of each other. So each is composed
alone, and the larger δ counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from flint import arb

from leastnoise.accounting.proof.common_lattice import (
    find_largest_finite_loss,
    law_of,
    make_lower_parts,
    make_upper_parts,
)
from leastnoise.accounting.proof.composed import prove_hidden
from leastnoise.accounting.proof.moment_sum import (
    bound_by_moments,
    prove_by_moments,
    serves,
)
from leastnoise.accounting.proof.sampled import enclose_sampled
from leastnoise.balls.convolution import composed_lower, composed_upper
from leastnoise.balls.core import precision
from leastnoise.balls.losses import BITS
from leastnoise.noise.question import ProvedDelta, Releases
from leastnoise.noise.registry import registered_family


def enclose(parts: Sequence[Releases], epsilon: Fraction, *, points_per_std: int) -> ProvedDelta:
    """Enclose δ(epsilon) of all parts together; the method of `prove_composed` for most laws."""
    parts = _merge_equal_laws(parts)
    if len(parts) == 1 and parts[0].compositions == 1:
        return _prove_one(parts[0], epsilon)
    if serves(parts) and (by_moments := prove_by_moments(parts, epsilon)):
        return by_moments
    summed = _basic_composition(parts, epsilon)
    if summed.is_zero():
        return ProvedDelta.within(summed)
    pairs = [
        _by_lattices(parts, epsilon, removed=removed, points_per_std=points_per_std)
        for removed in directions(parts)
    ]
    with precision(BITS):
        upper = pairs[0].upper.max(pairs[-1].upper).min(summed)
        return ProvedDelta(lower=pairs[0].lower.max(pairs[-1].lower), upper=upper)


def enclose_pair(
    parts: Sequence[Releases], epsilon: Fraction, *, removed: bool, points_per_std: int
) -> ProvedDelta:
    """Enclose δ(epsilon) for a removed record, or for an added record if not `removed`.

    `composed.prove_pair` calls it for most laws. If lattices of losses are needed, they have about
    `points_per_std` steps in a standard deviation of the loss.
    """
    parts = _merge_equal_laws(parts)
    if len(parts) > 1 or parts[0].compositions > 1:
        if serves(parts):
            return enclose(parts, epsilon, points_per_std=points_per_std)
        summed = _basic_composition(parts, epsilon)
        if summed.is_zero():
            return ProvedDelta.within(summed)
        composed = _by_lattices(parts, epsilon, removed=removed, points_per_std=points_per_std)
        with precision(BITS):
            return ProvedDelta(lower=composed.lower, upper=composed.upper.min(summed))
    proved = _prove_direction(parts[0], epsilon, removed=removed)
    if registered_family(type(parts[0].noise)).longest_is_worst:
        return proved
    below = make_lower_parts(parts, points_per_std=points_per_std, removed=removed)
    return ProvedDelta(lower=composed_lower(below, epsilon), upper=proved.upper)


def _by_lattices(
    parts: Sequence[Releases], epsilon: Fraction, *, removed: bool, points_per_std: int
) -> ProvedDelta:
    above = make_upper_parts(parts, points_per_std=points_per_std, removed=removed)
    below = make_lower_parts(parts, points_per_std=points_per_std, removed=removed)
    return ProvedDelta(lower=composed_lower(below, epsilon), upper=composed_upper(above, epsilon))


def bound_above(parts: Sequence[Releases], epsilon: Fraction, *, points_per_std: int) -> arb:
    """Enclose an upper bound on δ(epsilon) of all parts together, for `composed.bound_composed`."""
    parts = _merge_equal_laws(parts)
    if len(parts) == 1 and parts[0].compositions == 1:
        return _prove_one(parts[0], epsilon).upper
    if serves(parts) and (by_moments := bound_by_moments(parts, epsilon)) is not None:
        return by_moments
    summed = _basic_composition(parts, epsilon)
    if summed.is_zero():
        return summed
    bounds = [
        composed_upper(
            make_upper_parts(parts, points_per_std=points_per_std, removed=removed), epsilon
        )
        for removed in directions(parts)
    ]
    return bounds[0].max(bounds[-1]).min(summed)


def _merge_equal_laws(parts: Sequence[Releases]) -> list[Releases]:
    """Merge parts with the same law and shifts into one part with all their compositions."""
    counts: Counter[Releases] = Counter()
    for part in parts:
        counts[replace(part, compositions=1)] += part.compositions
    return [part.times(count) for part, count in counts.items()]


def directions(parts: Sequence[Releases]) -> tuple[bool, ...]:
    """The values of `removed` to account for: True, and False if an added record differs."""
    return (True, False) if any(part.sampling_rate != 1 for part in parts) else (True,)


def _prove_one(part: Releases, epsilon: Fraction) -> ProvedDelta:
    """Enclose δ(epsilon) of one release of any law.

    For a sample, it is the larger δ of a removed and an added record. Both are largest at the worst
    shift.
    """
    if part.sampling_rate == 1:
        return prove_hidden(part.noise, part.shifts, epsilon)
    removal, addition = (
        _prove_direction(part, epsilon, removed=removed) for removed in (True, False)
    )
    with precision(BITS):
        return ProvedDelta.within(removal.enclosure.max(addition.enclosure))


def _prove_direction(part: Releases, epsilon: Fraction, *, removed: bool) -> ProvedDelta:
    """Enclose δ(epsilon) of one release at the worst shift, for a removed or an added record."""
    if part.sampling_rate == 1:
        return prove_hidden(part.noise, part.shifts, epsilon)

    def profile(at: Fraction) -> arb:
        return prove_hidden(part.noise, part.shifts, at).enclosure

    with precision(BITS):
        return ProvedDelta.within(
            enclose_sampled(profile, part.sampling_rate, epsilon, removed=removed)
        )


def _basic_composition(parts: Sequence[Releases], epsilon: Fraction) -> arb:
    """Enclose an upper bound on δ by basic composition: Σkᵢδᵢ(εᵢ) for shares εᵢ with Σkᵢεᵢ = ε.

    Part i has kᵢ releases, and δᵢ is the δ of one of them. The shares are in proportion to the
    largest losses; any shares give a valid bound. The bound is 0 if no part has losses beyond its
    share, and near that case it is tighter than a lattice. For laws whose proof takes long, the
    trivial bound 1 is returned.
    """
    if any(registered_family(type(part.noise)).lengthy for part in parts):
        return arb(1)
    largest = [find_largest_finite_loss(*law_of(part)) for part in parts]
    whole = sum(loss * part.compositions for loss, part in zip(largest, parts, strict=True))
    with precision(BITS):
        total = arb(0)
        for part, loss in zip(parts, largest, strict=True):
            total += part.compositions * _prove_one(part, epsilon * loss / whole).upper
        return total.min(arb(1))
