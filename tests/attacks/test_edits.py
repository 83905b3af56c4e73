"""Edited certificates and ledgers: what is accepted is true; nothing crashes or hangs."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

import leastnoise as ln
from tests.attacks import edits, statements, truth
from tests.attacks.guard import PARTS, Guard
from tests.golden.records import QUICK

Case = tuple[str, Any]


_LEDGER = "ledger"
_TRIGGERS = (
    "CREATE TRIGGER t {when} INSERT ON entry BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER t {when} INSERT ON entry WHEN new.number > 3 BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER t {when} INSERT ON entry BEGIN SELECT RAISE(FAIL, 'full'); END",
    "CREATE TRIGGER t AFTER INSERT ON entry BEGIN UPDATE entry SET body = '{{}}'; END",
    "CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry WHERE number = 4; END",
    """CREATE TRIGGER t {when} INSERT ON entry
    BEGIN INSERT INTO entry (body, hash) VALUES ('{{}}', ''); END""",
    "ALTER TABLE entry ADD COLUMN more TEXT AS (body)",
    "CREATE INDEX one ON entry (hash)",
    """CREATE VIEW endless AS WITH RECURSIVE l(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM l)
    SELECT n FROM l""",
    "ALTER TABLE entry RENAME TO kept",
)
"""SQL that someone may run on a ledger's file so that charges cost nothing, or always fail."""
_CHARGE = {"kind": "charge", "dataset": "a", "rule": "sums", "time": "", "label": "",
           "epsilon": "1", "delta": "0", "rho": "0.5", "leak": "0"}  # fmt: skip
_USE = {"kind": "use", "dataset": "a", "plan": 2, "release": 0, "label": "", "time": ""}
_ACCOUNT = {"kind": "account", "dataset": "b", "unit": "u", "neighbours": "add-remove",
            "epsilon": "1", "delta": "0", "rule": None, "time": ""}  # fmt: skip
_BODIES = (
    *("", "null", "[]", "1e999", "9" * 9000, "[" * 20_000, '{"kind":' * 20_000, "{{", "NaN", "\0"),
    *(
        json.dumps(item)
        for item in (
            _CHARGE | {"epsilon": "1e9999"},
            _CHARGE | {"epsilon": "-1"},
            _CHARGE | {"rho": 1e308},
            _CHARGE | {"dataset": ["a"]},
            _USE | {"plan": 10**4000},
            _USE,
            _ACCOUNT | {"epsilon": "1e301"},
            _ACCOUNT | {"rule": "best"},
            _ACCOUNT | {"dataset": "a"},
        )
    ),
)
"""Texts that are no valid entry of this ledger; each is stored with a valid hash."""


@cache
def _record(base: str) -> Any:
    """Return the record to edit: accepted and true, as otherwise the attacks would find nothing."""
    record = json.loads(QUICK[base]().to_json())
    _verify(base, json.dumps(record))
    return record


def draw_case(random: Random) -> Case:
    base = random.choice((*QUICK, _LEDGER))
    if base == _LEDGER:
        return base, (
            random.choice(("byte", "text", "number", "schema", "body")),
            random.random(),
            random.randrange(256),
        )
    return base, edits.draw_case(random, _record(base))


def attack(case: Case) -> None:
    base, edit = case
    if base == _LEDGER:
        _attack_ledger(*edit)
        return
    text = edits.applied(_record(base), edit)
    try:
        _verify(base, text)
    except ln.errors.LeastnoiseError:
        return


def _verify(base: str, text: str) -> None:
    """Read and verify a statement; raise AssertionError where it is accepted and false."""
    if base.startswith("lower bound"):
        bound = ln.LowerBound.from_json(text)
        bound.verify()
        _check_bound(json.loads(bound.to_json()))
        return
    kind = ln.PlanCertificate if base.startswith("plan") else ln.Certificate
    read = kind.from_json(text)
    fresh = read.verify()
    # what was accepted is written anew, so that its own spelling doesn't matter
    record = json.loads(read.to_json())
    statements.check(record)
    if "delta_interval" in record:  # it may lie beside the truth and within a loose enclosure of it
        low, high = (float(truth.number(end)) for end in record["delta_interval"])
        assert low <= fresh.lower, f"δ may be {fresh.lower!r}, below the interval from {low!r}"
        assert high >= fresh.upper, f"δ may be {fresh.upper!r}, above the interval up to {high!r}"


_LEAST_EPSILON = 1e-100  # below it the losses are no floats


def _check_bound(record: dict[str, Any]) -> None:
    """Check that a lower bound is at most the loss of the staircase that is best for δ = 0."""
    epsilon, value = float(truth.number(record["epsilon"])), float(truth.number(record["value"]))
    if epsilon <= _LEAST_EPSILON:
        return
    if "sensitivity" in record["witness"]:
        _check_volume(record, epsilon, value)
        return
    b, rest = math.exp(-epsilon), -math.expm1(-epsilon)
    if record["loss"] == "mae":  # Geng & Viswanath (2014): √b/(1 − b)
        known = math.sqrt(b) / rest
    else:
        gammas = [i / 1000 for i in range(1, 1001)]
        m = b / rest
        known = min(
            (g**3 + m * (3 * g * g + 3 * g * (1 + 2 * m) + 1 + 6 * m * (1 + m))) / (3 * (g + m))
            for g in gammas
        )
    if record["scope"] == "integer":
        known = 2 * b / (rest**2 if record["loss"] == "mse" else -math.expm1(-2 * epsilon))
    assert value <= known * (1 + 1e-9), f"noise of loss {known!r} is known, the bound is {value!r}"


