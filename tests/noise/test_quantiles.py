from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.counts import Counts
from leastnoise.guarantees.bodies.plain import Ball, Box
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.noise.base import Noise
from leastnoise.noise.bodies.law.k_norm import KNorm
from leastnoise.noise.bodies.law.two_sided import TwoSidedLaplace, TwoSidedStaircase
from leastnoise.noise.classic.law import Gaussian, Laplace
from leastnoise.noise.draw import find_difference, find_quantile, has_quantiles, make_sampler
from leastnoise.noise.kernels.law import GaussianMixture, QuasiGaussian
from leastnoise.noise.radial.law import SphericalLaplace
from leastnoise.noise.registry import FAMILIES
from tests.grids import thin
from tests.noise_calls import NOISE
from tests.routes import integrate


def test_textbook_quantiles() -> None:
    assert find_quantile(Gaussian(scale=2, dimension=5), 0.95) == pytest.approx(3.919927969)
    assert find_quantile(Laplace(scale=2, dimension=5), 0.95) == pytest.approx(5.991464547)


@pytest.mark.parametrize("dimension", thin([2, 3, 10, 200], 1))
def test_l2_against_the_law_of_a_projection(dimension: int) -> None:
    """P(|R·U₁| <= t) with R ~ Gamma(d), U₁² ~ Beta(½, (d−1)/2): another way to the same law."""
    for probability in (0.5, 0.95, 0.999):
        t = find_quantile(SphericalLaplace(scale=1, dimension=dimension), probability)
        d = mp.mpf(dimension)

        def below(r: mp.mpf, t: float = t, d: mp.mpf = d) -> mp.mpf:
            share = min(mp.mpf(1), (t / r) ** 2)
            cdf = mp.betainc(mp.mpf(1) / 2, (d - 1) / 2, 0, share, regularized=True)
            return cdf * r ** (d - 1) * mp.exp(-r) / mp.gamma(d)

        points = [mp.mpf(0), mp.mpf(t), *(t + dimension * k / 2 for k in range(1, 9)), 60 + 9 * d]
        assert float(integrate(below, sorted(points))) == pytest.approx(probability, abs=1e-9)


@pytest.mark.parametrize(
    "law",
    [
        GaussianMixture(scale="0.3", modes=2, spacing="1.5", decay="0.7"),
        QuasiGaussian(scale="0.3", spacing="1.5", decay="0.7"),
        QuasiGaussian(scale="2", spacing="1.5", decay="0.7"),
    ],
    ids=["mixture", "quasi", "wide"],
)
def test_kernels_against_the_integral_of_the_density(law: Noise) -> None:
    for probability in (0.2, 0.5, 0.95, 0.999):
        t = find_quantile(law, probability)
        points = [t * k / 8 for k in range(9)]
        half = integrate(lambda x: mp.exp(float(law.log_density([float(x)]))), points)
        assert float(2 * half) == pytest.approx(probability, abs=1e-9)


@pytest.mark.grid
@pytest.mark.parametrize("queries", [1, 2, 5, 40])
@pytest.mark.parametrize(("core", "decay"), [("0.76", "1"), ("0.2", "4"), ("5", "0.3")])
def test_steps_on_two_sides_against_a_mixture_of_boxes(queries: int, core: str, decay: str) -> None:
    """P(X_i > t), X uniform in (−a − k₂, a + k₁)^d with weight q^(k₁ + k₂)·volume: a double sum."""
    law = TwoSidedStaircase(scale=2, of=Counts(queries=queries, bound=3), core=core, decay=decay)
    a, k = float(core), np.arange(int(60 + 12 * queries / float(decay)))
    up, down = np.meshgrid(a + k, a + k, indexing="ij")
    logs = -float(decay) * (up + down) + queries * np.log(up + down)
    weights = np.exp(logs - logs.max())
    for probability in (0.2, 0.5, 0.95, 0.999):
        t = find_quantile(law, probability) / 6
        beyond = (np.clip(up - t, 0, None) + np.clip(down - t, 0, None)) / (up + down)
        share = float((weights * beyond).sum() / weights.sum())
        assert share == pytest.approx(1 - probability, rel=1e-9)


@pytest.mark.dense
@pytest.mark.parametrize("queries", [1, 2, 5, 40, 3000])
@pytest.mark.parametrize("core", ["0", "0.76", "5"])
def test_smooth_sides_against_a_mixture_of_boxes(queries: int, core: str) -> None:
    """The same by the trapezoidal rule over A and B, each beyond its core."""
    law = TwoSidedLaplace(scale=2, of=Counts(queries=queries, bound=3), core=core)
    b, reach = float(core), 60 + queries + 10 * np.sqrt(queries)
    u = np.linspace(0, reach, 2001)
    up, down = np.meshgrid(b + u, b + u, indexing="ij")
    logs = -(up + down) + queries * np.log(np.maximum(up + down, 1e-300))
    ends = np.where((u == 0) | (u == reach), 0.5, 1.0)
    weights = np.exp(logs - logs.max()) * np.outer(ends, ends)
    for probability in (0.2, 0.95, 0.999):
        t = find_quantile(law, probability) / 6
        beyond = np.clip(up - t, 0, None) + np.clip(down - t, 0, None)
        share = float((weights * beyond / np.maximum(up + down, 1e-300)).sum() / weights.sum())
        assert share == pytest.approx(1 - probability, rel=2e-3)


def test_what_has_no_known_law_of_a_coordinate_has_no_quantiles() -> None:
    counts = Counts(queries=4, most=2)
    for law in (
        TwoSidedStaircase(scale=1, of=counts, core=1, decay=1),
        KNorm(scale=1, body=Signed(of=counts)),
        # the box has one number with the bound 1; the ball's numbers have another law
        KNorm(
            scale=1,
            body=Cells(bodies=[Box(bounds=[1]), Ball(bound=1, coordinates=2)], copies=[1, 1]),
        ),
    ):
        assert not has_quantiles(law)
    with pytest.raises(NotApplicable, match="law of one coordinate"):
        find_quantile(TwoSidedStaircase(scale=1, of=counts, core=1, decay=1), 0.9)


@pytest.mark.parametrize("probability", [0.0, 1.0, -1.0, float("nan")])
def test_refuses_what_is_no_probability(probability: float) -> None:
    with pytest.raises(InvalidArgument, match="probability"):
        find_quantile(Gaussian(scale=1), probability)


SPHERICAL = [name for name, family in FAMILIES.items() if family.spherical]


@pytest.mark.dense
@pytest.mark.parametrize("name", [*SPHERICAL, "laplace"])
def test_two_numbers_together_against_draws(name: str) -> None:
    """Noise is spherical, or its numbers are independent."""
    parameters = {key: value for key, (_, value) in NOISE[name].items()}
    law = FAMILIES[name].part("law")(scale=1, **parameters)
    grid, count = Fraction(1, 2**20), 2_500
    drawn = []
    for seed in range(count):
        sampler = make_sampler(law, grid=grid, entropy=InsecureSeededEntropy(seed))
        drawn.append(sampler.draw(law.dimension).estimates)
    x = np.array(drawn) * float(grid)
    for ratio in (0.5, 1.0, 3.0):
        t = find_difference(law, 0.9, (0, 1), ratio)
        assert t is not None
        share = (np.abs(x[:, 0] - ratio * x[:, 1]) <= t).mean()
        assert abs(share - 0.9) < 4 * (0.9 * 0.1 / count) ** 0.5
