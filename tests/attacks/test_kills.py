"""Releases killed at random moments: all published output was charged, and no rows are left."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random

import pytest

import leastnoise as ln
from tests.attacks import releases
from tests.attacks.guard import PARTS, Guard

Case = tuple[bool, tuple[float, ...]]

IN_ONE = 5  # kills of one case, on one ledger
_SECRET = "name-that-nobody-may-find"
_SPEC = """version = 1
data = {{ source = "rows.csv", types = {{ person = "text", x = "int" }} }}
privacy = {{ unit = "person", epsilon = "0.01", ledger = {{ path = "a.ledger" }} }}
contribution = {{ max_rows = 2 }}
query = [{{ name = "n", statistics = ["count"] }}]
output = {{ path = "out-{number}", format = "csv" }}
"""
_ROWS = b"person,x\n" + b"".join(
    b"%s-%d,%d\n" % (_SECRET.encode(), i // 2, i % 5) for i in range(200)
)


def draw_case(random: Random) -> Case:
    # most of a release is over in a tenth of a second; some are killed later, and are done by then
    moments = tuple(round(random.random() ** 2 * 0.25, 4) for _ in range(IN_ONE))
    return random.random() < 0.5, moments


@cache
def _usual() -> float:
    """Return the seconds that a release takes here; moments of kills are fractions of them."""
    folder = Path(tempfile.mkdtemp())
    _prepare(folder, odd=False)
    releases.plan_once()
    ln.Release.from_toml(folder / "spec-0.toml").plan()
    started = time.monotonic()
    _, status = os.waitpid(_released(folder, 0), 0)
    assert status == 0
    return time.monotonic() - started


def _prepare(folder: Path, *, odd: bool) -> None:
    # one byte that isn't UTF-8 made a copy of the whole file once
    (folder / "rows.csv").write_bytes(_ROWS + (b"\xff,1\n" if odd else b""))
    releases.account(folder / "a.ledger", "1000")
    for number in range(IN_ONE):
        (folder / f"spec-{number}.toml").write_text(_SPEC.format(number=number))


def _released(folder: Path, number: int) -> int:
    """Start a release in a process of its own, with its own temporary folder; return its id."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        tempfile.tempdir = str(folder / "temporary")
        os.environ["TMPDIR"] = tempfile.tempdir
        os.makedirs(tempfile.tempdir, exist_ok=True)
        ln.Release.from_toml(folder / f"spec-{number}.toml").run()
        status = 0
    finally:
        os._exit(status)


def attack(case: Case) -> None:
    odd, moments = case
    usual = _usual()
    folder = Path(tempfile.mkdtemp())
    _prepare(folder, odd=odd)
    ledger = ln.Ledger(folder / "a.ledger")
    killed = 0
    for number, moment in enumerate(moments):
        child = _released(folder, number)
        time.sleep(moment * 8 * usual)
        os.kill(child, signal.SIGKILL)
        killed += os.waitpid(child, 0)[1] != 0
        _check(folder, ledger, number)
    shutil.rmtree(folder)


def _check(folder: Path, ledger: ln.Ledger, number: int) -> None:
    published = [path for path in folder.iterdir() if path.name.startswith("out-")]
    account = ledger.accounts()["a"]
    assert len(published) <= account.charges, "published and not charged"
    assert account.charges <= number + 1, "charged more often than released"
    assert account.spent.epsilon == account.charges * Fraction(1, 100)
    for path in published:
        names = {file.name for file in path.iterdir()}
        assert names == {"n.csv", "plan.json", "certificate.json", "spec.toml", "release.json"}
    assert ln.check_ledger(folder / "a.ledger").entries == account.charges + 1
    for file in folder.rglob("*"):
        if file.is_file() and file.name != "rows.csv":
            assert _SECRET.encode() not in file.read_bytes(), f"rows in {file.relative_to(folder)}"


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("kills", part)
