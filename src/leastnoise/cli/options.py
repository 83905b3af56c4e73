"""Options that several commands share, so that the same word means the same everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast, final

import typer

from leastnoise import _validate
from leastnoise.cli.commands import Command, Group
from leastnoise.cli.completion import noise_names, one_of

if TYPE_CHECKING:
    from leastnoise.guarantees.sensitivity import Neighbours, Sensitivity

__all__ = ["Command", "Group"]

_MOST_DIGITS = 20

BUDGET, QUERY, NOISE, SEARCH, OUTPUT = "Budget", "Query", "Noise", "Search", "Output"
"""The groups of options in a command's help."""

NUMBER, INTEGER, NAME, FILE, FOLDER = "NUMBER", "INTEGER", "NAME", "FILE", "FOLDER"
"""What an option takes, as its help says it."""

_NORMS, _LOSSES, RELATIONS = ("l2", "l1", "linf"), ("mse", "mae"), ("add-remove", "replace-one")

Epsilon = Annotated[
    str,
    typer.Option(
        "--epsilon",
        metavar=NUMBER,
        help="ε of the budget, an exact decimal.",
        rich_help_panel=BUDGET,
    ),
]
Delta = Annotated[
    str,
    typer.Option(
        "--delta", metavar=NUMBER, help="δ of the budget, an exact decimal.", rich_help_panel=BUDGET
    ),
]
Dimension = Annotated[
    int,
    typer.Option(
        "--dimension",
        metavar=INTEGER,
        help="Coordinates released together.",
        rich_help_panel=QUERY,
    ),
]
SensitivityBound = Annotated[
    str,
    typer.Option(
        "--sensitivity",
        metavar=NUMBER,
        help="The most that one unit can move the query.",
        rich_help_panel=QUERY,
    ),
]
Norm = Annotated[
    str,
    typer.Option(
        "--norm",
        metavar="|".join(_NORMS),
        help="Norm of the sensitivity.",
        autocompletion=one_of(*_NORMS),
        rich_help_panel=QUERY,
    ),
]
MaxMoved = Annotated[
    int | None,
    typer.Option(
        "--l0",
        metavar=INTEGER,
        help="With --norm linf: how many coordinates one unit moves.",
        rich_help_panel=QUERY,
    ),
]
AreCounting = Annotated[
    bool,
    typer.Option(
        "--counting-queries",
        help="Each record adds a number from 0 to 1 to each query.",
        rich_help_panel=QUERY,
    ),
]
MaxNonzero = Annotated[
    int | None,
    typer.Option(
        "--max-nonzero",
        metavar=INTEGER,
        help="How many counting queries one record adds to; all if left out.",
        rich_help_panel=QUERY,
    ),
]
ReleasesTotal = Annotated[
    bool,
    typer.Option(
        "--release-n",
        help="Release the number of records with the counting queries.",
        rich_help_panel=QUERY,
    ),
]
WhoAreNeighbours = Annotated[
    str,
    typer.Option(
        "--neighbours",
        metavar="|".join(RELATIONS),
        help="Which tables are neighbours, for counting queries.",
        autocompletion=one_of(*RELATIONS),
        rich_help_panel=QUERY,
    ),
]
Loss = Annotated[
    str,
    typer.Option(
        "--loss",
        metavar="|".join(_LOSSES),
        help="Error to minimise: mse is E‖X‖₂², mae is E‖X‖₁.",
        autocompletion=one_of(*_LOSSES),
        rich_help_panel=SEARCH,
    ),
]
NoiseName = Annotated[
    str,
    typer.Option(
        "--noise",
        metavar=NAME,
        help="Noise family, such as gaussian or l2.",
        autocompletion=noise_names,
        rich_help_panel=NOISE,
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=VALUE",
        help="A parameter of the family; repeatable.",
        rich_help_panel=NOISE,
    ),
]
Modes = Annotated[
    int | None,
    typer.Option(
        "--modes",
        metavar=INTEGER,
        help="Components −K…K of gaussian-mixture; searched if left out.",
        rich_help_panel=NOISE,
    ),
]
Alpha = Annotated[
    str | None,
    typer.Option(
        "--alpha",
        metavar=NUMBER,
        help="Shape of generalized-gamma, at most dimension − 1; searched if left out.",
        rich_help_panel=NOISE,
    ),
]
Power = Annotated[
    str | None,
    typer.Option(
        "--p",
        metavar=NUMBER,
        help="Power of generalized-gamma; searched if left out.",
        rich_help_panel=NOISE,
    ),
]
Compositions = Annotated[
    int,
    typer.Option(
        "--compositions",
        metavar=INTEGER,
        help="How many such releases the budget is for.",
        rich_help_panel=BUDGET,
    ),
]
SamplingRate = Annotated[
    str,
    typer.Option(
        "--sampling-rate",
        metavar=NUMBER,
        help="With what probability a record is in each sample.",
        rich_help_panel=BUDGET,
    ),
]
IsInteger = Annotated[
    bool,
    typer.Option(
        "--integer",
        help="The query is a whole number, like every count.",
        rich_help_panel=QUERY,
    ),
]
Gap = Annotated[
    float | None,
    typer.Option(
        "--gap",
        metavar=NUMBER,
        help="Refine designed noise to this gap to the best possible: 0.001.",
        rich_help_panel=SEARCH,
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        help="Take the best found in that time, not in a fixed amount of work.",
        rich_help_panel=SEARCH,
    ),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object and nothing else.", rich_help_panel=OUTPUT),
]


