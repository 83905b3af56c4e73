from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from leastnoise.errors import Refused
from leastnoise.numerics.roots import IncreasingRoot

PROBLEMS: dict[str, tuple[Callable[[float], float], float]] = {
    "cubic": (lambda x: x**3 - 2, 2 ** (1 / 3)),
    "line": (lambda x: 1000 * (x - 0.1), 0.1),
    "steep": (lambda x: math.expm1(50 * (x - 1)), 1.0),
    "flat": (lambda x: math.atan(x - 7) ** 3, 7.0),
    "step": (lambda x: -1.0 if x < math.pi else 1.0, math.pi),
    "log": (lambda x: math.log1p(x) - 5 if x > -1 else -1e9, math.exp(5) - 1),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("guess", [0.0, 0.5, 9.0])
def test_ends_on_the_safe_side_and_close(name: str, guess: float) -> None:
    f, root = PROBLEMS[name]
    found = IncreasingRoot(tolerance=1e-12).find(f, guess=guess)
    assert f(found) <= 0
    slack = 1e-12 + 4 * math.ulp(root) if name != "flat" else 1e-4  # a triple root is ill-posed
    assert root - 2 * slack <= found <= root + slack


def test_says_so_when_there_is_no_root() -> None:
    with pytest.raises(Refused, match="No scale"):
        IncreasingRoot(tolerance=1e-9).find(lambda _: -1.0, guess=0.0)
