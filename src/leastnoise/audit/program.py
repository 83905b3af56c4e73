"""A mechanism that is a command: it prints one output per line.

In the command `{value}` is replaced by the input and `{count}` by the number of outputs. A line is
a number, or the numbers of a vector separated by commas or blanks; `nan` and `inf` are numbers. A
command that prints more than needed is stopped, with all processes that it started; on Linux also
those that left its session, as daemons do. No shell is involved, and stderr of the command is
discarded.
"""

from __future__ import annotations

import ctypes
import math
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from leastnoise import _words
from leastnoise.errors import InvalidArgument, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_LONGEST_LINE = 1 << 24  # bytes
_LONGEST_NUMBER = 2000  # characters; the least double has 1,075 digits
_LONGEST = 10**6  # largest time limit of a run, in seconds


@final
@dataclass(frozen=True, kw_only=True)
class ProgramUnderTest:
    """A mechanism under test that is a command, with a time limit for each run in seconds.

    Raises InvalidArgument for a command that can't be split into words or is empty, and for a time
    limit out of range.
    """

    command: str
    seconds: float

    def __post_init__(self) -> None:
        """Check command and time limit."""
        self._words(0, 0)
        if not 0 < self.seconds <= _LONGEST:
            raise InvalidArgument(
                name="--timeout", value=self.seconds, expected=f"0 < --timeout <= {_LONGEST:,}"
            )

    def draw(self, value: Any, count: int) -> NDArray[np.float64]:
        """Draw `count` outputs on the input. Raises InvalidInput, as `draw_pair` does."""
        with _Run(self._words(value, count), self.seconds) as run:
            return run.outputs(count)

    def draw_pair(self, value: Any, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw the outputs of two runs that start at the same time.

        Raises InvalidInput for a command that can't be started, takes too long, or prints too few
        or malformed lines. The message never quotes the output. The exit code isn't checked after
        enough lines, because the command may be stopped before it ends.
        """
        words = self._words(value, count)
        with _Run(words, self.seconds) as first, _Run(words, self.seconds) as second:
            return first.outputs(count), second.outputs(count)

    def _words(self, value: Any, count: int) -> list[str]:
        try:
            words = shlex.split(self.command)
        except ValueError:
            words = []
        if not words:
            raise InvalidArgument(
                name="--command",
                value=repr(self.command[:60]),
                expected="a command with closed quotes, such as 'python noise.py {value}'",
            )
        return [
            word.replace("{value}", text_of(value)).replace("{count}", str(count)) for word in words
        ]


def text_of(value: Any) -> str:
    """Format an input for a command: a vector's numbers with commas."""
    if isinstance(value, np.ndarray):
        return ",".join(map(repr, value.tolist()))
    return value if isinstance(value, str) else repr(value)


@final
class _Run:
    """A process of the command, which is stopped at the end with all processes that it started."""

    def __init__(self, words: list[str], seconds: float) -> None:
        self._until, self._seconds = math.inf, seconds
        _adopt_orphans()
        self._earlier = _strays()
        try:
            self._process = subprocess.Popen(  # noqa: S603 (the user's own command)
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it contains an invalid character"
            raise InvalidInput(f"The command can't be started: {why}.") from None

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, *_: object) -> None:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):  # all processes have ended
                os.killpg(self._process.pid, signal.SIGKILL)  # its session has all its children
        elif self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        spared = self._earlier
        # stopping a process leaves its children, which are stopped in the next round
        for _round in range(1000):
            if not (left := _strays() - spared):
                break
            for process in left:
                with suppress(ProcessLookupError, ChildProcessError):  # the process has ended
                    try:
                        os.kill(process, signal.SIGKILL)
                    except PermissionError:  # the process runs as another user
                        spared = spared | {process}
                    else:
                        os.waitpid(process, 0)

    def outputs(self, count: int) -> NDArray[np.float64]:
        """Read the first `count` lines as numbers.

        Raises InvalidInput for too few lines, for malformed lines, and after the time limit. The
        limit starts here, because a run that prints a lot waits until its output is read.
        """
        self._until = time.monotonic() + self._seconds
        parts: list[NDArray[np.float64]] = []
        done = 0
        width = 0
        most_numbers = 1 << 28  # in all outputs: 2 GiB
        for lines in self._lines():
            part = _numbers(lines[: count - done], after=done, width=width)
            parts.append(part)
            done += len(part)
            width = part.shape[1]
            if width * count > most_numbers:
                raise InvalidInput(
                    f"The command prints {_words.count_noun(width, 'number')} per line, which is "
                    "too many for "
                    f"{count:,} lines. Ask for fewer lines with --draws."
                )
            if done == count:
                return np.concatenate(parts)
        try:
            code = self._process.wait(timeout=max(0.0, self._until - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise self._took_too_long() from None
        how = f" and ended with exit code {code}" if code else ""
        raise InvalidInput(
            f"The command printed {_words.count_noun(done, 'line')}{how}, expected {count:,}. Let "
            "the command print {count} lines, or ask for fewer with --draws."
        )

    def _took_too_long(self) -> InvalidInput:
        return InvalidInput(
            f"The command took more than {self._seconds:g} seconds. Raise --timeout."
        )

    def _lines(self) -> Iterator[list[bytes]]:
        """Yield the lines as they arrive, at least one at a time."""
        assert self._process.stdout is not None  # because of PIPE above  # noqa: S101
        pipe = self._process.stdout.fileno()
        open_line: list[bytes] = []
        size = 0
        while True:
            left = self._until - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                raise self._took_too_long()
            part = os.read(pipe, 1 << 18)
            ended, end, rest = part.rpartition(b"\n")
            if end or not part:
                if lines := b"".join([*open_line, ended]).splitlines():
                    yield lines
                open_line, size = [], 0
            if not part:
                return
            open_line.append(rest)
            size += len(rest)
            if size > _LONGEST_LINE:
                raise InvalidInput(
                    f"The command printed a line of more than {_LONGEST_LINE:,} bytes. Each line "
                    "must be one output."
                )


def _adopt_orphans() -> None:
    """Make this process the parent of orphaned descendants, on Linux only."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            adopt_orphans = 36  # prctl's PR_SET_CHILD_SUBREAPER
            ctypes.CDLL(None).prctl(adopt_orphans, 1, 0, 0, 0)


def _strays() -> set[int]:
    """The children of this process that left its session; empty without /proc."""
    strays: set[int] = set()
    this = os.getpid()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # the process has ended
            # after the name, which is between brackets: state, parent, group, session
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[1]) == this and int(fields[3]) != os.getsid(0):
                strays.add(int(folder.name))
    return strays


def _numbers(lines: list[bytes], *, after: int, width: int) -> NDArray[np.float64]:
    """Read the lines' numbers, shape (lines, dimension); raises InvalidInput for any other line.

    `after` is the number of earlier lines, and `width` their dimension; both are 0 at the start.
    """
    rows = [line.replace(b",", b" ").split() for line in lines]
    wanted = width or len(rows[0])
    for number, row in enumerate(rows, after + 1):
        if len(row) != wanted or not wanted:
            raise InvalidInput(
                f"Line {number:,} of the command's output has "
                f"{_words.count_noun(len(row), 'number')}, expected {wanted or 'at least 1'}."
            )
    try:
        # each number is checked first only if some line is suspicious
        if all(len(line) <= _LONGEST_NUMBER and b"_" not in line for line in lines) or all(
            _is_number(text) for row in rows for text in row
        ):
            return np.array([[float(text) for text in row] for row in rows])
    except ValueError:
        pass
    malformed = next(
        number for number, row in enumerate(rows, after + 1) if not all(map(_is_number, row))
    )
    raise InvalidInput(
        f"Line {malformed:,} of the command's output has a text that can't be read as a "
        "number. Each line must be one output: a number, or several separated by commas or blanks."
    )


def _is_number(text: bytes) -> bool:
    # Python reads 1_000 as a number, which no other program prints; its time grows with the square
    # of the digits
    if len(text) > _LONGEST_NUMBER or b"_" in text:
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True
