"""Prove a whole ledger again from its certificates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from leastnoise import _validate, _words
from leastnoise._notebooks import Framed, Shown
from leastnoise.certificate.plan import PlanCertificate, read_certificate
from leastnoise.errors import InvalidInput, LedgerRejected, Refused
from leastnoise.ledger.account import DIGEST, SPENT, Account, Books, columns_of, cost_in
from leastnoise.ledger.filters import Certified, Cost, fits
from leastnoise.ledger.preregistered import Preregistered
from leastnoise.ledger.series import releases_of, rows_of
from leastnoise.ledger.store import Entry, Store, matches

if TYPE_CHECKING:
    from leastnoise._notebooks import Columns


@final
@dataclass(frozen=True, kw_only=True)
class CheckedLedger(Framed, Shown):
    """A ledger in which every certificate was proved and every account is within its budget.

    As a frame it has one row per account, with the columns `dataset`, `unit`, `neighbours`,
    `epsilon` and `delta` (the budget), `rule` (the filter), `charges`, and `epsilon_spent`,
    `delta_spent`, `rho_spent` and `leak_spent` (see `Cost`; rounded up). The rule `sums` uses the
    first two of these sums, `zcdp` the last two.

    Attributes:
        accounts: The accounts by dataset.
        entries: Number of entries in the ledger.

    """

    accounts: dict[str, Account]
    entries: int

    def __repr__(self) -> str:
        accounts = _words.count_noun(len(self.accounts), "account")
        entries = _words.count_noun(self.entries, "entry", "entries")
        return _words.line("CheckedLedger", f"{accounts} within budget, {entries}, all proved")

    def _columns(self) -> Columns:
        return columns_of(self.accounts.values())

    def _tables(self) -> dict[str, Columns]:
        return {"": self._columns()}


def check_ledger(
    path: str | Path, *, progress: Callable[[str], object] | None = None
) -> CheckedLedger:
    """Prove every certificate in the ledger, and derive every cost, filter and sum again.

    This doesn't detect that an older copy of the file was put back, or that the whole file was
    written anew by someone who computed its hashes.

    Args:
        path: Path of the ledger.
        progress: Function that is called with a text for each charge, plan and series.

    Returns:
        The accounts of the ledger, all within their budgets.

    Raises:
        InvalidInput: The file is missing, damaged or not a ledger.
        LedgerRejected: The ledger was edited, an entry's certificate doesn't hold, its cost isn't
            the cost of its certificate, its certificate or filter doesn't suit the account, a plan
            or series was used more often than planned, or an account is overdrawn.
        Refused: Other processes lock the file for a minute.

    Source:
        theory/release.md §7.

    """
    report = _validate.listener(progress)
    store = Store(path=_validate.path(path, name="path"))
    store.check_pages()
    entries = store.read()
    accounts = Books.of(entries).accounts
    spending = [entry for entry in entries if entry.body["kind"] in SPENT]
    proved: dict[str, Certified | Preregistered] = {}
    plans: dict[int, Certified | Preregistered] = {}
    texts = store.certificates([entry.number for entry in spending])
    for entry, (_, text) in zip(spending, texts, strict=True):
        if report:
            report(f"Proving entry {entry.number}")
        if not matches(entry, text):
            raise LedgerRejected(f"The certificate of entry {entry.number} was edited.")
        if text not in proved:
            proved[text] = _prove_certificate(entry, text)
        stated = proved[text]
        cost = stated.cost if isinstance(stated, Preregistered) else Cost.of(stated)
        if cost != cost_in(entry.body):
            raise LedgerRejected(
                f"The cost in entry {entry.number} is not the cost of the entry's certificate."
            )
        _check_neighbours(entry, stated, accounts[entry.body["dataset"]])
        plans[entry.number] = stated
    _check_sums(entries)
    _check_uses(entries, plans)
    return CheckedLedger(accounts=accounts, entries=len(entries))


@final
@dataclass(frozen=True, kw_only=True)
class Place:
    """A release's place in a series: it is number `release` of `releases`.

    `report` is the rule that assigns rows to releases. With running totals, `first` is the number
    of the first release of its tree, and `digest` the release's digest.
    """

    release: int
    releases: int
    report: str
    first: int | None = None
    digest: str | None = None


def charged_account(
    path: str | Path, number: int, release: PlanCertificate, *, position: Place | None = None
) -> Account:
    """The account that the ledger's entry `number` charged for `release`.

    For a release of a series, `position` is its place. Then `number` is the entry of this release,
    not the entry that charged the series. The whole ledger is checked first. Raises like
    `check_ledger`, and LedgerRejected if the entry is about another release.
    """
    checked = check_ledger(path)
    store = Store(path=_validate.path(path, name="path"))
    entries = store.read()
    entry = entries[number - 1] if 1 <= number <= len(entries) else None
    if entry is None or not (
        _is_about(entry, release, store)
        if position is None
        else _is_at(entry, release, entries, position)
    ):
        raise LedgerRejected(f"Entry {number} of {path} is not the charge of this release.")
    return checked.accounts[entry.body["dataset"]]


def _is_at(entry: Entry, release: PlanCertificate, entries: list[Entry], position: Place) -> bool:
    """True if `entry` records the release at `position` of the series that `release` charged."""
    body = entry.body
    if body["kind"] != "use" or body["release"] != position.release:
        return False
    series = entries[body["plan"] - 1]
    restarts = [
        before.body["release"] + 1
        for before in entries[: entry.number]
        if before.body["kind"] == "restart" and before.body["plan"] == series.number
    ]
    first = restarts[-1] if restarts else 1
    return (
        series.body["kind"] == "series"
        and matches(series, release.to_json())
        and body.get(DIGEST) == position.digest
        and rows_of(series.body, release) == (position.releases, position.report)
        and position.first in {None, first}
    )


def _is_about(entry: Entry, release: PlanCertificate, store: Store) -> bool:
    if entry.body["kind"] == "charge":
        return matches(entry, release.to_json())
    if entry.body["kind"] != "use":
        return False
    plan = Preregistered.from_json(store.certificate(entry.body["plan"]))
    return plan.index_of(release) == entry.body["release"]


def _prove_certificate(entry: Entry, text: str) -> Certified | Preregistered:
    try:
        if entry.body["kind"] == "plan":
            plan = Preregistered.from_json(text)
            plan.prove()
            return plan
        release = read_certificate(text)
        release.verify()
    except (InvalidInput, Refused) as error:
        raise LedgerRejected(f"Entry {entry.number}: {error}") from error
    return release


def _check_neighbours(entry: Entry, stated: Certified | Preregistered, account: Account) -> None:
    """Raise LedgerRejected if a certificate of `entry` states other neighbours than `account`."""
    planned = isinstance(stated, Preregistered)
    releases = [release for release, _ in stated.releases] if planned else [stated]
    try:
        for release in releases:
            account.check_statement(release, unit=account.unit, neighbours=account.neighbours)
    except Refused:
        raise LedgerRejected(
            f"The certificate of entry {entry.number} holds for other neighbours than "
            f"{account.neighbours}, which the account of {account.dataset!r} states."
        ) from None


def _check_sums(entries: list[Entry]) -> None:
    """Raise LedgerRejected unless the filters admit every charge again, in order."""
    books = Books()
    for entry in entries:
        body = entry.body
        if body["kind"] in SPENT:
            account, cost = books.account(body["dataset"]), cost_in(body)
            if account.rule_for(cost) != body["rule"]:
                raise LedgerRejected(
                    f"Entry {entry.number} has another rule for adding up charges (filter) than "
                    "the account's first charge."
                )
            if not fits(account.spent + cost, account.budget, body["rule"]):
                raise LedgerRejected(f"Entry {entry.number} overdraws {account.dataset!r}.")
        books.enter(entry)


def _check_uses(entries: list[Entry], plans: dict[int, Certified | Preregistered]) -> None:
    for (number, index), count in Books.of(entries).uses.items():
        plan = plans[number]
        if isinstance(plan, Preregistered):
            is_planned = 0 <= index < len(plan.releases) and count <= plan.releases[index][1]
        else:
            body = entries[number - 1].body
            series = releases_of(body, plan) if isinstance(plan, PlanCertificate) else 0
            is_planned = 1 <= index <= series and count == 1
        if not is_planned:
            raise LedgerRejected(
                f"The ledger has a release that entry {number} of the ledger doesn't allow."
            )
