from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from numpy.typing import NDArray
from scipy import stats

import leastnoise as ln
from leastnoise.balls.core import ball, precision
from leastnoise.entropy.scaled import ScaledSampler
from leastnoise.entropy.smooth_quantiles import EXPONENTIAL
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import NotApplicable
from leastnoise.mechanism.rounding import add_noise
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.levels import level_laws
from leastnoise.noise.trees.sampler import draw_cells, draw_geometric, sampler
from tests.noise.trees.oracle import enumerated, sums_of

SMALL = Agreeing(scale="0.5", branches=(2, 2), shares=("0.2", "0.1", "0.7"))
_DRAWS = 40_000
_CUT = 2  # cells beyond are counted there
_RARE = 1e-3  # of a true law to be rejected, and more than enough for a wrong one


def _shape(**changed: Any) -> dict[str, Any]:
    shape = {"scale": SMALL.scale, "branches": SMALL.branches, "shares": SMALL.shares}
    return shape | changed


def _counted(points: Any, weights: Any = None) -> NDArray[np.float64]:
    """Return how often each vector of cells is met, cut off at ±2."""
    digits = np.clip(points, -_CUT, _CUT) + _CUT
    places = digits @ (2 * _CUT + 1) ** np.arange(points.shape[1])
    counts = np.bincount(places, weights, minlength=(2 * _CUT + 1) ** points.shape[1])
    return counts.astype(np.float64)


def _p_value(counts: NDArray[np.float64], law: Agreeing) -> float:
    expected = _counted(*enumerated(law, 10)) * counts.sum()
    few = expected < 5
    observed = np.append(counts[~few], counts[few].sum())
    wanted = np.append(expected[~few], expected[few].sum())
    statistic = float(((observed - wanted) ** 2 / wanted).sum())
    return float(stats.chi2.sf(statistic, len(observed) - 1))


def test_draws_have_the_law_and_not_one_nearby() -> None:
    drawn = draw_cells(SMALL, InsecureSeededEntropy(11), count=_DRAWS)
    counts = _counted(drawn)
    assert _p_value(counts, SMALL) > _RARE
    for shares in (("0.3", "0.1", "0.6"), ("0.2", "0", "0.7"), ("0", "0.1", "0.7")):
        assert _p_value(counts, Agreeing(**_shape(shares=shares))) < _RARE
    assert _p_value(counts, Agreeing(**_shape(scale=SMALL.scale * Fraction(11, 10)))) < _RARE
    other = Agreeing(scale=SMALL.scale, branches=(4,), shares=("0.2", "0.7"))
    assert _p_value(counts, other) < _RARE


@pytest.mark.parametrize(
    ("branches", "shares"),
    [
        ((3, 4, 2), ("0.1", "0.3", "0", "0.6")),
        ((1, 5, 1), ("0.1", "0.3", "0.2", "0.4")),
        ((40, 3), ("0.2", "0.3", "0.5")),
    ],
)
def test_every_level_has_its_exact_law(branches: Any, shares: Any) -> None:
    law = Agreeing(scale=2, branches=branches, shares=shares)
    drawn = draw_cells(law, InsecureSeededEntropy(5), count=3000)
    for level, sums in zip(level_laws(law), sums_of(drawn, branches), strict=True):
        last = sums[:, -1]  # one node of each: independent draws
        within = level.half_width(0.95)
        counts = np.bincount(np.minimum(np.abs(last), within + 1), minlength=within + 2)
        chances = 2 * level.probabilities[: within + 1]
        chances[0] /= 2
        expected = np.append(chances, 1 - chances.sum()) * len(last)
        statistic = float(((counts - expected) ** 2 / expected).sum())
        assert stats.chi2.sf(statistic, len(expected) - 1) > _RARE
        assert abs(sums[:, 0].mean()) < 4 * level.std / math.sqrt(len(last))


@pytest.mark.grid
@pytest.mark.parametrize(
    "rate", [Fraction(1, 2**44), Fraction(1, 1000), Fraction(2, 3), Fraction(9)]
)
@pytest.mark.parametrize("leaf", [False, True])
def test_floats_and_balls_agree_on_the_same_bits(rate: Fraction, leaf: bool) -> None:
    def more() -> arb:
        return (2 / (1 + ball(-rate).exp())).log()

    count = 2000
    drawn = draw_geometric(rate, count, InsecureSeededEntropy(3), more=more if leaf else None)
    block = ScaledSampler(quantile=EXPONENTIAL, entropy=InsecureSeededEntropy(3)).draw(count)
    compared = 0
    for index in range(count):
        with precision(200):
            total = abs(block.enclose(index, 60)) + (more() if leaf else 0)
            whole = (total / ball(rate)).floor().unique_fmpz()
        if whole is not None:
            compared += 1
            assert drawn[index] == int(whole)
    assert compared > 0.99 * count


def test_a_geometric_number_is_at_least_k_with_the_power_of_k() -> None:
    drawn = draw_geometric(Fraction(1, 2), 50_000, InsecureSeededEntropy(2))
    for k in (1, 2, 5):
        chance = math.exp(-k / 2)
        assert abs((drawn >= k).mean() - chance) < 4 * math.sqrt(chance / 50_000)
        assert abs((drawn >= k).mean() - math.exp(-k / 1.8)) > 4 * math.sqrt(chance / 50_000)


def test_what_is_released_agrees() -> None:
    shape: Any = {"branches": (2, 3)}
    noise = ln.calibrate(
        "agreeing", epsilon="0.01", sensitivity=ln.RowCounts(1), dimension=6, parameters=shape
    )
    counts = np.array([3, 0, 5, 7, 1, 1])
    released = noise.release(counts).values
    assert (released == np.rint(released)).all()
    assert (released != counts).any()  # all six are 0 once in 10^13
    chunks = np.concatenate(list(noise.release_chunks([counts[:2], counts[2:]])))
    assert chunks.shape == (6,)
    assert (chunks == np.rint(chunks)).all()


def test_blocks_hand_out_one_draw() -> None:
    law = Agreeing(scale=1, branches=(10, 20), shares=("0.2", "0.3", "0.5"))
    whole = draw_cells(law, InsecureSeededEntropy(8))[0]
    grid = Fraction(1, 4)
    parts = sampler(law, grid, InsecureSeededEntropy(8))
    blocks = [parts.draw(count) for count in (3, 150, 47)]
    assert np.concatenate([block.estimates for block in blocks]).tolist() == (4 * whole).tolist()
    assert blocks[1].enclose(0, 60) == 4 * int(whole[3])
    with np.errstate(all="raise"):
        noisy = add_noise(law, grid, np.arange(200), entropy=InsecureSeededEntropy(8))
    assert (noisy == np.arange(200) + whole).all()


def test_values_are_rounded_first_each_by_itself() -> None:
    law = Agreeing(scale=1, branches=(2, 2), shares=("0.2", "0.3", "0.5"))
    values = np.array([0.5, 1.49, -0.5, 2.0])
    noisy = add_noise(law, Fraction(1, 4), values, entropy=InsecureSeededEntropy(8))
    whole = draw_cells(law, InsecureSeededEntropy(8))[0]
    assert (noisy - whole).tolist() == [1, 1, 0, 2]


def test_a_tree_that_takes_too_long_is_refused_before_a_draw() -> None:
    law = Agreeing(scale=1, branches=(60_000,), shares=("0.9", "0.1"))
    with pytest.raises(NotApplicable, match="draws of cells"):
        sampler(law, Fraction(1), InsecureSeededEntropy(1))
