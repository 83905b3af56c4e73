"""The law of a family that hides a shift of length 1.

The searches work in floats and end on the private side as far as floats can tell; whether a law
really is private is for its proof to say.
"""

from __future__ import annotations

from collections.abc import Callable

from leastnoise.noise.base import Noise
from leastnoise.noise.registry import part_of
from leastnoise.noise.request import Request

Search = Callable[[Request], Noise]


def unit_law(family: type[Noise], request: Request) -> Noise:
    """Return the law of `family` for `request`.

    Raises Refused if there is none, InvalidArgument if `request.fixed` names no free parameter.
    """
    return part_of(family, "fit")(request)
