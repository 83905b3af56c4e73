"""Hostile values by the kind of argument. Every function must refuse them with a clear error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

BIG = 10**400  # no float, and its decimal is longer than Python prints
ANY_KIND: tuple[Any, ...] = (
    object(), 1j, np.complex64(1), b"1", np.ma.masked, np.array(["x"]), len, int, {"a": 1}, {1},
    np.datetime64("2020-01-01"),
)  # fmt: skip
NO_NUMBER = (
    *ANY_KIND, True, np.True_, " 1 ", "x", "", math.nan, np.float32("nan"), np.longdouble(1), [],
    [1], np.array(1), np.ma.array(1, mask=True), np.timedelta64(1), np.timedelta64(1, "s"),
    Decimal("sNaN"),
)  # fmt: skip
HOSTILE: Mapping[str, tuple[Any, ...]] = {
    "whole": (*NO_NUMBER, None, 1.0, 200.0, np.float64(2), 1.5, "1", Fraction(1), Decimal(1), -1,
              math.inf, BIG, -BIG, float(2**63)),
    "exact": (*NO_NUMBER, None, math.inf, -math.inf, BIG, "1e999", "1,5", Fraction(1, BIG)),
    "flag": (*ANY_KIND, None, 0, 1, "false", "", np.array(True), [], 1.0, np.int64(1), -1),
    "text": (*ANY_KIND, None, 1, True, math.nan, [], ["l2"], BIG),
    "word": (*ANY_KIND, None, 1, True, math.nan, [], ["l2"], "nonsense", "", BIG),
    "float": (*NO_NUMBER, None, "0.5", BIG, Fraction(1, 3), Decimal(1)),
    "exacts": (*ANY_KIND, None, 1, "12", [None], [True], [[1]], [" 1 "], np.array(1), math.nan),
    "wholes": (*ANY_KIND, None, 1, "12", [None], [True], [1.0], ["1"], [[1]], np.array([1.0])),
    "rows": (*ANY_KIND, None, 1, "12", [1], ["12"], [[None]], [[True]], [[math.nan]], [], BIG),
    "pairs": (*ANY_KIND, None, 1, "12", [1], [(1,)], ["ab"], [(1, 2)], [], BIG),
    "object": (*ANY_KIND, None, 1, True, "x", math.nan, [1], BIG),
    "function": (object(), 1j, b"1", {1}, None, 1, True, "x", "x.y", ":", math.nan, [1], BIG),
    "objects": (*ANY_KIND, None, 1, "12", [None], [True], [1.0], ["1"], [[1]], [], [len], BIG),
    "table": (*ANY_KIND[:-3], ANY_KIND[-1], 1, True, "x", [1], [("modes", 1)], {1: 2}, BIG),
    "path": (*ANY_KIND, None, 1, True, math.nan, [], BIG),
}  # fmt: skip
