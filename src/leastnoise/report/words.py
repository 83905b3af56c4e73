"""Sentences about proofs for people who don't know differential privacy's symbols.

The module also formats the numbers of a page.
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

_WHOLE = 10**15  # from this size on, floats are whole numbers
_MOST_DIGITS = 12  # digits after the point


def as_float(value: Any) -> float:
    """A published value as a float; NaN if it isn't a number."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def beside_noise(value: float, low: float, high: float, *, whole: bool) -> tuple[str, str, str]:
    """Format a value and the ends of its interval, with no more digits than the noise justifies.

    The digits after the point show two digits of half the interval's width, and the ends are
    rounded outward. With `whole` there are no digits after the point. If a number is very large, or
    the width is tiny, infinite or 0, each number is formatted by itself.

    >>> beside_noise(3.00412, 1.0249, 4.6116, whole=False)
    ('3.0', '1.0', '4.7')
    >>> beside_noise(394.2, 359.9, 428.4, whole=True)
    ('394', '359', '429')
    """
    half = (high - low) / 2
    if not (math.isfinite(half) and 0 < half < _WHOLE and abs(value) < _WHOLE):
        return (
            _words.format_for_page(value),
            _words.format_for_page(low),
            _words.format_for_page(high),
        )
    digits = max(0, 1 - math.floor(math.log10(half)))
    if digits > _MOST_DIGITS:
        return (
            _words.format_for_page(value),
            _words.format_for_page(low),
            _words.format_for_page(high),
        )
    unit = 10.0 ** (0 if whole else digits)
    ends = round(value * unit) / unit, math.floor(low * unit) / unit, math.ceil(high * unit) / unit
    text = [f"{end:,.{0 if whole else digits}f}".replace("-", "−") for end in ends]
    return text[0], text[1], text[2]


def as_list(lines: Sequence[str]) -> str:
    """Sentences as an HTML list; no line ends within a number such as 1e-6."""
    items = (re.sub(r"(\d)e-(\d)", "\\1e\u2011\\2", html(line)) for line in lines)
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def wide_table(name: str, caption: str, heads: Sequence[str], rows: Sequence[str]) -> str:
    """An HTML table that scrolls in a frame; `rows` are HTML, the other arguments are text."""
    head = "".join(f'<th scope="col">{html(name)}</th>' for name in heads)
    caption_html = f"<caption>{html(caption)}</caption>" if caption else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{html(name)}, table"><table>'
        f"{caption_html}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


_NORMS = {"l1": "sum of the sizes", "l2": "length", "integer": "size"}

_CHECKED = "Keys, columns and stated errors agree with the spec and the certificate."
_FOUND = " Bounds that the release found itself follow from the published tables."
_SAME = "Each file has the checksum (SHA-256) that release.json states."
_UNCHECKED = (
    "Nobody can check that the published values were drawn from this noise, or that the source "
    "had the rows that it should have."
)


def guarantee(budget: Budget) -> str:
    """Format the guarantee by its name, with ε and δ.

    >>> from leastnoise.guarantees.budget import Budget
    >>> guarantee(Budget(epsilon=1, delta="1e-6")), guarantee(Budget(epsilon="0.5"))
    ('(1, 1e-6)-differential privacy', '0.5-differential privacy')
    """
    epsilon, delta = decimal_text(budget.epsilon), decimal_text(budget.delta)
    inside = f"({epsilon}, {delta})" if budget.delta else epsilon
    return f"{inside}-differential privacy"


def proved_delta(budget: Budget, delta: Interval) -> str:
    """A sentence with the proved bound on δ at the budget's ε."""
    return _state_proof(budget, delta, at=f" at ε = {decimal_text(budget.epsilon)}")


def _state_proof(budget: Budget, delta: Interval, *, at: str = "") -> str:
    if not budget.delta:
        return f"Proved: δ = 0{at}."
    better = " (better than promised)" if 2 * Fraction(delta.upper) <= budget.delta else ""
    most = f"≤ {_words.round_up(delta.upper)}" if delta.upper else "= 0"
    return f"Proved: δ {most}{at}{better}."


