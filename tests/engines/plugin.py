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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests without a session of Spark, or with `--spark none` those with one."""
    kind = config.getoption("--spark")
    if kind is None:
        return
    with_session = kind != "none"
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        fits = ("session" in getattr(item, "fixturenames", ())) == with_session
        (kept if fits else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept
