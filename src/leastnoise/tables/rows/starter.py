"""A first spec for a source, from its schema alone: names and types of columns, never a row.

What only the user can know is left out, so that a release of it is refused until it is written.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w
from pydantic import ValidationError

from leastnoise import _words
from leastnoise.errors import InvalidInput
from leastnoise.tables.rows import source
from leastnoise.tables.rows.duckdb.inputs import Input
from leastnoise.tables.spec.model import Data
from leastnoise.tables.spec.source import (
    DELIMITERS,
    is_csv,
    is_postgres,
    why_no_source,
    why_no_table,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from leastnoise.tables.spec.source import Delimiter
    from leastnoise.tables.values.casts import Held

OUTPUT = "out"
"""The directory that a release of it is written to, relative to the spec."""

# In what follows TODO is said to the user, whose editor finds it: it is no work left in here.
_HEAD = """\
# A first spec for a release, made from the names and types of the columns alone: no row was read.
# Every TODO is yours. What this file says is published with the release: take bounds, keys, edges
# and limits from public knowledge (a questionnaire, a codebook, a law), and never from the data.
# What is read off the data is not protected, and would give away what the noise has to hide.

version = 1
"""

_DIALECT = (
    "# How the CSV is written is told here, and never guessed from rows:",
    '# delimiter = ";"         # or "\\t", "|"; without it a comma, and in a .tsv a tab',
    '# decimal = ","           # if numbers are written 1,5',
    '# encoding = "latin-1"    # or "windows-1252"; without it UTF-8',
    '# header = ["a", "b"]     # the names of its columns, if its first line is a row',
)
_PRIVACY = """\
[privacy]
# unit = "COLUMN"         # TODO: the column that identifies a person; "row" if each row is one
# epsilon = "1"           # TODO: how much the whole release may tell of a person; less is safer
# delta = "1e-6"          # or leave it out for 0; far below 1 / the number of persons
neighbours = "add-remove" # or "replace-one", if the number of persons is public

# [contribution]          # TODO: needed if unit is a column, and left out if it is "row"
# max_rows = 5            # TODO: the most rows that one person can have; more count as so many
"""

_COLUMNS = """\
[columns]                 # public bounds, which sums, means and spreads need; a value beyond them
# counts as the nearest one. Means leave out rows without a value: missing = 0 beside the bounds
# counts them as 0, and missing = "none" says that none is missing, which saves noise. A median
# needs candidates = { from = 0, to = 100, step = 1 }, the values that it may have. With
# keys = ["a", "b"] or edges = [0, 18, 65] here, a query can group by the name of the column
"""
_BOUNDS = "the least and the greatest value that is possible"

_QUERIES = """\
[[query]]                 # one query is one table
name = "all"
statistics = ["count"]    # or "count_units" (persons), "sum(COLUMN)", "mean(COLUMN)",
                          # "median(COLUMN)", "count(COLUMN)" (rows with a value of it)
# group_by = ["COLUMN"]                                 # by the keys or edges of [columns.COLUMN]
# group_by = { COLUMN = [1, 2, 3] }                     # TODO: public keys; for text ["a", "b"]
# group_by = { COLUMN = { edges = [0, 18, 65, 120] } }  # TODO: or bands of a number
# group_by = { COLUMN = { keys = "private" } }          # or keys that nobody listed, with delta > 0

