"""A pytest plugin for copies of the repository, which `benchmarks.record` makes.

It notes the functions that each test enters: in a copy every function calls `enter`. A process that
a test starts or forks adds its notes to the same test, whose name is in a file that the environment
names. Functions that a module's fixture enters count for all tests of the module, and functions of
a session's fixture for all tests.

With CHOSEN, a file of names, only the named tests run, in this order. Tests that no record knows
run before them.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

IMPORT = "import"  # the name for code before any test, or in a fixture of the session
_PLACE = "ENTERED_BY"  # names the file with the running test; the notes are beside it
_entered: set[int] = set()
_state: dict[str, Any] = {"notes": None, "test": IMPORT}


def enter(function: int) -> None:
    """Note that the running test enters a function."""
    if function not in _entered:
        _entered.add(function)
        _note(function)


def _note(value: float) -> None:
    if _state["notes"] is not None:
        os.write(_state["notes"], f"{json.dumps([_state['test'], value])}\n".encode())


def _join() -> None:
    """Begin the notes of a new test, process or fork."""
    path = Path(os.environ[_PLACE])
    _entered.clear()
    _state["test"] = path.read_text(encoding="utf-8")
    if _state["notes"] is None:
        _state["notes"] = os.open(f"{path}.notes", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.register_at_fork(after_in_child=_join)


if _PLACE in os.environ:
    _join()


def _begin(test: str) -> None:
    if test != _state["test"] and _state["notes"] is not None:
        Path(os.environ[_PLACE]).write_text(test, encoding="utf-8")
        _join()


def pytest_configure() -> None:
    folder, worker = (os.environ.get(name) for name in ("ENTERED", "PYTEST_XDIST_WORKER"))
    if folder and worker:  # not in the process that distributes the tests
        os.environ[_PLACE] = str(Path(folder) / worker)
        Path(folder, worker).write_text(IMPORT, encoding="utf-8")
        _join()


def pytest_runtest_logstart(nodeid: str) -> None:
    _state["start"] = time.monotonic()
    _begin(nodeid)


def pytest_fixture_setup(fixturedef: Any, request: Any) -> None:
    names = {"session": IMPORT, "function": request.node.nodeid}
    _begin(names.get(fixturedef.scope, request.node.nodeid.partition("::")[0]))


def pytest_runtest_call(item: Any) -> None:
    _begin(item.nodeid)


def pytest_runtest_logfinish(nodeid: str) -> None:
    _begin(nodeid)
    _note(-1 - (time.monotonic() - _state["start"]))  # a number below 0 means seconds


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    if path := os.environ.get("CHOSEN"):
        chosen, known = json.loads(Path(path).read_text(encoding="utf-8"))
        ranks = {test: rank for rank, test in enumerate(chosen)}
        others = set(known).difference(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in others])
        kept = [item for item in items if item.nodeid not in others]
        items[:] = sorted(kept, key=lambda item: ranks.get(item.nodeid, -1))
