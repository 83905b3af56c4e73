"""Options that several commands share, so that a name means the same everywhere."""

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
    declare_all,
    option,
    options_of,
)

if TYPE_CHECKING:
    from leastnoise.guarantees.sensitivity import Neighbours, Sensitivity

BUDGET, QUERY, NOISE, SEARCH, OUTPUT = "Budget", "Query", "Noise", "Search", "Output"
"""The headings of options in a command's help."""

# The types of options' values.
NUMBER, NAME, INTEGER = OptionType("NUMBER"), OptionType("NAME"), OptionType("INTEGER", int)
REAL, SECONDS = OptionType("NUMBER", float), OptionType("SECONDS", float)
FILE, FOLDER = OptionType("FILE", Path, files=True), OptionType("FOLDER", Path, files=True)
RELATION = among("add-remove", "replace-one")


def _families() -> list[str]:
    """The names of all noise families, including families of installed packages."""
    from importlib.metadata import entry_points

    from leastnoise.noise.registry import FAMILIES, GROUP

    return sorted({*FAMILIES, *(entry.name for entry in entry_points(group=GROUP))})


FAMILY = OptionType("NAME", complete=_families)


def _gather(
    name: str, make: Callable[..., Any], *declared: Callable[[Any], Any]
) -> Callable[[Declared], Declared]:
    """Declare options whose values `make` combines into one argument `name` of the command."""
    parameters = inspect.signature(make).parameters

    def declare(command: Declared) -> Declared:
        """Declare the options for `command`."""

        @functools.wraps(command)
        def gathering(**given: Any) -> Any:
            arguments = {key: given.pop(key) for key in parameters if key in given}
            return command(**given, **{name: make(**arguments)})

        return declare_all(*declared)(cast("Declared", gathering))

    return declare


@final
@dataclass(frozen=True, kw_only=True)
class QueryOptions:
    """The options that describe the query."""

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
        """The number of released coordinates."""
        return self.declared().coordinates or self.dimension

    def declared(self) -> Sensitivity:
        """The declared sensitivity.

        Raises InvalidArgument if options contradict each other, or for a malformed value.
        """
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
                neighbours=cast("Neighbours", self.neighbours),  # the called function checks it
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
    """A noise family's parameters, from --param NAME=VALUE and options such as --alpha.

    Raises InvalidArgument for a --param without name or value, or a parameter that is set twice.
    """
    from leastnoise.errors import InvalidArgument

    options_of_own = {"modes": modes, "alpha": alpha, "p": p}
    parameters = {name: value for name, value in options_of_own.items() if value is not None}
    for text in param:
        name, separator, value = text.partition("=")
        if not (name and separator and value):
            raise InvalidArgument(name="--param", value=name, expected="NAME=VALUE")
        if name in parameters:
            raise InvalidArgument(name="--param", value=text, expected=f"{name} to be set once")
        parameters[name] = value
    return parameters


def _by_family(modes: int | None, alpha: str | None, p: str | None) -> dict[str, dict[str, Any]]:
    """The parameters that --modes, --alpha and --p set, by family."""
    by_family = {
        "gaussian-mixture": parameters_from(modes=modes),
        "generalized-gamma": parameters_from(alpha=alpha, p=p),
    }
    return {name: values for name, values in by_family.items() if values}


def split_count(text: str, *, expected: str) -> tuple[str, int]:
    """Split NAME=COUNT into the name and the count, 1 if left out.

    Raises InvalidArgument unless the count consists of at most `MOST_DIGITS` ASCII digits: int()
    would also accept other digits, and raises another error for thousands of digits.
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
    ("--compositions", INTEGER, "Number of releases that share the budget.", 1),
    ("--sampling-rate", NUMBER, "Probability with which a record enters each Poisson sample.", "1"),
)
_query = options_of(
    QUERY,
    ("--dimension", INTEGER, "Number of coordinates released together.", 1),
    ("--sensitivity", NUMBER, "Largest change of the query by one person.", "1"),
    ("--norm", among("l2", "l1", "linf"), "Norm in which the sensitivity is measured.", "l2"),
    ("--l0", INTEGER, "With --norm linf: largest number of coordinates that one person changes."),
    ("--counting-queries", None, "Each record adds a number from 0 to 1 to each query."),
    (
        "--max-nonzero",
        INTEGER,
        "Largest number of counting queries to which one record adds; all queries if left out.",
    ),
    (
        "--release-n",
        None,
        "Also release the number of records, together with the counting queries.",
    ),
    (
        "--neighbours",
        RELATION,
        (
            "Difference between neighbouring tables: one record added or removed, or one record "
            "replaced. Only with --counting-queries."
        ),
        "add-remove",
    ),
    ("--integer", None, "All values of the query are whole numbers, as counts are."),
)
_shapes = options_of(
    NOISE,
    (
        "--modes",
        INTEGER,
        "K of gaussian-mixture, whose components are −K to K; if left out, the best K.",
    ),
    (
        "--alpha",
        NUMBER,
        "Shape of generalized-gamma, at most dimension − 1; if left out, the best shape.",
    ),
    ("--p", NUMBER, "Power of generalized-gamma; if left out, the best power."),
)
_GAP = (
    "The search for designed noise ends when the error is at most this fraction above the least "
    "error. If left out: 0.005, or 0.02 for epsilon > 5; compare --bound takes 0.0005 up to "
    "epsilon = 2."
)
search = options_of(
    SEARCH,
    ("--loss", among("mse", "mae"), "Error to minimise: mse is E‖X‖₂², mae is E‖X‖₁.", "mse"),
    (
        "--gap",
        REAL,
        _GAP,
    ),
    (
        "--time-limit",
        SECONDS,
        "Stop the search after this many seconds, not after a fixed amount of work.",
    ),
)
_param = option(
    NOISE,
    "--param",
    OptionType("NAME=VALUE"),
    "A parameter of the noise family; may be repeated.",
    MANY,
)
noise = option(NOISE, "--noise", FAMILY, "Noise family, such as gaussian or l2.", REQUIRED)
query = _gather("query", QueryOptions, _query)
parameters = _gather("parameters", parameters_from, _param)
all_parameters = _gather("parameters", parameters_from, _param, _shapes)
parameters_by_family = _gather("parameters", _by_family, _shapes)
as_json = option(OUTPUT, "--json as_json", None, "Print one JSON object and nothing else.")
