"""Limits on a person's groups, and on the rows in each, if the spec doesn't list the groups."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from leastnoise.guarantees.bodies.plain import Box
from leastnoise.guarantees.exact import root_above
from leastnoise.guarantees.sensitivity import L2, Integer
from leastnoise.guarantees.structured import Within
from leastnoise.tables.layout.boundings.base import UnitShifts

if TYPE_CHECKING:
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.layout.boundings.base import Numbers


@final
@dataclass(frozen=True, kw_only=True)
class InUnlistedGroups(UnitShifts):
    """The bounding by which a unit has at most `per_group` rows in each of at most `groups` groups.

    Each group has its own draw of noise, so the `sensitivities` are about one group's row. The
    norms `l1`, `l2` and `squared` are about all groups of a unit. Counts of persons count a person
    once in a group, whatever their rows.
    """

    groups: int
    per_group: int

    def to_record(self) -> dict[str, Any]:
        """The bounding as JSON values."""
        return {"kind": "groups", "groups": self.groups, "per_group": self.per_group}

    def in_words(self, numbers: Numbers) -> str:
        """The limit of one unit, as a phrase after the unit's name, such as "is counted once"."""
        groups = "one group" if self.groups == 1 else f"{self.groups:,} groups"
        words = f"is counted in at most {groups}"
        if len(numbers.units) == numbers.each:
            return words
        if self.per_group == 1:
            return f"{words}, once in each"
        return f"{words}, with at most {self.per_group:,} rows in each"

    @property
    def most_groups(self) -> int:
        """The most groups in which a unit counts."""
        return self.groups

    @property
    def replaced(self) -> ReplacedInUnlistedGroups:
        """The shifts if a unit is replaced by another."""
        return ReplacedInUnlistedGroups(within=self)

    def integer_limits(self, *, bits: int) -> tuple[int, int]:
        """The largest absolute integer of a unit in one coordinate, and in all its groups.

        An integer I stands for I·2^(−bits). The second limit is on the sum, over groups, of the
        largest absolute integer in the group.
        """
        most = self.per_group * 2**bits
        return most, most * self.groups

    def largest_sum(self, numbers: Numbers, *, bits: int) -> Fraction:
        """The largest integer of a unit in a group, since no sum over groups is computed."""
        del numbers
        return Fraction(self.per_group * 2**bits)

    def reach(self, numbers: Numbers, number: int) -> int:
        """The most by which a unit moves the number at the position `number` of a group."""
        return 1 if number in numbers.units else self.per_group

    def l1(self, numbers: Numbers) -> Fraction:
        """A bound on the l1 norm of the shift by one added unit, in all its groups together."""
        return Fraction(self.groups * sum(self._reaches(numbers)))

    def l2(self, numbers: Numbers) -> Fraction:
        """A bound on the l2 norm of the shift by one added unit, in all its groups together."""
        return root_above(self.squared(numbers))

    def squared(self, numbers: Numbers) -> Fraction:
        """A bound on the squared l2 norm of the shift by one added unit, in all its groups."""
        return Fraction(self.groups * sum(reach**2 for reach in self._reaches(numbers)))

    def sensitivities(self, numbers: Numbers) -> tuple[Sensitivity, ...]:
        """Alternative sensitivities; each of them bounds every shift of one group's row."""
        reaches = self._reaches(numbers)
        if len(reaches) == 1:
            return (Integer(reaches[0]),)
        ball = L2(root_above(Fraction(sum(reach**2 for reach in reaches))))
        return (Within(Box(bounds=reaches)), ball)

    def _reaches(self, numbers: Numbers) -> list[int]:
        return [self.reach(numbers, number) for number in range(numbers.each)]


@final
@dataclass(frozen=True, kw_only=True)
class ReplacedInUnlistedGroups(UnitShifts):
    """The shifts of a unit that is replaced by another, if both meet the limits `within`.

    A replacement counts as two shifts: one unit is removed, and the other is added. The
    `sensitivities` are for one of these shifts of one group's row. The norms `l1` and `l2` cover
    both shifts, in all groups.
    """

    within: InUnlistedGroups

    def sensitivities(self, numbers: Numbers) -> tuple[Sensitivity, ...]:
        """The sensitivities of one group's row if a unit is added or removed."""
        return self.within.sensitivities(numbers)

    def l1(self, numbers: Numbers) -> Fraction:
        """A bound on the l1 norm of both shifts together, in all groups of both units."""
        return 2 * self.within.l1(numbers)

    def l2(self, numbers: Numbers) -> Fraction:
        """A bound on the l2 norm of both shifts side by side, in all groups of both units.

        It counts a group with rows of both units as two groups.
        """
        return root_above(2 * self.within.squared(numbers))