def parameters_from(texts: list[str] | None, **own: str | int | None) -> dict[str, str | int]:
    """Return what the --param options set, and those that have an option of their `own`.

    Raises InvalidArgument for one that sets nothing, or what is set already.
    """
    from leastnoise.errors import InvalidArgument

    found = {name: value for name, value in own.items() if value is not None}
    for text in texts or []:
        name, separator, value = text.partition("=")
        if not (name and separator and value):
            raise InvalidArgument(name="--param", value=name, expected="NAME=VALUE")
        if name in found:
            raise InvalidArgument(name="--param", value=text, expected=f"{name} to be set once")
        found[name] = value
    return found


def count_from(text: str, *, expected: str) -> int:
    """Return how often a release is made; raises InvalidArgument unless `text` is a whole number.

    Digits of ASCII alone: int() would read others too, and refuse thousands in words of its own.
    """
    from leastnoise.errors import InvalidArgument

    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise InvalidArgument(name="count", value=_validate.shown(text), expected=expected)
    return int(text)


def shape_from(alpha: str | None, p: str | None) -> dict[str, str]:
    """Return what --alpha and --p set."""
    return {name: text for name, text in (("alpha", alpha), ("p", p)) if text is not None}


def modes_from(modes: int | None) -> dict[str, int]:
    """Return what --modes sets."""
    return {} if modes is None else {"modes": modes}


@final
@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What the options say of the query."""

    norm: str
    bound: str
    dimension: int
    integer: bool
    l0: int | None
    counting_queries: bool
    max_nonzero: int | None
    release_n: bool
    neighbours: str

    def sensitivity(self) -> Sensitivity:
        """Return the sensitivity; raises InvalidArgument for options that contradict each other."""
        from leastnoise.guarantees.sensitivity import sensitivity_of_kind
        from leastnoise.guarantees.structured import CountingQueries, Linf

        counting = "--counting-queries"
        if self.counting_queries:
            self._refuse("--norm", self.norm, unless="l2", because="no --norm beside " + counting)
            self._refuse("--l0", self.l0, unless=None, because="no --l0 beside " + counting)
            self._refuse(
                "--integer", self.integer, unless=False, because="no --integer beside " + counting
            )
            return CountingQueries(
                dimension=self.dimension,
                max_nonzero=self.max_nonzero,
                neighbours=cast("Neighbours", self.neighbours),  # checked there
                with_total=self.release_n,
                bound=self.bound,
            )
        needed = f"{counting} beside it"
        self._refuse("--max-nonzero", self.max_nonzero, unless=None, because=needed)
        self._refuse("--release-n", self.release_n, unless=False, because=needed)
        self._refuse("--neighbours", self.neighbours, unless="add-remove", because=needed)
        if self.norm == Linf.kind:
            return Linf(self.bound, l0=1 if self.l0 is None else self.l0, whole=self.integer)
        self._refuse("--l0", self.l0, unless=None, because="--norm linf beside it")
        _validate.one_of(self.norm, ("l2", "l1", Linf.kind), name="norm")
        return sensitivity_of_kind("integer" if self.integer else self.norm, self.bound)

    @staticmethod
    def _refuse(option: str, value: object, *, unless: object, because: str) -> None:
        from leastnoise.errors import InvalidArgument

        if value != unless:
            raise InvalidArgument(name=option, value=value, expected=because)
