"""A release as one page that anyone can read: HTML that loads nothing from a network.

Everything on it comes from the directory, which is verified first: the spec, the plan, the
certificate and the tables. A ledger, and the earlier releases of a series with running totals, are
verified, too, before anything of them is shown. The findings come first. The protection comes last,
folded, for data-protection officers and curious readers. The only script checks the release's proof
when the reader asks for it: check_page.py.
"""

from __future__ import annotations

import math
import os
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from leastnoise import _validate, _words
from leastnoise._words import html
from leastnoise.balls.core import ball, float_above, precision
from leastnoise.guarantees.exact import decimal_text
from leastnoise.report import words
from leastnoise.report.check_page import check_section, document
from leastnoise.report.over_time import charts_over_time
from leastnoise.report.table_section import TableSection
from leastnoise.report.words import as_list, wide_table
from leastnoise.tables.answers.base import Topic
from leastnoise.tables.plan.reader_notes import describe_limits
from leastnoise.tables.plan.summary import rho_sentences, sentences_on, series_sentences
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.tables.results.headers import names_of
from leastnoise.tables.results.table_files import read_table, table_path
from leastnoise.tables.spec.model import About

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.exact import Interval
    from leastnoise.tables.answers.noisy import NoisyPart
    from leastnoise.tables.publish.verify import VerifiedRelease
    from leastnoise.tables.spec.model import Privacy, Spec

_STAYS = (
    "The guarantee holds whatever else a reader knows or learns later, and for everything that is "
    "computed from the tables."
)
_NO_PROMISES = (
    "The guarantee doesn't hide facts about many people, such as a common habit.",
    "Releases add up: another release from the same rows costs more of the same budget.",
    "The guarantee says nothing about the collection of the rows, or about other copies of them.",
)
_HOPELESS = 100  # above this ε the factor means nothing


def protection(
    release: VerifiedRelease, folder: Path, names: Mapping[str, Mapping[str, str]]
) -> str:
    """The folded part of the page, about the protection of persons, as HTML.

    `names` are the page's names for the statistics of each table.
    """
    budget, privacy, spec = release.certificate.budget, release.spec.privacy, release.spec
    guess = surest_guess(budget, release.delta, privacy, spec.protected)
    first = [guess, *_promise_lines(release)]
    limits = describe_limits(release.spec, release.layouts, where="on this page")
    return (
        "<details><summary>About this protection</summary>"
        f"<p>{html(first[0])}</p>{as_list(first[1:])}"
        f"<p>{html(_promise(budget, spec))} {_STAYS}</p>"
        f"<h3>What it doesn't promise</h3>{as_list(_NO_PROMISES)}"
        f"<h3>What was limited or left out</h3>{as_list(limits)}"
        f"<h3>Why this noise</h3>{_noise(release.plan.noisy_parts, names)}"
        f"<h3>What was checked</h3>{as_list(words.verified_release(release, folder)[1:])}"
        "</details>"
    )


def surest_guess(budget: Budget, delta: Interval, privacy: Privacy, protected: str) -> str:
    """A sentence that bounds how surely a reader of the release can guess a fact about one person.

    If two possibilities are equally likely before, a guess after the release is right with
    probability at most (e^ε + δ)/(1 + e^ε). At δ = 0 this holds for every output.
    """
    best = _percent(most_right(budget.epsilon, delta))
    if privacy.neighbours == "replace-one":
        before = (
            f"Suppose two versions of the data of any one {protected} seem equally likely to a "
            "reader."
        )
        if not delta.upper:
            return (
                f"{before} After this release, the reader is at most {best} sure of either version."
            )
        return (
            f"{before} With this release, a guess between the two versions is right in at most "
            f"{best} of cases."
        )
    who = f"that any one {protected} is in the data"
    if not delta.upper:
        return f"A reader who was 50 % sure {who} is at most {best} sure afterwards."
    return f"A reader who was 50 % sure {who} guesses right in at most {best} of cases afterwards."


