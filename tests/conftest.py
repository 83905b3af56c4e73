"""Doctests run in src and docs only: no test file has any."""

from __future__ import annotations

from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    collectors = yield
    return [collector for collector in collectors if type(collector) is pytest.Module]
