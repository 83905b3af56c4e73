"""A small register over time for tests, and processes that die at one of its writes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import leastnoise as ln
from leastnoise.errors import LeastnoiseError
from leastnoise.ledger import series as ledger_series
from leastnoise.ledger.ledger import Ledger
from leastnoise.ledger.state import StateFile
from leastnoise.tables.publish import output, running_totals
from leastnoise.tables.publish.release import Release

KEYS = ["a", "b"]


def spec_of(series: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    section = {"releases": 4, "each": "row", "report": "week", "totals": True, "branches": [2, 2]}
    return {
        "version": 1,
        "data": {"source": "rows.csv", "types": {"week": "int", "place": "text"}},
        "privacy": {"unit": "row", "epsilon": "1", "ledger": {"path": "v.ledger"}},
        "series": section | (series or {}),
        "query": [{"name": "cases", "statistics": ["count"], "group_by": {"place": KEYS}}],
        "output": {"path": "weekly", "format": "csv"},
    } | given


def make(folder: Path) -> None:
    rows = "".join(f"{1 + n % 4},{KEYS[n % 2]}\n" for n in range(80))
    (folder / "rows.csv").write_text(f"week,place\n{rows}")
    ledger = Ledger(folder / "v.ledger")
    ledger.open_account("cases", unit="row", budget=ln.Budget(epsilon=1))


def release(folder: Path, **given: Any) -> Release:
    return Release(**spec_of(**given), folder=folder)


def values(folder: Path) -> dict[str, dict[str, str]]:
    """The texts of all published tables, by release and file."""
    return {
        folder.name: {file.name: file.read_text() for file in sorted(folder.glob("*.csv"))}
        for folder in sorted((folder / "weekly").glob("[0-9]*"))
    }


def put(file: Path, content: bytes | None) -> None:
    if content is None:
        file.unlink(missing_ok=True)
    else:
        file.write_bytes(content)
        file.chmod(0o600)


KILLED, REFUSED = 9, 7


def in_child(work: Callable[[], object]) -> int:
    """Do the work in a forked process; return the exit code of the process."""
    return wait_for(start_child(work))


def start_child(work: Callable[[], object]) -> int:
    """Start the work in a forked process; return the process id."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except LeastnoiseError:
            code = REFUSED
        finally:
            os._exit(code)
    return child


def wait_for(child: int) -> int:
    """The exit code of a forked process."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed(where: str, *, after: bool) -> Callable[[], None]:
    """A function that patches a child process so that it dies before or after one of its writes."""
    owners: dict[str, tuple[Any, str]] = {
        "state": (StateFile, "create"),
        "series": (ledger_series.LedgerSeries, "begin"),
        "commit": (ledger_series.LedgerSeries, "commit"),
        "keep": (ledger_series.LedgerSeries, "_entry"),  # within the transaction
        "table": (running_totals, "write_tables"),
        "rename": (output, "_publish"),
        "mark": (StateFile, "mark_published"),
        "delete": (StateFile, "delete"),
    }
    owner, name = owners[where]

    def patch() -> None:
        usual = getattr(owner, name)

        def dies(*args: Any, **named: Any) -> Any:
            if after:
                usual(*args, **named)
            os._exit(KILLED)

        setattr(owner, name, dies)

    return patch


PLACES = ["state", "series", "commit", "keep", "table", "rename", "mark", "delete"]


def release_in_child(folder: Path, patch: Callable[[], None] | None = None) -> int:
    def work() -> None:
        if patch is not None:
            patch()
        release(folder).run()

    return in_child(work)


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    record = json.loads((path / "release.json").read_text())
    change(record)
    (path / "release.json").write_text(json.dumps(record))
