"""Which Spark the tests of engines are run on: one of them a process, as Spark has it."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("engines", "tests/engines")
    group.addoption("--spark", choices=("classic", "connect"), default="classic")
