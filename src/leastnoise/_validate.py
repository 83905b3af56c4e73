"""One wording for bad arguments. Every check names the argument, its value, the bound, the fix."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from numbers import Integral

from leastnoise.errors import InvalidArgument

MAX_DIMENSION = 10**8


def dimension(value: object) -> int:
    """Return `value` if it is a possible number of coordinates."""
    whole = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else 0
    if not 1 <= whole <= MAX_DIMENSION:
        raise InvalidArgument(
            name="dimension",
            value=value,
            expected=f"a whole dimension from 1 to {MAX_DIMENSION:,}",
            hint="It is the number of coordinates that are released together.",
        )
    return whole


def one_of(value: str, allowed: Sequence[str], *, name: str) -> str:
    """Return `value` if it is among `allowed`; otherwise name the nearest."""
    if isinstance(value, str) and value in allowed:
        return value
    raise InvalidArgument(
        name=name,
        value=value,
        expected=f"{name} to be one of {', '.join(allowed)}",
        hint=nearest(str(value), allowed),
    )


def nearest(value: str, allowed: Sequence[str]) -> str:
    """Return "Did you mean …?" for the closest of `allowed`, or nothing."""
    close = get_close_matches(value, allowed, n=1, cutoff=0.5)
    return f"Did you mean {close[0]}?" if close else ""
