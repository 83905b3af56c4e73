"""Noise in shares: their sum has the certified law, and less noise is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import leastnoise as ln
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.noise.draw import make_share

RARE = 1e-9  # p-values of a right law below it are as good as impossible: draws have no seed
DRAWS = 4000


def geometric(epsilon: str = "0.5", sensitivity: int = 1) -> ln.Mechanism:
    return ln.calibrate(
        "geometric",
        epsilon=epsilon,
        sensitivity=ln.Integer(sensitivity),
        parameters={"cells": 1},
    )


def gaussian(dimension: int = 5) -> ln.Mechanism:
    return ln.calibrate(
        "gaussian", epsilon=1, delta="1e-6", sensitivity=ln.L2(1), dimension=dimension
    )


def draw_values(law: Any, count: int, draws: int) -> np.ndarray[Any, Any]:
    """Seeded draws of one share, in units of the grid."""
    share = make_share(law, grid=Fraction(1, 2**20), count=count)
    block = share.sampler(InsecureSeededEntropy(count)).draw(draws)
    enclosures = [block.enclose(index, 60) for index in range(draws)]
    return np.array([float(value.mid()) for value in enclosures])


def fits(found: np.ndarray[Any, Any], probabilities: np.ndarray[Any, Any], middle: int) -> float:
    """The p-value of a χ² test of whole numbers with `probabilities` of −middle, …, middle."""
    seen = np.bincount((found + middle).astype(int), minlength=2 * middle + 1)
    often = probabilities * found.size >= 10
    observed = np.append(seen[often], seen[~often].sum())
    expected = np.append(probabilities[often], 1 - probabilities[often].sum()) * found.size
    return float(stats.chisquare(observed, expected).pvalue)


@pytest.mark.dense
@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("decay", [Fraction(1, 3), Fraction(2)])
def test_one_share_is_a_difference_of_polya_numbers(count: int, decay: Fraction) -> None:
    """Against scipy's negative binomial, convolved with its mirror image."""
    law = ln.noise.Geometric(scale=1, cells=1, core=1, decay=decay)
    middle = 200
    item = stats.nbinom.pmf(np.arange(middle + 1), 1 / count, -np.expm1(-float(decay)))
    both = np.convolve(item, item[::-1])
    assert fits(draw_values(law, count, DRAWS), both, middle) > 1e-4


