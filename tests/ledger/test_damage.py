"""Ledgers that were edited, forged or cut short, and files that never were one."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import InvalidInput, LedgerRejected, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.structured import CountingQueries
from leastnoise.ledger.account import make_charge_entry
from leastnoise.ledger.check import check_ledger
from leastnoise.ledger.filters import Cost
from leastnoise.ledger.ledger import Ledger
from leastnoise.ledger.preregistered import Preregistered
from leastnoise.noise.classic.law import Gaussian
from tests.ledger.releases import account, certificate


def edited(ledger: Ledger, statement: str) -> None:
    """Edit the file as with a database tool; triggers are dropped before and restored after it."""
    with sqlite3.connect(ledger.path) as connection:
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid"
        ).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        for _, sql in triggers:
            connection.execute(sql)


EDITS = {
    "a smaller cost": """UPDATE entry SET body = replace(body, '"epsilon": "0.5"',
        '"epsilon": "0.1"') WHERE number = 2""",
    "a larger budget": """UPDATE entry SET body = replace(body, '"epsilon": "1"',
        '"epsilon": "9"') WHERE number = 1""",
    "an entry less": "DELETE FROM entry WHERE number = 2",
    "the last entry less": "DELETE FROM entry WHERE number = 3",
    "another number": "UPDATE entry SET number = 9 WHERE number = 2",
    "another type": "UPDATE entry SET body = 7 WHERE number = 2",
}


def test_a_forged_charge_for_other_neighbours_is_noticed_by_check(tmp_path: Path) -> None:
    """`charge` refuses these certificates; whoever forges the entries gets no further."""
    for index, kind in enumerate(("charge", "plan")):
        folder = tmp_path / str(index)
        folder.mkdir()
        ledger = account(folder, "1", "1e-5")
        other = Certificate.prove(
            budget=Budget(epsilon=1, delta="1e-5"),
            noise=Gaussian(scale=50, dimension=2),
            sensitivity=CountingQueries(dimension=2, neighbours="replace-one"),
        )
        plan = Preregistered(budget=other.budget, releases=[(other, 1)])
        stated, cost = (other, Cost.of(other)) if kind == "charge" else (plan, plan.cost)
        stored = ledger.accounts()["visits"]
        body = make_charge_entry(kind, stored, stored.admit(cost), cost) | {"label": ""}
        with ledger._store.appending() as (_, log):
            log.append(body, certificate=stated.to_json())
        with pytest.raises(LedgerRejected, match="other neighbours than add-remove"):
            check_ledger(ledger.path)


@pytest.mark.parametrize("name", EDITS)
def test_edits_are_noticed_before_the_next_charge(tmp_path: Path, name: str) -> None:
    ledger = account(tmp_path, "1")
    half = certificate("laplace", "0.5")
    ledger.charge(half, unit="person")
    ledger.charge(certificate("laplace", "0.25"), unit="person")
    edited(ledger, EDITS[name])
    with pytest.raises(LedgerRejected, match="edited"):
        ledger.charge(certificate("laplace", "0.125"), unit="person")
    with pytest.raises(LedgerRejected):
        check_ledger(ledger.path)


def test_an_edited_certificate_is_noticed_by_check(tmp_path: Path) -> None:
    ledger = account(tmp_path, "1")
    ledger.charge(certificate("laplace", "0.5"), unit="person")
    check_ledger(ledger.path)
    edited(ledger, "UPDATE entry SET certificate = replace(certificate, '0.5', '0.4')")
    with pytest.raises(LedgerRejected, match="certificate of entry"):
        check_ledger(ledger.path)


def test_what_is_forged_with_its_hashes_is_noticed_by_check(tmp_path: Path) -> None:
    """One who writes entries with the right hashes still has to lie about a cost, or overdraw."""
    good = certificate("laplace", "0.5")
    honest = {"kind": "charge", "dataset": "visits", "rule": "sums", "time": "", "label": "",
              "epsilon": "0.5", "delta": "0", "rho": "0.125", "leak": "0"}  # fmt: skip
    forgeries: dict[str, list[dict[str, str]]] = {
        "cost": [honest | {"epsilon": "0.1"}],
        "overdraws": [honest] * 3,
        "filter": [honest | {"rule": "zcdp"}],
        "unreadable": [honest | {"epsilon": "-0.5"}],
        "than its account": [honest, honest | {"rule": "zcdp"}],
        "that has one already": [
            {
                "kind": "account",
                "dataset": "visits",
                "unit": "zper",
                "neighbours": "add-remove",
                "epsilon": "1",
                "delta": "0",
                "rule": "sums",
                "time": "",
            }
        ],
        "unknown kind": [honest | {"kind": "gift"}],
        "Entry 2": [honest | {"dataset": "claims"}],
    }
    for index, (why, bodies) in enumerate(forgeries.items()):
        folder = tmp_path / str(index)
        folder.mkdir()
        ledger = account(folder, "1", "1e-6")
        with ledger._store.appending() as (_, log):
            for body in bodies:
                log.append(body, certificate=good.to_json())
        with pytest.raises(LedgerRejected, match=re.escape(why)):
            check_ledger(ledger.path)


HIDDEN = {
    "a trigger that drops charges": """CREATE TRIGGER kept BEFORE INSERT ON entry
        BEGIN SELECT RAISE(IGNORE); END""",
    "a trigger that adds entries": """CREATE TRIGGER more AFTER INSERT ON entry
        BEGIN INSERT INTO entry (body, hash) VALUES ('{}', ''); END""",
    "a trigger less": "DROP TRIGGER entries_stay",
    "a view": "CREATE VIEW spent AS SELECT * FROM entry",
    "a table": "CREATE TABLE other (a)",
    "an index": "CREATE INDEX quick ON entry (hash)",
    "a column": "ALTER TABLE entry ADD COLUMN more TEXT DEFAULT 'a'",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_schema_that_is_not_ours_is_refused(tmp_path: Path, name: str) -> None:
    """A ledger with a trigger that ignores what is inserted admitted everything, and held."""
    ledger = account(tmp_path, "1")
    half = certificate("laplace", "0.5")
    ledger.charge(half, unit="person")
    with sqlite3.connect(ledger.path) as connection:
        connection.execute(HIDDEN[name])
    uses: tuple[Callable[[], object], ...] = (
        lambda: ledger.charge(half, unit="person"),
        lambda: ledger.register([(half, 1)], budget=Budget(epsilon="0.5"), unit="person"),
        lambda: ledger.open_account("more", unit="row", budget=Budget(epsilon=1)),
        ledger.accounts,
        ledger.history,
        lambda: check_ledger(ledger.path),
    )
    for use in uses:
        with pytest.raises((LedgerRejected, InvalidInput), match=r"edited|not a ledger"):
            use()


def test_a_charge_that_is_not_kept_is_no_charge(tmp_path: Path) -> None:
    """Whatever keeps an entry from the file, what can't be read back was not charged."""
    ledger = account(tmp_path, "1")
    for when, then in (
        ("BEFORE", "SELECT RAISE(IGNORE)"),
        ("AFTER", "INSERT INTO entry (body, hash) VALUES ('{}', '')"),
    ):
        with pytest.raises(LedgerRejected, match="differs from the text"):
            charge_beside(ledger, f"CREATE TEMP TRIGGER t {when} INSERT ON entry BEGIN {then}; END")
    assert check_ledger(ledger.path).entries == 1


