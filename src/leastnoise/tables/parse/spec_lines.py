"""On which line of its TOML file a key of a spec stands, so that an error can point there.

What is read here was read by tomllib before, so that it is valid TOML: this tells keys, values and
comments apart, and nothing else. Keys are spelled as errors spell them:
`query[0].group_by.plan[2]`.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from contextlib import suppress
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

Parts = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN = re.compile(r"[^,\]}#\n]*")  # a number, a bool or a date
_STRING = re.compile(
    r"""
    ""\"(?:\\.|[^\\])*?"{3,5}    # a text of several lines may end in two quotes of its own
    | '''.*?'{3,5}
    | "(?:\\.|[^"\\])*"
    | '[^']*'
    """,
    re.DOTALL | re.VERBOSE,
)
_UNREAD = re.compile(  # texts and comments; what has no end goes on to that of the file
    r"""
    ""\"(?:(?:\\.|[^\\])*?"{3,5}|.*)
    | '''(?:.*?'{3,5}|.*)
    | "(?:(?:\\.|[^"\\\n])*+"|.*)
    | '(?:[^'\n]*+'|.*)
    | \#[^\n]*+
    """,
    re.DOTALL | re.VERBOSE,
)
_SYNTAX = re.compile(r"\(at line (\d+), column \d+\)")


def has_long_names(text: str, most: int) -> bool:
    """Say whether a key in `text`, which may be no TOML, is `most` names with dots or more.

    Of n names tomllib copies n² on its way, and the tables that they open are in each other.
    """
    bare = _UNREAD.sub(lambda found: "" if found[0][0] == "#" else "s", text)
    name = r"[A-Za-z0-9_-]++[ \t]*+\.[ \t]*+"
    return re.search(rf"(?<![A-Za-z0-9_-])(?:{name}){{{most}}}", bare) is not None


def lines(
    text: str, problems: Sequence[tuple[str, str]], *, elsewhere: Collection[str] = ()
) -> list[int | None]:
    """Return the line of the TOML `text` that each problem of it is on, None where none is.

    A key that is missing is looked for in the table that it is missing from. Keys `elsewhere` were
    given beside the file.
    """
    places = _Places(text)
    found: list[int | None] = []
    for key, message in problems:
        wrong = _SYNTAX.search(message) if key == "TOML" else None
        if wrong:
            found.append(int(wrong[1]))
        elif key == "TOML" or key in elsewhere:
            found.append(None)
        else:
            found.append(places.line(key))
    return found


@final
class _Places:
    """Where each key of a TOML text starts; the text is read when the first one is asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: list[int] = []  # of the lines
        self._at = 0
        self._found: dict[str, tuple[Parts, int | None]] = {}
        self._last: dict[Parts, int] = {}  # the index of the last [[table]] of a name
        self._is_read = False

    def line(self, key: str) -> int | None:
        """Return the line of `key`, or else of the innermost table around it that is there."""
        if not self._is_read:
            self._is_read = True
            self._ends = [match.start() for match in re.finditer("\n", self._text)]
            with suppress(RecursionError):  # nested too deep for this, and for a spec
                self._read()
        while key and key not in self._found:
            key = key[: max(key.rfind("."), key.rfind("["), 0)]
        start = self._found[key][1] if key else None
        return None if start is None else bisect_left(self._ends, start) + 1

    def _read(self) -> None:
        table: Parts = ()
        while self._skip(_BLANK) < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Parts:
        """Read [a.b] or [[a.b]]; return the parts of what it opens."""
        start, is_list = self._at, self._text.startswith("[[", self._at)
        self._at += 2 if is_list else 1
        names = self._names()
        self._at += 2 if is_list else 1
        parts: Parts = ()
        for place, name in enumerate(names, start=1):
            parts = (*parts, name)
            self._note(parts, start)
            if is_list and place == len(names):
                self._last[parts] = self._last.get(parts, -1) + 1
            if parts in self._last:
                parts = (*parts, self._last[parts])
                self._note(parts, start)
        return parts

    def _pair(self, table: Parts) -> None:
        """Read key = value."""
        start, parts = self._at, table
        for name in self._names():
            parts = (*parts, name)
            self._note(parts, start)
        self._at += 1
        self._skip(_SPACE)
        self._value(parts)

    def _names(self) -> list[str]:
        """Read the names between dots that make a key, and the blanks behind them."""
        names: list[str] = []
        while True:
            start = self._skip(_SPACE)
            if self._text[start] in "\"'":
                self._skip(_STRING)
                names.append(tomllib.loads(f"name = {self._text[start : self._at]}")["name"])
            else:
                self._skip(_NAME)
                names.append(self._text[start : self._at])
            if self._text[self._skip(_SPACE)] != ".":
                return names
            self._at += 1

    def _value(self, parts: Parts) -> None:
        first = self._text[self._at]
        if first in "[{":
            self._several(parts, is_list=first == "[")
        else:
            self._skip(_STRING if first in "\"'" else _PLAIN)

    def _several(self, parts: Parts, *, is_list: bool) -> None:
        """Read a list or an inline table."""
        self._at += 1
        index = 0
        while (letter := self._text[self._skip(_BLANK)]) not in "]}":
            if letter == ",":
                self._at += 1
                index += 1
            elif is_list:
                self._note((*parts, index), self._at)
                self._value((*parts, index))
            else:
                self._pair(parts)
        self._at += 1

    def _skip(self, pattern: re.Pattern[str]) -> int:
        """Go on behind what matches here, if anything does; return the place."""
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at

    def _note(self, parts: Parts, start: int) -> None:
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
        known = self._found.setdefault(key[1:], (parts, start))
        if (
            known[0] != parts
        ):  # a name with a dot or a bracket in it: nobody can tell which is meant
            self._found[key[1:]] = (known[0], None)
