"""The keys about a source: its name, the dialect of a CSV, and tables that are joined to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, final
from urllib.parse import unquote

from pydantic import BeforeValidator

from leastnoise.tables.spec.section import Section, key
from leastnoise.tables.spec.values import UTF_8, Encoding, Names, Sources, Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.tables.spec.model import Data

TSV = (".tsv", ".tsv.gz", ".tsv.zst")
CSV = (".csv", ".csv.gz", ".csv.zst", *TSV)
STATISTICAL = (".sav", ".zsav", ".dta", ".sas7bdat", ".xpt")
WORKBOOKS = (".xlsx",)
TABULAR = (*CSV, ".parquet")
FILES = (*TABULAR, *STATISTICAL, *WORKBOOKS)
SQLITE = (".sqlite", ".sqlite3")
DATABASES = (".duckdb", ".ddb", ".db", *SQLITE)
ENGINES = DUCKDB, SPARK, CONNECT = "duckdb", "spark", "sc://"
"""The engines; "sc://" begins the address of a Spark Connect server."""
_SECRET = re.compile(r"://([^/@]*:[^/@]*@|.*[?;&][^=]*(password|token)[^=;&]*=)", re.IGNORECASE)
_POSTGRES = ("postgresql://", "postgres://")
IN_MEMORY = "<frame>"
"""The source in a spec if the rows are a frame."""


def is_csv(name: str) -> bool:
    """True if a file of this name is read as CSV."""
    return name.lower().endswith(CSV)


def is_tsv(name: str) -> bool:
    """True if tabs separate the fields in a file of this name, unless a spec says otherwise."""
    return name.lower().endswith(TSV)


def is_statistical(name: str) -> bool:
    """True for the name of a file of SPSS, Stata or SAS."""
    return name.lower().endswith(STATISTICAL)


def is_workbook(name: str) -> bool:
    """True for the name of an Excel workbook (.xlsx)."""
    return name.lower().endswith(WORKBOOKS)


def is_database(name: str) -> bool:
    """True for the name of a database file, or the address of a PostgreSQL server."""
    return name.lower().endswith(DATABASES) or is_postgres(name)


def is_postgres(name: str) -> bool:
    """True for the address of a PostgreSQL server."""
    return name.startswith(_POSTGRES)


def needs_types(name: str) -> bool:
    """True if a source of this name has no column types, so that the spec has to state them."""
    return is_csv(name) or name.lower().endswith((*SQLITE, *WORKBOOKS))


def is_spark(engine: str | None) -> bool:
    """True if this name of an engine means Spark."""
    return engine is not None and (engine == SPARK or engine.startswith(CONNECT))


def why_no_engine(engine: str | None) -> str | None:
    """The reason why this is no valid name of an engine; None if it is valid."""
    if engine in {None, DUCKDB} or is_spark(engine):
        return _why_secret(engine or "")
    why = f'Expected "{DUCKDB}", "{SPARK}" or "{CONNECT}host:port", got {engine!r}.'
    if engine == "polars":
        why += " DuckDB, the default, reads Polars frames as they are: delete the line or option."
    return why


def why_no_source(name: str) -> str | None:
    """The reason why a source can't have this name; None if it can.

    A name without a suffix may be a folder's.
    """
    if why := _why_secret(name):
        return why
    known = name.lower().endswith((*FILES, *DATABASES)) or not PurePath(name).suffix
    if known or has_magic(name) or name == IN_MEMORY:
        return None
    return f"Expected a file ending in {', '.join((*FILES, *DATABASES))}, got {name!r}."


def _why_secret(address: str) -> str | None:
    """The reason why an address with a password or token can't stand in a spec, which is published.

    None if the address doesn't look as if it had one.
    """
    if _SECRET.search(unquote(address)):
        return (
            "Leave passwords and tokens out, because a spec is published. PostgreSQL reads the "
            "password from PGPASSWORD or ~/.pgpass, and Spark reads credentials from its settings."
        )
    return None


def why_no_table(names: Sequence[str], table: str | None) -> str | None:
    """The reason why the sources `names` and a spec's `table` don't go together; None if they do.

    `table` names a table of a database or a sheet of a workbook; None if the spec has no such key.
    """
    database = any(map(is_database, names))
    if database and len(names) > 1:
        return "Expected either a single database or files of rows."
    if database and table is None:
        return 'Missing: a database needs the name of a table, such as table = "visits".'
    if table is not None and not database and not any(map(is_workbook, names)):
        ends = ", ".join((*DATABASES, *WORKBOOKS))
        return f"Only a database has tables: a file ending in {ends}, or postgresql://…"
    return None


Delimiter = Literal[",", ";", "\t", "|"]
Decimal = Literal[".", ","]
DELIMITERS: tuple[Delimiter, ...] = (",", ";", "\t", "|")
_KEYS = ("encoding", "delimiter", "decimal", "header")


@final
@dataclass(frozen=True, kw_only=True)
class Dialect:
    """The format of a CSV: its encoding, separator of fields, decimal mark and column names.

    Separator and mark are ASCII, so that they are the same bytes in each encoding. `names` are the
    column names of a file without a header line, and () for a file with one.
    """

    encoding: Encoding = UTF_8
    delimiter: Delimiter | None = None
    decimal: Decimal = "."
    names: tuple[str, ...] = ()

    def of_file(self, name: str) -> Self:
        """This dialect, with the delimiter that the file's name implies if no delimiter is set."""
        return replace(self, delimiter=self.delimiter or ("\t" if is_tsv(name) else ","))

    @property
    def between(self) -> Delimiter:
        """The separator of fields, by default a comma."""
        return self.delimiter or ","


