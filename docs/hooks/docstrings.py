"""Examples in docstrings become code blocks of the API pages, and plain text stays plain.

The docstrings are written for `help()`: interpreter sessions in the text, formulas in Unicode.
"""

from __future__ import annotations

import re

import griffe

_SESSION = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)
_SPECIAL = re.compile(r"([*_|\[\]])")


class Sessions(griffe.Extension):
    """Rewrites every docstring before it is rendered."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        """Rewrite the docstring of `obj`, if it has one."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


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
    """Return `text` with signs of Markdown escaped, but for what is between backticks."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else _SPECIAL.sub(r"\\\1", part).replace("<", "&lt;")
        for part in parts
    )
