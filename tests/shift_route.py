"""What `shifts` needs of a law, and exact numbers in mpmath."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import mpmath as mp

LOG_STEP_TAIL = 45.0  # e^−45 of the mass of steps, below the last digit, is left out


class Route(ABC):
    """H of one law at one ε, for shifts up to `limit`."""

    @abstractmethod
    def certain(self, shift: Fraction) -> float:
        """Return H(shift), less what rounding may have added to it."""

    @abstractmethod
    def turns(self) -> list[Fraction]:
        """Return the shifts in (0, limit] that deserve a look."""


def mpf(number: Fraction) -> Any:
    return mp.mpf(number.numerator) / number.denominator
