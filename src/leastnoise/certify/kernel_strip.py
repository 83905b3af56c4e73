"""Where L(y, φ) = ln f(y + φ) − ln f(y) − ε is positive, for all shifts φ of a cell at once.

theory/noise.md §1. Lengths in σ; ℓ = (ln f)′ = m(x) − x with m increasing (`noise.kernels`), so
∂L/∂φ = ℓ(y + φ) and ∂L/∂y = m(y + φ) − m(y) − φ are bounded on a box by m at its corners. With
S = {y: L > 0}, H(φ) = ∫_S f(y + φ) − e^ε f(y) dy and H′(φ) = ∫_S f′(y + φ) dy.

The line is cut into items. Each is proved to lie in S, or outside it, or to cross its border once
at most (∂L/∂y has one sign), or nothing is known of it: then it counts both ways. So no sign change
can be missed, and Descartes' bound on their number is not needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import final

from flint import arb

from leastnoise.certify.kernel_law import KernelLaw, Point


class Side(Enum):
    """What is proved of an item, for every shift of the cell."""

    INSIDE = "L > 0"
    OUTSIDE = "L <= 0"
    FALLING = "from L > 0 to L < 0, once at most"
    RISING = "from L < 0 to L > 0, once at most"
    UNKNOWN = "nothing"


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """A stretch [first, last] of the line; `slope_u`, `steepness`, `f` hold for its whole box.

    notation: slope_u = ℓ(y + φ), slope_y = ℓ(y), steepness = ∂L/∂y, f = f(y + φ), rise = L.
    """

    side: Side
    first: arb
    last: arb
    at_first: Point
    at_last: Point
    slope_u: arb
    slope_y: arb
    steepness: arb
    rise: arb
    f: arb


@final
@dataclass(frozen=True, kw_only=True)
class Shifts:
    """The cell of shifts [low, high], in σ."""

    low: arb
    high: arb

    @property
    def middle(self) -> arb:
        """A shift inside, exact."""
        return ((self.low + self.high) / 2).mid()

    @property
    def around(self) -> arb:
        """A ball about 0 that holds φ − middle for all φ of the cell."""
        return (self.low - self.middle).union(self.high - self.middle)

    @property
    def width(self) -> arb:
        """High − low."""
        return self.high - self.low


@final
@dataclass(frozen=True, kw_only=True)
class Strip:
    """All the line for one cell of shifts, at one ε.

    Left of the items L > 0 (or, if not `tail_inside`, nothing is known); right of them L <= 0.
    """

    law: KernelLaw
    epsilon: arb
    shifts: Shifts
    items: tuple[Item, ...]
    tail_inside: bool

    @classmethod
    def over(cls, law: KernelLaw, epsilon: arb, shifts: Shifts) -> Strip:
        """Cut the line for `shifts`.

        L > 0 for y < −Kt − φ/2 − ε/φ, as ln f + y²/2 has slope at least −Kt; that border is concave
        in φ, so least at an end of the cell. For y >= Kt, f falls on [y, y + φ].
        """
        end = law.last
        far = float((-end - shifts.high - 60).lower())
        border = [-end - phi / 2 - epsilon / phi for phi in (shifts.low, shifts.high) if phi > 0]
        first = min(float(b.lower()) for b in border) - 1 if shifts.low > 0 else far
        inside = first > far
        first = max(first, far)
        t, last = float(law.spacing), float(end.upper()) * (1 + 1e-12) + 1e-9
        step = max(t / 4, 0.25) if not law.folded else t / 4
        count = max(1, min(4000, int(2 * last / step)))
        nodes = [first, -last - float(shifts.high), -last]
        nodes += [-last + 2 * last * i / count for i in range(1, count + 1)]
        nodes += [0.0, -float(shifts.middle)] if law.folded else []
        ends = [arb(x) for x in sorted(set(nodes)) if first <= x]
        points = [law.at(x) for x in ends]
        strip = cls(law=law, epsilon=epsilon, shifts=shifts, items=(), tail_inside=inside)
        items: list[Item] = []
        for i in range(len(ends) - 1):
            items += strip._examined(ends[i], ends[i + 1], points[i], points[i + 1])
        return replace(strip, items=tuple(_merged(items)))

    def narrowed(self, shifts: Shifts) -> Strip:
        """Return the strip for a smaller cell; what is proved is kept."""
        return replace(self, shifts=shifts).refined(None)

    def refined(self, worth: arb | None, *, turns_only: bool = False) -> Strip:
        """Look again at all that is not settled; in halves if it is unknown and above `worth`.

        `turns_only`: in halves only where f may turn, to bound what f′ < 0 can take from H′.
        """
        items: list[Item] = []
        for item in self.items:
            if item.side in {Side.INSIDE, Side.OUTSIDE}:
                items.append(item)
            elif worth is not None and _worth_halving(item, worth, turns_only=turns_only):
                middle = ((item.first + item.last) / 2).mid()
                point = self.law.at(middle)
                items += self._examined(item.first, middle, item.at_first, point)
                items += self._examined(middle, item.last, point, item.at_last)
            else:
                items += self._examined(item.first, item.last, item.at_first, item.at_last)
        return replace(self, items=tuple(_merged(items)))

    def _examined(self, first: arb, last: arb, at_first: Point, at_last: Point) -> list[Item]:
        """Return what is proved of [first, last]; a crossing is closed in on by Newton's method."""
        left: list[Item] = []
        right: list[Item] = []
        while True:
            item = self._classified(first, last, at_first, at_last)
            if item.side not in {Side.FALLING, Side.RISING}:
                break
            middle = ((first + last) / 2).mid()
            root = middle - self._rise_at(middle)[0] / item.steepness
            low, high = root.lower(), root.upper()
            low = low.mid() if low > first else first
            high = high.mid() if high < last else last
            if not high > low:  # at an end, or nowhere: what is known stands
                break
            if not (high - low) * 2 < last - first:
                break
            outer = (Side.INSIDE, Side.OUTSIDE)
            before, after = outer if item.side is Side.FALLING else outer[::-1]
            at_low = self.law.at(low) if low > first else at_first
            at_high = self.law.at(high) if high < last else at_last
            if low > first:
                left.append(replace(item, side=before, last=low, at_last=at_low))
            if high < last:
                right.append(replace(item, side=after, first=high, at_first=at_high))
            first, last, at_first, at_last = low, high, at_low, at_high
        return [*left, item, *reversed(right)]

    def _rise_at(self, y: arb) -> tuple[arb, arb]:
        """L(y, φ) over the cell, and f(y + φ) at its middle, logarithmic."""
        middle = self.shifts.middle
        u = self.law.at(y + middle)
        centre = u.log_f - self.law.at(y).log_f - self.epsilon
        if self.shifts.width == 0:
            return centre, u.log_f
        low, high = self.law.at(y + self.shifts.low), self.law.at(y + self.shifts.high)
        slope = (low.before - y - self.shifts.high).union(high.after - y - self.shifts.low)
        return centre + slope * self.shifts.around, u.log_f

    def _classified(self, first: arb, last: arb, at_first: Point, at_last: Point) -> Item:
        law, shifts = self.law, self.shifts
        low, high = law.at(first + shifts.low), law.at(last + shifts.high)
        # a kink at the very end of the item is outside of it
        slope_y = (at_first.after - last).union(at_last.before - first)
        slope_u = (low.before - last - shifts.high).union(high.after - first - shifts.low)
        steepness = low.before - at_last.before - shifts.high
        steepness = steepness.union(high.after - at_first.after - shifts.low)
        middle = ((first + last) / 2).mid()
        half = arb(0).union(last - first) - (middle - first)
        u = law.at(middle + shifts.middle)
        rise = u.log_f - law.at(middle).log_f - self.epsilon
        rise += steepness * half + slope_u * shifts.around
        f = (u.log_f + slope_u * (half + shifts.around)).exp()
        # L = ∫ ℓ over [y, y + φ] − ε: where f falls all along, it is at most −ε
        falls = high.after - first <= 0
        rises = self.epsilon == 0 and at_first.after - last - shifts.high >= 0
        return Item(
            side=_side(rise, steepness, falls=bool(falls), rises=bool(rises)),
            first=first,
            last=last,
            at_first=at_first,
            at_last=at_last,
            slope_u=slope_u,
            slope_y=slope_y,
            steepness=steepness,
            rise=rise,
            f=f,
        )


