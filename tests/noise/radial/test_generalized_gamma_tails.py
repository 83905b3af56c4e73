"""The quick δ of generalized gamma noise, beside the one that doesn't cancel."""

from __future__ import annotations

import math
from typing import Any

import pytest

from leastnoise.noise.radial import quantile
from leastnoise.noise.radial.profile import log_delta
from leastnoise.noise.radial.quantile import quick_log_delta
from tests.generalized_gamma import REFERENCES, Reference, law_of

ACCURACY = 1e-10  # of ln δ; worst case measured here: 2.6e-12, where a six-hundredth is left

# dimension, α, p, shift in scales, ε
CASES = (
    (7, 5.89835, 1.051, 0.9145851546915611, 1.0),
    (7, 4.0, 8.0, 0.5, 1.0),
    (7, -0.8, 0.5, 0.5, 1.0),
    (7, 5.9, 0.8, 0.9, 1.0),
    (50, 48.0, 1.7, 0.3, 1.0),
    (50, 48.5, 1.1, 0.02, 0.1),
    (200, 198.5, 1.9, 0.05, 1.0),
    (2, 0.7, 1.5, 0.5, 1.0),
    (2, 1.0, 0.6, 1.4, 1.0),
    (3, 1.5, 1.2, 0.5, 2.0),
    (4, 2.5, 1.3, 0.01, 0.01),
    (20, 18.0, 1.5, 2.0, 10.0),
    (20, 18.0, 1.5, 8.0, 10.0),
    # products of two lengths underflow, and powers of one
    (20, -0.98, 0.3, 8.244573290360111e-166, 20.0),
    (20, 18.998, 8.0, 1.468352193559263, 20.0),
)


def _arguments(case: tuple[int, float, float, float, float]) -> Any:
    dimension, alpha, p, shift, epsilon = case
    return {
        "dimension": dimension,
        "alpha": alpha,
        "kappa": dimension - 1 - alpha,
        "p": p,
        "shift": shift,
        "epsilon": epsilon,
    }


@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees_with_the_route_that_does_not_cancel(
    case: tuple[int, float, float, float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = _arguments(case)
    expected = log_delta(**arguments)

    def other(**_: Any) -> float:
        raise AssertionError

    monkeypatch.setattr(quantile, "log_delta", other)
    assert quick_log_delta(**arguments) == pytest.approx(expected, abs=ACCURACY)


@pytest.mark.parametrize("reference", REFERENCES, ids=str)
def test_references(reference: Reference) -> None:
    law, shift = law_of(reference)
    log_delta = quick_log_delta(
        dimension=law.dimension,
        alpha=float(law.alpha),
        kappa=float(law.kappa),
        p=float(law.p),
        shift=float(shift) / float(law.scale),
        epsilon=float(reference.epsilon),
    )
    assert log_delta == pytest.approx(math.log(reference.delta), abs=ACCURACY)


@pytest.mark.parametrize(
    "case",
    [
        (1, -0.3, 1.2, 1.0, 1.0),  # one dimension
        (7, 5.9, 1.1, 1.0, 0.0),  # ε = 0
        (3, 1.9, 1.3, 1e-7, 1e-7),  # nothing is left of the digits
        (50, 49.0, 1.1, 0.02, 0.1),  # δ = 0
        (1000, 998.5, 1.9, 0.05, 1.0),  # hundreds of terms
    ],
    ids=str,
)
def test_takes_the_other_route_where_it_knows_less(
    case: tuple[int, float, float, float, float],
) -> None:
    arguments = _arguments(case)
    assert quick_log_delta(**arguments) == log_delta(**arguments)
