"""Check the arguments of a public call and put them into one `Question`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, get_args

from leastnoise import _validate
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.budget import Budget, sampling_rate_of
from leastnoise.guarantees.exact import Exact, exact
from leastnoise.guarantees.sensitivity import Sensitivity, check_sensitivity
from leastnoise.noise.base import Noise
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.registry import family_named, registered_family

MOST_COMPOSITIONS = 10**7

Setting = Exact | Sequence[Exact]
"""The value of a parameter: a number, or several for a parameter that is a list."""
Sensitivities = Sensitivity | Sequence[Sensitivity]
"""One sensitivity, or several that all hold for the query."""


def ask(
    budget: Budget,
    *,
    sensitivity: Sensitivities,
    dimension: int,
    loss: str,
    compositions: int,
    sampling_rate: Exact,
) -> Question:
    """Check the arguments of a public call, and return the question that they state.

    Raises InvalidArgument for a malformed argument.
    """
    if isinstance(sensitivity, Sequence) and not isinstance(sensitivity, str | bytes):
        offered = tuple(check_sensitivity(bound) for bound in sensitivity)
    else:
        offered = (check_sensitivity(sensitivity),)
    if not offered:
        raise InvalidArgument(name="sensitivity", value="none", expected="at least one")
    return Question(
        budget=budget,
        sensitivities=offered,
        dimension=check_dimension(offered, dimension),
        loss=Loss.named(loss),
        compositions=check_compositions(compositions),
        sampling_rate=sampling_rate_of(sampling_rate),
    )


def check_compositions(compositions: int) -> int:
    """Return the number of releases as an int.

    Raise InvalidArgument unless it is 1 to 10,000,000.
    """
    return _validate.whole(compositions, name="compositions", most=MOST_COMPOSITIONS)


def check_dimension(offered: tuple[Sensitivity, ...], dimension: int) -> int:
    """Return the number of coordinates: the number that `offered` implies, or else `dimension`.

    `offered` are the query's sensitivities. If they imply a number, `dimension` must be this number
    or 1, its default. Raises InvalidArgument otherwise, and if they imply different numbers.
    """
    dimension = _validate.dimension(dimension)
    fixed = (sensitivity.coordinates for sensitivity in offered)
    known = {count for count in fixed if count is not None}
    if not known:
        return dimension
    if len(known) > 1 or dimension not in {1, *known}:
        raise InvalidArgument(
            name="dimension",
            value=dimension,
            expected=f"{', '.join(map(str, sorted(known)))}, as the sensitivity says",
        )
    return known.pop()


def choose_family(noise: str, *, dimension: int, in_cells: bool = False) -> type[Noise]:
    """Return the family called `noise`, or its counterpart for this dimension.

    In one dimension, l2 is replaced by laplace. In several dimensions, optimal is replaced by
    optimal-radial, unless each cell gets noise of its own (`in_cells`).
    """
    family = family_named(noise)
    known = registered_family(family)
    other = known.for_one_number if dimension == 1 else None if in_cells else known.for_a_vector
    return family_named(other) if other else family


def fix_parameters(family: type[Noise], parameters: Mapping[str, Setting] | None) -> dict[str, Any]:
    """Convert the parameters that the user sets to the types that the family declares.

    Numbers become ints or Fractions, and lists become tuples of them. A str may spell a list, with
    commas between the numbers. Raises InvalidArgument for unknown names and malformed values.
    """
    fixed: dict[str, Any] = {}
    for name, value in _validate.table(parameters, name="parameters").items():
        known = tuple(family.parameter_kinds)
        if name not in known:
            raise InvalidArgument(
                name="parameter",
                value=name,
                expected=f"a parameter of {family.name} ({', '.join(known) or 'none'})",
                hint=_validate.nearest(name, known),
            )
        kind = family.parameter_kinds[name]
        if name in family.lists_to_set:
            listed = value.split(",") if isinstance(value, str) else value
            like = 'numbers, such as [2, 10] or "2,10"'
            (kind, _), values = get_args(kind), _validate.items(listed, name=name, like=like)
            fixed[name] = tuple(_read_parameter(item, name, kind) for item in values)
        else:
            if kind not in (Fraction, int):
                raise InvalidArgument(
                    name="parameter", value=name, expected="a parameter that is a single number"
                )
            fixed[name] = _read_parameter(value, name, kind)
    return fixed


def _read_parameter(value: Any, name: str, kind: object) -> Fraction | int:
    return _whole_parameter(value, name) if kind is int else exact(value, name=name)


def _whole_parameter(value: Exact, name: str) -> int:
    """Read a whole number >= 0 from an int, or from text that spells it."""
    number = exact(value, name=name) if isinstance(value, str) else None
    if number is not None and number.denominator == 1:
        return int(number)
    return _validate.whole(value, name=name, least=0)
