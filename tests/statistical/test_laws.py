"""Released numbers have the certified law, and the tests would notice a scale that is 10 % off.

Seeds are fixed, so p-values are, too. They must be above 1e-3 for the law, and below 1e-6 for the
law with 1.1 times the scale.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson
from scipy.special import kv
from scipy.stats import chisquare, gamma, kstest, laplace, norm

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.mechanism.rounding import add_noise, default_grid
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.law import Gaussian, Laplace
from leastnoise.noise.radial.law import SphericalLaplace

ACCEPT, REJECT = 1e-3, 1e-6
Cdf = Callable[[np.ndarray], np.ndarray]


def _releases(noise: Noise, count: int, *, seed: int, grid: Fraction | None = None) -> np.ndarray:
    """`count` releases of the value 0, shape (count, d), from one seeded bit string."""
    source = InsecureSeededEntropy(seed)
    zero = np.zeros(noise.dimension)
    grid = default_grid(noise) if grid is None else grid
    return np.array([add_noise(noise, grid, zero, entropy=source) for _ in range(count)])


def _lattice_pvalue(steps: np.ndarray, grid: float, cdf: Cdf) -> float:
    """The p-value of a χ² test of lattice counts against P(g(k−½) < X < g(k+½)), tails merged."""
    last = int(np.quantile(np.abs(steps), 0.999))
    edges = (np.arange(-last, last + 2) - 0.5) * grid
    edges[0], edges[-1] = -np.inf, np.inf
    expected = np.diff(cdf(edges)) * steps.size
    clipped = np.clip(steps, -last, last).astype(np.int64) + last
    counts = np.bincount(clipped, minlength=2 * last + 1)
    return chisquare(counts, expected * (counts.sum() / expected.sum())).pvalue


# value 0.3 of a step: the cells are not centred on the law
FAMILIES: dict[str, tuple[type[Gaussian] | type[Laplace], Callable[[float], Cdf]]] = {
    "gaussian": (Gaussian, lambda scale: norm(scale=scale).cdf),
    "laplace": (Laplace, lambda scale: laplace(scale=scale).cdf),
}


@pytest.mark.parametrize(
    "count", [60_000, pytest.param(5_000_000, marks=pytest.mark.slow)], ids=["quick", "long"]
)
@pytest.mark.parametrize("name", FAMILIES)
def test_lattice_cells(name: str, count: int) -> None:
    family, law = FAMILIES[name]
    grid = Fraction(1, 8)
    noise = family(scale=Fraction(4, 3), dimension=count)
    offset = 0.3 * float(grid)
    values = np.full(count, offset)
    released = add_noise(noise, grid, values, entropy=InsecureSeededEntropy(21))
    steps = np.rint(released * 8)
    right, wrong = law(4 / 3), law(4 / 3 * 1.1)
    assert _lattice_pvalue(steps, float(grid), lambda x: right(x - offset)) > ACCEPT
    assert _lattice_pvalue(steps, float(grid), lambda x: wrong(x - offset)) < REJECT
    # nor may the offset be lost
    if count > 10**6:
        assert _lattice_pvalue(steps, float(grid), right) < REJECT


@pytest.mark.parametrize("name", FAMILIES)
def test_fine_values(name: str) -> None:
    family, law = FAMILIES[name]
    noise = family(scale=Fraction(10, 3), dimension=20_000)
    released = _releases(noise, 1, seed=22)[0]
    assert kstest(released, law(10 / 3)).pvalue > ACCEPT
    assert kstest(1.1 * released, law(10 / 3)).pvalue < REJECT


@pytest.mark.parametrize("name", FAMILIES)
def test_coordinates_are_uncorrelated(name: str) -> None:
    family, _ = FAMILIES[name]
    noise = family(scale=1, dimension=40_000)
    released = _releases(noise, 1, seed=23)[0]
    for lag in (1, 2, 64):
        correlation = np.corrcoef(released[lag:], released[:-lag])[0, 1]
        assert abs(correlation) < 4 / np.sqrt(40_000)


COUNTS = pytest.mark.parametrize(
    "count", [12_000, pytest.param(60_000, marks=pytest.mark.slow)], ids=["quick", "long"]
)


@pytest.mark.slow
@COUNTS
@pytest.mark.parametrize("dimension", [2, 5])
def test_l2_radius(dimension: int, count: int) -> None:
    """‖X‖ ~ Gamma(d, σ)."""
    noise = SphericalLaplace(scale=Fraction(4, 3), dimension=dimension)
    radius = np.linalg.norm(_releases(noise, count, seed=24), axis=1)
    law = gamma(dimension, scale=4 / 3)
    assert kstest(radius, law.cdf).pvalue > ACCEPT
    assert kstest(1.1 * radius, law.cdf).pvalue < REJECT


@pytest.mark.dense
def test_l2_radius_in_many_dimensions() -> None:
    noise = SphericalLaplace(scale=1, dimension=300)
    radius = np.linalg.norm(_releases(noise, 1500, seed=25), axis=1)
    assert kstest(radius, gamma(300).cdf).pvalue > ACCEPT
    assert kstest(1.1 * radius, gamma(300).cdf).pvalue < REJECT


def _marginal_cdf(dimension: int, scale: float) -> Cdf:
    """P(X <= x) of one coordinate of l2 noise, whose density is ∝ |x|^(d/2) K_{d/2}(|x|/σ)."""
    x = np.linspace(1e-9, 60.0, 40_001)
    density = x ** (dimension / 2) * kv(dimension / 2, x)
    mass = cumulative_simpson(density, x=x, initial=0)
    mass /= 2 * mass[-1]
    return lambda y: 0.5 + np.sign(y) * np.interp(np.abs(y) / scale, x, mass)


@pytest.mark.slow
@COUNTS
@pytest.mark.parametrize("dimension", [2, 5])
def test_l2_marginal(dimension: int, count: int) -> None:
    noise = SphericalLaplace(scale=Fraction(4, 3), dimension=dimension)
    item = _releases(noise, count, seed=26)[:, -1]
    assert kstest(item, _marginal_cdf(dimension, 4 / 3)).pvalue > ACCEPT
    assert kstest(item, _marginal_cdf(dimension, 4 / 3 * 1.1)).pvalue < REJECT


@pytest.mark.slow
@COUNTS
def test_l2_lattice_cells(count: int) -> None:
    """The rounded marginal in d = 5, whose cells have exact probabilities."""
    grid = Fraction(1, 2)
    noise = SphericalLaplace(scale=1, dimension=5)
    steps = np.rint(_releases(noise, count, seed=27, grid=grid)[:, 0] * 2)
    assert _lattice_pvalue(steps, 0.5, _marginal_cdf(5, 1.0)) > ACCEPT
    assert _lattice_pvalue(steps, 0.5, _marginal_cdf(5, 1.1)) < REJECT


@pytest.mark.dense
def test_l2_direction_is_uniform_and_independent_of_the_radius() -> None:
    noise = SphericalLaplace(scale=1, dimension=2)
    x = _releases(noise, 6000, seed=28)
    angle = np.arctan2(x[:, 1], x[:, 0])
    radius = np.linalg.norm(x, axis=1)
    octants = np.bincount(((angle + np.pi) / (np.pi / 4)).astype(int) % 8, minlength=8)
    assert chisquare(octants).pvalue > ACCEPT
    far = radius > np.median(radius)
    assert kstest(angle[far], angle[~far]).pvalue > ACCEPT
