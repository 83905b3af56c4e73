"""Many draws computed together have the same numbers, and the same laws, as one by one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from flint import arb
from scipy import stats

from leastnoise.balls.core import precision
from leastnoise.entropy.lazy import OrderedUniforms
from leastnoise.entropy.source import Entropy, InsecureSeededEntropy
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.plain import Box, Segment
from leastnoise.mechanism.rounding import default_grid, round_sums
from leastnoise.noise.bodies.law.k_norm import KNorm, KStaircase
from leastnoise.noise.bodies.sampler.arrange import Columns, Interleaved, as_vector, join_columns
from leastnoise.noise.bodies.sampler.draw import BodyPoints
from leastnoise.noise.bodies.sampler.reals import DirichletShares, Gammas, Reals, Uniforms, one_of
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.draw import make_sampler
from tests.noise.bodies.examples import draws, rejected, same_law

CELL = Cells(bodies=[Box(bounds=[1, 2]), Segment(bound=3)], copies=[2, 1])
NESTED = Cells(bodies=[CELL, Box(bounds=[2])], copies=[600, 100])
SMALL = Cells(
    bodies=[Cells(bodies=[Box(bounds=[1, 2]), Segment(bound=3)], copies=[1, 1])], copies=[2]
)
LAWS: dict[str, VectorNoise] = {
    "k-norm": KNorm(scale=1, body=NESTED),
    "k-staircase": KStaircase(scale=1, body=NESTED, gamma="0.5", decay=2),
}


class _Scripted(Entropy):
    """A source of given 64-bit words, then of seeded bits."""

    def __init__(self, words: list[int]) -> None:
        self._given = np.array(words, dtype="<u8").tobytes()
        self._rest = InsecureSeededEntropy(1)

    def _read(self, size: int) -> bytes:
        now, self._given = self._given[:size], self._given[size:]
        return now + self._rest._read(size - len(now))


def _pieces(size: int) -> Iterator[tuple[int, int]]:
    """Yield the ends of pieces of 0 … size, at places where no row ends."""
    places = [0, *range(1, size, 7), size]
    yield from itertools.pairwise(places)


def _check_same(found: Reals, expected: list[Reals]) -> None:
    """Check that `found` has the numbers of all `expected`, one after the other."""
    balls = [(entry, index) for entry in expected for index in range(entry.size)]
    assert found.size == len(balls)
    for start, stop in [(0, found.size), *_pieces(found.size)]:
        estimates = found.floats(start, stop)
        with precision(200):
            for index in range(start, stop):
                item, computed = balls[index]
                near = found.enclose(index, 60)
                assert near.overlaps(item.enclose(computed, 60))
                if not estimates.beyond[index - start]:
                    value = estimates.values[index - start]
                    assert abs(value) <= estimates.reach
                    assert abs(arb(value) - near) <= arb(estimates.error) + near.rad()


@pytest.mark.parametrize(("shapes", "kept"), [([2, 1], 2), ([2, 1, 3], 2), ([1, 1, 1, 1], 4)])
@pytest.mark.parametrize("rows", [1, 2, 15])
def test_shares_are_those_of_each_row(shapes: list[int], kept: int, rows: int) -> None:
    sizes = np.array(shapes)
    shares_drawn = DirichletShares(sizes, InsecureSeededEntropy(2), kept=kept, rows=rows)
    entropy = InsecureSeededEntropy(2)
    _check_same(shares_drawn, [DirichletShares(sizes, entropy, kept=kept) for _ in range(rows)])


def test_columns_and_rows_side_by_side() -> None:
    """Cut into columns and put together again, nothing has moved; in another order, rows have."""
    numbers = Uniforms(60, InsecureSeededEntropy(3), signed=True)
    first, middle, last = (
        Columns(numbers, first=begin, width=width, row=6)
        for begin, width in ((0, 1), (1, 3), (4, 2))
    )
    _check_same(Interleaved([first, middle, last], rows=10), [numbers])
    in_order = [*(4, 5), 0, *(1, 2, 3)]
    places = [6 * row + column for row in range(10) for column in in_order]
    moved = [as_vector(one_of(numbers, site)) for site in places]
    _check_same(join_columns([last, first, middle], rows=10), moved)


def test_equal_words_are_parted_within_their_row() -> None:
    """Two rows begin with the word that the row before ends with; one has a word three times."""
    words = [1, 5, 3, 5, 5, 5, 5, 9, 7, 9, 1, 2]
    uniforms = OrderedUniforms(3, _Scripted(words), rows=4)
    assert uniforms.words.tolist() == [1, 3, 5, 5, 5, 5, 5, 7, 9, 1, 2, 9]
    assert set(uniforms._lazy) == {3, 4, 5}
    with precision(300):
        three = [uniforms.enclose(index, 200) for index in (3, 4, 5)]
        assert three[0] < three[1] < three[2]
        assert all(abs(2**64 * uniform - 5.5) < 0.5 for uniform in three)


@pytest.mark.parametrize("inside", [True, False])
def test_every_row_has_its_own_gauge(*, inside: bool) -> None:
    """N(x) is the gauge that was asked for, shared out by the cells' dimensions."""
    entropy = InsecureSeededEntropy(4)
    gauges = Gammas(2000, entropy, shape=3)
    source = BodyPoints(entropy)
    points = source.uniform(CELL, gauges) if inside else source.surface(CELL, gauges)
    wanted = gauges.floats(0, gauges.size)
    x = points.floats(0, points.size)
    usable = ~(x.beyond.reshape(-1, 5).any(axis=1) | wanted.beyond)
    assert usable.mean() > 0.99
    rows = x.values.reshape(-1, 5)[usable]
    ratio = CELL.gauges(rows) / wanted.values[usable]
    computed = CELL.bodies[0].gauges(rows[:, :2]) / wanted.values[usable]
    law = stats.beta(2, 4 if inside else 3).cdf
    assert stats.kstest(computed, law).pvalue > 1e-6
    assert stats.kstest(1.1 * computed, law).pvalue < 1e-6
    assert abs(np.corrcoef(computed[1:], computed[:-1])[0, 1]) < 5 / np.sqrt(computed.size)
    if not inside:
        assert np.allclose(ratio, 1, atol=1e-6)
    else:
        assert stats.kstest(ratio, stats.beta(5, 1).cdf).pvalue > 1e-6
        assert stats.kstest(np.minimum(1.1 * ratio, 1), stats.beta(5, 1).cdf).pvalue < 1e-6


