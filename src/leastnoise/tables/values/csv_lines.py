"""Read CSV by the line: the fields of a line depend on that line alone.

A line ends at a line feed or a carriage return, even within quotes, so no line can become a part of
another, and a person's lines don't change how other lines are read. A field is either "…", with ""
for a quote within it, or everything up to the next delimiter. A quote without a closing quote is an
ordinary character.

A field that isn't in the file's encoding is missing; the other fields of its line are kept. In all
supported encodings an ASCII character is one byte, so lines and fields are split as bytes.

DuckDB's reader drops lines that are too long or not UTF-8, but the other lines that it drops with
them depend on its buffers, and so on earlier lines. A query also keeps 2,048 whole lines in memory
at a time. So DuckDB reads only short lines of UTF-8: from the file itself if all lines are such,
else from a pipe of repaired lines.
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
from leastnoise.tables.values.casts import FileRows, StoredColumn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path
    from typing import BinaryIO

    from leastnoise.tables.spec.source import Delimiter
    from leastnoise.tables.spec.values import Encoding

MAX_LINE = 2**20
_MARK = b"\xef\xbb\xbf"  # byte order mark of a file in UTF-8
_LINE = re.compile(rb"[^\r\n]+")

# For DuckDB's reader each line is one field: quote and escape are off, and its delimiter is a
# control character. If a line contains that, the rest of the line is ignored.
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
    """A pattern for a field and the delimiter after it; lines get one more delimiter at the end.

    The pattern has two alternatives. RE2 and Python both choose the first that a delimiter follows.
    """
    return f'("(?:[^"]|"")*"|[^{between}]*){re.escape(between)}'


def _fields_sql(dialect: Dialect) -> str:
    """SQL of the fields of each line.

    A line feed after a carriage return ends an empty line, which is skipped. Lines without quotes
    are split faster.
    """
    between, lines = dialect.between, _LINES_SQL % (0 if dialect.names else 1)
    quoted = f"regexp_extract_all(line || '{between}', '{_field(between)}', 1)"
    return (
        f"SELECT CASE WHEN contains(line, '\"') THEN {quoted} "  # noqa: S608  # constants alone
        f"ELSE string_split(line, '{between}') END AS fields FROM {lines} WHERE line <> ''"
    )


def select_rows(path: Path, used: Collection[str], dialect: Dialect = _COMMAS) -> FileRows:
    """The rows of the file with the `used` columns, as texts without their quotes.

    An empty field is NULL unless it is quoted.
    """
    positions = {
        name: position for position, name in enumerate(read_header(path, dialect)) if name in used
    }
    columns = {
        name: StoredColumn(sql=f"c{position}", kind="VARCHAR", decimal=dialect.decimal)
        for name, position in positions.items()
    }
    unquoted = [f"{_unquoted_sql(position)} AS c{position}" for position in positions.values()]
    listed = ", ".join(unquoted) or "0 AS nothing"
    return FileRows(sql=f"(SELECT {listed} FROM ({_fields_sql(dialect)}))", columns=columns)  # noqa: S608


def _unquoted_sql(position: int) -> str:
    field = f"fields[{position + 1}]"
    return (
        f"CASE WHEN {field} LIKE '\"%\"' "
        f"THEN replace(substring({field}, 2, length({field}) - 2), '\"\"', '\"') "
        f"ELSE nullif({field}, '') END"
    )


def split(line: str, between: Delimiter = ",") -> list[str]:
    """Split a `line` into fields, in the same way as the SQL of `select_rows`.

    >>> split('1,"a ""b"", c",,"oops')
    ['1', 'a "b", c', '', '"oops']
    """
    return [_unquote(field) for field in re.findall(_field(between), line + between)]


def _unquote(field: str) -> str:
    if len(field) >= 2 and field[0] == field[-1] == '"':
        return field[1:-1].replace('""', '"')
    return field


def read_header(path: Path, dialect: Dialect = _COMMAS) -> list[str]:
    """The names of the columns, from the spec or else from the first line.

    Raises SourceError if the file can't be read, or has no valid header line.
    """
    encoding = dialect.encoding
    try:
        with compression.open_decompressed(path) as file:
            start = file.read(MAX_LINE + 1)
    except OSError:
        raise SourceError(
            f"The header line of {path.name} can't be read. The file may be damaged."
        ) from None
    if dialect.names:
        return [*dialect.names]
    first = re.split(rb"[\r\n]", start, maxsplit=1)[0]
    if encoding != UTF_8 and first.startswith(_MARK):
        why = "begins with the byte order mark of UTF-8, so that is its encoding"
        raise SourceError(f"{path.name} {why}. Leave out data.encoding.")
    first = first.removeprefix(_MARK)
    if not first:
        raise SourceError(
            f"{path.name} has no header line: its first line or the whole file is empty. If the "
            "file's first line doesn't name the columns, give the names in data.header."
        )
    header = _to_utf8(first, encoding)
    if header is None or len(first) > MAX_LINE:
        advice = "If it has another encoding, name that in data.encoding, or save it as UTF-8."
        raise SourceError(
            f"The header line of {path.name} is too long, or not in the encoding {encoding}. "
            f"{advice}"
        )
    return split(header.decode("utf-8"), dialect.between)


@contextlib.contextmanager
def open_readable(
    path: Path,
    folder: Path,
    used: Collection[str],
    dialect: Dialect = _COMMAS,
    *,
    rehearsed: bool = False,
) -> Iterator[Path]:
    """Yield a path for `select_rows` to read once: `path`, or a pipe of repaired lines in `folder`.

    The lines are UTF-8, whatever the file's encoding, with the same delimiters. Lines longer than
    MAX_LINE are left out. In a line that is longer than MAX_TEXT, or has a field that is invalid in
    the encoding, only valid fields of the `used` columns with at most MAX_TEXT bytes are kept. If
    `rehearsed`, the path is a pipe with one empty line.
    """
    if rehearsed:
        with pipe.open_pipe(iter([b"\n"]), folder / "lines.csv") as piped:
            yield piped
        return
    if not compression.is_compressed(path) and parquet_rows.is_utf8(path):
        with path.open("rb") as file:
            if all(_is_plain(block, dialect) for block in _blocks(file)):
                yield path
                return
    positions = frozenset(
        position for position, name in enumerate(read_header(path, dialect)) if name in used
    )
    with compression.open_decompressed(path) as file:
        blocks = (
            block if _is_plain(block, dialect) else _shorten_lines(block, positions, dialect)
            for block in (_without_mark(_blocks(file)) if dialect.names else _blocks(file))
        )
        with pipe.open_pipe(blocks, folder / "lines.csv") as piped:
            yield piped


def _shorten_lines(block: bytes, positions: Collection[int], dialect: Dialect) -> bytes:
    lines = (line for line in _LINE.findall(block) if len(line) <= MAX_LINE)
    kept = (shorten(line, positions, dialect) for line in lines)
    return b"".join(line + b"\n" for line in kept if len(line) <= 2 * MAX_LINE)


def shorten(line: bytes, positions: Collection[int], dialect: Dialect = _COMMAS) -> bytes:
    r"""Convert a line to UTF-8, keeping the fields at `positions` that are valid in its encoding.

    If the line is longer than MAX_TEXT, or a field is invalid, all other fields become empty.

    >>> shorten(b'1,"a, b",' + b"x" * 5000 + b",2,3", {1, 3})
    b',"a, b",,"2",'
    >>> shorten(b'\xe9,\xe9,2', {1, 2})
    b',,"2",'
    >>> shorten(b'\xe9', {0}, Dialect(encoding="latin-1")).decode()
    'é'
    """
    encoding, between = dialect.encoding, dialect.between.encode("ascii")
    whole = _to_utf8(line, encoding)
    if whole is not None and len(whole) <= MAX_TEXT:
        return whole
    # The reader would ignore everything after its delimiter, even quotes and commas.
    kept, _, _ = line.partition(_CONTROL.encode("ascii"))
    if not kept:
        return b""
    matches = re.finditer(_field(dialect.between).encode("ascii"), kept + between)
    fields = (match[1] for match in itertools.islice(matches, max(positions, default=0) + 1))
    # Quote every field, since an unclosed quote could otherwise be closed by a later one.
    listed = [
        _quote(_to_utf8(field, encoding)) if position in positions else b""
        for position, field in enumerate(fields)
    ]
    # with at least one delimiter, since empty lines are skipped
    return between.join([*listed, b""])


def _quote(field: bytes | None) -> bytes:
    if not field or len(field) > MAX_TEXT:
        return b""
    if len(field) >= 2 and field[:1] == field[-1:] == b'"':
        field = field[1:-1].replace(b'""', b'"')
    return b'"' + field.replace(b'"', b'""') + b'"'


def _without_mark(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Drop the byte order mark at the start of the blocks; DuckDB skips it in files only."""
    yield next(blocks, b"").removeprefix(_MARK)
    yield from blocks


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """Split the file into blocks that end at line ends.

    A line that is too long is cut: at least its first MAX_LINE + 1 bytes are kept, and its end.
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
    """True if every line of the block is short, and its bytes already are its text in UTF-8.

    Lines are not looked at one by one.
    """
    start = 0
    while len(block) - start > MAX_TEXT:
        # Jump to the last line end within reach, so that no line in between is longer.
        stop = start + MAX_TEXT + 1
        start = max(block.rfind(b"\n", start, stop), block.rfind(b"\r", start, stop)) + 1
        if not start:
            return False
    if dialect.encoding != UTF_8:
        return block.isascii()
    return is_utf8(block)


def _to_utf8(text: bytes, encoding: Encoding) -> bytes | None:
    """The text in UTF-8; None if it isn't in the encoding."""
    try:
        return text.decode(encoding).encode("utf-8")
    except UnicodeDecodeError:
        return None


def is_utf8(text: bytes) -> bool:
    """True if the bytes are UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
