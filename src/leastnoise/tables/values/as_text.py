"""Python objects as texts, each by itself: what columns without a type hold, as CSV would."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal

import numpy as np

from leastnoise.tables.values.casts import MOST_DIGITS

_LARGEST = 10**MOST_DIGITS  # Python refuses to write whole numbers of some thousand digits


def as_text(value: object) -> str | None:
    r"""Return the text of a text, a number, a bool or a date; None, as missing, of all else.

    Of no other object is anything asked: what it would do is unknown.

    >>> [as_text(one) for one in ("n", 1.5, True, date(2026, 1, 31), float("nan"), [], "\ud800")]
    ['n', '1.5', 'true', '2026-01-31', None, None, None]
    """
    if isinstance(value, str):
        return _in_utf8(value)
    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = value.item()
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        return str(value) if abs(value) < _LARGEST else None
    if type(value) is float:
        return None if math.isnan(value) else repr(value)
    if type(value) is Decimal:
        return None if value.is_nan() else str(value)
    return value.isoformat() if type(value) is date else None


def _in_utf8(text: str) -> str | None:
    try:
        return str.encode(text, "utf-8").decode("utf-8")
    except UnicodeEncodeError:  # half of a pair of surrogates
        return None
