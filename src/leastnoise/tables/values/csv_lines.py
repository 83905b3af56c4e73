"""CSV by the line: what a line breaks into is decided by that line alone.

A line ends at a line feed or a carriage return, quotes or not, so no line can swallow another: a
person's lines move no one else's. A field is either "…", with "" for a quote within, or everything
up to the next delimiter; a quote that opens and doesn't close is a letter like any other.

A field that isn't in the file's encoding is missing, and the others of its line are what they are.
The encodings have one byte for each of ASCII's characters, so lines and fields are found in bytes.

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
from leastnoise.tables.spec.source import Dialect
from leastnoise.tables.spec.values import MAX_TEXT, UTF_8
from leastnoise.tables.values import compression, parquet_rows, pipe
from leastnoise.tables.values.casts import FileRows, Held

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path
    from typing import BinaryIO

    from leastnoise.tables.spec.source import Delimiter
    from leastnoise.tables.spec.values import Encoding

MAX_LINE = 2**20
_MARK = b"\xef\xbb\xbf"  # at the start of a file: it is UTF-8
_LINE = re.compile(rb"[^\r\n]+")

# Each line is one field to DuckDB's reader: quote and escape are off, and its delimiter is a
# control character. Where it stands nevertheless, the rest of that line is ignored.
_CONTROL = "\x1f"
_LINES_SQL = (
    f"read_csv($path, header = false, skip = %d, auto_detect = false, delim = '{_CONTROL}', "
    "quote = '', escape = '', new_line = '\\n', columns = {'line': 'VARCHAR'}, "
    "ignore_errors = true, null_padding = true, strict_mode = false, "
    "hive_partitioning = false, compression = 'none', encoding = 'utf-8', "
    f"max_line_size = {2 * MAX_LINE})"
)
_COMMAS = Dialect()


def _field(between: Delimiter) -> str:
    """Return a pattern of a field and what stands behind it.

    Of the alternatives, the first that lets a delimiter follow; both RE2 and Python choose so.
    Either takes the line with one more of them behind it.
    """
    return f'("(?:[^"]|"")*"|[^{between}]*){re.escape(between)}'


def _fields_sql(dialect: Dialect) -> str:
    """Return SQL of the fields of each line.

    A line feed behind a carriage return ends an empty line, which is none; it splits faster without
    quotes.
    """
    between, lines = dialect.between, _LINES_SQL % (0 if dialect.names else 1)
    quoted = f"regexp_extract_all(line || '{between}', '{_field(between)}', 1)"
    return (
        f"SELECT CASE WHEN contains(line, '\"') THEN {quoted} "  # noqa: S608  # constants alone
        f"ELSE string_split(line, '{between}') END AS fields FROM {lines} WHERE line <> ''"
    )


def rows(path: Path, used: Collection[str], dialect: Dialect = _COMMAS) -> FileRows:
    """Return the rows of the file and the `used` columns, text without quotes; NULL if empty."""
    places = {name: place for place, name in enumerate(header(path, dialect)) if name in used}
    held = {
        name: Held(sql=f"c{place}", kind="VARCHAR", decimal=dialect.decimal)
        for name, place in places.items()
    }
    unquoted = [f"{_unquoted_sql(place)} AS c{place}" for place in places.values()]
    listed = ", ".join(unquoted) or "0 AS nothing"
    return FileRows(sql=f"(SELECT {listed} FROM ({_fields_sql(dialect)}))", columns=held)  # noqa: S608


def _unquoted_sql(place: int) -> str:
    field = f"fields[{place + 1}]"
    return (
        f"CASE WHEN {field} LIKE '\"%\"' "
        f"THEN replace(substring({field}, 2, length({field}) - 2), '\"\"', '\"') "
        f"ELSE nullif({field}, '') END"
    )


def split(line: str, between: Delimiter = ",") -> list[str]:
    """Return the fields of `line`, as the SQL above does.

    >>> split('1,"a ""b"", c",,"oops')
    ['1', 'a "b", c', '', '"oops']
    """
    return [_unquoted(field) for field in re.findall(_field(between), line + between)]


def _unquoted(field: str) -> str:
    if len(field) >= 2 and field[0] == field[-1] == '"':
        return field[1:-1].replace('""', '"')
    return field


def header(path: Path, dialect: Dialect = _COMMAS) -> list[str]:
    """Return the names of the columns: those told, or the fields of the first line.

    Raises SourceError if the file can't be read, or has no such line.
    """
    encoding = dialect.encoding
    try:
        with compression.opened(path) as file:
            start = file.read(MAX_LINE + 1)
    except OSError:
        raise SourceError(f"The header of {path.name} can't be read.") from None
    if dialect.names:
        return [*dialect.names]
    first = re.split(rb"[\r\n]", start, maxsplit=1)[0]
    if encoding != UTF_8 and first.startswith(_MARK):
        raise SourceError(f"{path.name} says that it is UTF-8. Leave out data.encoding.")
    first = first.removeprefix(_MARK)
    if not first:
        raise SourceError(
            f"{path.name} has no header line. Its first line names the columns; where it doesn't, "
            "say data.header."
        )
    found = _in_utf8(first, encoding)
    if found is None or len(first) > MAX_LINE:
        advice = "If it has another encoding, say which in data.encoding, or save it as UTF-8."
        raise SourceError(f"The header of {path.name} is too long, or not {encoding}. {advice}")
    return split(found.decode("utf-8"), dialect.between)


@contextlib.contextmanager
def readable(
    path: Path,
    folder: Path,
    used: Collection[str],
    dialect: Dialect = _COMMAS,
    *,
    rehearsed: bool = False,
) -> Iterator[Path]:
    """Yield what `rows` can read once: `path`, or a pipe in `folder` of its lines put right.

    It is UTF-8, whatever the file's encoding, and has the same delimiters. Lines longer than
    MAX_LINE are left out. Of a line longer than MAX_TEXT, or with a field that isn't in the
    encoding, only the `used` columns are kept, and of those no field longer than MAX_TEXT, and none
    that isn't. Where it is `rehearsed`, a pipe of a header alone, whatever the file is.
    """
    if rehearsed:
        with pipe.piped(iter([b"\n"]), folder / "lines.csv") as piped:
            yield piped
        return
    if not compression.is_compressed(path) and parquet_rows.is_utf8(path):
        with path.open("rb") as file:
            if all(_is_plain(block, dialect) for block in _blocks(file)):
                yield path
                return
    places = frozenset(place for place, name in enumerate(header(path, dialect)) if name in used)
    with compression.opened(path) as file:
        blocks = (
            block if _is_plain(block, dialect) else _mended(block, places, dialect)
            for block in (_without_mark(_blocks(file)) if dialect.names else _blocks(file))
        )
        with pipe.piped(blocks, folder / "lines.csv") as piped:
            yield piped


def _mended(block: bytes, places: Collection[int], dialect: Dialect) -> bytes:
    lines = (line for line in _LINE.findall(block) if len(line) <= MAX_LINE)
    kept = (shortened(line, places, dialect) for line in lines)
    return b"".join(line + b"\n" for line in kept if len(line) <= 2 * MAX_LINE)


def shortened(line: bytes, places: Collection[int], dialect: Dialect = _COMMAS) -> bytes:
    r"""Return a line in UTF-8 with the same fields at `places`, if they are in its encoding.

    If it is long, or has one that isn't, its other fields are left out.

    >>> shortened(b'1,"a, b",' + b"x" * 5000 + b",2,3", {1, 3})
    b',"a, b",,"2",'
    >>> shortened(b'\xe9,\xe9,2', {1, 2})
    b',,"2",'
    >>> shortened(b'\xe9', {0}, Dialect(encoding="latin-1")).decode()
    'é'
    """
    encoding, between = dialect.encoding, dialect.between.encode("ascii")
    whole = _in_utf8(line, encoding)
    if whole is not None and len(whole) <= MAX_TEXT:
        return whole
    # What follows the reader's delimiter would be ignored, quotes and commas too.
    kept, _, _ = line.partition(_CONTROL.encode("ascii"))
    if not kept:
        return b""
    found = re.finditer(_field(dialect.between).encode("ascii"), kept + between)
    fields = (match[1] for match in itertools.islice(found, max(places, default=0) + 1))
    # All in quotes: a quote that opened and never closed could now find one to close it.
    listed = [
        _quoted(_in_utf8(field, encoding)) if at in places else b""
        for at, field in enumerate(fields)
    ]
    return between.join([*listed, b""])  # one at least, as an empty line is none


def _quoted(field: bytes | None) -> bytes:
    if not field or len(field) > MAX_TEXT:
        return b""
    if len(field) >= 2 and field[:1] == field[-1:] == b'"':
        field = field[1:-1].replace(b'""', b'"')
    return b'"' + field.replace(b'"', b'""') + b'"'


def _without_mark(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the blocks without what says that it is UTF-8, as DuckDB reads a file."""
    yield next(blocks, b"").removeprefix(_MARK)
    yield from blocks


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the file in blocks that end where a line does.

    A line that is too long comes as its first MAX_LINE + 1 bytes or more, and its end.
    """
    rest = b""
    while read := file.read(2**19):
        end = max(read.rfind(b"\n"), read.rfind(b"\r")) + 1
        if end:
            yield rest + read[:end]
            rest = read[end:]
        elif len(rest) <= MAX_LINE:
            rest += read
    if rest:
        yield rest


def _is_plain(block: bytes, dialect: Dialect) -> bool:
    """Say whether every line of the block is UTF-8 as it is, and short, without looking at each."""
    start = 0
    while len(block) - start > MAX_TEXT:
        # From the start of a line, the last end within reach: no line between can be longer.
        stop = start + MAX_TEXT + 1
        start = max(block.rfind(b"\n", start, stop), block.rfind(b"\r", start, stop)) + 1
        if not start:
            return False
    if dialect.encoding != UTF_8:
        return block.isascii()
    return is_utf8(block)


def _in_utf8(text: bytes, encoding: Encoding) -> bytes | None:
    """Return the text in UTF-8; None if it isn't in the encoding."""
    try:
        return text.decode(encoding).encode("utf-8")
    except UnicodeDecodeError:
        return None


def is_utf8(text: bytes) -> bool:
    """Say whether that is UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