@pytest.mark.dense
@pytest.mark.parametrize("absent", [0, 3])
def test_as_many_as_must_be_there_add_up_to_the_law(absent: int) -> None:
    noise = geometric()
    shares = ln.Shares(mechanism=noise, clients=5, absent=absent)
    sums = [sum(int(shares.share(0)) for _ in range(5 - absent)) for _ in range(DRAWS // 2)]
    places = np.arange(-100, 101)
    law = np.exp(noise.noise.log_density(places.astype(float)[:, None]))
    assert fits(np.array(sums), law, 100) > RARE


def test_gaussian_shares_have_the_variance_that_is_certified() -> None:
    noise = gaussian(20_000)
    shares = ln.Shares(mechanism=noise, clients=10, absent=2)
    values = np.linspace(-3, 3, 20_000)
    total = shares.total(shares.add(shares.share(values) for _ in range(8)), clients=8)
    errors = total.values - 8 * values
    assert stats.kstest(errors / noise.std, "norm").pvalue > RARE
    assert total.certificate.delta == noise.certificate.delta
    added = shares.add(shares.share(values) for _ in range(10))
    everybody = shares.total(added, clients=10).values - 10 * values
    assert everybody.std() == pytest.approx(noise.std[0] * np.sqrt(10 / 8), rel=0.03)


@pytest.mark.dense
@pytest.mark.parametrize("deviation", [0.6, 0.8])
@pytest.mark.parametrize("count", [2, 5])
def test_a_sum_of_rounded_gaussians_is_nearly_a_rounded_one(deviation: float, count: int) -> None:
    """The statement of theory/release.md §8, where it is coarse enough to be seen in floats."""
    places = np.arange(-60, 61)
    offsets = np.linspace(-0.41, 0.37, count)

    def rounded(offset: float) -> np.ndarray[Any, Any]:
        edges = (np.arange(-60.5, 61) - offset) / deviation
        return np.diff(stats.norm.cdf(edges))

    total = np.ones(1)
    for offset in offsets:
        total = np.convolve(total, rounded(offset))
    theta = np.linspace(-40, 40, 400_001)  # by Fourier inversion: N + B' + U at the whole numbers
    together = np.exp(-count * (deviation * theta) ** 2 / 2) * np.sinc(theta / 2 / np.pi) ** count
    shift = offsets.sum()
    near = places[40:81]
    law = [np.trapezoid(together * np.cos(theta * (k - shift)), theta) / 2 / np.pi for k in near]
    middle = total[count * 60 - 20 : count * 60 + 21]
    bound = (count + 1) * 2.01 * np.exp(-((np.pi * deviation) ** 2) / 2)
    worst = np.abs(middle - law).max()
    assert worst <= bound
    assert worst > 1e-12  # they do differ


@pytest.mark.dense
def test_a_client_whose_values_are_beyond_all_bounds_hides_as_well() -> None:
    """A share that was cut off would have no noise; modulo 2^64 the sum keeps all of it."""
    noise = gaussian(1)
    shares = ln.Shares(mechanism=noise, clients=4)
    huge = [1e300, -1e300, 3.0, 0.0]
    sums = np.array(
        [
            float(shares.total(shares.add(map(shares.share, huge)), clients=4).values)
            for _ in range(500)
        ]
    )
    # six standard deviations of 500 draws
    assert sums.std() == pytest.approx(noise.std[0], rel=0.2)
    assert abs(sums.mean() - 3) < 6 * noise.std[0] / np.sqrt(500)
    alone = {int(shares.share(2e13)) for _ in range(50)}
    assert len(alone) == 50
    whole = ln.Shares(mechanism=geometric(), clients=3)
    far = [2**63 - 1, -(2**63) + 1, 5]
    totals = [int(whole.add(whole.share(item) for item in far)) for _ in range(500)]
    assert np.var(totals) == pytest.approx(geometric().noise.variance, rel=0.4)


def test_shares_add_up_modulo_two_to_the_64() -> None:
    shares = ln.Shares(mechanism=gaussian(3), clients=4)
    sent = [shares.share([2.0**30, -5.0, 0.25]) for _ in range(4)]
    exact = [sum(int(item[index]) for item in sent) for index in range(3)]
    assert [int(item) % 2**64 for item in shares.add(sent)] == [item % 2**64 for item in exact]


def test_too_few_shares_are_no_release() -> None:
    shares = ln.Shares(mechanism=geometric(), clients=10, absent=3)
    sent = [shares.share(1) for _ in range(10)]
    for count in (6, 11, 0):
        with pytest.raises(InvalidArgument, match="7 to 10 shares"):
            shares.total(shares.add(sent), clients=count)
    endless: list[object] = []
    endless.append(endless)
    two_shapes = [np.int64(1), np.zeros(2, np.int64)]
    for wrong in ([1.5] * 8, ["secret"] * 8, [], 7, None, two_shapes, [[[1], 1]], endless):
        with pytest.raises(InvalidArgument, match="shares") as caught:
            shares.add(wrong)  # type: ignore[arg-type]
        assert "secret" not in str(caught.value)
    for total in (1.5, "secret", np.zeros(2, dtype=np.int64), None):
        with pytest.raises(InvalidArgument, match=r"shares|shape"):
            shares.total(total, clients=8)  # type: ignore[arg-type]


def test_geometric_noise_hides_whole_numbers_alone() -> None:
    shares = ln.Shares(mechanism=geometric(), clients=2)
    for half in (0.5, 1.0, Fraction(1, 2), ScaledIntegers(numerators=np.array(1), bits=1)):
        with pytest.raises(InvalidArgument, match="ints"):
            shares.share(half)  # type: ignore[arg-type]


def test_shares_of_whole_numbers_are_whole() -> None:
    shares = ln.Shares(mechanism=geometric("0.01", 10**4), clients=3)
    assert shares.grid == 1
    assert shares.share(5).dtype == np.int64
    assert shares.share(5).shape == ()
    with pytest.raises(InvalidArgument, match="shape"):
        shares.share([1, 2])


@pytest.mark.parametrize(
    ("noise", "clients", "why"),
    [
        (ln.calibrate("laplace", epsilon=1, sensitivity=ln.L1(1)), 2, "can't be added in shares"),
        (ln.calibrate("geometric", epsilon=1, sensitivity=ln.Integer(5)), 2, "cells"),
        (gaussian().on_grid(Fraction(1, 4)), 2, "use a finer grid"),
    ],
)
def test_what_has_no_shares_is_refused(noise: ln.Mechanism, clients: int, why: str) -> None:
    with pytest.raises(NotApplicable, match=why):
        ln.Shares(mechanism=noise, clients=clients)


@pytest.mark.parametrize(("clients", "absent"), [(0, 0), (3, 3), (3, -1), (2**20 + 1, 0)])
def test_counts_that_make_no_sense(clients: int, absent: int) -> None:
    with pytest.raises(InvalidArgument, match=r"clients|absent"):
        ln.Shares(mechanism=geometric(), clients=clients, absent=absent)


def test_gaussian_shares_need_a_delta_with_something_to_spare() -> None:
    known = ln.calibrate("gaussian", epsilon=1, delta="1e-5", sensitivity=ln.L2(1)).certificate
    budget = ln.Budget(epsilon=1, delta=Fraction(known.delta.upper))
    exact = ln.Certificate.prove(budget=budget, noise=known.noise, sensitivity=known.sensitivity)
    assert Fraction(exact.delta.upper) == exact.budget.delta
    with pytest.raises(NotApplicable, match="no slack"):
        ln.Shares(mechanism=ln.Mechanism(exact), clients=3)
    ln.Shares(mechanism=ln.Mechanism(known), clients=3)