# [[query]]
# name = "distribution"
# histogram = { column = "COLUMN", edges = [0, 1, 5, 30] }    # TODO: public edges of the bins
"""
_OUTPUT = f"""\
[output]
path = "{OUTPUT}"              # a directory that doesn't exist yet
format = "csv"            # or "parquet", "json"
"""


def text(names: Sequence[str], *, table: str | None, folder: Path) -> str:
    """Return TOML for the source that a spec in the current folder would call `names`.

    In it, the source is called as a spec in `folder` has to. Raises InvalidInput for what no source
    can be called, SourceError for one that can't be read.
    """
    for name in names:
        if why := why_no_source(name):  # without the name, which may hold a password
            raise InvalidInput(f"SOURCE: {why}")
    if why := why_no_table(names, table):
        raise InvalidInput(f"--table: {why}")
    try:
        meant = Data(source=_one_or_all(names), table=table)
    except ValidationError:
        why = "Expected names of 1 to 4,096 letters, in UTF-8."
        raise InvalidInput(f"SOURCE or --table: {why}") from None
    rows = source.find_rows(meant, Path())
    columns = source.list_columns(rows)
    seems = _seems_between(meant, columns)
    if seems is not None:
        columns = source.list_columns(
            source.find_rows(meant.model_copy(update={"delimiter": seems}), Path())
        )
    data: dict[str, Any] = {"source": _one_or_all([_seen_from(folder, name) for name in names])}
    if table is not None:
        data["table"] = table
    if seems is not None:
        data["delimiter"] = seems
    typed = not isinstance(rows, Input) or rows.typed
    described = _typed(columns) if typed else _untyped(columns, seems, header=table is None)
    sections = [
        f"{_HEAD}\n[data]\n{tomli_w.dumps(data)}{described}",
        _PRIVACY,
        _columns(columns, typed=typed),
        _QUERIES,
        _OUTPUT,
    ]
    return "\n".join(section for section in sections if section)


def _one_or_all(names: Sequence[str]) -> Any:
    """Return names as `data.source` has them: one as a text."""
    return names[0] if len(names) == 1 else list(names)


def _seems_between(data: Data, columns: Collection[str]) -> Delimiter | None:
    """Return what seems to stand between the names in a CSV's header; None if it was read so."""
    if len(columns) > 1 or not any(map(is_csv, data.sources)):
        return None
    return next((one for one in DELIMITERS if any(one in name for name in columns)), None)


def _seen_from(folder: Path, name: str) -> str:
    """Return what a spec in `folder` calls the file that the current folder calls `name`."""
    there = os.path.realpath(folder)
    if is_postgres(name) or os.path.isabs(name) or there == os.path.realpath(""):
        return name
    return os.path.relpath(name, there)


def _typed(columns: Mapping[str, Held]) -> str:
    lines = ["# Its columns:"]
    for name, held in columns.items():
        if held.type and held.read_as():
            kind: str = held.type
        elif held.read_as():
            kind = f"{_words.plain(held.kind)}; declare it under types, as " + " or ".join(
                f'"{one}"' for one in held.read_as()
            )
        else:
            kind = f"{_words.plain(held.kind)}, which can't be used"
        lines.append(f"#   {_key(name)}: {kind}")
    return "\n".join(lines) + "\n"


def _untyped(columns: Mapping[str, Held], seems: Delimiter | None, *, header: bool) -> str:
    lines = ["# TODO: is that what its header is written with?"] if seems else []
    lines += [one for one in _DIALECT if header and not (seems and "delimiter" in one)]
    lines += ["", "[data.types]"]
    if header:
        lines += [
            "# Names are those of the first line of the CSV. If that is a row and no header,",
            "# delete this file, which quotes it, and name the columns by header as above.",
        ]
    lines += [
        '# TODO: the type of each column: "int", "float", "bool" or "text". The source says none.',
        "# Columns that aren't used can be left out; without edits all are text.",
    ]
    lines += [f'{_key(name)} = "text"  # TODO' for name in columns]
    return "\n".join(lines) + "\n"


def _columns(columns: Mapping[str, Held], *, typed: bool) -> str:
    lines: list[str] = []
    for name, held in columns.items():
        if typed and held.type == "bool":
            lines.append(f"# {_key(name)} = {{ bounds = [0, 1] }}")
        elif not typed or held.type in {"int", "float"}:
            lines.append(f"# {_key(name)} = {{ bounds = [0, 10] }}  # TODO: {_BOUNDS}")
    return _COLUMNS + "\n".join(lines) + "\n" if lines else ""


def _key(name: str) -> str:
    """Return a name as TOML has it for a key; it never holds a line break, nor what isn't seen."""
    written = tomli_w.dumps({name: 0}).removesuffix(" = 0\n")
    return "".join(one if _words.is_seen(one) else f"\\U{ord(one):08x}" for one in written)
