"""Read the values of a release as exact numbers; refuse other types."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from leastnoise.errors import InvalidArgument
from leastnoise.mechanism.values import FILL, Plain, Rationals, ScaledIntegers, unknown_type

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Values: TypeAlias = "ArrayLike | Sequence[Fraction] | ScaledIntegers"
"""What a release takes: whatever numpy reads as numbers, or exact scaled integers."""


def as_exact(values: Values) -> Plain:
    """Return `values` as the exact numbers that they are, refusing types, never values.

    A list may hold numbers of several kinds, and numpy would round them to one. Which of the three
    forms is used may depend on the values; what they stand for doesn't, so neither does the result.
    """
    if isinstance(values, ScaledIntegers):
        return values
    array = _array_of(values)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "O":
        kinds = set(map(type, array.flat))
        if wrong := [one for one in kinds if not _is_number(one)]:
            raise unknown_type(f"{wrong[0].__name__} in an array")
        merged = _merged(array, kinds)
        if merged is None:
            return Rationals(values=array)
        array, kind, size = merged, merged.dtype.kind, merged.dtype.itemsize
    if kind in "ib" or (kind == "u" and size < 8):
        return ScaledIntegers(numerators=array.astype(np.int64), bits=0)
    if kind == "f" and size <= 8:
        return array.astype(np.float64)
    if kind == "u":
        return Rationals(values=array.astype(object))
    raise unknown_type(f"an array of {array.dtype.type.__name__}")  # a dtype tells lengths of text


def _merged(array: NDArray[Any], kinds: set[type]) -> NDArray[Any] | None:
    """Return objects of those types as an array of floats or int64, None where that would round."""
    if all(issubclass(one, float) for one in kinds):
        return array.astype(np.float64)
    if all(issubclass(one, (int, np.integer, np.bool_)) for one in kinds):
        whole = np.asarray(array.tolist())
        return whole if whole.dtype.kind in "ib" else None
    return None


def _array_of(values: Values) -> NDArray[Any]:
    """Return `values` as an array: one of objects for a list, whose types numpy would merge."""
    if isinstance(values, np.ma.MaskedArray):
        raise unknown_type("a masked array", hint=FILL)
    listed = isinstance(values, (list, tuple))
    if listed and _is_deep(values):
        raise _not_flat("lists in lists in lists")
    if listed and any(issubclass(one, np.ndarray) for one in set(map(type, values))):
        raise unknown_type("a list of arrays", hint="Join them first: numpy.concatenate.")
    try:
        return np.asarray(values, dtype=object if listed else None)
    except ValueError:
        raise _not_flat("a ragged sequence") from None


def _is_deep(values: Any) -> bool:
    """Return whether lists are three deep: numpy would follow one that holds itself for ever."""
    inner = (item for one in values if isinstance(one, (list, tuple)) for item in one)
    return any(isinstance(item, (list, tuple)) for item in inner)


def _not_flat(what: str) -> InvalidArgument:
    return InvalidArgument(name="values", value=what, expected="a flat array of numbers")


_NUMBERS: tuple[type, ...] = (
    int, float, Fraction, np.integer, np.bool_, np.float32, np.float16,
)  # fmt: skip


def _is_number(kind: type) -> bool:
    """Return whether objects of that type are exact numbers here; bools count as 0 and 1."""
    if issubclass(kind, np.timedelta64):  # which numpy derives from its whole numbers
        return False
    return issubclass(kind, _NUMBERS)
