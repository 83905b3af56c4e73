from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from leastnoise.balls.core import precision
from leastnoise.entropy.source import Entropy, InsecureSeededEntropy
from leastnoise.entropy.spherical import _Spacings
from leastnoise.mechanism.rounding import add_noise, default_grid
from leastnoise.noise.radial.law import GeneralizedGamma
from leastnoise.noise.radial.sampler import generalized_gamma_sampler

LAWS = (
    (1, "-0.5", "0.7"),
    (2, "0.5", "1.5"),
    (3, "1.2", "3"),
    (5, "4", "0.5"),
    (6, "2.5", "2"),
)


def law_of(dimension: int, alpha: str, p: str) -> GeneralizedGamma:
    return GeneralizedGamma(scale="1.5", alpha=alpha, p=p, dimension=dimension)


@pytest.mark.slow
@pytest.mark.parametrize(("dimension", "alpha", "p"), LAWS)
def test_radius_and_direction(*, dimension: int, alpha: str, p: str) -> None:
    law, entropy = law_of(dimension, alpha, p), InsecureSeededEntropy(41)
    grid = default_grid(law) / 256 if dimension == 1 else default_grid(law)
    zero = np.zeros(dimension)
    drawn = np.array([add_noise(law, grid, zero, entropy=entropy) for _ in range(2500)])
    radius = np.linalg.norm(drawn, axis=1) / 1.5
    k = float((law.alpha + 1) / law.p)
    right = stats.gamma(k).cdf
    assert stats.kstest(radius ** float(law.p), right).pvalue > 1e-3
    assert stats.kstest((1.1 * radius) ** float(law.p), right).pvalue < (
        1e-5 if k > 1 else 1  # a small power of a small gamma hides a tenth of the scale
    )
    if dimension == 1:
        assert abs(np.sign(drawn).mean()) < 0.07
        return
    half = (dimension - 1) / 2
    far = radius > np.median(radius)
    for coordinate in range(dimension):
        cosine = (drawn[:, coordinate] / 1.5 / radius + 1) / 2
        assert stats.kstest(cosine, stats.beta(half, half).cdf).pvalue > 1e-3
        assert stats.kstest(cosine[far], cosine[~far]).pvalue > 1e-3
    covariance = np.cov((drawn / radius[:, None]).T) * dimension / 1.5**2
    assert np.abs(covariance - np.eye(dimension)).max() < 0.12


@pytest.mark.grid
@pytest.mark.parametrize(("dimension", "alpha", "p"), [*LAWS, (41, "30", "1.2")])
def test_estimates_are_within_their_error_of_the_balls(
    *, dimension: int, alpha: str, p: str
) -> None:
    law, entropy = law_of(dimension, alpha, p), InsecureSeededEntropy(42)
    checked = 0
    for _ in range(40):
        item = generalized_gamma_sampler(law, Fraction(1, 2**22), entropy)
        for count in (min(dimension, 4), dimension - min(dimension, 4)):
            block = item.draw(count)
            with precision(256):
                for index in range(count):
                    exact = block.enclose(index, 120)
                    if not block.beyond[index]:
                        checked += 1
                        assert abs(float(exact.mid()) - block.estimates[index]) <= block.error
                        assert abs(block.estimates[index]) <= block.reach
    assert checked >= 30 * (dimension // 2)


def test_many_dimensions_take_the_filter() -> None:
    dimension = 200_000
    law = GeneralizedGamma(scale=1, alpha=dimension - 1, p=2, dimension=dimension)
    entropy = InsecureSeededEntropy(43)
    drawn = add_noise(law, default_grid(law), np.zeros(dimension), entropy=entropy)
    assert stats.kstest(drawn, stats.norm(scale=0.5**0.5).cdf).pvalue > 1e-3
    assert stats.kstest(1.1 * drawn, stats.norm(scale=0.5**0.5).cdf).pvalue < 1e-5


class _Scripted(Entropy):
    """The given words first, then a seeded string."""

    def __init__(self, words: list[int]) -> None:
        self._words = words
        self._rest: Any = InsecureSeededEntropy(44)

    def _read(self, size: int) -> bytes:
        count = min(size // 8, len(self._words))
        now, self._words = self._words[:count], self._words[count:]
        head = b"".join(word.to_bytes(8, "little") for word in now)
        return head + (self._rest._read(size - len(head)) if size > len(head) else b"")


def test_equal_words_are_sorted_by_their_later_bits() -> None:
    spacings = _Spacings(5, _Scripted([7 << 60, 1 << 60, 7 << 60, 7 << 60]))
    with precision(256):
        enclosures = [spacings.enclose(index, 200) for index in range(5)]
        assert all(spacing > 0 for spacing in enclosures)
        assert abs(sum(enclosures[1:], enclosures[0]) - 1) < 1e-30
    width, small = spacings.floats(0, 5)
    assert small.tolist() == [False, False, True, True, False]
    assert width.sum() == pytest.approx(1)
