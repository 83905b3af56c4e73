"""One door for arguments: whatever a caller hands over becomes one of a few plain types here.

| function | returns | takes beside it |
|---|---|---|
| `whole`, `dimension` | `int` | numpy's whole numbers |
| `flag` | `bool` | `numpy.bool_` |
| `real` | `float` | whole numbers and numpy's floats that a float64 holds exactly |
| `text`, `one_of` | `str` | `numpy.str_` |
| `instance` | what it was given | nothing |
| `items`, `pairs` | `tuple` | lists, arrays and all else that is gone through in order |
| `table` | `dict` | other mappings |
| `path` | `Path` | text |

Exact numbers have a door of their own, `guarantees.exact`. Why conversion and not a check alone: a
`numpy.uint8` wraps at 256 and a float rounds, so that neither may get into arithmetic that a
guarantee rests on. Every refusal names the argument, what was expected and what to do, and quotes
numbers and texts alone: of anything else its type, since it may hold data.
"""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

from leastnoise.errors import MOST_SHOWN, InvalidArgument, is_short, shown

MAX_DIMENSION = 10**9
MAX_COUNT = 2**53
"""The most releases that are accounted for together: floats tell all whole numbers apart to here,
and proofs raise to this power."""

NUMBERS = 'a list of numbers, such as ["0.5", 1]'

_WITH_COMMA = re.compile(r"([+-]?[0-9]+),([0-9]{1,2}|[0-9]{4,})")  # 1,500 may mean either
_PERCENTAGE = re.compile(r"([+-]?[0-9]+\.?[0-9]*) ?%")

T = TypeVar("T")


def whole(
    value: object, *, name: str, least: int = 1, most: int = MAX_COUNT, hint: str = ""
) -> int:
    """Return `value` as an int; raises InvalidArgument unless it is whole and within the bounds.

    Refused are bools, floats (200.0 among them), texts and arrays.

    >>> whole(3, name="count")
    3
    """
    number = as_int(value)
    if number is None or not least <= number <= most:
        raise InvalidArgument(
            name=name,
            value=shown(value),
            expected=f"{name} >= {least}, a whole number{_at_most(most)}",
            hint=_write_an_int(value, name) if number is None else hint,
        )
    return number


def wholes(values: object, *, name: str, least: int = 1, most: int = MAX_COUNT) -> tuple[int, ...]:
    """Return all of `values` as ints; raises InvalidArgument like `whole` for any of them."""
    listed = items(values, name=name, like="whole numbers, such as [2, 1]")
    return tuple(
        value
        if type(value) is int and least <= value <= most
        else whole(value, name=name, least=least, most=most)
        for value in listed
    )


def any_wholes(values: object, *, name: str) -> tuple[int, ...]:
    """Return all of `values` as ints of any size and sign; raises InvalidArgument like `wholes`."""
    listed = items(values, name=name, like="whole numbers, such as [2, 1]")
    found: list[int] = []
    for value in listed:
        number = value if type(value) is int else as_int(value)
        if number is None:
            expected = f"{name} to be whole numbers"
            raise InvalidArgument(name=name, value=shown(value), expected=expected)
        found.append(number)
    return tuple(found)