def most_right(epsilon: Fraction, delta: Interval) -> Fraction:
    """An upper bound on the probability that a guess between two neighbouring tables is right.

    For every way to guess, it is at most 1 − (1 − δ)/(1 + e^ε) if both tables are equally likely
    before.
    """
    if epsilon > _HOPELESS:
        return Fraction(1)
    with precision():
        upper = 1 - (1 - ball(Fraction(delta.upper))) / (1 + ball(epsilon).exp())
    return min(Fraction(float_above(upper)), Fraction(1))


def _percent(share: Fraction) -> str:
    """Write a share of 1 in per cent, rounded up to tenths."""
    return f"{math.ceil(1000 * share) / 10:g} %"


def _promise_lines(release: VerifiedRelease) -> list[str]:
    budget, privacy = release.certificate.budget, release.spec.privacy
    lines = [
        _words.describe_protection(privacy.neighbours, release.spec.protected),
        f"{_whole(release)} {words.guarantee(budget)}. {words.promise(budget, release.delta)}",
        _factor(budget, release.spec),
        *rho_sentences(release.plan),
        *series_sentences(release.plan),
    ]
    if release.account is not None:
        account, whole = release.account, release.account.budget
        lines.append(
            f"The account {account.dataset!r} has ε = {decimal_text(whole.epsilon)} and δ = "
            f"{decimal_text(whole.delta)} in all. Its {account.charges:,} charges up to now have "
            f"ε = {decimal_text(account.spent.epsilon)} and δ = "
            f"{decimal_text(account.spent.delta)} by plain sums."
        )
    return [*lines, words.of_ledger(release)]


def _whole(release: VerifiedRelease) -> str:
    if release.release_number is None:
        return "The whole release has"
    releases = release.planned_releases
    which = _words.name_release(release.release_number, releases)
    return f"This is {which}. All {releases:,} of them together have"


def _factor(budget: Budget, spec: Spec) -> str:
    """A sentence with e^ε, the factor by which one person can change a result's probability."""
    times = f"e^{decimal_text(budget.epsilon)}"
    if budget.epsilon <= _HOPELESS:
        with precision():
            upper = float_above(ball(budget.epsilon).exp())
        times = _words.round_up(upper, digits=3)
    privacy = spec.privacy
    present, otherwise = _words.name_neighbours(
        privacy.neighbours, spec.protected, by_row=privacy.by_row
    )
    if budget.delta:
        return (
            f"The probability of any result {present} is at most {times} times the probability "
            f"{otherwise}, plus {decimal_text(budget.delta)}."
        )
    return f"Any result is at most {times} times as likely {present} as {otherwise}."


def _promise(budget: Budget, spec: Spec) -> str:
    person = spec.protected
    if budget.epsilon <= 1:
        replaced = spec.privacy.neighbours == "replace-one"
        otherwise = f"with other values of that {person}" if replaced else f"without that {person}"
        return (
            f"Readers of these tables learn little about any one {person}: {otherwise}, the same "
            "tables would have a similar probability."
        )
    weak = " With an ε this large, the promise is weak." if budget.epsilon > 4 else ""
    return (
        f"The bound above limits how much any one {person} can change the probability of these "
        f"tables. Nothing more than this bound is promised.{weak}"
    )


def _noise(parts: Sequence[NoisyPart], names: Mapping[str, Mapping[str, str]]) -> str:
    rows: list[str] = []
    for part in parts:
        for error in part.errors:
            of = f" in groups of {error.rows:,} values" if error.rows else ""
            stds = (error.std, error.plain_laplace_std, error.plain_gaussian_std)
            std, *others = (None if value == math.inf else value for value in stds)
            cells = [f"<td>{_std(std)}</td>"]
            cells += [f"<td>{_times(other, std)}</td>" for other in others]
            if part.has_unlike_rows:
                of = ", root mean square"
            name = html(f"{part.name}, {names[part.name][error.statistic]}{of}")
            noise = html(part.chosen_by)
            rows.append(f'<tr><th scope="row">{name}</th><td>{noise}</td>{"".join(cells)}</tr>')
    heads = (
        "statistic",
        "noise",
        "standard deviation",
        "error of Laplace noise",
        "error of Gaussian noise",
    )
    small = ""
    if any(part.layout.unlisted and not part.layout.accurate for part in parts):
        small = (
            "But for groups that nobody listed, it prefers noise with which small groups are "
            "likelier to be shown. "
        )
    return (
        "<p>leastnoise uses the noise with the smallest error among the kinds that it can prove. "
        f"{small}The last two columns compare this noise with Laplace and Gaussian noise, for the "
        "same budget and limits: 2 times means twice the standard deviation.</p>"
        + wide_table("errors", "", heads, rows)
    )


