"""Grids of cases that test the same property: `make test` runs some, the gate runs more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


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
