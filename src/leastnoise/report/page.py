"""A release as one page that anyone can read: HTML without scripts, and nothing from a network.

Everything on it is from the directory, verified again before: the spec, the plan, the certificate
and the tables.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leastnoise import _validate, _words
from leastnoise._words import html
from leastnoise.certificate.strict_json import parse_object
from leastnoise.guarantees.exact import decimal_text
from leastnoise.report import words
from leastnoise.report.bar_chart import Bar, bar_chart
from leastnoise.tables.plan.notes import SELECTED_NOTE, UNIT_NOTE
from leastnoise.tables.publish import output
from leastnoise.tables.publish.table_files import read_table
from leastnoise.tables.publish.verify import verify_directory
from leastnoise.tables.query import selection
from leastnoise.tables.query.axes import Bins, Unlisted
from leastnoise.tables.query.columns import statistics_of
from leastnoise.tables.query.layout import Layout
from leastnoise.tables.statistics.base import SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leastnoise.tables.publish.verify import VerifiedRelease
    from leastnoise.tables.query.ranks import Ranks
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.statistics.base import Asked

MOST_ROWS, MOST_BARS = 200, 40
"""Of a table on the page, and of a chart: the page stays short, and the files have all of it."""
_STYLE = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
_STAYS = (
    "That stays so whatever else is known or published later, and for whatever is computed from "
    "the tables."
)
_NO_PROMISES = (
    "It doesn't hide what holds for many: if the tables show that a habit is common, it is common.",
    "Releases add up: another one from the same rows costs more of the same budget.",
    "It says nothing of how the rows were gathered, or of what is kept elsewhere.",
)


def report(folder: str | Path, *, ledger: str | Path | None = None) -> str:
    """Return the page about the release in `folder`; raises what `verify_directory` does."""
    found = verify_directory(folder, ledger=ledger)
    return page_of(found, _validate.path(folder, name="folder"))


def page_of(found: VerifiedRelease, folder: Path) -> str:
    """Return the page about a release that was verified."""
    plan = parse_object(output.read_text(folder, output.PLAN))
    spec = found.spec
    kind = spec.output.format if spec.output else "parquet"
    unit = "row" if spec.privacy.by_row else spec.privacy.unit_label
    parts = {name: [one for one in found.layouts if one.name == name] for name in found.rows}
    tables = "".join(
        _block(own, plan, read_table(folder / f"{name}.{kind}", own)) for name, own in parts.items()
    )
    chosen = ", or is chosen by chance" if "quantiles" in plan else ""
    body = (
        f"<header><h1>{html(folder.name or str(folder))}</h1>"
        f"<p>Statistics with {html(words.guarantee(found.certificate.budget))}, made by "
        f"leastnoise. Every number has noise added to it{chosen}; how much is said beside it, and "
        "how far it protects, below.</p></header><main>"
        + _section("What was asked", _list([_asked(own) for own in parts.values()]))
        + _section("Who is protected", _protected(found, unit))
        + _section("The budget", _budget(found))
        + f"<section><h2>The tables</h2>{tables}</section>"
        + _section("What was cut off or left out", _clipped(spec, found.layouts))
        + (_section("Why this noise", _noise(plan["blocks"])) if plan["blocks"] else "")
        + _section(
            "What this promises",
            f"<p>{html(_promise(found, unit))} {_STAYS}</p>"
            "<h3>And what it doesn't</h3>" + _list(_NO_PROMISES),
        )
        + _section("Checked", _list(words.verified_release(found, folder)[1:]))
        + "</main>"
    )
    title = f"{folder.name}: a differentially private release"
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{html(title)}</title><style>{_STYLE}</style></head><body>{body}</body></html>\n"
    )


def _asked(parts: Sequence[Layout | Ranks]) -> str:
    """Return a table's statistics and its keys, in a sentence."""
    layout = parts[0]
    what = ", ".join(asked.label for asked in statistics_of(parts))
    if layout.conditions:
        return f"{layout.name}: {what} for each of {layout.cells:,} conditions."
    by = ", ".join(
        axis.column + (" (keys that nobody listed)" if isinstance(axis, Unlisted) else "")
        for axis in layout.axes
    )
    return f"{layout.name}: {what} by {by}." if by else f"{layout.name}: {what}."


def _protected(found: VerifiedRelease, unit: str) -> str:
    lines = [words.unit_of(found.spec.privacy) + " is protected: " + _meaning(found)]
    if not found.spec.privacy.by_row:
        lines += [f"In {layout.name}, each {unit} {layout.limits}." for layout in found.layouts]
    return _list(lines)


