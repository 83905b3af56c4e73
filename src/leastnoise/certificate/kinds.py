"""Sensitivities and geometries as JSON values: their kind and what they are made of, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeVar

from leastnoise.certificate.body_records import read_body, record_of_body
from leastnoise.certificate.strict_json import exact_fields, number, number_text, typed
from leastnoise.errors import CertificateRejected
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.exact import decimal_text
from leastnoise.guarantees.geometry import Geometry
from leastnoise.guarantees.sensitivity import FieldKind, Sensitivity

_READABLE = 24  # characters; longer decimals are floats, and shorter in hex

Kind = TypeVar("Kind", Sensitivity, Geometry)


def record_of(value: Sensitivity | Geometry) -> dict[str, Any]:
    """Return `value` as JSON values that `read` understands."""
    return {"kind": value.kind} | {name: _text(getattr(value, name)) for name in value.fields}


def read(record: object, kinds: Mapping[str, type[Kind]], *, where: str) -> Kind:
    """Return what `record_of` wrote of one of `kinds`.

    Raises CertificateRejected for unknown kinds, unknown or missing fields and wrong types, and
    InvalidArgument for values that the kind refuses.
    """
    if not isinstance(record, dict):
        raise CertificateRejected(f"{where} must be an object.")
    name = typed(record.get("kind"), str, where=f"{where}.kind")
    if name not in kinds:
        raise CertificateRejected(f"Unknown {where} {name[:40]!r}.")
    kind = kinds[name]
    fields = exact_fields(record, ("kind", *kind.fields), where=where)
    values = {
        field: _value(fields[field], wanted, where=f"{where}.{field}")
        for field, wanted in kind.fields.items()
    }
    return kind(**values)


def _text(value: object) -> Any:
    if isinstance(value, tuple):
        return [_text(one) for one in value]
    if isinstance(value, Body):
        return record_of_body(value)
    if not isinstance(value, Fraction):
        return value
    short = decimal_text(value)
    return short if len(short) <= _READABLE else number_text(value)


def _value(value: object, kind: FieldKind, *, where: str) -> Any:
    if kind is Fraction:
        return number(value, where=where)
    if kind is Body:
        return read_body(value, where=where)
    if kind is tuple:
        rows = typed(value, list, where=where)
        return [[number(one, where=where) for one in typed(row, list, where=where)] for row in rows]
    if type(value) is not kind:
        raise CertificateRejected(f"{where} must be {kind.__name__}, not {type(value).__name__}.")
    return value
