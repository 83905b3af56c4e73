"""Bytes that are made while they are read: a named pipe, so that none of them are on a disk."""

from __future__ import annotations

import contextlib
import os
import select
import threading
from typing import TYPE_CHECKING, final

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