def _std(value: float | None) -> str:
    return "no bound" if value is None else _words.format_for_page(value)


def _times(other: float | None, std: float | None) -> str:
    if other is None or std is None:
        return "no bound" if std is None else "not possible"
    return f"{other / std:.2f} times" if std else "–"


_MOST_FINDINGS = 12


def report(
    folder: str | Path, *, ledger: str | Path | None = None, target: Path | None = None
) -> str:
    """The page about the release in `folder`. Raises like `verify_directory`.

    The page's links to the tables' files work if it is stored as `target`, or beside the folder if
    `target` is None.
    """
    release = verify_directory(folder, ledger=ledger)
    return page_of(release, _validate.path(folder, name="folder"), target)


def page_of(release: VerifiedRelease, folder: Path, target: Path | None = None) -> str:
    """The page about a verified release, to be stored as `target`."""
    spec, queries = release.spec, release.plan.by_query
    sections: list[TableSection] = []
    for query in queries:
        file = table_path(folder, query.name, spec.table_kind)
        columns = read_table(file, query.layouts)
        sections.append(TableSection.of(spec, query, columns, link=_link(file, target)))
    names = {query.name: names_of(query.layouts, spec) for query in queries}
    has_quantiles = bool(sentences_on(release.plan, Topic.VALUES))
    title, head = _header(spec.report or About(), _name(release, folder), has_quantiles)
    body = (
        f"<header>{head}</header><main><section><h2>Findings</h2>{_findings(sections)}</section>"
        f"<section><h2>The tables</h2>{''.join(map(TableSection.to_html, sections))}</section>"
        f"{charts_over_time(release, folder)}"
        f"<section>{protection(release, folder, names)}</section>{check_section(folder)}</main>"
    )
    return document(html(title), body)


def _name(release: VerifiedRelease, folder: Path) -> str:
    """A name for the release: of its folder, or of its series' folder with the release's number.

    The latter is used if the release's folder is named by its number in the series.
    """
    number, name = release.release_number, folder.name or str(folder)
    if number is None or name.lstrip("0") != str(number):
        return name
    return f"{folder.absolute().parent.name}, release {number:,} of {release.planned_releases:,}"


def _header(about: About, name: str, has_quantiles: bool) -> tuple[str, str]:  # noqa: FBT001
    """The title of the page as text, and its head as HTML."""
    title = about.title or name
    lines = [f"<h1>{html(title)}</h1>"]
    by = [text for text in (about.publisher, about.contact) if text is not None]
    if by:
        lines.append(f'<p class="by">{html(" · ".join(by))}</p>')
    paragraphs = (about.text or "").split("\n\n")
    lines += [f"<p>{html(paragraph)}</p>" for paragraph in paragraphs if paragraph.strip()]
    chosen = ", or the number was chosen partly by chance" if has_quantiles else ""
    lines.append(
        f"<p>Noise was added to every number{chosen}, to protect the people in the data. Brackets, "
        "whiskers and small print show an interval that contains the number without noise, with "
        "probability 95&nbsp;%.</p>"
    )
    return title, "".join(lines)


def _link(file: Path, target: Path | None) -> str:
    """A link to a table's file, from the page's own folder."""
    file = file.absolute()
    start = file.parents[1] if target is None else target.absolute().parent
    try:
        path = Path(os.path.relpath(file, start)).as_posix()
    except ValueError:  # a file on another drive has no relative path
        return html(file.name)
    return f'<a href="{quote(os.fsencode(path))}" download>{html(file.name)}</a>'


def _findings(sections: Sequence[TableSection]) -> str:
    sentences = [sentence for section in sections for sentence in section.findings()]
    more = len(sentences) - _MOST_FINDINGS
    shown = sentences[:_MOST_FINDINGS]
    return as_list([*shown, f"… and {more} more, in the tables below."] if more > 0 else shown)
