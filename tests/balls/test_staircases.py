from __future__ import annotations

import math
from fractions import Fraction

import pytest

from leastnoise.balls.core import AMPLE_BITS, float_above, float_below, precision
from leastnoise.design.bounds import body_bound
from leastnoise.design.bounds.body_bound import StaircaseMoment

CASES = [
    ("1", 1, 2), ("1", 1, 1), ("5", 1, 1), ("0.3", 2, 2), ("5", 2, 2), ("2", 4, 2), ("5", 7, 2),
    ("10", 12, 2), ("0.001", 3, 2), ("1", 60, 2), ("40", 3, 2), ("400", 1, 2), ("400", 1, 1),
]  # fmt: skip


def moment(epsilon: str, dimension: int, power: int) -> StaircaseMoment:
    return StaircaseMoment.of(epsilon=Fraction(epsilon), dimension=dimension, power=power)


def summed(epsilon: float, dimension: int, power: int, gamma: float) -> float:
    """E N^p by the sum over the steps: uniform in (k + γ)K with probability ∝ q^k (k + γ)^D."""
    steps = range(int((60 + 8 * dimension) / epsilon) + 60)
    logs = [-epsilon * k + dimension * math.log(k + gamma) for k in steps]
    weights = [math.exp(log - max(logs)) for log in logs]
    total = math.fsum(w * (k + gamma) ** power for k, w in zip(steps, weights, strict=True))
    return dimension / (dimension + power) * total / math.fsum(weights)


@pytest.mark.parametrize(("epsilon", "dimension", "power"), [c for c in CASES if c[0] != "0.001"])
def test_the_polynomial_is_the_sum(epsilon: str, dimension: int, power: int) -> None:
    with precision(AMPLE_BITS):
        for gamma in ("0.001", "0.37", "1"):
            result = moment(epsilon, dimension, power).at(Fraction(gamma))
            known = summed(float(epsilon), dimension, power, float(gamma))
            assert float(result.mid()) == pytest.approx(known, rel=1e-11)


@pytest.mark.parametrize(("epsilon", "dimension", "power"), CASES)
def test_no_gamma_has_less_and_one_has_hardly_more(
    epsilon: str, dimension: int, power: int
) -> None:
    with precision(AMPLE_BITS):
        item = moment(epsilon, dimension, power)
        least = item.prove_least(item.best())
        assert least is not None
        for i in range(1, 101):
            for gamma in (Fraction(i, 100), Fraction(1, 2**i)):
                assert least < item.at(gamma)
        assert float_above(item.at(item.best()) / least) <= 1 + 1.01 * body_bound.SLACK


def test_the_published_optimum_for_one_number() -> None:
    """Geng & Viswanath (2014): E|X| = √q/(1 − q), at γ = √q/(1 + √q)."""
    with precision(AMPLE_BITS):
        item = moment("1", 1, 1)
        assert float(item.best()) == pytest.approx(1 / (1 + math.exp(0.5)), rel=1e-9)
        least = item.prove_least(item.best())
        assert least is not None
        assert float_below(least) == pytest.approx(math.exp(-0.5) / -math.expm1(-1), rel=1e-7)


@pytest.mark.parametrize(
    ("dimension", "ratios"),
    [(1, (0.959, 0.845, 0.687, 0.371, 0.042)), (2, (0.993, 0.949, 0.856, 0.587, 0.132)),
     (3, (0.999, 0.983, 0.932, 0.730, 0.240)), (5, (1.0, 0.998, 0.986, 0.883, 0.441)),
     (10, (1.0, 1.0, 1.0, 0.988, 0.744))],
)  # fmt: skip
def test_the_table_of_second_moments(dimension: int, ratios: tuple[float, ...]) -> None:
    """Theory of bodies, §1: over those of e^(−εN), D(D + 1)/ε²."""
    with precision(AMPLE_BITS):
        for epsilon, ratio in zip((1, 2, 3, 5, 10), ratios, strict=True):
            item = moment(str(epsilon), dimension, 2)
            value = float(item.at(item.best()).mid()) * epsilon**2 / (dimension * (dimension + 1))
            assert value == pytest.approx(ratio, abs=6e-4)


def test_what_is_not_so_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_bound, "_MOST_PIECES", 300)
    with precision(AMPLE_BITS):
        item = moment("5", 2, 2)
        assert item.prove_least(Fraction(1, 2)) is None  # a guess that isn't the best γ
        best = item.best()
        for slack in (-1e-9, -0.01, -10.0):  # more than the least
            monkeypatch.setattr(body_bound, "SLACK", slack)
            assert item.prove_least(best) is None