def _side(rise: arb, steepness: arb, *, falls: bool, rises: bool) -> Side:
    if falls or rise <= 0:
        return Side.OUTSIDE
    if rises or rise > 0:
        return Side.INSIDE
    if steepness < 0:
        return Side.FALLING
    return Side.RISING if steepness > 0 else Side.UNKNOWN


def _worth_halving(item: Item, worth: arb, *, turns_only: bool) -> bool:
    """Return whether the item, unknown, may change H′ by more than `worth`."""
    if item.side is not Side.UNKNOWN:
        return False
    if turns_only and (item.slope_u > 0 or item.slope_u < 0):
        return False
    return not (item.last - item.first) * item.f * abs(item.slope_u) < worth


def _merged(items: list[Item]) -> list[Item]:
    """Join neighbours of the same kind.

    Two falling ones in a row are one: L falls throughout, for every shift of the cell.
    """
    merged: list[Item] = []
    for item in items:
        if not merged or merged[-1].side is not item.side or item.side is Side.UNKNOWN:
            merged.append(item)
        elif item.side in {Side.INSIDE, Side.OUTSIDE}:
            merged[-1] = replace(merged[-1], last=item.last, at_last=item.at_last)
        else:
            merged[-1] = _joined(merged[-1], item)
    return merged


def _joined(left: Item, right: Item) -> Item:
    return replace(
        left,
        last=right.last,
        at_last=right.at_last,
        slope_u=left.slope_u.union(right.slope_u),
        slope_y=left.slope_y.union(right.slope_y),
        steepness=left.steepness.union(right.steepness),
        rise=left.rise.union(right.rise),
        f=left.f.union(right.f),
    )
