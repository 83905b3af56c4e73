"""Leaves that are drawn one after another have the tree's law, given any partial sums."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from flint import arb
from numpy.typing import NDArray
from scipy.signal import fftconvolve
from scipy.stats import chisquare

from leastnoise.balls.core import precision
from leastnoise.entropy.source import Entropy, InsecureSeededEntropy
from leastnoise.errors import NotApplicable
from leastnoise.noise.trees import next_leaf
from leastnoise.noise.trees.law import Agreeing
from leastnoise.noise.trees.next_leaf import draw_next_leaf, start_sums, sums_after
from leastnoise.noise.trees.sampler import draw_cells
from tests.grids import thin

Floats = NDArray[np.float64]
WEEKS = Agreeing(
    scale=1,
    branches=(4, 13),
    shares=(Fraction(93, 1000), Fraction(333, 1000), Fraction(574, 1000)),
)
TREES = [
    Agreeing(scale=1, branches=(3,), shares=("0.4", "0.6")),
    Agreeing(scale=Fraction(2), branches=(2, 2), shares=("0.3", "0.2", "0.5")),
    Agreeing(scale=Fraction(1, 2), branches=(2, 3), shares=(0, "0.5", "0.5")),
    Agreeing(scale=Fraction(3, 2), branches=(3, 2, 2), shares=("0.1", "0.2", "0.3", "0.4")),
    WEEKS,
]


class Words(Entropy):
    """A source of bits that a test chooses, which counts the bytes that were read."""

    def __init__(self, word: int, more: int) -> None:
        self._parts, self.read = [word, *[more] * 50], 0

    def _read(self, size: int) -> bytes:
        self.read += size
        return self._parts.pop(0).to_bytes(size, "little")


def law_of(noise: Agreeing, leaf: int, sums: tuple[int, ...]) -> dict[int, float]:
    cut = next_leaf._find_cut(noise)
    law = next_leaf._Law(noise=noise, leaf=leaf, cut=cut, bits=192)
    with precision(192):
        masses = law.masses(sums)
        total = sum(masses, arb(0))
        return {index - cut: float(mass / total) for index, mass in enumerate(masses)}


@pytest.mark.grid
@pytest.mark.parametrize(
    "noise",
    [*TREES[:3], *(pytest.param(noise, marks=pytest.mark.dense) for noise in TREES[3:])],
    ids=str,
)
def test_the_laws_of_all_turns_make_the_law_of_the_tree(noise: Agreeing) -> None:
    """Also far from what is likely; the density has another route to its constant."""
    few = 2 if noise is WEEKS else 5
    vectors = [*draw_cells(noise, InsecureSeededEntropy(5), count=few)]
    if noise is not WEEKS:
        vectors += [np.full(noise.dimension, size) for size in (-7, 20)]
        vectors += [np.arange(noise.dimension) * 3 - 8]
    for cells in vectors:
        logs, sums = 0.0, start_sums(noise)
        for leaf, cell in enumerate(cells.tolist()):
            logs += math.log(law_of(noise, leaf, sums)[cell])
            sums = sums_after(noise, leaf, sums, cell)
        assert logs == pytest.approx(float(noise.log_density(cells)), abs=1e-9)
        assert sums == start_sums(noise)  # all nodes have ended


@pytest.mark.parametrize("noise", thin(TREES[:4], 2), ids=str)
def test_a_word_draws_its_quantile(noise: Agreeing) -> None:
    sums = tuple(range(1, len(noise.branches) + 1))
    law = law_of(noise, 1, sums)
    values, ends = list(law), np.cumsum(list(law.values()))
    for quantile in (0.001, 0.17, 0.4, 0.52, 0.62, 0.83, 0.999):
        index = int(np.searchsorted(ends, quantile))
        assert min(abs(ends[index - 1] - quantile), abs(ends[index] - quantile)) > 1e-9
        entropy = Words(int(quantile * 2**64) << 64, 0)
        assert draw_next_leaf(noise, 1, [sums], entropy) == [values[index]]


def boundary(  # noqa: PLR0917 (one call)
    noise: Agreeing, leaf: int, sums: tuple[int, ...], value: int, bits: int
) -> int:
    """The first `bits` bits of P(z < value), the boundary between the words for two values."""
    law = next_leaf._Law(noise=noise, leaf=leaf, cut=400, bits=600)
    with precision(600):
        masses = law.masses(sums)
        below = sum(masses[: value + 400], arb(0)) / sum(masses, arb(0))
        return int((below * arb(2) ** bits).floor().unique_fmpz())


@pytest.mark.parametrize(
    ("noise", "leaf", "sums", "value"),
    [
        *thin([(TREES[1], 1, (1, 1), value) for value in (1, -2, 0)], 1),
        pytest.param(WEEKS, 20, (3, -2), 1, marks=pytest.mark.dense),
    ],
    ids=str,
)
def test_a_word_at_a_boundary_takes_more_bits_and_a_wider_cut(
    noise: Agreeing, leaf: int, sums: tuple[int, ...], value: int
) -> None:
    whole = boundary(noise, leaf, sums, value, bits=192)
    word = whole >> 64
    for end, expected in ((0, value - 1), ((1 << 64) - 1, value)):
        entropy = Words(word, end)
        assert draw_next_leaf(noise, leaf, [sums], entropy) == [expected]
        assert entropy.read in {24, 32}  # 128 bits, and then 64 more each time
    # the boundary itself to 192 bits: more are needed, and they decide
    for more, expected in ((0, value - 1), ((1 << 64) - 1, value)):
        entropy = Words(word, whole & (1 << 64) - 1)
        entropy._parts[2:] = [more] * 20
        assert draw_next_leaf(noise, leaf, [sums], entropy) == [expected]
        assert entropy.read >= 32


def test_words_far_from_boundaries_take_no_more_bits() -> None:
    entropy = Words(1 << 127 | 1 << 120, 0)
    draw_next_leaf(WEEKS, 20, [(3, -2)], entropy)
    assert entropy.read == 16


def test_the_neglected_mass_is_below_its_bound() -> None:
    """Chernoff's bound against a cut that is twice as wide, and Proposition 7's 2^-61."""
    for noise in TREES[:4]:
        for cut in (12, 20):
            narrow = next_leaf._Law(noise=noise, leaf=0, cut=cut, bits=256)
            wide = next_leaf._Law(noise=noise, leaf=0, cut=3 * cut, bits=256)
            with precision(256):
                lost = sum(wide.masses(start_sums(noise)), arb(0))
                lost -= sum(narrow.masses(start_sums(noise)), arb(0))
                assert lost < narrow._lost
    law = next_leaf._Law(noise=WEEKS, leaf=0, cut=256, bits=192)
    with precision(192):
        assert law._lost < arb(4) * arb(10) ** -27  # theory/series.md, below Proposition 7


def test_sums_of_nodes_that_ended_or_have_no_share_are_forgotten() -> None:
    noise = TREES[2]  # no share for the root
    sums = start_sums(noise)
    seen = []
    for leaf in range(6):
        sums = sums_after(noise, leaf, sums, 5)
        seen.append(sums)
    assert seen == [(0, 5), (0, 10), (0, 0), (0, 5), (0, 10), (0, 0)]
    assert all(a != b for a, b in pairwise(seen))


@pytest.mark.parametrize(
    "noise",
    [
        Agreeing(scale=1, branches=(1, 3), shares=("0.4", "0.1", "0.5")),
        Agreeing(scale=1, branches=(2, 3, 1), shares=("0.4", "0.1", "0.5")),
        Agreeing(scale=10**6, branches=(2, 2), shares=("0.4", "0.1", "0.5")),
    ],
    ids=str,
)
def test_trees_that_take_too_much_or_have_no_turns_are_refused(noise: Agreeing) -> None:
    with pytest.raises(NotApplicable):
        next_leaf.check_next_leaf(noise)


def test_many_cells_with_wide_noise_are_refused_before_any_is_drawn() -> None:
    noise = Agreeing(scale=50, branches=(4, 13), shares=WEEKS.shares)
    next_leaf.check_next_leaf(noise, trees=100)
    with pytest.raises(NotApplicable, match="takes too long"):
        next_leaf.check_next_leaf(noise, trees=400)


_REACH = 400


_POINTS = np.arange(-_REACH, _REACH + 1)


def law_in_floats(noise: Agreeing, leaf: int, sums: tuple[int, ...]) -> Floats:
    """P(z = a) for |a| <= 400 by the formulas of theory/series.md, Theorem 5, in plain floats."""
    weights = np.ones(len(_POINTS))
    for level, b in enumerate(noise.branches):
        span = math.prod(noise.branches[level + 1 :])
        later = _later(noise, level + 1, b - 1 - leaf // span % b)
        rate = float(noise.shares[level] / noise.scale)
        weights = weights * np.exp(-rate * np.abs(sums[level] + _POINTS))  # E_l
        weights = _convolve(weights, later)
    cell = _node_law(noise, len(noise.branches))
    return cell * weights / (cell @ weights)


@cache
def _node_law(noise: Agreeing, level: int) -> Floats:
    """The law A_l of a node of a level, up to a factor."""
    alone = np.exp(-float(noise.shares[level] / noise.scale) * np.abs(_POINTS))
    if level == len(noise.branches):
        return alone
    return alone * _later(noise, level + 1, noise.branches[level])


@cache
def _later(noise: Agreeing, level: int, count: int) -> Floats:
    """The law of the sum of `count` independent nodes of a level."""
    if not count:
        return (_POINTS == 0).astype(float)
    return _convolve(_node_law(noise, level), _later(noise, level, count - 1))


def _convolve(first: Floats, second: Floats) -> Floats:
    """The middle of a convolution, scaled to sum to 1; of even laws it is a correlation, too."""
    total = fftconvolve(first, second, mode="same")
    return total / total.sum()


@pytest.mark.dense
@pytest.mark.parametrize(
    ("leaf", "sums"), [(0, (0, 0)), (20, (3, -2)), (51, (-9, 4)), (38, (6, 6))]
)
def test_the_law_of_a_week_is_the_formula_in_floats(leaf: int, sums: tuple[int, int]) -> None:
    law, known = law_of(WEEKS, leaf, sums), law_in_floats(WEEKS, leaf, sums)
    for value in range(-20, 21):
        assert law[value] == pytest.approx(known[value + _REACH], rel=1e-9)


@pytest.mark.slow
def test_weeks_of_whole_years_have_their_law_by_chi_squared() -> None:
    """The place of each draw in its law, given all weeks before it, is uniform and independent.

    115 years on 4 × 13. At 1e-7 the law is accepted, and the law of 10 % more noise is rejected.
    """
    draw, entropy, years = np.random.default_rng(7), InsecureSeededEntropy(7), 115
    places: dict[Agreeing, list[float]] = {WEEKS: [], replace(WEEKS, scale=Fraction(11, 10)): []}
    sums = [start_sums(WEEKS)] * years
    for leaf in range(WEEKS.dimension):
        weeks = draw_next_leaf(WEEKS, leaf, sums, entropy)
        for noise, known in places.items():
            for before, week in zip(sums, weeks, strict=True):
                law = law_in_floats(noise, leaf, before)
                below = law[: week + _REACH].sum() + draw.random() * law[week + _REACH]
                known.append(abs(2 * below - 1))
        sums = [sums_after(WEEKS, leaf, *pair) for pair in zip(sums, weeks, strict=True)]
    assert sums == [start_sums(WEEKS)] * years  # all nodes have ended
    true, wider = (np.histogram(known, bins=np.linspace(0, 1, 6))[0] for known in places.values())
    assert chisquare(true).pvalue > 1e-7
    assert chisquare(wider).pvalue < 1e-7


@pytest.mark.parametrize("noise", TREES[:4], ids=str)
@pytest.mark.parametrize("far", [0, 5, 16, 17, 40])
def test_masses_from_tables_are_those_of_plain_sums(noise: Agreeing, far: int) -> None:
    """Tables serve partial sums within the cut, which is 16 here; both ways beyond it."""
    cut, levels = 16, len(noise.branches)
    sums = tuple((far - level) * (-1) ** level for level in range(levels))
    law = next_leaf._Law(noise=noise, leaf=1, cut=cut, bits=192)
    rates = [float(share / noise.scale) for share in noise.shares]
    with precision(192):
        masses = [float(mass) for mass in law.masses(sums)]
        later = [None if part is None else [float(x) for x in part] for part in law._later]

    def below(level: int, d: int) -> float:
        """The mass of the nodes from `level` up, over their later children, if the child adds d."""
        total, law = 0.0, later[level]
        for a, probability in {0: 1.0}.items() if law is None else enumerate(law, -cut):
            outside = 1.0 if level == 0 else below(level - 1, d + a)
            total += probability * math.exp(-rates[level] * abs(sums[level] + d + a)) * outside
        return total

    for index in (0, 3, 15, 16, 18, 32):
        d = index - cut
        ratio = math.exp(-rates[-1])
        alone = (1 - ratio) / (1 + ratio) * ratio ** abs(d)
        assert masses[index] == pytest.approx(alone * below(levels - 1, d), rel=1e-10)
