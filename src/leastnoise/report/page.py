"""A release as one page that anyone can read: HTML without scripts, and nothing from a network.

Everything on it is from the directory, verified again before: the spec, the plan, the certificate
and the tables. What was found comes first, and how it is protected last, folded.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from leastnoise import _validate
from leastnoise._words import html
from leastnoise.certificate.records import parse_object
from leastnoise.report.numbers import as_list
from leastnoise.report.protection import protection
from leastnoise.report.table_section import TableSection, names_of
from leastnoise.tables.publish import output
from leastnoise.tables.publish.table_files import read_table
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.tables.spec.model import About

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.tables.publish.verify import VerifiedRelease

_STYLE = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
_MOST_FINDINGS = 12


def report(
    folder: str | Path, *, ledger: str | Path | None = None, target: Path | None = None
) -> str:
    """Return the page about the release in `folder`; raises what `verify_directory` does.

    Its links to the tables' files hold where it is kept as `target`: beside the folder if left out.
    """
    found = verify_directory(folder, ledger=ledger)
    return page_of(found, _validate.path(folder, name="folder"), target)


def page_of(found: VerifiedRelease, folder: Path, target: Path | None = None) -> str:
    """Return the page about a release that was verified, to be kept as `target`."""
    plan = parse_object(output.read_text(folder, output.PLAN))
    spec = found.spec
    kind = spec.output.format if spec.output else "parquet"
    parts = {name: [one for one in found.layouts if one.name == name] for name in found.rows}
    sections = [
        TableSection.of(
            spec,
            own,
            plan,
            read_table(folder / f"{name}.{kind}", own),
            link=_link(folder / f"{name}.{kind}", target),
        )
        for name, own in parts.items()
    ]
    names = {name: names_of(own, spec) for name, own in parts.items()}
    title, head = _header(spec.report or About(), folder, chosen="quantiles" in plan)
    body = (
        f"<header>{head}</header><main><section><h2>Findings</h2>{_findings(sections)}</section>"
        f"<section><h2>The tables</h2>{''.join(one.to_html() for one in sections)}</section>"
        f"<section>{protection(found, plan['blocks'], folder, names)}</section></main>"
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{html(title)}</title><style>{_STYLE}</style></head><body>{body}</body></html>\n"
    )


def _header(about: About, folder: Path, *, chosen: bool) -> tuple[str, str]:
    """Return the title of the page, and its head as HTML; `chosen` of tables with quantiles."""
    title = about.title or folder.name or str(folder)
    lines = [f"<h1>{html(title)}</h1>"]
    by = [one for one in (about.publisher, about.contact) if one is not None]
    if by:
        lines.append(f'<p class="by">{html(" · ".join(by))}</p>')
    paragraphs = (about.text or "").split("\n\n")
    lines += [f"<p>{html(one)}</p>" for one in paragraphs if one.strip()]
    lines.append(
        f"<p>Noise was added to every number{', or chance chose it' if chosen else ''}, to protect "
        "those whom it is about. In brackets, as whiskers, and below a number stands where it is "
        "without noise, with probability 95&nbsp;%.</p>"
    )
    return title, "".join(lines)


def _link(file: Path, target: Path | None) -> str:
    """Return a link to a table's file, from the page's own folder."""
    file = file.absolute()
    start = file.parents[1] if target is None else target.absolute().parent
    try:
        way = Path(os.path.relpath(file, start)).as_posix()
    except ValueError:  # on another drive
        return html(file.name)
    return f'<a href="{quote(os.fsencode(way))}" download>{html(file.name)}</a>'


def _findings(sections: Sequence[TableSection]) -> str:
    found = [said for one in sections for said in one.findings()]
    more = len(found) - _MOST_FINDINGS
    shown = found[:_MOST_FINDINGS]
    return as_list([*shown, f"… and {more} more, in the tables below."] if more > 0 else shown)
