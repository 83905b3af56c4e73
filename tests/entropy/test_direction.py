from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy import stats

from leastnoise.balls.core import precision
from leastnoise.entropy.base import Block
from leastnoise.entropy.lazy import GUARD, LEVELS, LazyExponential
from leastnoise.entropy.scaled import LazyRational
from leastnoise.entropy.smooth_quantiles import ETA
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.entropy.spherical import DirectionSampler
from leastnoise.mechanism.rounding import round_sums

RADIUS = Fraction(10**7, 3)


def _sampler(dimension: int, *, seed: int = 5, radius: Fraction = RADIUS) -> DirectionSampler:
    entropy = InsecureSeededEntropy(seed)
    return DirectionSampler(radius=LazyRational(radius), dimension=dimension, entropy=entropy)


def _enclose(block: Block, index: int, bits: int) -> arb:
    with precision(bits + GUARD):
        return block.enclose(index, bits)


@pytest.mark.grid
@pytest.mark.parametrize("dimension", [1, 2, 3, 7, 400])
@pytest.mark.parametrize("seed", range(8))
def test_estimates_are_as_near_as_they_claim(dimension: int, seed: int) -> None:
    """Honest: within `error`. Not idle: `error` is below 2^-30 of the radius."""
    block = _sampler(dimension, seed=seed).draw(dimension)
    assert block.error < 2.0**-30 * float(RADIUS)
    assert np.abs(block.estimates[~block.beyond]).max(initial=0) <= block.reach
    for index in np.flatnonzero(~block.beyond).tolist():
        enclosure = _enclose(block, index, 120)
        with precision(200):
            assert abs(enclosure - arb(block.estimates[index])) <= arb(block.error)


@pytest.mark.parametrize("dimension", [1, 2, 50])
def test_the_norm_is_the_radius(dimension: int) -> None:
    block = _sampler(dimension).draw(dimension)
    with precision(400):
        squares = sum((block.enclose(i, 240) ** 2 for i in range(dimension)), arb(0))
        assert squares.sqrt().contains(arb(RADIUS.numerator) / RADIUS.denominator)
        assert squares.sqrt().rel_accuracy_bits() > 200


def test_a_coordinate_refines_from_the_same_bits() -> None:
    """Asked again, after other coordinates drew more bits, it is still the same number."""
    block = _sampler(30).draw(30)
    rough = [_enclose(block, index, LEVELS[0]) for index in range(30)]
    fine = [_enclose(block, index, LEVELS[2]) for index in range(30)]
    finer = [_enclose(block, index, LEVELS[4]) for index in range(29, -1, -1)][::-1]
    with precision(2000):
        for item, two, three in zip(rough, fine, finer, strict=True):
            assert item.overlaps(two)
            assert two.contains(three.mid())
            assert three.rad() < arb(2) ** -800


def test_drawing_block_by_block_hands_out_the_same_coordinates() -> None:
    whole = _sampler(300).draw(300).estimates
    sampler = _sampler(300)
    parts = [sampler.draw(count).estimates for count in (1, 99, 200)]
    assert np.array_equal(np.concatenate(parts), whole)


def test_floats_and_balls_round_alike() -> None:
    """The filter never decides otherwise than balls do on the same bits."""
    dimension = 3000
    sampler = _sampler(dimension)
    steps = round_sums(sampler, 0, np.zeros(dimension))
    block = _sampler(dimension).draw(dimension)
    for index in range(0, dimension, 7):
        with precision(200):
            below = (block.enclose(index, 120) + arb(0.5)).floor().unique_fmpz()
        assert below is not None
        assert steps[index] == int(below)


@pytest.mark.dense
def test_uniform_on_the_sphere_whatever_the_radius() -> None:
    """A coordinate of the direction in R³ is uniform on (−1, 1), independent of the radius."""
    entropy = InsecureSeededEntropy(9)
    points = []
    for _ in range(4000):
        radius = LazyExponential(entropy)
        points.append(
            DirectionSampler(radius=radius, dimension=3, entropy=entropy).draw(3).estimates
        )
    x = np.array(points)
    length = np.linalg.norm(x, axis=1)
    assert stats.kstest(length, stats.expon.cdf).pvalue > 1e-3
    for axis in range(3):
        cosine = x[:, axis] / length
        assert stats.kstest(cosine, stats.uniform(-1, 2).cdf).pvalue > 1e-3
        assert abs(np.corrcoef(cosine, length)[0, 1]) < 4 / np.sqrt(4000)


def test_many_coordinates() -> None:
    """A coordinate in many dimensions is nearly normal with variance R²/d."""
    dimension = 20_000
    x = _sampler(dimension).draw(dimension).estimates
    standard = x / float(RADIUS) * np.sqrt(dimension)
    assert stats.kstest(standard, stats.norm.cdf).pvalue > 1e-3
    assert stats.kstest(1.1 * standard, stats.norm.cdf).pvalue < 1e-6


@pytest.mark.parametrize("dimension", [2, 1000])
def test_the_bound_takes_the_table_at_its_word(dimension: int) -> None:
    """Each estimate of a normal may be ETA off, all in one direction; draws are far nearer."""
    sampler = _sampler(dimension)
    norm, error = sampler._normals.norm()
    assert error >= ETA * np.sqrt(dimension)
    assert sampler.draw(dimension).error >= ETA * float(RADIUS) / norm
