"""Choose a model's noise, by its name or as the best of several, and state its neighbours."""

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
"""The value of `updates` or `noise` for the choice with the smallest predicted error."""

Parameters = tuple[tuple[str, Fraction | int], ...]


def check_choice(value: Any, name: str, among: tuple[str, ...]) -> str:
    """Return `value` if it is in `among`; otherwise raise InvalidArgument about `name`."""
    if value not in among:
        raise InvalidArgument(
            name=name, value=show_value(value), expected=f"one of {', '.join(among)}"
        )
    return value


def read_noise(noise: Any) -> str:
    """The family's name, or "auto". Raises InvalidArgument for an unknown family."""
    return noise if noise == AUTO else family_named(noise).name


def read_parameters(family: str, given: Any) -> Parameters:
    """Convert the noise's parameters exactly.

    Raises InvalidArgument for unknown parameters, and for any if the family is "auto".
    """
    if given is None:
        return ()
    if family == AUTO:
        raise InvalidArgument(
            name="noise_parameters",
            value=show_value(given),
            expected='no noise_parameters with noise="auto"',
        )
    values = _validate.table(given, name="noise_parameters")
    return tuple(sorted(fix_parameters(family_named(family), values).items()))


@lru_cache(maxsize=64)  # cached: the same public numbers give the same noise
def best_of(
    families: tuple[str, ...],
    *,
    budget: Budget,
    sensitivity: tuple[Sensitivity, ...],
    dimension: int,
    compositions: int = 1,
    parameters: Parameters = (),
) -> Mechanism:
    """Calibrate the families, and return the proved mechanism with the least mse.

    Raises Refused, with the first family's reason, if no family can be used.
    """
    mechanisms: list[Mechanism] = []
    reasons: list[Refused] = []
    for family in families:
        try:
            mechanism = calibrate(
                family,
                epsilon=budget.epsilon,
                delta=budget.delta,
                sensitivity=sensitivity,
                dimension=dimension,
                compositions=compositions,
                parameters=dict(parameters) or None,
            )
        except Refused as error:  # another family may be applicable
            reasons.append(error)
        else:
            mechanisms.append(mechanism)
    if not mechanisms:
        raise reasons[0]
    return min(mechanisms, key=lambda mechanism: mechanism.mse)


def state_neighbours(mechanism: Mechanism, neighbours: str) -> Mechanism:
    """State these `neighbours` in the mechanism's certificate, if they are "replace-one".

    For other neighbours the mechanism is unchanged.
    """
    if neighbours == "replace-one":
        return Mechanism(mechanism.certificate.about("replace-one"))
    return mechanism
