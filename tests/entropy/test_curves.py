"""Truncated and composite laws: floats, balls and an oracle in mpmath agree on every bit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from leastnoise.entropy import pieces
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.mechanism.rounding import default_grid
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import FlippedHuber, TruncatedLaplace
from tests.both_routes import (
    FULL,
    GivenWords,
    Truth,
    assert_routes_agree,
    block_of,
    dishonest,
    random_values,
    random_words,
    told_by_balls,
)

SCALE = Fraction(10, 3)


def _laplace(radius: str) -> tuple[Noise, Truth, list[float]]:
    """A truncated Laplace law, by the inverse of P(> r) = (e^−r − e^−a)/(1 − e^−a)."""
    law = TruncatedLaplace(scale=SCALE, radius=radius)

    def truth(u: Any) -> Any:
        rest = mpmath.exp(-mpf(law.radius.numerator) / law.radius.denominator)
        return -mpmath.log(rest + (1 - rest) * u)

    return law, truth, []


def _huber(alpha: str, gamma: str) -> tuple[Noise, Truth, list[float]]:
    """A flipped Huber law, by Newton's method on the survival function, ∫ of e^−ρ."""
    law = FlippedHuber(scale=SCALE, alpha=alpha, gamma=gamma)
    with mpmath.workdps(60):
        a, g = (mpf(x.numerator) / x.denominator for x in (law.alpha, law.gamma))

    def tail(r: Any) -> Any:
        """The integral of e^(−(x² + α²)/(2γ²)) from r to infinity."""
        root = mpmath.sqrt(mpmath.pi / 2) * g
        return mpmath.exp(-((a / g) ** 2) / 2) * root * mpmath.erfc(r / g / mpmath.sqrt(2))

    def beyond(r: Any) -> Any:
        if r >= a:
            return tail(r)
        inside = (mpmath.exp(-a * r / g**2) - mpmath.exp(-(a**2) / g**2)) * g**2 / a
        return inside + tail(a)

    def density(r: Any) -> Any:
        return mpmath.exp(-a * r / g**2 if r < a else -(r**2 + a**2) / (2 * g**2))

    def truth(u: Any) -> Any:
        left = u * beyond(mpf(0))
        with mpmath.workdps(20):
            low, high = mpf(0), 10 * (a + g)
            for _ in range(40):
                middle = (low + high) / 2
                low, high = (middle, high) if beyond(middle) > left else (low, middle)
        for _ in range(4):
            low += (beyond(low) - left) / density(low)
        return low

    with mpmath.workdps(60):
        return law, truth, [tail(a) / beyond(mpf(0))]


LAWS = {
    "truncated-laplace": _laplace("12"),
    "cut off early": _laplace("0.02"),
    "hardly cut off": _laplace("1000"),
    "flipped-huber": _huber("0.5", "1.2"),
    "pointed flipped-huber": _huber("1", "0.5"),
    "flipped-huber without a body": _huber("0", "1"),
}
EVERY = pytest.mark.parametrize("name", LAWS)


def _adversarial(name: str) -> list[int]:
    """Words next to the law's corners, at the ends of tables, and at both extremes."""
    _, _, corners = LAWS[name]
    with mpmath.workdps(60):
        ends = {0, FULL, *(int(corner * FULL) for corner in corners)}
    near = {end + move for end in ends for move in (-700, -513, -3, -2, -1, 0, 1, 2, 3, 513, 700)}
    powers = {(1 << power) + move for power in range(41, 63, 3) for move in (-1, 1)}
    return sorted(word for word in near | powers if 0 <= word < FULL)


def _dishonest(name: str) -> int:
    noise, truth, _ = LAWS[name]
    return dishonest(noise, truth, _adversarial(name) + random_words(20, seed=3))


@pytest.mark.grid
@EVERY
def test_estimates_are_as_near_as_they_claim(name: str) -> None:
    assert _dishonest(name) == 0


@pytest.mark.parametrize("name", ["truncated-laplace", "flipped-huber"])
def test_constants_that_are_off_by_little_are_caught(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = pieces.float_near
    monkeypatch.setattr(pieces, "float_near", lambda number: near(number) * (1 + 2.0**-37))
    assert _dishonest(name) > 0


@pytest.mark.grid
@EVERY
def test_balls_agree_with_the_oracle(name: str) -> None:
    noise, truth, _ = LAWS[name]
    words = _adversarial(name) + random_words(20, seed=5)
    assert told_by_balls(noise, truth, words) > 0.8 * len(words)


@EVERY
def test_little_is_left_to_balls(name: str) -> None:
    noise, _, _ = LAWS[name]
    block = block_of(noise, random_words(1 << 14, seed=4), default_grid(noise))
    assert block.beyond.mean() < 2.0**-12
    assert block.error < 2.0**-12


@EVERY
@pytest.mark.parametrize("bits", [20, 34])
def test_both_routes_agree_on_the_worst_words(name: str, bits: int) -> None:
    words = [word << 1 | sign for word in _adversarial(name) for sign in (0, 1)]
    values = np.full(len(words), 0.3)
    assert_routes_agree(LAWS[name][0], lambda: GivenWords(words), values, bits=bits)


@pytest.mark.grid
@EVERY
@pytest.mark.parametrize(("bits", "count"), [(20, 700), (36, 300)])
def test_filter_and_balls_agree_on_the_same_bits(name: str, bits: int, count: int) -> None:
    values = random_values(count, seed=1)
    asked = assert_routes_agree(LAWS[name][0], lambda: InsecureSeededEntropy(7), values, bits=bits)
    assert asked < 0.01 * count or bits > 20


@pytest.mark.slow
@EVERY
def test_filter_and_balls_agree_on_many_bits(name: str) -> None:
    for seed in range(8):
        values = random_values(1 << 14, seed=seed)
        asked = assert_routes_agree(
            LAWS[name][0], lambda seed=seed: InsecureSeededEntropy(100 + seed), values
        )
        assert asked < 2.0**-10 * values.size
