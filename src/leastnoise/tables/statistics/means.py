"""Means: a noisy sum over a noisy count, inside the bounds of the column.

notation: S = the sum of the values, centred and scaled to [−1, 1]; n = their count, both noisy;
middle and half = those of the bounds; t and u = half975 of the noise of S and of n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise.tables.statistics.base import (
    CLOSE,
    SUFFIXES,
    Beside,
    ColumnIs,
    Component,
    Floats,
    Four,
    Ingredients,
    Statistic,
    bounds_of,
    count_of,
    outside,
)

if TYPE_CHECKING:
    from leastnoise.tables.spec.model import Spec

_ROUNDING = 4e-15  # relative, of a value that was computed in a few steps
_AMPLIFIED = 1e-12  # that, after a division by a count that noise may have brought near 0
_NEAR = 1e-4  # where a mean's interval depends on n or S beyond what the table shows


@final
@dataclass(frozen=True, kw_only=True)
class Mean(Statistic):
    """`mean(column)`: middle + half·S/n. Where n <= 0 it is the middle, which looks no further."""

    kind: ClassVar[str] = "mean"
    column_is: ClassVar[ColumnIs] = "required"
    of_values: ClassVar[bool] = True
    counts: ClassVar[bool] = False
    clamps: ClassVar[bool] = False
    needs_size: ClassVar[bool] = True

    def components(self, spec: Spec, *, by_row: bool) -> tuple[Component, ...]:
        """The value, and the count that it is divided by."""
        del by_row
        low, high = bounds_of(spec, self.column)
        centre, radius = (low + high) / 2, (high - low) / 2
        value = Component(
            kind="value", column=self.column, centre=centre, radius=radius, lowers=True
        )
        return value, count_of(spec, self.column)

    def values(self, own: Ingredients, numbers: Sequence[Floats]) -> Four:
        """All inside the bounds.

        std: delta method, half·√(σ_S² + (S/n)²σ_n²)/n, and at most `half`, since the value can't
        leave [middle − half, middle + half]. low, high: S and n each lie in an interval of 97.5 %,
        so both do with 95 % (Bonferroni), and S/n is between the corners of that box if it keeps
        n > 0; otherwise anything within the bounds is possible.
        """
        middle, half = own.middle, own.unit
        numerator, count = numbers
        positive = count > 0
        divisor = np.where(positive, count, 1.0)
        ratio = np.where(positive, np.clip(numerator / divisor, -1.0, 1.0), 0.0)
        of_numerator, of_count = own.noise
        deviation = np.hypot(of_numerator.std, ratio * of_count.std) / divisor
        std = half * np.where(positive, np.minimum(deviation, 1.0), 1.0)
        t, u = of_numerator.half975, of_count.half975
        sure = count - u > 0
        least, most = np.where(sure, count - u, 1.0), count + u
        below, above = numerator - t, numerator + t
        low = np.where(sure, np.minimum(below / least, below / np.where(sure, most, 1.0)), -1.0)
        high = np.where(sure, np.maximum(above / least, above / np.where(sure, most, 1.0)), 1.0)
        below, above = (middle + half * np.clip(end, -1.0, 1.0) for end in (low, high))
        return middle + half * ratio, std, below, above

    def expected_std(self, own: Ingredients, stds: Sequence[float], rows: int | None) -> float:
        """It is largest at a bound, where S = ±n."""
        return own.unit * min(math.hypot(*stds) / _size(rows), 1.0)

    def expected_half_width(self, own: Ingredients, rows: int | None) -> float:
        """The half-width of [S − t, S + t]/[n − u, n + u], cut off at ±1, with S/n in [−1, 1].

        It is widest where one end just meets a bound, S + t = n − u: (t + u)/(n + u) of `half` if
        S >= t there. Else it is widest at S = 0: t/(n − u).
        """
        n = float(_size(rows))
        t, u = (noise.half975 for noise in own.noise)
        widest = 1.0
        if n >= 2 * t + u:
            widest = (t + u) / (n + u)
        elif n > t + u:
            widest = t / (n - u)
        return own.unit * widest

    def stated_std(self, own: Ingredients) -> None:
        """It depends on what was drawn."""

    def wrong_suffix(self, own: Ingredients, told: Sequence[Floats], beside: Beside) -> str | None:
        """All are inside the bounds; `_std` tells the count, and both tell the interval."""
        value, std, low, high = told
        middle, half = own.middle, own.unit
        slack = CLOSE * half + _ROUNDING * abs(middle)
        limits = (
            (middle - half, middle + half),
            (0.0, half),
            (middle - half, value),
            (value, middle + half),
        )
        for suffix, number, (least, most) in zip(SUFFIXES, told, limits, strict=True):
            if outside(number, least, most, slack):
                return suffix
        counts = beside.get(own.components[1:], ())
        if not (std > 0).all() or not all(_fits(own, value, std, count) for count in counts):
            return "_std"
        for suffix, end, (least, most) in zip(
            SUFFIXES[2:], (low, high), self._limits(own, value, std), strict=True
        ):
            if outside(end, least, most, CLOSE * half + _AMPLIFIED * abs(middle)):
                return suffix
        return None

    def _limits(
        self, own: Ingredients, value: Floats, std: Floats
    ) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Return the least and the largest `_low` of each value and its `_std`; then `_high`."""
        middle, half = own.middle, own.unit
        ratio = (value - middle) / half
        of_total, of_count = (noise.std for noise in own.noise)
        count = half * np.hypot(of_total, ratio * of_count) / std
        low, high = self.values(own, [ratio * count, count])[2:]
        step = count * (1 + _NEAR), count * (1 - _NEAR)
        more, less = (self.values(own, [ratio * n, n])[2:] for n in step)
        known = (std < half * (1 - _NEAR)) & (np.abs(ratio) < 1 - _NEAR)

        def around(end: Floats, one: Floats, other: Floats) -> tuple[Floats, Floats]:
            # its change with n: a relative error of 1e-9 in n is 1e-5 of this
            change = np.maximum(np.abs(one - end), np.abs(other - end))
            least = np.where(known, end - change, middle - half)
            return least, np.where(known, end + change, middle + half)

        return around(low, more[0], less[0]), around(high, more[1], less[1])


def _size(rows: int | None) -> int:
    if rows is None:
        raise TypeError("a mean's error is that of a group of so many rows")
    return rows


def _fits(own: Ingredients, value: Floats, std: Floats, count: Floats) -> bool:
    """Whether values and `_std` of means are those of the count that is published beside them."""
    middle, half = own.middle, own.unit
    of_total, of_count = (noise.std for noise in own.noise)
    deviation = half * np.hypot(of_total, (value - middle) / half * of_count)
    away = 0.5 if own.round else 0.0
    least, most = (
        np.where(n > 0, np.minimum(deviation / n, half), half) for n in (count + away, count - away)
    )
    room = CLOSE + _ROUNDING * abs(middle) / half
    fits = (std >= least * (1 - room)) & (std <= most * (1 + room))
    none = (count + away <= 0) & (np.abs(value - middle) > CLOSE * half + _ROUNDING * abs(middle))
    return bool((fits & ~none).all())
