"""Write a first spec for a source, from its schema alone: column names and types, never a row.

Facts that only the user knows are left out, so that a release is refused until they are added.
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
    from leastnoise.tables.values.casts import StoredColumn

OUTPUT = "out"
"""The directory to which a release of the first spec is written, relative to the spec."""

# Each TODO below is for the user, who finds it in an editor; it marks no unfinished work here.
_HEAD = """\
# A first spec for a release, made from the names and types of the columns: no row was read.
# Every TODO is for you. This file is published with the release. Take bounds, keys, edges and
# limits from public knowledge (a questionnaire, a codebook, a law), never from the data: values
# read off the data are not protected, and would reveal what the noise has to hide.

version = 1
"""

_DIALECT = (
    "# The format of the CSV is never guessed from rows; state it here:",
    '# delimiter = ";"         # or "\\t", "|"; without it a comma, and in a .tsv a tab',
    '# decimal = ","           # if numbers are written 1,5, which counts as missing otherwise',
    '# encoding = "latin-1"    # or "windows-1252"; without it UTF-8',
    '# header = ["a", "b"]     # the names of its columns, if its first line is a row',
)
_PRIVACY = """\
[privacy]
# unit = "COLUMN"         # TODO: the column that identifies a person; "row" if each row is one
# unit_name = "person"    # the word for it in sentences, such as household
# epsilon = "1"           # TODO: the privacy budget of the whole release; smaller is safer
# delta = "1e-6"          # far below 1 / the number of persons; without it delta is 0
neighbours = "add-remove" # or "replace-one", if the number of persons is public

# [contribution]          # TODO: needed if unit is a column, and left out if it is "row"
# max_rows = 5            # TODO: the most rows of one person that count in full
"""

_COLUMNS = """\
[columns]                 # public bounds, which sums, means and spreads need
# A value beyond its bounds counts as the nearest bound. Means leave out rows without a value: add
# missing = 0 to count them as 0, or missing = "none" if it is public that no value is missing,
# which saves noise. A median needs candidates = { from = 0, to = 100, step = 1 }, the values that
# it may have. With keys = ["a", "b"] or edges = [0, 18, 65], queries can group by the name of the
# column.
"""
_BOUNDS = "the smallest and the largest possible value"

_QUERIES = """\
[[query]]                 # one query is one table
name = "all"              # the name of its file
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
    """The TOML of a first spec for the source `names`, which are relative to the current folder.

    In the TOML, relative paths start from `folder`. Raises InvalidInput for impossible names,
    SourceError if the source can't be read.
    """
    for name in names:
        if why := why_no_source(name):  # omits the name, which may hold a password
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
    seems = guess_delimiter(meant, columns)
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
    """The value of `data.source`: a text for one name, else a list."""
    return names[0] if len(names) == 1 else list(names)


def guess_delimiter(data: Data, columns: Collection[str]) -> Delimiter | None:
    """A delimiter that the name of a CSV's only column contains, else None."""
    if len(columns) > 1 or not any(map(is_csv, data.sources)):
        return None
    return next(
        (delimiter for delimiter in DELIMITERS if any(delimiter in name for name in columns)), None
    )


def _seen_from(folder: Path, name: str) -> str:
    """The path that a spec in `folder` needs for a file that `name` names in the current folder."""
    there = os.path.realpath(folder)
    if is_postgres(name) or os.path.isabs(name) or there == os.path.realpath(""):
        return name
    return os.path.relpath(name, there)


def _typed(columns: Mapping[str, StoredColumn]) -> str:
    lines = ["# Its columns:"]
    for name, column in columns.items():
        if column.type and column.declarable_types():
            kind: str = column.type
        elif column.declarable_types():
            kind = f"{_words.plain(column.kind)}; declare it under types, as " + " or ".join(
                f'"{kind_}"' for kind_ in column.declarable_types()
            )
        else:
            kind = f"{_words.plain(column.kind)}, which can't be used"
        lines.append(f"#   {_key(name)}: {kind}")
    return "\n".join(lines) + "\n"


def _untyped(columns: Mapping[str, StoredColumn], seems: Delimiter | None, *, header: bool) -> str:
    lines = ["# TODO: does this delimiter separate its columns?"] if seems else []
    lines += [line for line in _DIALECT if header and not (seems and "delimiter" in line)]
    lines += ["", "[data.types]"]
    if header:
        lines += [
            "# Names are taken from the first line of the CSV. If that is a row and no header,",
            "# delete this file, which quotes it, and name the columns by header as above.",
        ]
    lines += [
        '# TODO: the type of each column: "int", "float", "bool" or "text".',
        "# Unused columns can be left out; without edits all are text. A value that can't be",
        "# read as its type, such as n/a for an int, counts as missing.",
    ]
    lines += [f'{_key(name)} = "text"  # TODO' for name in columns]
    return "\n".join(lines) + "\n"


def _columns(columns: Mapping[str, StoredColumn], *, typed: bool) -> str:
    lines: list[str] = []
    for name, column in columns.items():
        if typed and column.type == "bool":
            lines.append(f"# {_key(name)} = {{ bounds = [0, 1] }}")
        elif not typed or column.type in {"int", "float"}:
            todo = _BOUNDS if typed else f"if it is a number: {_BOUNDS}"
            lines.append(f"# {_key(name)} = {{ bounds = [0, 10] }}  # TODO: {todo}")
    return _COLUMNS + "\n".join(lines) + "\n" if lines else ""


def _key(name: str) -> str:
    """Write a name as a TOML key, with escapes for line breaks and invisible letters."""
    written = tomli_w.dumps({name: 0}).removesuffix(" = 0\n")
    return "".join(
        letter if _words.is_seen(letter) else f"\\U{ord(letter):08x}" for letter in written
    )
