"""Accounts: the entries of one dataset, added up by the account's filter."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, final

from leastnoise import _validate, _words
from leastnoise._notebooks import Shown
from leastnoise.errors import (
    InvalidArgument,
    InvalidInput,
    LedgerRejected,
    OverBudget,
    Refused,
)
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text, exact, printed_at_least
from leastnoise.guarantees.sensitivity import NEIGHBOURS
from leastnoise.ledger.filters import (
    RULES,
    SUMS,
    ZCDP,
    Certified,
    Cost,
    Remaining,
    choose_rule,
    count_fitting,
    fits,
)
from leastnoise.ledger.preregistered import claims_of, require_certificate
from leastnoise.ledger.store import Entry

if TYPE_CHECKING:
    from fractions import Fraction

    from leastnoise._notebooks import Columns

COSTS = ("epsilon", "delta", "rho", "leak")
_SPENDING = ("rule", "time", "label", *COSTS)
_FIELDS = {
    "account": ("unit", "neighbours", "epsilon", "delta", "rule", "time"),
    "charge": _SPENDING,
    "plan": _SPENDING,
    "series": ("series", *_SPENDING),
    "use": ("plan", "release", "label", "time"),
    "restart": ("plan", "release", "label", "time", "state"),
}
"""The fields of an entry by its kind, besides its dataset.

