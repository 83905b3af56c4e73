"""CSV by the line: what a line breaks into is decided by that line alone.

A line ends at a line feed or a carriage return, quotes or not, so no line can swallow another: a
person's lines move no one else's. A field is either "…", with "" for a quote within, or everything
up to the next comma; a quote that opens and doesn't close is a letter like any other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leastnoise.errors import SourceError
from leastnoise.tables.casts import Held, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

MAX_LINE = 2**20
_BLOCK = 2**19
# Of the alternatives, the first that lets a comma follow; both RE2 and Python choose so. Either
# takes the line with one more comma behind it.
_FIELD = '("(?:[^"]|"")*"|[^,]*),'
_PIECE = re.compile(rb"[^\r\n]*[\r\n]|[^\r\n]+")

# Each line is one field to DuckDB's reader: quote and escape are off, and the delimiter is a
# control character. Where it stands nevertheless, the rest of that line is ignored.
_LINES_SQL = (
    "read_csv($path, header = false, skip = 1, auto_detect = false, delim = '\x1f', quote = '', "
    "escape = '', new_line = '\\n', columns = {'line': 'VARCHAR'}, ignore_errors = true, "
    f"null_padding = true, strict_mode = false, max_line_size = {2 * MAX_LINE})"
)
# "\r\n" ends a line and then an empty one, which is none; it splits faster without quotes.
_QUOTED = f"regexp_extract_all(line || ',', '{_FIELD}', 1)"
_FIELDS_SQL = (
    f"SELECT CASE WHEN contains(line, '\"') THEN {_QUOTED} "  # noqa: S608  # constants alone
    f"ELSE string_split(line, ',') END AS fields FROM {_LINES_SQL} WHERE line <> ''"
)


def rows(path: Path) -> Rows:
    """Return the rows of the file, every column text, without its quotes; NULL if empty."""
    held = {name: Held(sql=f"c{place}", kind="VARCHAR") for place, name in enumerate(header(path))}
    listed = ", ".join(f"{_unquoted_sql(place)} AS c{place}" for place in range(len(held)))
    return Rows(sql=f"(SELECT {listed} FROM ({_FIELDS_SQL}))", columns=held)  # noqa: S608


def _unquoted_sql(place: int) -> str:
    field = f"fields[{place + 1}]"
    return (
        f"CASE WHEN {field} LIKE '\"%\"' "
        f"THEN replace(substring({field}, 2, length({field}) - 2), '\"\"', '\"') "
        f"ELSE nullif({field}, '') END"
    )


def split(line: str) -> list[str]:
    """Return the fields of `line`, as the SQL above does.

    >>> split('1,"a ""b"", c",,"oops')
    ['1', 'a "b", c', '', '"oops']
    """
    return [_unquoted(field) for field in re.findall(_FIELD, f"{line},")]


def _unquoted(field: str) -> str:
    if len(field) >= 2 and field[0] == field[-1] == '"':
        return field[1:-1].replace('""', '"')
    return field


def header(path: Path) -> list[str]:
    """Return the fields of the first line; raises SourceError if there is none to be read."""
    try:
        with path.open("rb") as file:
            start = file.read(MAX_LINE + 1)
    except OSError:
        raise SourceError(f"The header of {path.name} can't be read.") from None
    first = re.split(rb"[\r\n]", start, maxsplit=1)[0].removeprefix(b"\xef\xbb\xbf")
    if not first:
        raise SourceError(f"{path.name} has no header line.")
    if not _is_good(first):
        raise SourceError(f"The header of {path.name} is too long, or not UTF-8 text.")
    return split(first.decode("utf-8"))


def cleaned(path: Path, folder: Path) -> Path:
    """Return `path`, or where some lines are too long or not UTF-8, a copy in `folder` without.

    DuckDB's reader drops such lines too, but with an eye to where its buffers end: which others go
    with them would depend on the lines before.
    """
    with path.open("rb") as file:
        if all(_is_clean(block) for block in _blocks(file)):
            return path
    copy = folder / "lines.csv"
    with path.open("rb") as file, copy.open("wb") as kept:
        for block in _blocks(file):
            kept.write(block if _is_clean(block) else b"".join(filter(_is_good, _pieces(block))))
    return copy


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the file in blocks that end where a line does.

    A line that is too long comes as its first MAX_LINE + 1 bytes or more, and its end.
    """
    rest = b""
    while read := file.read(_BLOCK):
        end = max(read.rfind(b"\n"), read.rfind(b"\r")) + 1
        if end:
            yield rest + read[:end]
            rest = read[end:]
        elif len(rest) <= MAX_LINE:
            rest += read
    if rest:
        yield rest


def _is_clean(block: bytes) -> bool:
    """Say whether every line of the block is good, without looking at each."""
    # A block is one read and what was left of others: only a long line makes it much longer.
    return len(block) <= MAX_LINE and _is_utf8(block)


def _pieces(block: bytes) -> list[bytes]:
    return _PIECE.findall(block)


def _is_good(line: bytes) -> bool:
    return len(line) <= MAX_LINE and _is_utf8(line)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
