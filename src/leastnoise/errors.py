"""The exceptions of leastnoise. Each carries its fields; none ever carries data.

Two branches, which the command line maps to exit codes: `InvalidInput` (2: an argument, a spec or
a file is malformed) and `Refused` (1: the request is well-formed, but the answer is no).
"""

from __future__ import annotations

from numbers import Integral, Rational, Real
from operator import index
from typing import TYPE_CHECKING

from leastnoise import _words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.guarantees.exact import Interval

MOST_SHOWN = 40  # characters of a value
_MOST_TOLD = 100  # problems of a spec
_LONGEST_KEY = 300  # letters of a key of a spec


class LeastnoiseError(Exception):
    """Base of every error that leastnoise raises on purpose.

    Its message may name files, columns and keys of others, and ends on a terminal: it is one line
    without anything that a terminal would obey, or several if `lines` says that they are ours.
    """

    def __init__(self, said: object = "", *, lines: bool = False) -> None:
        super().__init__(_words.plain(str(said), lines=lines))


class InvalidInput(LeastnoiseError, ValueError):
    """Malformed input: nothing was computed, spent or written."""


class InvalidArgument(InvalidInput):
    """One argument is outside its range; says what was expected, what came, and what to do."""

    def __init__(self, *, name: str, value: object, expected: str, hint: str = "") -> None:
        self.name = name
        self.value = value
        self.expected = expected
        self.hint = hint
        super().__init__(f"Expected {expected}, got {name}={value}.{' ' if hint else ''}{hint}")


def shown(value: object) -> str:
    """Return short text for an error: numbers and texts as they are, of all else the type."""
    if isinstance(value, str):
        quoted = repr(str(value[: MOST_SHOWN + 1]))
        return quoted if len(value) <= MOST_SHOWN else f"{quoted[:MOST_SHOWN]}…"
    number = _is_number(value)
    if number and isinstance(value, Rational) and not is_short(value):
        return "a number of very many digits"
    if number or value is None or type(value).__name__ == "Decimal":
        return str(value)[:MOST_SHOWN]
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"


def _is_number(value: object) -> bool:
    if isinstance(value, Integral):
        try:
            index(value)
        except TypeError:  # numpy.timedelta64 says that it is a whole number
            return False
    return isinstance(value, Real)


def is_short(value: Rational | int) -> bool:
    """True for a number that is short enough to stand in a message."""
    most = 128  # bits: longer numbers have no use there
    return max(int(value.numerator).bit_length(), int(value.denominator).bit_length()) <= most


class SpecError(InvalidInput):
    """A release spec has one or more problems: `problems` are all of them, each with its key.

    `places` say where each is, as spec.toml:12, or nothing. The message lists the first hundred.
    """

    def __init__(
        self, problems: Sequence[tuple[str, str]], *, places: Sequence[str] | None = None
    ) -> None:
        self.problems: tuple[tuple[str, str], ...] = tuple(problems)
        self.places: tuple[str, ...] = (
            ("",) * len(self.problems) if places is None else tuple(places)
        )
        told = [
            _words.plain(_told(place, key, message))
            for place, (key, message) in zip(
                self.places[:_MOST_TOLD], self.problems[:_MOST_TOLD], strict=True
            )
        ]
        if more := len(self.problems) - len(told):
            told.append(f"  … and {more:,} more.")
        count = _words.counted(len(self.problems), "problem")
        super().__init__("\n".join([f"The spec has {count}:", *told]), lines=True)


def _told(place: str, key: str, message: str) -> str:
    shown = key if len(key) <= _LONGEST_KEY else f"{key[:_LONGEST_KEY]}…"
    return f"{place}: {shown}: {message}" if place else f"  {shown}: {message}"


class SourceError(InvalidInput):
    """A file is missing, unreadable, or not of the declared kind. Never quotes what it holds."""


class Refused(LeastnoiseError):
    """A well-formed request that leastnoise won't fulfil, because it can't be proved or met."""


class NumericalFailure(Refused):
    """A computation in floats went wrong; neither the budget nor the request is at fault."""

    def __init__(self, *, what: str) -> None:
        self.what = what
        super().__init__(
            f"{what} could not be computed: floats lost it. Neither the budget nor the request is "
            "at fault; please report it."
        )


class MissingLibrary(Refused, ImportError):
    """A library that is only needed for what was asked isn't installed."""

    def __init__(self, *, package: str, extra: str | None = None) -> None:
        self.package = package
        install = package if extra is None else f"'leastnoise[{extra}]'"
        super().__init__(f"{package} is missing. Install it: pip install {install}")


class NotApplicable(Refused):
    """A noise family can't serve this query or budget."""

    def __init__(self, *, family: str, why: str) -> None:
        self.family = family
        self.why = why
        super().__init__(f"{family} does not apply: {why}")


class NotRegistered(LeastnoiseError):
    """A noise family is missing from a table that it has to be in, or is registered wrongly there.

    No input is at fault but a family's own registration: `family` and `table` say which.
    """

    def __init__(self, *, family: str, table: str, why: str = "it isn't registered there") -> None:
        self.family = family
        self.table = table
        self.why = why
        super().__init__(f"{table} can't serve the noise family {family}: {why}.")


class NotCertified(Refused):
    """The guarantee could not be proved; `interval` encloses the delta that was found instead."""

    def __init__(self, *, interval: Interval | None, why: str) -> None:
        self.interval = interval
        self.why = why
        super().__init__(why)


class CertificateRejected(Refused):
    """A certificate says something that is false, unknown to this version, or not proved."""


class OverBudget(Refused):
    """A release needs more than what is left of a budget; nothing was charged or drawn."""

    def __init__(self, *, dataset: str, rule: str, why: str) -> None:
        self.dataset = dataset
        self.rule = rule
        self.why = why
        super().__init__(f"Over budget for {dataset!r}: {why} Nothing was charged or drawn.")


class LedgerRejected(Refused):
    """A ledger says something that is false, or was edited by something else than leastnoise."""


class RandomnessError(LeastnoiseError):
    """Sampling could not finish (a precision cap was met); nothing was published."""
