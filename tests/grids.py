"""Grids of cases that test the same property: `make test` runs some, the gate runs more.

A function with the marker `grid` has such cases. All but one of them are dense (see `tests.slow`).
The commit chooses the one, so that `make test` tries each function, and each commit another case.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.slow import head, marker_of, one_of_every_function


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all but one case of each grid as dense, before a share of the dense tests is chosen."""
    cases = [
        item
        for item in items
        if item.get_closest_marker("grid") is not None and marker_of(item) is None
    ]
    kept = one_of_every_function([item.nodeid for item in cases], head())
    for item in cases:
        if item.nodeid not in kept:
            item.add_marker("dense")


def thin(cases: Iterable[Any], kept: int, *, has_one_name: bool = False) -> list[Any]:
    """The cases for `parametrize`; all but `kept` of them get the marker `dense`.

    The kept cases are spread evenly, from the first to the last; `kept` = 1 keeps the first. A
    tuple holds the values of several arguments, unless the case `has_one_name`.
    """
    listed = list(cases)
    steps = max(kept - 1, 1)
    stay = {round(index * (len(listed) - 1) / steps) for index in range(kept)}

    def mark(case: Any) -> Any:
        several = isinstance(case, tuple) and not has_one_name
        return pytest.param(*(case if several else (case,)), marks=pytest.mark.dense)

    return [case if index in stay else mark(case) for index, case in enumerate(listed)]
