"""The tables in experiments/bodies are recomputed, and compared with theory/bodies.md."""

from __future__ import annotations

import pytest

from tests.experiments.scripts import numbers, script, table

RUN = script("bodies")
ROWS = table("bodies", "variances.csv")
# theory/bodies.md §6, made by code that is not part of leastnoise
BEST = {2: 3.194, 3: 4.662, 4: 6.328, 5: 8.191, 10: 20.41, 20: 58.82, 30: 115.5}


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 5])
def test_variances_are_computed_again(dimension: int) -> None:
    _, *committed = numbers(ROWS[str(dimension)])
    assert RUN.variances(dimension) == pytest.approx(committed, rel=1e-5)


@pytest.mark.parametrize("dimension", RUN.DIMENSIONS)
def test_every_variance_is_above_the_bound(dimension: int) -> None:
    _, *result, bound = numbers(ROWS[str(dimension)])
    pure = result[: len(RUN.SHAPED)]
    assert bound < min(pure) <= BEST.get(dimension, 300)
    assert pure[0] == pytest.approx((dimension + 2) * (dimension + 3) / 6, rel=1e-5)
