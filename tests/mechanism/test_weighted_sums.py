"""The law of weighted sums of noise, against convolved masses and sums in closed form."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from leastnoise.certificate.certificate import Certificate
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.plain import Box
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L1, Integer, Sensitivity
from leastnoise.guarantees.structured import Within
from leastnoise.mechanism.accuracy import Term, deviation_of_sum, half_width, half_widths_of_sum
from leastnoise.noise.question import Question
from leastnoise.selection.public import find_candidate

GRID = Fraction(1, 2**20)
PROBABILITIES = (0.95, 0.975, 0.99)


def noise_of(family: str, epsilon: str, shift: Sensitivity | None = None) -> Certificate:
    question = Question(
        budget=Budget(epsilon=epsilon, delta="1e-5" if family == "gaussian" else 0),
        sensitivities=(shift or (Integer(1) if family == "geometric" else L1(1)),),
        dimension=1,
    )
    return find_candidate(family, question).mechanism.certificate.on_grid(GRID)


def law_of(epsilon: float, reach: int) -> dict[int, float]:
    q = math.exp(-epsilon)
    return {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-reach, reach + 1)}


def within(law: dict[float, float], end: float) -> float:
    return math.fsum(p for index, p in law.items() if abs(index) <= end + 1e-12)


def summed(terms: list[tuple[float, dict[int, float]]]) -> dict[float, float]:
    law_of_sum = {0.0: 1.0}
    for coefficient, law in terms:
        more: dict[float, float] = {}
        for (a, p), (k, mass) in itertools.product(law_of_sum.items(), law.items()):
            position = round(a + coefficient * k, 9)
            more[position] = more.get(position, 0.0) + p * mass
        law_of_sum = more
    return law_of_sum


@pytest.mark.parametrize(("epsilon", "count"), [("0.3", 2), ("1", 5), ("2.5", 40)])
def test_whole_sums_have_the_least_whole_half_width(epsilon: str, count: int) -> None:
    noise = noise_of("geometric", epsilon)
    law = summed([(1.0, law_of(float(epsilon), 60))] * count) if count < 9 else None
    if law is None:
        base = np.array(list(law_of(2.5, 12).values()))
        whole = np.array([1.0])
        for _ in range(count):
            whole = np.convolve(whole, base)
        law = {float(k - 12 * count): p for k, p in enumerate(whole.tolist())}
    term = Term(certificate=noise, coefficient=1.0, times=count)
    for probability, end in zip(
        PROBABILITIES, half_widths_of_sum([term], PROBABILITIES), strict=True
    ):
        assert end == int(end)
        assert within(law, end) >= probability - 1e-6 > within(law, end - 1) - 2e-6


def test_weighted_sums_hold_and_are_hardly_wider_than_need_be() -> None:
    item, other = noise_of("geometric", "1"), noise_of("geometric", "0.4")
    terms = [
        Term(certificate=item, coefficient=0.7, times=2),
        Term(certificate=item, coefficient=-0.1, times=1),
        Term(certificate=other, coefficient=0.25, times=1),
    ]
    law = summed([
        (0.7, law_of(1, 25)), (0.7, law_of(1, 25)), (-0.1, law_of(1, 25)), (0.25, law_of(0.4, 50)),
    ])  # fmt: skip
    deviation = math.sqrt(math.fsum(p * index**2 for index, p in law.items()))
    assert deviation_of_sum(terms) == pytest.approx(deviation, rel=1e-6)
    for probability, end in zip(
        PROBABILITIES, half_widths_of_sum(terms, PROBABILITIES), strict=True
    ):
        assert within(law, end) >= probability
        assert within(law, end - 0.03 * deviation) < probability


def test_continuous_noise_has_its_closed_forms() -> None:
    laplace, gaussian = noise_of("laplace", "0.5"), noise_of("gaussian", "1")
    two = [Term(certificate=laplace, coefficient=0.5, times=2)]
    (end,) = half_widths_of_sum(two, [0.95])
    # P(|L + L'| > t) = (1 + t/2) e^-t, at scale 1
    root = next(t for t in np.arange(3, 7, 1e-4) if (1 + t / 2) * math.exp(-t) <= 0.05)
    assert root <= end <= 1.015 * root
    normal = [Term(certificate=gaussian, coefficient=-0.3, times=9)]
    (end,) = half_widths_of_sum(normal, [0.95])
    assert 1.9599 <= end / (0.9 * float(gaussian.noise.scale)) <= 1.98
    (alone,) = half_widths_of_sum([Term(certificate=laplace, coefficient=-2, times=1)], [0.95])
    assert alone == pytest.approx(4 * math.log(20), rel=1e-5)


def test_rounding_to_a_grid_is_counted() -> None:
    coarse = noise_of("laplace", "0.5").on_grid(1)
    terms = [Term(certificate=coarse, coefficient=0.5, times=4)]
    fine = [Term(certificate=noise_of("laplace", "0.5"), coefficient=0.5, times=4)]
    assert half_widths_of_sum(terms, [0.95])[0] > half_widths_of_sum(fine, [0.95])[0] + 1


def box_noise(each: int, cells: int = 1) -> Certificate:
    hull = Cells(bodies=[Box(bounds=[1] * each)], copies=[cells])
    question = Question(
        budget=Budget(epsilon="0.5", delta=0),
        sensitivities=(Within(hull),),
        dimension=each * cells,
    )
    return find_candidate("k-norm", question).mechanism.certificate.on_grid(GRID)


@pytest.mark.parametrize(
    ("each", "weights"), [(2, (1, 0)), (2, (1, -1)), (3, (0, 0.5, 2)), (5, (0, 0, 1))]
)
def test_numbers_of_a_cell_together(each: int, weights: tuple[float, ...]) -> None:
    """Drawn by the noise's definition: the largest is Gamma, and the others are below it."""
    random, times, coefficient = np.random.default_rng(3), 3, -0.7
    most = random.gamma(each, scale=2, size=(200_000, times, 1))
    cells = random.uniform(-1, 1, (200_000, times, each))
    which = random.integers(each, size=most.shape)
    np.put_along_axis(cells, which, random.choice([-1.0, 1.0], most.shape), axis=-1)
    drawn = coefficient * (most * cells)[..., : len(weights)] @ np.array(weights)
    noise = box_noise(each, cells=4)
    term = Term(certificate=noise, coefficient=coefficient, times=times, weights=weights)
    assert deviation_of_sum([term]) == pytest.approx(drawn.sum(axis=1).std(), rel=0.01)
    for probability, end in zip(
        PROBABILITIES, half_widths_of_sum([term], PROBABILITIES), strict=True
    ):
        assert -0.002 < np.mean(np.abs(drawn.sum(axis=1)) <= end) - probability < 0.006


