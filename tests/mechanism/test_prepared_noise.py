"""What a mechanism keeps between releases: constants of the law, and no bits of a draw."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.sensitivity import L1, Integer
from leastnoise.guarantees.structured import Vertices
from leastnoise.mechanism.rounding import PreparedNoise, add_noise, default_grid
from leastnoise.noise.base import Noise
from leastnoise.noise.draw import make_sampler, prepare_draws
from leastnoise.selection.public import calibrate
from tests.laws import BODY_LAWS, LATTICE_LAWS, LAWS, label

NOISES = (*LAWS, *LATTICE_LAWS, *BODY_LAWS)
CALLS = 40  # so that tables, which a few words are not worth, serve the later ones


@pytest.mark.dense
@pytest.mark.parametrize("law", NOISES, ids=label)
def test_prepared_noise_is_that_of_a_single_call(law: Noise) -> None:
    """Bit for bit, whatever was drawn before."""
    grid = max(default_grid(law), Fraction(law.for_whole_numbers))
    prepared = PreparedNoise(law, grid)
    values = np.arange(law.dimension) - 1.5
    for seed in range(CALLS):
        noisy = prepared.add_to(values, entropy=InsecureSeededEntropy(seed))
        alone = add_noise(law, grid, values, entropy=InsecureSeededEntropy(seed))
        assert np.array_equal(noisy, alone)


@pytest.mark.parametrize("law", NOISES, ids=label)
def test_each_draw_has_bits_of_its_own(law: Noise) -> None:
    """The second sampler says what a new one says, and both hand out their own coordinates."""
    grid = default_grid(law) / 2**8
    draws = prepare_draws(law, grid=grid)
    first, second = (draws(InsecureSeededEntropy(seed)) for seed in (1, 2))
    kept = [item.draw(law.dimension) for item in (first, second)]
    new = [
        make_sampler(law, grid=grid, entropy=InsecureSeededEntropy(seed)).draw(law.dimension)
        for seed in (1, 2)
    ]
    middles = [[item.enclose(i, 120).mid() for i in range(law.dimension)] for item in (*kept, *new)]
    assert middles[:2] == middles[2:]
    if not law.for_whole_numbers:
        assert not set(map(str, middles[0])) & set(map(str, middles[1]))


def test_a_mechanism_draws_fresh_noise_each_time() -> None:
    mechanism = calibrate("laplace", epsilon="0.01", sensitivity=L1(1))
    released = {float(mechanism.release(5).values) for _ in range(50)}
    assert len(released) > 45  # of some 2^20 numbers
    again = copy.deepcopy(mechanism)
    assert again == mechanism
    assert "_prepared" not in vars(again)
    assert float(again.release(5).values) not in released


def test_a_mechanism_with_a_geometry_maps_back() -> None:
    """Far above the noise, what is released is the values; their shape is checked each time."""
    cross = Vertices([[1, 0], [0, 2]])
    mechanism = calibrate("gaussian", epsilon=1, delta="1e-6", sensitivity=cross, dimension=2)
    assert mechanism.certificate.geometry is not None
    for _ in range(3):
        assert np.allclose(mechanism.release([1e9, -2e9]).values, [1e9, -2e9], rtol=1e-6)
    with pytest.raises(InvalidArgument, match="shape"):
        mechanism.release([1.0, 2.0, 3.0])


def test_whole_numbers_stay_whole() -> None:
    mechanism = calibrate("geometric", epsilon=1, sensitivity=Integer(1))
    released = [float(mechanism.release(7).values) for _ in range(60)]
    assert all(value.is_integer() for value in released)
