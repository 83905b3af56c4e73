"""Options that several commands share, so that the same word means the same everywhere."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, final

from leastnoise import _validate
from leastnoise.cli.command import (
    MANY,
    MOST_DIGITS,
    REQUIRED,
    Declared,
    OptionType,
    among,
    option,
    options_of,
    together,
)

if TYPE_CHECKING:
    from leastnoise.guarantees.sensitivity import Neighbours, Sensitivity

BUDGET, QUERY, NOISE, SEARCH, OUTPUT = "Budget", "Query", "Noise", "Search", "Output"
"""The groups of options in a command's help."""

# What options take.
NUMBER, NAME, INTEGER = OptionType("NUMBER"), OptionType("NAME"), OptionType("INTEGER", int)
REAL, SECONDS = OptionType("NUMBER", float), OptionType("SECONDS", float)
FILE, FOLDER = OptionType("FILE", Path, files=True), OptionType("FOLDER", Path, files=True)
RELATION = among("add-remove", "replace-one")


def _families() -> list[str]:
    """Return the noise families, those of installed packages too."""
    from importlib.metadata import entry_points

    from leastnoise.noise.registry import FAMILIES, GROUP

    return sorted({*FAMILIES, *(one.name for one in entry_points(group=GROUP))})


FAMILY = OptionType("NAME", complete=_families)


def _gathered(
    name: str, made: Callable[..., Any], *declared: Callable[[Any], Any]
) -> Callable[[Declared], Declared]:
    """Return a declaration of options that a command gets as one argument, of what `made` makes."""
    parameters = inspect.signature(made).parameters

    def declare(command: Declared) -> Declared:
        """Declare them for `command`."""

        @functools.wraps(command)
        def gathering(**given: Any) -> Any:
            own = {one: given.pop(one) for one in parameters if one in given}
            return command(**given, **{name: made(**own)})

        return together(*declared)(cast("Declared", gathering))

    return declare


@final
@dataclass(frozen=True, kw_only=True)
class QueryOptions:
    """What the options say of the query."""

    dimension: int
    sensitivity: str
    norm: str
    l0: int | None
    counting_queries: bool
    max_nonzero: int | None
    release_n: bool
    neighbours: str
    integer: bool

    @property
    def coordinates(self) -> int:
        """How many numbers are released."""
        return self.declared().coordinates or self.dimension

    def declared(self) -> Sensitivity:
        """Return the sensitivity; raises InvalidArgument for options that contradict each other."""
        from leastnoise.guarantees.sensitivity import sensitivity_of_kind
        from leastnoise.guarantees.structured import CountingQueries, Linf

        counting = "--counting-queries"
        if self.counting_queries:
            self._refuse("norm", unless="l2", because=f"no --norm beside {counting}")
            self._refuse("l0", unless=None, because=f"no --l0 beside {counting}")
            self._refuse("integer", unless=False, because=f"no --integer beside {counting}")
            return CountingQueries(
                dimension=self.dimension,
                max_nonzero=self.max_nonzero,
                neighbours=cast("Neighbours", self.neighbours),  # checked there
                with_total=self.release_n,
                bound=self.sensitivity,
            )
        self._refuse("max_nonzero", unless=None, because=f"{counting} beside it")
        self._refuse("release_n", unless=False, because=f"{counting} beside it")
        self._refuse("neighbours", unless="add-remove", because=f"{counting} beside it")
        if self.norm == Linf.kind:
            return Linf(self.sensitivity, l0=1 if self.l0 is None else self.l0, whole=self.integer)
        self._refuse("l0", unless=None, because="--norm linf beside it")
        _validate.one_of(self.norm, ("l2", "l1", Linf.kind, "integer"), name="norm")
        return sensitivity_of_kind("integer" if self.integer else self.norm, self.sensitivity)

    def _refuse(self, name: str, *, unless: object, because: str) -> None:
        from leastnoise.errors import InvalidArgument

        value = getattr(self, name)
        if value != unless:
            option = f"--{name.replace('_', '-')}"
            raise InvalidArgument(name=option, value=value, expected=because)


