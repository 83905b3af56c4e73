"""Files that are compressed, as bytes; and bytes that are made while they are read.

DuckDB reads compressed files by itself, and ignores the checksum of a .gz: here what is damaged or
cut short is an OSError. What it reads then comes from a named pipe, so that none is on a disk.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import select
import threading
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, cast, final

from leastnoise.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_WAIT = 0.01  # seconds between two looks at whether a reader is there, or all is over


def make(path: Path) -> None:
    """Make a named pipe that only this user can open; raises OSError where that can't be."""
    if not hasattr(os, "mkfifo"):
        raise OSError("This system has no named pipes.")
    os.mkfifo(path, 0o600)


@contextlib.contextmanager
def piped(blocks: Iterator[bytes], path: Path) -> Iterator[Path]:
    """Yield `path`, where one reader finds the bytes of the `blocks`, in order, and then the end.

    A second reader finds no file. Raises OSError on leaving if a reader came and didn't get all:
    because the blocks couldn't be made, or because it left.
    """
    make(path)
    feeder = _Feeder(blocks, path)
    thread = threading.Thread(target=feeder.run, name="leastnoise-pipe", daemon=True)
    thread.start()
    try:
        yield path
    finally:
        feeder.stopped.set()
        thread.join()
        path.unlink(missing_ok=True)
    if feeder.cut_short:
        raise OSError("The reader did not get the whole file.")


@final
class _Feeder:
    """Writes the blocks for whoever opens the pipe first. It never blocks, so it can be stopped."""

    def __init__(self, blocks: Iterator[bytes], path: Path) -> None:
        self._blocks = blocks
        self._path = path
        self.stopped = threading.Event()
        self.cut_short = False

    def run(self) -> None:
        descriptor = self._opened()
        if descriptor is None:
            return
        self.cut_short = True
        try:
            # A second reader would get a part of the bytes, and the first the rest.
            self._path.unlink(missing_ok=True)
            self.cut_short = not all(self._written(descriptor, block) for block in self._blocks)
        except OSError:
            pass  # said by cut_short
        finally:
            os.close(descriptor)

    def _opened(self) -> int | None:
        """Wait for a reader; return None if everything is over before one comes."""
        while not self.stopped.wait(_WAIT):
            with contextlib.suppress(OSError):  # no reader yet
                return os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
        return None

    def _written(self, descriptor: int, block: bytes) -> bool:
        rest = memoryview(block)
        while rest and not self.stopped.is_set():
            if select.select([], [descriptor], [], _WAIT)[1]:
                rest = rest[os.write(descriptor, rest) :]
        return not rest


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
