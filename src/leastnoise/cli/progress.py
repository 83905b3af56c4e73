"""What a command is doing, shown on a terminal while it takes more than a second.

On stderr alone, and only where a person looks at it: a file, a pipe and --json hold nothing of it.
A stage is a fixed sentence or says public numbers; never what was read.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, cast, final

from leastnoise import _words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.status import Status

_PATIENCE = 1.0  # seconds that nothing is shown for


@contextmanager
def stages(first: str = "Working", *, silent: bool = False) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the stage a long command is at, on stderr; never a row count.

    Nothing is shown within the first second, where it is `silent`, or where stderr is no terminal.
    It never raises: that nobody can see a stage any more is no reason to lose what was charged.
    """
    if silent or not _is_watched(sys.stderr):
        yield _ignore
        return
    spinner = _Spinner(first)
    timer = threading.Timer(_PATIENCE, spinner.show)
    timer.daemon = True
    timer.start()
    try:
        yield spinner.tell
    finally:
        timer.cancel()
        spinner.end()


def _is_watched(stream: IO[str] | None) -> bool:
    """Say whether `stream` is a terminal; TTY_COMPATIBLE stands for one, as rich has it."""
    with suppress(OSError, ValueError):  # a closed stream
        return stream is not None and (stream.isatty() or os.environ.get("TTY_COMPATIBLE") == "1")
    return False


def _ignore(stage: str) -> None:
    """Show nothing."""


@final
class _Spinner:
    """The line on the terminal: nothing until `show`, and nothing after `end`."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._status: Status | None = None
        self._ended = False
        self._lock = threading.Lock()

    def show(self) -> None:
        """Draw the line from now on; called by a thread of its own."""
        from rich.console import Console

        console = Console(file=cast("IO[str]", _Forgiving(sys.stderr)))
        with self._lock:
            if not self._ended:
                self._status = console.status(_line(self._stage))
                self._status.start()

    def tell(self, stage: str) -> None:
        """Change what the line says."""
        with self._lock:
            self._stage = stage
            if self._status is not None:
                self._status.update(_line(stage))

    def end(self) -> None:
        """Take the line away, and give the cursor back."""
        with self._lock:
            self._ended = True
            if self._status is not None:
                self._status.stop()


def _line(stage: str) -> Any:
    from rich.text import Text  # a plain str would be read as markup

    return Text(f"{_words.plain(stage)} …", no_wrap=True, overflow="ellipsis")


@final
class _Forgiving:
    """A stream that may be closed, full or missing, and says nothing of it."""

    def __init__(self, stream: IO[str] | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            if self._stream is not None:
                self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            if self._stream is not None:
                self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
