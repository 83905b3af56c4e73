"""Bounds of what a proof may cost (accounting/proof/work.py): the words, and those of steps."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.noise.releases import Releases

# pieces, 0.1 ms each; where all losses are multiples of one a composition looks some 25 times
MOST_STEPS, MOST_STEPS_COMPOSED, MOST_UNEVEN_STEPS = 20_000, 20_000, 300


def most_steps(part: Releases, *, even: bool) -> int:
    """Return how many steps are proved; `even` if all losses are multiples of one."""
    if part.count == 1:
        return MOST_STEPS
    return MOST_STEPS_COMPOSED if even and part.rate == 1 else MOST_UNEVEN_STEPS


def over(work: Fraction, most: int, what: str) -> str | None:
    """Return why more than `most` isn't proved, or None."""
    if work <= most:
        return None
    return f"its proof takes too long: {what} is above {most:,}, the most that is proved"
