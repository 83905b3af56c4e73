"""A mechanism that is a command: it prints one output a line.

`{value}` in the command is replaced by the input and `{count}` by the number of outputs. A line is
a number, or the numbers of a vector between commas or blanks; `nan` and `inf` are numbers. A
command that prints on is stopped when it has printed enough, with all that it started; on Linux
also what has left its session, as a daemon does. No shell is involved, and what the command writes
to stderr is lost.
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

from leastnoise.errors import InvalidArgument, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_LONGEST_LINE = 1 << 24  # bytes
_LONGEST_NUMBER = 2000  # characters; all digits of the least double are 1,075
_LONGEST = 10**6  # seconds of a run


@final
@dataclass(frozen=True, kw_only=True)
class ProgramUnderTest:
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

        Raises InvalidInput for a command that can't be started, takes too long, prints too few
        lines, or prints something that isn't numbers; it quotes nothing that was printed. What it
        ends with once it has printed enough is not looked at: it may be stopped before it ends.
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
                value=repr(self.command[:60]),
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
        spared = self._earlier
        # a process that is stopped leaves those that it started, which are stopped next
        for _round in range(1000):
            if not (left := _strays() - spared):
                break
            for process in left:
                with suppress(ProcessLookupError, ChildProcessError):  # it has ended
                    try:
                        os.kill(process, signal.SIGKILL)
                    except PermissionError:  # it runs as another user
                        spared = spared | {process}
                    else:
                        os.waitpid(process, 0)

    def outputs(self, count: int) -> NDArray[np.float64]:
        """Return the first `count` lines as numbers.

        The time counts from here: until it is read, a run that prints much has to wait.
        """
        self._until = time.monotonic() + self._seconds
        found: list[NDArray[np.float64]] = []
        done = 0
        width = 0
        most_numbers = 1 << 28  # of all outputs: 2 GiB
        for lines in self._lines():
            part = _numbers(lines[: count - done], after=done, width=width)
            found.append(part)
            done += len(part)
            width = part.shape[1]
            if width * count > most_numbers:
                raise InvalidInput(
                    f"The command prints {width:,} numbers a line, which is too many for {count:,} "
                    "lines. Ask for fewer --draws."
                )
            if done == count:
                return np.concatenate(found)
        try:
            code = self._process.wait(timeout=max(0.0, self._until - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise self._took_too_long() from None
        how = f" and ended with exit code {code}" if code else ""
        raise InvalidInput(
            f"The command printed {done:,} lines{how}, expected {count:,}. Print as many "
            "as {count} says, or ask for fewer --draws."
        )

    def _took_too_long(self) -> InvalidInput:
        return InvalidInput(
            f"The command took more than {self._seconds:g} seconds. Give it more: --timeout"
        )

    def _lines(self) -> Iterator[list[bytes]]:
        """Yield the lines as they come, at least one at a time."""
        assert self._process.stdout is not None  # asked for above  # noqa: S101
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
                    f"The command printed a line of more than {_LONGEST_LINE:,} bytes. Each has to "
                    "be one output."
                )


def _adopt_orphans() -> None:
    """Make this process the parent of those below it whose own parent has ended; Linux alone."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            adopt_orphans = 36  # prctl's PR_SET_CHILD_SUBREAPER
            ctypes.CDLL(None).prctl(adopt_orphans, 1, 0, 0, 0)


def _strays() -> set[int]:
    """Return the children of this process that have left its session; none where no /proc is."""
    found: set[int] = set()
    own = os.getpid()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            # after the name, which is between brackets: state, parent, group, session
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[1]) == own and int(fields[3]) != os.getsid(0):
                found.add(int(folder.name))
    return found


def _numbers(lines: list[bytes], *, after: int, width: int) -> NDArray[np.float64]:
    """Return the lines' numbers, shape (lines, dimension); they are those `after` others."""
    rows = [line.replace(b",", b" ").split() for line in lines]
    wanted = width or len(rows[0])
    for place, row in enumerate(rows, after + 1):
        if len(row) != wanted or not wanted:
            raise InvalidInput(
                f"Line {place:,} of the command's output has {len(row)} numbers, expected "
                f"{wanted or 'at least 1'}."
            )
    try:
        # only where a line is suspicious is each of its numbers looked at before it is read
        if all(len(line) <= _LONGEST_NUMBER and b"_" not in line for line in lines) or all(
            _is_number(text) for row in rows for text in row
        ):
            return np.array([[float(text) for text in row] for row in rows])
    except ValueError:
        pass
    place = next(
        number for number, row in enumerate(rows, after + 1) if not all(map(_is_number, row))
    )
    raise InvalidInput(
        f"Line {place:,} of the command's output isn't numbers. Each has to be one output: a "
        "number, or several between commas or blanks."
    )


def _is_number(text: bytes) -> bool:
    # Python reads 1_000 as a number, which no other program prints as one; the time that it takes
    # rises with the square of the digits
    if len(text) > _LONGEST_NUMBER or b"_" in text:
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True
