"""Half-widths of sums of the first cells, against enumeration, other windows and draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import InvalidArgument
from leastnoise.noise.trees import prefixes
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import level_laws
from leastnoise.noise.trees.prefixes import MOST_LAW_WORK, law_work, prefix_half_widths
from leastnoise.noise.trees.sampler import draw_cells
from tests.noise.trees.oracle import enumerated
from tests.noise.trees.test_prefixes import SMALL

_COVERAGES = (0.5, 0.9, 0.95, 1 - 0.05 / 3)
_NEAR = 3e-6  # of a probability: what is given away, and left out by enumeration
DEEP = Agreeing(
    scale=1, branches=(2, 3, 3, 3, 3), shares=(0, "0.138", "0.184", "0.19", "0.126", "0.362")
)


@pytest.mark.parametrize("noise", SMALL.values(), ids=SMALL)
def test_half_widths_are_the_least_that_hold_by_enumeration(noise: Agreeing) -> None:
    points, weights = enumerated(noise, 9)
    sums = np.abs(np.cumsum(points, axis=1))
    for coverage in _COVERAGES:
        half_widths = prefix_half_widths(noise, coverage)
        assert half_widths[0] == 0
        for g, width in enumerate(half_widths[1:].tolist()):
            assert weights @ (sums[:, g] <= width) >= coverage - _NEAR
            assert weights @ (sums[:, g] < width) < coverage + _NEAR


def test_half_widths_of_geometric_noise_summed_are_those_of_its_convolution() -> None:
    noise = Agreeing(scale=2, branches=(30,), shares=(0, 1))
    places = np.arange(-400, 401)
    cell = math.tanh(0.25) * np.exp(-np.abs(places) / 2)
    law, half_widths = np.ones(1), prefix_half_widths(noise, 0.95)
    for width in half_widths[1:].tolist():
        law = np.convolve(law, cell)
        middle = len(law) // 2
        inside = law[middle - width : middle + width + 1].sum()
        assert inside >= 0.95
        assert inside - law[middle - width] - law[middle + width] < 0.95


@pytest.mark.dense
def test_half_widths_of_a_deep_tree_hold_draws() -> None:
    cells = draw_cells(DEEP, InsecureSeededEntropy(2), count=8_000)
    sums = np.abs(np.cumsum(cells, axis=1))
    half_widths = prefix_half_widths(DEEP, 0.95)[1:]
    inside = (sums <= half_widths).mean(axis=0)
    assert (inside > 0.94).all()
    assert ((sums < half_widths).mean(axis=0) < 0.96).all()  # one less doesn't


def test_what_takes_too_much_is_bounded_by_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = SMALL["two levels"]
    exact = prefix_half_widths(noise, 0.95)
    monkeypatch.setattr(prefixes, "MOST_LAW_WORK", 0)
    bounded = prefix_half_widths(noise, 0.95)
    assert (bounded >= exact).all()
    assert bounded[3] > exact[3]
    nodes = [1, 2, 4]  # of which the law is known
    assert bounded[nodes].tolist() == exact[nodes].tolist()
    laws = [law.half_width() for law in level_laws(noise)]
    assert exact[nodes].tolist() == laws[::-1]


@pytest.mark.dense
def test_bounds_of_wide_noise_hold_draws() -> None:
    noise = Agreeing(scale=20, branches=(4, 5, 5), shares=("0.1", "0.28", "0.24", "0.38"))
    assert law_work(noise) > MOST_LAW_WORK
    cells = draw_cells(noise, InsecureSeededEntropy(3), count=2_000)
    inside = (np.abs(np.cumsum(cells, axis=1)) <= prefix_half_widths(noise, 0.95)[1:]).mean(axis=0)
    assert (inside > 0.94).all()


def test_what_no_window_is_sure_of_is_refused() -> None:
    for coverage in (0, 1, math.nan, 1 - 1e-7):
        with pytest.raises(InvalidArgument, match="coverage"):
            prefix_half_widths(SMALL["one level"], coverage)
