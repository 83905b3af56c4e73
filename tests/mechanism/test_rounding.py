from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Block, Sampler
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import InvalidArgument, RandomnessError
from leastnoise.guarantees.structured import Vertices
from leastnoise.mechanism.rounding import (
    LARGEST_RESULT,
    _short,
    add_noise,
    default_grid,
    round_sums,
)
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Gaussian, Laplace
from leastnoise.noise.draw import make_sampler
from leastnoise.noise.radial.law import SphericalLaplace
from leastnoise.selection.public import calibrate
from tests.both_routes import Counting, OnlyBalls

TWO = Fraction(2)
SCALE = Fraction(10, 3)  # not dyadic: the float of scale/g is never exact
NOISES = {
    "gaussian": lambda d: Gaussian(scale=SCALE, dimension=d),
    "laplace": lambda d: Laplace(scale=SCALE, dimension=d),
    "l2": lambda d: SphericalLaplace(scale=SCALE, dimension=d),
}


class Fixed(Sampler):
    """A sampler of known numbers, whose float estimates are off by less than `error`."""

    def __init__(self, *numbers: Fraction, error: float = 2.0**-40) -> None:
        self.numbers = numbers
        self.error = error
        self.asked = 0

    def draw(self, count: int) -> Block:
        here = self.numbers[:count]
        self.numbers = self.numbers[count:]

        def enclose(index: int, bits: int) -> arb:
            self.asked += 1
            return ball(here[index])

        estimates = np.array([float(number) for number in here])
        return Block(
            estimates=estimates,
            beyond=np.zeros(count, dtype=bool),
            error=self.error,
            reach=float(np.abs(estimates).max(initial=0.0)),
            enclose=enclose,
        )


def zeros(count: int) -> np.ndarray:
    return np.zeros(count)


# --- the filter and the balls are one function of the bits ---------------------------------------


@pytest.mark.dense
@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize(("bits", "count"), [(20, 18_000), (30, 4000), (38, 4000)])
def test_filter_and_balls_agree_on_the_same_bits(name: str, bits: int, count: int) -> None:
    """Floats decide nearly all at 20 bits, and about half at 38 bits; two blocks are at 20."""
    noise: Noise = NOISES[name](count)
    exponent = math.floor(math.log2(math.sqrt(noise.variance))) - bits
    values = InsecureSeededEntropy(1).words(count) / 2.0**57
    results = []
    counting = None
    for wrap in (Counting, OnlyBalls):
        source = InsecureSeededEntropy(3)
        sampler = wrap(make_sampler(noise, grid=TWO**exponent, entropy=source))
        counting = sampler if isinstance(sampler, Counting) else counting
        results.append(round_sums(sampler, exponent, values))
    assert np.array_equal(results[0], results[1])
    assert counting is not None
    share = len(counting.asked) / count
    assert (0.2 < share < 0.9) if bits == 38 else share < 0.02


@pytest.mark.grid
@pytest.mark.parametrize("name", NOISES)
def test_an_error_claim_that_is_too_small_is_caught(name: str) -> None:
    """The test above can fail: a filter that trusts its floats blindly gets some wrong."""

    class Overconfident(Sampler):
        def __init__(self, sampler: Sampler) -> None:
            self.sampler = sampler

        def draw(self, count: int) -> Block:
            return replace(self.sampler.draw(count), error=0.0, reach=0.0)

    count, exponent = 3000, -46
    noise: Noise = NOISES[name](count)
    results = [
        round_sums(
            wrap(make_sampler(noise, grid=TWO**exponent, entropy=InsecureSeededEntropy(3))),
            exponent,
            zeros(count),
        )
        for wrap in (Overconfident, OnlyBalls)
    ]
    assert not np.array_equal(results[0], results[1])


