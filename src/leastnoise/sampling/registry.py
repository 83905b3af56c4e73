"""Every family's exact sampler. A new family is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from leastnoise.errors import NotApplicable
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
from leastnoise.sampling import (
    flipped_huber,
    gaussian,
    generalized_gamma,
    geometric,
    kernels,
    laplace,
    lattice,
    radial_step,
    spherical_laplace,
    staircase,
    step,
    truncated_laplace,
)
from leastnoise.sampling.base import Sampler
from leastnoise.sampling.bodies import k_norm, two_sided
from leastnoise.sampling.entropy import Entropy

SAMPLERS: dict[type[Noise], Callable[[Noise, Fraction, Entropy], Sampler]] = {
    Cactus: lattice.step_sampler,
    DiscreteStaircase: lattice.sampler,
    FlippedHuber: flipped_huber.sampler,
    Gaussian: gaussian.sampler,
    GaussianMixture: kernels.mixture_sampler,
    GeneralizedGamma: generalized_gamma.sampler,
    Geometric: geometric.sampler,
    KNorm: k_norm.sampler,
    KStaircase: k_norm.staircase_sampler,
    Laplace: laplace.sampler,
    Optimal: lattice.step_sampler,
    OptimalRadial: radial_step.sampler,
    QuasiGaussian: kernels.quasi_gaussian_sampler,
    SphericalLaplace: spherical_laplace.sampler,
    SphericalStaircase: radial_step.sampler,
    Staircase: staircase.sampler,
    TruncatedKStaircase: k_norm.truncated_sampler,
    TruncatedLaplace: truncated_laplace.sampler,
    TruncatedStaircase: step.sampler,
    Tulap: step.sampler,
    TwoSidedLaplace: two_sided.laplace_sampler,
    TwoSidedStaircase: two_sided.staircase_sampler,
}


def sampler_of(noise: Noise, *, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of `noise`, in units of `grid`.

    Raises NotApplicable for a family that has no exact sampler.
    """
    make = SAMPLERS.get(type(noise))
    if make is None:
        raise NotApplicable(family=noise.name, why="no exact sampler is known for it")
    return make(noise, grid, entropy)
