"""Piecewise laws: floats, balls and an independent oracle agree on every bit.

The oracle has the exact probabilities of the pieces to 60 digits, by formulas of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, TypeVar, cast

import numpy as np
import pytest
from flint import arb
from mpmath import exp, floor, mpf, workdps

from leastnoise.balls.core import ball
from leastnoise.entropy import pieces
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.guarantees.geometry import CellGeometry
from leastnoise.mechanism.rounding import add_noise, default_grid
from leastnoise.noise.base import Noise
from leastnoise.noise.lattice.law import Cactus, DiscreteStaircase, Optimal
from leastnoise.noise.steps.law import Geometric, Staircase, TruncatedStaircase, Tulap
from tests.both_routes import (
    FULL,
    GivenWords,
    assert_routes_agree,
    block_of,
    dishonest,
    random_values,
    random_words,
    told_by_balls,
)

F = TypeVar("F", bound=Callable[..., Any])


def with_60_digits(function: F) -> F:
    return cast("F", workdps(60)(function))


SCALE = Fraction(10, 3)
Reference = list[tuple[Fraction, Fraction, Any]]  # of each piece: its ends, and its mass


@with_60_digits
def _staircase(gamma: str, decay: str, radius: str = "80", atom: str = "0") -> Reference:
    """A staircase up to the radius: a step of length γ, then of length 1, each e^−decay lower."""
    width, last, kept = Fraction(gamma), Fraction(radius), Fraction(atom)
    edges = [Fraction(0), width]
    while edges[-1] < last:
        edges.append(min(last, edges[-1] + 1))
    areas = [
        _real(b - a) * exp(-j * _real(Fraction(decay))) for j, (a, b) in enumerate(pairwise(edges))
    ]
    total = sum(areas)
    inner = [(Fraction(0), Fraction(0), _real(kept))] if kept else []
    shares = [area / total * (1 - _real(kept)) for area in areas]
    return inner + [(a, b, mass) for (a, b), mass in zip(pairwise(edges), shares, strict=True)]


@with_60_digits
def _lattice(masses: tuple[int, ...], cells: int, half: Fraction) -> Reference:
    total = 2 * sum(masses) - masses[0]
    return [
        (
            max(Fraction(0), k - half) / cells,
            (k + half) / cells,
            mpf(mass if k == 0 else 2 * mass) / total,
        )
        for k, mass in enumerate(masses)
        if mass
    ]


@with_60_digits
def _points(*, cells: int, core: int, decay: str, last: int) -> Reference:
    """A staircase on a lattice, up to a point beyond which there is e^−66 of the mass."""
    steps = [0 if k < core else (k - core) // cells + 1 for k in range(last)]
    weights = [exp(-mpf(decay) * step) * (2 if k else 1) for k, step in enumerate(steps)]
    total = sum(weights)
    places = [Fraction(k, cells) for k in range(last)]
    return [(at, at, item / total) for at, item in zip(places, weights, strict=True)]


def _real(number: Fraction) -> Any:
    return mpf(number.numerator) / number.denominator


MASSES = (5, 3, 4, 0, 1)
FALLING = tuple(int(10**20 * 0.6**k) for k in range(30))
HALF = Fraction(1, 2)
LAWS: dict[str, tuple[Noise, Reference]] = {
    "staircase": (
        Staircase(scale=SCALE, gamma="0.4", decay="0.5"),
        _staircase("0.4", "0.5", radius="400.4"),
    ),
    "steep staircase": (
        Staircase(scale=SCALE, gamma="0.1", decay=9),
        _staircase("0.1", "9", radius="30.1"),
    ),
    "truncated-staircase": (
        TruncatedStaircase(scale=SCALE, gamma="0.4", radius="21.3", decay="0.5"),
        _staircase("0.4", "0.5", "21.3"),
    ),
    "with an atom": (
        TruncatedStaircase(scale=SCALE, gamma="0.4", radius="3.3", decay="0.5", atom="0.1"),
        _staircase("0.4", "0.5", "3.3", "0.1"),
    ),
    "tulap": (Tulap(scale=SCALE, radius="8.2", decay="0.7"), _staircase("0.5", "0.7", "8.2")),
    "discrete-staircase": (
        DiscreteStaircase(scale=SCALE, cells=1, masses=MASSES),
        _lattice(MASSES, 1, Fraction(0)),
    ),
    "falling discrete-staircase": (
        DiscreteStaircase(scale=SCALE, cells=3, masses=FALLING),
        _lattice(FALLING, 3, Fraction(0)),
    ),
    "geometric": (
        Geometric(scale=SCALE, cells=3, core=2, decay="0.5"),
        _points(cells=3, core=2, decay="0.5", last=400),
    ),
    "optimal": (Optimal(scale=SCALE, cells=2, masses=MASSES), _lattice(MASSES, 2, HALF)),
    "cactus": (Cactus(scale=SCALE, cells=3, masses=FALLING), _lattice(FALLING, 3, HALF)),
}
EVERY = pytest.mark.parametrize("name", LAWS)


@with_60_digits
def _thresholds(reference: Reference) -> list[int]:
    """⌊2^63·S⌋ for the survival probability S between each two pieces, if above 2^-60."""
    beyond = list(accumulate((mass for *_, mass in reversed(reference)), initial=mpf(0)))
    words = [floor(s * FULL) for s in beyond[1:-1] if s > mpf(2) ** -60]
    return [int(cast("Any", word)) for word in words]


def _adversarial(reference: Reference) -> list[int]:
    """63-bit words at every threshold, next to it, 2^-50 away and half-way, and the extremes."""
    ends = sorted({0, *_thresholds(reference), FULL})
    near = {
        end + move for end in ends for move in (-9000, -8000, -3, -2, -1, 0, 1, 2, 3, 8000, 9000)
    }
    middles = {(a + b) // 2 for a, b in pairwise(ends)}
    return sorted(word for word in near | middles if 0 <= word < FULL)


@with_60_digits
def _truth(reference: Reference, u: Any) -> Any:
    """The quantile Q(u)/scale, by a walk outwards until less than u of the mass is left."""
    left = mpf(1)
    for lower, upper, mass in reference:
        rest = left - mass
        if u > rest:
            inside = (left - u) / mass
            return _real(lower) + inside * _real(upper - lower)
        left = rest
    return _real(reference[-1][1])


def _dishonest(name: str) -> int:
    noise, reference = LAWS[name]
    words = _adversarial(reference) + random_words(200, seed=3)
    return dishonest(noise, lambda u: _truth(reference, u), words)


@pytest.mark.grid
@EVERY
def test_estimates_are_as_near_as_they_claim(name: str) -> None:
    assert _dishonest(name) == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [("discrete-staircase", 2**13), ("optimal", 2**13), ("tulap", 2**23), ("with an atom", 2**23)],
)
def test_a_threshold_that_is_off_by_little_is_caught(
    name: str, words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is 2^-50 off where Q jumps, and 2^-40 where Q is continuous: 2^-50 is below `error`."""
    near = pieces.nearest_word
    monkeypatch.setattr(pieces, "nearest_word", lambda probability: near(probability) + words)
    assert _dishonest(name) > 0


