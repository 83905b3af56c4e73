"""Noise whose coordinates several processes draw: one law, one common factor, no secrets."""

from __future__ import annotations

import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb
from scipy import stats

import leastnoise as ln
from leastnoise.clusters import on_dask
from leastnoise.entropy.lazy import LazyGamma
from leastnoise.entropy.scaled import FIXED_BITS, FixedReal, ScaledSampler
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.mechanism.shares import SharedDraw

RARE = 1e-9  # p-values of a right law below it are as good as impossible: draws have no seed
LAWS = {"gaussian": ln.L2(1), "l2": ln.L2(1), "laplace": ln.L1(1)}


def drawn(name: str, dimension: int) -> tuple[ln.Mechanism, SharedDraw]:
    noise = ln.calibrate(name, epsilon=1, delta="1e-6", sensitivity=LAWS[name], dimension=dimension)
    return noise, SharedDraw.of(noise.certificate, noise.grid)


def elsewhere(draw: SharedDraw) -> SharedDraw:
    """The draw as another process gets it, by pickle."""
    return pickle.loads(pickle.dumps(draw))


@pytest.mark.dense
@pytest.mark.parametrize("name", LAWS)
def test_parts_have_the_law_of_the_vector(name: str) -> None:
    """The lengths and two coordinates; a part that is 1.6 times as large is rejected."""
    noise, _ = drawn(name, 4)
    results = []
    for _ in range(2000):
        draw = SharedDraw.of(noise.certificate, noise.grid)
        parts = [draw.add_to_part(np.zeros(1)), elsewhere(draw).add_to_part(np.zeros(3))]
        results.append(np.concatenate(parts))
    whole = np.array([noise.release(np.zeros(4)).values for _ in range(2000)])
    for size in (lambda x: np.linalg.norm(x, axis=1), lambda x: x[:, 0], lambda x: x[:, 3]):
        assert stats.kstest(size(np.array(results)), size(whole)).pvalue > RARE


@pytest.mark.dense
def test_all_parts_share_one_radius() -> None:
    noise, _ = drawn("l2", 20)
    pairs = []
    for _ in range(4000):
        draw = SharedDraw.of(noise.certificate, noise.grid)
        first, second = draw.add_to_part(np.zeros(10)), elsewhere(draw).add_to_part(np.zeros(10))
        pairs.append((first @ first, second @ second))
    squares = np.array(pairs) / noise.noise.variance / 10
    expected = (20 + 3) / (20 + 1) - 1  # see test_chunks
    assert float(np.cov(squares.T)[0, 1]) == pytest.approx(expected, abs=0.03)


def radial(dimension: int, *, alpha: str = "3.5", p: str = "1.3") -> ln.Mechanism:
    law = ln.noise.GeneralizedGamma(scale=2, alpha=alpha, p=p, dimension=dimension)
    budget = ln.Budget(epsilon=3, delta="0.5")
    return ln.Mechanism(ln.Certificate.prove(budget=budget, noise=law, sensitivity=ln.L2(1)))


@pytest.mark.slow
def test_parts_of_known_sizes_have_the_law_of_the_vector() -> None:
    """Generalized gamma in R^6 as 1 + 2 + 3 coordinates: lengths, coordinates and parts' shares."""
    noise, sizes = radial(6), (1, 2, 3)
    results = []
    for _ in range(3000):
        draws = SharedDraw.in_parts(noise.certificate, noise.grid, sizes)
        parts = [
            elsewhere(draw).add_to_part(np.zeros(n)) for draw, n in zip(draws, sizes, strict=True)
        ]
        results.append(np.concatenate(parts))
    here = np.array(results)
    there = np.array([noise.release(np.zeros(6)).values for _ in range(3000)])
    norms = [np.linalg.norm(item, axis=1) for item in (here, there)]
    assert stats.kstest(*norms).pvalue > RARE
    for index in range(6):
        assert stats.kstest(here[:, index], there[:, index]).pvalue > RARE
    shares = np.sum(here[:, 3:] ** 2, axis=1) / norms[0] ** 2
    assert stats.kstest(shares, stats.beta(1.5, 1.5).cdf).pvalue > RARE
    assert abs(np.corrcoef(shares, norms[0])[0, 1]) < 0.08


