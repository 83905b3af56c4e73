"""Records: frozen dataclasses whose fields declare how they convert and check their arguments.

>>> from fractions import Fraction
>>> @record()
... class Share:
...     of: Fraction = field(converter=takes(lambda value, *, name: Fraction(value)))
>>> Share(of="0.5")
Share(of=Fraction(1, 2))

A converter raises if it refuses its argument. A class may define `_check_together` to refuse
arguments that are valid alone but not together. Everything else is as in a dataclass.

The declarations serve two more functions. `list_arguments` returns the fields and their types in
JSON order, for `certificate.records`. `multiply` multiplies the fields that scale.
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

# keys in the metadata of a dataclass's field
_CONVERTER, _DERIVED, _SCALES, _FIRST = "converter", "derived", "scales", "first in JSON"


@final
@dataclasses.dataclass(frozen=True)
class Converter(Generic[Given, Kept]):
    """The conversion of a field's argument by `function(argument, name=…, **options)`.

    With `of_record`, the function also receives `record=…`, the record that is being made.
    `__call__` exists only for type checkers, which read the accepted type from its signature.
    """

    function: Callable[..., Kept]
    options: Mapping[str, Any]
    spelled: str  # the accepted type, as signatures show it; "" for the field's annotation
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
    """A converter that calls `function(argument, name=…, **options)`.

    With `of_record`, the function also receives `record=…`, in which all earlier fields are set.
    `spelled` is the accepted type, as signatures show it. By default, it is the annotation of the
    function's first parameter.
    """
    first = next(iter(function.__annotations__.values()), "")
    known = first if isinstance(first, str) and first != "object" else ""
    return Converter(function, options, spelled or known, of_record)


def whole(**bounds: Any) -> Converter[int, int]:
    """A converter for whole numbers; `bounds` are keyword arguments of `_validate.whole`."""
    return takes(_validate.whole, **bounds)


A_DIMENSION: Converter[int, int] = takes(_validate.dimension)
A_FLAG: Converter[bool, bool] = takes(_validate.flag)


def real(**options: Any) -> Converter[float, float]:
    """A converter for floats; `options` are keyword arguments of `_validate.real`."""
    return takes(_validate.real, **options)


def one_of(allowed: Sequence[Kind]) -> Converter[Kind, Kind]:
    """A converter that accepts only the texts in `allowed`."""
    return cast("Any", takes(_validate.one_of, allowed=allowed))


def instance_of(kind: type[Kind], *, like: str) -> Converter[Kind, Kind]:
    """A converter that accepts only instances of `kind`.

    `like` names the kind in errors: "a Budget".
    """
    return takes(_validate.instance, kind=kind, like=like)


def optional(converter: Converter[Given, Kept]) -> Converter[Given | None, Kept | None]:
    """A converter that keeps None and converts any other argument with `converter`."""

    def convert(value: Any, **options: Any) -> Kept | None:
        return None if value is None else converter.function(value, **options)

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
    """Declare a field of a record that converts its argument or default.

    Args:
        converter: A `Converter`, such as `takes(function)` for a function from an argument and its
            name to the stored value.
        default: Argument if none is given; it is converted, too.
        kw_only: As in `dataclasses.field`.
        scales: True if the field is a length, which `multiply` multiplies.
        first_in_json: True if the field comes first in JSON, before those declared earlier.

    Returns:
        The field, for the body of a class with `@record()`.
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
    """Declare a field that isn't an argument: its value is `function(record)`.

    The function may use the fields that are declared before this field.
    """
    metadata = {_DERIVED: function}
    return dataclasses.field(init=init, repr=repr, compare=compare, metadata=metadata)


@dataclass_transform(
    frozen_default=True, kw_only_default=True, field_specifiers=(field, derived, dataclasses.field)
)
def record(
    *, kw_only: bool = True, eq: bool = True, order: bool = False
) -> Callable[[type[Kind]], type[Kind]]:
    """A decorator that makes a class a frozen dataclass whose fields convert their arguments.

    After all fields are set it calls the method `_check_together` of the class, if it exists.

    Args:
        kw_only: As in `dataclasses.dataclass`.
        eq: As in `dataclasses.dataclass`.
        order: As in `dataclasses.dataclass`.

    Returns:
        The decorator.
    """

    def decorate(kind: Any) -> Any:
        steps: list[_Step] = []  # filled below, once the dataclass knows its fields
        kind.__post_init__ = _make_post_init(steps, getattr(kind, "_check_together", None))
        freeze = dataclasses.dataclass(frozen=True, kw_only=kw_only, eq=eq, order=order)
        frozen = freeze(kind)
        for declared in dataclasses.fields(frozen):
            name = declared.name
            converter = declared.metadata.get(_CONVERTER)
            if _DERIVED in declared.metadata:
                steps.append((name, declared.metadata[_DERIVED], False, True))
            elif converter is not None:
                options = {"name": name} | converter.options
                convert = partial(converter.function, **options)
                steps.append((name, convert, True, converter.of_record))
                if converter.spelled:  # signatures show the accepted type, not the stored one
                    frozen.__init__.__annotations__[name] = converter.spelled
        return frozen

    return decorate


_Step = tuple[str, Callable[..., Any], bool, bool]
"""A field's name, the function that computes its value, and two flags.

The first flag is True if the field is an argument, the second if the function needs the record.
"""


def _make_post_init(
    steps: Sequence[_Step], check: Callable[[Any], None] | None
) -> Callable[[Any], None]:
    def __post_init__(self: Any) -> None:  # noqa: N807
        kept = self.__dict__  # a frozen record forbids assignment
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
    """The fields that are arguments of a record, each with its type, in JSON order.

    >>> @record()
    ... class Pair:
    ...     ends: tuple[int, ...]
    >>> list_arguments(Pair)
    mappingproxy({'ends': tuple[int, ...]})
    """
    arguments_of_kind = [declared for declared in dataclasses.fields(kind) if declared.init]
    ordered = sorted(
        arguments_of_kind, key=lambda declared: not declared.metadata.get(_FIRST, False)
    )
    # get_type_hints(kind) fails: the types of ClassVars are imported for type checkers only.
    # Outside families import Fraction for type checkers only, too.
    known: dict[str, Any] = {"Fraction": Fraction}
    for base in reversed(kind.__mro__):
        known |= vars(sys.modules[base.__module__])

    def arguments() -> None: ...

    arguments.__annotations__ = {declared.name: declared.type for declared in ordered}
    return MappingProxyType(get_type_hints(arguments, known))


def multiply(original: Kind, factor: Fraction) -> Kind:
    """A copy of the record with every field declared with `scales` multiplied by `factor`.

    The field holds a Fraction, a record, which is multiplied in the same way, or a tuple of these.
    """
    record: Any = original
    scaled = {
        declared.name: _multiply_value(getattr(record, declared.name), factor)
        for declared in dataclasses.fields(record)
        if declared.metadata.get(_SCALES, False)
    }
    return dataclasses.replace(record, **scaled)


def _multiply_value(value: Any, factor: Fraction) -> Any:
    if isinstance(value, tuple):
        return tuple(_multiply_value(item, factor) for item in cast("tuple[Any, ...]", value))
    return factor * value if isinstance(value, Fraction) else multiply(value, factor)