def charge_beside(ledger: Ledger, trigger: str) -> None:
    """Append an entry over a connection with a temporary trigger, which isn't in the file."""
    with ledger._store.appending() as (_, log):
        log.connection.execute(trigger)
        log.append({"kind": "charge"})


def test_a_view_without_end_is_no_ledger(tmp_path: Path) -> None:
    ledger = account(tmp_path, "1")
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("DROP TABLE entry")
        connection.execute(
            """CREATE VIEW entry AS WITH RECURSIVE line(number) AS
            (SELECT 1 UNION ALL SELECT number + 1 FROM line)
            SELECT number, '{}' AS body, '' AS certificate, '' AS hash FROM line"""
        )
    for use in (ledger.accounts, lambda: check_ledger(ledger.path)):
        with pytest.raises(InvalidInput, match="not a ledger"):
            use()


ACCOUNT = {"kind": "account", "dataset": "claims", "unit": "person", "neighbours": "add-remove",
           "epsilon": "1", "delta": "0", "rule": None, "time": ""}  # fmt: skip
CHARGE = {"kind": "charge", "dataset": "visits", "rule": "sums", "time": "", "label": "",
          "epsilon": "0.5", "delta": "0", "rho": "0.125", "leak": "0"}  # fmt: skip
UNREADABLE = {
    "no JSON": "visits",
    "nothing": "",
    "a list": "[]",
    "nested": "[" * 100_000,
    "nested objects": '{"kind":' * 100_000,
    "a nested label": json.dumps(CHARGE | {"label": [[[]]]}),
    "a number of many digits": '{"kind": ' + "9" * 100_000 + "}",
    "a huge exponent": json.dumps(CHARGE | {"epsilon": "1e999999999"}),
    "a huge ratio": json.dumps(CHARGE | {"rho": "1/" + "7" * 100_000}),
    "a huge budget": json.dumps(ACCOUNT | {"epsilon": "9" * 100_000}),
    "an infinite cost": json.dumps(CHARGE).replace('"0.5"', "Infinity"),
    "a time of no text": json.dumps(CHARGE | {"time": 1e308}),
    "a user of no text": json.dumps(CHARGE | {"user": ["ada"]}),
    "no time": json.dumps({key: value for key, value in CHARGE.items() if key != "time"}),
    "a plan of no number": json.dumps(
        {"kind": "use", "dataset": "visits", "plan": "2", "release": 0, "label": "", "time": ""}
    ),
    "a kind of no text": json.dumps(CHARGE | {"kind": ["charge"]}),
    "twice": '{"kind": "charge", "kind": "account"}',
    "a megabyte of keys": json.dumps({f"a{i}": 0 for i in range(60_000)} | {"kind": "charge"}),
}


