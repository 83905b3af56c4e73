"""The accuracy of released numbers, and the ε for an accuracy: against releases and theory."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import InvalidArgument, NotApplicable, Refused
from leastnoise.mechanism.accuracy import difference_half_width
from leastnoise.noise.draw import find_quantile
from leastnoise.noise.steps.law import Geometric
from leastnoise.noise.trees.sampler import draw_cells

L1, L2 = ln.L1(1), ln.L2(1)
COUNTS = ln.CountingQueries(dimension=2)
FAMILIES: dict[str, dict[str, Any]] = {
    "laplace": {"epsilon": 1, "sensitivity": L1},
    "gaussian": {"epsilon": 1, "delta": "1e-5", "sensitivity": L2, "dimension": 3},
    "l2": {"epsilon": 1, "delta": "1e-5", "sensitivity": L2, "dimension": 3},
    "staircase": {"epsilon": 2, "sensitivity": L1},
    "truncated-laplace": {"epsilon": 1, "delta": "1e-3", "sensitivity": L1},
    "two-sided-laplace": {"epsilon": 1, "sensitivity": COUNTS},
}


def build(name: str) -> ln.Mechanism:
    return ln.calibrate(name, **FAMILIES[name])


@pytest.mark.parametrize("epsilons", [("1", "1"), ("1", "0.3"), ("0.3", "1"), ("3", "0.1")])
def test_differences_of_gaussians_by_their_formula(epsilons: tuple[str, str]) -> None:
    each = [
        ln.calibrate("gaussian", epsilon=epsilon, delta="1e-5", sensitivity=L2).certificate
        for epsilon in epsilons
    ]
    half_width = difference_half_width((each[0], {0: 1.0}), (each[1], {0: 1.0}), 0.95)
    exact = 1.959963984540054 * math.hypot(*(float(mechanism.noise.scale) for mechanism in each))
    assert exact <= half_width < 1.05 * exact


@pytest.mark.dense
@pytest.mark.parametrize("epsilons", [("1", "1"), ("0.5", "2")])
def test_differences_of_whole_numbers_by_exact_convolution(epsilons: tuple[str, str]) -> None:
    each = [
        ln.calibrate("geometric", epsilon=item, sensitivity=ln.Integer(1)).certificate
        for item in epsilons
    ]
    reach = 80
    laws: list[list[Fraction]] = []
    for epsilon in epsilons:  # p^|k|·(1 − p)/(1 + p), p = e^−ε
        p = Fraction(math.exp(-float(epsilon)))
        laws.append([p ** abs(k) * (1 - p) / (1 + p) for k in range(-reach, reach + 1)])
    masses = {gap: Fraction(0) for gap in range(2 * reach + 1)}
    for k, first in enumerate(laws[0]):
        for m, second in enumerate(laws[1]):
            masses[abs(k - m)] += first * second
    stored, exact = masses[0], 0
    while stored < Fraction(95, 100):
        exact += 1
        stored += masses[exact]
    half_width = difference_half_width((each[0], {0: 1.0}), (each[1], {0: 1.0}), 0.95)
    assert exact - 1e-9 <= half_width <= exact + 1


@pytest.mark.slow
def test_differences_of_releases_are_within_it_as_often_as_it_says() -> None:
    runs = 3000
    for name in ("laplace", "staircase", "two-sided-laplace"):
        first, second = build(name), build(name)
        zeros = [0.0] * first.certificate.dimension
        errors = np.array(
            [second.release(zeros).values[0] - first.release(zeros).values[0] for _ in range(runs)]
        )
        pair = ((first.certificate, {0: 1.0}), (second.certificate, {0: 1.0}))
        share = (np.abs(errors) <= difference_half_width(*pair, 0.95)).mean()
        assert 0.95 - 4 * math.sqrt(0.05 / runs) < share < 0.975


@pytest.mark.parametrize("probability", [0.0, 1.0, 0.99995, math.nan])
def test_a_probability_too_near_1_is_refused(probability: float) -> None:
    computed = (build("laplace").certificate, {0: 1.0})
    with pytest.raises(InvalidArgument, match="probability"):
        difference_half_width(computed, computed, probability)


def test_laplace_by_its_formula() -> None:
    # P(|X| > t) = e^(−t) at scale 1; rounding to g adds at most g/2
    mechanism = build("laplace")
    half_width = mechanism.accuracy(0.99)
    assert half_width.shape == (1,)
    assert half_width[0] == pytest.approx(-math.log(0.01) + float(mechanism.grid) / 2, rel=1e-9)


@pytest.mark.dense
@pytest.mark.parametrize("name", FAMILIES)
def test_errors_of_releases_are_within_it_as_often_as_it_says(name: str) -> None:
    mechanism = build(name)
    dimension, runs = mechanism.certificate.dimension, 4000
    errors = np.array([mechanism.release([0.0] * dimension).values for _ in range(runs)])
    for probability in (0.5, 0.95):
        within = (np.abs(errors) <= mechanism.accuracy(probability)).sum(axis=0)
        sigma = math.sqrt(runs * probability * (1 - probability))
        assert (np.abs(within - runs * probability) < 6 * sigma).all()


def test_an_ellipse_has_an_accuracy_for_each_coordinate() -> None:
    shifts = ln.Vertices([[1, 0], [0, "0.1"]])
    mechanism = ln.calibrate("gaussian", epsilon=1, delta="1e-6", sensitivity=shifts, dimension=2)
    half_width = mechanism.accuracy(0.95)
    assert half_width[0] > 2 * half_width[1]
    normal = 1.9599639845400545
    assert half_width == pytest.approx(normal * np.sqrt(mechanism.variances), rel=1e-5)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_epsilon_for_an_accuracy_is_the_least(name: str) -> None:
    half_width = 7.5
    mechanism = build(name).at_accuracy(half_width)
    assert type(mechanism.noise) is type(build(name).noise)
    assert half_width * (1 - 1e-4) < mechanism.accuracy(0.95).max() <= half_width
    budget = mechanism.certificate.budget
    assert budget.delta == build(name).certificate.budget.delta
    assert mechanism.certificate.delta.certainly_at_most(budget.delta)
    changed: dict[str, Any] = FAMILIES[name] | {"epsilon": budget.epsilon * Fraction(999, 1000)}
    less = ln.calibrate(name, **changed)
    assert less.accuracy(0.95).max() > half_width


def _least_of_geometric(half_width: int) -> float:
    """Return the ε at which P(|K| > h) = 2b^(h+1)/(1 + b), b = e^(−ε), is 5 %."""
    low, high = 1e-3, 20.0
    for _ in range(60):
        b = math.exp(-(middle := (low + high) / 2))
        low, high = (middle, high) if 2 * b ** (half_width + 1) / (1 + b) > 0.05 else (low, middle)
    return high


@pytest.mark.grid
@pytest.mark.parametrize("half_width", [0.5, 1, 2, 2.9, 3, 20])
def test_the_epsilon_for_an_accuracy_on_whole_numbers_is_the_least(half_width: float) -> None:
    mechanism = ln.calibrate("geometric", epsilon=1, sensitivity=ln.Integer(1))
    calibrated_mechanism = mechanism.at_accuracy(half_width)
    assert calibrated_mechanism.accuracy(0.95) == math.floor(half_width)
    least = _least_of_geometric(math.floor(half_width))
    assert least <= float(calibrated_mechanism.certificate.budget.epsilon) <= least * (1 + 1e-6)
    # also from noise that is mostly 0
    again = ln.calibrate("geometric", epsilon=9, sensitivity=ln.Integer(1)).at_accuracy(half_width)
    assert float(again.certificate.budget.epsilon) == pytest.approx(least, rel=1e-6)


@pytest.mark.dense
def test_the_least_epsilon_is_found_where_errors_grow_with_epsilon_by_a_step() -> None:
    def error(epsilon: Fraction) -> float:
        noise = ln.calibrate("geometric", epsilon=epsilon, sensitivity=ln.Integer(10))
        return float(noise.accuracy(0.95)[0])

    tried = [Fraction(i, 100) for i in range(250, 500)]
    errors = [error(epsilon) for epsilon in tried]
    assert errors != sorted(errors, reverse=True)
    coarse = ln.calibrate("geometric", epsilon=5, sensitivity=ln.Integer(10))
    for half_width in sorted(set(errors)):
        least = coarse.at_accuracy(half_width).certificate.budget.epsilon
        first = tried[next(i for i, item in enumerate(errors) if item <= half_width)]
        assert least <= first
        if first > tried[0]:
            assert least > first - Fraction(1, 100)


@pytest.mark.dense
def test_whole_numbers_with_delta_get_the_least_too() -> None:
    built = {"delta": "1e-3", "sensitivity": ln.Integer(1)}
    mechanism = ln.calibrate("discrete-staircase", epsilon=1, **built).at_accuracy(2)
    assert mechanism.accuracy(0.95) == 2
    less = mechanism.certificate.budget.epsilon * (1 - Fraction(1, 10**5))
    assert ln.calibrate("discrete-staircase", epsilon=less, **built).accuracy(0.95) == 3


@pytest.mark.parametrize(("scale", "grid"), [("0.1", "default"), ("0.5", "1"), ("1/3", "1/4")])
def test_points_that_are_not_on_the_grid_are_rounded_to_it(scale: str, grid: str) -> None:
    noise = Geometric(scale=scale, cells=1, core=1, decay="0.3")
    budget = ln.Budget(epsilon=50, delta="0.5")
    certificate = ln.Certificate.prove(budget=budget, noise=noise, sensitivity=ln.Integer(1))
    mechanism = ln.Mechanism(certificate)
    mechanism = mechanism if grid == "default" else mechanism.on_grid(grid)
    step = mechanism.grid
    for probability in (0.3, 0.5, 0.8, 0.95):
        within = int(find_quantile(noise, probability) / float(noise.scale) + 0.5)
        rounded = [math.floor(k * noise.scale / step + Fraction(1, 2)) for k in (within, -within)]
        worst = max(abs(value) * step for value in rounded)  # halves go up
        most = float(within * noise.scale + step / 2)
        assert worst <= mechanism.accuracy(probability)[0] <= most * (1 + 1e-15)


def test_several_releases_are_for_as_many() -> None:
    noise = ln.calibrate("gaussian", epsilon=1, delta="1e-6", sensitivity=L2, compositions=5)
    mechanism = noise.at_accuracy(20, probability=0.9)
    assert mechanism.certificate.compositions == 5
    assert mechanism.accuracy(0.9)[0] == pytest.approx(20, rel=1e-5)


@pytest.mark.parametrize("half_width", [0, -1, math.inf, math.nan, "3", True])
def test_half_widths_that_make_no_sense(half_width: Any) -> None:
    with pytest.raises(InvalidArgument, match="half_width"):
        build("laplace").at_accuracy(half_width)


@pytest.mark.parametrize("probability", [0, 1, -0.1, 1.5, math.nan, "0.95", None])
def test_probabilities_that_make_no_sense(probability: Any) -> None:
    mechanism = build("laplace")
    with pytest.raises(InvalidArgument, match="probability"):
        mechanism.accuracy(probability)
    with pytest.raises(InvalidArgument, match="probability"):
        mechanism.at_accuracy(3, probability=probability)


def test_what_no_epsilon_gives_is_refused() -> None:
    with pytest.raises(Refused, match="1,000"):
        build("laplace").at_accuracy(1e-6)
    with pytest.raises(Refused, match="below 1e-6"):
        build("laplace").at_accuracy(1e9)


def test_a_law_whose_coordinates_are_not_known_is_refused() -> None:
    mechanism = ln.calibrate("k-norm", epsilon=1, sensitivity=ln.CountingQueries(dimension=3))
    with pytest.raises(NotApplicable, match="one coordinate"):
        mechanism.accuracy(0.95)


def test_cells_of_an_uneven_tree_have_each_its_own_half_width() -> None:
    tree = {"branches": [2, 1, 5], "shares": ["0.2", "0.4", "0.4"]}
    mechanism = ln.calibrate(
        "agreeing", epsilon=1, sensitivity=ln.RowCounts(1), dimension=6, parameters=tree
    )
    drawn = np.abs(draw_cells(mechanism.noise, InsecureSeededEntropy(3), count=4000))
    for probability in (0.9, 0.95):
        widths = mechanism.accuracy(probability)
        assert widths[0] < widths[1]
        assert ((drawn <= widths).mean(axis=0) > probability - 0.02).all()
        assert ((drawn <= widths - 1).mean(axis=0) < probability + 0.02).all()
