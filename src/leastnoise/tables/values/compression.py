"""Files that are compressed, as bytes: what is damaged or cut short is an OSError.

DuckDB reads such files by itself, and ignores the checksum of a .gz.
"""

from __future__ import annotations

import gzip
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, cast, final

from leastnoise.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SUFFIXES = (".gz", ".zst")
_DAMAGED = "The compressed file is damaged."


def is_compressed(path: Path) -> bool:
    """Say whether the name of the file says so."""
    return path.suffix.lower() in _SUFFIXES


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Yield the file's bytes as they were before compression, by `read(size)` alone.

    Raises OSError for what can't be read, SourceError where a module for .zst is missing.
    """
    kind = path.suffix.lower()
    if kind not in _SUFFIXES:
        with path.open("rb") as file:
            yield file
    elif kind == ".gz":
        with gzip.open(path) as packed:
            yield cast("BinaryIO", _Gzip(cast("BinaryIO", packed)))
    else:
        with path.open("rb") as file:
            yield cast("BinaryIO", _Zstandard(file, _zstandard(path)))


def _zstandard(path: Path) -> Any:
    try:
        import zstandard  # noqa: PLC0415  (an extra)
    except ModuleNotFoundError:
        raise SourceError(
            f"{path.name} needs the module zstandard. Install leastnoise[zstd], or unpack it."
        ) from None
    return zstandard


@final
class _Gzip:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except (EOFError, zlib.error):
            raise OSError(_DAMAGED) from None


@final
class _Zstandard:
    """Frame after frame, each to its end: the module's own reader takes a cut one for whole."""

    def __init__(self, file: BinaryIO, module: Any) -> None:
        self._file, self._module = file, module
        self._frame: Any = None  # the one that has begun, and not ended
        self._ready = bytearray()

    def read(self, size: int) -> bytes:
        while len(self._ready) < size and (packed := self._file.read(2**17)):
            self._unpack(packed)
        if len(self._ready) < size and self._frame is not None:
            raise OSError(_DAMAGED)
        found = bytes(self._ready[:size])
        del self._ready[:size]
        return found

    def _unpack(self, packed: bytes) -> None:
        while packed:
            frame = self._frame or self._module.ZstdDecompressor().decompressobj()
            try:
                self._ready += frame.decompress(packed)
            except self._module.ZstdError:
                raise OSError(_DAMAGED) from None
            self._frame = None if frame.eof else frame
            packed = frame.unused_data if frame.eof else b""