@pytest.mark.parametrize("name", ["discrete-staircase", "falling discrete-staircase", "optimal"])
def test_words_that_no_ball_is_asked_about_are_caught(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "_DOUBT", 0)
    assert _dishonest(name) > 0


@EVERY
def test_little_is_left_to_balls(name: str) -> None:
    """Not idle: two words a threshold, what is far out, and 2^-12 of a grid step about a half."""
    noise, reference = LAWS[name]
    block = block_of(noise, random_words(1 << 14, seed=4), default_grid(noise))
    assert block.beyond.mean() < 2.0**-12
    assert block.error < 2.0**-16
    words = _adversarial(reference)
    block = block_of(noise, words, default_grid(noise))
    ends = np.array([0, *_thresholds(reference)])
    inside = np.array([word > 2**43 and np.abs(ends - word).min() > 3 for word in words])
    assert not block.beyond[: len(words)][inside].any()


@pytest.mark.dense
@EVERY
def test_balls_agree_with_the_oracle(name: str) -> None:
    noise, reference = LAWS[name]
    words = _adversarial(reference) + random_words(200, seed=5)
    text = told_by_balls(noise, lambda u: _truth(reference, u), words)
    assert text > 0.7 * len(words)


@pytest.mark.dense
@EVERY
@pytest.mark.parametrize("bits", [20, 34])
def test_both_routes_agree_on_the_worst_words(name: str, bits: int) -> None:
    noise, reference = LAWS[name]
    words = [word << 1 | sign for word in _adversarial(reference) for sign in (0, 1)]
    values = np.full(len(words), 0.3)
    assert_routes_agree(noise, lambda: GivenWords(words), values, bits=bits)


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


@EVERY
def test_a_table_changes_no_number(name: str) -> None:
    """Few numbers are drawn without one, many with it: one is the beginning of the other."""
    noise, _ = LAWS[name]
    grid = default_grid(noise)
    released = [
        add_noise(noise, grid, np.zeros(count), geometry=CellGeometry(count=count), entropy=source)
        for count, source in ((5, InsecureSeededEntropy(6)), (500, InsecureSeededEntropy(6)))
    ]
    assert np.array_equal(released[0], released[1][:5])


def test_a_tie_of_a_lattice_law_is_decided() -> None:
    """K + 2.5 lies half-way between two points of the grid, for every K, and must not raise."""
    law = DiscreteStaircase(scale=3, cells=3, masses=MASSES)
    for seed in range(20):
        drawn = [
            float(add_noise(law, Fraction(1), value, entropy=InsecureSeededEntropy(seed)))
            for value in (2.0, 2.5)
        ]
        assert drawn[1] == drawn[0] + 1


def test_steps_too_small_for_a_table_go_to_balls() -> None:
    law = Staircase(scale=1, gamma="0.5", decay="1e-6")
    block = block_of(law, random_words(50, seed=7), default_grid(law))
    assert block.beyond.all()
    law = TruncatedStaircase(scale=1, gamma="0.5", radius="9.5", decay=40)
    block = block_of(law, [3, 1 << 5, 1 << 62], default_grid(law))
    assert block.beyond[:3].tolist() == [True, True, False]


def test_a_number_that_may_be_of_two_pieces_is_of_none_yet() -> None:
    quarters = pieces.finite_pieces(
        lambda j: (Fraction(j), Fraction(j + 1)), lambda j: ball(1 - Fraction(j, 4)), 4
    )
    assert [quarters.locate(ball(1 - Fraction(2 * j + 1, 8))) for j in range(4)] == [0, 1, 2, 3]
    for j in (1, 2, 3):
        around = ball(1 - Fraction(j, 4)) + arb(0, 0.01)
        assert quarters.locate(around) is None
