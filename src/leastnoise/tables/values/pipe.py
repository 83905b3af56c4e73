"""A named pipe for bytes that are produced while they are read, and never stored on a disk."""

from __future__ import annotations

import contextlib
import os
import select
import threading
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_WAIT = 0.01  # seconds between two checks for a reader, or for the end


def make_pipe(path: Path) -> None:
    """Create a named pipe that only this user can open; raises OSError if that is impossible."""
    if not hasattr(os, "mkfifo"):
        raise OSError("this system has no named pipes")
    os.mkfifo(path, 0o600)


@contextlib.contextmanager
def open_pipe(blocks: Iterator[bytes], path: Path) -> Iterator[Path]:
    """Yield `path`, from which one reader can read the `blocks` in order.

    A second reader finds no file. On leaving, raises OSError if a reader opened the pipe but didn't
    get all bytes, because the blocks failed or the reader stopped.
    """
    make_pipe(path)
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
        raise OSError("The file was not read to its end.")


@final
class _Feeder:
    """A thread's work: write the blocks to the first reader of the pipe, without ever blocking.

    So it can be stopped.
    """

    def __init__(self, blocks: Iterator[bytes], path: Path) -> None:
        self._blocks = blocks
        self._path = path
        self.stopped = threading.Event()
        self.cut_short = False

    def run(self) -> None:
        descriptor = self._wait_for_reader()
        if descriptor is None:
            return
        self.cut_short = True
        try:
            # A second reader would get some of the bytes, and the first only the rest.
            self._path.unlink(missing_ok=True)
            self.cut_short = not all(self._write(descriptor, block) for block in self._blocks)
        except OSError:
            pass  # the attribute `cut_short` stays True
        finally:
            os.close(descriptor)

    def _wait_for_reader(self) -> int | None:
        """Wait for a reader; return the pipe's descriptor, or None if stopped before."""
        while not self.stopped.wait(_WAIT):
            with contextlib.suppress(OSError):  # no reader yet
                return os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
        return None

    def _write(self, descriptor: int, block: bytes) -> bool:
        rest = memoryview(block)
        while rest and not self.stopped.is_set():
            if select.select([], [descriptor], [], _WAIT)[1]:
                rest = rest[os.write(descriptor, rest) :]
        return not rest
