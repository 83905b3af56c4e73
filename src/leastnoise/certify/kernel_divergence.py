"""H, H′ and H″ of sums of Gaussian kernels, enclosed from what is proved of a strip.

notation as in `kernel_strip`: S = {L > 0}, u = y + φ, ℓ = (ln f)′.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from flint import arb

from leastnoise.certify.kernel_strip import Item, Side, Strip


@final
@dataclass(frozen=True, kw_only=True)
class SlopeBounds:
    """low <= H′ <= high; balls of their own, so that a bound of exactly 0 stays one."""

    low: arb
    high: arb

    @property
    def magnitude(self) -> arb:
        """A bound of |H′|."""
        return (-self.low).max(self.high).max(arb(0))

    @property
    def hull(self) -> arb:
        """One ball."""
        return self.low.union(self.high)


def _borders(strip: Strip) -> Iterator[tuple[Item, int, bool]]:
    """Yield the borders of S from left to right: item, sign, and whether it is a crossing.

    The sign is +1 where S ends and −1 where it begins; what isn't a crossing is at item.first.
    Unknown items come with sign 0.
    """
    inside = strip.tail_inside
    for item in strip.items:
        starts_inside = item.side in {Side.INSIDE, Side.FALLING}
        if inside != starts_inside:
            yield item, 1 if inside else -1, False
        inside = item.side in {Side.INSIDE, Side.RISING}
        if item.side in {Side.FALLING, Side.RISING}:
            yield item, 1 if item.side is Side.FALLING else -1, True
        elif item.side is Side.UNKNOWN:
            yield item, 0, False


def slope_bounds(strip: Strip) -> SlopeBounds:
    """Bound H′ over the cell: Σ ± f(u) at the borders, and ∫ f′ of what is unknown, both ways."""
    low, high, zero = arb(0), arb(0), arb(0)
    for item, sign, crossing in _borders(strip):
        if sign == 0:
            most = (item.last - item.first) * item.f.upper()
            low += most * item.slope_u.lower().min(zero)
            high += most * item.slope_u.upper().max(zero)
            continue
        f = item.f if crossing else _density_at(strip, item.first)
        least, most = f.lower().max(zero), f.upper()
        low += least if sign > 0 else -most
        high += most if sign > 0 else -least
    if not strip.tail_inside:  # f rises there
        high += _density_at(strip, strip.items[0].first).upper()
    return SlopeBounds(low=low, high=high)


def _density_at(strip: Strip, y: arb) -> arb:
    """Enclose f(y + φ) over the cell."""
    shifts = strip.shifts
    middle = strip.law.at(y + shifts.middle).log_f
    low, high = strip.law.at(y + shifts.low), strip.law.at(y + shifts.high)
    slope = (low.before - y - shifts.high).union(high.after - y - shifts.low)
    return (middle + slope * shifts.around).exp()


def curvature(strip: Strip) -> arb:
    """Enclose H″ = Σ f(u)ℓ(u)ℓ(y)/|∂L/∂y| over the cell; NaN where a border isn't a crossing."""
    total = arb(0)
    if not strip.tail_inside:
        return arb.nan()
    for item, _, crossing in _borders(strip):
        if not crossing:
            return arb.nan()
        total += item.f * item.slope_u * item.slope_y / abs(item.steepness)
    return total


def divergence(strip: Strip) -> arb:
    """Enclose H at a single shift: P − cQ of a set near S, and what the rest of S can add.

    Any set A has P(A) − cQ(A) <= H; what is missing is at most the integral of |f(u) − c f(y)| over
    the items that are cut or left out, f(u) − c f(y) = f(u)(1 − e^(−L)).
    """
    law, c = strip.law, strip.epsilon.exp()
    phi = strip.shifts.low

    def gap(y: arb) -> arb:
        return law.distribution(y + phi) - c * law.distribution(y)

    total, missing = arb(0), arb(0)
    for item, sign, crossing in _borders(strip):
        place = ((item.first + item.last) / 2).mid() if crossing else item.first
        if sign:
            total += sign * gap(place)
        if crossing or not sign:
            missing += (item.last - item.first) * item.f * abs(1 - (-item.rise).exp())
    if not strip.tail_inside:
        missing += law.distribution(strip.items[0].first + phi)
    return total + arb(0).union(missing.upper())
