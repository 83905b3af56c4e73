"""The option that chooses the Spark of a run of tests: a process has only one."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("engines", "tests/engines")
    group.addoption(
        "--spark",
        choices=("classic", "connect", "none"),
        help="run the tests of this Spark alone, or those that share no session",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that use a session of Spark; with `--spark none`, keep all others.

    Classic Spark runs all cases. Connect is a client of the same engine, so it runs one case of
    every test function, which the commit chooses. With trylast this runs after -m has left out
    tests.
    """
    kind = config.getoption("--spark")
    if kind is None:
        return
    with_session = kind != "none"
    fit = {
        item.nodeid
        for item in items
        if ("session" in getattr(item, "fixturenames", ())) == with_session
    }
    if kind == "connect":
        from tests import slow  # noqa: PLC0415 (pytest has to import it first)

        fit = slow.one_of_every_function(fit, slow.head())
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in fit])
    items[:] = [item for item in items if item.nodeid in fit]