@pytest.mark.grid
@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_entry_is_unreadable_whatever_its_hash(tmp_path: Path, name: str) -> None:
    ledger = account(tmp_path, "1")
    text = UNREADABLE[name]
    with sqlite3.connect(ledger.path) as connection:
        (last,) = connection.execute("SELECT hash FROM entry").fetchone()
        digest = hashlib.sha256((last + text).encode()).hexdigest()
        connection.execute("INSERT INTO entry (body, hash) VALUES (?, ?)", (text, digest))
    for use in (
        ledger.accounts,
        ledger.history,
        ledger.to_pandas,
        lambda: check_ledger(ledger.path),
        lambda: ledger.charge(certificate("laplace", "0.5"), unit="person"),
    ):
        with pytest.raises(InvalidInput, match="unreadable"):
            use()


def test_an_entry_of_many_megabytes_is_not_read(tmp_path: Path) -> None:
    ledger = account(tmp_path, "1")
    with sqlite3.connect(ledger.path) as connection:
        connection.execute(
            "INSERT INTO entry (body, hash) VALUES (CAST(zeroblob(30000000) AS TEXT), '')"
        )
    for use in (ledger.accounts, lambda: check_ledger(ledger.path)):
        with pytest.raises(InvalidInput, match="20,000,000 bytes"):
            use()


def test_a_label_that_no_ledger_holds_charges_nothing(tmp_path: Path) -> None:
    ledger = account(tmp_path, "1")
    with pytest.raises(InvalidInput, match="20,000,000 bytes"):
        ledger.charge(certificate("laplace", "0.5"), unit="person", label="x" * 30_000_000)
    assert check_ledger(ledger.path).entries == 1


def test_costs_whose_sum_has_too_many_digits_are_refused(tmp_path: Path) -> None:
    """Denominators without a common factor: a ledger of thousands would never be added up."""
    ledger = account(tmp_path, "1")
    with ledger._store.appending() as (_, log):
        for prime in (1901, 1907, 1913, 1931, 1933, 1949, 1951, 1973, 1979, 1987):
            log.append(CHARGE | {"epsilon": f"{2**prime - 3}/{2**prime - 1}"})
    with pytest.raises(LedgerRejected, match="digits"):
        ledger.accounts()


