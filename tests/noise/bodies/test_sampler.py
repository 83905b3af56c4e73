"""Draws of every law on every body have the right law, and floats within their error."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy import stats

from leastnoise.balls.core import precision
from leastnoise.certificate.records import KINDS
from leastnoise.entropy.lazy import GUARD
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.guarantees.bodies.plain import Box, Segment
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.mechanism.rounding import add_noise, default_grid, round_sums
from leastnoise.noise.bodies.law.k_norm import KNorm, KStaircase
from leastnoise.noise.bodies.law.two_sided import TwoSidedLaplace, TwoSidedStaircase
from leastnoise.noise.bodies.sampler import draw
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.draw import make_sampler
from tests.noise.bodies.examples import GRID, LAWS, SCALE, block, draws, rejected, same_law

# some 1,600 p-values are looked at: one of them is below 1e-6 in two of a thousand such runs
ACCEPT, REJECT = 1e-6, 1e-3
WRONG = 1.1

LARGE: dict[str, VectorNoise] = {
    "k-norm, intervals": KNorm(scale=1, body=Cells(bodies=[Segment(bound=3)], copies=[3000])),
    "k-norm, cells of boxes": KNorm(
        scale=1, body=Cells(bodies=[Box(bounds=[1, 40]), Segment(bound=2)], copies=[1000, 1000])
    ),
    "k-norm, box": KNorm(scale=1, body=Box(bounds=[1, 2, 3] * 1000)),
    "k-norm, counts": KNorm(scale=1, body=Signed(of=Counts(queries=3000))),
    "k-staircase, cells of boxes": KStaircase(
        scale=1, body=Cells(bodies=[Box(bounds=[1, 40])], copies=[1500]), gamma="0.5", decay=2
    ),
    "two-sided-staircase, counts": TwoSidedStaircase(
        scale=1, of=Counts(queries=1000), core=300, decay=1
    ),
    "two-sided-laplace, counts": TwoSidedLaplace(scale=1, of=Counts(queries=3000), core=20),
}


def test_every_body_has_a_recipe() -> None:
    bodies, one_sided = KINDS[Body], KINDS[OneSided]
    assert set(draw.BODIES) == {bodies.class_named(name) for name in bodies.paths}
    assert {*draw.SURFACES, Counts} == {one_sided.class_named(name) for name in one_sided.paths}


def test_a_body_without_a_recipe_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(draw.BODIES, Segment)
    with pytest.raises(NotApplicable, match="interval"):
        block(LAWS["k-norm, cells"], seed=1)


@pytest.mark.grid
@pytest.mark.parametrize("name", LAWS)
def test_estimates_are_as_near_as_they_claim(name: str) -> None:
    """Honest: within `error`, which is far below a step of the grid; refined from the same bits."""
    law = LAWS[name]
    drawn = block(law, seed=7)
    assert drawn.error < 2.0**-10
    for index in range(law.dimension):
        with precision(120 + GUARD):
            rough = drawn.enclose(index, 120)
        with precision(480 + GUARD):
            fine = drawn.enclose(index, 480)
            assert rough.overlaps(fine)
            assert fine.rad() < arb(2) ** -300
            if not drawn.beyond[index]:
                assert abs(drawn.estimates[index]) <= drawn.reach
                assert abs(fine - arb(drawn.estimates[index])) <= arb(drawn.error)


@pytest.mark.parametrize("name", LARGE)
def test_floats_and_balls_round_alike(name: str) -> None:
    """The filter never decides otherwise than balls do on the same bits."""
    law = LARGE[name]
    grid = default_grid(law)

    def sampler():
        return make_sampler(law, grid=grid, entropy=InsecureSeededEntropy(3))

    steps = round_sums(sampler(), 0, np.zeros(law.dimension))
    whole = sampler().draw(law.dimension)
    assert whole.beyond.mean() < 0.01
    assert whole.error < 2.0**-9
    for index in range(0, law.dimension, 37):
        with precision(200):
            below = (whole.enclose(index, 120) + arb(0.5)).floor().unique_fmpz()
        assert below is not None
        assert steps[index] == int(below)


@pytest.mark.parametrize("name", ["k-norm, cells of boxes", "k-norm, counts"])
def test_drawing_block_by_block_hands_out_the_same_coordinates(name: str) -> None:
    law = LARGE[name]

    def sampler():
        return make_sampler(law, grid=GRID, entropy=InsecureSeededEntropy(3))

    whole, again = sampler().draw(law.dimension), sampler()
    sizes = (1, 700, 299, 1000, law.dimension - 2000)
    parts = [again.draw(size) for size in sizes]
    assert np.array_equal(np.concatenate([part.estimates for part in parts]), whole.estimates)
    with precision(200):
        assert parts[1].enclose(3, 60).overlaps(whole.enclose(4, 60))


def test_released_numbers_have_the_law() -> None:
    """From value to released number: Laplace noise, its scale the bound of a cell."""
    law = KNorm(scale="0.5", body=Cells(bodies=[Segment(bound=3)], copies=[20_000]))
    values = np.linspace(-5, 5, law.dimension)
    released = add_noise(law, default_grid(law), values, entropy=InsecureSeededEntropy(11))
    noise = released - values
    right = stats.laplace(scale=1.5).cdf
    assert stats.kstest(noise, right).pvalue > ACCEPT
    assert stats.kstest(WRONG * noise, right).pvalue < 1e-6


def test_cells_of_boxes_are_independent_gammas() -> None:
    law = LARGE["k-norm, cells of boxes"]
    x = block(law, seed=12)
    kept = np.where(x.beyond, 0.0, x.estimates) * float(GRID)
    gauges = np.abs(kept[:2000].reshape(-1, 2) / np.array([1, 40])).max(axis=1)
    assert stats.kstest(gauges, stats.gamma(2).cdf).pvalue > ACCEPT
    assert stats.kstest(WRONG * gauges, stats.gamma(2).cdf).pvalue < 5e-2
    assert abs(np.corrcoef(gauges[1:], gauges[:-1])[0, 1]) < 4 / math.sqrt(1000)
    first = kept[:2000:2] / gauges
    assert stats.kstest(first[np.abs(first) < 1], stats.uniform(-1, 2).cdf).pvalue > ACCEPT
    assert stats.binomtest(int((np.abs(first) >= 1).sum()), 1000, 0.5).pvalue > ACCEPT


def _pvalues(law: VectorNoise, x: np.ndarray, reference: np.ndarray) -> float:
    """The least p-value of KS tests of two samples, by some norms and some projections."""
    ways = np.random.default_rng(1).standard_normal((3, law.dimension)) / np.sqrt(law.variances)
    spread = np.sqrt(law.variances)

    def seen(points: np.ndarray) -> list[np.ndarray]:
        scaled = points / spread
        return [
            *(points @ ways.T).T,
            np.abs(scaled).max(axis=1),
            np.abs(scaled).sum(axis=1),
            scaled.max(axis=1),
            scaled.sum(axis=1),
            scaled[:, 0],
            scaled[:, -1],
        ]

    pairs = zip(seen(x), seen(reference), strict=True)
    return min(same_law(a, b) for a, b in pairs)


QUICK = ("k-norm, signed 2 of 4", "two-sided-staircase, two cells with sums")


@pytest.mark.grid
@pytest.mark.parametrize("name", QUICK)
def test_some_laws_by_rejection(name: str) -> None:
    """A few draws, which see a scale that is off by half; for 10 % see the slow tests."""
    law = LAWS[name]
    x, reference = draws(law, 250, seed=31), rejected(law, 5000, seed=32)
    assert _pvalues(law, x, reference) > ACCEPT
    assert _pvalues(law, WRONG**4 * x, reference) < REJECT


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_every_law(name: str) -> None:
    """Second moments as stated, and the law as by rejection; one of the two sees 10 % more."""
    law = LAWS[name]
    x, reference = draws(law, 2000, seed=33), rejected(law, 20_000, seed=34)
    squares, stated = x**2, law.variances / SCALE**2
    deviation = squares.std(axis=0) / math.sqrt(len(squares))
    assert (np.abs(squares.mean(axis=0) - stated) <= 5 * deviation).all()
    assert _pvalues(law, x, reference) > ACCEPT
    total = (squares / stated).mean(axis=1)
    excess = WRONG**2 * total.mean() - 1
    seen = excess > 3.5 * WRONG**2 * total.std() / math.sqrt(len(total))
    assert seen or _pvalues(law, WRONG * x, reference) < REJECT


@pytest.mark.slow
@pytest.mark.parametrize("name", ["box", "2 of 5", "cells", "signed all of 3", "nested"])
def test_shells_of_the_staircase(name: str) -> None:
    law = LAWS[f"k-staircase, {name}"]
    assert isinstance(law, KStaircase)
    gauges = law.body.gauges(draws(law, 2500, seed=36))
    edges = np.concatenate([[0.0], np.arange(8) + float(law.gamma)])
    shells = np.diff(edges**law.dimension) * np.exp(-float(law.decay) * np.arange(8))
    counts, _ = np.histogram(gauges, edges)
    expected = shells * counts.sum() / shells.sum()
    enough = expected > 5
    assert stats.chisquare(counts[enough], _alike(expected, counts, enough)).pvalue > ACCEPT
    wrong, _ = np.histogram(WRONG * gauges, edges)
    assert stats.chisquare(wrong[enough], _alike(expected, wrong, enough)).pvalue < REJECT


def _alike(expected: np.ndarray, counts: np.ndarray, enough: np.ndarray) -> np.ndarray:
    return expected[enough] * counts[enough].sum() / expected[enough].sum()


def test_signs_of_counts() -> None:
    """The number of counts above 0 is uniform, and so is which they are."""
    law = KNorm(scale=1, body=Signed(of=Counts(queries=3)))
    signs = draws(law, 250, seed=37) > 0
    assert stats.chisquare(np.bincount(signs.sum(axis=1), minlength=4)).pvalue > ACCEPT
    single = signs[signs.sum(axis=1) == 1]
    assert stats.chisquare(single.sum(axis=0)).pvalue > ACCEPT


def test_the_grid_of_unequal_boxes_depends_on_public_numbers_alone() -> None:
    """The mean of the variances sets it: g² is far below the least of them up to 2^19."""
    law = KNorm(scale=1, body=Box(bounds=[1, 2**15]))
    grid = default_grid(law)
    assert Fraction(grid) ** 2 / 12 < Fraction(1, 2**10) * Fraction(min(law.variances))
