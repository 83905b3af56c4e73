"""Intervals of correlations: the largest r in a box, and how often they hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from leastnoise.errors import NotApplicable
from leastnoise.learn import EmpiricalCovariance, correlations
from leastnoise.learn.correlations import MomentBox, find_largest

Floats = NDArray[np.float64]
BOUNDS = (-4, 4)


def boxes(number: int) -> Iterator[MomentBox]:
    """Boxes around the moments of some columns in [−1, 1]."""
    draws = np.random.default_rng(5)
    for _ in range(number):
        x, y = draws.uniform(-1, 1, (2, 8)) * draws.uniform(0.2, 1, (2, 1))
        y = np.clip(y + draws.uniform(-1, 1) * x + draws.uniform(-1, 1), -1, 1)
        around = draws.choice([0.001, 0.02, 0.1]) * draws.uniform(0, 1, 5)
        middles = x.mean(), y.mean(), (x * x).mean(), (y * y).mean(), (x * y).mean()
        ends = [(float(m - h), float(m + h)) for m, h in zip(middles, around, strict=True)]
        yield MomentBox(*ends)


def correlation(a: Floats, b: Floats, others: tuple[float, float, float]) -> Floats:
    s, t, p = others
    v, w = s - a * a, t - b * b
    possible = (v > 0) & (w > 0)
    return np.where(possible, (p - a * b) / np.sqrt(np.where(possible, v * w, 1.0)), -np.inf)


def test_it_is_the_largest_in_the_box_by_another_route() -> None:
    """A grid of means for each corner of the others: never above, and near it on a fine grid."""
    sharp = 0
    for box in boxes(300):
        a, b = np.meshgrid(*(np.linspace(*ends, 41) for ends in (box.a, box.b)))
        others = product(box.s, box.t, box.p)
        by_grid = max(float(correlation(a, b, corner).max()) for corner in others)
        largest = find_largest(box)
        assert largest >= min(by_grid, 1.0)
        if largest not in {0.0, 1.0}:
            sharp += 1
            assert largest == pytest.approx(by_grid, abs=2e-3)
    assert sharp > 150


@pytest.mark.parametrize(
    ("box", "largest"),
    [
        (MomentBox((0, 0), (0, 0), (0.2, 0.3), (0.2, 0.3), (0.1, 0.15)), 0.75),
        (MomentBox((0, 0), (0, 0), (0.2, 0.3), (0.2, 0.3), (-0.15, -0.09)), -0.3),
        (MomentBox((0, 0), (0, 0), (0.2, 0.3), (0.2, 0.3), (0.1, 0.25)), 1.0),
        # at the origin, inside the rectangle: everywhere else r is smaller
        (MomentBox((-0.1, 0.1), (0, 0), (0.25, 0.25), (0.25, 0.25), (-0.2, -0.1)), -0.4),
        # a variance may be 0
        (MomentBox((0.5, 0.6), (0, 0), (0.3, 0.4), (0.2, 0.3), (0.1, 0.2)), 1.0),
        (MomentBox((0.5, 0.6), (0.5, 0.5), (0.3, 0.35), (0.4, 0.5), (0.1, 0.2)), 0.0),
    ],
)
def test_some_boxes_by_hand(box: MomentBox, largest: float) -> None:
    assert find_largest(box) == pytest.approx(largest, abs=1e-12)
    assert find_largest(box) >= largest


def columns(rows: int) -> Floats:
    draws = np.random.default_rng(7)
    common = draws.normal(0, 1, (rows, 1))
    computed = draws.normal(0, 1, (rows, 3))
    return np.clip(common * [1.0, 0.6, -0.3] + computed * [0.5, 0.8, 0.9] + [1, 0, -1], *BOUNDS)


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("rows", [300, 3000])
def test_intervals_hold(neighbours: str, rows: int) -> None:
    """A mean of at most 5 % of 200 releases miss: more than 33 do with probability below 1e-7."""
    x = columns(rows)
    truth = np.corrcoef(x.T)
    missed = np.zeros((3, 3), dtype=int)
    for _ in range(200):
        model = EmpiricalCovariance(
            epsilon=1, delta="1e-6", bounds=BOUNDS, neighbours=neighbours
        ).fit(x)
        missed += (truth < model.correlation_low_ - 1e-9) | (truth > model.correlation_high_ + 1e-9)
    assert missed.max() <= 33


def test_intervals_are_narrow_for_ten_thousand_rows() -> None:
    model = EmpiricalCovariance(epsilon=1, delta=0, bounds=BOUNDS).fit(columns(10_000))
    off = ~np.eye(3, dtype=bool)
    widths = (model.correlation_high_ - model.correlation_low_)[off]
    assert (widths > 0.005).all()
    assert (widths < 0.4).all()
    assert np.diag(model.correlation_low_) == pytest.approx(1)
    assert model.correlation_low_ == pytest.approx(model.correlation_low_.T, abs=1e-12)


def test_a_column_without_spread_may_have_any_correlation() -> None:
    x = columns(2000)
    x[:, 0] = 1.5
    model = EmpiricalCovariance(epsilon=1, delta=0, bounds=BOUNDS).fit(x)
    assert (model.correlation_low_[0, 1:] <= 0).all()
    assert (model.correlation_high_[0, 1:] >= 0).all()


def test_an_unknown_law_of_one_number_leaves_everything_possible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(*_: object) -> Floats:
        raise NotApplicable(family="mine", why="the law of one coordinate isn't known")

    monkeypatch.setattr(correlations, "half_widths", unknown)
    model = EmpiricalCovariance(epsilon=1, delta=0, bounds=BOUNDS).fit(columns(500))
    off = ~np.eye(3, dtype=bool)
    assert (model.correlation_low_[off] == -1).all()
    assert (model.correlation_high_[off] == 1).all()
    assert math.isfinite(model.correlation_[0, 1])
