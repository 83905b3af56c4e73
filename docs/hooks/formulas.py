"""Formulas in LaTeX become MathML when the site is built, so that no script is needed to show them.

pymdownx.arithmatex finds them, latex2mathml converts them, browsers draw them. GitHub draws the
LaTeX itself.
"""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from mkdocs.config.defaults import MkDocsConfig

_FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)


class NoUnderscores(Extension):
    """`_` is no emphasis: formulas in Unicode have subscripts, and words are emphasised by `*`."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (its name in Python-Markdown)
        """Take the sign away from those that emphasise; Python-Markdown >= 3.11."""
        md.delimiters.remove("_")  # pyright: ignore[reportAttributeAccessIssue]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add `NoUnderscores`."""
    config.markdown_extensions.append(NoUnderscores())  # type: ignore[arg-type]
    return config


def on_page_content(content: str, **_: object) -> str:
    """Return the page's HTML with MathML in place of LaTeX."""
    return _FORMULA.sub(_mathml, content)


def _mathml(found: re.Match[str]) -> str:
    display = "block" if found["tag"] == "div" else "inline"
    latex = html.unescape(found["latex"]).strip().replace("'", "′")  # as a sign it is raised twice
    formula = convert(latex, display=display)
    tag = found["tag"]
    return f'<{tag} class="formula">{formula}</{tag}>'
