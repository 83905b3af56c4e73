"""Examples in docstrings become code blocks of the API pages, and plain text stays plain.

The docstrings are written for `help()`: interpreter sessions in the text, formulas in Unicode. What
a record takes is known when it runs alone, and is shown as `inspect` has it.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module

import griffe

_SESSION = re.compile(r"^ *>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)
_ARGUMENT = re.compile(r" +\*{0,2}\w+: ")
_SPECIAL = re.compile(r"([*_|\[\]])")


class Sessions(griffe.Extension):
    """Rewrites every docstring before it is rendered."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        """Rewrite the docstring of `obj`, if it has one."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


class Signatures(griffe.Extension):
    """Gives records the `__init__` that they have when they run."""

    def on_class(self, *, cls: griffe.Class, **_: object) -> None:
        """Add the method to `cls`, if a record."""
        if not any(str(one.value).startswith("record(") for one in cls.decorators):
            return
        signature = inspect.signature(getattr(import_module(cls.module.path), cls.name))
        taken = [
            griffe.Parameter(
                one.name,
                annotation=str(one.annotation),
                kind=griffe.ParameterKind(one.kind.description),
                default=None if one.default is one.empty else repr(one.default),
            )
            for one in signature.parameters.values()
        ]
        own = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
        cls.set_member(
            "__init__", griffe.Function("__init__", parameters=griffe.Parameters(own, *taken))
        )


def as_markdown(text: str) -> str:
    r"""Convert a docstring to Markdown: fence sessions, and escape Markdown's signs in formulas.

    Sessions in a section such as `Examples` stay as they are, because mkdocstrings fences them.

    >>> print(as_markdown("E|X_1| <= 1 of `a_b`."))
    E\|X\_1\| &lt;= 1 of `a_b`.
    >>> as_markdown("Text." + chr(10) * 2 + ">>> 1 + 1" + chr(10) + "2").count("```")
    2
    >>> as_markdown("    max_rows: Limit on [x].") == r"    max_rows: Limit on \[x\]."
    True
    """
    parts, end = [], 0
    for match in _SESSION.finditer(text):
        session = match[0] if match[0].startswith(" ") else f"```pycon\n{match[0]}\n```"
        parts += [_escape(text[end : match.start()]), session]
        end = match.end()
    return "".join([*parts, _escape(text[end:])])


def _escape(text: str) -> str:
    """Escape Markdown's signs, except in code, in tables, and in names of arguments."""
    return "\n".join(map(_escape_line, text.split("\n")))


def _escape_line(line: str) -> str:
    if line.lstrip().startswith("|"):
        return line
    name = _ARGUMENT.match(line)
    start = name[0] if name else ""
    parts = re.split(r"(`[^`]*`)", line[len(start) :])
    return start + "".join(
        part if part.startswith("`") else _SPECIAL.sub(r"\\\1", part).replace("<", "&lt;")
        for part in parts
    )
