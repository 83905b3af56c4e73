"""Designs that tests find are kept in a folder of one run, which its workers share.

They are never in the user's cache. What is there is proved again by whoever reads it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

pytest_plugins = ("tests.attacks.plugin", "tests.engines.plugin", "tests.slow")


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEASTNOISE_CACHE", str(folder / "cache"))
        yield folder / "cache"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let every other worker import the tests from the end.

    All workers collect all tests. On a fresh machine most of that is pytest's own compiling: so two
    workers compile half of the modules each, and read what the other has compiled.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    if int(worker.removeprefix("gw")) % 2 and "tests" in session.config.args:
        for path in sorted(Path("tests").rglob("test_*.py"), reverse=True):
            with suppress(Exception, pytest.skip.Exception):
                import_module(".".join(path.with_suffix("").parts))
