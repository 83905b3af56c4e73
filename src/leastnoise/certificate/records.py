"""Noise, sensitivities, geometries and bodies as JSON values: exact, and read strictly.

A record is `{"kind": …}` and the fields that its class declares, each written and read as its type
says (`_record.list_arguments`); that of a noise law is its name and its parameters.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import NoneType
from typing import Any, Literal, TypeVar, cast, final, get_args, get_origin

from leastnoise import _validate, _words
from leastnoise._files import LARGEST_CERTIFICATE
from leastnoise._record import list_arguments
from leastnoise.errors import MOST_SHOWN, CertificateRejected, InvalidInput
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.cells import AtMost, Cells
from leastnoise.guarantees.bodies.counts import Counted, CountedSums, Counts
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.guarantees.bodies.plain import Ball, Box, Polygon, Segment
from leastnoise.guarantees.bodies.signed import Differences, Signed
from leastnoise.guarantees.bodies.together import Jointly, Together
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text, exact
from leastnoise.guarantees.geometry import Blocks, CellGeometry, CountEllipse, Geometry, Matrix
from leastnoise.guarantees.sensitivity import BALLS, Sensitivity
from leastnoise.guarantees.strategy import SumsOfCells
from leastnoise.guarantees.structured import CountingQueries, Groups, Linf, Vertices, Within
from leastnoise.guarantees.units import Added, RowCounts
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.registry import family_named

# JSON that is read strictly: no duplicate, missing or unknown fields, no wrong types.


VERSION = 1  # of every record

T = TypeVar("T", str, int, list)


def parse_object(text: str) -> dict[str, Any]:
    """Return the JSON object in `text`.

    Raises InvalidInput if `text` isn't JSON at all, CertificateRejected if it isn't an object or
    a field stands twice.
    """
    text = _validate.text(text, name="text", hint="Read the file first: JSON comes as a str.")
    if len(text) > LARGEST_CERTIFICATE:
        raise InvalidInput(f"The certificate is longer than {LARGEST_CERTIFICATE:,} characters.")
    try:
        value = json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError):  # also a whole number of thousands of digits
        raise InvalidInput("The certificate is not JSON. Is it the file you meant?") from None
    if not isinstance(value, dict):
        raise CertificateRejected("A certificate is a JSON object.")
    return value


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    counts = Counter(name for name, _ in pairs)
    if len(counts) != len(pairs):
        twice = sorted(name[:MOST_SHOWN] for name, count in counts.items() if count > 1)
        raise CertificateRejected(f"Duplicate field: {_words.list_names(twice)}.")
    return dict(pairs)


def exact_fields(record: object, fields: Collection[str], *, where: str) -> dict[str, Any]:
    """Return `record` if it is an object with exactly `fields`."""
    if not isinstance(record, dict):
        raise CertificateRejected(f"{where} must be an object.")
    unknown = sorted(str(name)[:MOST_SHOWN] for name in set(record) - set(fields))
    missing = sorted(set(fields) - set(record))
    if unknown or missing:
        parts = [f"unknown field {name!r}" for name in unknown]
        parts += [f"missing field {name!r}" for name in missing]
        raise CertificateRejected(f"{where}: {_words.list_names(parts, most=20)}.")
    return record


def typed(value: object, kind: type[T], *, where: str) -> T:
    """Return `value` if it is exactly a `kind` (a bool is no int)."""
    if type(value) is not kind:
        raise CertificateRejected(f"{where} must be {kind.__name__}, not {type(value).__name__}.")
    return cast("T", value)


def number_text(number: Fraction) -> str:
    """Return `number` exactly: a hex float if it is one, else a decimal or a ratio."""
    rounded = float(number)
    return rounded.hex() if Fraction(rounded) == number else decimal_text(number)


def number(value: object, *, where: str) -> Fraction:
    """Return the number that `number_text` or `decimal_text` wrote."""
    text = typed(value, str, where=where)
    try:
        value = Fraction(float.fromhex(text)) if "0x" in text else exact(text, name=where)
    except (ValueError, OverflowError) as error:  # InvalidArgument is a ValueError
        raise CertificateRejected(f"{where} is not a number: {text[:MOST_SHOWN]!r}.") from error
    # fromhex rounds digits that a double can't hold: only a float's own spelling is exact
    if "0x" in text and float(value).hex() != text:
        raise CertificateRejected(f"{where} is not spelled as a float is: {text[:MOST_SHOWN]!r}.")
    return value


# Records of what they name.


_DEEPEST = 9  # noise on a block of cells of what is signed of what is counted …
_INFINITY = "infinity"  # where a body keeps None

Kind = TypeVar("Kind")
Record = Sensitivity | Geometry | Body | OneSided | Noise


def _brief_text(value: Fraction) -> str:
    short = decimal_text(value)
    readable = 24  # characters; longer decimals are floats, and shorter in hex
    return short if len(short) <= readable else number_text(value)


def check_header(fields: dict[str, Any], *, kind: str) -> None:
    """Refuse other kinds of record and versions that this code doesn't know."""
    if fields["kind"] != kind:
        raise CertificateRejected(f"Expected a {kind}, got {str(fields['kind'])[:40]!r}.")
    if type(fields["version"]) is not int or fields["version"] != VERSION:
        raise CertificateRejected(
            f"Unknown version {str(fields['version'])[:40]}; this leastnoise reads {VERSION}."
        )