def test_entries_cannot_be_changed_by_plain_sql(tmp_path: Path) -> None:
    ledger = account(tmp_path, "1")
    for statement in ("UPDATE entry SET body = ''", "DELETE FROM entry"):
        with sqlite3.connect(ledger.path) as connection, pytest.raises(sqlite3.IntegrityError):
            connection.execute(statement)


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\0" + b"\xff" * 4096])
def test_files_that_are_no_ledgers_are_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    for use in (Ledger(path).accounts, lambda: check_ledger(path)):
        with pytest.raises(InvalidInput, match="not a ledger"):
            use()
    assert path.read_bytes() == content


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def in_wal(path: Path, *statements: str) -> sqlite3.Connection:
    """Return a connection that set WAL mode and ran the statements; the log has their changes."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", *statements):
        connection.execute(statement)
    return connection


@pytest.mark.parametrize("logged", [True, False])
@pytest.mark.parametrize("application", [0, 7])
def test_a_database_of_others_stays_as_it_is(
    tmp_path: Path, application: int, *, logged: bool
) -> None:
    """Its mode stays, and the log that a killed program left."""
    folder, path = tmp_path / "made", tmp_path / "found/budget.ledger"
    folder.mkdir()
    statements = ("CREATE TABLE entry (number INT)", f"PRAGMA application_id = {application}")
    stored = in_wal(folder / path.name, *statements)
    if not logged:
        stored.close()
    shutil.copytree(folder, path.parent, ignore=shutil.ignore_patterns("*-shm"))
    stored.close()
    before = contents(path.parent)
    assert len(before) == 1 + logged
    for use in (Ledger(path).accounts, lambda: check_ledger(path), lambda: account_in(path)):
        with pytest.raises(InvalidInput, match="not a ledger"):
            use()
    assert contents(path.parent) == before


@pytest.mark.parametrize("statement", ["PRAGMA user_version = 2", "CREATE TABLE other (a)"])
def test_a_ledger_that_is_none_of_ours_stays_as_it_is(tmp_path: Path, statement: str) -> None:
    path = Path(account(tmp_path, "1").path)
    in_wal(path, statement).close()
    before = contents(tmp_path)
    for use in (Ledger(path).accounts, lambda: check_ledger(path), lambda: account_in(path)):
        with pytest.raises((InvalidInput, LedgerRejected), match=r"version 2|edited"):
            use()
    assert contents(tmp_path) == before


def test_a_ledger_that_a_tool_put_in_another_mode_is_put_back(tmp_path: Path) -> None:
    ledger = account(tmp_path, "1")
    in_wal(Path(ledger.path)).close()
    ledger.charge(certificate("laplace", "0.5"), unit="person")
    assert check_ledger(ledger.path).entries == 2
    assert set(contents(tmp_path)) == {"budget.ledger"}
    assert contents(tmp_path)["budget.ledger"][18:20] == b"\1\1"  # without a log beside it


def test_missing_foreign_and_truncated_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="ledger init"):
        Ledger(tmp_path / "none").accounts()
    assert not (tmp_path / "none").exists()
    foreign = tmp_path / "foreign"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE visits (person INT)")
    for use in (
        Ledger(foreign).accounts,
        lambda: Ledger(foreign).open_account("a", unit="row", budget=Budget(epsilon=1)),
    ):
        with pytest.raises(InvalidInput, match="not a ledger"):
            use()
    later = account(tmp_path, "1")
    with sqlite3.connect(later.path) as connection:
        connection.execute("PRAGMA user_version = 2")
    with pytest.raises(InvalidInput, match="version 2"):
        later.accounts()
    later_bytes = Path(later.path).read_bytes()
    Path(later.path).write_bytes(later_bytes[: len(later_bytes) // 2])
    with pytest.raises(InvalidInput):
        check_ledger(later.path)
    with pytest.raises(InvalidInput, match="can't be opened"):
        Ledger(tmp_path / "no" / "folder").open_account("a", unit="row", budget=Budget(epsilon=1))
    with pytest.raises(InvalidInput, match="a path"):
        Ledger(tmp_path / "a\0b").accounts()


def test_an_account_may_be_opened_in_an_empty_file(tmp_path: Path) -> None:
    """What a crash during the first `init` leaves behind."""
    (tmp_path / "budget.ledger").touch()
    assert account(tmp_path, "1").accounts().keys() == {"visits"}


@pytest.mark.dense
def test_no_damaged_byte_is_taken_for_a_budget(tmp_path: Path) -> None:
    """Wherever bytes flip there is a clear error, or every budget and cost is what it was."""
    ledger = account(tmp_path, "1", "1e-6")
    for _ in range(2):
        ledger.charge(certificate("gaussian", "0.1", "1e-7"), unit="person")
    whole, wanted = Path(ledger.path).read_bytes(), ledger.accounts()
    draw, errors = random.Random(3), 0
    for _ in range(150):
        damaged = bytearray(whole)
        for index in draw.sample(range(len(whole)), draw.choice((1, 1, 20))):
            damaged[index] ^= 1 << draw.randrange(8)
        Path(ledger.path).write_bytes(damaged)
        try:
            result = ledger.accounts()
            check_ledger(ledger.path)
        except (InvalidInput, Refused):
            errors += 1
        else:
            assert result == wanted
    assert errors > 30


@pytest.mark.parametrize("what", ["a pipe", "a device", "a folder", "a loop", "no text"])
def test_what_is_no_regular_file_is_no_ledger(tmp_path: Path, what: str) -> None:
    path = tmp_path / "b.ledger"
    if what == "a pipe":
        os.mkfifo(path)
    elif what == "a device":
        path.symlink_to("/dev/zero")
    elif what == "a folder":
        path.mkdir()
    elif what == "a loop":
        path.symlink_to(path)
    else:
        path = tmp_path / "\ud800"
    for use in (
        lambda: Ledger(path).accounts(),
        lambda: check_ledger(path),
        lambda: account_in(path),
    ):
        with pytest.raises(InvalidInput, match=r"ledger|can't be|a path"):
            use()


def account_in(path: Path) -> object:
    return Ledger(path).open_account("v", unit="row", budget=Budget(epsilon=1))
