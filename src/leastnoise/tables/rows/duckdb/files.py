"""The files of a source: a file, a list, a pattern, or a folder, partitioned or not.

Names are expanded here and never by DuckDB, whose patterns match hidden files, files that a job is
still writing (`_temporary/`), and links. A repeated file is refused, since its rows would count
twice. The number of files isn't limited: a file may belong to one person, and one person more must
not make a release fail.
"""

from __future__ import annotations

import glob
import itertools
import os
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from leastnoise import _words
from leastnoise.errors import SourceError
from leastnoise.tables.rows.duckdb.inputs import CsvFile, FilePart, Input, ParquetFile, SeveralFiles
from leastnoise.tables.rows.duckdb.sheets import Sheet
from leastnoise.tables.rows.duckdb.statistical import StatisticalFile
from leastnoise.tables.spec.source import (
    FILES,
    TABULAR,
    Dialect,
    is_csv,
    is_statistical,
    is_workbook,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from leastnoise.tables.spec.values import Encoding

_ANY = "**"  # in a pattern, stands for any number of folders
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # the folder name that stands for NULL in Hive and Spark


def find_files(
    source: str | Sequence[str],
    folder: Path,
    dialect: Dialect | None = None,
    *,
    encoding: Encoding | None = None,
    sheet: str | None = None,
) -> Input:
    """The files of `source`, relative to `folder`; reads only names.

    `dialect` is about CSV, `encoding` about statistical files, and `sheet` names a sheet of
    workbooks. Raises SourceError if there is no file, if a file is repeated, if files of several
    kinds are mixed, or if the names of folders give no valid keys.
    """
    texts = (source,) if isinstance(source, str) else tuple(source)
    parts = [part for text in texts for part in _list_files(text, folder)]
    _check_doubles([path for path, _ in parts])

    def open_file(path: Path) -> Input:
        if is_statistical(path.name):
            return StatisticalFile(path, encoding)
        if is_workbook(path.name):
            return Sheet(path, sheet)
        if is_csv(path.name):
            return CsvFile(path, (dialect or Dialect()).of_file(path.name))
        return ParquetFile(path)

    inputs = [FilePart(file=open_file(path), keys=keys) for path, keys in parts]
    if len({type(part.file) for part in inputs}) > 1:
        suffixes = ", ".join(sorted({path.suffix.lower() for path, _ in parts}))
        raise SourceError(
            f"The source has files of several kinds: {suffixes}. Give files of one kind."
        )
    if len(inputs) == 1 and not inputs[0].keys:
        return inputs[0].file
    return SeveralFiles(texts[0] if len(texts) == 1 else f"the {len(texts)} sources", tuple(inputs))


def _list_files(text: str, folder: Path) -> list[tuple[Path, dict[str, str | None]]]:
    """The files that one text of the source names, in order, each with its partition keys.

    Keys are empty except in partitioned folders. Raises SourceError if there is no file.
    """
    path = folder / text
    # os.path, because a Path raises for a NUL or a name that is too long.
    if os.path.isfile(path):
        return [(path, {})]
    if os.path.isdir(path):
        within = _without_companions(_match_files(path, (_ANY,)))
        listed = [(path_, _partition_keys(path_.parent.relative_to(path))) for path_ in within]
        if not listed:
            raise SourceError(f"The folder {path} has no {_words.join_names(FILES, 'or')} file.")
        return listed
    if glob.has_magic(text) and "\0" not in text:  # a byte that no file name contains
        start, pattern = _split_pattern(text)
        root = folder / start
        if kept := _without_companions(_match_files(root, pattern)):
            return [(path_, _partition_keys(path_.parent.relative_to(root))) for path_ in kept]
        raise SourceError(f"No {_words.join_names(FILES, 'or')} file matches {path}.")
    raise SourceError(f"Expected a CSV or Parquet file, found none at {path}.")


def _without_companions(paths: Iterable[Path]) -> list[Path]:
    """The sorted paths; files of other types beside CSV or Parquet files are left out."""
    every = sorted(paths)
    return [path for path in every if path.name.lower().endswith(TABULAR)] or every


def _match_files(root: Path, pattern: Sequence[str]) -> Iterator[Path]:
    """The files below `root` whose paths match `pattern`, a list with a part for each folder.

    Only files of the kinds in `FILES` are yielded. The last part is for the file. Each folder is
    read once. Links to folders are not followed, because they may form a circle.
    """
    positions = {str(root): _skip_any({0}, pattern)}
    for parent, folders, names in os.walk(root, followlinks=False):
        here = positions.pop(parent)
        for name in folders:
            positions[os.path.join(parent, name)] = _advance(name, here, pattern)
        folders[:] = [name for name in folders if positions[os.path.join(parent, name)]]
        matched = (name for name in names if len(pattern) in _advance(name, here, pattern))
        paths = (Path(parent, name) for name in matched)
        yield from (path for path in paths if path.name.lower().endswith(FILES) and path.is_file())


def _advance(name: str, positions: Collection[int], pattern: Sequence[str]) -> set[int]:
    """Move on in `pattern` after a folder or file of this name; empty for a hidden name.

    `positions` are the parts of the pattern that the name may match. Returns the positions that the
    next name may match.
    """
    if name.startswith((".", "_")):
        return set()
    parts = [(position, pattern[position]) for position in positions if position < len(pattern)]
    through = {position for position, part in parts if part == _ANY}
    past = {position + 1 for position, part in parts if part != _ANY and fnmatch(name, part)}
    return _skip_any(through | past, pattern)


def _skip_any(positions: set[int], pattern: Sequence[str]) -> set[int]:
    """Add to `positions` the position after each "**" among them, since "**" may match nothing."""
    reached = set(positions)
    for position, part in enumerate(pattern):
        if position in reached and part == _ANY:
            reached.add(position + 1)
    return reached


def _split_pattern(text: str) -> tuple[Path, list[str]]:
    """The folder from which a pattern starts, and the pattern's parts below it."""
    path = Path(text)
    folders_alone = text.endswith(("/", os.sep))
    parts = [*path.parts, *([""] if folders_alone else [])]  # "" matches no file
    start = list(itertools.takewhile(lambda part: not glob.has_magic(part), parts))
    return Path(*start), parts[len(start) :]


def _partition_keys(inner: Path) -> dict[str, str | None]:
    """The keys in the names of folders such as `year=2026`; None for NULL or invalid UTF-8.

    Raises SourceError if a key has no valid name, or occurs twice.
    """
    keys: dict[str, str | None] = {}
    for part in inner.parts:
        name, equals, value = part.partition("=")
        if not equals:
            continue
        key = _decode(name)
        if key is None:
            raise SourceError(
                "In the name of a folder of the source, the part before the = isn't UTF-8. Rename "
                "the folder."
            )
        if key in keys:  # messages don't quote the values, which may identify persons
            raise SourceError(
                f"The path of a file names the column {key!r} in two folders. Rename one of the "
                "folders."
            )
        keys[key] = None if value == _NO_VALUE else _decode(value)
    return keys


def _decode(name: str) -> str | None:
    """A part of a folder's name as text; None if it isn't UTF-8."""
    try:
        return unquote_to_bytes(os.fsencode(name)).decode("utf-8")
    except UnicodeDecodeError:
        return None


def _check_doubles(paths: Sequence[Path]) -> None:
    seen: set[tuple[int, int]] = set()
    for path in paths:
        about = os.stat(path)
        if (about.st_dev, about.st_ino) in seen:
            raise SourceError(
                f"{path.name} is in the source twice, so its rows would count twice. Name the file "
                "only once."
            )
        seen.add((about.st_dev, about.st_ino))
