"""Read the values of a release as exact numbers; refuse other types."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from leastnoise.errors import InvalidArgument
from leastnoise.mechanism.values import (
    FILL,
    Plain,
    Rationals,
    ScaledIntegers,
    array_of,
    unknown_type,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Values: TypeAlias = "ArrayLike | Sequence[Fraction] | ScaledIntegers"
"""The values of a release: whatever numpy reads as numbers, or exact scaled integers."""


def as_exact(values: Values) -> Plain:
    """Read `values` as exact numbers; refuses types and deeply nested lists, never a number.

    A list may hold numbers of several types, which numpy would round to one type. The type of the
    result may depend on the values, but it always represents the same exact numbers. So a release
    doesn't depend on that type.
    """
    if isinstance(values, ScaledIntegers):
        return values
    array = _array_of(values)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "O":
        kinds = set(map(type, array.flat))
        if wrong := [kind_of_item for kind_of_item in kinds if not _is_number(kind_of_item)]:
            raise unknown_type(f"{wrong[0].__name__} in an array")
        merged = _merge_types(array, kinds)
        if merged is None:
            return Rationals(values=array)
        array, kind, size = merged, merged.dtype.kind, merged.dtype.itemsize
    if kind in "ib" or (kind == "u" and size < 8):
        return ScaledIntegers(numerators=array.astype(np.int64), bits=0)
    if kind == "f" and size <= 8:
        return array.astype(np.float64)
    if kind == "u":
        return Rationals(values=array.astype(object))
    # only the type's name, since a dtype of texts would reveal their length
    raise unknown_type(f"an array of {array.dtype.type.__name__}")


def _merge_types(array: NDArray[Any], kinds: set[type]) -> NDArray[Any] | None:
    """Convert an array of objects to floats, integers or bools of at most 64 bits, exactly.

    `kinds` are the types of the objects. None for Fractions, for floats beside integers, for
    numpy's short floats, and for integers beyond int64.
    """
    if all(issubclass(kind, float) for kind in kinds):
        return array.astype(np.float64)
    if all(issubclass(kind, (int, np.integer, np.bool_)) for kind in kinds):
        whole = np.asarray(array.tolist())
        return whole if whole.dtype.kind in "ib" else None
    return None


def _array_of(values: Values) -> NDArray[Any]:
    """Make an array of `values`; lists become arrays of objects, since numpy would merge types."""
    if isinstance(values, np.ma.MaskedArray):
        raise unknown_type("a masked array", hint=FILL)
    listed = isinstance(values, (list, tuple))
    if listed and _is_deep(values):
        raise _not_flat("lists in lists in lists")
    if listed and any(issubclass(kind, np.ndarray) for kind in set(map(type, values))):
        raise unknown_type(
            "a list of arrays", hint="Join the arrays first, with numpy.concatenate."
        )
    return array_of(values, name="values", dtype=object if listed else None)


def _is_deep(values: Any) -> bool:
    """True if lists are nested at least three deep, which is refused."""
    inner = (
        item
        for inner_list in values
        if isinstance(inner_list, (list, tuple))
        for item in inner_list
    )
    return any(isinstance(item, (list, tuple)) for item in inner)


def _not_flat(what: str) -> InvalidArgument:
    return InvalidArgument(name="values", value=what, expected="a flat array of numbers")


_NUMBERS: tuple[type, ...] = (
    int, float, Fraction, np.integer, np.bool_, np.float32, np.float16,
)  # fmt: skip


def _is_number(kind: type) -> bool:
    """True if objects of type `kind` are accepted as exact numbers; bools count as 0 and 1."""
    if issubclass(kind, np.timedelta64):  # a subclass of numpy's integers
        return False
    return issubclass(kind, _NUMBERS)
