"""The law of a family that hides a shift of length 1 with the least loss: who searches for whom.

The searches work in floats and end on the private side as far as floats can tell; whether a law
really is private is for `certify` to say.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from leastnoise.calibration import (
    bodies,
    cactus,
    classic,
    flipped_huber,
    gaussian_mixture,
    generalized_gamma,
    geometric,
    quasi_gaussian,
    spherical_staircase,
    staircase,
    truncated_bodies,
    truncated_laplace,
    truncated_staircase,
    tulap,
)
from leastnoise.calibration.request import Request
from leastnoise.errors import NotRegistered
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.base import Noise
from leastnoise.noise.cactus import Cactus
from leastnoise.noise.flipped_huber import FlippedHuber
from leastnoise.noise.gaussian import Gaussian
from leastnoise.noise.gaussian_mixture import GaussianMixture
from leastnoise.noise.generalized_gamma import GeneralizedGamma
from leastnoise.noise.geometric import Geometric
from leastnoise.noise.k_norm import KNorm
from leastnoise.noise.k_staircase import KStaircase
from leastnoise.noise.laplace import Laplace
from leastnoise.noise.quasi_gaussian import QuasiGaussian
from leastnoise.noise.spherical_laplace import SphericalLaplace
from leastnoise.noise.spherical_staircase import SphericalStaircase
from leastnoise.noise.staircase import Staircase
from leastnoise.noise.truncated_k_staircase import TruncatedKStaircase
from leastnoise.noise.truncated_laplace import TruncatedLaplace
from leastnoise.noise.truncated_staircase import TruncatedStaircase
from leastnoise.noise.tulap import Tulap
from leastnoise.noise.two_sided_laplace import TwoSidedLaplace
from leastnoise.noise.two_sided_staircase import TwoSidedStaircase

Search = Callable[[Request], Noise]


def unit_law(family: type[Noise], request: Request) -> Noise:
    """Return the law of `family` for `request`.

    Raises Refused if there is none, InvalidArgument if `request.fixed` names no free parameter.
    """
    search = SEARCHES.get(family)
    if search is None:
        raise NotRegistered(family=family.name, table=__name__)
    return search(request)


def limit_of(law: Noise, request: Request) -> str | None:
    """Return where the search that found `law` was cut off, so that another may have less loss."""
    if isinstance(law, GaussianMixture):
        return gaussian_mixture.limit_of(law, request)
    return None


def _by_scale_alone(family: type[Noise], least_scale: Callable[[int, Budget], Fraction]) -> Search:
    def search(request: Request) -> Noise:
        scale = least_scale(request.dimension, request.budget)
        return family(scale=scale, dimension=request.dimension)

    return search


SEARCHES: dict[type[Noise], Search] = {
    Cactus: cactus.search,
    FlippedHuber: flipped_huber.search,
    Gaussian: _by_scale_alone(Gaussian, classic.gaussian),
    GaussianMixture: gaussian_mixture.search,
    GeneralizedGamma: generalized_gamma.search,
    Geometric: geometric.search,
    KNorm: bodies.k_norm,
    KStaircase: bodies.k_staircase,
    Laplace: _by_scale_alone(Laplace, classic.laplace),
    QuasiGaussian: quasi_gaussian.search,
    SphericalLaplace: _by_scale_alone(SphericalLaplace, classic.spherical_laplace),
    SphericalStaircase: spherical_staircase.search,
    Staircase: staircase.search,
    TruncatedKStaircase: truncated_bodies.search,
    TruncatedLaplace: truncated_laplace.search,
    TruncatedStaircase: truncated_staircase.search,
    Tulap: tulap.search,
    TwoSidedLaplace: bodies.two_sided_laplace,
    TwoSidedStaircase: bodies.two_sided_staircase,
}
