"""Formulas in LaTeX become MathML when the site is built, so that no script is needed to show them.

pymdownx.arithmatex finds them, latex2mathml converts them, browsers draw them. GitHub draws the
LaTeX itself.
"""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

_FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)


def on_page_content(content: str, **_: object) -> str:
    """Return the page's HTML with MathML in place of LaTeX."""
    return _FORMULA.sub(_mathml, content)


def _mathml(found: re.Match[str]) -> str:
    display = "block" if found["tag"] == "div" else "inline"
    formula = convert(html.unescape(found["latex"]).strip(), display=display)
    tag = found["tag"]
    return f'<{tag} class="formula">{formula}</{tag}>'
