"""Options that several commands share, so that the same word means the same everywhere."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, cast, final

import typer
from typer.core import TyperCommand, TyperGroup

from leastnoise import _validate

if TYPE_CHECKING:
    from collections.abc import Callable

    from leastnoise.guarantees.sensitivity import Neighbours, Sensitivity

Epsilon = Annotated[str, typer.Option("--epsilon", help="ε of the budget, an exact decimal.")]
Delta = Annotated[str, typer.Option("--delta", help="δ of the budget, an exact decimal.")]
Dimension = Annotated[int, typer.Option("--dimension", help="Coordinates released together.")]
SensitivityBound = Annotated[
    str, typer.Option("--sensitivity", help="The most that one unit can move the query.")
]
Norm = Annotated[str, typer.Option("--norm", help="Norm of the sensitivity: l2, l1 or linf.")]
MaxMoved = Annotated[
    int | None, typer.Option("--l0", help="With --norm linf: how many coordinates one unit moves.")
]
AreCounting = Annotated[
    bool,
    typer.Option("--counting-queries", help="Each record adds a number from 0 to 1 to each query."),
]
MaxNonzero = Annotated[
    int | None,
    typer.Option("--max-nonzero", help="How many counting queries one record adds to; all."),
]
ReleasesTotal = Annotated[
    bool, typer.Option("--release-n", help="Release the number of records with the queries.")
]
WhoAreNeighbours = Annotated[
    str, typer.Option("--neighbours", help="For counting queries: add-remove or replace-one.")
]
Loss = Annotated[
    str,
    typer.Option("--loss", help="Error to minimise: mse (E‖X‖₂²) or mae (E‖X‖₁)."),
]
NoiseName = Annotated[str, typer.Option("--noise", help="Noise family, such as gaussian or l2.")]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--param", metavar="NAME=VALUE", help="A parameter of the family; repeatable."),
]
Modes = Annotated[
    int | None,
    typer.Option("--modes", help="Components −K…K of gaussian-mixture; searched if not given."),
]
Alpha = Annotated[
    str | None,
    typer.Option("--alpha", help="Shape of generalized-gamma, at most dimension − 1; searched."),
]
Power = Annotated[
    str | None, typer.Option("--p", help="Power of generalized-gamma; searched if not given.")
]
Compositions = Annotated[
    int, typer.Option("--compositions", help="How many such releases the budget is for.")
]
SamplingRate = Annotated[
    str, typer.Option("--sampling-rate", help="With what probability a record is in each sample.")
]
IsInteger = Annotated[
    bool, typer.Option("--integer", help="The query is a whole number, like every count.")
]
Gap = Annotated[
    float | None,
    typer.Option("--gap", help="Refine designed noise to this gap to the best possible: 0.001."),
]
TimeLimit = Annotated[
    float | None,
    typer.Option("--time-limit", help="Seconds after which the best so far is taken."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


_MOST_DIGITS = 20


class Command(TyperCommand):
    """A command whose options are given once, but for those that collect a list."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, which read texts and whole numbers as they are."""
        return _quickly_read(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raise InvalidArgument where the parser would take the last of several values."""
        from leastnoise.errors import InvalidArgument

        own = args[: args.index("--")] if "--" in args else args
        given = Counter(text.partition("=")[0] for text in own)
        for one in self.params:
            single = one.nargs == 1 and not getattr(one, "multiple", False)
            if one.param_type_name == "option" and single and not getattr(one, "is_flag", False):
                for name in one.opts:
                    if given[name] > 1:
                        raise InvalidArgument(
                            name=name,
                            value=f"{given[name]} times",
                            expected=f"{name} to be given once",
                        )
        return super().parse_args(ctx, args)


class Group(TyperGroup):
    """A group of commands, the options of which are read as those of a `Command`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, which read texts and whole numbers as they are."""
        return _quickly_read(super().get_params(ctx))


def _quickly_read(params: list[Any]) -> list[Any]:
    for one in params:
        if not isinstance(one.process_value, partial):
            one.process_value = partial(_read, one, one.process_value)
    return params


def _read(param: Any, usual: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    """Return the value of an option that is left out, plain text or digits; else the `usual` one.

    typer makes a validator of pydantic's for each option, which takes a third of a second.
    """
    kind = getattr(getattr(param, "type_descriptor", None), "annotation", None)
    if value is None and kind is not None and not param.required:
        found: Any = () if param.multiple or param.nargs == -1 else None
    elif kind is str and isinstance(value, str) and value.isascii():
        found = value
    elif kind is int and (type(value) is int or _is_digits(value)):
        found = int(str(value))
    else:
        return usual(context, value)
    return param.callback(context, param, found) if param.callback else found


def _is_digits(value: Any) -> bool:
    text = value if isinstance(value, str) else ""
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


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

    if not _is_digits(text):
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
