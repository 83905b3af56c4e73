"""Proof of δ(ε) of several releases, or of samples, by the law of their losses.

l2 mechanisms, and Gaussians beside them, go through their moment generating functions
(`moment_sum`). All else goes through loss lattices from both sides (`common_lattice`), convolved
with a proved allowance for rounding (`composition`).

With Poisson subsampling the pair for a record that is removed and the pair for one that is added
are not each other's mirror images: each is composed alone, and the larger δ counts.
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
from leastnoise.accounting.proof.moment_sum import prove_by_moments, serves
from leastnoise.accounting.proof.sampled import enclose_sampled
from leastnoise.balls.convolution import composed_lower, composed_upper
from leastnoise.balls.core import precision
from leastnoise.balls.losses import BITS
from leastnoise.noise.question import ProvedDelta, Releases
from leastnoise.noise.registry import registered_family


def enclose(parts: Sequence[Releases], epsilon: Fraction, *, points_per_std: int) -> ProvedDelta:
    """Enclose δ(epsilon) of all parts together, for `composed.prove_composed`."""
    parts = _merged(parts)
    if len(parts) == 1 and parts[0].compositions == 1:
        return _prove_one(parts[0], epsilon)
    if serves(parts) and (found := prove_by_moments(parts, epsilon)):
        return found
    summed = _summed(parts, epsilon)
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
    """Enclose δ(epsilon) in one direction, for `composed.prove_pair`."""
    parts = _merged(parts)
    if len(parts) > 1 or parts[0].compositions > 1:
        if serves(parts):
            return enclose(parts, epsilon, points_per_std=points_per_std)
        summed = _summed(parts, epsilon)
        if summed.is_zero():
            return ProvedDelta.within(summed)
        found = _by_lattices(parts, epsilon, removed=removed, points_per_std=points_per_std)
        with precision(BITS):
            return ProvedDelta(lower=found.lower, upper=found.upper.min(summed))
    one = _prove_direction(parts[0], epsilon, removed=removed)
    if registered_family(type(parts[0].noise)).longest_is_worst:
        return one
    below = make_lower_parts(parts, points_per_std=points_per_std, removed=removed)
    return ProvedDelta(lower=composed_lower(below, epsilon), upper=one.upper)


def _by_lattices(
    parts: Sequence[Releases], epsilon: Fraction, *, removed: bool, points_per_std: int
) -> ProvedDelta:
    above = make_upper_parts(parts, points_per_std=points_per_std, removed=removed)
    below = make_lower_parts(parts, points_per_std=points_per_std, removed=removed)
    return ProvedDelta(lower=composed_lower(below, epsilon), upper=composed_upper(above, epsilon))


def at_most(parts: Sequence[Releases], epsilon: Fraction, *, points_per_std: int) -> arb:
    """Return a bound from above on δ(epsilon), for `composed.bound_composed`."""
    parts = _merged(parts)
    if len(parts) == 1 and parts[0].compositions == 1:
        return _prove_one(parts[0], epsilon).upper
    if serves(parts) and (by_moments := prove_by_moments(parts, epsilon)):
        return by_moments.upper
    summed = _summed(parts, epsilon)
    if summed.is_zero():
        return summed
    found = [
        composed_upper(
            make_upper_parts(parts, points_per_std=points_per_std, removed=removed), epsilon
        )
        for removed in directions(parts)
    ]
    return found[0].max(found[-1]).min(summed)


def _merged(parts: Sequence[Releases]) -> list[Releases]:
    """Return the same releases, with releases of one law and the same shifts as one part."""
    counts: Counter[Releases] = Counter()
    for part in parts:
        counts[replace(part, compositions=1)] += part.compositions
    return [one.times(count) for one, count in counts.items()]


def directions(parts: Sequence[Releases]) -> tuple[bool, ...]:
    """Return for which pairs to account: that for a record removed, and the other if it differs."""
    return (True, False) if any(part.sampling_rate != 1 for part in parts) else (True,)


def _prove_one(part: Releases, epsilon: Fraction) -> ProvedDelta:
    """Enclose δ of one release, of any law: both pairs at once are worst at the worst shift."""
    if part.sampling_rate == 1:
        return prove_hidden(part.noise, part.shifts, epsilon)
    one, other = (_prove_direction(part, epsilon, removed=removed) for removed in (True, False))
    with precision(BITS):
        return ProvedDelta.within(one.enclosure.max(other.enclosure))


def _prove_direction(part: Releases, epsilon: Fraction, *, removed: bool) -> ProvedDelta:
    """Enclose δ of one release, of the pair for a record `removed` or added, at the worst shift."""
    if part.sampling_rate == 1:
        return prove_hidden(part.noise, part.shifts, epsilon)

    def profile(at: Fraction) -> arb:
        return prove_hidden(part.noise, part.shifts, at).enclosure

    with precision(BITS):
        return ProvedDelta.within(
            enclose_sampled(profile, part.sampling_rate, epsilon, removed=removed)
        )


def _summed(parts: Sequence[Releases], epsilon: Fraction) -> arb:
    """Return a ball no point of which is below Σkᵢδᵢ(εᵢ), Σkᵢεᵢ = ε: basic composition.

    The shares are as the largest losses are; any would be right. Where none leaks beyond its share
    that is 0, and next to there it is closer than a lattice. 1 for laws whose proof takes time.
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
