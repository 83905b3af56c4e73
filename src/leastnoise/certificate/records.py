"""Write noise, sensitivities, geometries and bodies as exact JSON values, and read them strictly.

A record is `{"kind": …}` and the fields that its class declares, each written and read by its type
(`_record.list_arguments`). The record of a noise law is its name and its parameters.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from types import NoneType
from typing import Any, Literal, TypeVar, cast, final, get_args, get_origin

from leastnoise import _validate, _words
from leastnoise._files import LARGEST_CERTIFICATE
from leastnoise._record import list_arguments
from leastnoise.errors import MOST_SHOWN, CertificateRejected, InvalidInput, show_value
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import Interval, decimal_text, exact
from leastnoise.guarantees.geometry import Geometry
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.registry import family_named

# Strict JSON: no duplicate, missing or unknown fields, no wrong types.


VERSION = 1  # format version of every record

T = TypeVar("T", str, int, list)


def parse_object(text: str) -> dict[str, Any]:
    """Parse the JSON object in `text`.

    Raises InvalidInput if `text` isn't JSON or is too long, CertificateRejected if it isn't an
    object or has a duplicate field.
    """
    hint = "Expected the JSON itself: read the file first, as with path.read_text()."
    text = _validate.text(text, name="text", hint=hint)
    if len(text) > LARGEST_CERTIFICATE:
        raise InvalidInput(
            f"The certificate is longer than {LARGEST_CERTIFICATE:,} characters, the most that "
            "leastnoise reads."
        )
    try:
        value = json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError):  # also a whole number with thousands of digits
        raise InvalidInput(
            "The certificate is not JSON. Check that you gave the right file."
        ) from None
    if not isinstance(value, dict):
        raise CertificateRejected(
            "A certificate must be a JSON object, in braces. Check that you gave the right file."
        )
    return value


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    counts = Counter(name for name, _ in pairs)
    if len(counts) != len(pairs):
        twice = sorted(name[:MOST_SHOWN] for name, count in counts.items() if count > 1)
        raise CertificateRejected(f"Duplicate field: {_words.list_names(twice)}.")
    return dict(pairs)


def exact_fields(record: object, fields: Collection[str], *, where: str) -> dict[str, Any]:
    """Return `record` if it has exactly these `fields`; raises CertificateRejected otherwise."""
    if not isinstance(record, dict):
        raise CertificateRejected(f"{where} must be a JSON object, in braces.")
    unknown = sorted(str(name)[:MOST_SHOWN] for name in set(record) - set(fields))
    missing = sorted(set(fields) - set(record))
    if unknown or missing:
        parts = [f"unknown field {name!r}" for name in unknown]
        parts += [f"missing field {name!r}" for name in missing]
        raise CertificateRejected(f"{where}: {_words.list_names(parts, most=20)}.")
    return record


def require_type(value: object, kind: type[T], *, where: str) -> T:
    """Return `value` if its type is exactly `kind`, where a bool is no int.

    Raises CertificateRejected otherwise.
    """
    if type(value) is not kind:
        raise CertificateRejected(f"{where} must be {kind.__name__}, not {type(value).__name__}.")
    return cast("T", value)


def number_text(number: Fraction) -> str:
    """Write `number` as exact text: a hex float if a float holds it, else a decimal or a ratio."""
    rounded = float(number)
    return rounded.hex() if Fraction(rounded) == number else decimal_text(number)


def number(value: object, *, where: str) -> Fraction:
    """Read the text of a number: a decimal or a ratio as `exact` reads it, or a hex float.

    Raises CertificateRejected for any other value. A hex float must be spelled as `float.hex` does.
    """
    text = require_type(value, str, where=where)
    try:
        value = Fraction(float.fromhex(text)) if "0x" in text else exact(text, name=where)
    except (ValueError, OverflowError) as error:  # InvalidArgument is a ValueError
        raise CertificateRejected(f"{where} is not a number: {text[:MOST_SHOWN]!r}.") from error
    # fromhex rounds digits that a double can't hold, so only the spelling of `hex` is exact
    if "0x" in text and float(value).hex() != text:
        raise CertificateRejected(
            f"{where} is not spelled as a hexadecimal number usually is: {text[:MOST_SHOWN]!r}."
        )
    return value


# Records of named kinds.


_DEEPEST = 9  # levels of nested records
_INFINITY = "infinity"  # stands for None in a body

Kind = TypeVar("Kind")
Record = Sensitivity | Geometry | Body | OneSided | Noise


def _brief_text(value: Fraction) -> str:
    short = decimal_text(value)
    readable = 24  # characters; longer decimals come from floats, and are shorter in hex
    return short if len(short) <= readable else number_text(value)


def check_header(fields: dict[str, Any], *, kind: str) -> None:
    """Raise CertificateRejected for a record of another kind, or of an unknown version."""
    if fields["kind"] != kind:
        raise CertificateRejected(
            f"Expected a file of the kind {kind!r}, got the kind {show_value(fields['kind'])}."
        )
    if type(fields["version"]) is not int or fields["version"] != VERSION:
        raise CertificateRejected(
            f"The file has the format version {show_value(fields['version'])}, but the installed "
            f"leastnoise reads version {VERSION}."
        )


def read_interval(value: object, *, where: str) -> Interval:
    """Read the list of an interval's two ends. Raises CertificateRejected if it isn't one."""
    ends = require_type(value, list, where=where)
    if len(ends) != 2:
        raise CertificateRejected(f"The certificate's {where} must be a list of two numbers.")
    lower, upper = (float(number(end, where=where)) for end in ends)
    return Interval(lower, upper)


def read_budget(fields: dict[str, Any]) -> Budget:
    """Read the budget from the fields "epsilon" and "delta"."""
    return Budget(
        epsilon=number(fields["epsilon"], where="epsilon"),
        delta=number(fields["delta"], where="delta"),
    )


@final
@dataclass(frozen=True)
class _Kinds:
    """The classes of one kind of records, by their names in certificates.

    `spell` writes their numbers. A class is imported when a record of it is read: a Gaussian
    certificate imports no body.
    """

    paths: Mapping[str, str]
    """For each name "module:class", with the module in `guarantees`."""
    spell: Callable[[Fraction], str]

    def class_named(self, name: str) -> type[Any]:
        """The class of a known kind."""
        module, _, cls = self.paths[name].partition(":")
        return getattr(import_module(f"leastnoise.guarantees.{module}"), cls)


KINDS: Mapping[type[Any], _Kinds] = {
    Sensitivity: _Kinds(
        {
            "l2": "sensitivity:L2",
            "l1": "sensitivity:L1",
            "integer": "sensitivity:Integer",
            "added": "units:Added",
            "counting-queries": "structured:CountingQueries",
            "groups": "structured:Groups",
            "linf": "structured:Linf",
            "row-counts": "units:RowCounts",
            "sums-of-cells": "strategy:SumsOfCells",
            "vertices": "structured:Vertices",
            "within": "structured:Within",
        },
        _brief_text,
    ),
    Geometry: _Kinds(
        {
            "count-ellipse": "geometry:CountEllipse",
            "blocks": "geometry:Blocks",
            "matrix": "geometry:Matrix",
            "cells": "geometry:CellGeometry",
        },
        _brief_text,
    ),
    Body: _Kinds(
        {
            "at-most": "bodies.cells:AtMost",
            "ball": "bodies.plain:Ball",
            "box": "bodies.plain:Box",
            "cells": "bodies.cells:Cells",
            "differences": "bodies.signed:Differences",
            "interval": "bodies.plain:Segment",
            "polygon": "bodies.plain:Polygon",
            "signed": "bodies.signed:Signed",
            "together": "bodies.together:Together",
        },
        decimal_text,
    ),
    OneSided: _Kinds(
        {
            "counted": "bodies.counts:Counted",
            "counted-sums": "bodies.counts:CountedSums",
            "counts": "bodies.counts:Counts",
            "jointly": "bodies.together:Jointly",
        },
        decimal_text,
    ),
}


def write_record(value: Record) -> dict[str, Any]:
    """Write `value` as JSON values that `read_record` or `read_noise` reads.

    The dimension of a noise law is written by the record around it.
    """
    if isinstance(value, Noise):
        parameters = {"scale": value.scale, **value.parameters}
        written = {name: _write(number, number_text) for name, number in parameters.items()}
        return {"name": value.name, "parameters": written}
    spell = next(kinds.spell for root, kinds in KINDS.items() if isinstance(value, root))
    fields = list_arguments(type(value))
    return {"kind": value.kind} | {name: _write(getattr(value, name), spell) for name in fields}


def read_record(record: object, kind: type[Kind], *, where: str) -> Kind:
    """Read a record of a `kind`: a Sensitivity, Geometry, Body or OneSided.

    Raises CertificateRejected for a malformed record, InvalidArgument for values that the class
    refuses.
    """
    return _value(record, kind, where=where, depth=0)


def read_noise(record: object, *, dimension: int) -> Noise:
    """The noise law of `dimension` numbers that `record` describes.

    Raises CertificateRejected for a malformed record, InvalidArgument for an unknown name or for
    parameters of no law. Raises NotRegistered as `family_named` does.
    """
    noise = exact_fields(record, ("name", "parameters"), where="noise")
    family = family_named(require_type(noise["name"], str, where="noise.name"))
    kinds = {"scale": Fraction, **family.parameter_kinds}
    values = _values(noise["parameters"], kinds, where="noise.parameters", depth=0)
    if not issubclass(family, VectorNoise):
        return family(**values, dimension=dimension)
    law = family(**values)
    if law.dimension != dimension:
        raise CertificateRejected(
            f"The certificate's noise has {law.dimension} coordinates, but the certificate's "
            f"dimension is {dimension}."
        )
    return law


def write_value(value: Any) -> Any:
    """Write the value of a field exactly, as JSON values that `read_value` reads."""
    return _write(value, decimal_text)


def read_value(value: object, kind: Any, *, where: str) -> Any:
    """Read the output of `write_value` for a field of type `kind`; raises like `read_record`."""
    return _value(value, kind, where=where, depth=0)


def _write(value: Any, spell: Callable[[Fraction], str]) -> Any:
    if isinstance(value, tuple):
        return [_write(item, spell) for item in cast("tuple[Any, ...]", value)]
    if isinstance(value, Fraction):
        return spell(value)
    if isinstance(value, Body | OneSided):
        return write_record(value)
    return _INFINITY if value is None else value


def _value(value: object, kind: Any, *, where: str, depth: int) -> Any:
    """Read a value of type `kind` from the JSON value that `_write` wrote for it."""
    if kind in KINDS:
        return _read(value, KINDS[kind], where=where, depth=depth)
    if kind is Fraction:
        return number(value, where=where)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is tuple:
        return tuple(
            _value(item, inner[0], where=f"{where}[{i}]", depth=depth)
            for i, item in enumerate(require_type(value, list, where=where))
        )
    if NoneType in inner:
        return None if value == _INFINITY else _value(value, inner[0], where=where, depth=depth)
    return require_type(value, str if origin is Literal else kind, where=where)


def _read(record: object, kinds: _Kinds, *, where: str, depth: int) -> Any:
    if not isinstance(record, dict):
        raise CertificateRejected(f"{where} must be a JSON object, in braces.")
    if depth >= _DEEPEST:
        raise CertificateRejected(f"{where} has more than {_DEEPEST} levels of nested objects.")
    name = require_type(record.get("kind"), str, where=f"{where}.kind")
    if name not in kinds.paths:
        raise CertificateRejected(f"Unknown {where} {name[:40]!r}.")
    fields = {key: value for key, value in record.items() if key != "kind"}
    cls = kinds.class_named(name)
    return cls(**_values(fields, list_arguments(cls), where=where, depth=depth))


def _values(record: object, kinds: Mapping[str, Any], *, where: str, depth: int) -> dict[str, Any]:
    fields = exact_fields(record, kinds, where=where)
    return {
        name: _value(fields[name], kind, where=f"{where}.{name}", depth=depth + 1)
        for name, kind in kinds.items()
    }
