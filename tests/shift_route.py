"""The interface of a law for `shifts`, and exact numbers in mpmath."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import mpmath as mp

LOG_STEP_TAIL = 45.0  # steps with less than e^−45 of the mass, below the last digit, are left out


class Route(ABC):
    """H of one law at one ε, for shifts up to `limit`."""

    @abstractmethod
    def certain(self, shift: Fraction) -> float:
        """A certain lower bound on H(shift): the computed value minus the possible rounding."""

    @abstractmethod
    def turns(self) -> list[Fraction]:
        """The shifts in (0, limit] at which H may be largest."""


def mpf(number: Fraction) -> Any:
    return mp.mpf(number.numerator) / number.denominator
