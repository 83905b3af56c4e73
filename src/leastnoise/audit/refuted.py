"""What refutes the claimed noise wherever it may be centred, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise import _words
from leastnoise.audit import binomial

if TYPE_CHECKING:
    from fractions import Fraction

    from leastnoise.audit.claim import Claim
    from leastnoise.audit.law import Centre, ClaimedLaw, Sample


def noise_of(claim: Claim) -> str:
    """Return the claimed noise in words."""
    named = claim.noise
    return f"{named.name} noise of scale {_words.number(named.scale)}" if named else "the noise"


def outright(
    law: ClaimedLaw, sample: Sample, centre: Centre, *, level: Fraction, noise: str
) -> str:
    """Return what the claimed noise can't do at any centre; empty if there is nothing.

    `level` is that of each bound: the two of `centre`, and one of what is no number of the noise.
    """
    if sample.strange:
        share = _words.at_most(binomial.lower(sample.strange, sample.size, level))
        return f"{law.strange} have probability >= {share}, and 0 with {noise}."
    if not centre.is_empty:
        return ""
    near = (centre.ends[1] - centre.ends[0]) / 4
    first, last = (point(sample.anchor, end, near=near) for end in centre.ends)
    return (
        f"P(Y <= {first}) is at most {_words.at_least(centre.most)} and P(Y <= {last}) at least "
        f"{_words.at_most(centre.least)}: no number fits as the centre of {noise}."
    )


def point(anchor: float, beyond: float, *, near: float) -> str:
    """Return anchor + beyond, to 6 digits if that is within `near` of it, and else as a sum."""
    short = f"{anchor + beyond:.6g}"
    if abs(float(short) - anchor - beyond) <= near:
        return short
    return f"{repr(anchor).removesuffix('.0')} {'-' if beyond < 0 else '+'} {abs(beyond):.6g}"
