from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from leastnoise.balls.core import precision
from leastnoise.entropy.base import Block
from leastnoise.entropy.lazy import GUARD, LEVELS
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Gaussian, Laplace
from leastnoise.noise.draw import make_sampler
from leastnoise.noise.radial.law import SphericalLaplace

NOISES = [
    Gaussian(scale=Fraction(10, 3), dimension=300),
    Laplace(scale=Fraction(10, 3), dimension=300),
    SphericalLaplace(scale=Fraction(10, 3), dimension=300),
]
BY_NAME = pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.name)


def _block(noise: Noise) -> Block:
    source = InsecureSeededEntropy(12)
    return make_sampler(noise, grid=Fraction(1, 2**20), entropy=source).draw(noise.dimension)


def _enclose(block: Block, index: int, bits: int) -> arb:
    with precision(bits + GUARD):
        return block.enclose(index, bits)


@BY_NAME
def test_estimates_are_as_near_as_they_claim(noise: Noise) -> None:
    """Honest: within `error`. Not idle: `error` is below 2^-12 of a grid step."""
    block = _block(noise)
    assert block.error < 2.0**-12
    assert np.abs(block.estimates[~block.beyond]).max() <= block.reach
    for index in np.flatnonzero(~block.beyond).tolist():
        enclosure = _enclose(block, index, 120)
        with precision(200):
            assert abs(enclosure - arb(block.estimates[index])) <= arb(block.error)


@BY_NAME
def test_a_coordinate_refines_from_the_same_bits(noise: Noise) -> None:
    """Asked again, after other coordinates drew more bits, it is still the same number."""
    block = _block(noise)
    rough = [_enclose(block, index, LEVELS[0]) for index in range(30)]
    fine = [_enclose(block, index, LEVELS[3]) for index in range(30)]
    finer = [_enclose(block, index, LEVELS[5]) for index in range(29, -1, -1)][::-1]
    with precision(4000):
        for item, two, three in zip(rough, fine, finer, strict=True):
            assert item.overlaps(two)
            assert two.contains(three.mid())
            assert three.rad() < arb(2) ** -1800


@BY_NAME
def test_a_coordinate_is_one_word(noise: Noise) -> None:
    """Drawing block by block hands out the same coordinates."""
    whole = _block(noise).estimates
    source = InsecureSeededEntropy(12)
    sampler = make_sampler(noise, grid=Fraction(1, 2**20), entropy=source)
    parts = [sampler.draw(count).estimates for count in (1, 99, 200)]
    assert np.array_equal(np.concatenate(parts), whole)