def test_words_in_the_tail_go_to_balls() -> None:
    """Seeded words do meet the tail: 2^-17 of them are below 2^46."""
    count = 1 << 18
    source = InsecureSeededEntropy(8)
    sampler = Counting(make_sampler(Gaussian(scale=1), grid=TWO**-8, entropy=source))
    steps = round_sums(sampler, -8, zeros(count))
    assert len(sampler.asked) >= 1
    assert np.abs(steps / 256).max() > 4.2


# --- exact arithmetic around the noise -----------------------------------------------------------


def test_rounding_is_of_the_exact_sum() -> None:
    third = Fraction(1, 3)
    sums = round_sums(Fixed(third, third, -third, Fraction(0)), 0, np.array([0.1, 0.2, -0.2, 7.0]))
    assert sums.tolist() == [0, 1, -1, 7]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_difference_below_every_float_decides(sign: int) -> None:
    """F = 1/2 exactly and noise of 2^-900: only its sign tells."""
    noise = Fixed(sign * TWO**-900)
    assert round_sums(noise, 0, np.array([0.5])).tolist() == [1 if sign > 0 else 0]
    assert noise.asked > 0


def test_an_exact_tie_publishes_nothing() -> None:
    """Noise that is 0 to every precision: probability 0, but it must not be guessed."""

    class Never(Sampler):
        def draw(self, count: int) -> Block:
            block = Fixed(Fraction(0)).draw(count)
            return replace(block, enclose=lambda index, bits: arb(0, arb(2) ** -bits))

    with pytest.raises(RandomnessError):
        round_sums(Never(), 0, np.array([0.5]))


@pytest.mark.parametrize("exponent", [-1050, -1023, -60, -1, 0, 1, 60, 1023, 1050])
def test_floats_are_split_exactly(exponent: int) -> None:
    """Noise 0 (its error forces balls): the result is round(v/g), by rational arithmetic."""
    source = InsecureSeededEntropy(6)
    raw = [*source.words(300).view(np.float64).tolist(), 5e-324, -5e-324, 1.7e308, -1.7e308, 0.0]
    raw += [math.ldexp(k + 0.3, exponent) for k in range(-9, 9) if abs(exponent) < 1000]
    values = np.array([v for v in raw if math.isfinite(v)])
    tiny = Fraction(1, 10**5)  # decides ties, which are common when v < g
    with np.errstate(all="ignore"):
        rounded = round_sums(Fixed(*[tiny] * values.size, error=1.0), exponent, values)
    for value, steps in zip(values.tolist(), rounded.tolist(), strict=True):
        exact = math.floor(Fraction(value) / TWO**exponent + tiny + Fraction(1, 2))
        assert steps == max(-LARGEST_RESULT, min(LARGEST_RESULT, exact))


@pytest.mark.parametrize("shift", [-2000, -63, -62, -61, -1, 0, 1, 2, 20, 61, 62, 63, 64, 2000])
@pytest.mark.parametrize("error", [2.0**-40, 1.0], ids=["floats", "balls"])
def test_integers_are_split_exactly(shift: int, error: float) -> None:
    source = InsecureSeededEntropy(9)
    drawn = source.words(200).view(np.int64) >> source.words(200).view(np.int64) % 63
    edges = [0, 1, -1, 2**62, -(2**62), 2**61, 2**61 + 1, 2**62 - 1, 3, 2**63 - 1, -(2**63)]
    numerators = np.concatenate([drawn, np.array(edges)])
    tiny = Fraction(1, 2**20)
    noise = Fixed(*[tiny] * numerators.size, error=error)
    rounded = round_sums(noise, shift - 7, ScaledIntegers(numerators=numerators, bits=7))
    for value, steps in zip(numerators.tolist(), rounded.tolist(), strict=True):
        exact = math.floor(Fraction(value) / TWO**shift + tiny + Fraction(1, 2))
        assert steps == max(-LARGEST_RESULT, min(LARGEST_RESULT, exact))


