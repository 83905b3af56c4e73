from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy.stats import expon, gamma, kstest, norm

from leastnoise.balls.core import precision
from leastnoise.entropy.lazy import (
    GUARD,
    LEVELS,
    LazyExponential,
    LazyGamma,
    LazyNormal,
    LazyReal,
    LazyUniform,
    certainly_less,
    decide,
)
from leastnoise.entropy.scaled import LazyRational, nearest_positive_float
from leastnoise.entropy.source import Entropy, InsecureSeededEntropy
from leastnoise.errors import RandomnessError
from tests.grids import thin


class ScriptedEntropy(Entropy):
    """A source of the given bits, then zeros, which counts the bytes that were read."""

    def __init__(self, script: bytes = b"") -> None:
        self.script = script
        self.read = 0

    def _read(self, size: int) -> bytes:
        taken = self.script[self.read : self.read + size].ljust(size, b"\0")
        self.read += size
        return taken


MAKERS = {
    "uniform": LazyUniform,
    "normal": LazyNormal,
    "exponential": LazyExponential,
    "gamma 1": lambda source: LazyGamma(source, shape=Fraction(1)),
    "gamma 3/2": lambda source: LazyGamma(source, shape=Fraction(3, 2)),
    "gamma 5e5": lambda source: LazyGamma(source, shape=Fraction(1_000_001, 2)),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_enclosures_are_of_one_number_and_shrink(make) -> None:
    source = InsecureSeededEntropy(2)
    for _ in range(50):
        number: LazyReal = make(source)
        balls = []
        for bits in (*LEVELS[:6], LEVELS[0], LEVELS[2]):  # a later coarse look agrees too
            with precision(bits + GUARD):
                balls.append(number.enclose(bits))
        finest = balls[5]
        assert finest.rad() < arb(2) ** (40 - LEVELS[5])
        assert all(other.overlaps(finest) for other in balls if other.is_finite())
        with precision(4000):
            assert all(other.contains(finest.mid()) for other in balls[:5] if other.is_finite())


def test_a_uniform_reveals_its_bits_from_the_left() -> None:
    uniform = LazyUniform(ScriptedEntropy(), prefix=0b101, known=3)
    with precision(100):
        eighth = uniform.enclose(3)
        assert eighth.lower() == arb(5) / 8
        assert eighth.upper() == arb(6) / 8
        finer = uniform.enclose(10)
        assert finer.lower() == arb(5) / 8
        assert finer.upper() == arb(5) / 8 + arb(2) ** -10


def test_bits_are_drawn_only_when_needed() -> None:
    source = ScriptedEntropy()
    uniform = LazyUniform(source, prefix=1 << 62, known=63)
    uniform.enclose(60)
    assert source.read == 0
    uniform.enclose(64)
    uniform.enclose(64)
    assert source.read == 8


def test_a_decision_waits_until_it_is_certain() -> None:
    """1/2 + 2^-500·(something positive) against 1/2: the first levels can't tell."""
    script = bytes(60) + b"\xff" * 8
    uniform = LazyUniform(ScriptedEntropy(script), prefix=1, known=1)
    half = arb(1) / 2
    assert decide(lambda bits: certainly_less(half, uniform.enclose(bits))) is True


def test_an_undecidable_question_publishes_nothing() -> None:
    uniform = LazyUniform(ScriptedEntropy(), prefix=1, known=1)  # 1/2 and zeros for ever
    with pytest.raises(RandomnessError, match="Nothing was published"):
        decide(lambda bits: certainly_less(arb(1) / 2, uniform.enclose(bits)))


def test_a_comparison_that_could_go_either_way_is_none() -> None:
    assert certainly_less(arb(1, 1), arb(1.5)) is None
    assert certainly_less(arb("nan"), arb(0)) is None
    assert certainly_less(arb(1), arb(2)) is True
    assert certainly_less(arb(2), arb(2)) is False


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(10) ** 250 / 7, Fraction(10) ** -600])
def test_a_factor_is_near_its_float(value: Fraction) -> None:
    result = nearest_positive_float(LazyRational(value))
    assert abs(Fraction(result) - value) <= value / 2**50 + Fraction(1, 2**1000)


@pytest.mark.parametrize(
    "shape", thin([Fraction(3, 2), Fraction(1), Fraction(7), Fraction(1000)], 1)
)
def test_gamma_has_its_law(shape: Fraction) -> None:
    """KS against the Gamma law at p = 1e-3; a scale that is off by 10 % must fail at 1e-4."""
    source = InsecureSeededEntropy(4)
    with precision(150):
        drawn = np.array([float(LazyGamma(source, shape=shape).enclose(90)) for _ in range(4000)])
    law = gamma(float(shape))
    assert kstest(drawn, law.cdf).pvalue > 1e-3
    assert kstest(1.1 * drawn, law.cdf).pvalue < 1e-4


def test_the_normal_and_the_exponential_have_their_laws() -> None:
    source = InsecureSeededEntropy(5)
    with precision(150):
        normal = np.array([float(LazyNormal(source).enclose(90)) for _ in range(4000)])
        exponential = np.array([float(LazyExponential(source).enclose(90)) for _ in range(4000)])
    assert kstest(normal, norm.cdf).pvalue > 1e-3
    assert kstest(1.1 * normal, norm.cdf).pvalue < 1e-3
    assert kstest(exponential, expon.cdf).pvalue > 1e-3
    assert kstest(1.1 * exponential, expon.cdf).pvalue < 1e-3
