"""What was proved, in sentences for people who don't know differential privacy's symbols.

The numbers of a page are here, too, as people read them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leastnoise import _words
from leastnoise._words import html
from leastnoise.certificate.plan import PlanCertificate
from leastnoise.guarantees.exact import decimal_text
from leastnoise.guarantees.sensitivity import L1, L2, Integer
from leastnoise.tables.answers.base import Topic
from leastnoise.tables.plan import summary
from leastnoise.tables.plan.summary import sentences_on

if TYPE_CHECKING:
    from pathlib import Path

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.exact import Interval
    from leastnoise.guarantees.sensitivity import Neighbours, Sensitivity
    from leastnoise.tables.publish.verify import VerifiedRelease

_WHOLE = 10**15  # from here on floats tell no units apart
_MOST_DIGITS = 12  # after the point


def as_float(value: Any) -> float:
    """Return a published value as a float, NaN for what is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def beside_noise(value: float, low: float, high: float, *, whole: bool) -> tuple[str, str, str]:
    """Return a value and the ends of its interval with no more digits than the noise leaves.

    Two of half the interval, which is rounded outward, and of what is `whole` none after the point.

    >>> beside_noise(3.00412, 1.0249, 4.6116, whole=False)
    ('3.0', '1.0', '4.7')
    >>> beside_noise(394.2, 359.9, 428.4, whole=True)
    ('394', '359', '429')
    """
    half = (high - low) / 2
    if not (math.isfinite(half) and 0 < half < _WHOLE and abs(value) < _WHOLE):
        return _words.shown(value), _words.shown(low), _words.shown(high)
    digits = max(0, 1 - math.floor(math.log10(half)))
    if digits > _MOST_DIGITS:
        return _words.shown(value), _words.shown(low), _words.shown(high)
    unit = 10.0 ** (0 if whole else digits)
    ends = round(value * unit) / unit, math.floor(low * unit) / unit, math.ceil(high * unit) / unit
    told = [f"{end:,.{0 if whole else digits}f}".replace("-", "−") for end in ends]
    return told[0], told[1], told[2]


def as_list(lines: Sequence[str]) -> str:
    """Return sentences as a list; no line ends within a number such as 1e-6."""
    items = (re.sub(r"(\d)e-(\d)", "\\1e\u2011\\2", html(line)) for line in lines)
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def wide_table(name: str, caption: str, heads: Sequence[str], rows: Sequence[str]) -> str:
    """Return a table that scrolls by itself; `rows` are HTML, all else is text."""
    head = "".join(f'<th scope="col">{html(one)}</th>' for one in heads)
    told = f"<caption>{html(caption)}</caption>" if caption else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{html(name)}, table"><table>'
        f"{told}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


_NORMS = {"l1": "sum of the sizes", "l2": "length", "integer": "size"}

_CHECKED = "Their keys, columns and stated errors are those of the spec and its noise."
_FOUND = " Bounds that were found follow from the tables that say so."
_SAME = "Each file has the SHA-256 that release.json states."
_UNCHECKED = (
    "Not checked, since nobody can: that the published values were drawn from this noise, and that "
    "the source was what it says."
)


def guarantee(budget: Budget) -> str:
    """Return the guarantee's name.

    >>> from leastnoise.guarantees.budget import Budget
    >>> guarantee(Budget(epsilon=1, delta="1e-6")), guarantee(Budget(epsilon="0.5"))
    ('(1, 1e-6)-differential privacy', '0.5-differential privacy')
    """
    epsilon, delta = decimal_text(budget.epsilon), decimal_text(budget.delta)
    inside = f"({epsilon}, {delta})" if budget.delta else epsilon
    return f"{inside}-differential privacy"


def proved_delta(budget: Budget, delta: Interval) -> str:
    """Return the proved bound of δ at the budget's ε, in a sentence."""
    return _proved(budget, delta, at=f" at ε = {decimal_text(budget.epsilon)}")


def _proved(budget: Budget, delta: Interval, *, at: str = "") -> str:
    if not budget.delta:
        return f"Proved: δ = 0{at}."
    better = " (better than promised)" if 2 * Fraction(delta.upper) <= budget.delta else ""
    most = f"≤ {_words.at_least(delta.upper)}" if delta.upper else "= 0"
    return f"Proved: δ {most}{at}{better}."


def promise(budget: Budget, delta: Interval) -> str:
    """Return what was promised and what is proved, in two sentences.

    >>> from leastnoise.guarantees.budget import Budget
    >>> from leastnoise.guarantees.exact import Interval
    >>> promise(Budget(epsilon=1, delta="1e-6"), Interval(lower=0, upper=5e-7))
    'Promised: ε = 1, δ = 1e-6. Proved: δ ≤ 5e-7 (better than promised).'
    """
    epsilon, most = decimal_text(budget.epsilon), decimal_text(budget.delta)
    return f"Promised: ε = {epsilon}, δ = {most}. {_proved(budget, delta)}"


