"""Sums over independent trees, against convolutions of enumerated laws."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from leastnoise.noise.trees import copies
from leastnoise.noise.trees.copies import Laws, moments_of_copies
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import level_laws
from leastnoise.noise.trees.prefixes import ORDERS
from tests.noise.trees.oracle import enumerated

NOISE = Agreeing(scale="0.6", branches=(2, 2), shares=("0.2", "0.3", "0.5"))
_REACH = 9
_SLACK = 1e-4  # of a probability: for what the box leaves out, and for what is given away


def convolved(sums: NDArray[np.int64], chances: NDArray[np.float64], times: int) -> NDArray:
    """Return P(S = t), t = −T, …, T, of the sum of independent copies, one after another."""
    law = np.bincount(sums + 4 * _REACH, weights=chances, minlength=8 * _REACH + 1)
    summed = law
    for _ in range(times - 1):
        summed = np.convolve(summed, law)
    return summed


def inside(law: NDArray, half: float) -> float:
    """Return P(|S| <= half)."""
    middle = len(law) // 2
    places = np.abs(np.arange(len(law)) - middle)
    return float(law[places <= half].sum())


@pytest.mark.grid
@pytest.mark.parametrize("times", [1, 2, 3, 5, 16])
@pytest.mark.parametrize("coverage", [0.5, 0.95, 0.99])
def test_half_widths_are_the_smallest(times: int, coverage: float) -> None:
    points, chances = enumerated(NOISE, _REACH)
    of_prefixes = Laws.of_prefixes(NOISE, 4).half_widths(times, coverage)
    of_nodes = [Laws.of_node(law).half_widths(times, coverage)[0] for law in level_laws(NOISE)]
    numbers = [
        *points.cumsum(axis=1).T,
        points.sum(axis=1),
        points[:, :2].sum(axis=1),
        points[:, 0],
    ]
    for number, half in zip(numbers, [*of_prefixes, *of_nodes], strict=True):
        law = convolved(number, chances, times)
        assert inside(law, half) >= coverage - _SLACK
        assert inside(law, half - 1) < coverage + _SLACK


@pytest.mark.parametrize("times", [1, 2, 3, 7])
def test_moments_are_bounds_and_near(times: int) -> None:
    points, chances = enumerated(NOISE, _REACH)
    moments = moments_of_copies(Laws.of_prefixes(NOISE, 4).moments, times)
    for number, bounds in zip(points.cumsum(axis=1).T, moments, strict=True):
        law = convolved(number, chances, times)
        places = np.arange(len(law), dtype=float) - len(law) // 2
        for order, bound in zip(ORDERS, bounds, strict=True):
            assert law @ places**order <= bound * (1 + 1e-4)
            assert law @ places**order >= bound * 0.9  # the box cuts; measured: .94 for one


def test_without_laws_half_widths_are_wider_and_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = Laws.of_prefixes(NOISE, 4).half_widths(3, 0.95)
    monkeypatch.setattr(copies, "MOST_NUMBERS", 0)
    wide = Laws.of_prefixes(NOISE, 4).half_widths(3, 0.95)
    assert (exact < wide).all()
    assert (wide < 2 * exact + 2).all()
    monkeypatch.setattr(copies, "prefix_laws", lambda _noise: None)
    assert (Laws.of_prefixes(NOISE, 4).half_widths(3, 0.95) == wide).all()
