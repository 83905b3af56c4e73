"""Covariances equal numpy's without noise, and their errors are as large as stated."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.covariance import EmpiricalCovariance as Exact
from sklearn.utils.estimator_checks import check_estimator

import leastnoise as ln
from leastnoise.errors import InvalidArgument, OverBudget
from leastnoise.learn import EmpiricalCovariance
from leastnoise.learn.covariance import estimate
from leastnoise.learn.moments import Moments
from tests.grids import thin

Floats = NDArray[np.float64]
COUNTED = {"neighbours": "add-remove"}
BOTH = pytest.mark.parametrize("more", [{}, COUNTED], ids=str)


def data(rows: int = 3000) -> Floats:
    draws = np.random.default_rng(6)
    common = draws.uniform(0, 5, (rows, 1))
    return np.column_stack([common + draws.uniform(0, 5, (rows, 2)), draws.uniform(0, 90, rows)])


def model(**changes: Any) -> EmpiricalCovariance:
    asked = {"epsilon": 1, "delta": "1e-6", "bounds": [(0, 10), (0, 12), (0, 100)]}
    return EmpiricalCovariance(**(asked | changes))


@pytest.mark.filterwarnings("ignore")  # scikit-learn's checks warn about themselves, too
def test_it_passes_the_checks_of_scikit_learn() -> None:
    fresh = {"check_fit_idempotent": "noise is fresh"}
    check_estimator(model(bounds=(-10, 10)), expected_failed_checks=fresh)


@BOTH
def test_without_noise_to_speak_of_it_is_the_rows_covariance(more: dict[str, Any]) -> None:
    x = data()
    noise = model(epsilon=10**5, delta="0.1", **more).fit(x)
    expected = Exact().fit(x)
    assert noise.location_ == pytest.approx(expected.location_, rel=1e-5)
    assert noise.covariance_ == pytest.approx(expected.covariance_, rel=1e-3, abs=1e-2)
    assert noise.correlation_ == pytest.approx(np.corrcoef(x.T), abs=1e-3)


@pytest.mark.dense
@pytest.mark.parametrize("more", thin([{}, COUNTED], 1), ids=str)
def test_errors_are_as_large_as_is_said(more: dict[str, Any]) -> None:
    """Mean squares of errors over standard errors: 1, found to about ±.08."""
    x = data()
    means, covariance = x.mean(axis=0), np.cov(x.T, ddof=0)
    above = np.triu_indices(3)
    squares: list[Floats] = []
    for _ in range(200):
        noise = model(**more).fit(x)
        off = np.append(
            (noise.location_ - means) / noise.location_standard_errors_,
            ((noise.covariance_ - covariance) / noise.standard_errors_)[above],
        )
        squares.append(off**2)
    assert 0.5 < np.mean(squares) < 1.5
    assert (np.abs(np.log(np.mean(squares, axis=0))) < np.log(2.5)).all()


@pytest.mark.parametrize("counted", [True, False])
def test_standard_errors_are_what_moving_each_number_moves(counted: bool) -> None:
    moments = Moments(variables=3, constant=True, counted=counted)
    whole = np.trunc((data(500) / [5, 6, 50] - 1) * 2**20)
    values = moments.sums(whole).astype(float)
    variances = np.random.default_rng(1).uniform(1, 2, moments.dimension)
    rows = None if counted else 500
    result = estimate(moments.read(values, variances, rows=rows))
    totals = np.zeros(3), np.zeros((3, 3))
    for index, variance in enumerate(variances):
        ends = []
        for sign in (-1, 1):
            moved = values.copy()
            moved[index] += sign * 1e-3
            ends.append(estimate(moments.read(moved, variances, rows=rows)))
        slope = (ends[1].means - ends[0].means) / 2e-3
        totals[0][:] += variance * slope**2
        totals[1][:] += variance * ((ends[1].covariance - ends[0].covariance) / 2e-3) ** 2
    assert result.mean_errors**2 == pytest.approx(totals[0], rel=1e-4)
    assert result.errors**2 == pytest.approx(totals[1], rel=1e-3)


@BOTH
@pytest.mark.parametrize("rows", [1, 3, 100])
def test_where_there_is_only_noise_it_is_a_covariance_still(
    rows: int, more: dict[str, Any]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        noise = model(epsilon="0.01", **more).fit(data(rows))
    scaled = noise.covariance_ / np.outer([5, 6, 50], [5, 6, 50])
    assert (np.linalg.eigvalsh(scaled) > -1e-9).all()
    assert (np.linalg.eigvalsh(scaled) < 3 + 1e-9).all()
    assert (np.abs(noise.correlation_) <= 1).all()
    assert ((noise.location_ >= 0) & (noise.location_ <= [10, 12, 100])).all()


def test_what_makes_no_sense_is_refused_and_numbers_are_not_quoted() -> None:
    with pytest.raises(InvalidArgument, match="bounds"):
        model(bounds=None).fit(data(20))
    with pytest.raises(InvalidArgument, match="delta"):
        model(delta=None, **COUNTED).fit(data(20))
    for wrong in (np.nan, np.inf):
        x = data(20)
        x[3, 1] = wrong
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model().fit(x)
    with pytest.raises(ValueError, match="2D") as caught:
        model().fit([123.456, 2])
    assert "123.456" not in str(caught.value)


def test_a_ledger_is_charged(tmp_path: Path) -> None:
    ledger = ln.Ledger(tmp_path / "rows.ledger")
    budget = ln.Budget(epsilon="1.5", delta="1e-5")
    ledger.open_account("rows", unit="row", budget=budget, neighbours="replace-one")
    noise = model(ledger=ledger).fit(data(20))
    assert noise.privacy_.charged is not None
    assert noise.certificate_.verify().certainly_at_most("1e-6")
    with pytest.raises(OverBudget):
        model(ledger=ledger).fit(data(20))
