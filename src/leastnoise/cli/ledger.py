"""`leastnoise ledger`: the budgets that releases are charged to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from leastnoise import _words
from leastnoise.cli import options, records, terminal
from leastnoise.cli.command import (
    MANY,
    REQUIRED,
    Command,
    CommandGroup,
    OptionType,
    among,
    argument,
    option,
    options_of,
)
from leastnoise.cli.options import BUDGET, FILE, NAME, QUERY, RELATION
from leastnoise.cli.spec import locate_problems

if TYPE_CHECKING:
    from collections.abc import Container

    from leastnoise.ledger.account import Account, Books
    from leastnoise.ledger.store import Entry

_file = argument("file", FILE, "The ledger.")
_dataset = option(QUERY, "--dataset", NAME, "Use this dataset's account only.")


@click.group("ledger", cls=CommandGroup)
def group() -> None:
    """Keep a ledger of budgets. Each release is charged before its noise is drawn."""


@group.command(cls=Command)
@_file
@options_of(
    "Account",
    ("--dataset", NAME, "The name of the dataset.", REQUIRED),
    (
        "--unit",
        NAME,
        'The column that identifies a person, or "row" if each row is a person.',
        REQUIRED,
    ),
    (
        "--neighbours",
        RELATION,
        (
            "Difference between neighbouring tables: one person's rows are added or removed, or "
            "are replaced."
        ),
        "add-remove",
    ),
)
@options.budget
@option(
    BUDGET,
    "--filter rule",
    among("sums", "zcdp"),
    "Rule by which charges add up. If left out, the first charge decides: the rule that allows "
    "more charges like it.",
)
@options.as_json
def init(
    *,
    file: Path,
    dataset: str,
    unit: str,
    neighbours: str,
    epsilon: str,
    delta: str,
    rule: str | None,
    as_json: bool,
) -> None:
    """Open the account of a dataset; create the file if it doesn't exist."""
    from leastnoise.guarantees.budget import Budget
    from leastnoise.ledger.ledger import Ledger

    account = Ledger(file).open_account(
        dataset,
        unit=unit,
        budget=Budget(epsilon=epsilon, delta=delta),
        neighbours=neighbours,
        rule=rule,
    )
    if as_json:
        records.print_json(_account_record(account, None))
    else:
        terminal.print_sentences([f"Opened the account of {dataset} in {file}."])


@group.command(cls=Command)
@_file
@options.as_json
def show(*, file: Path, as_json: bool) -> None:
    """Show the budget of every account, the spent part, and the rest."""
    from leastnoise.ledger.account import Books
    from leastnoise.ledger.ledger import Ledger

    entries = Ledger(file).history()
    books = Books.of(entries)
    accounts = books.accounts.values()
    series = {account.dataset: _series_of(file, account, books) for account in accounts}
    last = {entry.body["dataset"]: entry for entry in entries if entry.body["kind"] != "account"}
    if as_json:
        account_records = [
            _account_record(account, last.get(account.dataset))
            | {"series": series[account.dataset]}
            for account in accounts
        ]
        records.print_json({"accounts": account_records})
        return
    for account in accounts:
        terminal.print_sentences([f"{account.dataset}:"])
        facts = _facts(account, last.get(account.dataset))
        for row in series[account.dataset]:
            published = f"{row['published']:,} of {row['releases']:,} published"
            facts.append(("series", f"{row['name']}: {published}"))
        terminal.print_facts(facts)
        terminal.say()
    if not accounts:
        terminal.print_sentences([f"{file} has no account yet: leastnoise ledger init opens one."])


@group.command(cls=Command)
@_file
@_dataset
@options.as_json
def history(*, file: Path, dataset: str | None, as_json: bool) -> None:
    """List all entries, oldest first."""
    from leastnoise.ledger.account import Books
    from leastnoise.ledger.ledger import Ledger

    entries = Ledger(file).history()
    if dataset is not None:
        Books.of(entries).account(dataset)  # raises an error if there is no such account
        entries = [entry for entry in entries if entry.body["dataset"] == dataset]
    if as_json:
        records.print_json(
            {"entries": [{"number": entry.number} | entry.body for entry in entries]}
        )
        return
    names = ("number", "time (UTC)", "what", "dataset", "label", "user", "ε", "δ", "ρ")
    series = {entry.number for entry in entries if entry.body["kind"] == "series"}
    terminal.print_table(str(file), names, [_history_row(entry, series) for entry in entries])


