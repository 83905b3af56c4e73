"""Files that are compressed, as bytes: what is damaged is an OSError, a checksum that is wrong too.

DuckDB reads such files by itself, and ignores the checksum of a .gz.
"""

from __future__ import annotations

import gzip
import io
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast, final

from leastnoise.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SUFFIXES = (".gz", ".zst")


def is_compressed(path: Path) -> bool:
    """Say whether the name of the file says so."""
    return path.suffix.lower() in _SUFFIXES


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Yield the file's bytes as they were before compression.

    Raises OSError for what can't be read, SourceError where a module for .zst is missing.
    """
    kind = path.suffix.lower()
    if kind not in _SUFFIXES:
        with path.open("rb") as file:
            yield file
    elif kind == ".gz":
        with gzip.open(path) as packed:
            yield cast("BinaryIO", _Checked(cast("BinaryIO", packed), (EOFError, zlib.error)))
    else:
        with path.open("rb") as file:
            yield cast("BinaryIO", _unpacked(file, path))


def _unpacked(file: BinaryIO, path: Path) -> _Checked:
    try:
        import zstandard  # noqa: PLC0415  (an extra)
    except ModuleNotFoundError:
        raise SourceError(
            f"{path.name} needs the module zstandard. Install leastnoise[zstd], or unpack it."
        ) from None
    reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    return _Checked(cast("BinaryIO", io.BufferedReader(reader)), (EOFError, zstandard.ZstdError))


@final
class _Checked:
    """Reads; whatever a decoder raises becomes an OSError."""

    def __init__(self, file: BinaryIO, wrong: tuple[type[Exception], ...]) -> None:
        self._file = file
        self._wrong = wrong

    def read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except self._wrong:
            raise OSError("The compressed file is damaged.") from None
