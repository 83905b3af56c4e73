"""Sums of the first cells: variances and moments, against enumeration and against draws."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import NotApplicable
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import level_laws
from leastnoise.noise.trees.prefixes import (
    MOST_WORK,
    ORDERS,
    moments_work,
    prefix_moments,
    prefix_variances,
)
from leastnoise.noise.trees.sampler import draw_cells
from tests.noise.trees.oracle import enumerated

_ABOVE = 1.0011  # what a moment is rounded up by, at most
_LEFT_OUT = 1e-4  # of a moment, by enumeration of a box

SMALL = {
    "one level": Agreeing(scale="0.4", branches=(4,), shares=("0.2", "0.8")),
    "two levels": Agreeing(scale="0.35", branches=(2, 2), shares=("0.2", "0.3", "0.5")),
    "no root": Agreeing(scale="0.4", branches=(2, 2), shares=(0, "0.3", "0.7")),
    "no middle": Agreeing(scale="0.4", branches=(2, 2), shares=("0.3", 0, "0.7")),
    "three levels": Agreeing(scale="0.3", branches=(2, 1, 2), shares=("0.1", "0.2", "0.1", "0.6")),
}


@pytest.mark.dense
@pytest.mark.parametrize("level", [0.0, 0.5, 0.3])
@pytest.mark.parametrize("noise", SMALL.values(), ids=SMALL)
def test_moments_are_those_of_the_definition_and_a_little_above(
    noise: Agreeing, level: float
) -> None:
    points, weights = enumerated(noise, 9)
    moments = prefix_moments(noise, level)
    assert moments.shape == (noise.dimension + 1, len(ORDERS))
    for g in range(noise.dimension + 1):
        sums = points[:, :g].sum(axis=1) - level * points.sum(axis=1)
        wanted = [float(weights @ sums**order) for order in ORDERS]
        assert (moments[g] >= (1 - _LEFT_OUT) * np.array(wanted)).all()
        assert (moments[g] <= _ABOVE * (1 + _LEFT_OUT) * np.array(wanted)).all()


@pytest.mark.parametrize("noise", SMALL.values(), ids=SMALL)
def test_variances_are_those_of_the_definition(noise: Agreeing) -> None:
    points, weights = enumerated(noise, 12)
    variances = prefix_variances(noise.branches, [law.variance for law in level_laws(noise)])
    sums = np.cumsum(points, axis=1).astype(float)
    assert variances[1:] == pytest.approx(weights @ sums**2, rel=1e-5)


@pytest.mark.dense
def test_moments_are_those_of_draws() -> None:
    noise = Agreeing(scale=1, branches=(3, 4, 5), shares=("0.1", "0.3", "0.2", "0.4"))
    cells = draw_cells(noise, InsecureSeededEntropy(1), count=20_000)
    sums = np.cumsum(cells, axis=1).astype(float)
    moments = prefix_moments(noise)[1:]
    assert (sums**2).mean(axis=0) == pytest.approx(moments[:, 0], rel=0.05)
    assert (sums**4).mean(axis=0) == pytest.approx(moments[:, 1], rel=0.15)


def test_the_last_cells_have_the_law_of_the_first() -> None:
    noise = SMALL["two levels"]
    points, weights = enumerated(noise, 12)
    for g in range(5):
        last = points[:, 4 - g :].sum(axis=1).astype(float)
        assert prefix_moments(noise)[g, 2] == pytest.approx(float(weights @ last**6), rel=2e-3)
    assert prefix_moments(noise, 0.5) == pytest.approx(prefix_moments(noise, 0.5)[::-1])


@pytest.mark.parametrize("branches", [(1_000,), (1, 10_000), (16, 16, 16, 16)])
def test_moments_that_take_too_much_are_refused_before_anything_is_allocated(
    branches: tuple[int, ...],
) -> None:
    shares = (0,) * len(branches) + (1,)
    noise = Agreeing(scale="0.3", branches=branches, shares=shares)
    assert moments_work(noise) > MOST_WORK
    tracemalloc.start()
    with pytest.raises(NotApplicable, match="units of work"):
        prefix_moments(noise)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 27


@pytest.mark.grid
@pytest.mark.parametrize("branches", [(16,), (4, 4), (1, 16), (2, 2, 2, 2)])
def test_memory_of_moments_is_within_their_work(branches: tuple[int, ...]) -> None:
    noise = Agreeing(scale=4, branches=branches, shares=(0,) * len(branches) + (1,))
    work = moments_work(noise)
    tracemalloc.start()
    prefix_moments(noise, 0.125)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20 * work  # at MOST_WORK some gigabyte


@pytest.mark.parametrize("rate", [10, 15, 30, 60])
@pytest.mark.parametrize("level", [0.0, 0.5, 0.3])
def test_moments_of_noise_that_is_nearly_always_0_keep_their_digits(
    rate: int, level: float
) -> None:
    """They are 1e-9 and less, far below what an FFT loses of the eighth power of a window."""
    shares = ("0.2", "0.2", "0.6")
    noise = Agreeing(scale=Fraction(1, rate), branches=(3, 2), shares=shares)
    points, weights = enumerated(noise, 2)
    moments = prefix_moments(noise, level)
    norms = moments ** (1 / np.array(ORDERS))
    assert (norms[:, 1:] >= norms[:, :-1] * (1 - 1e-12)).all()
    for g in range(noise.dimension + 1):
        sums = points[:, :g].sum(axis=1) - level * points.sum(axis=1)
        wanted = np.array([float(weights @ sums**order) for order in ORDERS])
        allowed = 1e-9 * moments.max(axis=0)
        assert (moments[g] >= (1 - _LEFT_OUT) * wanted).all()
        assert (moments[g] <= _ABOVE * (1 + 2e-2) * wanted + allowed).all()
