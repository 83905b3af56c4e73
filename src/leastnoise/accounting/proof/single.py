"""Proof that one law meets a budget, from its parameters alone, and what a proof may cost."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from leastnoise.balls.core import precision
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.geometry import ShiftBounds
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.registry import part_of, registered
from leastnoise.noise.releases import ProvedDelta

if TYPE_CHECKING:
    from leastnoise.noise.releases import Releases

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


# What a proof may cost: bounds on what a statement is about, looked at before any work is done.
#
# A certificate comes from anywhere, and some laws within a family's own bounds take hours to prove,
# or more memory than there is. These bounds are public numbers alone, alike on every machine, and
# the same for `prove`: whatever leastnoise calibrates, it verifies. Each is that of some half a
# minute on one core, or of 500 MB, of proofs measured with CPython 3.11 and python-flint 0.8.


def check_work(part: Releases, epsilon: Fraction) -> None:
    """Raise NotApplicable if the proof of `part` at `epsilon` takes too much time or memory."""
    bound = registered(type(part.noise)).part("work")
    why = bound(part, part.noise.worst_shift(part.shifts.outer), epsilon) if bound else None
    if why:
        raise NotApplicable(family=part.noise.name, why=why)
