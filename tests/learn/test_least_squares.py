"""Least squares from moments: equal to numpy's without noise; errors by finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from leastnoise.learn.least_squares import solve
from leastnoise.learn.moments import Moments, NoisyMoments
from leastnoise.learn.training import BITS

Floats = NDArray[np.float64]


def data(rows: int = 500) -> tuple[Floats, Floats]:
    draws = np.random.default_rng(7)
    x = np.column_stack([draws.uniform(-1, 1, rows), draws.uniform(-0.8, 0.1, (rows, 2))])
    y = 0.3 + x @ [0.4, -0.2, 0.1] + 0.05 * draws.normal(size=rows)
    return x, y


def layout(*, constant: bool, counted: bool = False) -> Moments:
    return Moments(variables=4, constant=constant, counted=counted)


def sums_of(moments: Moments, x: Floats, y: Floats) -> Floats:
    columns = np.column_stack([x, y])
    return moments.sums(np.trunc(columns * 2**BITS)).astype(float)


def published(moments: Moments, values: Floats, variance: float) -> NoisyMoments:
    rows = None if moments.counted else 500
    return moments.read(values, np.full(moments.dimension, variance), rows=rows)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 20.0])
def test_without_noise_it_is_least_squares(constant: bool, ridge: float) -> None:
    x, y = data()
    moments = layout(constant=constant)
    solution = solve(
        published(moments, sums_of(moments, x, y), 1e-12), constant=constant, ridge=ridge
    )
    expected = Ridge(alpha=ridge, fit_intercept=constant).fit(x, y)
    assert solution.weights[1:] == pytest.approx(expected.coef_, abs=1e-4)
    assert solution.weights[0] == pytest.approx(expected.intercept_, abs=1e-4)
    assert solution.hidden == 0
    if not ridge:
        design = np.column_stack([np.ones(len(x)), x])[:, not constant :]
        weights, left, *_ = np.linalg.lstsq(design, y, rcond=None)
        assert solution.weights[not constant :] == pytest.approx(weights, abs=1e-4)
        usual = left / (len(y) - design.shape[1]) * np.linalg.inv(design.T @ design)
        assert solution.covariance[not constant :, not constant :] == pytest.approx(usual, rel=1e-3)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 20.0])
def test_what_noise_moves_is_what_moving_each_number_moves(
    constant: bool, counted: bool, ridge: float
) -> None:
    x, y = data()
    moments = layout(constant=constant, counted=counted)
    values = sums_of(moments, x, y)
    # residuals of 0 leave the noise alone, and a ridge is the same at any noise
    values = sums_of(moments, x, 0.3 * constant + x @ [0.4, -0.2, 0.1]) if not ridge else values
    small, variance = 1e-3, 0.04
    before = solve(published(moments, values, variance), constant=constant, ridge=ridge)
    total = np.zeros((4, 4))
    for index in range(moments.dimension):
        both = []
        for sign in (-1, 1):
            moved = values.copy()
            moved[index] += sign * small
            there = solve(published(moments, moved, variance), constant=constant, ridge=ridge)
            both.append(there.weights)
        slope = (both[1] - both[0]) / (2 * small)
        total += variance * np.outer(slope, slope)
    alone = solve(published(moments, values, 1e-12), constant=constant, ridge=ridge).covariance
    assert before.hidden == 0
    assert before.covariance - alone == pytest.approx(total, rel=2e-3, abs=1e-9)


def test_directions_that_noise_hides_are_drawn_to_0() -> None:
    x, y = data()
    x[:, 1] = x[:, 0] + 0.01 * x[:, 1]  # nearly the same
    moments = layout(constant=True)
    values = sums_of(moments, x, y)
    solution = solve(published(moments, values, 9.0), constant=True, ridge=0)
    assert solution.hidden == 1
    assert abs(solution.weights[1] - solution.weights[2]) < 0.05
    everything = solve(published(moments, values, 1e6), constant=True, ridge=0)
    assert everything.hidden == 3
    assert np.abs(everything.weights[1:]).max() < 0.1
    assert np.isfinite(everything.covariance).all()


@pytest.mark.parametrize("count", [-50.0, 0.0, 0.3])
def test_a_count_that_noise_made_small_gives_numbers(count: float) -> None:
    moments = layout(constant=True, counted=True)
    values = np.random.default_rng(1).normal(size=moments.dimension) * 10
    values[0] = count
    solution = solve(published(moments, values, 100.0), constant=True, ridge=0)
    assert solution.hidden == 3
    assert np.isfinite(solution.weights).all()
    assert (np.diag(solution.covariance) > 0).all()