@group.command(cls=Command)
@_file
@options.as_json
def check(*, file: Path, as_json: bool) -> None:
    """Check the whole ledger again.

    Every certificate is proved again, and every cost and sum is checked. Exit code 1 if any of them
    is false.
    """
    from leastnoise.errors import LedgerRejected
    from leastnoise.ledger.check import check_ledger

    reason, entries = "", 0
    try:
        with terminal.stages("Checking the ledger", silent=as_json) as tell:
            entries = check_ledger(file, progress=tell).entries
    except LedgerRejected as error:
        reason = str(error)
    if as_json:
        records.print_json({"holds": not reason, "entries": entries, "reason": reason or None})
    elif reason:
        terminal.say(f"leastnoise: the ledger does not hold: {reason}", err=True)
    else:
        text = f"Checked {file}: {entries:,} entries, every charge proved and within budget."
        terminal.print_sentences([text])
    if reason:
        raise click.exceptions.Exit(1)


@group.command(cls=Command)
@_file
@argument(
    "specs",
    OptionType("SPEC[=COUNT]...", files=True),
    "Specs. Write SPEC=COUNT for a spec that is released COUNT times.",
    MANY,
)
@options.budget
@option(
    BUDGET,
    "--fit",
    None,
    "Scale the ε of all specs by the largest factor with which the releases meet the budget.",
)
@_dataset
@options.as_json
def register(
    *,
    file: Path,
    specs: tuple[str, ...],
    epsilon: str,
    delta: str,
    fit: bool,
    dataset: str | None,
    as_json: bool,
) -> None:
    """Charge several planned releases together, by tight composition.

    All releases together meet ε and δ. Their composition is proved, so their budgets may have a
    larger sum. Then write the plan's number into each spec, as plan in [privacy.ledger]. If you
    used --fit, write the ε that it found, too.
    """
    from leastnoise.errors import InvalidArgument
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.exact import decimal_text
    from leastnoise.ledger.ledger import Ledger
    from leastnoise.tables.publish.fit_plans import fit_plans
    from leastnoise.tables.publish.release import Release

    requests: list[tuple[str, Release, int]] = []
    statements: set[tuple[str, str]] = set()
    for text in specs:
        name, used = options.split_count(text, expected="SPEC=COUNT, a whole COUNT")
        with locate_problems(Path(name)):
            release = Release.from_toml(name)
            if release.spec.series is not None:
                expected = "no spec with [series], which its first release charges"
                raise InvalidArgument(name="specs", value=name, expected=expected)
            privacy = release.spec.privacy
            statements.add((privacy.unit_label, privacy.neighbours))
            with terminal.stages("Planning", silent=as_json) as tell:
                release.plan(progress=tell)  # the release caches its plan
            requests.append((name, release, used))
    if len(statements) != 1:
        raise InvalidArgument(name="specs", value=list(specs), expected="specs of one unit")
    unit, neighbours = statements.pop()
    budget = Budget(epsilon=epsilon, delta=delta)
    ledger = Ledger(file)
    if fit:
        # checked before the search
        ledger.check_account(unit=unit, neighbours=neighbours, dataset=dataset)
        with terminal.stages("Finding the largest epsilon", silent=as_json) as tell:
            fitted = [(release, used) for _, release, used in requests]
            plans = fit_plans(fitted, budget, progress=tell)
    else:
        plans = [release.plan() for _, release, _ in requests]
    charge = ledger.register(
        [(plan.certificate, used) for plan, (_, _, used) in zip(plans, requests, strict=True)],
        budget=budget,
        unit=unit,
        neighbours=neighbours,
        dataset=dataset,
        label=", ".join(specs),
    )
    planned = [
        {"spec": name, "count": used, "epsilon": decimal_text(plan.budget.epsilon)}
        for plan, (name, _, used) in zip(plans, requests, strict=True)
    ]
    if as_json:
        record = {"plan": charge.number, "dataset": charge.dataset, "filter": charge.rule}
        records.print_json(record | {"releases": planned})
        return
    terminal.print_sentences([f"Registered plan {charge.number} for {charge.dataset}."])
    if fit:
        terminal.print_sentences(
            ['Write epsilon = "{epsilon}" into {spec}.'.format(**row) for row in planned]
        )