def as_int(value: object) -> int | None:
    """Return the int that `value`, of any whole-number type, is; None if it is of another type."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        return None
    try:
        return operator.index(value)
    except TypeError:  # numpy.timedelta64 says that it is a whole number
        return None


def _at_most(most: int) -> str:
    if most == MAX_COUNT:
        return " of at most 2^53"
    return f" of at most {most:,}" if is_short(most) else ""


def _write_an_int(value: object, name: str) -> str:
    """Return a hint: the int to write in place of `value`."""
    number = _as_float(value)
    if number is not None and float(number).is_integer() and abs(number) < MAX_COUNT:
        return f"Write {name}={int(number)}."
    return f"Give {name} as an int, like 3."


def dimension(value: object, *, name: str = "dimension") -> int:
    """Return `value` if it is a possible number of coordinates."""
    hint = "It is the number of coordinates that are released together."
    return whole(value, name=name, most=MAX_DIMENSION, hint=hint)


def flag(value: object, *, name: str) -> bool:
    """Return `value` as a bool; raises InvalidArgument for all but bools, "false" and 0 too."""
    if isinstance(value, bool):
        return value
    kind = type(value)  # numpy isn't imported here: the command line's help needn't pay for it
    if (kind.__module__, kind.__name__) == ("numpy", "bool"):
        return bool(value)
    raise InvalidArgument(name=name, value=shown(value), expected=f"{name} to be True or False")


def real(value: object, *, name: str, hint: str = "") -> float:
    """Return `value`, a real number that floats hold exactly, inf among them, as a float.

    Raises InvalidArgument for NaN, for what a float would round, and for texts and bools.
    """
    number = _as_float(value)
    if number is None or math.isnan(number):
        raise InvalidArgument(
            name=name, value=shown(value), expected=f"{name} to be a float, not NaN", hint=hint
        )
    return number


def _as_float(value: object) -> float | None:
    """Return the float that equals `value`, None if there is none."""
    if isinstance(value, float):  # numpy.float64 is one
        return float(value)
    exact = value if isinstance(value, Fraction) else as_int(value)
    if exact is not None:
        try:
            number = float(exact)
        except OverflowError:
            return None
        return number if Fraction(number) == exact else None
    if not isinstance(value, Real) or isinstance(value, Integral):
        return None
    # of numpy's floats a float64 holds those of 8 bytes or fewer exactly
    return float(value) if 0 < getattr(value, "nbytes", 0) <= 8 else None


def text(value: object, *, name: str, longest: int | None = None, hint: str = "") -> str:
    """Return `value` as a str; raises InvalidArgument unless it is one, of printable characters.

    With `longest` there has to be one character at least, and `longest` at most.
    """
    if not isinstance(value, str):
        raise InvalidArgument(
            name=name, value=shown(value), expected=f"{name} to be a text", hint=hint
        )
    if longest is not None and not (0 < len(value) <= longest and value.isprintable()):
        raise InvalidArgument(
            name=name,
            value=repr(value[:MOST_SHOWN]),
            expected=f"1 to {longest} printable characters",
        )
    return str(value)


def one_of(value: object, allowed: Sequence[str], *, name: str) -> str:
    """Return `value` if it is among `allowed`; otherwise name the nearest."""
    if isinstance(value, str) and value in allowed:
        return str(value)
    raise InvalidArgument(
        name=name,
        value=shown(value),
        expected=f"{name} to be one of {', '.join(allowed)}",
        hint=nearest(value, allowed) if isinstance(value, str) else "",
    )


def nearest(value: str, allowed: Sequence[str]) -> str:
    """Return "Did you mean …?" for the closest of `allowed`, or nothing; of many it takes long."""
    name = nearest_name(value, allowed)
    return "" if name is None else f"Did you mean {name}?"


def nearest_name(value: str, allowed: Sequence[str]) -> str | None:
    """Find the one of `allowed` that is a few slips of typing from `value`; capitals don't matter.

    One slip in up to five letters, two in up to eight, three in more; none in a single letter. A
    slip is a letter too much, too few, another one, or two in the wrong order.

    >>> nearest_name("gausian", ["gaussian", "laplace"]), nearest_name("sqrt", ["quarter", "or"])
    ('gaussian', None)
    """
    if len(allowed) > 200 or len(value) > MOST_SHOWN:
        return None
    slips = {other: _slips(value.casefold(), other.casefold()) for other in allowed}
    best = min(slips, key=lambda other: slips[other], default=None)
    most = (len(value) > 1) + (len(value) > 5) + (len(value) > 8)
    return best if best is not None and slips[best] <= most else None


def _slips(first: str, second: str) -> int:
    """The least number of slips of typing from one text to the other, each letter in one slip."""
    before, row = [], list(range(len(second) + 1))
    for i, letter in enumerate(first, 1):
        above, before, row = before, row, [i]
        for j, other in enumerate(second, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other:
                least = min(least, above[j - 2] + 1)
            row.append(least)
    return row[-1]


def number_like(text: str | None) -> str:
    """Return how to write what was meant by a text with a comma or a percent sign, or nothing.

    >>> number_like("1,5"), number_like("50%"), number_like("1e-5")
    ('Write it with a point: 1.5.', 'Write the percentage as 0.5.', '')
    """
    if text is None or len(text) > MOST_SHOWN:
        return ""
    if found := _WITH_COMMA.fullmatch(text):
        return f"Write it with a point: {found[1]}.{found[2]}."
    if found := _PERCENTAGE.fullmatch(text):
        share = Decimal(found[1]).scaleb(-2).normalize()
        return f"Write the percentage as {share:f}."
    return "Write no comma." if "," in text else ""


def instance(
    value: object, kind: type[T] | tuple[type[T], ...], *, name: str, like: str, hint: str = ""
) -> T:
    """Return `value` if it is a `kind`; otherwise say what one is `like`: "a Budget"."""
    if isinstance(value, kind):
        return value
    raise InvalidArgument(name=name, value=shown(value), expected=f"{name} to be {like}", hint=hint)


def items(value: object, *, name: str, like: str) -> tuple[Any, ...]:
    """Return the items of `value`, in order; it is to be `like` "numbers, such as [1, 2]".

    A text is refused, whose characters would be taken for the items, and what has no order.
    """
    return tuple(in_order(value, name=name, like=like))


def in_order(value: object, *, name: str, like: str) -> Iterator[Any]:
    """Return an iterator over what `items` returns: for what no memory holds at once."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | Set):
        try:
            return iter(value)
        except TypeError:  # a numpy array of no dimension
            pass
    raise InvalidArgument(name=name, value=shown(value), expected=f"{name} to be {like}")


def pairs(value: object, *, name: str, like: str) -> tuple[tuple[Any, Any], ...]:
    """Return the pairs in `value`, in order; `like` as in `items`."""
    found: list[tuple[Any, Any]] = []
    for one in items(value, name=name, like=like):
        pair = items(one, name=name, like=like)
        if len(pair) != 2:
            raise InvalidArgument(
                name=name, value=f"one of {len(pair)}", expected=f"{name} to be {like}"
            )
        found.append((pair[0], pair[1]))
    return tuple(found)


def table(value: object, *, name: str) -> dict[str, Any]:
    """Return a mapping whose keys are texts as a dict, an empty one for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidArgument(
            name=name, value=shown(value), expected=f"{name} to be a dict whose keys are names"
        )
    return {str(key): one for key, one in value.items()}


def listener(value: Callable[[str], object] | None) -> Callable[[str], object] | None:
    """Return `value`, what is told the stages of a long computation, or None for nobody."""
    if value is None or callable(value):
        return value
    raise InvalidArgument(
        name="progress", value=shown(value), expected="progress to be a function of one text"
    )


def path(value: object, *, name: str) -> Path:
    """Return `value`, a text or a Path, as a Path; refuses what no file can be called."""
    if isinstance(value, str | Path) and _names_a_file(value):
        return Path(value)
    raise InvalidArgument(
        name=name, value=shown(value), expected=f"{name} to be a path, as a text or a Path"
    )


def _names_a_file(value: str | Path) -> bool:
    try:
        name = os.fsencode(value)
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    # bytes, as Linux takes them: of a path, and of each name in it
    short = len(name) <= 4095 and max(map(len, name.split(b"/"))) <= 255
    return short and b"\0" not in name