def promise(budget: Budget, delta: Interval) -> str:
    """Two sentences: the promised budget, and the proved bound.

    >>> from leastnoise.guarantees.budget import Budget
    >>> from leastnoise.guarantees.exact import Interval
    >>> promise(Budget(epsilon=1, delta="1e-6"), Interval(lower=0, upper=5e-7))
    'Promised: ε = 1, δ = 1e-6. Proved: δ ≤ 5e-7 (better than promised).'
    """
    epsilon, most = decimal_text(budget.epsilon), decimal_text(budget.delta)
    return f"Promised: ε = {epsilon}, δ = {most}. {_state_proof(budget, delta)}"


def verified_release(release: VerifiedRelease, folder: Path) -> list[str]:
    """Sentences about the checks of a release, its rows, and facts that nobody can check."""
    privacy, budget = release.spec.privacy, release.certificate.budget
    tables = _words.join_names(
        [f"{name} ({_words.count_noun(rows, 'row')})" for name, rows in release.rows.items()]
    )
    protected = _words.describe_protection(privacy.neighbours, release.spec.protected)
    checked = " ".join([_CHECKED, *sentences_on(release.plan, Topic.CHECKED)])
    checked += _FOUND if release.plan.finds_bounds else ""
    return [
        f"Verified {folder}.",
        *_of_series(release),
        f"{promise(budget, release.delta)} {protected}",
        *summary.rho_sentences(release.plan),
        f"Table{'s' * (len(release.rows) > 1)}: {tables}. {checked} {_SAME}{_other_files(release)}",
        *summary.describe_rows(release.plan),
        of_ledger(release),
        _of_signature(release),
        _UNCHECKED,
    ]


_ADD_UP = (
    "All releases have the same certificate and plan. Each running total is exactly the previous "
    "total plus the count, and each release has the digest of the previous one."
)
_RESTARTED = "The series was restarted: totals begin anew with release {number:,}."


def verified_series(releases: Sequence[VerifiedRelease], folder: Path) -> list[str]:
    """Sentences about the checks of all releases of a series with running totals."""
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


def _of_series(release: VerifiedRelease) -> list[str]:
    """Sentences with the release's number and the scope of the proof; empty without a series."""
    if release.release_number is None:
        return []
    releases = release.planned_releases
    which = _words.name_release(release.release_number, releases)
    return [
        f"This is {which}. Promise and proof cover all {releases:,} releases together.",
        *summary.series_sentences(release.plan),
    ]


def _other_files(release: VerifiedRelease) -> str:
    if not release.other_files:
        return ""
    return f" Other files, not checked: {_words.list_names(release.other_files)}."


def of_ledger(release: VerifiedRelease) -> str:
    """A sentence about the ledger's entry for a release."""
    if release.entry is None:
        return "No budget ledger was used for this release."
    if release.account is None:
        return (
            f"Ledger: not checked. The release is charged in entry {release.entry} of a ledger. "
            "Check the entry with --ledger FILE."
        )
    return (
        f"Ledger: entry {release.entry} of the account {release.account.dataset!r} is "
        f"{_entry(release)} with this certificate. The entry doesn't show if it was made for "
        "another release with the same certificate."
    )


def _entry(release: VerifiedRelease) -> str:
    if release.release_number is None:
        return "a charge for a release"
    return f"{_words.name_release(release.release_number, release.planned_releases)} of a series"


def _of_signature(release: VerifiedRelease) -> str:
    if release.signed:
        return "Signature: by the owner of this key. No file was changed since."
    if release.signed is None:
        return "Signature: not checked. Check it by the owner's public key, with --key FILE."
    return (
        "Signature: none. Without a signature, someone with access to the folder could change a "
        "table and its SHA-256 together. The command leastnoise release --sign KEY signs a "
        "release."
    )


def verified_certificate(certificate: Certificate | PlanCertificate, delta: Interval) -> list[str]:
    """Sentences that state a certificate's guarantee, and its proved δ."""
    budget = certificate.budget
    proved = proved_delta(budget, delta)
    if isinstance(certificate, PlanCertificate):
        names = ", ".join(name for name, _ in certificate.draws)
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
    """A phrase that names the protected persons, and the change that one of them can cause."""
    how = {
        None: "everyone who changes the true values",
        "add-remove": "everyone whose presence or absence changes the true values",
        "replace-one": "everyone whose other values would change the true values",
    }[neighbours]
    if not isinstance(sensitivity, L1 | L2 | Integer):
        return f"{how} as {sensitivity!r} allows"
    bound = decimal_text(sensitivity.bound)
    return f"{how} by at most {bound} ({_NORMS[sensitivity.kind]} of the changes)"
