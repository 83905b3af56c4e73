"""Which files a source means: one file, a list, a pattern, or a folder, partitioned or not.

Names are expanded here and never by DuckDB, whose patterns match hidden files, what a job is still
writing (`_temporary/`), and links. A file that stands twice would count its rows twice. However
many there are, all are read: a folder can be a person, and one more must not refuse a release.
"""

from __future__ import annotations

import glob
import itertools
import os
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from leastnoise.errors import SourceError
from leastnoise.tables.rows.duckdb.inputs import CsvFile, Input, ParquetFile, Part, Several
from leastnoise.tables.spec.source import FILES, Dialect, is_csv

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_ANY = "**"  # in a pattern: folders, or none
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # what Hive and Spark call a folder of NULL


def find_files(source: str | Sequence[str], folder: Path, dialect: Dialect | None = None) -> Input:
    """Return the files that `source` names, relative to `folder`; reads names alone.

    CSV is written as the `dialect` says.

    Raises SourceError if there are none, if one is meant twice, or if some are CSV and some are
    not.
    """
    texts = (source,) if isinstance(source, str) else tuple(source)
    parts = [part for text in texts for part in _parts(text, folder)]
    _check_doubles([path for path, _ in parts])
    inputs = [Part(file=_file(path, dialect or Dialect()), keys=keys) for path, keys in parts]
    if len({type(part.file) for part in inputs}) > 1:
        raise SourceError("The source has CSV and Parquet files. Give those of one kind.")
    if len(inputs) == 1 and not inputs[0].keys:
        return inputs[0].file
    return Several(texts[0] if len(texts) == 1 else f"the {len(texts)} sources", tuple(inputs))


def _file(path: Path, dialect: Dialect) -> Input:
    if is_csv(path.name):
        return CsvFile(path, dialect.of_file(path.name))
    return ParquetFile(path)


def _parts(text: str, folder: Path) -> list[tuple[Path, dict[str, str | None]]]:
    """Return the files that one text means, in the order of their names, with their partitions."""
    path = folder / text
    # os.path, because a Path raises for a NUL or a name that is too long.
    if os.path.isfile(path):
        return [(path, {})]
    if os.path.isdir(path):
        within = sorted(_within(path, (_ANY,)))
        listed = [(one, _keys(one.parent.relative_to(path))) for one in within]
        if not listed:
            raise SourceError(f"The folder {path} has no {', '.join(FILES)} file in it.")
        return listed
    if glob.has_magic(text) and "\0" not in text:  # which no name holds
        start, pattern = _split(text)
        root = folder / start
        if kept := sorted(_within(root, pattern)):
            return [(one, _keys(one.parent.relative_to(root))) for one in kept]
        raise SourceError(f"No {', '.join(FILES)} file matches {path}.")
    raise SourceError(f"Expected a CSV or Parquet file, found none at {path}.")


def _within(root: Path, pattern: Sequence[str]) -> Iterator[Path]:
    """Yield the files below `root` whose names, from folder to folder, match those of `pattern`.

    Each folder is looked at once, and links to folders never: they may go round in a circle.
    """
    places = {str(root): _reached({0}, pattern)}
    for parent, folders, names in os.walk(root, followlinks=False):
        here = places.pop(parent)
        for name in folders:
            places[os.path.join(parent, name)] = _after(name, here, pattern)
        folders[:] = [name for name in folders if places[os.path.join(parent, name)]]
        matched = (name for name in names if len(pattern) in _after(name, here, pattern))
        paths = (Path(parent, name) for name in matched)
        yield from (path for path in paths if path.name.lower().endswith(FILES) and path.is_file())


def _after(name: str, places: Collection[int], pattern: Sequence[str]) -> set[int]:
    """Return the places in `pattern` before which one stands behind this name; none if hidden."""
    if name.startswith((".", "_")):
        return set()
    parts = [(place, pattern[place]) for place in places if place < len(pattern)]
    through = {place for place, part in parts if part == _ANY}
    past = {place + 1 for place, part in parts if part != _ANY and fnmatch(name, part)}
    return _reached(through | past, pattern)


def _reached(places: set[int], pattern: Sequence[str]) -> set[int]:
    """Return these places in `pattern` and those behind any folders, of which there may be none."""
    found = set(places)
    for place, part in enumerate(pattern):
        if place in found and part == _ANY:
            found.add(place + 1)
    return found


def _split(text: str) -> tuple[Path, list[str]]:
    """Return the folder that a pattern starts from, and what names below it have to match."""
    path = Path(text)
    folders_alone = text.endswith(("/", os.sep))
    parts = [*path.parts, *([""] if folders_alone else [])]  # which is no file's name
    start = list(itertools.takewhile(lambda part: not glob.has_magic(part), parts))
    return Path(*start), parts[len(start) :]


def _keys(inner: Path) -> dict[str, str | None]:
    """Return what folders such as `year=2026` say."""
    found: dict[str, str | None] = {}
    for part in inner.parts:
        name, equals, value = part.partition("=")
        if not equals:
            continue
        key = _decoded(name)
        if key is None:
            raise SourceError("A folder's name isn't UTF-8 before its =. Rename it.")
        if key in found:  # whose folders these are isn't said: they may be persons
            raise SourceError(f"The folders of a file say twice what {key!r} is.")
        found[key] = None if value == _NO_VALUE else _decoded(value)
    return found


def _decoded(name: str) -> str | None:
    """Return what a part of a folder's name says; None, as for any text, where it isn't UTF-8."""
    try:
        return unquote_to_bytes(os.fsencode(name)).decode("utf-8")
    except UnicodeDecodeError:
        return None


def _check_doubles(paths: Sequence[Path]) -> None:
    seen: set[tuple[int, int]] = set()
    for path in paths:
        about = os.stat(path)
        if (about.st_dev, about.st_ino) in seen:
            raise SourceError(f"{path.name} is in the source twice: its rows would count twice.")
        seen.add((about.st_dev, about.st_ino))
