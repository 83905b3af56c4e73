"""Noise laws as records: exact, and read strictly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from leastnoise.certificate.body_records import read_body, read_one_sided, record_of_body
from leastnoise.certificate.strict_json import exact_fields, number, number_text, typed
from leastnoise.errors import CertificateRejected
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.noise.base import Noise, Parameter, ParameterKind
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.registry import family_named


def record_of_noise(noise: Noise) -> dict[str, Any]:
    """Return the law as JSON values; its dimension is kept by the record around it."""
    parameters = {name: _text_of(value) for name, value in noise.parameters.items()}
    return {
        "name": noise.name,
        "parameters": {"scale": number_text(noise.scale)} | parameters,
    }


def read_noise(record: object, *, dimension: int) -> Noise:
    """Return the law of `dimension` numbers that `record` describes.

    Raises CertificateRejected for what is no such record; InvalidArgument for what is no such law.
    """
    noise = exact_fields(record, ("name", "parameters"), where="noise")
    family = family_named(typed(noise["name"], str, where="noise.name"))
    kinds = {"scale": Fraction, **family.parameter_kinds}
    parameters = exact_fields(noise["parameters"], kinds, where="noise.parameters")
    values = {
        name: _value_of(parameters[name], kind, where=f"noise.parameters.{name}")
        for name, kind in kinds.items()
    }
    if not issubclass(family, VectorNoise):
        return family(**values, dimension=dimension)
    law = family(**values)
    if law.dimension != dimension:
        raise CertificateRejected(f"The noise has {law.dimension} coordinates.")
    return law


def _text_of(value: Parameter) -> str | int | list[int] | dict[str, Any]:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Body | OneSided):
        return record_of_body(value)
    return value if isinstance(value, int) else number_text(value)


def _value_of(value: object, kind: ParameterKind, *, where: str) -> Any:
    if kind is tuple:
        return tuple(typed(one, int, where=where) for one in typed(value, list, where=where))
    if kind is Body:
        return read_body(value, where=where)
    if kind is OneSided:
        return read_one_sided(value, where=where)
    return typed(value, int, where=where) if kind is int else number(value, where=where)