def _read_header(value: object) -> object:
    """Convert a list to a tuple; raise ValueError for a bool, which other CSV readers accept."""
    if isinstance(value, bool):
        raise ValueError(  # noqa: TRY004  # pydantic reports a ValueError with its key
            "Expected the names of all columns in order, for a CSV without a header line. Write it "
            'like header = ["person", "visits"], or leave it out.'
        )
    return tuple(value) if isinstance(value, list) else value


# The keys for the dialect of a section's CSV.
Header = Annotated[Names, BeforeValidator(_read_header)]
ENCODING: Any = key(
    "the encoding of a CSV or statistical file, if not UTF-8 or stated: latin-1 or windows-1252",
    'encoding = "latin-1"',
    default=None,
)
DELIMITER: Any = key(
    "the separator of a CSV's fields, if not a comma (in a .tsv a tab)",
    'delimiter = ";"',
    default=None,
)
DECIMAL: Any = key(
    "the decimal mark of a CSV's numbers, if not a point",
    'decimal = ","',
    default=None,
)
HEADER: Any = key(
    "the names of a CSV's columns in order, if its first line is not a header",
    'header = ["person", "visits"]',
    default=None,
)


def dialect_of(section: Data | Join) -> Dialect:
    """The dialect that a section's keys describe."""
    return Dialect(
        encoding=section.encoding or UTF_8,
        delimiter=section.delimiter,
        decimal=section.decimal or ".",
        names=section.header or (),
    )


def csv_keys(section: Data | Join) -> dict[str, Any]:
    """The keys about a CSV's format that a section gives, with their values."""
    given = {name: getattr(section, name) for name in _KEYS}
    return {name: value for name, value in given.items() if value is not None}


ON_SPARK = "Spark sources can't have joins. Join the frames in Spark, and use the result as source."


@final
class Join(Section):
    """A table whose rows are joined to the source's rows by equal values of the column `on`.

    At most one row is joined to each row of the source. If a value of `on` occurs in no row of the
    table, or in several, the table's columns are missing. A `public` table isn't protected. Any
    other table is joined by the unit's column: its rows are part of the persons' data, which the
    guarantee covers.
    """

    forms: ClassVar[dict[str, str]] = {
        "source": 'a text in quotes such as "persons.parquet", or a list of texts'
    }

    source: Sources = key(
        "the joined table's file, pattern, folder or database", 'source = "persons.parquet"'
    )
    on: Text = key("the column of both tables by which it is joined", 'on = "person"')
    public: bool = key("true, if the table is public", "public = true", default=False)
    columns: Names = key(
        "its columns by which queries group, if it is joined by the unit: each person is in one "
        "group of them",
        'columns = ["sex", "region"]',
        default=(),
    )
    table: Text | None = key(
        "the table of a database, or the sheet of a workbook", 'table = "persons"', default=None
    )
    encoding: Encoding | None = ENCODING
    delimiter: Delimiter | None = DELIMITER
    decimal: Decimal | None = DECIMAL
    header: Header | None = HEADER

    @property
    def sources(self) -> tuple[str, ...]:
        """The files, patterns, folders or database of the joined table."""
        return (self.source,) if isinstance(self.source, str) else self.source or ()

    def in_words(self, name: str) -> str:
        """Sentences about this table, which the spec calls `name`."""
        row = f"Each row is joined to the row of {name} with the same {self.on}"
        row += ", if exactly one has it"
        if self.public:
            return f"{row}. {name} is public, and not protected."
        return f"{row}. Rows of {name} are protected as part of their {self.on}'s data."
