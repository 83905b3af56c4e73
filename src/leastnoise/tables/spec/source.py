"""What a spec says of its source: its name, how a CSV is written, and tables joined to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, final
from urllib.parse import unquote

from pydantic import BeforeValidator

from leastnoise.tables.spec.section import Section, key
from leastnoise.tables.spec.values import UTF_8, Encoding, Names, Sources, Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.tables.spec.model import Data

TSV = (".tsv", ".tsv.gz", ".tsv.zst")
CSV = (".csv", ".csv.gz", ".csv.zst", *TSV)
FILES = (*CSV, ".parquet")
SQLITE = (".sqlite", ".sqlite3")
DATABASES = (".duckdb", ".ddb", ".db", *SQLITE)
ENGINES = DUCKDB, SPARK, CONNECT = "duckdb", "spark", "sc://"
"""Engines, the last of them by the address of a Spark Connect server."""
_SECRET = re.compile(r"://([^/@]*:[^/@]*@|.*[?;&][^=]*(password|token)[^=;&]*=)", re.IGNORECASE)
_POSTGRES = ("postgresql://", "postgres://")
IN_MEMORY = "<frame>"
"""What a spec has for its source where the rows are a frame."""


def is_csv(name: str) -> bool:
    """Say whether a file of that name is read as CSV."""
    return name.lower().endswith(CSV)


def is_tsv(name: str) -> bool:
    """Say whether tabs stand between the fields of a file of that name."""
    return name.lower().endswith(TSV)


def is_database(name: str) -> bool:
    """Say whether a file of that name holds tables."""
    return name.lower().endswith(DATABASES) or is_postgres(name)


def is_postgres(name: str) -> bool:
    """Say whether that is the address of a PostgreSQL server."""
    return name.startswith(_POSTGRES)


def needs_types(name: str) -> bool:
    """Say whether what has that name says nothing of types, so that a spec has to."""
    return is_csv(name) or name.lower().endswith(SQLITE)


def is_spark(engine: str | None) -> bool:
    """Say whether that engine is a session of Spark's."""
    return engine is not None and (engine == SPARK or engine.startswith(CONNECT))


def why_no_engine(engine: str | None) -> str | None:
    """Return what is wrong with the name of an engine; None if nothing is."""
    if engine in {None, DUCKDB} or is_spark(engine):
        return _why_secret(engine or "")
    why = f'Expected "{DUCKDB}", "{SPARK}" or "{CONNECT}host:port", got {engine!r}.'
    if engine == "polars":
        why += " DuckDB, the default, reads Polars frames as they are: delete the line or option."
    return why


def why_no_source(name: str) -> str | None:
    """Return why nothing that is read can have this name; None if something can.

    A name without a suffix may be a folder's.
    """
    if why := _why_secret(name):
        return why
    known = name.lower().endswith((*FILES, *DATABASES)) or not PurePath(name).suffix
    if known or has_magic(name) or name == IN_MEMORY:
        return None
    return f"Expected a file ending in {', '.join((*FILES, *DATABASES))}, got {name!r}."


def _why_secret(address: str) -> str | None:
    """Return why an address can't be published, as specs are; None if it can."""
    if _SECRET.search(unquote(address)):
        return (
            "Leave passwords and tokens out: a spec is published. PostgreSQL takes a password from "
            "PGPASSWORD or ~/.pgpass, and Spark takes what it needs from its own settings."
        )
    return None


def why_no_table(names: Sequence[str], table: str | None) -> str | None:
    """Return what is wrong with a `table` beside such a source; None if nothing is."""
    database = any(map(is_database, names))
    if database and len(names) > 1:
        return "Expected one database alone, or files of rows."
    if database and table is None:
        return 'Missing: a database needs the name of a table, such as table = "visits".'
    if table is not None and not database:
        ends = ", ".join(DATABASES)
        return f"Used with a database alone: a file ending in {ends}, or postgresql://…"
    return None


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


def csv_keys(section: Data | Join) -> dict[str, Any]:
    """Return the keys that a section gives of those that only CSV has."""
    given = {name: getattr(section, name) for name in _KEYS}
    return {name: value for name, value in given.items() if value is not None}


ON_SPARK = "Spark reads no join: join the frames in Spark, and let the result be the source."


@final
class Join(Section):
    """A table of which one row stands beside each row with the same value of the column `on`.

    Joined by the unit's own column, a person's row of it is part of that person's data, which the
    guarantee covers; by any other, the table has to be `public`. Where it has no row of a value, or
    several, its columns are missing.
    """

    source: Sources = key(
        "the joined table's file, pattern, folder or database", 'source = "persons.parquet"'
    )
    on: Text = key("the column by which it is joined, of both tables", 'on = "person"')
    public: bool = key("whether it is public, and no person's data", "public = true", default=False)
    table: Text | None = key("the table of a database", 'table = "persons"', default=None)
    encoding: Encoding | None = ENCODING
    delimiter: Delimiter | None = DELIMITER
    decimal: Decimal | None = DECIMAL
    header: Header | None = HEADER

    @property
    def sources(self) -> tuple[str, ...]:
        """The texts of the source."""
        return (self.source,) if isinstance(self.source, str) else self.source or ()

    def in_words(self, name: str) -> str:
        """Return what stands beside each row, of the table that the spec calls `name`."""
        row = f"Each row has the row of {name} with the same {self.on} beside it, if there is one"
        if self.public:
            return f"{row} alone: {name} is public, and not protected."
        return f"{row} alone: it is protected as part of its {self.on}'s data."