def test_numbers_of_a_cell_in_closed_form() -> None:
    """max(|x|, |y|) = |x + y|/2 + |x − y|/2: both are Laplace noise of scale 2/ε, independent."""
    noise = box_noise(2)
    for weights in ((1.0, 1.0), (1.0, -1.0)):
        term = Term(certificate=noise, coefficient=1, times=1, weights=weights)
        (end,) = half_widths_of_sum([term], [0.95])
        assert 4 * math.log(20) <= end <= 1.015 * 4 * math.log(20)
    (alone,) = half_widths_of_sum(
        [Term(certificate=noise, coefficient=2, times=1, weights=(0, 1))], [0.95]
    )
    assert alone == pytest.approx(2 * half_width(noise, 0.95, 1), rel=1e-9)


def test_other_noise_is_refused() -> None:
    stairs = noise_of("geometric", "1", Integer(3))
    three = Term(certificate=box_noise(3), coefficient=1, times=2, weights=(1, 1, 1))
    with pytest.raises(NotApplicable, match="characteristic function"):
        half_widths_of_sum([three], [0.95])
    with pytest.raises(NotApplicable, match="characteristic function"):
        half_widths_of_sum([Term(certificate=stairs, coefficient=0.5, times=2)], [0.95])


def test_wide_whole_noise_takes_as_long_as_other_noise() -> None:
    epsilon = 1e-5  # the series of a step of 0.4 would have 10^9 terms
    terms = [Term(certificate=noise_of("geometric", str(epsilon)), coefficient=1, times=4)]
    (end,) = half_widths_of_sum(terms, [0.95])
    draws = np.random.default_rng(1).laplace(scale=1 / epsilon, size=(200_000, 4)).sum(axis=1)
    assert float(end).is_integer()
    assert np.quantile(np.abs(draws), 0.945) < end < np.quantile(np.abs(draws), 0.955)
