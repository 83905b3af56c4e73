"""Ledgers that were edited, forged, cut short or never were one."""

from __future__ import annotations

import os
import random
import re
import sqlite3
from pathlib import Path

import pytest

from leastnoise.errors import InvalidInput, LedgerRejected, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.ledger.check import check_ledger
from leastnoise.ledger.ledger import Ledger
from tests.ledger.releases import account, certificate


def edited(ledger: Ledger, statement: str) -> None:
    """Edit the file as with a database tool, triggers out of the way."""
    with sqlite3.connect(ledger.path) as connection:
        for name in ("entries_stay", "entries_remain"):
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)


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
    with pytest.raises(LedgerRejected, match="certificate was edited"):
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
        "not that of its account": [honest, honest | {"rule": "zcdp"}],
        "has an account already": [
            {
                "kind": "account",
                "dataset": "visits",
                "unit": "zper",
                "neighbours": "add-remove",
                "epsilon": "1",
                "delta": "0",
                "rule": "sums",
            }
        ],
        "of no kind": [honest | {"kind": "gift"}],
        "Entry 2": [honest | {"dataset": "claims"}],
    }
    for place, (why, bodies) in enumerate(forgeries.items()):
        folder = tmp_path / str(place)
        folder.mkdir()
        ledger = account(folder, "1", "1e-6")
        with ledger._store.appending() as (_, log):
            for body in bodies:
                log.append(body, certificate=good.to_json())
        with pytest.raises(LedgerRejected, match=re.escape(why)):
            check_ledger(ledger.path)


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


def test_no_damaged_byte_is_taken_for_a_budget(tmp_path: Path) -> None:
    """Wherever bytes flip there is a clear error, or every budget and cost is what it was."""
    ledger = account(tmp_path, "1", "1e-6")
    for _ in range(2):
        ledger.charge(certificate("gaussian", "0.1", "1e-7"), unit="person")
    whole, wanted = Path(ledger.path).read_bytes(), ledger.accounts()
    draw, errors = random.Random(3), 0
    for _ in range(150):
        damaged = bytearray(whole)
        for place in draw.sample(range(len(whole)), draw.choice((1, 1, 20))):
            damaged[place] ^= 1 << draw.randrange(8)
        Path(ledger.path).write_bytes(damaged)
        try:
            found = ledger.accounts()
            check_ledger(ledger.path)
        except (InvalidInput, Refused):
            errors += 1
        else:
            assert found == wanted
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
