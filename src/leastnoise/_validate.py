"""Convert the arguments of callers to a few plain types, or refuse them.

| function | returns | also accepts |
|---|---|---|
| `whole`, `dimension` | `int` | numpy's whole numbers |
| `flag` | `bool` | `numpy.bool_` |
| `real` | `float` | whole numbers, Fractions and numpy's floats that a float64 holds exactly |
| `text`, `one_of` | `str` | `numpy.str_` |
| `instance` | its argument | nothing |
| `items`, `pairs` | `tuple` | lists, arrays and other ordered iterables |
| `table` | `dict` | other mappings |
| `path` | `Path` | text |

Exact numbers are converted in `guarantees.exact`. Arguments are converted, not only checked,
because a `numpy.uint8` wraps at 256 and a float rounds: neither may be used in arithmetic on which
a guarantee depends. An error names the argument and the expected values, and often the next step.
It quotes numbers and texts only; of other objects, which may hold data, it names the type.
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

from leastnoise.errors import MOST_SHOWN, InvalidArgument, is_short, show_value

MAX_DIMENSION = 10**9
MAX_COUNT = 2**53
"""The largest number of releases that are composed, which proofs use as an exponent.

Floats represent all whole numbers up to this number exactly.
"""

NUMBERS = 'a list of numbers, such as ["0.5", 1]'

_WITH_COMMA = re.compile(r"([+-]?[0-9]+),([0-9]{1,2}|[0-9]{4,})")  # 1,500 is ambiguous
_PERCENTAGE = re.compile(r"([+-]?[0-9]+\.?[0-9]*) ?%")

T = TypeVar("T")


def whole(
    value: object, *, name: str, least: int = 1, most: int = MAX_COUNT, hint: str = ""
) -> int:
    """Convert `value` to an int.

    Raises InvalidArgument unless it is a whole number within the bounds. Bools, floats (200.0 too),
    texts and arrays are refused.

    >>> whole(3, name="count")
    3
    """
    number = as_int(value)
    if number is None or not least <= number <= most:
        raise InvalidArgument(
            name=name,
            value=show_value(value),
            expected=f"{name} >= {least}, a whole number{_at_most(most)}",
            hint=_write_an_int(value, name) if number is None else hint,
        )
    return number


def wholes(values: object, *, name: str, least: int = 1, most: int = MAX_COUNT) -> tuple[int, ...]:
    """Convert `values` to a tuple of ints. Raises InvalidArgument like `items` and `whole`."""
    listed = items(values, name=name, like="whole numbers, such as [2, 1]")
    return tuple(
        value
        if type(value) is int and least <= value <= most
        else whole(value, name=name, least=least, most=most)
        for value in listed
    )


def any_wholes(values: object, *, name: str) -> tuple[int, ...]:
    """Convert `values` to a tuple of ints, of any size and sign.

    Raises InvalidArgument like `items`, and unless all are whole numbers.
    """
    listed = items(values, name=name, like="whole numbers, such as [2, 1]")
    numbers: list[int] = []
    for value in listed:
        number = value if type(value) is int else as_int(value)
        if number is None:
            expected = f"{name} to be whole numbers"
            raise InvalidArgument(name=name, value=show_value(value), expected=expected)
        numbers.append(number)
    return tuple(numbers)


def as_int(value: object) -> int | None:
    """Convert a `value` of any whole-number type to an int; None for bools and other types."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        return None
    try:
        return operator.index(value)
    except TypeError:  # numpy.timedelta64 claims to be a whole number
        return None


def _at_most(most: int) -> str:
    if most == MAX_COUNT:
        return " of at most 2^53"
    return f" of at most {most:,}" if is_short(most) else ""


def _write_an_int(value: object, name: str) -> str:
    """A hint that suggests the int to write instead of `value`."""
    number = _as_float(value)
    if number is not None and float(number).is_integer() and abs(number) < MAX_COUNT:
        return f"Write {name}={int(number)}."
    return f"Give {name} as an int, like 3."


