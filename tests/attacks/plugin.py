"""Options for the number of attacks, and a line per kind with its attacks at the end of a run."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

TRIED = "attacks tried"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("attacks", "the guard in tests/attacks")
    group.addoption(
        "--attacks", type=int, default=10_000, help="attacks of each kind in the long part"
    )
    group.addoption("--attack-seed", default="1", help="what they are drawn from; any text")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    tried: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                for name, value in report.user_properties:
                    if name == TRIED:
                        kind, count = value
                        tried[kind] += count
    if tried:
        terminalreporter.section("attacks tried")
        for kind, count in sorted(tried.items()):
            terminalreporter.write_line(f"{kind:<16}{count:>8,}")