def parameters_from(
    param: Sequence[str] = (),
    modes: int | None = None,
    alpha: str | None = None,
    p: str | None = None,
) -> dict[str, str | int]:
    """Return the parameters that --param options set, and those with an option of their own.

    Raises InvalidArgument for one that sets nothing, or what is set already.
    """
    from leastnoise.errors import InvalidArgument

    own = {"modes": modes, "alpha": alpha, "p": p}
    found = {name: value for name, value in own.items() if value is not None}
    for text in param:
        name, separator, value = text.partition("=")
        if not (name and separator and value):
            raise InvalidArgument(name="--param", value=name, expected="NAME=VALUE")
        if name in found:
            raise InvalidArgument(name="--param", value=text, expected=f"{name} to be set once")
        found[name] = value
    return found


def _by_family(modes: int | None, alpha: str | None, p: str | None) -> dict[str, dict[str, Any]]:
    """Return the parameters that are set, of each family that has some."""
    found = {
        "gaussian-mixture": parameters_from(modes=modes),
        "generalized-gamma": parameters_from(alpha=alpha, p=p),
    }
    return {name: values for name, values in found.items() if values}


def split_count(text: str, *, expected: str) -> tuple[str, int]:
    """Return the name in NAME=COUNT and the count, 1 if left out.

    Raises InvalidArgument unless that is a whole number, in digits of ASCII alone: int() would read
    others too, and refuse thousands in words of its own.
    """
    from leastnoise.errors import InvalidArgument, show_value

    name, _, count = text.rpartition("=") if "=" in text else (text, "", "1")
    if not (count.isascii() and count.isdecimal() and len(count) <= MOST_DIGITS):
        raise InvalidArgument(name="count", value=show_value(count), expected=expected)
    return name, int(count)


budget = options_of(
    BUDGET,
    ("--epsilon", NUMBER, "ε of the budget, an exact decimal.", REQUIRED),
    ("--delta", NUMBER, "δ of the budget, an exact decimal.", "0"),
)
releases = options_of(
    BUDGET,
    ("--compositions", INTEGER, "How many such releases the budget is for.", 1),
    ("--sampling-rate", NUMBER, "With what probability a record is in each sample.", "1"),
)
_query = options_of(
    QUERY,
    ("--dimension", INTEGER, "Coordinates released together.", 1),
    ("--sensitivity", NUMBER, "The most that one person can move the query.", "1"),
    ("--norm", among("l2", "l1", "linf"), "Norm of the sensitivity.", "l2"),
    ("--l0", INTEGER, "With --norm linf: how many coordinates one person moves."),
    ("--counting-queries", None, "Each record adds a number from 0 to 1 to each query."),
    ("--max-nonzero", INTEGER, "How many counting queries one record adds to; all if left out."),
    ("--release-n", None, "Release the number of records with the counting queries."),
    ("--neighbours", RELATION, "Which tables are neighbours, for counting queries.", "add-remove"),
    ("--integer", None, "The query is a whole number, like every count."),
)
_shapes = options_of(
    NOISE,
    ("--modes", INTEGER, "Components −K…K of gaussian-mixture; searched if left out."),
    ("--alpha", NUMBER, "Shape of generalized-gamma, at most dimension − 1; searched if left out."),
    ("--p", NUMBER, "Power of generalized-gamma; searched if left out."),
)
search = options_of(
    SEARCH,
    ("--loss", among("mse", "mae"), "Error to minimise: mse is E‖X‖₂², mae is E‖X‖₁.", "mse"),
    ("--gap", REAL, "Refine designed noise to this gap to the best possible: 0.001."),
    ("--time-limit", SECONDS, "Take the best found in that time, not in a fixed amount of work."),
)
_param = option(
    NOISE, "--param", OptionType("NAME=VALUE"), "A parameter of the family; repeatable.", MANY
)
noise = option(NOISE, "--noise", FAMILY, "Noise family, such as gaussian or l2.", REQUIRED)
query = _gathered("query", QueryOptions, _query)
parameters = _gathered("parameters", parameters_from, _param)
all_parameters = _gathered("parameters", parameters_from, _param, _shapes)
parameters_by_family = _gathered("parameters", _by_family, _shapes)
as_json = option(OUTPUT, "--json as_json", None, "Print one JSON object and nothing else.")
