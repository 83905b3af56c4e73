"""CSV by the line: what a line breaks into is decided by that line alone.

A line ends at a line feed or a carriage return, quotes or not, so no line can swallow another: a
person's lines move no one else's. A field is either "…", with "" for a quote within, or everything
up to the next comma; a quote that opens and doesn't close is a letter like any other.

DuckDB's reader drops lines that are too long or not UTF-8, but with an eye to where its buffers
end: which others go with them would depend on the lines before. And a query holds 2,048 lines at a
time, with all of their fields. So it is only given short lines of UTF-8: the file, if it has no
others, and else a pipe of the lines as they may be.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from typing import TYPE_CHECKING

from leastnoise.errors import SourceError
from leastnoise.tables import compression, pipe
from leastnoise.tables.casts import MAX_TEXT, Held, Rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path
    from typing import BinaryIO

MAX_LINE = 2**20
_BLOCK = 2**19
# Of the alternatives, the first that lets a comma follow; both RE2 and Python choose so. Either
# takes the line with one more comma behind it.
_FIELD = '("(?:[^"]|"")*"|[^,]*),'
_FIELD_BYTES = re.compile(_FIELD.encode("ascii"))
_LINE = re.compile(rb"[^\r\n]+")

# Each line is one field to DuckDB's reader: quote and escape are off, and the delimiter is a
# control character. Where it stands nevertheless, the rest of that line is ignored.
_DELIMITER = "\x1f"
_LINES_SQL = (
    f"read_csv($path, header = false, skip = 1, auto_detect = false, delim = '{_DELIMITER}', "
    "quote = '', escape = '', new_line = '\\n', columns = {'line': 'VARCHAR'}, "
    "ignore_errors = true, null_padding = true, strict_mode = false, "
    "hive_partitioning = false, compression = 'none', encoding = 'utf-8', "
    f"max_line_size = {2 * MAX_LINE})"
)
# "\r\n" ends a line and then an empty one, which is none; it splits faster without quotes.
_QUOTED = f"regexp_extract_all(line || ',', '{_FIELD}', 1)"
_FIELDS_SQL = (
    f"SELECT CASE WHEN contains(line, '\"') THEN {_QUOTED} "  # noqa: S608  # constants alone
    f"ELSE string_split(line, ',') END AS fields FROM {_LINES_SQL} WHERE line <> ''"
)


def rows(path: Path, used: Collection[str]) -> Rows:
    """Return the rows of the file and the `used` columns, text without quotes; NULL if empty."""
    places = {name: place for place, name in enumerate(header(path)) if name in used}
    held = {name: Held(sql=f"c{place}", kind="VARCHAR") for name, place in places.items()}
    unquoted = [f"{_unquoted_sql(place)} AS c{place}" for place in places.values()]
    listed = ", ".join(unquoted) or "0 AS nothing"
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
        with compression.opened(path) as file:
            start = file.read(MAX_LINE + 1)
    except OSError:
        raise SourceError(f"The header of {path.name} can't be read.") from None
    first = re.split(rb"[\r\n]", start, maxsplit=1)[0].removeprefix(b"\xef\xbb\xbf")
    if not first:
        raise SourceError(f"{path.name} has no header line.")
    if not _is_good(first):
        raise SourceError(f"The header of {path.name} is too long, or not UTF-8 text.")
    return split(first.decode("utf-8"))


@contextlib.contextmanager
def readable(path: Path, folder: Path, used: Collection[str]) -> Iterator[Path]:
    """Yield what `rows` can read once: `path`, or a pipe in `folder` of its lines put right.

    Lines that are not UTF-8, or longer than MAX_LINE, are left out. Of a line longer than
    MAX_TEXT only the `used` columns are kept, and of those no field longer than MAX_TEXT.
    """
    if not compression.is_compressed(path):
        with path.open("rb") as file:
            if all(map(_is_plain, _blocks(file))):
                yield path
                return
    places = frozenset(place for place, name in enumerate(header(path)) if name in used)
    with compression.opened(path) as file:
        blocks = (block if _is_plain(block) else _mended(block, places) for block in _blocks(file))
        with pipe.piped(blocks, folder / "lines.csv") as piped:
            yield piped


def _mended(block: bytes, places: Collection[int]) -> bytes:
    return b"".join(
        shortened(line, places) + b"\n" for line in _LINE.findall(block) if _is_good(line)
    )


def shortened(line: bytes, places: Collection[int]) -> bytes:
    """Return a line with the same fields at `places`; if it is long, without its other fields.

    >>> shortened(b'1,"a, b",' + b"x" * 5000 + b",2,3", {1, 3})
    b',"a, b",,"2",'
    """
    if len(line) <= MAX_TEXT:
        return line
    # What follows the reader's delimiter would be ignored, quotes and commas too.
    kept, _, _ = line.partition(_DELIMITER.encode("ascii"))
    if not kept:
        return b""
    found = _FIELD_BYTES.finditer(kept + b",")
    fields = (match[1] for match in itertools.islice(found, max(places, default=0) + 1))
    # All in quotes: a quote that opened and never closed could now find one to close it.
    listed = [_quoted(field) if at in places else b"" for at, field in enumerate(fields)]
    return b",".join([*listed, b""])  # one comma at least, as an empty line is none


def _quoted(field: bytes) -> bytes:
    if not field or len(field) > MAX_TEXT:
        return b""
    if len(field) >= 2 and field[:1] == field[-1:] == b'"':
        field = field[1:-1].replace(b'""', b'"')
    return b'"' + field.replace(b'"', b'""') + b'"'


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


def _is_plain(block: bytes) -> bool:
    """Say whether every line of the block is UTF-8 and short, without looking at each."""
    start = 0
    while len(block) - start > MAX_TEXT:
        # From the start of a line, the last end within reach: no line between can be longer.
        stop = start + MAX_TEXT + 1
        start = max(block.rfind(b"\n", start, stop), block.rfind(b"\r", start, stop)) + 1
        if not start:
            return False
    return is_utf8(block)


def _is_good(line: bytes) -> bool:
    return len(line) <= MAX_LINE and is_utf8(line)


def is_utf8(text: bytes) -> bool:
    """Say whether that is UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
