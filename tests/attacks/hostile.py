"""Hostile arguments by name. Some are other spellings of a plain value, their twin.

If a function accepts a value with a twin, its answer must be the answer for the twin. Other values
must be refused, or treated as what they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np


class _Sly(int):
    """An int whose comparisons are wrong."""

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return False

    def __le__(self, other: object) -> bool:
        return True

    def __ge__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class _Loose(float):
    """A float whose text is another number."""

    def __repr__(self) -> str:
        return "1000.0"

    __str__ = __repr__


class _Text(str):
    """A text whose str() is another text."""

    __slots__ = ()

    def __str__(self) -> str:
        return "1000"


class _Turning:
    """An object whose index grows with each call."""

    def __init__(self) -> None:
        self.asked = 0

    def __index__(self) -> int:
        self.asked += 1
        return self.asked

    __int__ = __index__

    def __float__(self) -> float:
        return math.nan


class _Agreeing:
    """An object that is equal to, larger and smaller than every other object."""

    def __eq__(self, other: object) -> bool:
        return True

    def __lt__(self, other: object) -> bool:
        return True

    __le__ = __gt__ = __ge__ = __lt__
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return True


class _Three(IntEnum):
    THREE = 3


def _endless() -> list[Any]:
    results: list[Any] = []
    results.append(results)
    return results


_SPELLED: dict[str, tuple[Callable[[], Any], Any]] = {
    **{f"np.{kind.__name__}(3)": (lambda kind=kind: kind(3), 3) for kind in (
        np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    )},
    **{f"np.{kind.__name__}(.5)": (lambda kind=kind: kind(0.5), 0.5) for kind in (
        np.float16, np.float32, np.float64, np.longdouble,
    )},
    "np.uint64(2**63)": (lambda: np.uint64(2**63), 2**63),
    "np.bool_": (lambda: np.bool_(True), True),
    "np.str_": (lambda: np.str_("1"), "1"),
    "Fraction(1, 3)": (lambda: Fraction(1, 3), "1/3"),
    "Decimal": (lambda: Decimal("0.5"), "0.5"),
    "IntEnum": (lambda: _Three.THREE, 3),
    "sly int": (lambda: _Sly(2), 2),
}  # fmt: skip
_ALONE: dict[str, Callable[[], Any]] = {
    **{repr(value): lambda value=value: value for value in (
        True, False, None, b"1", " 1 ", "", "1e400", "1/0", "0x1p3", "nan", "-inf", "1_0", "\u0661",
        "\x00", "\ud800", "a/../..", "1" * 2000, 0, -1, 1.5, 200.0, -0.0, 5e-324, 2.3e-308, 1e308,
        2**63, 2**64, 10**9, 1e-300, 1j, (), (1,), range(3), ..., "false", "gaussian", "l2",
    )},
    "10**400": lambda: 10**400,
    "-10**400": lambda: -(10**400),
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "-inf": lambda: -math.inf,
    "tiny Fraction": lambda: Fraction(1, 10**400),
    "long Fraction": lambda: Fraction(10**700 + 1, 10**700),
    "Decimal nan": lambda: Decimal("sNaN"),
    "Decimal huge": lambda: Decimal("1e999999"),
    "[]": list,
    "[1]": lambda: [1],
    "[None]": lambda: [None],
    "[[1]]": lambda: [[1]],
    "endless list": _endless,
    "{}": dict,
    "{1: 2}": lambda: {1: 2},
    "set": set,
    "object": object,
    "type": lambda: int,
    "lambda": lambda: lambda *_: 1,
    "generator": lambda: (i for i in range(3)),
    "Path": lambda: Path("nowhere"),
    "bytearray": lambda: bytearray(b"1"),
    "loose float": lambda: _Loose(0.5),
    "two-faced text": lambda: _Text("0.5"),
    "turning": _Turning,
    "agreeing": _Agreeing,
    "array of none": lambda: np.array([]),
    "array(3)": lambda: np.array(3),
    "array of nan": lambda: np.array([math.nan]),
    "array of objects": lambda: np.array([None, 1], dtype=object),
    "masked": lambda: np.ma.masked,
    "masked array": lambda: np.ma.array([1.0], mask=[True]),
    "array of complex": lambda: np.array([1j]),
    "datetime64": lambda: np.datetime64("2020-01-01"),
}  # fmt: skip

NAMES = (*_SPELLED, *_ALONE)


def made(name: str) -> Any:
    """The hostile value with this `name`."""
    return _SPELLED[name][0]() if name in _SPELLED else _ALONE[name]()


def has_twin(name: str) -> bool:
    """True if the value is another spelling of a plain value."""
    return name in _SPELLED


def twin(name: str) -> Any:
    """The plain value that the hostile value spells."""
    return _SPELLED[name][1]
