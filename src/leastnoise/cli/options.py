"""Options that several commands share, so that the same word means the same everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from leastnoise.guarantees.sensitivity import Sensitivity

Epsilon = Annotated[str, typer.Option("--epsilon", help="ε of the budget, an exact decimal.")]
Delta = Annotated[str, typer.Option("--delta", help="δ of the budget, an exact decimal.")]
Dimension = Annotated[int, typer.Option("--dimension", help="Coordinates released together.")]
SensitivityBound = Annotated[
    str, typer.Option("--sensitivity", help="The most that one unit can move the query.")
]
Norm = Annotated[str, typer.Option("--norm", help="Norm of the sensitivity: l2 or l1.")]
Loss = Annotated[
    str,
    typer.Option("--loss", help="Error to minimise: mse (E‖X‖₂²) or mae (E‖X‖₁)."),
]
NoiseName = Annotated[str, typer.Option("--noise", help="Noise family: gaussian, laplace or l2.")]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--param", metavar="NAME=VALUE", help="A parameter of the family; repeatable."),
]
Compositions = Annotated[
    int, typer.Option("--compositions", help="How often it will be released; only 1 is proved yet.")
]
SamplingRate = Annotated[
    str, typer.Option("--sampling-rate", help="Poisson sampling rate; only 1 is proved yet.")
]
IsInteger = Annotated[
    bool, typer.Option("--integer", help="The query is a whole number, like every count.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def parameters_from(texts: list[str] | None) -> dict[str, str]:
    """Return what the --param options set; raises InvalidArgument for one that sets nothing."""
    from leastnoise.errors import InvalidArgument

    pairs = [text.partition("=") for text in texts or []]
    for name, separator, value in pairs:
        if not (name and separator and value):
            raise InvalidArgument(name="--param", value=name, expected="NAME=VALUE")
    return {name: value for name, _, value in pairs}


def one_full_release(compositions: int, sampling_rate: str) -> None:
    """Refuse what this version has no proof for: several releases, and subsampling."""
    from leastnoise.errors import InvalidArgument, Refused
    from leastnoise.guarantees.exact import exact

    rate = exact(sampling_rate, name="sampling-rate")
    if compositions < 1:
        raise InvalidArgument(name="compositions", value=compositions, expected="compositions >= 1")
    if not 0 < rate <= 1:
        raise InvalidArgument(
            name="sampling-rate", value=sampling_rate, expected="0 < sampling-rate <= 1"
        )
    if (compositions, rate) != (1, 1):
        raise Refused("This version proves one release at a time, without subsampling.")


def sensitivity_from(norm: str, bound: str, *, integer: bool = False) -> Sensitivity:
    """Return the sensitivity that --norm, --sensitivity and --integer declare."""
    from leastnoise.guarantees.sensitivity import sensitivity_of_kind

    return sensitivity_of_kind("integer" if integer else norm, bound)