def test_the_two_inputs_agree_where_both_are_exact() -> None:
    noise = Laplace(scale=SCALE, dimension=500)
    numerators = np.arange(-250, 250, dtype=np.int64) * 12345
    results = [
        add_noise(noise, default_grid(noise), values, entropy=InsecureSeededEntropy(2))
        for values in (ScaledIntegers(numerators=numerators, bits=9), numerators / 512)
    ]
    assert np.array_equal(results[0], results[1])


def test_results_are_nearest_doubles_of_the_grid() -> None:
    noise = Gaussian(scale=1, dimension=2)
    values = ScaledIntegers(numerators=np.array([2**62, -(2**62)]), bits=2)
    released = add_noise(noise, TWO**-1, values, entropy=InsecureSeededEntropy(2))
    assert released.tolist() == [2.0**60, -(2.0**60)]  # ±2^61 halves, noise below their ulp


# --- clamping, and data that must not raise ------------------------------------------------------


def test_no_value_raises() -> None:
    strange = [math.nan, math.inf, -math.inf, 1.79e308, -1.79e308, 5e-324, -0.0, 1e19]
    noise = Gaussian(scale=1, dimension=len(strange))
    with np.errstate(all="raise"):  # not even where the caller asked for errors
        released = add_noise(noise, TWO**-20, np.array(strange), entropy=InsecureSeededEntropy(1))
    assert abs(released[0]) < 6
    assert np.abs(released[1:3] - np.array([1, -1]) * 2.0**41).max() < 6  # infinity is 2^61 steps
    assert released[3:5].tolist() == [2.0**42, -(2.0**42)]  # cut off after the noise
    assert np.abs(released[5:7]).max() < 6
    assert released[7] == 2.0**42


@pytest.mark.parametrize("scale", ["1e130", "1e-130"])
def test_extreme_scales(scale: str) -> None:
    noise = Gaussian(scale=scale, dimension=4)
    values = np.array([0.0, 1e308, -1e308, math.nan])
    released = add_noise(noise, default_grid(noise), values, entropy=InsecureSeededEntropy(1))
    assert not np.isnan(released).any()
    assert abs(released[0]) < 6 * float(scale)
    assert released[1] > 0 > released[2]


def test_a_grid_far_coarser_than_the_noise() -> None:
    noise = Gaussian(scale="1e-130", dimension=3)
    values = np.array([0.5, 0.25, 2.0])
    drawn = [
        add_noise(noise, Fraction(1), values, entropy=InsecureSeededEntropy(seed)).tolist()
        for seed in range(8)
    ]
    assert {tuple(row[1:]) for row in drawn} == {(0.0, 2.0)}
    assert {row[0] for row in drawn} == {0.0, 1.0}


def test_values_beyond_the_range_keep_the_shape_of_their_shifts() -> None:
    """Once, cut off before the noise: neighbours (t + 10, 0) and (t + 11, 1) moved by (0, 1)."""
    points = Vertices([["1", "1"], ["0.01", "-0.01"]])
    mechanism = calibrate("k-norm", epsilon="1", sensitivity=points)
    top = 2.0**61 * float(mechanism.grid)
    here, there = (
        np.array([mechanism.release([top + a, a]).values for _ in range(40)]) for a in (10, 11)
    )
    across = np.concatenate([item[:, 1] - (item[:, 0] - top) for item in (here, there)])
    assert np.abs(across).max() < 1  # the noise itself: the body is a hundredth wide there


def test_a_sum_never_leaves_int64() -> None:
    huge = TWO**80
    with np.errstate(all="ignore"):  # as in add_noise
        rounded = round_sums(Fixed(huge, -huge, error=1e30), 0, np.array([1e130, 0.0]))
    assert rounded.tolist() == [LARGEST_RESULT, -LARGEST_RESULT]


