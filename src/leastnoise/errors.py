"""The exceptions of leastnoise, with their details as attributes; none contains data.

There are two branches, which the command line maps to exit codes. `InvalidInput` (2): an argument,
a spec or a file is malformed. `Refused` (1): the request is well-formed, but it can't be fulfilled.
`NotRegistered` and `RandomnessError` are in neither branch, and have exit code 1.
"""

from __future__ import annotations

from numbers import Integral, Rational, Real
from operator import index
from typing import TYPE_CHECKING

from leastnoise import _words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.guarantees.exact import Interval

MOST_SHOWN = 40  # characters of a quoted value
_MOST_LISTED = 100  # problems of a spec that a message lists
_LONGEST_KEY = 300  # letters of a spec's key in a message


class LeastnoiseError(Exception):
    """Base of the errors that leastnoise defines.

    scikit-learn's rules make `leastnoise.learn` raise plain ValueErrors and TypeErrors, too.

    Messages may quote names of files, columns and keys from outside, and may be shown on a
    terminal. So a message is one line, without any character that controls a terminal. With
    `lines=True` it keeps its line ends, which only leastnoise may have written.
    """

    def __init__(self, message: object = "", *, lines: bool = False) -> None:
        super().__init__(_words.plain(str(message), lines=lines))


class InvalidInput(LeastnoiseError, ValueError):
    """Malformed input. Unless the raising function says otherwise, nothing was spent or written."""


class InvalidArgument(InvalidInput):
    """One argument is malformed or outside its range.

    Attributes:
        name: Name of the argument.
        value: The value that was given, as text.
        expected: The values that are allowed.
        hint: The next step, or an empty text.

    """

    def __init__(self, *, name: str, value: object, expected: str, hint: str = "") -> None:
        self.name = name
        self.value = value
        self.expected = expected
        self.hint = hint
        super().__init__(f"Expected {expected}, got {name}={value}.{' ' if hint else ''}{hint}")


def show_value(value: object) -> str:
    """Describe a value for an error: numbers and texts as they are, other objects by their type.

    Args:
        value: Any value.

    Returns:
        At most about 40 characters; they contain no data of other objects than numbers and texts.
    """
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
        except TypeError:  # numpy.timedelta64 claims to be a whole number
            return False
    return isinstance(value, Real)


def is_short(value: Rational | int) -> bool:
    """True for a number that is short enough to stand in a message.

    Args:
        value: A rational number.

    Returns:
        True if numerator and denominator have at most 128 bits each.
    """
    most = 128  # bits: a longer number is useless in a message
    return max(int(value.numerator).bit_length(), int(value.denominator).bit_length()) <= most


class SpecError(InvalidInput):
    """A release spec has one or more problems.

    The message lists the first hundred.

    Attributes:
        problems: All problems, as pairs of a key of the spec and a message.
        locations: For each problem the file and line, such as "spec.toml:12", or an empty text.

    """

    def __init__(
        self, problems: Sequence[tuple[str, str]], *, locations: Sequence[str] | None = None
    ) -> None:
        self.problems: tuple[tuple[str, str], ...] = tuple(problems)
        self.locations: tuple[str, ...] = (
            ("",) * len(self.problems) if locations is None else tuple(locations)
        )
        lines = [
            _words.plain(_format_problem(location, key, message))
            for location, (key, message) in zip(
                self.locations[:_MOST_LISTED], self.problems[:_MOST_LISTED], strict=True
            )
        ]
        if more := len(self.problems) - len(lines):
            lines.append(f"  … and {more:,} more.")
        count = _words.count_noun(len(self.problems), "problem")
        super().__init__("\n".join([f"The spec has {count}:", *lines]), lines=True)


def _format_problem(location: str, key: str, message: str) -> str:
    shown = key if len(key) <= _LONGEST_KEY else f"{key[:_LONGEST_KEY]}…"
    return f"{location}: {shown}: {message}" if location else f"  {shown}: {message}"


class SourceError(InvalidInput):
    """Data can't be read, or a result can't be written.

    A file, frame or database may be missing, unreadable or not of the declared kind, the module
    that reads it may not be installed, or a worker may have failed. The message may name files and
    columns, but it quotes no values.
    """


class Refused(LeastnoiseError):
    """A well-formed request that leastnoise refuses, because it can't be proved or fulfilled."""


class NumericalFailure(Refused):
    """A computation in floats failed; neither the budget nor the request is at fault.

    Attributes:
        what: The quantity that could not be computed.

    """

    def __init__(self, *, what: str) -> None:
        self.what = what
        super().__init__(
            f"{what} could not be computed: floats are not precise enough. Neither the budget nor "
            "the request is at fault; please report it."
        )


class MissingLibrary(Refused, ImportError):
    """An optional library that this request needs isn't installed.

    Attributes:
        package: Name of the library on PyPI.

    """

    def __init__(self, *, package: str, extra: str | None = None) -> None:
        self.package = package
        install = package if extra is None else f"'leastnoise[{extra}]'"
        super().__init__(f"{package} is missing. Install it: pip install {install}")


class NotApplicable(Refused):
    """A noise family can't serve this query or budget.

    Attributes:
        family: Name of the family.
        why: The reason.

    """

    def __init__(self, *, family: str, why: str) -> None:
        self.family = family
        self.why = why
        super().__init__(f"{family} does not apply: {why}")


class NotRegistered(LeastnoiseError):
    """A noise family is missing from a registry, or registered wrongly.

    The code that registers the family is at fault, not the input.

    Attributes:
        family: Name of the family.
        table: Name of the registry.
        why: The reason.
    """

    def __init__(self, *, family: str, table: str, why: str = "it isn't registered there") -> None:
        self.family = family
        self.table = table
        self.why = why
        super().__init__(f"{table} can't serve the noise family {family}: {why}.")


class NotCertified(Refused):
    """The guarantee could not be proved.

    Attributes:
        interval: Bounds on δ that were proved instead, or None.
        why: The reason.

    """

    def __init__(self, *, interval: Interval | None, why: str) -> None:
        self.interval = interval
        self.why = why
        super().__init__(why)


class CertificateRejected(Refused):
    """A certificate states something false, unproved or unknown to this version."""


class OverBudget(Refused):
    """A release needs more than the rest of a budget; nothing was charged or drawn.

    Attributes:
        dataset: Name of the dataset whose ledger refused.
        rule: Name of the ledger's composition rule.
        why: The reason.

    """

    def __init__(self, *, dataset: str, rule: str, why: str) -> None:
        self.dataset = dataset
        self.rule = rule
        self.why = why
        super().__init__(f"Over budget for {dataset!r}: {why} Nothing was charged or drawn.")


class LedgerRejected(Refused):
    """A ledger states something false, or was edited by a program other than leastnoise."""


class RandomnessError(LeastnoiseError):
    """Sampling could not finish, because it reached a precision cap; nothing was published."""
