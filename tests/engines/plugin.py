"""Which Spark the tests of engines are run on: a process has one."""

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
    """Leave out tests without a session of Spark, or with `--spark none` those with one.

    Connect is a client of the same engine. It runs every test function, and of its cases the one
    that the commit chooses; classic Spark runs all. trylast: after those that -m leaves out.
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
