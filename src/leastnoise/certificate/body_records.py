"""Bodies as JSON values: their kind and what they are made of, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from leastnoise.certificate.strict_json import exact_fields, number, typed
from leastnoise.errors import CertificateRejected
from leastnoise.guarantees.bodies.base import Body, Field
from leastnoise.guarantees.bodies.kinds import BODIES, ONE_SIDED
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.guarantees.exact import decimal_text

_DEEPEST = 8  # a block of cells of what is signed of what is counted …

Kind = TypeVar("Kind", Body, OneSided)

_ELEMENTS = {
    Field.NUMBERS: Field.NUMBER,
    Field.WHOLES: Field.WHOLE,
    Field.POINTS: Field.NUMBERS,
    Field.BODIES: Field.BODY,
    Field.ONE_SIDEDS: Field.ONE_SIDED,
}
"""What a list is one of."""


def record_of_body(value: Body | OneSided) -> dict[str, Any]:
    """Return `value` as JSON values that `read_body` understands."""
    return {"kind": value.kind} | {
        name: _written(getattr(value, name), field) for name, field in value.fields.items()
    }


def read_body(record: object, *, where: str) -> Body:
    """Return what `record_of_body` wrote of a body.

    Raises CertificateRejected for unknown kinds, unknown or missing fields, wrong types and
    nesting deeper than 8, and InvalidArgument for values that the kind refuses.
    """
    return _read(record, BODIES, where=where, depth=0)


def read_one_sided(record: object, *, where: str) -> OneSided:
    """Return what `record_of_body` wrote of a one-sided set; raises like `read_body`."""
    return _read(record, ONE_SIDED, where=where, depth=0)


def _read(record: object, kinds: Mapping[str, type[Kind]], *, where: str, depth: int) -> Kind:
    if not isinstance(record, dict):
        raise CertificateRejected(f"{where} must be an object.")
    if depth >= _DEEPEST:
        raise CertificateRejected(f"{where} is nested more than {_DEEPEST} deep.")
    name = typed(record.get("kind"), str, where=f"{where}.kind")
    if name not in kinds:
        raise CertificateRejected(f"Unknown {where} {name[:40]!r}.")
    kind = kinds[name]
    fields = exact_fields(record, ("kind", *kind.fields), where=where)
    values = {
        name: _value(fields[name], field, where=f"{where}.{name}", depth=depth)
        for name, field in kind.fields.items()
    }
    return kind(**values)


def _written(value: Any, field: Field) -> Any:
    """Return `value` as JSON: numbers as text, what is nested as records, the rest as it is."""
    if field in _ELEMENTS:
        return [_written(one, _ELEMENTS[field]) for one in value]
    if field in (Field.BODY, Field.ONE_SIDED):
        return record_of_body(value)
    if field is Field.WHOLE:
        return value
    return "infinity" if value is None else decimal_text(value)


def _value(value: object, field: Field, *, where: str, depth: int) -> Any:
    """Return what `_written` wrote of a `field`."""
    if field in _ELEMENTS:
        return [
            _value(one, _ELEMENTS[field], where=f"{where}[{i}]", depth=depth)
            for i, one in enumerate(typed(value, list, where=where))
        ]
    if field is Field.BODY:
        return _read(value, BODIES, where=where, depth=depth + 1)
    if field is Field.ONE_SIDED:
        return _read(value, ONE_SIDED, where=where, depth=depth + 1)
    if field is Field.WHOLE:
        return typed(value, int, where=where)
    if field is Field.NUMBER_OR_INFINITY and value == "infinity":
        return None
    return number(value, where=where)
