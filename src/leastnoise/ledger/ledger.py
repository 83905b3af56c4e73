"""The ledger: budgets that are charged before noise is drawn, and never refunded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from leastnoise import _validate, _words
from leastnoise._notebooks import Framed, Shown
from leastnoise._record import Converter, field, record, takes
from leastnoise.certificate.plan import read_certificate
from leastnoise.errors import InvalidArgument, LedgerRejected, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text, printed_at_least
from leastnoise.guarantees.sensitivity import NEIGHBOURS
from leastnoise.ledger.account import (
    COSTS,
    SPENT,
    Account,
    Books,
    columns_of,
    cost_in,
    make_charge_entry,
    stamp,
)
from leastnoise.ledger.filters import RULES, SUMS, ZCDP, Certified, Cost
from leastnoise.ledger.preregistered import Preregistered, require_certificate, verify_once
from leastnoise.ledger.store import Entry, Store, matches

if TYPE_CHECKING:
    from leastnoise._notebooks import Columns

_LONGEST_NAME = 200


@final
@dataclass(frozen=True, kw_only=True)
class Charge:
    """One charge of a ledger: for a release, or for all releases of a plan.

    Attributes:
        number: Number of its entry in the ledger.
        dataset: Name of the account.
        rule: The filter by which it was charged: "sums" or "zcdp".
        cost: The cost.
    """

    number: int
    dataset: str
    rule: str
    cost: Cost

    def __repr__(self) -> str:
        cost = self.cost
        if self.rule == ZCDP:
            spent = f"ρ {_words.round_up(cost.rho)}"
        else:
            spent = f"ε {_words.round_up(cost.epsilon)} and δ {_words.round_up(cost.delta)}"
        return _words.line("Charge", f"entry {self.number}, {spent} by {self.rule}; {self.dataset}")


_A_PATH: Converter[str | Path, Path] = takes(_validate.path)


@final
@record(kw_only=False)
class Ledger(Framed, Shown):
    """The budgets in the file `path`, with one account for each dataset.

    Every release is charged before its output exists. So at any time all releases from a dataset
    together meet its budget, even if each was chosen after seeing the earlier ones. A crash can
    waste budget, but never spends more than the budget. Costs follow from certificates, in exact
    fractions and balls; they never depend on the data.

    As a frame it has one row for each charge, registered plan or series, oldest first. The columns
    are `number` (of the entry), `kind` ("charge", "plan" or "series"), `time` (UTC, ISO 8601),
    `dataset`, `label`, `rule` (the filter), `user` (of the operating system, or ""), and `epsilon`,
    `delta`, `rho` and `leak` (the cost, rounded up; see `Cost`).

    The ledger promises nothing once an older copy of the file is put back, on disks whose locks
    don't work (many network disks), or about releases that were not charged here.

    Methods raise InvalidInput if the file is missing, damaged or not a ledger, but `open_account`
    creates a missing file. They raise LedgerRejected if the file was edited, and Refused if other
    processes lock it for a minute. A malformed argument or a missing account raises
    InvalidArgument.

    Args:
        path: Path of the ledger's file. `open_account` creates it.

    Source:
        theory/release.md §7.

    Examples:
        >>> import tempfile
        >>> from leastnoise.guarantees.sensitivity import L2
        >>> from leastnoise.selection.public import calibrate
        >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "visits.ledger")
        >>> _ = ledger.open_account("visits", unit="person", budget=Budget(epsilon=1, delta="1e-6"))
        >>> noise = calibrate("gaussian", epsilon="0.1", delta="1e-7", sensitivity=L2(1))
        >>> charge = ledger.charge(noise.certificate, unit="person")
        >>> charge.rule, str(charge.cost.epsilon)
        ('zcdp', '1/10')
    """

    path: str | Path = field(converter=_A_PATH)

    def __repr__(self) -> str:
        return _words.line("Ledger", str(self.path))

    def _columns(self) -> Columns:
        bodies = {
            entry.number: entry.body for entry in self.history() if entry.body["kind"] in SPENT
        }
        texts = ("kind", "time", "dataset", "label", "rule")
        costs = [cost_in(body) for body in bodies.values()]
        return {
            "number": [*bodies],
            **{name: [body[name] for body in bodies.values()] for name in texts},
            "user": [body.get("user", "") for body in bodies.values()],
            **{name: [printed_at_least(getattr(cost, name)) for cost in costs] for name in COSTS},
        }

    def _tables(self) -> dict[str, Columns]:
        return {
            "Accounts": columns_of(self.accounts().values()),
            "Charges": self._columns(),
        }

    def open_account(
        self,
        dataset: str,
        *,
        unit: str,
        budget: Budget,
        neighbours: str = "add-remove",
        rule: str | None = None,
    ) -> Account:
        """Add an account. Creates the file if it doesn't exist.

        Args:
            dataset: Name of the account, at most 200 characters.
            unit: The unit that is protected, such as "person"; at most 200 characters.
            budget: Limit on all releases from the dataset together.
            neighbours: "add-remove" or "replace-one".
            rule: Filter for charges: "sums" or "zcdp". With None, the first charge chooses the
                filter that holds more charges like it.

        Returns:
            The new account.

        Raises:
            InvalidArgument: An argument is malformed, or `rule="zcdp"` with δ = 0.
            Refused: The dataset has an account already.

        """
        dataset = _validate.text(dataset, name="dataset", longest=_LONGEST_NAME)
        unit = _validate.text(unit, name="unit", longest=_LONGEST_NAME)
        neighbours = _validate.one_of(neighbours, NEIGHBOURS, name="neighbours")
        _validate.instance(budget, Budget, name="budget", like="a Budget")
        if rule is not None:
            rule = _validate.one_of(rule, RULES, name="rule")
        if rule == ZCDP and not budget.delta:
            raise InvalidArgument(name="rule", value=rule, expected="delta > 0 for that filter")
        store = self._store
        store.create()
        with store.appending() as (entries, log):
            if dataset in Books.of(entries).accounts:
                raise Refused(
                    f"The ledger {self.path} already has an account of {dataset!r}. Use that "
                    "account, or choose another name."
                )
            log.append(
                {
                    "kind": "account",
                    "dataset": dataset,
                    "unit": unit,
                    "neighbours": neighbours,
                    "epsilon": decimal_text(budget.epsilon),
                    "delta": decimal_text(budget.delta),
                    "rule": rule,
                    **stamp(),
                }
            )
        return Account(dataset=dataset, unit=unit, neighbours=neighbours, budget=budget, rule=rule)

    def accounts(self) -> dict[str, Account]:
        """All accounts, with their charges added up.

        Returns:
            The accounts by dataset.

        Raises:
            InvalidInput: The file is missing, damaged or not a ledger.
            LedgerRejected: The ledger was edited.

        """
        return Books.of(self._store.read()).accounts

    def history(self) -> list[Entry]:
        """All entries of the ledger.

        Returns:
            The entries, oldest first.

        Raises:
            InvalidInput: The file is missing, damaged or not a ledger.
            LedgerRejected: The ledger was edited.

        """
        entries = self._store.read()
        Books.of(entries)  # checks the form of each entry, and that it fits earlier entries
        return entries

    def afford(
        self,
        release: Certified,
        *,
        unit: str,
        neighbours: str = "add-remove",
        dataset: str | None = None,
    ) -> str:
        """Check that a release would fit now. Charges nothing.

        Args:
            release: Certificate of the release.
            unit: The unit that the release protects.
            neighbours: "add-remove" or "replace-one".
            dataset: Name of the account; may be left out if the ledger has only one.

        Returns:
            The filter by which the release would be charged: "sums" or "zcdp".

        Raises:
            OverBudget: The release does not fit.
            Refused: The account has another unit or other neighbours, or the sum of the costs has
                too many digits.

        """
        _check_texts(unit, neighbours, dataset)
        require_certificate(release)
        account = Books.of(self._store.read()).account(dataset)
        account.check_statement(release, unit=unit, neighbours=neighbours)
        return account.admit(Cost.of(release))

    def check_account(
        self,
        *,
        unit: str,
        neighbours: str = "add-remove",
        dataset: str | None = None,
        budget: Budget | None = None,
        plan: int | None = None,
    ) -> None:
        """Raise an error if no certificate can be charged with these arguments. Charges nothing.

        This needs no certificate, so that it can run before noise is searched for. It checks that
        the account exists and protects this unit, and that the `plan` exists. Without a plan and
        with the filter `sums`, it checks that the `budget` fits.

        Args:
            unit: The unit that the release protects.
            neighbours: "add-remove" or "replace-one".
            dataset: Name of the account; may be left out if the ledger has only one.
            budget: Budget of the release.
            plan: Number of the plan's entry, if the release is part of a registered plan.

        Raises:
            OverBudget: The budget does not fit.
            Refused: The account has another unit or other neighbours, or there is no such plan.

        """
        _check_texts(unit, neighbours, dataset)
        if budget is not None:
            _validate.instance(budget, Budget, name="budget", like="a Budget")
        account = Books.of(self._store.read()).account(dataset)
        account.check_persons(unit=unit, neighbours=neighbours)
        if plan is not None:
            self._plan(_validate.whole(plan, name="plan"))
        elif budget is not None and account.rule == SUMS:
            account.admit(Cost(epsilon=budget.epsilon, delta=budget.delta))

    def charge(
        self,
        release: Certified,
        *,
        unit: str,
        neighbours: str = "add-remove",
        dataset: str | None = None,
        label: str = "",
    ) -> Charge:
        """Charge one release.

        When this returns, the charge is on the disk and the noise may be drawn. There is no refund,
        and no second draw for one charge.

        Args:
            release: Certificate of the mechanism, or of several queries together.
            unit: The unit that the release protects.
            neighbours: "add-remove" or "replace-one".
            dataset: Name of the account; may be left out if the ledger has only one.
            label: Description of the release for people.

        Returns:
            The charge, with its cost and the number of its entry.

        Raises:
            OverBudget: The release does not fit; nothing was charged.
            Refused: The account has another unit or other neighbours, or the cost has too many
                digits; nothing was charged.
            CertificateRejected: The certificate doesn't hold; nothing was charged.

        """
        _check_texts(unit, neighbours, dataset, label)
        verify_once(require_certificate(release))  # before the lock, because a proof may take long
        cost, text = Cost.of(release), release.to_json()
        read_certificate(text)  # a certificate that can't be read back could never be checked
        with self._store.appending() as (entries, log):
            account = Books.of(entries).account(dataset)
            account.check_statement(release, unit=unit, neighbours=neighbours)
            rule = account.admit(cost)
            body = make_charge_entry("charge", account, rule, cost) | {"label": label}
            number = log.append(body, certificate=text)
        return Charge(number=number, dataset=account.dataset, rule=rule, cost=cost)

    def register(
        self,
        releases: Sequence[tuple[Certified, int]],
        *,
        budget: Budget,
        unit: str,
        neighbours: str = "add-remove",
        dataset: str | None = None,
        label: str = "",
    ) -> Charge:
        """Charge a plan: releases that are fixed now, and recorded with `use` when they are made.

        The releases compose tightly. They may be made in any order and at any time. With the filter
        zcdp the plan costs the sums of its releases' ρ and δ'.

        Args:
            releases: Pairs of a certificate and the number of times that it may be used.
            budget: Budget that all the releases together meet, by proof.
            unit: The unit that the releases protect.
            neighbours: "add-remove" or "replace-one".
            dataset: Name of the account; may be left out if the ledger has only one.
            label: Description of the plan for people.

        Returns:
            The charge; its `number` is the `plan` of `use`.

        Raises:
            NotCertified: The releases are not proved to meet `budget` together.
            OverBudget: The plan does not fit; nothing was charged.
            Refused: The account has another unit or other neighbours, or the cost has too many
                digits; nothing was charged.
            CertificateRejected: A certificate doesn't hold; nothing was charged.
        """
        _check_texts(unit, neighbours, dataset, label)
        like = "pairs of a certificate and a count"
        listed = _validate.items(releases, name="releases", like=like)
        plan = Preregistered(budget=budget, releases=listed)
        plan.prove()
        text = plan.to_json()
        Preregistered.from_json(text)  # checked, since `use` must be able to read it
        with self._store.appending() as (entries, log):
            account = Books.of(entries).account(dataset)
            for release, _ in plan.releases:
                account.check_statement(release, unit=unit, neighbours=neighbours)
            rule = account.admit(plan.cost)
            body = make_charge_entry("plan", account, rule, plan.cost) | {"label": label}
            number = log.append(body, certificate=text)
        return Charge(number=number, dataset=account.dataset, rule=rule, cost=plan.cost)

    def use(
        self,
        release: Certified,
        *,
        plan: int,
        unit: str,
        neighbours: str = "add-remove",
        dataset: str | None = None,
        label: str = "",
    ) -> int:
        """Record that one release of a registered plan is made; the plan was charged before.

        Args:
            release: Certificate of the release, which must be part of the plan.
            plan: Number of the plan's entry.
            unit: The unit that the release protects.
            neighbours: "add-remove" or "replace-one".
            dataset: Name of the account; may be left out if the ledger has only one.
            label: Description of the release for people.

        Returns:
            The number of the new entry.

        Raises:
            Refused: There is no such plan for this account, the plan has no such release, or the
                release was made as often as planned. Also if the account has another unit or other
                neighbours.

        """
        _check_texts(unit, neighbours, dataset, label)
        plan = _validate.whole(plan, name="plan")
        require_certificate(release)
        planned = self._plan(plan)
        index = planned.index_of(release)
        if index is None:
            raise Refused(
                f"Plan {plan} of the ledger has no release with this certificate. Nothing was "
                "drawn."
            )
        with self._store.appending() as (entries, log):
            books = Books.of(entries)
            account = books.account(dataset)
            account.check_statement(release, unit=unit, neighbours=neighbours)
            if books.plans.get(plan) != account.dataset:
                raise Refused(
                    f"Plan {plan} of the ledger is for another dataset than {account.dataset!r}."
                )
            count = planned.releases[index][1]
            if books.uses.get((plan, index), 0) >= count:
                raise Refused(
                    f"Plan {plan} of the ledger allows {_words.count_noun(count, 'release')} with "
                    "this certificate, and none is left. Nothing was drawn."
                )
            return log.append(
                {
                    "kind": "use",
                    "dataset": account.dataset,
                    "plan": plan,
                    "release": index,
                    "label": label,
                    **stamp(),
                }
            )

    def _plan(self, number: int) -> Preregistered:
        entries = self._store.read()
        if not 1 <= number <= len(entries) or entries[number - 1].body.get("kind") != "plan":
            raise Refused(
                f"The ledger {self.path} has no plan with the number {number}. Give the number of "
                "the plan's entry."
            )
        text = self._store.certificate(number)
        if not matches(entries[number - 1], text):
            raise LedgerRejected(f"The certificate of entry {number} was edited.")
        return Preregistered.from_json(text)

    @property
    def _store(self) -> Store:
        return Store(path=Path(self.path))


def _check_texts(unit: object, neighbours: object, dataset: object, label: object = "") -> None:
    """Raise InvalidArgument unless each argument is a text; `dataset` may be None."""
    texts = {"unit": unit, "neighbours": neighbours, "label": label}
    for name, value in (texts if dataset is None else {**texts, "dataset": dataset}).items():
        _validate.text(value, name=name)