def read_budget(fields: dict[str, Any]) -> Budget:
    """Return the budget in `fields`."""
    return Budget(
        epsilon=number(fields["epsilon"], where="epsilon"),
        delta=number(fields["delta"], where="delta"),
    )


@final
@dataclass(frozen=True)
class _Kinds:
    """Records by the name that certificates use, and how they spell a number."""

    named: Mapping[str, type[Any]]
    spell: Callable[[Fraction], str]

    @classmethod
    def of(cls, kinds: Iterable[Any], spell: Callable[[Fraction], str]) -> _Kinds:
        return cls({kind.kind: kind for kind in kinds}, spell)


KINDS: Mapping[type[Any], _Kinds] = {
    Sensitivity: _Kinds.of(
        (
            *BALLS.values(),
            Added,
            CountingQueries,
            Groups,
            Linf,
            RowCounts,
            SumsOfCells,
            Vertices,
            Within,
        ),
        _brief_text,
    ),
    Geometry: _Kinds.of((CountEllipse, Blocks, Matrix, CellGeometry), _brief_text),
    Body: _Kinds.of(
        (AtMost, Ball, Box, Cells, Differences, Segment, Polygon, Signed, Together), decimal_text
    ),
    OneSided: _Kinds.of((Counted, CountedSums, Counts, Jointly), decimal_text),
}


def write_record(value: Record) -> dict[str, Any]:
    """Return `value` as JSON values that `read_record`, or `read_noise`, understands.

    The dimension of a noise law is kept by the record around it.
    """
    if isinstance(value, Noise):
        parameters = {"scale": value.scale, **value.parameters}
        written = {name: _written(one, number_text) for name, one in parameters.items()}
        return {"name": value.name, "parameters": written}
    spell = next(kinds.spell for root, kinds in KINDS.items() if isinstance(value, root))
    fields = list_arguments(type(value))
    return {"kind": value.kind} | {name: _written(getattr(value, name), spell) for name in fields}


def read_record(record: object, kind: type[Kind], *, where: str) -> Kind:
    """Return what `write_record` wrote of a `kind`: a Sensitivity, Geometry, Body or OneSided.

    Raises CertificateRejected for unknown kinds, unknown or missing fields, wrong types and what is
    nested too deep, and InvalidArgument for values that the class refuses.
    """
    return _value(record, kind, where=where, depth=0)


def read_noise(record: object, *, dimension: int) -> Noise:
    """Return the law of `dimension` numbers that `record` describes.

    Raises CertificateRejected for what is no such record; InvalidArgument for what is no such law.
    """
    noise = exact_fields(record, ("name", "parameters"), where="noise")
    family = family_named(typed(noise["name"], str, where="noise.name"))
    kinds = {"scale": Fraction, **family.parameter_kinds}
    values = _values(noise["parameters"], kinds, where="noise.parameters", depth=0)
    if not issubclass(family, VectorNoise):
        return family(**values, dimension=dimension)
    law = family(**values)
    if law.dimension != dimension:
        raise CertificateRejected(f"The noise has {law.dimension} coordinates.")
    return law


def write_value(value: Any) -> Any:
    """Return the value of a field as JSON values that `read_value` understands, exactly."""
    return _written(value, decimal_text)


def read_value(value: object, kind: Any, *, where: str) -> Any:
    """Return what `write_value` wrote of a field of that type; raises as `read_record` does."""
    return _value(value, kind, where=where, depth=0)


def _written(value: Any, spell: Callable[[Fraction], str]) -> Any:
    if isinstance(value, tuple):
        return [_written(one, spell) for one in cast("tuple[Any, ...]", value)]
    if isinstance(value, Fraction):
        return spell(value)
    if isinstance(value, Body | OneSided):
        return write_record(value)
    return _INFINITY if value is None else value


def _value(value: object, kind: Any, *, where: str, depth: int) -> Any:
    """Return what `_written` wrote of a `kind`."""
    if kind in KINDS:
        return _read(value, KINDS[kind].named, where=where, depth=depth)
    if kind is Fraction:
        return number(value, where=where)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is tuple:
        return tuple(
            _value(one, inner[0], where=f"{where}[{i}]", depth=depth)
            for i, one in enumerate(typed(value, list, where=where))
        )
    if NoneType in inner:
        return None if value == _INFINITY else _value(value, inner[0], where=where, depth=depth)
    return typed(value, str if origin is Literal else kind, where=where)


def _read(record: object, named: Mapping[str, type[Any]], *, where: str, depth: int) -> Any:
    if not isinstance(record, dict):
        raise CertificateRejected(f"{where} must be an object.")
    if depth >= _DEEPEST:
        raise CertificateRejected(f"{where} is nested more than {_DEEPEST} deep.")
    name = typed(record.get("kind"), str, where=f"{where}.kind")
    if name not in named:
        raise CertificateRejected(f"Unknown {where} {name[:40]!r}.")
    fields = {key: value for key, value in record.items() if key != "kind"}
    return named[name](**_values(fields, list_arguments(named[name]), where=where, depth=depth))


def _values(record: object, kinds: Mapping[str, Any], *, where: str, depth: int) -> dict[str, Any]:
    fields = exact_fields(record, kinds, where=where)
    return {
        name: _value(fields[name], kind, where=f"{where}.{name}", depth=depth + 1)
        for name, kind in kinds.items()
    }
