"""Records: frozen dataclasses whose fields say, where they are declared, what they take.

>>> from fractions import Fraction
>>> @record()
... class Share:
...     of: Fraction = field(converter=takes(lambda value, *, name: Fraction(value)))
>>> Share(of="0.5")
Share(of=Fraction(1, 2))

What a converter refuses, the class refuses. `_check_together`, where a class has it, refuses what
fits its fields and not each other. All else is the dataclass's.

Two things more follow from the fields. `list_arguments` says of what types they are, and in which
order JSON has them: so `certificate.records` writes and reads them. `multiply` multiplies those
that scale.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING
from fractions import Fraction
from functools import cache, partial
from types import MappingProxyType
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    TypeVar,
    cast,
    dataclass_transform,
    final,
    get_type_hints,
)

from leastnoise import _validate

Given = TypeVar("Given")
Kept = TypeVar("Kept")
Kind = TypeVar("Kind")

# in the metadata of a dataclass's field
_CONVERTER, _DERIVED, _SCALES, _FIRST = "converter", "derived", "scales", "first in JSON"


@final
@dataclasses.dataclass(frozen=True)
class Converter(Generic[Given, Kept]):
    """What a field does with an argument: `function(argument, name=…, **options)`.

    `of_record` has it told `record=…` too. Called with an argument alone it is for type checkers,
    which read off it what a field takes.
    """

    function: Callable[..., Kept]
    options: Mapping[str, Any]
    spelled: str  # what it takes, in signatures; "": as the field is annotated
    of_record: bool

    def __call__(self, value: Given, /) -> Kept:
        return self.function(value, **self.options)


def takes(
    function: Callable[Concatenate[Given, ...], Kept],
    *,
    spelled: str = "",
    of_record: bool = False,
    **options: Any,
) -> Converter[Given, Kept]:
    """Return the converter that calls `function(argument, name=…, **options)`.

    With `of_record` it is told `record=…` too, whose fields are kept already up to this one.
    """
    first = next(iter(function.__annotations__.values()), "")
    known = first if isinstance(first, str) and first != "object" else ""
    return Converter(function, options, spelled or known, of_record)


def whole(**bounds: Any) -> Converter[int, int]:
    """Return the converter of whole numbers; `bounds` are those of `_validate.whole`."""
    return takes(_validate.whole, **bounds)


A_DIMENSION: Converter[int, int] = takes(_validate.dimension)
A_FLAG: Converter[bool, bool] = takes(_validate.flag)


def real(**options: Any) -> Converter[float, float]:
    """Return the converter of floats; `options` are those of `_validate.real`."""
    return takes(_validate.real, **options)


def one_of(allowed: Sequence[Kind]) -> Converter[Kind, Kind]:
    """Return the converter that keeps one of `allowed` texts."""
    return cast("Any", takes(_validate.one_of, allowed=allowed))


def instance_of(kind: type[Kind], *, like: str) -> Converter[Kind, Kind]:
    """Return the converter that keeps what it is given, if that is a `kind`: "a Budget"."""
    return takes(_validate.instance, kind=kind, like=like)


def optional(converter: Converter[Given, Kept]) -> Converter[Given | None, Kept | None]:
    """Return a converter that keeps None, and has all else converted."""

    def convert(value: Any, **told: Any) -> Kept | None:
        return None if value is None else converter.function(value, **told)

    spelled = f"{converter.spelled} | None" if converter.spelled else ""
    return dataclasses.replace(cast("Any", converter), function=convert, spelled=spelled)


def field(
    *,
    converter: Callable[[Given], Kept],
    default: Any = MISSING,
    kw_only: Any = MISSING,
    scales: bool = False,
    first_in_json: bool = False,
) -> Kept:
    """Declare a field that keeps what `converter` makes of an argument, or of `default`.

    One that `scales` is what `multiply` multiplies. In JSON fields have the order of their
    declarations, but for one that is `first_in_json`.
    """
    metadata = {_CONVERTER: converter, _SCALES: scales, _FIRST: first_in_json}
    return cast("Any", dataclasses.field(default=default, kw_only=kw_only, metadata=metadata))


def derived(
    function: Callable[[Any], Kept],
    *,
    repr: bool = True,  # noqa: A002 (dataclasses call it so)
    compare: bool = True,
    init: Literal[False] = False,
) -> Kept:
    """Declare a field that is no argument, but `function` of the fields before it."""
    metadata = {_DERIVED: function}
    return dataclasses.field(init=init, repr=repr, compare=compare, metadata=metadata)


@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(field, derived, dataclasses.field)
)
def record(
    *, kw_only: bool = True, eq: bool = True, order: bool = False
) -> Callable[[type[Kind]], type[Kind]]:
    """Make a class a frozen dataclass whose fields convert."""

    def made(kind: Any) -> Any:
        steps: list[_Step] = []  # filled once the dataclass has found its fields
        kind.__post_init__ = _keeps(steps, getattr(kind, "_check_together", None))
        decorate = dataclasses.dataclass(frozen=True, kw_only=kw_only, eq=eq, order=order)
        found = decorate(kind)
        for one in dataclasses.fields(found):
            converter = one.metadata.get(_CONVERTER)
            if _DERIVED in one.metadata:
                steps.append((one.name, one.metadata[_DERIVED], False, True))
            elif converter is not None:
                options = {"name": one.name} | converter.options
                convert = partial(converter.function, **options)
                steps.append((one.name, convert, True, converter.of_record))
                if converter.spelled:  # a signature says what is taken, not what is kept
                    found.__init__.__annotations__[one.name] = converter.spelled
        return found

    return made


_Step = tuple[str, Callable[..., Any], bool, bool]
"""A field, what makes its value, and whether of an argument, and of the record."""


def _keeps(steps: Sequence[_Step], check: Callable[[Any], None] | None) -> Callable[[Any], None]:
    def __post_init__(self: Any) -> None:  # noqa: N807
        kept = self.__dict__  # a frozen record keeps nothing by assignment
        for name, make, of_argument, of_record in steps:
            if not of_record:
                kept[name] = make(kept[name])
            else:
                kept[name] = make(kept[name], record=self) if of_argument else make(self)
        if check is not None:
            check(self)

    return __post_init__


@cache
def list_arguments(kind: type[Any]) -> Mapping[str, Any]:
    """Return the fields that a record is made from, each with its type, in the order of its JSON.

    >>> @record()
    ... class Pair:
    ...     ends: tuple[int, ...]
    >>> list_arguments(Pair)
    mappingproxy({'ends': tuple[int, ...]})
    """
    made = [one for one in dataclasses.fields(kind) if one.init]
    ordered = sorted(made, key=lambda one: not one.metadata.get(_FIRST, False))
    # not of the class: what its ClassVars are is imported for type checkers alone
    known: dict[str, Any] = {"Fraction": Fraction}  # which outside families import for those, too
    for base in reversed(kind.__mro__):
        known |= vars(sys.modules[base.__module__])

    def arguments() -> None: ...

    arguments.__annotations__ = {one.name: one.type for one in ordered}
    return MappingProxyType(get_type_hints(arguments, known))


def multiply(made: Kind, factor: Fraction) -> Kind:
    """Return a record whose fields that scale are `factor` times as large."""
    record: Any = made
    scaled = {
        one.name: _multiplied(getattr(record, one.name), factor)
        for one in dataclasses.fields(record)
        if one.metadata.get(_SCALES, False)
    }
    return dataclasses.replace(record, **scaled)


def _multiplied(value: Any, factor: Fraction) -> Any:
    if isinstance(value, tuple):
        return tuple(_multiplied(one, factor) for one in cast("tuple[Any, ...]", value))
    return factor * value if isinstance(value, Fraction) else multiply(value, factor)
