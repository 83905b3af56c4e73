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
    signed,
    spending,
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
    """What a ledger holds of one release: its entry's number, and what it cost by `rule`."""

    number: int
    dataset: str
    rule: str
    cost: Cost

    def __repr__(self) -> str:
        cost = self.cost
        if self.rule == ZCDP:
            said = f"ρ {_words.round_up(cost.rho)}"
        else:
            said = f"ε {_words.round_up(cost.epsilon)} and δ {_words.round_up(cost.delta)}"
        return _words.line("Charge", f"entry {self.number}, {said} by {self.rule}; {self.dataset}")


_A_PATH: Converter[str | Path, Path] = takes(_validate.path)


@final
@record(kw_only=False)
class Ledger(Framed, Shown):
    """The budgets in the file `path`, one account for each dataset.

    At every instant each release that was seen has been charged, so that all that is seen of a
    dataset together meets its budget, even if each release was chosen after seeing the earlier ones
    (theory/release.md §7). A crash can lose budget, never privacy. Costs are read from certificates
    and decided in exact fractions and balls: nothing depends on the data.

    As a frame it has a row a charge, registered plan or series, oldest first, with the columns
    `number` (of the entry), `kind` ("charge", "plan" or "series"), `time` (UTC, ISO 8601),
    `dataset`, `label`, `rule` (the filter), `user` (of the operating system, or ""), and `epsilon`,
    `delta`, `rho` and `leak` (what it cost, rounded up; see `Cost`).

    Not promised: anything once an older copy of the file is put back, on disks whose locks don't
    work (many network disks), or about releases that were not charged here.

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
        bodies = {one.number: one.body for one in self.history() if one.body["kind"] in SPENT}
        texts = ("kind", "time", "dataset", "label", "rule")
        costs = [cost_in(body) for body in bodies.values()]
        return {
            "number": [*bodies],
            **{name: [body[name] for body in bodies.values()] for name in texts},
            "user": [body.get("user", "") for body in bodies.values()],
            **{name: [printed_at_least(getattr(one, name)) for one in costs] for name in COSTS},
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
        """Add an account, and make the file if there is none.

        `rule` is the filter that charges pass, "sums" or "zcdp"; without one the first charge
        chooses the filter that holds more charges like it. Raises InvalidArgument for bad values,
        Refused if the dataset has an account.
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
                raise Refused(f"The ledger {self.path} has an account of {dataset!r} already.")
            log.append(
                {
                    "kind": "account",
                    "dataset": dataset,
                    "unit": unit,
                    "neighbours": neighbours,
                    "epsilon": decimal_text(budget.epsilon),
                    "delta": decimal_text(budget.delta),
                    "rule": rule,
                    **signed(),
                }
            )
        return Account(dataset=dataset, unit=unit, neighbours=neighbours, budget=budget, rule=rule)

    def accounts(self) -> dict[str, Account]:
        """Return all accounts by dataset; raises InvalidInput or LedgerRejected."""
        return Books.of(self._store.read()).accounts

    def history(self) -> list[Entry]:
        """Return all entries, oldest first; raises like `accounts`."""
        entries = self._store.read()
        Books.of(entries)  # each has the form of an entry, and fits those before it
        return entries

    def afford(
        self,
        release: Certified,
        *,
        unit: str,
        neighbours: str = "add-remove",
        dataset: str | None = None,
    ) -> str:
        """Return the filter by which `release` would fit now; charges nothing.

        Raises what `charge` would.
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
        """Raise what `charge` or `use` would whatever the certificate; charges nothing.

        That is known before any noise is searched for: that there is such an account, or such a
        `plan`, and by the filter `sums` that the `budget` of the release fits.
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
        """Charge one release; when this returns it is on the disk, and its noise may be drawn.

        `release` is a certificate, or that of several queries; `label` says for people what it was.
        There is no refund, and no second draw for one charge. Raises OverBudget if it doesn't fit,
        Refused for another unit or neighbours than the account's, CertificateRejected if the
        certificate doesn't hold; then nothing was charged.
        """
        _check_texts(unit, neighbours, dataset, label)
        verify_once(require_certificate(release))  # may take long, and needs no lock
        cost, text = Cost.of(release), release.to_json()
        read_certificate(text)  # what can't be read again could never be checked
        with self._store.appending() as (entries, log):
            account = Books.of(entries).account(dataset)
            account.check_statement(release, unit=unit, neighbours=neighbours)
            rule = account.admit(cost)
            body = spending("charge", account, rule, cost) | {"label": label}
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
        """Charge `budget` for releases that are fixed now: pairs of a certificate and a count.

        They compose tightly, and may then be made with `use`, in any order and at any time. By the
        zcdp filter they cost what their Σρ does. Raises NotCertified if they aren't proved to meet
        `budget` together, and what `charge` does.
        """
        _check_texts(unit, neighbours, dataset, label)
        like = "pairs of a certificate and a count"
        listed = _validate.items(releases, name="releases", like=like)
        plan = Preregistered(budget=budget, releases=listed)
        plan.prove()
        text = plan.to_json()
        Preregistered.from_json(text)  # as `use` will
        with self._store.appending() as (entries, log):
            account = Books.of(entries).account(dataset)
            for release, _ in plan.releases:
                account.check_statement(release, unit=unit, neighbours=neighbours)
            rule = account.admit(plan.cost)
            body = spending("plan", account, rule, plan.cost) | {"label": label}
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
        """Make one of the releases of the plan that is entry `plan`; it is charged already.

        Returns the entry's number. Raises Refused if the plan has no such release, or it was made
        as often as planned.
        """
        _check_texts(unit, neighbours, dataset, label)
        plan = _validate.whole(plan, name="plan")
        require_certificate(release)
        planned = self._plan(plan)
        index = planned.index_of(release)
        if index is None:
            raise Refused(f"The plan {plan} has no release like this one. Nothing was drawn.")
        with self._store.appending() as (entries, log):
            books = Books.of(entries)
            account = books.account(dataset)
            account.check_statement(release, unit=unit, neighbours=neighbours)
            if books.plans.get(plan) != account.dataset:
                raise Refused(f"The plan {plan} is not one for {account.dataset!r}.")
            count = planned.releases[index][1]
            if books.uses.get((plan, index), 0) >= count:
                raise Refused(
                    f"The plan {plan} has this release {count} times, and all were made. "
                    "Nothing was drawn."
                )
            return log.append(
                {
                    "kind": "use",
                    "dataset": account.dataset,
                    "plan": plan,
                    "release": index,
                    "label": label,
                    **signed(),
                }
            )

    def _plan(self, number: int) -> Preregistered:
        entries = self._store.read()
        if not 1 <= number <= len(entries) or entries[number - 1].body.get("kind") != "plan":
            raise Refused(f"The ledger {self.path} has no plan {number}.")
        text = self._store.certificate(number)
        if not matches(entries[number - 1], text):
            raise LedgerRejected(f"Entry {number}: its certificate was edited.")
        return Preregistered.from_json(text)

    @property
    def _store(self) -> Store:
        return Store(path=Path(self.path))


def _check_texts(unit: object, neighbours: object, dataset: object, label: object = "") -> None:
    """Raise InvalidArgument unless each is a text; a dataset may be left out."""
    texts = {"unit": unit, "neighbours": neighbours, "label": label}
    for name, value in (texts if dataset is None else {**texts, "dataset": dataset}).items():
        _validate.text(value, name=name)
