from __future__ import annotations

import mpmath as mp
import pytest

from leastnoise.analysis.marginal import absolute_quantile
from leastnoise.errors import InvalidArgument
from leastnoise.noise.base import Noise
from leastnoise.noise.gaussian import Gaussian
from leastnoise.noise.gaussian_mixture import GaussianMixture
from leastnoise.noise.laplace import Laplace
from leastnoise.noise.quasi_gaussian import QuasiGaussian
from leastnoise.noise.spherical_laplace import SphericalLaplace
from tests.routes import integrate


def test_textbook_quantiles() -> None:
    assert absolute_quantile(Gaussian(scale=2, dimension=5), 0.95) == pytest.approx(3.919927969)
    assert absolute_quantile(Laplace(scale=2, dimension=5), 0.95) == pytest.approx(5.991464547)


@pytest.mark.parametrize("dimension", [2, 3, 10, 200])
def test_l2_against_the_law_of_a_projection(dimension: int) -> None:
    """P(|R·U₁| <= t) with R ~ Gamma(d), U₁² ~ Beta(½, (d−1)/2): another way to the same law."""
    for probability in (0.5, 0.95, 0.999):
        t = absolute_quantile(SphericalLaplace(scale=1, dimension=dimension), probability)
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
        t = absolute_quantile(law, probability)
        points = [t * k / 8 for k in range(9)]
        half = integrate(lambda x: mp.exp(float(law.log_density([float(x)]))), points)
        assert float(2 * half) == pytest.approx(probability, abs=1e-9)


@pytest.mark.parametrize("probability", [0.0, 1.0, -1.0, float("nan")])
def test_refuses_what_is_no_probability(probability: float) -> None:
    with pytest.raises(InvalidArgument, match="probability"):
        absolute_quantile(Gaussian(scale=1), probability)
