"""Real processes that charge one ledger: killed at any instant, or running at once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from leastnoise.ledger.check import check_ledger
from tests.ledger.releases import account

SPEC = """
version = 1
data = { source = "rows.csv", types = { person = "int", x = "int" } }
privacy = { unit = "person", epsilon = "0.01", ledger = { path = "budget.ledger" } }
contribution = { max_rows = 2 }
query = [{ name = "n", statistics = ["count"] }]
"""
ROWS = "person,x\n" + "".join(f"{row // 2},{row % 5}\n" for row in range(100))

# Releases for ever; the plan is found once, since finding noise is not what is to be killed.
RELEASES = """
import sys
from pathlib import Path
from leastnoise.tables.plan.make_plan import plan as plans
from leastnoise.tables.publish.release import Release
folder, name = Path(sys.argv[1]), sys.argv[2]
spec = (folder / "spec.toml").read_text()
plan = Release.from_toml(folder / "spec.toml").plan()
plans.plan = lambda spec, progress=None: plan
print("ready", flush=True)
for number in range(10**6):
    own = folder / f"spec{name}.toml"
    own.write_text(spec + f'output = {{ path = "out-{name}-{number}", format = "csv" }}')
    Release.from_toml(own).run()
"""

# Charges until refused, and says how often it was not.
CHARGES = """
import sys
from leastnoise.errors import OverBudget
from leastnoise.ledger.ledger import Ledger
from tests.ledger.releases import certificate
one, count = certificate("laplace", "0.01"), 0
print("ready", flush=True)
sys.stdin.readline()
try:
    while True:
        Ledger(sys.argv[1]).charge(one, unit="person")
        count += 1
except OverBudget:
    print(count)
"""
ROOT = Path(__file__).parent.parent.parent


def launched(program: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a process with the program, which prints "ready" after its imports."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def wait_for(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


def until_seen(path: Path) -> float:
    """Wait until something is published at `path`; return how long that took, in seconds."""
    start = time.monotonic()
    while not path.exists():
        time.sleep(0.001)
    return time.monotonic() - start


def kill_releases(folder: Path, times: int) -> None:
    (folder / "rows.csv").write_text(ROWS)
    ledger = account(folder, "1000")
    (folder / "spec.toml").write_text(SPEC)
    draw = random.Random(11)
    published = charged = 0
    takes = 0.0
    for name in range(times):
        process = launched(RELEASES, folder, name)
        wait_for(process)
        if name:  # some end before it, some don't
            time.sleep(draw.uniform(0, 2 * takes))
        else:
            takes = until_seen(folder / "out-0-0")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        spent = ledger.accounts()["visits"]
        published = sum(path.name.startswith("out-") for path in folder.iterdir())
        # every release that can be seen is charged; of this process at most one charge is lost
        assert published <= spent.charges
        assert spent.spent.epsilon == spent.charges * Fraction(1, 100)
        assert spent.charges - published <= name + 1
        charged = spent.charges
    assert published > 0
    assert check_ledger(ledger.path).entries == charged + 1


@pytest.mark.dense
def test_killed_at_random_instants_nothing_is_seen_that_was_not_charged(tmp_path: Path) -> None:
    kill_releases(tmp_path, 5)  # tests/attacks has more of them


@pytest.mark.dense
def test_eight_processes_on_one_budget_never_overspend(tmp_path: Path) -> None:
    ledger = account(tmp_path, "1", rule="sums")
    processes = [launched(CHARGES, ledger.path) for _ in range(8)]
    for process in processes:
        wait_for(process)
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    counts = [int(process.communicate()[0]) for process in processes]
    assert sum(counts) == 100
    assert max(counts) < 100  # they did meet
    spent = ledger.accounts()["visits"].spent
    assert spent.epsilon == 1
    assert check_ledger(ledger.path).entries == 101
