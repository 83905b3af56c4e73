"""Accounts: the entries of a dataset, added up by the account's filter."""

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
    better_for,
    fits,
    holds,
)
from leastnoise.ledger.preregistered import blocks_of, require_certificate
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
"""What an entry of each kind has, beside its dataset: texts, but for the two whole numbers.

The `release` of a use is its place among those of its plan, from 0 on, each of which may be made
several times; of a series it is which one it was, from 1 on.
"""
SPENT = ("charge", "plan", "series")
_WHOLES = ("plan", "release", "releases")
STATE, DIGEST = "state", "digest"
_OPTIONAL = {"user", "releases", "report", STATE, DIGEST}


@final
@dataclass(frozen=True, kw_only=True)
class Account(Shown):
    """The budget of one dataset, for one unit and neighbour relation, and what was spent of it.

    `rule` is the filter, None until the first charge chooses it. `spent` counts every charge and
    every plan, used or not; `charges` is how many, and `last` is what the last of them cost.
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
            said = f"ρ {_words.at_least(spent.rho)} spent"
        else:
            said = f"ε {_words.at_least(spent.epsilon)} and δ {_words.at_least(spent.delta)} spent"
        most = _words.private(budget.epsilon, budget.delta)
        charges = _words.counted(self.charges, "charge")
        return _words.line("Account", f"{said} of {most} by {charges}; {self.dataset}")

    def _tables(self) -> dict[str, Columns]:
        return {"": columns_of([self])}

    @property
    def remaining(self) -> Remaining:
        """What is left by the account's filter; all of the budget before the first charge."""
        return Remaining.of(self.budget, self.spent, self.rule)

    def more_like(self, release: Certified | Cost) -> int:
        """Return the number of such releases that the ledger still admits, at most 10¹².

        `release` is a certificate, or a cost: that of the `last` charge, which may be a whole plan.
        Decided by the filter's own arithmetic: so many together were tried and fit, one more was
        tried and doesn't. Before the first charge, by the filter that such a charge would choose.
        Not promised: that the release is about the account's unit and neighbours, or its proof
        holds. Raises InvalidArgument for what is neither.

        >>> from leastnoise.guarantees.sensitivity import L1
        >>> from leastnoise.selection.public import calibrate
        >>> account = Account(
        ...     dataset="visits", unit="row", neighbours="add-remove", budget=Budget(epsilon=1)
        ... )
        >>> account.more_like(calibrate("laplace", epsilon="0.3", sensitivity=L1(1)).certificate)
        3
        """
        cost = release if isinstance(release, Cost) else Cost.of(require_certificate(release))
        return holds(cost, self.budget, self.rule_for(cost), spent=self.spent)

    def rule_for(self, cost: Cost) -> str:
        """Return the filter for one more charge."""
        return self.rule or better_for(cost, self.budget)

    def admit(self, cost: Cost) -> str:
        """Return the filter by which one more charge fits; raises OverBudget if it doesn't."""
        rule, spent = self.rule_for(cost), self.spent + cost
        if not _is_short(spent):
            raise Refused(
                "With this cost, what is spent has more digits than a ledger holds: round the "
                "budget and the weights. Nothing was charged or drawn."
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
        """Raise Refused if `release` is about other persons or other neighbours than the account.

        A certificate whose sensitivity names its neighbours has to name the account's.
        """
        self.check_persons(unit=unit, neighbours=neighbours)
        for block in blocks_of(release):
            if block.neighbours not in {None, neighbours}:
                raise Refused(
                    f"The certificate is about {block.neighbours} neighbours, the account of "
                    f"{self.dataset!r} has {neighbours}. Nothing was charged or drawn."
                )

    def check_persons(self, *, unit: str, neighbours: str) -> None:
        """Raise Refused if the account is about other persons or other neighbours.

        Raises InvalidArgument unless both are texts.
        """
        for name, found, wanted in (
            ("unit", unit, self.unit),
            ("neighbours", neighbours, self.neighbours),
        ):
            if not isinstance(found, str):
                raise InvalidArgument(
                    name=name, value=type(found).__name__, expected=f"a text such as {wanted!r}"
                )
            if found != wanted:
                raise Refused(
                    f"The account of {self.dataset!r} has {name}={wanted!r}, the release "
                    f"{name}={found!r}. Nothing was charged or drawn."
                )


@final
@dataclass(kw_only=True)
class Chain:
    """The last entry of a series with running totals.

    `tag` is the tag of the state that goes with it. `entry` is the entry of the last release,
    `digest` its digest, and `before` the digest of the release before. `restarts` are the releases
    before which the series was restarted.
    """

    tag: str
    entry: int = 0
    digest: str = ""
    before: str = ""
    restarts: list[int] = field(default_factory=list)


@final
@dataclass(kw_only=True)
class Books:
    """All accounts of a ledger by dataset, and how often each release of each plan was used.

    `plans` has the dataset of each plan and series by the number of its entry, `series` that number
    by dataset and name.
    """

    accounts: dict[str, Account] = field(default_factory=dict)
    plans: dict[int, str] = field(default_factory=dict)
    series: dict[tuple[str, str], int] = field(default_factory=dict)
    uses: dict[tuple[int, int], int] = field(default_factory=dict)
    chains: dict[int, Chain] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Books:
        """Return the accounts that `entries` add up to.

        Raises InvalidInput if one hasn't the form of an entry, LedgerRejected if it makes no sense.
        """
        books = cls()
        for entry in entries:
            books.enter(entry)
        return books

    def enter(self, entry: Entry) -> None:
        """Take one more entry into account; raises like `of`."""
        _check_form(entry)
        try:
            self._enter(entry.number, entry.body)
        except (KeyError, TypeError, ValueError, ArithmeticError):
            raise LedgerRejected(f"Entry {entry.number} of the ledger is unreadable.") from None

    def published(self, number: int) -> int:
        """Return how many releases of the series that is entry `number` were published."""
        return sum(count for (plan, _), count in self.uses.items() if plan == number)

    def account(self, dataset: str | None) -> Account:
        """Return the account of `dataset`, or the only one there is; raises InvalidArgument."""
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
                raise LedgerRejected(f"Entry {number}: that dataset has an account already.")
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
            raise LedgerRejected(f"Entry {number} is of no kind that is known, or of another plan.")

    def _spend(self, number: int, body: dict[str, Any]) -> None:
        before = self.accounts[body["dataset"]]
        if body["rule"] not in RULES or before.rule not in {None, body["rule"]}:
            raise LedgerRejected(f"Entry {number}: its filter is not that of its account.")
        cost = cost_in(body)
        spent = before.spent + cost
        if not _is_short(spent):
            raise LedgerRejected(f"Entry {number}: what is spent has too many digits.")
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
                raise LedgerRejected(f"Entry {number}: that series is there already.")
            self.series[key] = number
            if STATE in body:
                self.chains[number] = Chain(tag=body[STATE])


def _check_form(entry: Entry) -> None:
    """Raise InvalidInput unless the entry has what one of its kind has, each of its type.

    So that whatever shows or adds up entries meets short numbers and texts alone.
    """
    kind = entry.body.get("kind")
    fields = _FIELDS.get(kind, ()) if isinstance(kind, str) else ()
    fields += tuple(_OPTIONAL & entry.body.keys())
    for name in ("kind", "dataset", *fields):
        value = entry.body.get(name)
        if value is None and (kind, name) == ("account", "rule"):
            continue
        if type(value) is not (int if name in _WHOLES else str) or not _is_number(name, value):
            raise InvalidInput(f"Entry {entry.number} of the ledger is unreadable: its {name}.")


def _is_number(name: str, value: Any) -> bool:
    """Return whether `value` can be read as the cost called `name`; other names aren't numbers."""
    try:
        return name not in COSTS or exact(value, name=name) is not None
    except InvalidArgument:
        return False


def _is_short(cost: Cost) -> bool:
    """Return whether a cost can be written and added to: its denominators may grow too long."""
    values: tuple[Fraction, ...] = tuple(getattr(cost, name) for name in COSTS)
    most_bits = 10_000  # of a sum of costs, above and below its line: text of 3,000 digits
    return all(
        max(one.numerator.bit_length(), one.denominator.bit_length()) <= most_bits for one in values
    )


def columns_of(accounts: Iterable[Account]) -> Columns:
    """Return a row an account, as `CheckedLedger` names the columns."""
    found = [*accounts]
    return {
        "dataset": [one.dataset for one in found],
        "unit": [one.unit for one in found],
        "neighbours": [one.neighbours for one in found],
        "epsilon": [float(one.budget.epsilon) for one in found],
        "delta": [float(one.budget.delta) for one in found],
        "rule": [one.rule for one in found],
        "charges": [one.charges for one in found],
        **{
            f"{name}_spent": [printed_at_least(getattr(one.spent, name)) for one in found]
            for name in COSTS
        },
    }


def cost_in(body: dict[str, Any]) -> Cost:
    """Return the cost that an entry states; raises InvalidArgument for one that isn't >= 0."""
    values = {name: exact(body[name], name=name) for name in COSTS}
    for name, value in values.items():
        if value < 0:
            raise InvalidArgument(name=name, value=decimal_text(value), expected=f"{name} >= 0")
    return Cost(**values)


def spending(kind: str, account: Account, rule: str, cost: Cost) -> dict[str, Any]:
    """Return the fields of an entry with a cost; raises Refused if it couldn't be read again."""
    record = record_of_cost(cost)
    try:
        cost_in(record)
    except ValueError:
        raise Refused(
            "The cost has more digits than a ledger holds: round the budget and the weights. "
            "Nothing was charged or drawn."
        ) from None
    named = {"kind": kind, "dataset": account.dataset, "rule": rule}
    return named | record | signed()


def signed() -> dict[str, str]:
    """Return when an entry is made, and by whom: for people, and no proof of it."""
    return {"time": datetime.now(UTC).isoformat(timespec="seconds"), "user": _user()}


def _user() -> str:
    """Return what the operating system calls the user; "" where it knows no name."""
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
    """Return `cost` as JSON values, exact."""
    return {name: decimal_text(getattr(cost, name)) for name in COSTS}