`plan`, `release` and the optional `releases` are whole numbers, all others are texts; the `rule` of
an account may be null. In a use of a plan, `release` is the index of a release in the plan, from 0;
several uses may have the same index. In a use of a series, it is the number of the release, from 1.
In a restart, it is the number of the last release before it.
"""
SPENT = ("charge", "plan", "series")
_WHOLES = ("plan", "release", "releases")
STATE, DIGEST = "state", "digest"
_OPTIONAL = {"user", "releases", "report", STATE, DIGEST}


@final
@dataclass(frozen=True, kw_only=True)
class Account(Shown):
    """The account of one dataset, for one unit and neighbour relation.

    Attributes:
        dataset: Name of the dataset.
        unit: The unit that is protected, such as "person".
        neighbours: "add-remove" or "replace-one".
        budget: Limit on all charges together.
        rule: The filter: "sums", "zcdp", or None until the first charge chooses it.
        spent: Cost of all charges, and of all plans and series, whether used or not.
        charges: Number of charges, plans and series.
        last: Cost of the last charge, plan or series; None before the first.

    """

    dataset: str
    unit: str
    neighbours: str
    budget: Budget
    rule: str | None = None
    spent: Cost = field(default_factory=Cost)
    charges: int = 0
    last: Cost | None = None

    def __repr__(self) -> str:
        spent, budget = self.spent, self.budget
        if self.rule == ZCDP:
            total = f"ρ {_words.round_up(spent.rho)} spent"
        else:
            total = f"ε {_words.round_up(spent.epsilon)} and δ {_words.round_up(spent.delta)}"
            total += " spent"
        most = _words.format_guarantee(budget.epsilon, budget.delta)
        charges = _words.count_noun(self.charges, "charge")
        return _words.line("Account", f"{total} of {most} by {charges}; {self.dataset}")

    def _tables(self) -> dict[str, Columns]:
        return {"": columns_of([self])}

    @property
    def remaining(self) -> Remaining:
        """The rest of the budget by the account's filter, or the whole budget without a filter."""
        return Remaining.of(self.budget, self.spent, self.rule)

    def more_like(self, release: Certified | Cost) -> int:
        """The number of further releases of the same cost that the ledger admits.

        The account's filter decides; before a filter is chosen, the filter that such a charge would
        choose. A result above 0 was tried and fits. If it is below 10¹², one release more was tried
        and doesn't fit. It isn't checked that the release protects the account's unit, or that its
        proof holds.

        Args:
            release: A certificate, or a cost such as `last`.

        Returns:
            The number of releases, at most 10¹².

        Raises:
            InvalidArgument: `release` is neither a certificate nor a cost.

        Examples:
            >>> from leastnoise.guarantees.sensitivity import L1
            >>> from leastnoise.selection.public import calibrate
            >>> account = Account(
            ...     dataset="visits", unit="row", neighbours="add-remove", budget=Budget(epsilon=1)
            ... )
            >>> noise = calibrate("laplace", epsilon="0.3", sensitivity=L1(1))
            >>> account.more_like(noise.certificate)
            3
        """
        cost = release if isinstance(release, Cost) else Cost.of(require_certificate(release))
        return count_fitting(cost, self.budget, self.rule_for(cost), spent=self.spent)

    def rule_for(self, cost: Cost) -> str:
        """The filter for one more charge.

        Args:
            cost: Cost of that charge; it determines the filter of an account without one.

        Returns:
            "sums" or "zcdp".

        """
        return self.rule or choose_rule(cost, self.budget)

    def admit(self, cost: Cost) -> str:
        """Decide by which filter one more charge fits.

        Args:
            cost: Cost of the charge.

        Returns:
            The filter: "sums" or "zcdp".

        Raises:
            OverBudget: The charge does not fit.
            Refused: The sum has more digits than a ledger stores.

        """
        rule, spent = self.rule_for(cost), self.spent + cost
        if not _is_short(spent):
            raise Refused(
                "With this cost, the sum of the charges has more digits than a ledger stores. "
                "Round the budget, and the importance of each query. Nothing was charged or drawn."
            )
        if not fits(spent, self.budget, rule):
            raise OverBudget(dataset=self.dataset, rule=rule, why=self._needs(cost, rule))
        return rule

    def _needs(self, cost: Cost, rule: str) -> str:
        if rule == SUMS:
            left = (self.budget.epsilon - self.spent.epsilon, self.budget.delta - self.spent.delta)
            return (
                f"it has epsilon={decimal_text(left[0])} and delta={decimal_text(left[1])} left, "
                f"the release needs {decimal_text(cost.epsilon)} and {decimal_text(cost.delta)}."
            )
        return (
            f"by the zcdp filter rho={float(self.spent.rho):.6g} and delta="
            f"{float(self.spent.leak):.6g} are spent, and the release adds {float(cost.rho):.6g} "
            f"and {float(cost.leak):.6g}: more than epsilon={decimal_text(self.budget.epsilon)} "
            f"and delta={decimal_text(self.budget.delta)} allow."
        )

    def check_statement(self, release: Certified, *, unit: str, neighbours: str) -> None:
        """Check that a certificate is about this account's unit and neighbours.

        If the sensitivity of a certificate states its neighbours, they must be the account's.

        Args:
            release: Certificate of the release.
            unit: The unit that the release protects.
            neighbours: "add-remove" or "replace-one".

        Raises:
            InvalidArgument: `unit` or `neighbours` is no text.
            Refused: The release is about another unit or other neighbours.

        """
        self.check_persons(unit=unit, neighbours=neighbours)
        for claim in claims_of(release):
            if claim.neighbours not in {None, neighbours}:
                raise Refused(
                    f"The certificate is for {claim.neighbours} neighbours, but the account of "
                    f"{self.dataset!r} is for {neighbours} neighbours. Nothing was charged or "
                    "drawn."
                )

    def check_persons(self, *, unit: str, neighbours: str) -> None:
        """Check that a release is about this account's unit and neighbours.

        Args:
            unit: The unit that the release protects.
            neighbours: "add-remove" or "replace-one".

        Raises:
            InvalidArgument: An argument is no text.
            Refused: The account is about another unit or other neighbours.

        """
        for name, value, wanted in (
            ("unit", unit, self.unit),
            ("neighbours", neighbours, self.neighbours),
        ):
            if not isinstance(value, str):
                raise InvalidArgument(
                    name=name, value=type(value).__name__, expected=f"a text such as {wanted!r}"
                )
            if value != wanted:
                raise Refused(
                    f"The account of {self.dataset!r} has {name}={wanted!r}, but the release has "
                    f"{name}={value!r}. Nothing was charged or drawn. Change the spec, or charge "
                    "another account."
                )


@final
@dataclass(kw_only=True)
class ReleaseChain:
    """The end of a series with running totals, according to the ledger's entries.

    `tag` is the tag that the state file must have. `entry` is the number of the last release's
    entry, `digest` the digest of that release, and `before` the digest of the previous release.
    `restarts` has the numbers of the first releases after restarts.
    """

    tag: str
    entry: int = 0
    digest: str = ""
    before: str = ""
    restarts: list[int] = field(default_factory=list)