def test_the_lengths_of_parts_make_the_length_of_the_vector() -> None:
    """The mean square of 100 vectors, cut in parts, is within 18 % of the law's: 5.4 of its errors.

    The square of one length has a relative standard deviation of 33 %.
    """
    noise, sizes = radial(6, alpha="5", p="8"), (1, 2, 3)
    squares = []
    for _ in range(100):
        draws = SharedDraw.in_parts(noise.certificate, noise.grid, sizes)
        parts = [draw.add_to_part(np.zeros(n)) for draw, n in zip(draws, sizes, strict=True)]
        squares.append(sum(float(part @ part) for part in parts))
    assert np.mean(squares) == pytest.approx(noise.noise.mse, rel=0.18)


def test_a_part_of_a_known_size_is_asked_for_whole() -> None:
    noise = radial(5)
    item, other = SharedDraw.in_parts(noise.certificate, noise.grid, (2, 3))
    with pytest.raises(InvalidArgument, match="2 of them"):
        item.add_to_part(np.zeros(3))
    assert other.add_to_part(np.zeros(3)).shape == (3,)


def test_integer_noise_is_added_to_integers_only() -> None:
    """As in `Mechanism.release`: otherwise the fractional part of a value would be published."""
    noise = ln.calibrate("geometric", epsilon=1, sensitivity=ln.Integer(1))
    draw = SharedDraw.of(noise.certificate, noise.grid)
    (part,) = draw.add_to_part(np.array([0.25]))
    assert float(part).is_integer()


def test_no_two_parts_have_the_same_bits() -> None:
    _, draw = drawn("gaussian", 10)
    first, second = draw.add_to_part(np.zeros(5)), elsewhere(draw).add_to_part(np.zeros(5))
    assert not np.intersect1d(first, second).size


def test_a_settled_number_is_the_one_that_was_drawn() -> None:
    gamma = LazyGamma(InsecureSeededEntropy(3), shape=Fraction(7, 2))
    again = LazyGamma(InsecureSeededEntropy(3), shape=Fraction(7, 2))
    settled = pickle.loads(pickle.dumps(FixedReal.of(gamma.enclose(FIXED_BITS))))
    for bits in (60, 120, FIXED_BITS):
        assert settled.enclose(bits).overlaps(again.enclose(bits))
    with_gamma = ln.noise.SphericalLaplace(scale=3, dimension=5)
    from leastnoise.noise.radial.sampler import spherical_laplace_sampler as sampler  # noqa: PLC0415

    drawn = sampler(with_gamma, Fraction(1, 8), InsecureSeededEntropy(3))
    assert isinstance(drawn, ScaledSampler)
    assert drawn.fixed_factor().enclose(0).rad() < arb((1, -1900))


def test_it_tells_no_secret() -> None:
    _, draw = drawn("l2", 3)
    shown = repr(draw) + str(draw) + repr(draw._factor)
    middle, exponent = draw._factor._middle
    assert str(middle)[:12] not in shown
    assert str(exponent) not in shown


@pytest.mark.dense
@pytest.mark.parametrize("name", ["generalized-gamma", "gaussian-mixture"])
def test_what_shares_more_than_a_factor_is_refused(name: str) -> None:
    many: dict[str, Any] = {"delta": "1e-6", "sensitivity": ln.L2(1), "dimension": 2}
    if name == "gaussian-mixture":
        many |= {"dimension": 1}
    noise = ln.calibrate(name, epsilon=1, **many)
    with pytest.raises(NotApplicable, match="can't be drawn apart"):
        SharedDraw.of(noise.certificate, noise.grid)


@pytest.mark.parametrize("name", LAWS)
def test_a_worker_refuses_what_every_release_refuses(tmp_path: Path, name: str) -> None:
    """A masked block was published, with what is behind the mask."""
    noise, draw = drawn(name, 3)
    write = on_dask._Writer(tmp_path, draw, 3)
    refused: list[Any] = [
        np.ma.masked_greater(np.ones(3), 0), np.array(["1"] * 3), [np.ones(1)] * 3,
    ]  # fmt: skip
    for wrong in refused:
        with pytest.raises(InvalidArgument) as caught:
            noise.release(wrong)
        assert write(wrong, 0) == f"in a block, {caught.value}"
    assert not list(tmp_path.iterdir())
    assert write(np.ones(3), 0) is None
    assert [file.name for file in tmp_path.iterdir()] == ["000000.npy"]
