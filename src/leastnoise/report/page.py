"""A release as one page that anyone can read: HTML that loads nothing from a network.

Everything on it is from the directory, verified again before: the spec, the plan, the certificate
and the tables. What was found comes first, and how it is protected last, folded: for the
data-protection officer, and whoever asks why. Its one script checks the proof of the release when
the reader asks for it: check_page.py.
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
from leastnoise.report.table_section import TableSection, names_of
from leastnoise.report.words import as_list, wide_table
from leastnoise.tables.answers.base import Topic
from leastnoise.tables.plan.summary import (
    describe_counts,
    limits_of_persons,
    limits_of_values,
    rows_in_no_group,
    sentences_on,
    series_sentences,
)
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.tables.results.table_files import read_table
from leastnoise.tables.spec.model import About

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.exact import Interval
    from leastnoise.tables.answers.noisy import NoisyPart
    from leastnoise.tables.publish.verify import VerifiedRelease
    from leastnoise.tables.spec.model import Privacy, Spec

_STAYS = (
    "That stays so whatever else is known or published later, and for whatever is computed from "
    "the tables."
)
_NO_PROMISES = (
    "It doesn't hide what holds for many: if the tables show that a habit is common, it is common.",
    "Releases add up: another one from the same rows costs more of the same budget.",
    "It says nothing of how the rows were gathered, or of what is kept elsewhere.",
)
_HOPELESS = 100  # an ε beyond which no factor means anything


def protection(found: VerifiedRelease, folder: Path, names: Mapping[str, Mapping[str, str]]) -> str:
    """Return the folded part of the page.

    `names` says what a page calls the statistics of a table.
    """
    budget, privacy = found.certificate.budget, found.spec.privacy
    first = [surest_guess(budget, found.delta, privacy, found.spec.protected), *_promised(found)]
    return (
        "<details><summary>About this protection</summary>"
        f"<p>{html(first[0])}</p>{as_list(first[1:])}"
        f"<p>{html(_promise(budget, found.spec.protected))} {_STAYS}</p>"
        f"<h3>What it doesn't promise</h3>{as_list(_NO_PROMISES)}"
        f"<h3>What was limited or left out</h3>{as_list(_limited(found))}"
        f"<h3>Why this noise</h3>{_noise(found.plan.blocks, names)}"
        f"<h3>What was checked</h3>{as_list(words.verified_release(found, folder)[1:])}"
        "</details>"
    )


def surest_guess(budget: Budget, delta: Interval, privacy: Privacy, protected: str) -> str:
    """Return how far a guess about one person can be trusted, in a sentence that is proved.

    Who thinks either as likely, and sees the release, guesses right with probability
    (e^ε + δ)/(1 + e^ε) at most; at δ = 0 nobody is surer than that of anything that is seen.
    """
    best = _percent(most_right(budget.epsilon, delta))
    who = f"that any one {protected} is in the data"
    if privacy.neighbours == "replace-one":
        who = f"which of two things the rows of any one {protected} say"
    if not delta.upper:
        return f"Whoever was 50 % sure {who} is at most {best} sure afterwards."
    return f"Whoever was 50 % sure {who} guesses right in at most {best} of cases afterwards."


def most_right(epsilon: Fraction, delta: Interval) -> Fraction:
    """Return an upper bound of 1 − (1 − δ)/(1 + e^ε), which no test of two neighbours can pass."""
    if epsilon > _HOPELESS:
        return Fraction(1)
    with precision():
        upper = 1 - (1 - ball(Fraction(delta.upper))) / (1 + ball(epsilon).exp())
    return min(Fraction(float_above(upper)), Fraction(1))


def _percent(share: Fraction) -> str:
    """Return a share of 1 in tenths of a per cent, rounded up."""
    return f"{math.ceil(1000 * share) / 10:g} %"


def _promised(found: VerifiedRelease) -> list[str]:
    budget, privacy = found.certificate.budget, found.spec.privacy
    lines = [
        _words.protected(privacy.neighbours, found.spec.protected),
        f"{_whole(found)} {words.guarantee(budget)}. {words.promise(budget, found.delta)}",
        _factor(budget, found.spec),
        *series_sentences(found.plan),
    ]
    if found.account is not None:
        account, whole = found.account, found.account.budget
        lines.append(
            f"The account {account.dataset!r} has ε = {decimal_text(whole.epsilon)} and δ = "
            f"{decimal_text(whole.delta)} in all. Its {account.charges:,} charges up to now have "
            f"ε = {decimal_text(account.spent.epsilon)} and δ = "
            f"{decimal_text(account.spent.delta)} by plain sums."
        )
    return [*lines, words.of_ledger(found)]


def _whole(found: VerifiedRelease) -> str:
    if found.release_number is None:
        return "The whole release has"
    releases = found.planned_releases
    which = _words.one_of(found.release_number, releases)
    return f"This is {which}. All {releases:,} of them together have"


def _factor(budget: Budget, spec: Spec) -> str:
    """Return by what factor one person changes how likely any result is, rounded up."""
    times = f"e^{decimal_text(budget.epsilon)}"
    if budget.epsilon <= _HOPELESS:
        with precision():
            upper = float_above(ball(budget.epsilon).exp())
        times = _words.at_least(upper, digits=3)
    otherwise = "without"
    if spec.privacy.neighbours == "replace-one":
        otherwise = "with other values in their place"
    but = f", but for a probability of {decimal_text(budget.delta)}" if budget.delta else ""
    return (
        f"Any result is at most {times} times as likely with the rows of any one {spec.protected} "
        f"as {otherwise}{but}."
    )


def _promise(budget: Budget, person: str) -> str:
    if budget.epsilon <= 1:
        return (
            f"Who sees these tables learns little about any one {person}: nearly the same tables "
            "would have come out without it."
        )
    weak = " With so large an ε this is a weak promise." if budget.epsilon > 4 else ""
    return (
        f"What any one {person} changes in the chances of these tables is bounded by the factor "
        f"above, and no more is promised.{weak}"
    )


def _limited(found: VerifiedRelease) -> list[str]:
    spec, layouts = found.spec, found.layouts
    person = spec.privacy.person

    def called(column: str) -> str:
        return spec.labels.get(column, column)

    lines = [] if spec.privacy.by_row else limits_of_persons(layouts, person)
    lines += limits_of_values(spec, layouts)
    lines += spec.data.join_sentences
    lines += rows_in_no_group(spec, layouts)
    lines += [f"The column {name} is {text}." for name, text in spec.derive.items()]
    for layout in layouts:
        lines += [f"In {layout.name}, only rows where {text} count." for text in layout.filters]
        lines += [
            f"In {layout.name}, rows are left out where {called(axis.column)} is {axis.dropped}."
            for axis in layout.axes
            if axis.dropped
        ]
    lines += [said for layout in layouts for said in layout.missing]
    if not spec.privacy.by_row:
        lines.append(f"Rows that name no {person} are left out.")
        lines.append("What anybody has beyond the limits above is made smaller, or not counted.")
    unknown = "How much they cut off isn't known: it would tell of those who are cut off."
    lines.append(
        "These limits were chosen without the rows. "
        f"{' '.join(describe_counts(layouts)) or unknown} "
        "Errors on this page, and 95 %, are of the noise alone."
    )
    return list(dict.fromkeys(lines))  # the parts of one query say the same


def _noise(blocks: Sequence[NoisyPart], names: Mapping[str, Mapping[str, str]]) -> str:
    rows: list[str] = []
    for block in blocks:
        for error in block.errors:
            of = f" in groups of {error.rows:,} values" if error.rows else ""
            stds = (error.std, error.plain_laplace_std, error.plain_gaussian_std)
            std, *others = (None if one == math.inf else one for one in stds)
            cells = [f"<td>{_std(std)}</td>", *(f"<td>{_times(one, std)}</td>" for one in others)]
            if block.has_unlike_rows:
                of = ", root mean square"
            name = html(f"{block.name}, {names[block.name][error.statistic]}{of}")
            noise = html(block.chosen_by)
            rows.append(f'<tr><th scope="row">{name}</th><td>{noise}</td>{"".join(cells)}</tr>')
    heads = ("statistic", "noise", "standard deviation", "Laplace errs", "Gaussian errs")
    return (
        "<p>Of the kinds of noise that it can prove, leastnoise takes what errs least. The last "
        "columns say how many times as much plain noise would err, for the same budget and "
        "limits.</p>" + wide_table("errors", "", heads, rows)
    )


def _std(value: float | None) -> str:
    return "no bound" if value is None else _words.shown(value)


def _times(other: float | None, own: float | None) -> str:
    if other is None or own is None:
        return "no bound" if own is None else "can't do it"
    return f"{other / own:.2f} times" if own else "–"


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
    spec, queries = found.spec, found.plan.by_query
    kind = spec.output.format if spec.output else "parquet"
    files = [folder / f"{query.name}.{kind}" for query in queries]
    sections = [
        TableSection.of(spec, query, read_table(file, query.layouts), link=_link(file, target))
        for query, file in zip(queries, files, strict=True)
    ]
    names = {query.name: names_of(query.layouts, spec) for query in queries}
    chosen = bool(sentences_on(found.plan, Topic.VALUES))
    title, head = _header(spec.report or About(), folder, chosen=chosen)
    body = (
        f"<header>{head}</header><main><section><h2>Findings</h2>{_findings(sections)}</section>"
        f"<section><h2>The tables</h2>{''.join(one.to_html() for one in sections)}</section>"
        f"<section>{protection(found, folder, names)}</section>{check_section(folder)}</main>"
    )
    return document(html(title), body)


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