def _facts(account: Account, last: Entry | None) -> list[tuple[str, str]]:
    """Facts of an account, as names and texts; spending is rounded up, the rest down."""
    from leastnoise.ledger.filters import ZCDP

    spent, budget = account.spent, account.budget
    used = f"ε {_words.round_up(spent.epsilon)} and δ {_words.round_up(spent.delta)}"
    if account.rule == ZCDP:
        by_filter = f"ρ {_words.round_up(spent.rho)} and δ' {_words.round_up(spent.leak)}"
        used = f"{by_filter}; by sums {used}"
    facts = [
        (
            "budget",
            f"{_words.format_guarantee(budget.epsilon, budget.delta)} for each {account.unit}",
        ),
        ("neighbours", account.neighbours),
        ("filter", account.rule or "not chosen yet: the first charge chooses it"),
        ("spent", f"{used}, by {_words.count_noun(account.charges, 'charge')}"),
        ("left", str(account.remaining)),
    ]
    if last is not None:
        facts.append(("last", ", ".join(filter(None, _last(last).values()))))
    if account.last is not None:
        facts.append(("fits", _more(account.more_like(account.last))))
    return facts


def _series_of(file: Path, account: Account, books: Books) -> list[dict[str, Any]]:
    """JSON records of an account's series, with planned and published numbers of releases."""
    from leastnoise.ledger.series import LedgerSeries

    persons = {"unit": account.unit, "neighbours": account.neighbours}
    names = [name for dataset, name in books.series if dataset == account.dataset]
    charged = [
        LedgerSeries(path=file, name=name, dataset=account.dataset, **persons).find()
        for name in names
    ]
    return [
        {"name": name, "published": series.published, "releases": series.releases}
        for name, series in zip(names, charged, strict=True)
        if series is not None
    ]


def _last(entry: Entry) -> dict[str, str]:
    """The time, label and user of an entry, each "" if the entry lacks it."""
    texts = {name: entry.body.get(name, "") for name in ("time", "label", "user")}
    return texts | {"time": _time(texts["time"])}


def _time(text: str) -> str:
    return text.replace("T", " ").removesuffix("+00:00")


def _more(count: int) -> str:
    from leastnoise.ledger.filters import MOST_ALIKE

    if count == MOST_ALIKE:
        return f"{count:,} more charges like the last, or more"
    more = _words.count_noun(count, "more charge") if count else "no more charge"
    return f"{more} like the last"


def _account_record(account: Account, last: Entry | None) -> dict[str, Any]:
    from leastnoise.guarantees.exact import decimal_text
    from leastnoise.ledger.account import record_of_cost

    left = account.remaining
    return {
        "dataset": account.dataset,
        "unit": account.unit,
        "neighbours": account.neighbours,
        "epsilon": decimal_text(account.budget.epsilon),
        "delta": decimal_text(account.budget.delta),
        "filter": account.rule,
        "charges": account.charges,
        "last": last and _last(last),
        "spent": record_of_cost(account.spent),
        "left": {
            name: None if value is None else decimal_text(value)
            for name, value in (("epsilon", left.epsilon), ("delta", left.delta), ("rho", left.rho))
        },
        "more_like_last": None if account.last is None else account.more_like(account.last),
    }


def _history_row(entry: Entry, series: Container[int]) -> tuple[str, ...]:
    """An entry as a row of text; `series` are the numbers of the entries that begin a series."""
    from fractions import Fraction

    body = entry.body
    costs = (body.get(name) for name in ("epsilon", "delta", "rho"))
    return (
        str(entry.number),
        _time(body["time"]),
        _describe(body, series),
        body["dataset"],
        body.get("label", ""),
        body.get("user", ""),
        *("" if cost is None else f"{float(Fraction(cost)):.6g}" for cost in costs),
    )


def _describe(body: dict[str, Any], series: Container[int]) -> str:
    if body["kind"] != "use":
        return f"series {body['series']}" if body["kind"] == "series" else body["kind"]
    if body["plan"] in series:
        return f"release {body['release']} of series {body['plan']}"
    return f"use of plan {body['plan']}"