def test_cells_of_cells_are_independent_gammas() -> None:
    """The gauges of all cells in k-norm noise, whatever body the cells are part of."""
    law = LAWS["k-norm"]
    grid = default_grid(law)
    drawn = make_sampler(law, grid=grid, entropy=InsecureSeededEntropy(5)).draw(law.dimension)
    x = np.where(drawn.beyond, 0.0, drawn.estimates) * float(grid)
    cells = x[:3000].reshape(-1, 5)
    pairs, others = (Box(bounds=[1, 2]).gauges(cells[:, at : at + 2]) for at in (0, 2))
    gauges = [pairs, others, np.abs(cells[:, 4]) / 3]
    for gauge, shape in zip(gauges, (2, 2, 1), strict=True):
        assert stats.kstest(gauge, stats.gamma(shape).cdf).pvalue > 1e-6
        assert stats.kstest(1.5 * gauge, stats.gamma(shape).cdf).pvalue < 1e-6
    together = np.corrcoef([*gauges, np.roll(pairs, 1)])
    assert np.abs(together - np.eye(4)).max() < 5 / np.sqrt(pairs.size)
    assert stats.kstest(np.abs(x[3000:]) / 2, stats.expon.cdf).pvalue > 1e-6


@pytest.mark.parametrize("name", LAWS)
def test_floats_and_balls_round_alike(name: str) -> None:
    law = LAWS[name]
    grid = default_grid(law)

    def sampler():
        return make_sampler(law, grid=grid, entropy=InsecureSeededEntropy(6))

    steps = round_sums(sampler(), 0, np.zeros(law.dimension))
    whole = sampler().draw(law.dimension)
    assert whole.beyond.mean() < 0.01
    assert whole.error < 2.0**-9
    for index in range(0, law.dimension, 7):
        with precision(200):
            below = (whole.enclose(index, 120) + arb(0.5)).floor().unique_fmpz()
        assert below is not None
        assert steps[index] == int(below)


@pytest.mark.dense
@pytest.mark.grid
@pytest.mark.parametrize(
    "law",
    [KNorm(scale=2, body=SMALL), KStaircase(scale=2, body=SMALL, gamma="0.4", decay="1.5")],
    ids=["k-norm", "k-staircase"],
)
def test_cells_of_cells_by_rejection(law: VectorNoise) -> None:
    """A scale that is off by half is seen."""
    x, reference = draws(law, 250, seed=7), rejected(law, 4000, seed=8)

    def seen(points: np.ndarray) -> list[np.ndarray]:
        gauges = SMALL.gauges(points)
        cells = [CELL.bodies[0].gauges(points[:, at : at + 2]) for at in (0, 3)]
        return [gauges, *cells, *np.abs(points[:, [2, 5]]).T, *points.T]

    right = [same_law(a, b) for a, b in zip(seen(x), seen(reference), strict=True)]
    assert min(right) > 1e-6
    wrong = [same_law(a, b) for a, b in zip(seen(1.5 * x), seen(reference), strict=True)]
    assert min(wrong) < 1e-6
