"""One wording for bad arguments. Every check names the argument, its value, the bound, the fix."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from leastnoise.errors import InvalidArgument

MAX_DIMENSION = 10**8


def dimension(value: object) -> int:
    """Return `value` if it is a possible number of coordinates."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_DIMENSION:
        raise InvalidArgument(
            name="dimension",
            value=value,
            expected=f"a whole dimension from 1 to {MAX_DIMENSION:,}",
            hint="It is the number of coordinates that are released together.",
        )
    return value


def one_of(value: str, allowed: Sequence[str], *, name: str) -> str:
    """Return `value` if it is among `allowed`; otherwise name the nearest."""
    if value in allowed:
        return value
    raise InvalidArgument(
        name=name,
        value=value,
        expected=f"{name} to be one of {', '.join(allowed)}",
        hint=nearest(value, allowed),
    )


def nearest(value: str, allowed: Sequence[str]) -> str:
    """Return "Did you mean …?" for the closest of `allowed`, or nothing."""
    close = get_close_matches(value, allowed, n=1, cutoff=0.5)
    return f"Did you mean {close[0]}?" if close else ""