def verified_release(found: VerifiedRelease, folder: Path) -> list[str]:
    """Return in sentences what was checked, what the numbers are of, and what nobody can check."""
    privacy, budget = found.spec.privacy, found.certificate.budget
    tables = ", ".join(
        f"{name} ({_words.counted(rows, 'row')})" for name, rows in found.rows.items()
    )
    protected = _words.protected(privacy.neighbours, found.spec.protected)
    checked = " ".join([_CHECKED, *sentences_on(found.plan, Topic.CHECKED)])
    checked += _FOUND if found.plan.finds_bounds else ""
    return [
        f"Verified {folder}.",
        *_of_series(found),
        f"{promise(budget, found.delta)} {protected}",
        f"Tables: {tables}. {checked} {_SAME}{_beside(found)}",
        *summary.describe_rows(found.plan),
        of_ledger(found),
        _of_signature(found),
        _UNCHECKED,
    ]


_ADD_UP = (
    "All have one certificate and one plan. Each running total is the total before plus the count, "
    "exactly, and each release has the digest of the release before."
)
_RESTARTED = "The series was restarted: totals begin anew with release {number:,}."


def verified_series(releases: Sequence[VerifiedRelease], folder: Path) -> list[str]:
    """What was checked of all releases of a series with running totals, in sentences."""
    last = releases[-1]
    numbers = [release.release_number or 0 for release in releases]
    restarts = [n for n, release in zip(numbers, releases, strict=True) if _begins_tree(release)]
    of = f"releases {numbers[0]:,} to {numbers[-1]:,} of {last.planned_releases:,}"
    missing = sorted({*range(1, numbers[-1] + 1)} - {*numbers})
    sentences = [f"Verified {folder}: {of}.", _ADD_UP]
    sentences += [_RESTARTED.format(number=number) for number in restarts[1:]]
    sentences += [f"Release {number:,} is missing: its numbers were lost." for number in missing]
    budget = last.certificate.budget
    sentences += summary.series_sentences(last.plan)
    return [*sentences, promise(budget, last.delta), of_ledger(last), _UNCHECKED]


def _begins_tree(release: VerifiedRelease) -> bool:
    return release.link is not None and release.link.first == release.release_number


def _of_series(found: VerifiedRelease) -> list[str]:
    """Return which release of a series it is, and that what is proved is of all of them."""
    if found.release_number is None:
        return []
    releases = found.planned_releases
    which = _words.one_of(found.release_number, releases)
    return [
        f"It is {which}. What is promised and proved is of all {releases:,} together.",
        *summary.series_sentences(found.plan),
    ]


def _beside(found: VerifiedRelease) -> str:
    if not found.other_files:
        return ""
    return f" Not of the release, and not checked: {_words.listed(found.other_files)}."


def of_ledger(found: VerifiedRelease) -> str:
    """Return which entry of a ledger is about such a release, if any."""
    if found.entry is None:
        return "No budget ledger was used for this release."
    if found.account is None:
        return f"Ledger: not checked. It was entry {found.entry}; check it with --ledger FILE."
    return (
        f"Ledger: entry {found.entry} of the account {found.account.dataset!r} is {_entry(found)} "
        "with this certificate. That it wasn't another one can't be seen from it."
    )


def _entry(found: VerifiedRelease) -> str:
    if found.release_number is None:
        return "a charge for a release"
    return f"{_words.one_of(found.release_number, found.planned_releases)} of a series"


def _of_signature(found: VerifiedRelease) -> str:
    if found.signed:
        return "Signature: by the owner of this key. No file was changed since."
    said = "none" if found.signed is False else "there is one, not checked (--key FILE)"
    return (
        f"Signature: {said}. Whoever can write to the folder can have changed a table and its "
        "SHA-256 together. leastnoise release --sign KEY signs one."
    )


def verified_certificate(certificate: Certificate | PlanCertificate, delta: Interval) -> list[str]:
    """Return the statement of one certificate and its proved δ, in sentences."""
    budget = certificate.budget
    proved = proved_delta(budget, delta)
    if isinstance(certificate, PlanCertificate):
        names = ", ".join(name for name, _ in certificate.blocks)
        times = "" if certificate.releases == 1 else f", made {certificate.releases:,} times,"
        return [f"Together the releases {names}{times} have {guarantee(budget)}. {proved}"]
    return [_of_one(certificate), proved]


def _of_one(certificate: Certificate) -> str:
    noise = certificate.noise
    times = "" if certificate.compositions == 1 else f", used {certificate.compositions:,} times,"
    rate = certificate.sampling_rate
    of = "" if rate == 1 else f" on samples at the rate {decimal_text(rate)}"
    whom = _moves(certificate.sensitivity, certificate.neighbours)
    numbers = "one number" if certificate.dimension == 1 else f"{certificate.dimension:,} numbers"
    return (
        f"{noise.name} noise of scale {float(noise.scale):.6g} on {numbers}{times}{of} has "
        f"{guarantee(certificate.budget)} for {whom}."
    )


def _moves(sensitivity: Sensitivity, neighbours: Neighbours | None) -> str:
    """Return whom it is for, by what one of them can change."""
    how = {
        None: "whoever changes the true values",
        "add-remove": "whoever, by being there or not, changes the true values",
        "replace-one": "whoever, by having other values, changes the true values",
    }[neighbours]
    if not isinstance(sensitivity, L1 | L2 | Integer):
        return f"{how} as {sensitivity!r} says"
    bound = decimal_text(sensitivity.bound)
    return f"{how} by at most {bound} ({_NORMS[sensitivity.kind]} of the changes)"
