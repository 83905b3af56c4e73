"""A chart of dots with whiskers as SVG. Screen readers read its title, and the table beside it.

Positions are percentages of the width, so that letters have the same size on phone and desktop.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from leastnoise._words import html

_ROW, _TOP, _BOTTOM = 24, 6, 40
_CAP = 5
_LONGEST = 20  # letters in a line of a label


@final
@dataclass(frozen=True, kw_only=True)
class Dot:
    """A value and the ends of its interval, all finite."""

    label: str
    value: float
    low: float
    high: float


def dot_chart(title: str, dots: Sequence[Dot], *, unit: str, from_zero: bool) -> str:
    """An SVG of dots, each with its interval; with `from_zero` the axis includes 0.

    The SVG is "" without dots, or if no axis can show the values.
    """
    if not dots:
        return ""
    ends = [end for dot in dots for end in (dot.low, dot.value, dot.high)]
    low, high = min(ends), max(ends)
    if from_zero:
        low, high = min(0.0, low), max(0.0, high)
    if not (high == low or 1e-300 < high - low < 1e300):  # ticks and positions must be floats
        return ""
    ticks = _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])

    def at(value: float) -> str:
        return f"{100 * (value - low) / (high - low):.2f}%"

    foot = _TOP + _ROW * len(dots)
    height = foot + _BOTTOM
    middles = [_TOP + _ROW * index + _ROW // 2 for index in range(len(dots))]
    texts = [_lines(dot.label) for dot in dots]
    small = any(len(lines) > 1 for lines in texts)
    labels = [_label(lines, y, small=small) for lines, y in zip(texts, middles, strict=True)]
    grid = [
        f'<line class="grid" x1="{at(tick)}" x2="{at(tick)}" y1="{_TOP}" y2="{foot}"/>'
        f'<text class="tick" x="{at(tick)}" y="{foot + 15}" text-anchor="middle">{tick:,g}</text>'
        for tick in ticks
    ]
    drawn = [_dot(dot, y, at) for dot, y in zip(dots, middles, strict=True)]
    return (
        f'<svg class="chart" width="100%" height="{height}" role="img" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{html(title)}</title>'
        f"<desc>{len(dots)} values, each with 95 % of the noise; the table has the numbers.</desc>"
        f'{"".join(labels)}<svg x="36%" width="58%" overflow="visible">'
        f'{"".join(grid + drawn)}<text class="tick" x="50%" y="{height - 6}" text-anchor="middle">'
        f"{html(unit)}</text></svg></svg>"
    )


def _dot(dot: Dot, y: int, at: Callable[[float], str]) -> str:
    low, high = at(dot.low), at(dot.high)
    ends = [(low, high, y, y), (low, low, y - _CAP, y + _CAP), (high, high, y - _CAP, y + _CAP)]
    whiskers = (
        f'<line class="whisker" x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}"/>'
        for x1, x2, y1, y2 in ends
    )
    return f'{"".join(whiskers)}<circle class="dot" cx="{at(dot.value)}" cy="{y}" r="3.5"/>'


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers that cover the range from `low` to `high`."""
    if high == low:
        high = low + (abs(low) or 1)
    many = _space_ticks(low, high, 5)
    longest = 5  # letters of a tick's label, if there are six ticks
    if max(len(f"{tick:,g}") for tick in many) <= longest:
        return many
    return _space_ticks(low, high, 3)


def _space_ticks(low: float, high: float, steps: int) -> list[float]:
    raw = (high - low) / steps
    unit = 10 ** math.floor(math.log10(raw))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= raw)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(index * step, 12) for index in range(first, last + 1)]


def _lines(label: str) -> list[str]:
    """Split a label into one or two lines; a long label is cut."""
    first, *rest = textwrap.wrap(label, _LONGEST) or [""]
    if len(rest) > 1:
        rest = [f"{rest[0][: _LONGEST - 1]}…"]
    return [first, *rest]


def _label(lines: Sequence[str], y: int, *, small: bool) -> str:
    kind = ' class="small"' if small else ""
    bases = (y + 4,) if len(lines) == 1 else (y - 2, y + 9)
    return "".join(
        f'<text{kind} x="0" y="{base}">{html(line)}</text>'
        for line, base in zip(lines, bases, strict=True)
    )