def dimension(value: object, *, name: str = "dimension") -> int:
    """Convert a number of coordinates to an int.

    Raises InvalidArgument unless it is a whole number from 1 to 10^9.
    """
    hint = "The dimension is the number of coordinates that are released together."
    return whole(value, name=name, most=MAX_DIMENSION, hint=hint)


def flag(value: object, *, name: str) -> bool:
    """Convert `value` to a bool.

    Raises InvalidArgument for everything else, such as "false" and 0.
    """
    if isinstance(value, bool):
        return value
    kind = type(value)  # numpy isn't imported here, so that `leastnoise --help` stays fast
    if (kind.__module__, kind.__name__) == ("numpy", "bool"):
        return bool(value)
    raise InvalidArgument(
        name=name, value=show_value(value), expected=f"{name} to be True or False"
    )


def real(value: object, *, name: str, hint: str = "") -> float:
    """Convert a real number that a float holds exactly, such as inf, to a float.

    Raises InvalidArgument for NaN, for numbers that a float would round, and for texts and bools.
    """
    number = _as_float(value)
    if number is None or math.isnan(number):
        raise InvalidArgument(
            name=name, value=show_value(value), expected=f"{name} to be a float, not NaN", hint=hint
        )
    return number


def _as_float(value: object) -> float | None:
    """The float that equals `value`; None if no float does, or for types that `real` refuses."""
    if isinstance(value, float):  # numpy.float64 is a subclass of float
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
    # a float64 holds numpy's floats of at most 8 bytes exactly
    return float(value) if 0 < getattr(value, "nbytes", 0) <= 8 else None


def text(value: object, *, name: str, longest: int | None = None, hint: str = "") -> str:
    """Convert `value` to a str. Raises InvalidArgument unless it is a text.

    With `longest`, the text must consist of 1 to `longest` printable characters.
    """
    if not isinstance(value, str):
        raise InvalidArgument(
            name=name, value=show_value(value), expected=f"{name} to be a text", hint=hint
        )
    if longest is not None and not (0 < len(value) <= longest and value.isprintable()):
        raise InvalidArgument(
            name=name,
            value=repr(value[:MOST_SHOWN]),
            expected=f"1 to {longest} printable characters",
        )
    return str(value)


def one_of(value: object, allowed: Sequence[str], *, name: str) -> str:
    """Return `value` if it is among `allowed`.

    Otherwise raises InvalidArgument, which suggests the nearest text if `value` is a text.
    """
    if isinstance(value, str) and value in allowed:
        return str(value)
    raise InvalidArgument(
        name=name,
        value=show_value(value),
        expected=f"{name} to be one of {', '.join(allowed)}",
        hint=nearest(value, allowed) if isinstance(value, str) else "",
    )


def nearest(value: str, allowed: Sequence[str]) -> str:
    """Suggest the text that `nearest_name` finds: "Did you mean …?", or an empty text."""
    name = nearest_name(value, allowed)
    return "" if name is None else f"Did you mean {name}?"