@final
@dataclass(kw_only=True)
class Books:
    """All accounts of a ledger by dataset, and the plans and series that were charged.

    `plans` maps the entry number of each plan and series to its dataset. `series` maps the dataset
    and name of a series to its entry number. `uses` counts the uses of each release, by the entry
    number of its plan or series and its own index or number. `chains` has the `ReleaseChain` of
    each series with running totals, by the entry number of the series.
    """

    accounts: dict[str, Account] = field(default_factory=dict)
    plans: dict[int, str] = field(default_factory=dict)
    series: dict[tuple[str, str], int] = field(default_factory=dict)
    uses: dict[tuple[int, int], int] = field(default_factory=dict)
    chains: dict[int, ReleaseChain] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Books:
        """The books of all accounts, computed from `entries`.

        Raises InvalidInput if an entry is malformed, LedgerRejected if it contradicts earlier
        entries.
        """
        books = cls()
        for entry in entries:
            books.enter(entry)
        return books

    def enter(self, entry: Entry) -> None:
        """Add one more entry to the books. Raises like `of`."""
        _check_form(entry)
        try:
            self._enter(entry.number, entry.body)
        except (KeyError, TypeError, ValueError, ArithmeticError):
            raise LedgerRejected(
                f"Entry {entry.number} of the ledger is unreadable. Put back a good copy of the "
                "ledger that has all charges."
            ) from None

    def published(self, number: int) -> int:
        """The number of published releases of the series with entry `number`."""
        return sum(count for (plan, _), count in self.uses.items() if plan == number)

    def account(self, dataset: str | None) -> Account:
        """The account of `dataset`; with None, the only account.

        Raises InvalidArgument if it is missing, and for None unless there is exactly one.
        """
        if dataset is None and len(self.accounts) == 1:
            return next(iter(self.accounts.values()))
        if dataset not in self.accounts:
            raise InvalidArgument(
                name="dataset",
                value=dataset,
                expected=f"one of {', '.join(map(repr, self.accounts)) or 'none'}",
            )
        return self.accounts[dataset]

    def _enter(self, number: int, body: dict[str, Any]) -> None:
        kind, dataset = body["kind"], body["dataset"]
        if kind == "account":
            if dataset in self.accounts:
                raise LedgerRejected(
                    f"Entry {number} opens an account for a dataset that has one already."
                )
            _validate.one_of(body["neighbours"], NEIGHBOURS, name="neighbours")
            if body["rule"] is not None:
                _validate.one_of(body["rule"], RULES, name="rule")
            self.accounts[dataset] = Account(
                dataset=dataset,
                unit=body["unit"],
                neighbours=body["neighbours"],
                budget=Budget(epsilon=body["epsilon"], delta=body["delta"]),
                rule=body["rule"],
            )
        elif kind in SPENT:
            self._spend(number, body)
        elif kind == "use" and self.plans[body["plan"]] == dataset:
            key = (body["plan"], body["release"])
            self.uses[key] = self.uses.get(key, 0) + 1
            if STATE in body:
                chain = self.chains[body["plan"]]
                chain.tag, chain.entry = body[STATE], number
                chain.before, chain.digest = chain.digest, body[DIGEST]
        elif kind == "restart" and self.plans[body["plan"]] == dataset:
            chain = self.chains[body["plan"]]
            chain.tag = body[STATE]
            chain.restarts.append(body["release"] + 1)
        else:
            raise LedgerRejected(f"Entry {number} has an unknown kind, or belongs to another plan.")

    def _spend(self, number: int, body: dict[str, Any]) -> None:
        before = self.accounts[body["dataset"]]
        if body["rule"] not in RULES or before.rule not in {None, body["rule"]}:
            raise LedgerRejected(
                f"Entry {number} has another rule for adding up charges (filter) than its account."
            )
        cost = cost_in(body)
        spent = before.spent + cost
        if not _is_short(spent):
            raise LedgerRejected(
                f"With entry {number}, the sum of the account's charges has too many digits."
            )
        self.accounts[before.dataset] = replace(
            before,
            rule=body["rule"],
            spent=spent,
            charges=before.charges + 1,
            last=cost,
        )
        if body["kind"] != "charge":
            self.plans[number] = before.dataset
        if body["kind"] == "series":
            key = (before.dataset, body["series"])
            if key in self.series:
                raise LedgerRejected(f"Entry {number} charges a series that was charged before.")
            self.series[key] = number
            if STATE in body:
                self.chains[number] = ReleaseChain(tag=body[STATE])


