"""A limit on the length of a person's vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from leastnoise.guarantees.exact import decimal_text, root_above
from leastnoise.guarantees.sensitivity import L2, Integer
from leastnoise.tables.layout.boundings.base import UnitShifts

if TYPE_CHECKING:
    from fractions import Fraction

    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.layout.boundings.base import Numbers


@final
@dataclass(frozen=True, kw_only=True)
class InBall(UnitShifts):
    """The bounding that limits ‖x‖² of a person's vector x to at most `squared`.

    One factor shrinks the vector of a person over the limit.
    """

    squared: Fraction

    def to_record(self) -> dict[str, Any]:
        """The bounding as JSON values."""
        return {"kind": "ball", "squared": decimal_text(self.squared)}

    def in_words(self, numbers: Numbers) -> str:
        """The limit of one unit, as a phrase after the unit's name, such as "is counted once"."""
        del numbers
        norm = f"{float(root_above(self.squared)):,.6g}"
        return f"adds numbers whose l2 norm (the root of the summed squares) is at most {norm}"

    @property
    def most_groups(self) -> None:
        """None, since a unit counts in all its cells."""
        return

    @property
    def replaced(self) -> ReplacedInBall:
        """The shifts if a unit is replaced by another."""
        return ReplacedInBall(within=self)

    def integer_limits(self, *, bits: int) -> tuple[int, int]:
        """The largest absolute integer of a person in a coordinate, and the largest sum of squares.

        An integer I stands for I·2^(−bits).
        """
        squared = math.floor(self.squared * 4**bits)
        return math.isqrt(squared), squared

    def largest_sum(self, numbers: Numbers, *, bits: int) -> Fraction:
        """A bound on the sum of a person's squared integers before the person is shrunk.

        Each integer is clamped to its largest size first.
        """
        return numbers.all * self.squared * 4**bits

    def l1(self, numbers: Numbers) -> Fraction:
        """A bound on the l1 norm of every shift by one added unit."""
        return root_above(self.squared * numbers.all)

    def sensitivities(self, numbers: Numbers) -> tuple[Sensitivity, ...]:
        """The ball, which contains every shift by one person.

        For a single count whose limit is whole, the sensitivity is an `Integer`: the count moves by
        whole numbers.
        """
        bound = root_above(self.squared)
        if numbers.all == 1 and numbers.counts and bound.denominator == 1:
            return (Integer(bound),)
        return (L2(bound),)


@final
@dataclass(frozen=True, kw_only=True)
class ReplacedInBall(UnitShifts):
    """The shifts of a unit that is replaced by another, if both are in the ball `within`."""

    within: InBall

    def sensitivities(self, numbers: Numbers) -> tuple[Sensitivity, ...]:
        """A ball that contains every shift, with the radius from `Numbers.replaced_squared`."""
        return (L2(root_above(numbers.replaced_squared(self.within.squared))),)

    def l1(self, numbers: Numbers) -> Fraction:
        """A bound on the l1 norm of every shift."""
        return root_above(numbers.replaced_squared(self.within.squared) * numbers.all)
