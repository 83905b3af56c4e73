"""Output for a terminal: sentences and tables on stdout, and a command's progress on stderr.

Texts are wrapped to the width of the terminal, and no word is broken. A table that is too wide
first gets narrower gaps, then wraps at blanks. If it is still too wide, it becomes one block per
row. In a table, numbers and intervals such as "1.5 to 2.5" stay on one line.

Progress is shown after one second, and only if a person watches. A stage is a fixed sentence or
names public numbers, never data.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import threading
import traceback
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast, final

import click

from leastnoise import _words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.status import Status

_WIDTH = 80  # most characters in a line of a sentence, however wide the terminal is
_LEAST_WIDTH = 40
_LONGEST = 2000  # most characters in a cell of a table
_BETWEEN = "  "

Row = tuple[str, ...]


def say(text: str = "", *, err: bool = False, lines: bool = False) -> None:
    """Write `text` on stdout, or on stderr with `err`.

    With `lines`, line ends in the text are kept; see `_words.plain`.
    """
    click.echo(_words.plain(text, lines=lines), err=err)


def describe_location(error: BaseException) -> str:
    """The type of an error and the line that raised it, but no message, which may quote data."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"


def print_sentences(sentences: Sequence[str]) -> None:
    """Write each sentence on a new line, wrapped only between words."""
    for sentence in sentences:
        lines = _wrap(sentence, min(_columns(), _WIDTH), indent="  ")
        say("\n".join(lines), lines=True)


def print_facts(facts: Sequence[tuple[str, str]]) -> None:
    """Write facts (name, text), each on one or more lines with its name on the left."""
    say("\n".join(_block(facts, _columns())), lines=True)


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, note: str = ""
) -> None:
    """Print a table and its `note` on stdout, with texts aligned left and numbers aligned right.

    A cell with more than 2,000 characters is cut, and ends with "…".
    """
    cells = [tuple(map(_cut, row)) for row in rows]
    names = tuple(map(_cut, columns))
    width = _columns()
    print_sentences([title])
    for blanks in (3, 2):
        room = width - blanks * (len(names) + 1)
        widths = _widths(names, cells, room, wrap=blanks == 2)
        if widths is not None:
            _draw(names, cells, widths, blanks=blanks, width=width)
            break
    else:
        blocks = [_block(list(zip(names, row, strict=True)), width) for row in cells]
        say("\n" + "\n\n".join("\n".join(block) for block in blocks) + "\n", lines=True)
    if note:
        print_sentences([note])


def _cut(cell: str) -> str:
    """Make a cell safe to show, and cut it after 2,000 characters.

    Longer cells would take long to fit into columns.
    """
    return _words.plain(cell if len(cell) <= _LONGEST else f"{cell[:_LONGEST]}…")


def _draw(
    names: Row, cells: Sequence[Row], widths: Sequence[int], *, blanks: int, width: int
) -> None:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE, padding=(0, 1, 0, blanks - 2))
    for index, (name, room) in enumerate(zip(names, widths, strict=True)):
        numeric = all(_words.is_number(row[index]) for row in cells)
        justify = "right" if numeric else "left"
        table.add_column(Text(name), justify=justify, width=room, overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))  # rich would read a plain str as markup
    Console(width=width).print(table)


def _widths(names: Row, cells: Sequence[Row], room: int, *, wrap: bool) -> list[int] | None:
    """The width of each column; None if the columns don't fit into `room` together.

    With `wrap`, cells may be wrapped between words.
    """
    from rich.cells import cell_len

    columns = list(zip(names, *cells, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    if not wrap:
        return widths if sum(widths) <= room else None
    least = [max(cell_len(part) for cell in column for part in _parts(cell)) for column in columns]
    while sum(widths) > room:
        spare = [have - need for have, need in zip(widths, least, strict=True)]
        if max(spare) == 0:
            return None
        widths[spare.index(max(spare))] -= 1
    return widths


def _parts(cell: str) -> list[str]:
    """The parts of a cell that can't be broken: its words, or the whole cell.

    A cell that begins with a number isn't broken at all.
    """
    return [cell] if cell[:1].isdecimal() or cell[:1] == "-" else cell.split() or [""]


def _block(facts: Sequence[tuple[str, str]], width: int) -> list[str]:
    names = [_words.plain(name) for name, _ in facts]
    widest = max(map(len, names), default=0)
    lines: list[str] = []
    for name, (_, text) in zip(names, facts, strict=True):
        room = max(width - 2 - widest - len(_BETWEEN), _LEAST_WIDTH)
        first, *more = _wrap(text, room) or [""]
        lines.append(f"  {name:<{widest}}{_BETWEEN}{first}".rstrip())
        lines += [f"  {'':<{widest}}{_BETWEEN}{line}" for line in more]
    return lines


def _wrap(text: str, width: int, *, indent: str = "") -> list[str]:
    return textwrap.wrap(
        _words.plain(text),
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _columns() -> int:
    return max(shutil.get_terminal_size().columns, _LEAST_WIDTH)


@contextmanager
def stages(first: str = "Working", *, silent: bool = False) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the stage of a long command on stderr.

    Nothing is shown within the first second, if `silent`, or if stderr is no terminal. The function
    never raises, because a closed terminal must not stop a release that was charged.
    """
    if silent or not _is_watched(sys.stderr):
        yield _ignore
        return
    spinner = _Spinner(first)
    timer = threading.Timer(1.0, spinner.show)  # nothing is shown in the first second
    timer.daemon = True
    timer.start()
    try:
        yield spinner.tell
    finally:
        timer.cancel()
        spinner.end()


def _is_watched(stream: IO[str] | None) -> bool:
    """True if `stream` is a terminal, or TTY_COMPATIBLE=1 is in the environment, as for rich."""
    with suppress(OSError, ValueError):  # raised for a closed stream
        return stream is not None and (stream.isatty() or os.environ.get("TTY_COMPATIBLE") == "1")
    return False


def can_ask() -> bool:
    """True if a person at a terminal can answer a question."""
    with suppress(OSError, ValueError):  # raised for a closed stream
        return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
    return False


def _ignore(stage: str) -> None:
    """Do nothing: the progress function when nobody watches."""


@final
class _Spinner:
    """The progress line on a terminal, visible from `show` to `end`."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._status: Status | None = None
        self._ended = False
        self._lock = threading.Lock()

    def show(self) -> None:
        """Begin to draw the line. The timer calls this from another thread."""
        from rich.console import Console

        console = Console(file=cast("IO[str]", _Forgiving(sys.stderr)))
        with self._lock:
            if not self._ended:
                self._status = console.status(_line(self._stage))
                self._status.start()

    def tell(self, stage: str) -> None:
        """Change the text of the line."""
        with self._lock:
            self._stage = stage
            if self._status is not None:
                self._status.update(_line(stage))

    def end(self) -> None:
        """Remove the line, and show the cursor again."""
        with self._lock:
            self._ended = True
            if self._status is not None:
                self._status.stop()


def _line(stage: str) -> Any:
    from rich.text import Text  # rich would read a plain str as markup

    return Text(f"{_words.plain(stage)} …", no_wrap=True, overflow="ellipsis")


@final
class _Forgiving:
    """A wrapper of a stream that ignores write errors if the stream is closed, full or missing."""

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