def nearest_name(value: str, allowed: Sequence[str]) -> str | None:
    """Find the text in `allowed` that is a few typing errors from `value`, ignoring case.

    A typing error is a letter too many, a letter missing, a wrong letter or two letters swapped.
    One error is allowed in 2 to 5 letters, two in 6 to 8, three in more. None if no text is that
    near. None also for a `value` of over 40 characters and for over 200 texts, as the search would
    take long.

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
    """The smallest number of typing errors between two texts, each letter in at most one error.

    This is the optimal string alignment distance.
    """
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
    """A hint for a text with a comma or a percent sign: the number that was probably meant.

    For an ambiguous comma, as in "1,500", the hint is "Write no comma." It is "" for any other
    text, for texts of over 40 characters, and for None.

    >>> number_like("1,5"), number_like("50%"), number_like("1e-5")
    ('Write it with a point: 1.5.', 'Write the percentage as 0.5.', '')
    """
    if text is None or len(text) > MOST_SHOWN:
        return ""
    if match := _WITH_COMMA.fullmatch(text):
        return f"Write it with a point: {match[1]}.{match[2]}."
    if match := _PERCENTAGE.fullmatch(text):
        share = Decimal(match[1]).scaleb(-2).normalize()
        return f"Write the percentage as {share:f}."
    return "Write no comma." if "," in text else ""


def instance(
    value: object, kind: type[T] | tuple[type[T], ...], *, name: str, like: str, hint: str = ""
) -> T:
    """Return `value` if it is an instance of `kind`.

    Raises InvalidArgument otherwise; `like` names the kind in the error: "a Budget".
    """
    if isinstance(value, kind):
        return value
    raise InvalidArgument(
        name=name, value=show_value(value), expected=f"{name} to be {like}", hint=hint
    )


def items(value: object, *, name: str, like: str) -> tuple[Any, ...]:
    """The items of `value`, in order; `like` names them in the error: "numbers, such as [1, 2]".

    Texts are refused, because their characters would become the items; so are sets and mappings.
    """
    return tuple(in_order(value, name=name, like=like))


def in_order(value: object, *, name: str, like: str, quotes: bool = True) -> Iterator[Any]:
    """Iterate over the items of `value` like `items`, for values that don't fit into memory.

    Raises InvalidArgument like `items`. Without `quotes` the error names only the type of `value`,
    which may be data.
    """
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | Set):
        try:
            return iter(value)
        except TypeError:  # a numpy array without dimensions
            pass
    shown = show_value(value) if quotes else f"an object of type {type(value).__name__}"
    raise InvalidArgument(name=name, value=shown, expected=f"{name} to be {like}")


def pairs(value: object, *, name: str, like: str) -> tuple[tuple[Any, Any], ...]:
    """The pairs in `value`, in order. Raises InvalidArgument for other items; see `items`."""
    listed: list[tuple[Any, Any]] = []
    for item in items(value, name=name, like=like):
        pair = items(item, name=name, like=like)
        if len(pair) != 2:
            raise InvalidArgument(
                name=name, value=f"{len(pair)} items", expected=f"{name} to be {like}"
            )
        listed.append((pair[0], pair[1]))
    return tuple(listed)


def table(value: object, *, name: str) -> dict[str, Any]:
    """Convert a mapping whose keys are texts to a dict; None becomes an empty dict.

    Raises InvalidArgument for anything else.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidArgument(
            name=name, value=show_value(value), expected=f"{name} to be a dict whose keys are names"
        )
    return {str(key): entry for key, entry in value.items()}


def listener(value: Callable[[str], object] | None) -> Callable[[str], object] | None:
    """Return `value`, a progress function of one text or None; raises InvalidArgument for others.

    It isn't checked that the function takes a text.
    """
    if value is None or callable(value):
        return value
    raise InvalidArgument(
        name="progress", value=show_value(value), expected="progress to be a function of one text"
    )


def path(value: object, *, name: str) -> Path:
    """Convert a text or a Path to a Path.

    Raises InvalidArgument for other types, for paths that are too long and for names that no file
    can have.
    """
    if isinstance(value, str | Path) and (encoded := _encode(value)) is not None:
        # Linux allows 4,095 bytes in a path and 255 in each of its names
        if len(encoded) <= 4095 and max(map(len, encoded.split(b"/"))) <= 255:
            return Path(value)
        raise InvalidArgument(
            name=name,
            value=show_value(str(value)),
            expected="a path of at most 4,095 bytes, with at most 255 in each name",
            hint="Give a shorter path.",
        )
    raise InvalidArgument(
        name=name, value=show_value(value), expected=f"{name} to be a path, as a text or a Path"
    )


def _encode(path: str | Path) -> bytes | None:
    """The bytes of a path; None if it has a NUL or half of a surrogate pair, as no file can."""
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        return None
    return None if b"\0" in encoded else encoded
