"""How a CSV is written: told by the spec, and never guessed, since a guess would depend on rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, final

from pydantic import BeforeValidator

from leastnoise.tables.spec.source_names import is_tsv
from leastnoise.tables.spec.values import UTF_8, Encoding, Names, key

if TYPE_CHECKING:
    from leastnoise.tables.spec.join import Join
    from leastnoise.tables.spec.model import Data

Delimiter = Literal[",", ";", "\t", "|"]
Decimal = Literal[".", ","]
DELIMITERS: tuple[Delimiter, ...] = (",", ";", "\t", "|")
_KEYS = ("encoding", "delimiter", "decimal", "header")


@final
@dataclass(frozen=True, kw_only=True)
class Dialect:
    """What stands between the fields of a line, and in its numbers; ASCII in each encoding.

    `names` are those of the columns where no line says them.
    """

    encoding: Encoding = UTF_8
    delimiter: Delimiter | None = None
    decimal: Decimal = "."
    names: tuple[str, ...] = ()

    def of_file(self, name: str) -> Self:
        """Return this with the delimiter that a file of that name has where none is told."""
        return replace(self, delimiter=self.delimiter or ("\t" if is_tsv(name) else ","))

    @property
    def between(self) -> Delimiter:
        """What stands between fields."""
        return self.delimiter or ","


def _read_header(value: object) -> object:
    """Let a list be given for a tuple; raises ValueError for a bool, which other readers take."""
    if isinstance(value, bool):
        raise ValueError(  # noqa: TRY004  # which pydantic tells with its key
            "Expected the names of all columns in their order, where no line of the CSV says them. "
            'Write it like header = ["person", "visits"], or leave it out.'
        )
    return tuple(value) if isinstance(value, list) else value


# The keys of a section that say how its CSV is written.
Header = Annotated[Names, BeforeValidator(_read_header)]
ENCODING: Any = key(
    "the encoding of a CSV that isn't UTF-8: latin-1 or windows-1252",
    'encoding = "latin-1"',
    default=None,
)
DELIMITER: Any = key(
    "what stands between the fields of a CSV, if it is no comma (in a .tsv no tab)",
    'delimiter = ";"',
    default=None,
)
DECIMAL: Any = key(
    "what stands before the decimals of a CSV's numbers, if it is no point",
    'decimal = ","',
    default=None,
)
HEADER: Any = key(
    "the names of a CSV's columns in their order, if its first line doesn't say them",
    'header = ["person", "visits"]',
    default=None,
)


def dialect_of(section: Data | Join) -> Dialect:
    """Return how the CSV of a section is written."""
    return Dialect(
        encoding=section.encoding or UTF_8,
        delimiter=section.delimiter,
        decimal=section.decimal or ".",
        names=section.header or (),
    )


def told_of(section: Data | Join) -> dict[str, Any]:
    """Return the keys that a section gives of those that only CSV has."""
    given = {name: getattr(section, name) for name in _KEYS}
    return {name: value for name, value in given.items() if value is not None}
