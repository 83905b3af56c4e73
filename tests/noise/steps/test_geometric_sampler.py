"""Draws on the whole numbers: their law, and the number for each uniform word."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from flint import arb

from leastnoise.balls.core import ball, precision
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.mechanism.rounding import add_noise
from leastnoise.noise.steps.law import Geometric
from leastnoise.noise.steps.sampler import _geometric_pieces
from tests import whole_steps

_DRAWS = 20_000
_LAST = 9  # magnitudes from there on are one class
_CRITICAL = 42.3  # χ² of 18 degrees of freedom, exceeded with probability 0.001
_REJECTED = 60.0  # the same, with probability 2e-6
LAWS = [
    Geometric(scale=1, cells=1, core=1, decay="0.4"),
    Geometric(scale=4, cells=4, core=2, decay="1.5"),
    Geometric(scale=3, cells=3, core=3, decay="0.9"),
]


def _counts(law: Geometric, seed: int) -> np.ndarray:
    values, entropy = np.full(_DRAWS, 100.0), InsecureSeededEntropy(seed)
    grid, cells = Fraction(1, 2**12), CellGeometry(count=_DRAWS)
    drawn = add_noise(law, grid, values, geometry=cells, entropy=entropy) - 100
    assert (drawn % 1 == 0).all()
    return np.bincount(np.clip(drawn, -_LAST, _LAST).astype(int) + _LAST, minlength=2 * _LAST + 1)


def _expected(law: Geometric) -> np.ndarray:
    with mp.workdps(25):
        half = [float(p) for p in whole_steps.chances(law)]
    half = [*half[:_LAST], sum(half[_LAST:])]
    return np.array([*half[:0:-1], *half])


def _chi_squared(counts: np.ndarray, expected: np.ndarray) -> float:
    expected *= counts.sum()
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.cells}-{law.core}")
def test_the_law_is_drawn_and_no_other(law: Geometric) -> None:
    counts = _counts(law, seed=11)
    assert _chi_squared(counts, _expected(law)) < _CRITICAL
    other = Geometric(
        scale=law.scale, cells=law.cells, core=law.core, decay=law.decay * Fraction(9, 10)
    )
    assert _chi_squared(counts, _expected(other)) > _REJECTED
    if law.cells > 1:
        core = law.core - 1
        other = Geometric(scale=law.scale, cells=law.cells, core=core, decay=law.decay)
        assert _chi_squared(counts, _expected(other)) > _REJECTED


@pytest.mark.parametrize(
    "law", [*LAWS, Geometric(scale=2**20, cells=2**20, core=437_000, decay="0.9")],
    ids=lambda law: f"{law.cells}-{law.core}",
)  # fmt: skip
def test_each_number_has_its_part_of_the_uniform_ones(law: Geometric) -> None:
    """S_j are the tails, and a number between S_{j+1} and S_j stands for j, however near."""
    pieces = _geometric_pieces(law, Fraction(1, 4))
    last = 3 * law.cells + law.core
    tried = {0, 1, law.core - 1, law.core, law.core + 1, law.core + law.cells, last, last + 1}
    with precision(256):
        for j in sorted(tried):
            near, far = pieces.survival(j), pieces.survival(j + 1)
            for share in (Fraction(1, 10**30), Fraction(1, 2), 1 - Fraction(1, 10**30)):
                assert pieces.locate(far + ball(share) * (near - far)) == j
            if j:
                assert pieces.locate(near + arb(0, 2.0**-80)) is None  # on both sides of it
            assert pieces.ends(j) == (Fraction(j, 4), Fraction(j, 4))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.cells}-{law.core}")
def test_tails_are_sums_of_probabilities(law: Geometric) -> None:
    pieces = _geometric_pieces(law, Fraction(1))
    with mp.workdps(30), precision(100):
        half = whole_steps.chances(law)
        for j in range(1, 25):
            exact = 2 * mp.fsum(half[j:])
            assert float(pieces.survival(j)) == pytest.approx(float(exact), rel=1e-14)
        assert pieces.survival(0) == 1


def test_draws_without_a_table_are_the_same() -> None:
    """Balls alone, with as much noise as no table is made for, and the first draws of a table."""
    wide = Geometric(scale=2**20, cells=2**20, core=437_000, decay="0.9")
    values, cells = np.zeros(60), CellGeometry(count=60)
    drawn = add_noise(wide, Fraction(1), values, geometry=cells, entropy=InsecureSeededEntropy(5))
    assert np.abs(drawn).mean() == pytest.approx(wide.mean_abs, rel=0.5)
    law = LAWS[1]
    one_by_one = InsecureSeededEntropy(3)
    few = add_noise(
        law, Fraction(1), np.zeros(24), geometry=CellGeometry(count=24), entropy=one_by_one
    )
    many = add_noise(
        law, Fraction(1), np.zeros(8_000), geometry=CellGeometry(count=8_000),
        entropy=InsecureSeededEntropy(3),
    )  # fmt: skip
    assert many[:24].tolist() == few.tolist()


@pytest.mark.parametrize("value", [0, 3, -17, 2.5, 0.49])
def test_what_is_released_is_a_whole_number_whatever_the_value(value: float) -> None:
    released = add_noise(
        LAWS[1], Fraction(1, 2**12), float(value), entropy=InsecureSeededEntropy(1)
    )
    assert float(released) % 1 == 0
