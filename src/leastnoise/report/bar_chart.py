"""A bar chart with error bars as SVG: read aloud by its title, and by the table beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from leastnoise._words import html

_WIDTH, _ROW, _TOP, _BOTTOM = 520, 22, 6, 34
_LONGEST = 28  # letters of a label


@final
@dataclass(frozen=True, kw_only=True)
class Bar:
    """A value and the ends of its interval, all finite."""

    label: str
    value: float
    low: float
    high: float


def bar_chart(title: str, bars: Sequence[Bar], *, unit: str) -> str:
    """Return an SVG of horizontal bars from 0, each with its interval.

    "" without bars, and for values that no axis can hold.
    """
    if not bars:
        return ""
    labels = [_shortened(bar.label) for bar in bars]
    left = min(200, 12 + 6.6 * max(map(len, labels)))  # of letters of about that width
    low = min(0.0, *(min(bar.low, bar.value) for bar in bars))
    high = max(0.0, *(max(bar.high, bar.value) for bar in bars))
    if not (high == low or 1e-300 < high - low < 1e300):  # ticks and places beyond are no floats
        return ""
    ticks = _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    width = _WIDTH - left - 30

    def at(value: float) -> float:
        return left + width * (value - low) / (high - low)

    height = _TOP + _ROW * len(bars) + _BOTTOM
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" xmlns="http://www.w3.org/2000/svg">',
        f"<title>{html(title)}</title>",
        f"<desc>{len(bars)} values, each with 95 % of the noise; the table has the numbers.</desc>",
    ]
    foot = height - _BOTTOM
    for tick in ticks:
        x = at(tick)
        parts.append(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{foot}"/>'
            f'<text class="tick" x="{x:.1f}" y="{foot + 14}" text-anchor="middle">{tick:,g}</text>'
        )
    for place, (bar, label) in enumerate(zip(bars, labels, strict=True)):
        parts.append(_bar(bar, label, left=left, y=_TOP + _ROW * place, at=at))
    parts.append(
        f'<text class="tick" x="{left + width / 2:.1f}" y="{height - 4}" text-anchor="middle">'
        f"{html(unit)}</text></svg>"
    )
    return "".join(parts)


def _bar(bar: Bar, label: str, *, left: float, y: float, at: Callable[[float], float]) -> str:
    start, end = sorted((at(0.0), at(bar.value)))
    low, high, middle = at(bar.low), at(bar.high), y + _ROW / 2
    return (
        f'<text x="{left - 8:.1f}" y="{middle + 4:.1f}" text-anchor="end">{html(label)}</text>'
        f'<rect class="bar" x="{start:.1f}" y="{y + 4:.1f}" width="{end - start:.1f}" '
        f'height="{_ROW - 8}"/>'
        f'<path class="error" d="M{low:.1f} {middle:.1f}H{high:.1f}M{low:.1f} {middle - 4:.1f}v8'
        f'M{high:.1f} {middle - 4:.1f}v8"/>'
    )


def _ticks(low: float, high: float) -> list[float]:
    """Return some round numbers from `low` to `high`, which are wider than them."""
    if high == low:
        high = low + 1
    raw = (high - low) / 5
    unit = 10 ** math.floor(math.log10(raw))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= raw)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(place * step, 12) for place in range(first, last + 1)]


def _shortened(label: str) -> str:
    return label if len(label) <= _LONGEST else label[: _LONGEST - 1] + "…"
