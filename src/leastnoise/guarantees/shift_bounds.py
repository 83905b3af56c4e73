"""Inner and outer bounds on the set of shifts that the noise has to hide."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from leastnoise.guarantees.exact import float_at_least, root_above
from leastnoise.guarantees.sensitivity import L2, Sensitivity, check_sensitivity


@final
@dataclass(frozen=True, kw_only=True)
class ShiftBounds:
    """The shifts that X must hide lie in `outer`, and reach at least as far as `inner`.

    They are the same but for rounding a root up and down to floats.
    """

    inner: Sensitivity
    outer: Sensitivity

    def __post_init__(self) -> None:
        """Check that both are sensitivities; raises InvalidArgument."""
        for name in ("inner", "outer"):
            check_sensitivity(getattr(self, name), name=name)

    @classmethod
    def of(cls, ball: Sensitivity) -> ShiftBounds:
        """Return exactly `ball`."""
        return cls(inner=ball, outer=ball)

    @classmethod
    def of_length(cls, square: Fraction) -> ShiftBounds:
        """Return the l2 balls just within and just beyond √square."""
        outer = float_at_least(root_above(square))
        inner = np.nextafter(outer, 0.0) if Fraction(outer) ** 2 > square else outer
        return cls(inner=L2(Fraction(float(inner))), outer=L2(Fraction(outer)))
