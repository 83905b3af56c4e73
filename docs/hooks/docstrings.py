"""Examples in docstrings become code blocks of the API pages, and plain text stays plain.

The docstrings are written for `help()`: interpreter sessions in the text, formulas in Unicode. What
a record takes is known when it runs alone, and is shown as `inspect` has it.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module

import griffe

_SESSION = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)
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
    r"""Return a docstring as Markdown: sessions fenced, signs of Markdown in formulas escaped.

    >>> print(as_markdown("E|X_1| <= 1 of `a_b`."))
    E\|X\_1\| &lt;= 1 of `a_b`.
    >>> as_markdown("Text." + chr(10) * 2 + ">>> 1 + 1" + chr(10) + "2").count("```")
    2
    """
    parts, end = [], 0
    for found in _SESSION.finditer(text):
        parts += [_escaped(text[end : found.start()]), f"```pycon\n{found[0]}\n```"]
        end = found.end()
    return "".join([*parts, _escaped(text[end:])])


def _escaped(text: str) -> str:
    """The text with signs of Markdown escaped, except in code and in the names of arguments."""
    parts = re.split(r"(`[^`]*`|^ +\w+: )", text, flags=re.MULTILINE)
    return "".join(
        part if index % 2 else _SPECIAL.sub(r"\\\1", part).replace("<", "&lt;")
        for index, part in enumerate(parts)
    )
