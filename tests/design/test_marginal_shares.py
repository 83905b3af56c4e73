"""Shares of measured tables and the bound below: the figures of theory/marginals.md."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from leastnoise.balls.core import float_below, precision
from leastnoise.design.marginals import (
    Information,
    Marginals,
    best_shares,
    bound,
    gaussian_information,
    gaussian_optimum,
    geometric_mean_std,
    log_variance,
    pure_information,
)
from leastnoise.design.variance_bound import least_variance
from leastnoise.guarantees.budget import Budget

ONE = Budget(epsilon=1, delta=0)
CENSUS = Marginals(sizes=(20, 2, 10), tables=tuple(range(8)))
TWO_WAY = Marginals(
    sizes=(2, 5, 10, 20), tables=tuple(one for one in range(16) if one.bit_count() < 3)
)


def geometric(marginals: Marginals) -> Information:
    count = len(marginals.every)
    return pure_information(1.0, np.ones(count), whole=np.full(count, fill_value=True))


def mean_of(marginals: Marginals, shares: dict[int, Fraction]) -> float:
    weights = [1.0] * len(marginals.tables)
    value = log_variance(marginals, shares, weights, geometric(marginals))
    return geometric_mean_std(value, len(weights))


def bound_of(marginals: Marginals, budget: Budget) -> float:
    count = len(marginals.tables)
    return geometric_mean_std(bound(marginals, [Fraction(1)] * count, budget=budget), count)


def test_the_census_table() -> None:
    shares = best_shares(CENSUS, [1.0] * 8, geometric(CENSUS))
    assert shares == {2: Fraction(23, 100), 7: Fraction(77, 100)}
    assert mean_of(CENSUS, shares) == pytest.approx(5.476, abs=1e-3)
    assert mean_of(CENSUS, {7: Fraction(1)}) == pytest.approx(6.069, abs=1e-3)
    assert bound_of(CENSUS, ONE) == pytest.approx(2.8708, abs=1e-4)
    assert bound_of(CENSUS, Budget(epsilon=1, delta="1e-8")) == pytest.approx(2.8708, abs=1e-4)
    assert bound_of(CENSUS, Budget(epsilon=1, delta="1e-2")) == pytest.approx(2.6049, abs=1e-4)


def test_the_two_way_tables() -> None:
    shares = best_shares(TWO_WAY, [1.0] * 11, geometric(TWO_WAY))
    assert mean_of(TWO_WAY, shares) < 8.76
    assert len(shares) == 6
    assert sum(shares.values()) == 1
    assert bound_of(TWO_WAY, ONE) == pytest.approx(3.3897, abs=1e-4)
    optimum = TWO_WAY.variances(gaussian_optimum(TWO_WAY, [1.0] * 11))
    mean = 5.1003 * math.exp(np.log(optimum).mean() / 2)
    assert mean == pytest.approx(12.74, abs=0.01)
    gaussian = gaussian_information(5.1003, np.ones(16))
    shares = best_shares(TWO_WAY, [1.0] * 11, gaussian)
    found = geometric_mean_std(log_variance(TWO_WAY, shares, [1.0] * 11, gaussian), 11)
    assert mean - 1e-9 <= found < mean + 0.01


@pytest.mark.parametrize("marginals", [CENSUS, TWO_WAY], ids=["census", "two-way"])
def test_the_gaussian_optimum_is_feasible_and_no_other_is_better(marginals: Marginals) -> None:
    count = len(marginals.tables)
    theta = gaussian_optimum(marginals, [1.0] * count)
    contrasts = np.array([marginals.contrasts(one) for one in marginals.every], dtype=float)
    whole = marginals.cells(len(theta) - 1)
    assert theta @ contrasts == pytest.approx(whole, rel=1e-12)
    least = np.log(marginals.variances(theta)).sum()
    random = np.random.default_rng(2)
    for size in (0.01, 0.3, 2.0):
        for _ in range(50):
            moved = np.maximum(theta, 1e-6) * np.exp(size * random.normal(size=len(theta)))
            moved *= whole / (moved @ contrasts)
            assert np.log(marginals.variances(moved)).sum() >= least - 1e-9


@pytest.mark.parametrize("marginals", [CENSUS, TWO_WAY], ids=["census", "two-way"])
@pytest.mark.parametrize("delta", ["0", "1e-8", "0.1"])
def test_the_bound_is_the_gaussian_optimum_at_the_least_variance(
    marginals: Marginals, delta: str
) -> None:
    """Proved at the optimum's own tangent, it can't be above the optimum, and hardly below."""
    budget, count = Budget(epsilon=1, delta=delta), len(marginals.tables)
    optimum = marginals.variances(gaussian_optimum(marginals, [1.0] * count))
    with precision():
        least = float_below(least_variance(budget))
    value = count * math.log(4 * least) + float(np.log(optimum).sum())
    found = bound(marginals, [Fraction(1)] * count, budget=budget, reach=Fraction(2))
    assert value - 1e-6 < found <= value + 1e-9


def test_any_tangent_is_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """The floats that propose θ may be wrong: the bound is lower then, and still one."""
    value = bound(CENSUS, [Fraction(1)] * 8, budget=ONE)
    right = gaussian_optimum(CENSUS, [1.0] * 8)
    random = np.random.default_rng(3)
    for _ in range(20):
        wrong = right * np.exp(random.normal(size=8))
        monkeypatch.setattr(
            "leastnoise.design.marginals.gaussian_optimum", lambda *_, theta=wrong: theta
        )
        assert bound(CENSUS, [Fraction(1)] * 8, budget=ONE) < value + 1e-9


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("sizes", [(2, 2), (7, 1, 3), (3, 4, 2)])
def test_no_worse_than_the_cells_summed_or_a_share_for_each(
    sizes: tuple[int, ...], epsilon: float
) -> None:
    count = 2 ** len(sizes)
    for tables in (tuple(range(count)), (count - 1, 0), (count - 1, 1, 2)):
        marginals = Marginals(sizes=sizes, tables=tables)
        for whole in (True, False):
            reaches = np.array([1.0, *[2.0] * (count - 1)])
            info = pure_information(epsilon, reaches, whole=np.full(count, fill_value=whole))
            weights = [1.0] * len(tables)
            shares = best_shares(marginals, weights, info)
            assert sum(shares.values()) == 1
            found = log_variance(marginals, shares, weights, info)
            each = Fraction(1, len(tables))
            for naive in ({count - 1: Fraction(1)}, dict.fromkeys(tables, each)):
                # shares are in parts of a thousand
                assert found <= log_variance(marginals, naive, weights, info) + 0.02
            apart = np.zeros(count)
            apart[list(tables)] = float(each)
            assert found <= -np.log(info(apart)[0][list(tables)]).sum() + 0.02