def test_objects_never_raise_by_value() -> None:
    items = [
        10**400,
        -(10**400),
        float("nan"),
        2.5,
        Fraction(1, 2),
    ]
    noise = Gaussian(scale=1, dimension=len(items))
    values = np.array(items, dtype=object)
    released = add_noise(noise, TWO**-20, values, entropy=InsecureSeededEntropy(1))
    zero = np.zeros(len(items))
    shifts = released - add_noise(noise, TWO**-20, zero, entropy=InsecureSeededEntropy(1))
    assert shifts[0] > 2.0**40 > -(2.0**40) > shifts[1]
    assert shifts[2:].tolist() == [0, 2.5, 0.5]


# --- the public door -----------------------------------------------------------------------------


@pytest.mark.parametrize("values", [3, 3.5, [3.5], np.float32(3.5), np.array([7], dtype=np.uint8)])
def test_one_number_or_a_vector_of_one(values: Any) -> None:
    released = add_noise(Gaussian(scale=1), TWO**-20, values)
    assert released.shape == np.shape(values)
    assert released.dtype == np.float64
    assert abs(released - values).max() < 10


@pytest.mark.parametrize("grid", [Fraction(4), TWO**-20])
def test_the_same_number_is_the_same_in_every_form(grid: Fraction) -> None:
    """Neighbours must not be torn apart because one of them fits a narrower type."""
    noise = Gaussian(scale=1, dimension=2)
    for number in (3, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), 2**70):
        forms: list[Any] = [[number, 0.5], [number, Fraction(1, 2)]]
        if -(2**63) <= number < 2**63:
            forms.append(ScaledIntegers(numerators=np.array([number, 0]), bits=0))
        if 0 <= number < 2**64:
            forms.append(np.array([number, 0], dtype=np.uint64))
        noisy = [
            add_noise(noise, grid, form, entropy=InsecureSeededEntropy(3))[0] for form in forms
        ]
        assert len(set(noisy)) == 1
        limit = LARGEST_RESULT * grid
        assert abs(noisy[0] - float(max(-limit, min(limit, number)))) <= 2e-15 * abs(number) + 10


def test_decimals_are_refused_by_type() -> None:
    with pytest.raises(InvalidArgument, match="Fractions"):
        add_noise(Gaussian(scale=1), TWO**-20, [Decimal("2.5")])  # pyright: ignore[reportArgumentType]


def test_fresh_bits_by_default_and_the_input_is_left_alone() -> None:
    noise = Laplace(scale=1, dimension=50)
    values = np.linspace(-1, 1, 50)
    kept = values.copy()
    first, second = (add_noise(noise, TWO**-20, values) for _ in range(2))
    assert np.array_equal(values, kept)
    assert np.mean(first == second) < 0.1


def test_threads_do_not_disturb_each_other() -> None:
    """Balls share one process-wide precision: at 30 bits many threads need it at once."""
    noise = SphericalLaplace(scale=1, dimension=3000)
    grid = TWO**-24

    def release(seed: int) -> np.ndarray:
        return add_noise(noise, grid, zeros(3000), entropy=InsecureSeededEntropy(seed))

    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(release, range(12)))
    assert all(np.array_equal(together[seed], release(seed)) for seed in range(12))


@pytest.mark.parametrize("name", NOISES)
def test_every_output_is_on_the_grid(name: str) -> None:
    noise: Noise = NOISES[name](200)
    grid = default_grid(noise)
    released = add_noise(noise, grid, np.full(200, 0.1))
    steps = released / float(grid)
    assert np.array_equal(steps, np.rint(steps))


@pytest.mark.parametrize(
    ("grid", "text"),
    [
        (Fraction(2) ** -20, "2^-20"),
        (Fraction(2) ** -19, "1/524288"),
        (Fraction(2) ** 19, "524288"),
        (Fraction(2) ** 20, "2^20"),
        (Fraction(10**9), "1000000000"),
    ],
)
def test_powers_of_two_beyond_six_digits_are_shown_as_such(grid: Fraction, text: str) -> None:
    assert _short(grid) == text
