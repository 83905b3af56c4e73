"""Every noise family by the name that the command line and certificates use."""

from __future__ import annotations

from collections.abc import Iterable

from leastnoise import _validate
from leastnoise.errors import NotRegistered
from leastnoise.noise.base import Noise
from leastnoise.noise.cactus import Cactus
from leastnoise.noise.discrete_staircase import DiscreteStaircase
from leastnoise.noise.flipped_huber import FlippedHuber
from leastnoise.noise.gaussian import Gaussian
from leastnoise.noise.gaussian_mixture import GaussianMixture
from leastnoise.noise.generalized_gamma import GeneralizedGamma
from leastnoise.noise.geometric import Geometric
from leastnoise.noise.k_norm import KNorm
from leastnoise.noise.k_staircase import KStaircase
from leastnoise.noise.laplace import Laplace
from leastnoise.noise.optimal import Optimal
from leastnoise.noise.optimal_radial import OptimalRadial
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


def by_name(families: Iterable[type[Noise]]) -> dict[str, type[Noise]]:
    """Return `families` by their names; raises NotRegistered for two that share one."""
    found: dict[str, type[Noise]] = {}
    for family in families:
        if (other := found.setdefault(family.name, family)) is not family:
            why = f"{family.__name__} and {other.__name__} both have that name"
            raise NotRegistered(family=family.name, table=__name__, why=why)
    return found


FAMILIES: dict[str, type[Noise]] = by_name(
    (
        Cactus,
        DiscreteStaircase,
        FlippedHuber,
        Gaussian,
        GaussianMixture,
        GeneralizedGamma,
        Geometric,
        KNorm,
        KStaircase,
        Laplace,
        Optimal,
        OptimalRadial,
        QuasiGaussian,
        SphericalLaplace,
        SphericalStaircase,
        Staircase,
        TruncatedKStaircase,
        TruncatedLaplace,
        TruncatedStaircase,
        Tulap,
        TwoSidedLaplace,
        TwoSidedStaircase,
    )
)


def family_named(name: str) -> type[Noise]:
    """Return the family called `name`; raises InvalidArgument, naming the nearest one."""
    return FAMILIES[_validate.one_of(name, tuple(FAMILIES), name="noise")]