def _check_form(entry: Entry) -> None:
    """Raise InvalidInput unless the entry has the fields of its kind, each of its type.

    So code that shows or adds up entries has to handle only texts and short numbers.
    """
    kind = entry.body.get("kind")
    fields = _FIELDS.get(kind, ()) if isinstance(kind, str) else ()
    fields += tuple(_OPTIONAL & entry.body.keys())
    for name in ("kind", "dataset", *fields):
        value = entry.body.get(name)
        if value is None and (kind, name) == ("account", "rule"):
            continue
        if type(value) is not (int if name in _WHOLES else str) or not _is_number(name, value):
            raise InvalidInput(
                f"Entry {entry.number} of the ledger is unreadable, because its field {name} is "
                "missing or malformed. Put back a good copy of the ledger that has all charges."
            )


def _is_number(name: str, value: Any) -> bool:
    """True if `value` is a readable cost, or if the field `name` isn't a cost."""
    try:
        return name not in COSTS or exact(value, name=name) is not None
    except InvalidArgument:
        return False


def _is_short(cost: Cost) -> bool:
    """True if a cost has few enough digits to be stored; exact sums may get long denominators."""
    values: tuple[Fraction, ...] = tuple(getattr(cost, name) for name in COSTS)
    most_bits = 10_000  # of the numerator and of the denominator: 3,000 digits
    return all(
        max(value.numerator.bit_length(), value.denominator.bit_length()) <= most_bits
        for value in values
    )


def columns_of(accounts: Iterable[Account]) -> Columns:
    """A table as columns, with one row per account: see `CheckedLedger`."""
    rows = [*accounts]
    return {
        "dataset": [account.dataset for account in rows],
        "unit": [account.unit for account in rows],
        "neighbours": [account.neighbours for account in rows],
        "epsilon": [float(account.budget.epsilon) for account in rows],
        "delta": [float(account.budget.delta) for account in rows],
        "rule": [account.rule for account in rows],
        "charges": [account.charges for account in rows],
        **{
            f"{name}_spent": [printed_at_least(getattr(account.spent, name)) for account in rows]
            for name in COSTS
        },
    }


def cost_in(body: dict[str, Any]) -> Cost:
    """The cost that an entry states. Raises InvalidArgument for a negative number."""
    values = {name: exact(body[name], name=name) for name in COSTS}
    for name, value in values.items():
        if value < 0:
            raise InvalidArgument(name=name, value=decimal_text(value), expected=f"{name} >= 0")
    return Cost(**values)


def make_charge_entry(kind: str, account: Account, rule: str, cost: Cost) -> dict[str, Any]:
    """The fields of an entry with a cost. Raises Refused if a reader would reject them."""
    record = record_of_cost(cost)
    try:
        cost_in(record)
    except ValueError:
        raise Refused(
            "The cost of this charge has more digits than a ledger stores. Round the budget, "
            "and the importance of each query. Nothing was charged or drawn."
        ) from None
    named = {"kind": kind, "dataset": account.dataset, "rule": rule}
    return named | record | stamp()


def stamp() -> dict[str, str]:
    """The time of an entry, and the user who made it. Both only inform people and prove nothing."""
    return {"time": datetime.now(UTC).isoformat(timespec="seconds"), "user": _user()}


def _user() -> str:
    """The operating system's name for the user; "" if it knows no name."""
    try:
        import pwd  # noqa: PLC0415  # of Unix alone

        name = pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        try:
            name = getpass.getuser()
        except (ImportError, KeyError, OSError):
            return ""
    return os.fsencode(name).decode("utf-8", "replace")


def record_of_cost(cost: Cost) -> dict[str, str]:
    """`cost` as exact JSON values."""
    return {name: decimal_text(getattr(cost, name)) for name in COSTS}
