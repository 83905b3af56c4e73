"""Step noise for several releases: δ is proved and met, and the scale is near the least."""

from __future__ import annotations

from fractions import Fraction

import pytest

import leastnoise as ln
from leastnoise.accounting.proof.composed import prove_composed
from leastnoise.errors import InvalidArgument, NotApplicable, Refused
from leastnoise.guarantees.sensitivity import Integer, ShiftBounds
from leastnoise.noise.question import Releases


@pytest.mark.dense
@pytest.mark.parametrize(("count", "bound"), [(2, 1), (10, 3)])
def test_cactus_meets_the_budget_just_so(count: int, bound: int) -> None:
    mechanism = ln.calibrate(
        "cactus", sensitivity=ln.L2(bound), compositions=count, epsilon="1", delta="1e-5"
    )
    assert 0.99999e-5 < mechanism.certificate.delta.upper <= 1e-5
    assert mechanism.certificate.delta.lower > 0.99e-5
    assert mechanism.certificate.verify().upper <= 1e-5
    part = Releases(
        noise=mechanism.noise.scaled("0.999"),
        shifts=ShiftBounds.of(ln.L2(bound)),
        compositions=count,
    )
    assert prove_composed((part,), Fraction(1)).interval.upper > 1e-5
    # Gaussians are where its steps come from
    gauss = ln.calibrate(
        "gaussian", sensitivity=ln.L2(bound), compositions=count, epsilon="1", delta="1e-5"
    )
    assert mechanism.mse == pytest.approx(gauss.mse, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "bound"), [(3, 2), (10, 1)])
def test_whole_numbers_keep_within_the_budget(count: int, bound: int) -> None:
    mechanism = ln.calibrate(
        "discrete-staircase",
        sensitivity=Integer(bound),
        compositions=count,
        epsilon="1",
        delta="1e-5",
    )
    assert 0.9e-5 < mechanism.certificate.delta.upper <= 1e-5
    assert mechanism.certificate.verify().upper <= 1e-5
    basic = ln.calibrate(
        "discrete-staircase",
        sensitivity=Integer(bound),
        epsilon=Fraction(1, count),
        delta=Fraction(1, 10**5 * count),
    )
    assert mechanism.mse < basic.mse * 1.02


@pytest.mark.dense
def test_more_releases_take_more_noise() -> None:
    results = [
        ln.calibrate(
            "cactus", sensitivity=ln.L2(1), compositions=count, epsilon="1", delta="1e-5"
        ).mse
        for count in (3, 4)
    ]
    assert results[0] < results[1]


def test_the_optimal_law_is_for_one_release() -> None:
    with pytest.raises(NotApplicable, match="one release only"):
        ln.calibrate("optimal", sensitivity=ln.L2(1), compositions=2, epsilon="1", delta="1e-5")


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "delta", "count"), [("1", "1e-6", 2), ("0.1", "1e-9", 4)])
def test_whole_numbers_do_no_worse_than_basic_composition(
    epsilon: str, delta: str, count: int
) -> None:
    """For a tiny δ the law of one release at (ε/k, δ/k) is the best of those that are tried."""
    split = ln.calibrate(
        "discrete-staircase",
        epsilon=Fraction(epsilon) / count,
        delta=Fraction(delta) / count,
        sensitivity=Integer(1),
    )
    together = ln.calibrate(
        "discrete-staircase",
        epsilon=epsilon,
        delta=delta,
        sensitivity=Integer(1),
        compositions=count,
    )
    assert together.mse <= split.mse * (1 + 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "dimension", "count"),
    [("6", 2, 2), pytest.param("30", 10, 3, marks=pytest.mark.slow)],
)
def test_spherical_staircases_meet_the_budget_just_so(
    epsilon: str, dimension: int, count: int
) -> None:
    several = ln.calibrate(
        "spherical-staircase",
        epsilon=epsilon,
        delta="1e-6",
        sensitivity=ln.L2(2),
        dimension=dimension,
        compositions=count,
    )
    assert 0.999e-6 < several.certificate.delta.lower <= several.certificate.delta.upper <= 1e-6
    assert several.certificate.delta.upper - several.certificate.delta.lower < 1e-12
    basic = ln.calibrate(
        "spherical-staircase",
        epsilon=Fraction(epsilon) / count,
        delta=Fraction("1e-6") / count,
        sensitivity=ln.L2(2),
        dimension=dimension,
    )
    assert several.mse <= basic.mse * (1 + 1e-9)


@pytest.mark.slow
def test_spherical_staircases_beat_l2_noise_for_few_large_losses() -> None:
    mse = {
        noise: ln.calibrate(
            noise, epsilon="6", delta="1e-6", sensitivity=ln.L2(1), dimension=2, compositions=2
        ).mse
        for noise in ("l2", "spherical-staircase")
    }
    assert mse["spherical-staircase"] < 0.87 * mse["l2"]


def test_spherical_staircases_in_many_dimensions_are_for_one_release() -> None:
    budget = {"epsilon": "9", "delta": "1e-6", "sensitivity": ln.L2(1), "compositions": 2}
    with pytest.raises(NotApplicable, match="10 dimensions"):
        ln.calibrate("spherical-staircase", dimension=11, **budget)
    with pytest.raises(InvalidArgument, match="no parameter but gamma"):
        ln.calibrate("spherical-staircase", dimension=3, parameters={"decay": "3"}, **budget)


@pytest.mark.slow
def test_without_epsilon_the_search_ends() -> None:
    with pytest.raises(Refused, match="no smallest noise"):
        ln.calibrate("tulap", epsilon=0, delta="1e-2", sensitivity=ln.L2(1), compositions=2)
