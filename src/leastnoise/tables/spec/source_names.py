"""What a source may be called: known from the spec alone, before any file is looked at."""

from __future__ import annotations

import re
from glob import has_magic
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Sequence

TSV = (".tsv", ".tsv.gz", ".tsv.zst")
CSV = (".csv", ".csv.gz", ".csv.zst", *TSV)
FILES = (*CSV, ".parquet")
SQLITE = (".sqlite", ".sqlite3")
DATABASES = (".duckdb", ".ddb", ".db", *SQLITE)
DUCKDB, POLARS, SPARK, CONNECT = "duckdb", "polars", "spark", "sc://"
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
    if engine in {None, DUCKDB, POLARS} or is_spark(engine):
        return _why_secret(engine or "")
    return f'Expected "{DUCKDB}", "{POLARS}", "{SPARK}" or "{CONNECT}host:port", got {engine!r}.'


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
