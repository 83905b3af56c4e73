"""What a terminal shows: sentences and tables on stdout, and what a command is doing on stderr.

They fit the width of the terminal, with no word broken. A table that is too wide is set closer,
then wrapped at blanks, and at last written as one block a row, a line a column. Numbers, and
intervals such as "1.5 to 2.5", stay on one line.

What a command is doing is shown while it takes more than a second, and only where a person looks at
it: a file, a pipe and --json hold nothing of it. A stage is a fixed sentence or says public
numbers; never what was read.
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

_WIDTH = 80  # of sentences, however wide the terminal is
_LEAST_WIDTH = 40
_LONGEST = 2000  # letters of a cell
_BETWEEN = "  "

Row = tuple[str, ...]


def say(text: str = "", *, err: bool = False, lines: bool = False) -> None:
    """Write `text` on stdout or stderr: the one door of all that commands write but for tables.

    With `lines` the line ends in it are ours; see `_words.plain`.
    """
    click.echo(_words.plain(text, lines=lines), err=err)


def place_of(error: BaseException) -> str:
    """Return the kind of an error and the line that raised it: its message may quote data."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}"


def print_sentences(sentences: Sequence[str]) -> None:
    """Write each from a new line on; none is broken within a word or a path."""
    for sentence in sentences:
        lines = _wrapped(sentence, min(_columns(), _WIDTH), indent="  ")
        say("\n".join(lines), lines=True)


def print_facts(facts: Sequence[tuple[str, str]]) -> None:
    """Write what is said of one thing, a line or more a fact, its name to the left."""
    say("\n".join(_block(facts, _columns())), lines=True)


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, note: str = ""
) -> None:
    """Print a table on stdout: text columns to the left, numbers to the right.

    Of a cell with more than 2,000 letters the first are shown, and "…".
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
    """Return a cell as it is shown: columns are fitted in a time that grows with its length."""
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
        table.add_row(*map(Text, row))  # a plain str would be read as markup
    Console(width=width).print(table)


def _widths(names: Row, cells: Sequence[Row], room: int, *, wrap: bool) -> list[int] | None:
    """Return the width of each column, None if they don't fit into `room` without a word broken."""
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
    """Return the parts of `cell` that stay whole: its words, or all of it if it is of numbers."""
    return [cell] if cell[:1].isdecimal() or cell[:1] == "-" else cell.split() or [""]


def _block(facts: Sequence[tuple[str, str]], width: int) -> list[str]:
    names = [_words.plain(name) for name, _ in facts]
    widest = max(map(len, names), default=0)
    lines: list[str] = []
    for name, (_, said) in zip(names, facts, strict=True):
        room = max(width - 2 - widest - len(_BETWEEN), _LEAST_WIDTH)
        first, *more = _wrapped(said, room) or [""]
        lines.append(f"  {name:<{widest}}{_BETWEEN}{first}".rstrip())
        lines += [f"  {'':<{widest}}{_BETWEEN}{line}" for line in more]
    return lines


def _wrapped(text: str, width: int, *, indent: str = "") -> list[str]:
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
    """Yield a function that shows the stage a long command is at, on stderr; never a row count.

    Nothing is shown within the first second, where it is `silent`, or where stderr is no terminal.
    It never raises: that nobody can see a stage any more is no reason to lose what was charged.
    """
    if silent or not _is_watched(sys.stderr):
        yield _ignore
        return
    spinner = _Spinner(first)
    timer = threading.Timer(1.0, spinner.show)  # seconds that nothing is shown for
    timer.daemon = True
    timer.start()
    try:
        yield spinner.tell
    finally:
        timer.cancel()
        spinner.end()


def _is_watched(stream: IO[str] | None) -> bool:
    """Return whether `stream` is a terminal; TTY_COMPATIBLE stands for one, as rich has it."""
    with suppress(OSError, ValueError):  # a closed stream
        return stream is not None and (stream.isatty() or os.environ.get("TTY_COMPATIBLE") == "1")
    return False


def asks() -> bool:
    """Whether somebody at a terminal can be asked."""
    with suppress(OSError, ValueError):  # a closed stream
        return all(one is not None and one.isatty() for one in (sys.stdin, sys.stderr))
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
