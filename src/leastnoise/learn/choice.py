"""What a model's parameters choose: its noise, by name or the best, and who its neighbours are."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

from leastnoise import _validate
from leastnoise.errors import InvalidArgument, Refused, show_value
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.noise.registry import family_named
from leastnoise.selection.ask import fix_parameters
from leastnoise.selection.public import calibrate

AUTO = "auto"
"""Stands for the updates, or the noise, that are predicted to be best."""

Parameters = tuple[tuple[str, Fraction | int], ...]


def chosen(value: Any, name: str, among: tuple[str, ...]) -> str:
    """Return `value` if it is one of `among`; raises InvalidArgument."""
    if value not in among:
        raise InvalidArgument(
            name=name, value=show_value(value), expected=f"one of {', '.join(among)}"
        )
    return value


def chosen_noise(noise: Any) -> str:
    """Return the family's name, or "auto"; raises InvalidArgument for an unknown one."""
    return noise if noise == AUTO else family_named(noise).name


def chosen_parameters(family: str, given: Any) -> Parameters:
    """Return the noise's parameters, exactly; raises InvalidArgument for what it doesn't have."""
    if given is None:
        return ()
    if family == AUTO:
        raise InvalidArgument(
            name="noise_parameters", value=show_value(given), expected="a noise that has them"
        )
    values = _validate.table(given, name="noise_parameters")
    return tuple(sorted(fix_parameters(family_named(family), values).items()))


@lru_cache(maxsize=64)  # the same public numbers give the same noise
def best_of(
    families: tuple[str, ...],
    *,
    budget: Budget,
    sensitivity: tuple[Sensitivity, ...],
    dimension: int,
    compositions: int = 1,
    parameters: Parameters = (),
) -> Mechanism:
    """Return the proved mechanism of the family with the least error.

    Raises Refused, with the first family's reason, if none serves.
    """
    made: list[Mechanism] = []
    reasons: list[Refused] = []
    for family in families:
        try:
            one = calibrate(
                family,
                epsilon=budget.epsilon,
                delta=budget.delta,
                sensitivity=sensitivity,
                dimension=dimension,
                compositions=compositions,
                parameters=dict(parameters) or None,
            )
        except Refused as error:  # it doesn't apply, or couldn't be proved: another may serve
            reasons.append(error)
        else:
            made.append(one)
    if not made:
        raise reasons[0]
    return min(made, key=lambda mechanism: mechanism.mse)


def about(mechanism: Mechanism, neighbours: str) -> Mechanism:
    """Return the mechanism, whose certificate says so where records are replaced."""
    if neighbours == "replace-one":
        return Mechanism(mechanism.certificate.about("replace-one"))
    return mechanism