def _check_volume(record: dict[str, Any], epsilon: float, value: float) -> None:
    """Check that a bound for counts is at most the loss of e^(−εN), with N their hull's gauge.

    A coordinate's variance is (d + 2)(d + 3)/6ε², and E|X_i| <= its root.
    """
    witness = record["witness"]
    shifts, d = witness["sensitivity"], witness["dimension"]
    assert shifts["kind"] == "counting-queries"
    assert record["scope"] == "real"
    assert float(truth.number(record["delta"])) == 0
    reach = float(truth.number(shifts["bound"])) * (
        2 if shifts["neighbours"] != "add-remove" else 1
    )
    variance = (d + 2) * (d + 3) / 6 * (reach / epsilon) ** 2
    known = d * (variance if record["loss"] == "mse" else math.sqrt(variance))
    if shifts["with_total"]:
        known = math.inf  # the last number has a bound of its own
    assert value <= known * (1 + 1e-9), f"noise of loss {known!r} is known, the bound is {value!r}"


@cache
def _pages() -> bytes:
    ledger = ln.Ledger(Path(tempfile.mkdtemp()) / "a.ledger")
    ledger.open_account("a", unit="person", budget=ln.Budget(epsilon=9, delta="0.1"))
    for base in ("gaussian", "laplace"):
        ledger.charge(QUICK[base](), unit="person", label=base)
    return Path(ledger.path).read_bytes()


def _attack_ledger(what: str, where: float, value: int) -> None:
    """Edit a byte of the file, or a text within it as an editor of databases would."""
    path = Path(tempfile.mkdtemp()) / "a.ledger"
    pages = bytearray(_pages())
    if what == "byte":
        number = int(where * len(pages))
        changed = pages[number] != value
        pages[number] = value
        path.write_bytes(pages)
    else:
        path.write_bytes(pages)
        changed = _EDITS[what](path, what, where, value)
    if what in {"schema", "body"}:
        _charge(path)
        return
    try:
        checked = ln.check_ledger(path)
        accounts = ln.Ledger(path).accounts()
    except ln.errors.LeastnoiseError:
        return
    assert checked.entries == 3
    assert accounts["a"].charges == 2
    if changed:  # then it was where nothing is held
        assert float(accounts["a"].spent.epsilon) == 2
        assert accounts["a"].budget == ln.Budget(epsilon=9, delta="0.1")


def _charge(path: Path) -> None:
    """Raise AssertionError if a ledger that isn't ours can be read or charged."""
    ledger = ln.Ledger(path)
    for use in (ledger.accounts, ledger.history, lambda: ln.check_ledger(path)):
        try:
            use()
        except ln.errors.LeastnoiseError:
            continue
        raise AssertionError("a ledger that isn't ours was read")
    try:
        charge = ledger.charge(QUICK["laplace"](), unit="person")
    except ln.errors.LeastnoiseError:
        return
    raise AssertionError(f"charged as entry {charge.number}")


def _edit_schema(path: Path, what: str, where: float, value: int) -> bool:
    del what
    with sqlite3.connect(path) as connection:
        statement = _TRIGGERS[int(where * len(_TRIGGERS))]
        connection.execute(statement.format(when=("BEFORE", "AFTER")[value % 2]))
    connection.close()
    return True


def _add_body(path: Path, what: str, where: float, value: int) -> bool:
    del what, value
    text = _BODIES[int(where * len(_BODIES))]
    with sqlite3.connect(path) as connection:
        (last,) = connection.execute("SELECT hash FROM entry ORDER BY number DESC").fetchone()
        digest = hashlib.sha256((last + text).encode()).hexdigest()
        connection.execute("INSERT INTO entry (body, hash) VALUES (?, ?)", (text, digest))
    connection.close()
    return True


def _edit_entry(path: Path, what: str, where: float, value: int) -> bool:
    number, column = 1 + int(where * 3), ("body", "certificate", "hash")[value % 3]
    with sqlite3.connect(path) as connection:
        (trigger,) = connection.execute(
            "SELECT sql FROM sqlite_master WHERE name = 'entries_stay'"
        ).fetchone()
        connection.execute("DROP TRIGGER entries_stay")
        (old,) = connection.execute(
            f"SELECT {column} FROM entry WHERE number = ?", (number,)
        ).fetchone()
        if old is None:
            return False
        digits = [i for i, letter in enumerate(old) if letter.isdigit() == (what == "number")]
        index = digits[value * 7919 % len(digits)]
        new = old[:index] + ("7" if what == "number" else "x") + old[index + 1 :]
        connection.execute(f"UPDATE entry SET {column} = ? WHERE number = ?", (new, number))
        connection.execute(trigger)
    connection.close()
    return new != old


_EDITS = {"text": _edit_entry, "number": _edit_entry, "schema": _edit_schema, "body": _add_body}


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("edits", part)