def _meaning(found: VerifiedRelease) -> str:
    budget = found.certificate.budget
    changed = "is there" if found.spec.privacy.neighbours == "add-remove" else "has other values"
    epsilon = float(budget.epsilon)
    times = f" ≈ {_words.at_least(math.exp(epsilon))}" if epsilon < 10 else ""
    besides = f", and by {decimal_text(budget.delta)} besides" if budget.delta else ""
    return (
        f"whether it {changed} or not changes the probability of anything that is published by a "
        f"factor of at most e^{decimal_text(budget.epsilon)}{times}{besides}."
    )


def _promise(found: VerifiedRelease, unit: str) -> str:
    epsilon = found.certificate.budget.epsilon
    if epsilon <= 1:
        return (
            f"Who sees these tables learns little about any one {unit}: nearly the same tables "
            "would have come out without it."
        )
    weak = " With so large an ε this is a weak promise." if epsilon > 4 else ""
    return (
        f"What any one {unit} changes in the chances of these tables is bounded by the factor "
        f"above, and no more is promised.{weak}"
    )


def _budget(found: VerifiedRelease) -> str:
    budget = found.certificate.budget
    epsilon, delta = decimal_text(budget.epsilon), decimal_text(budget.delta)
    proved = words.proved_delta(budget, found.delta)
    lines = [f"Promised: ε = {epsilon}, δ = {delta}. {proved}"]
    if found.account is not None:
        account, whole = found.account, found.account.budget
        lines.append(
            f"The account {account.dataset!r} has ε = {decimal_text(whole.epsilon)} and δ = "
            f"{decimal_text(whole.delta)} in all. Its {account.charges:,} charges up to now have "
            f"ε = {decimal_text(account.spent.epsilon)} and δ = "
            f"{decimal_text(account.spent.delta)} by plain sums."
        )
    lines.append(words.of_ledger(found))
    return _list(lines)


