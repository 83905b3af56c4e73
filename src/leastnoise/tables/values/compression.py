"""Read compressed files as bytes; damaged or truncated files raise OSError.

DuckDB could read such files itself, but it ignores the checksum of a .gz.
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
    """True if the file's name ends in .gz or .zst."""
    return path.suffix.lower() in _SUFFIXES


@contextmanager
def open_decompressed(path: Path) -> Iterator[BinaryIO]:
    """Yield the decompressed file, of which only `read(size)` may be used.

    Raises OSError if it can't be read, SourceError if the module for .zst is missing.
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
            f"{path.name} can't be read without the package zstandard. Install leastnoise[zstd], "
            "or unpack the file."
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
    """A reader that decompresses each frame to its end, so that truncated frames raise errors.

    The reader of zstandard accepts truncated frames.
    """

    def __init__(self, file: BinaryIO, module: Any) -> None:
        self._file, self._module = file, module
        self._frame: Any = None  # the frame that has begun and not ended
        self._ready = bytearray()

    def read(self, size: int) -> bytes:
        while len(self._ready) < size and (packed := self._file.read(2**17)):
            self._unpack(packed)
        if len(self._ready) < size and self._frame is not None:
            raise OSError(_DAMAGED)
        content = bytes(self._ready[:size])
        del self._ready[:size]
        return content

    def _unpack(self, packed: bytes) -> None:
        while packed:
            frame = self._frame or self._module.ZstdDecompressor().decompressobj()
            try:
                self._ready += frame.decompress(packed)
            except self._module.ZstdError:
                raise OSError(_DAMAGED) from None
            self._frame = None if frame.eof else frame
            packed = frame.unused_data if frame.eof else b""
