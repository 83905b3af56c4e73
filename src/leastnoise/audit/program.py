"""A mechanism that is a command: it prints one output a line.

`{value}` in the command is replaced by the input and `{count}` by the number of outputs. A line is
a number, or the numbers of a vector between commas or blanks; `nan` and `inf` are numbers. A
command that prints on is stopped when it has printed enough. No shell is involved, and what the
command writes to stderr is lost.
"""

from __future__ import annotations

import os
import select
import shlex
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise.errors import InvalidArgument, InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

_READ = 1 << 18
_LONGEST = 10**6  # seconds of a run
_MOST_SHOWN = 60  # characters of a command in a message


@final
@dataclass(frozen=True, kw_only=True)
class Program:
    """A command, and after how many seconds a run of it is given up.

    Raises InvalidArgument for a command that can't be split into words, or is empty.
    """

    command: str
    seconds: float

    def __post_init__(self) -> None:
        """Check both."""
        self._words(0, 0)
        if not 0 < self.seconds <= _LONGEST:
            raise InvalidArgument(
                name="--timeout", value=self.seconds, expected=f"0 < --timeout <= {_LONGEST:,}"
            )

    def draw(self, value: Any, count: int) -> NDArray[np.float64]:
        """Return `count` outputs on the input; raises InvalidInput like `together`."""
        with _Run(self._words(value, count), self.seconds) as run:
            return run.outputs(count)

    def together(self, value: Any, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the outputs of two runs that are started at the same time.

        Raises InvalidInput for a command that can't be started, fails, takes too long, prints too
        few lines, or prints something that isn't numbers; it quotes nothing that was printed.
        """
        words = self._words(value, count)
        with _Run(words, self.seconds) as one, _Run(words, self.seconds) as other:
            return one.outputs(count), other.outputs(count)

    def _words(self, value: Any, count: int) -> list[str]:
        try:
            words = shlex.split(self.command)
        except ValueError:
            words = []
        if not words:
            raise InvalidArgument(
                name="--command",
                value=repr(self.command[:_MOST_SHOWN]),
                expected="a command whose quotes are closed, such as 'python noise.py {value}'",
            )
        return [
            word.replace("{value}", text_of(value)).replace("{count}", str(count)) for word in words
        ]


def text_of(value: Any) -> str:
    """Return an input as it is written in a command: a vector's numbers between commas."""
    if isinstance(value, np.ndarray):
        return ",".join(map(repr, value.tolist()))
    return value if isinstance(value, str) else repr(value)


@final
class _Run:
    """A process of the command, which is stopped with all that it started when it isn't needed."""

    def __init__(self, words: list[str], seconds: float) -> None:
        self._until, self._seconds = time.monotonic() + seconds, seconds
        try:
            self._process = subprocess.Popen(  # noqa: S603 (the user's own command)
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it holds a character that no command may"
            raise InvalidInput(f"The command can't be started: {why}.") from None

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, *_: object) -> None:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):  # nothing of it is left
                os.killpg(self._process.pid, signal.SIGKILL)  # its own session: what it started
        elif self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def outputs(self, count: int) -> NDArray[np.float64]:
        """Return the first `count` lines as numbers."""
        lines = self._lines(count)
        if len(lines) < count:
            try:
                code = self._process.wait(timeout=max(0.0, self._until - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise self._took_too_long() from None
            how = f" and ended with exit code {code}" if code else ""
            raise InvalidInput(
                f"The command printed {len(lines):,} lines{how}, expected {count:,}. Print as many "
                "as {count} says, or ask for fewer --draws."
            )
        return _numbers(lines[:count])

    def _took_too_long(self) -> InvalidInput:
        return InvalidInput(
            f"The command took more than {self._seconds:g} seconds. Give it more: --timeout"
        )

    def _lines(self, count: int) -> list[bytes]:
        assert self._process.stdout is not None  # asked for above  # noqa: S101
        pipe = self._process.stdout.fileno()
        parts: list[bytes] = []
        ends = 0
        while ends < count:
            left = self._until - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                raise self._took_too_long()
            part = os.read(pipe, _READ)
            if not part:
                break
            parts.append(part)
            ends += part.count(b"\n")
        return b"".join(parts).splitlines()


def _numbers(lines: list[bytes]) -> NDArray[np.float64]:
    """Return the lines' numbers, shape (lines, dimension)."""
    rows = [line.replace(b",", b" ").split() for line in lines]
    width = len(rows[0])
    for place, row in enumerate(rows, 1):
        if len(row) != width or not width:
            raise InvalidInput(
                f"Line {place:,} of the command's output has {len(row)} numbers, expected "
                f"{width or 'at least 1'}."
            )
    try:
        # Python reads 1_000 as a number, which no other program prints as one
        found = [[float(text) for text in row] for row in rows]
        if not any(b"_" in line for line in lines):
            return np.array(found)
    except ValueError:
        pass
    place = next(number for number, row in enumerate(rows, 1) if not all(map(_is_number, row)))
    raise InvalidInput(
        f"Line {place:,} of the command's output isn't numbers. Each has to be one output: a "
        "number, or several between commas or blanks."
    )


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return b"_" not in text
