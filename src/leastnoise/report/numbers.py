"""Numbers of a page, as people read them, and the words beside them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from leastnoise import _words
from leastnoise._words import html

_WHOLE = 10**15  # from here on floats tell no units apart
_MOST_DIGITS = 12  # after the point


def as_float(value: Any) -> float:
    """Return a published value as a float, NaN for what is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def number(value: float) -> str:
    """Return a number: as `_words.tenths`, whole ones as such, with signs that a page has."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    whole = value == round(value) and abs(value) < _WHOLE
    text = f"{round(value):,}" if whole else _words.tenths(value, digits=4, comma=",")
    return text.replace("-", "−")


def beside_noise(value: float, low: float, high: float, *, whole: bool) -> tuple[str, str, str]:
    """Return a value and the ends of its interval with no more digits than the noise leaves.

    Two of half the interval, which is rounded outward, and of what is `whole` none after the point.

    >>> beside_noise(3.00412, 1.0249, 4.6116, whole=False)
    ('3.0', '1.0', '4.7')
    >>> beside_noise(394.2, 359.9, 428.4, whole=True)
    ('394', '359', '429')
    """
    half = (high - low) / 2
    if not (math.isfinite(half) and 0 < half < _WHOLE and abs(value) < _WHOLE):
        return number(value), number(low), number(high)
    digits = max(0, 1 - math.floor(math.log10(half)))
    if digits > _MOST_DIGITS:
        return number(value), number(low), number(high)
    unit = 10.0 ** (0 if whole else digits)
    ends = round(value * unit) / unit, math.floor(low * unit) / unit, math.ceil(high * unit) / unit
    told = [f"{end:,.{0 if whole else digits}f}".replace("-", "−") for end in ends]
    return told[0], told[1], told[2]


def as_list(lines: Sequence[str]) -> str:
    """Return sentences as a list; no line ends within a number such as 1e-6."""
    items = (re.sub(r"(\d)e-(\d)", "\\1e\u2011\\2", html(line)) for line in lines)
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def wide_table(name: str, caption: str, heads: Sequence[str], rows: Sequence[str]) -> str:
    """Return a table that scrolls by itself; `rows` are HTML, all else is text."""
    head = "".join(f'<th scope="col">{html(one)}</th>' for one in heads)
    told = f"<caption>{html(caption)}</caption>" if caption else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{html(name)}, table"><table>'
        f"{told}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
