"""The parameters that a user sets, in the kinds that a family has."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from leastnoise import _validate
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.noise.base import Noise


def fixed_parameters(
    family: type[Noise], parameters: Mapping[str, Exact] | None
) -> dict[str, Fraction | int]:
    """Return the parameters that the user sets, in the kinds that the family has."""
    fixed: dict[str, Fraction | int] = {}
    for name, value in _validate.table(parameters, name="parameters").items():
        known = tuple(family.parameter_kinds)
        if name not in known:
            raise InvalidArgument(
                name="parameter",
                value=name,
                expected=f"a parameter of {family.name} ({', '.join(known) or 'it has none'})",
                hint=_validate.nearest(name, known),
            )
        kind = family.parameter_kinds[name]
        _refuse_list(name, kind)
        fixed[name] = _whole_parameter(value, name) if kind is int else exact(value, name=name)
    return fixed


def _whole_parameter(value: Exact, name: str) -> int:
    """Return a parameter that is a whole number, which a text may spell."""
    number = exact(value, name=name) if isinstance(value, str) else None
    if number is not None and number.denominator == 1:
        return int(number)
    return _validate.whole(value, name=name, least=0)


def _refuse_list(name: str, kind: object) -> None:
    if kind not in (Fraction, int):
        raise InvalidArgument(
            name="parameter", value=name, expected="a parameter that is one number"
        )