def _block(
    parts: Sequence[Layout | Ranks], plan: dict[str, Any], columns: dict[str, list[Any]]
) -> str:
    layout, statistics = parts[0], statistics_of(parts)
    records = [one for one in plan["blocks"] if one["name"] == layout.name]
    values = {f"{asked.label}{end}" for asked in statistics for end in asked.suffixes}
    keys = {name: found for name, found in columns.items() if name not in values}
    labels = [", ".join(map(_text, row)) for row in zip(*_grouped(layout, keys), strict=True)]
    noisy = [asked for asked in statistics if asked.suffixes == SUFFIXES]
    charts = "".join(_chart(layout.name, asked, labels, columns) for asked in noisy)
    heads = [*keys]
    for asked in statistics:
        heads += [asked.label, "95 % of the noise"] if asked in noisy else [asked.label]
    count = len(next(iter(columns.values())))
    shown = min(count, MOST_ROWS)
    rows = []
    for place in range(shown):
        cells = [f'<th scope="row">{html(_text(found[place]))}</th>' for found in keys.values()]
        for asked in statistics:
            value, *ends = (_number(columns[asked.label + s][place]) for s in asked.suffixes)
            cells.append(f"<td>{_short(value)}</td>")
            if asked in noisy:
                cells.append(f"<td>{_short(ends[1])} to {_short(ends[2])}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    more = count - shown
    note = f"<p>{more:,} more rows are in the table's file.</p>" if more else ""
    head = "".join(f'<th scope="col">{html(name)}</th>' for name in heads)
    noises = dict.fromkeys(one["noise"] for one in records)
    caption = f"{layout.name}: {_words.counted(count, 'row')}"
    caption += f", {' and '.join(noises)} noise" if noises else ""
    said = [_published(one["unlisted"]) for one in records if "unlisted" in one]
    said += [_ranks(one) for one in plan.get("quantiles", []) if one["name"] == layout.name]
    noisy_parts = [part for part in parts if isinstance(part, Layout)]
    said += dict.fromkeys(one for part in noisy_parts for one in selection.in_words(part))
    said += [SELECTED_NOTE] if any(part.decides for part in noisy_parts) else []
    said = [f"<p>{html(one)}</p>" for one in said]
    return (
        f"<article><h3>{html(layout.name)}</h3>{''.join(said)}{charts}"
        f'<div class="wide" tabindex="0" role="region" aria-label="{html(layout.name)}, table">'
        f"<table><caption>{html(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>{note}</article>"
    )


def _ranks(record: dict[str, Any]) -> str:
    """Return how quantiles were chosen, and how far off they are."""
    rows = [f"{one['statistic']} {one['rows_95']:,.3g}" for one in record["errors"]]
    return (
        f"No noise is added to a quantile: it is chosen by chance among {record['candidates']:,} "
        f"public candidates from {_short(record['least_candidate'])} to "
        f"{_short(record['largest_candidate'])}, those near the true rank most likely. With 95 % "
        f"it is off by at most so many rows of its group: {', '.join(rows)}. No interval of values "
        "exists."
    )


def _published(groups: dict[str, Any]) -> str:
    """Return which groups are on the page, and what follows for their counts."""
    chosen = groups["chosen"]
    return (
        f"Nobody listed these groups. None is here whose noisy count is below "
        f"{chosen['threshold']:.6g}: of groups of {chosen['half']:,} every second one reaches "
        f"it, of groups of {chosen['nearly']:,} 95 %. A group that isn't here may be small, or "
        "empty. Near the threshold a count that is here is biased upwards."
    )


def _grouped(layout: Layout | Ranks, keys: dict[str, list[Any]]) -> list[list[Any]]:
    """Return the columns of `keys`, the two ends of a band in one."""
    left = list(keys.values())
    found: list[list[Any]] = []
    for axis in layout.axes:
        column = left.pop(0)
        if isinstance(axis, Bins):
            upper = left.pop(0)
            column = [
                f"{_end(a, '−∞')} to {_end(b, '∞')}" for a, b in zip(column, upper, strict=True)
            ]
        found.append(column)
    return [*found, *left]


def _end(value: Any, infinite: str) -> str:
    number = _number(value)
    return f"{number:.6g}" if math.isfinite(number) else infinite


def _chart(table: str, asked: Asked, labels: Sequence[str], columns: dict[str, list[Any]]) -> str:
    bars = []
    for place, label in enumerate(labels[:MOST_BARS]):
        value, _, low, high = (_number(columns[asked.label + s][place]) for s in SUFFIXES)
        if all(map(math.isfinite, (value, low, high))):
            bars.append(Bar(label=label or asked.label, value=value, low=low, high=high))
    title = f"{asked.label} of {table}"
    if len(labels) > MOST_BARS:
        title += f", the first {MOST_BARS} of {len(labels):,}"
    chart = bar_chart(title, bars, unit=asked.label)
    return f"<figure>{chart}<figcaption>{html(title)}</figcaption></figure>" if chart else ""


def _clipped(spec: Spec, layouts: Sequence[Layout | Ranks]) -> str:
    lines = []
    for name, column in spec.columns.items():
        if column.bounds is not None:
            low, high = (f"{float(end):.6g}" for end in column.bounds)
            lines.append(f"A {name} below {low} counts as {low}, one above {high} as {high}.")
    lines += [one.in_words(name) for name, one in spec.data.join.items()]
    lines += [f"The column {name} is {text}." for name, text in spec.derive.items()]
    for layout in layouts:
        lines += [f"In {layout.name}, only rows where {text} count." for text in layout.filters]
        lines += [
            f"In {layout.name}, rows are left out where {axis.column} is {axis.dropped}."
            for axis in layout.axes
            if isinstance(axis, Bins) and axis.dropped
        ]
    lines = list(dict.fromkeys(lines))  # the parts of one query drop the same rows
    lines += dict.fromkeys(said for layout in layouts for said in layout.missing)
    if not spec.privacy.by_row:
        lines.append(UNIT_NOTE)
        lines.append("What anybody has beyond the limits above is made smaller, or not counted.")
    lines.append(
        "These limits are the spec's own, chosen without the rows. How much they cut off isn't "
        "known: it would tell of those who are cut off. Errors on this page, and 95 %, are of the "
        "noise alone."
    )
    return _list(lines)


def _noise(records: Sequence[dict[str, Any]]) -> str:
    rows = []
    for record in records:
        for error in record["errors"]:
            of = f" in groups of {error['rows']:,} values" if error["rows"] else ""
            own, *others = (
                error["std"], error["plain_laplace_std"], error["plain_gaussian_std"]
            )  # fmt: skip
            told = [f"<td>{_short(own)}</td>", *(f"<td>{_times(one, own)}</td>" for one in others)]
            name = html(f"{record['name']}, {error['statistic']}{of}")
            noise = html(record["noise"])
            rows.append(f'<tr><th scope="row">{name}</th><td>{noise}</td>{"".join(told)}</tr>')
    heads = ("statistic", "noise", "std of its error", "Laplace noise", "Gaussian noise")
    head = "".join(f'<th scope="col">{one}</th>' for one in heads)
    return (
        "<p>Of the kinds of noise that it can prove, leastnoise takes what errs least. Laplace and "
        "Gaussian noise for the same budget and limits would err as the last columns say.</p>"
        '<div class="wide" tabindex="0" role="region" aria-label="errors, table"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _times(other: float | None, own: float) -> str:
    if other is None:
        return "can't do it"
    return f"{_short(other)} ({other / own:.2f} times)"


def _section(title: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{content}</section>"


def _list(lines: Sequence[str]) -> str:
    """Return sentences as a list; no line ends within a number such as 1e-6."""
    items = (re.sub(r"(\d)e-(\d)", "\\1e\u2011\\2", html(line)) for line in lines)
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _short(value: float) -> str:
    """Return a number for people: as `_words.tenths`, with signs that a page has."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    return _words.tenths(value, digits=4, comma=",").replace("-", "−")
