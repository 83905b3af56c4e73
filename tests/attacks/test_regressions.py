"""Random tables: a row moves a regression's released sums no further than was proved.

Each case is two neighbouring tables. A fit passes sums without noise to the release. Its
certificate must cover the distance of both tables' sums, and nothing else may differ.
"""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

import leastnoise as ln
from leastnoise.learn import LinearRegression
from tests.attacks.guard import PARTS, Guard

Case = dict[str, Any]

_FEWER = 10
_WIDE = (0, 1e-9, 1e9, -1e300, 1e300, 5e-324, 0.1, -0.0)


def draw_case(random: Random) -> Case:
    features = random.randint(1, 5)
    return {
        "bounds": [_bounds(random) for _ in range(features)],
        "target_bounds": _bounds(random),
        "intercept": random.random() < 0.7,
        "neighbours": random.choice(("replace-one", "add-remove")),
        "epsilon": f"{10 ** random.uniform(-1, 2):.3g}",
        "delta": random.choice((0, "1e-6", "0.01")),
        "rows": random.choice((1, 2, 30)),
        "corners": random.random() < 0.7,
        "seed": random.randrange(1 << 30),
    }


def _bounds(random: Random) -> tuple[float, float]:
    low = random.choice((-1, 0, 0.1, -1e6, 1e16, -1e60, 3e-60))
    return low, low + random.choice((1, 1e-3, 0.7, 1e5)) * max(1.0, abs(low))


def tables_of(case: Case) -> list[NDArray[np.float64]]:
    """Return two neighbouring tables, targets last; values are at, between and beyond bounds."""
    random = Random(case["seed"])
    every = [*case["bounds"], case["target_bounds"]]

    def value(low: float, high: float) -> float:
        if case["corners"] or random.random() < 0.2:
            return random.choice((low, high, low / 2 + high / 2))
        return random.choice((random.uniform(low, high), *_WIDE))

    rows = [[value(*pair) for pair in every] for _ in range(case["rows"] + 1)]
    if case["neighbours"] == "add-remove":
        both = rows, rows[:-1]
    else:
        both = rows[:-1], [*rows[1:-1], rows[-1]]  # the first leaves, the last comes
    return [np.array(table) for table in both]


def attack(case: Case) -> None:
    (first, proof), (second, other) = (_summed(case, table) for table in tables_of(case))
    if proof != other:
        raise AssertionError("the noise depends on a row")
    shift = [a - b for a, b in zip(first, second, strict=True)]
    match proof.sensitivity:
        case ln.L2(bound=bound):
            within = sum((item**2 for item in shift), Fraction(0)) <= bound**2
        case ln.Linf(bound=bound, l0=most):
            within = max(map(abs, shift)) <= bound and sum(map(bool, shift)) <= most
        case _:
            within = False
    if not within:
        far = math.sqrt(sum(item**2 for item in shift)), float(max(map(abs, shift)))
        raise AssertionError(f"moved by {far} in l2 and l∞, under {proof.sensitivity}")


def _summed(case: Case, table: NDArray[np.float64]) -> tuple[list[Fraction], ln.Certificate]:
    """Return the exact sums before noise, and the certificate of that noise."""
    handed: list[list[Fraction]] = []
    release = ln.Mechanism.release

    def caught(self: ln.Mechanism, values: Any) -> Any:
        handed.append([Fraction(value) for value in values])
        return release(self, values)

    model = LinearRegression(
        epsilon=case["epsilon"],
        delta=case["delta"],
        bounds=case["bounds"],
        target_bounds=case["target_bounds"],
        fit_intercept=case["intercept"],
        neighbours=case["neighbours"],
    )
    with mock.patch.object(ln.Mechanism, "release", caught), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table[:, :-1], table[:, -1])
    (sums,) = handed
    if model.certificate_.compositions != 1 or model.certificate_.dimension != len(sums):
        raise AssertionError("the certificate is about another release")
    if not np.isfinite([*model.coef_, model.intercept_]).all():
        raise AssertionError("a number that is none")
    hidden = bool(model.hidden_directions_)
    if not (np.isinf(model.standard_errors_) == hidden).all():
        raise AssertionError("a standard error that says too little, or too much")
    return sums, model.certificate_


@pytest.mark.attack
@pytest.mark.parametrize("part", range(PARTS))
def test_long(guard: Guard, part: int) -> None:
    guard.part("regressions", part, fewer=_FEWER)
