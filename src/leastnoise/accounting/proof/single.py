"""Proof that a noise law meets a budget, from its parameters alone."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from leastnoise.balls.core import precision
from leastnoise.guarantees.geometry import ShiftBounds
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.registry import part_of, registered
from leastnoise.noise.releases import ProvedDelta

# Working precisions in turn; the first whose enclosure is as accurate as is enough for the family
# is used.
PRECISIONS = (128, 256, 512, 1024, 4096)


def method_of(noise: Noise) -> Callable[..., arb]:
    """Return what encloses δ(ε) of `noise`, given `shift` and `epsilon`; raises NotRegistered."""
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
    method, enough = method_of(noise), registered(type(noise)).enough_bits
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
    known = registered(type(noise)).part("attained")
    return known(noise, sensitivity) if known else not isinstance(noise, VectorNoise)
