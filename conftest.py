"""Designs that tests find are kept in a folder of one run, which its workers share.

They are never in the user's cache. What is there is proved again by whoever reads it.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings

# no test depends on a clock or on chance; a test may still choose its number of examples
settings.register_profile("leastnoise", deadline=None, derandomize=True)
settings.load_profile("leastnoise")

pytest_plugins = ("tests.attacks.plugin", "tests.engines.plugin", "tests.slow", "tests.grids")


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEASTNOISE_CACHE", str(folder / "cache"))
        yield folder / "cache"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let each of n workers import the tests from another place, an nth of all modules on.

    All workers collect all tests. On a fresh machine most of that is pytest's own compiling: each
    worker compiles an nth of the modules, and reads what the others have compiled.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if worker and "tests" in session.config.args:
        paths = sorted(Path("tests").rglob("test_*.py"))
        first = worker * len(paths) // workers
        for path in [*paths[first:], *paths[:first]]:
            with suppress(Exception, pytest.skip.Exception):
                import_module(".".join(path.with_suffix("").parts))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without the garbage collector, which would walk all of them again and again.

    The tests live until the end, so that it leaves them out afterwards, too.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """Hand the tests back to the garbage collector, so that nothing counts as leaked at the end."""
    gc.unfreeze()
