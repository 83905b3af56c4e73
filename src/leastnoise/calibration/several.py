"""The law of a family for several releases: who searches for whom."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.calibration.composed import composed_law
from leastnoise.calibration.composed_bodies import composed_bodies
from leastnoise.calibration.composed_gamma import composed_gamma
from leastnoise.calibration.composed_kernels import composed_kernels
from leastnoise.calibration.composed_spread import (
    composed_cactus,
    composed_flipped_huber,
    sampled_kernels,
)
from leastnoise.calibration.composed_steps import composed_radial_steps, composed_whole_numbers
from leastnoise.calibration.samples import check_rate
from leastnoise.calibration.search import Search
from leastnoise.errors import NotApplicable
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.huber.law import FlippedHuber
from leastnoise.noise.kernels.law.kernels import KernelNoise
from leastnoise.noise.lattice.law.cactus import Cactus
from leastnoise.noise.lattice.law.discrete_staircase import DiscreteStaircase
from leastnoise.noise.radial.law.generalized_gamma import GeneralizedGamma
from leastnoise.noise.registry import registered
from leastnoise.noise.request import Request
from leastnoise.noise.shells.law.spherical_staircase import SphericalStaircase

_TOO_SLOW_FOR_SAMPLES: dict[type[Noise], str] = {
    GeneralizedGamma: "for several samples every scale tried takes seconds to prove",
    SphericalStaircase: "for several samples its proof takes a minute",
}


def law_for_several(
    family: type[Noise], request: Request, draws: int, *, rate: Fraction, search: Search | None
) -> Noise:
    """Return the law of `family` for a worst shift of 1 that may be drawn `draws` times.

    With a `rate` < 1 every draw is for a Poisson sample of its own. `search` finds the law for one
    where calibration itself has no search. Raises NotApplicable if the family has none for several.
    """
    check_rate(request.budget, rate)
    if rate != 1 and (why := _TOO_SLOW_FOR_SAMPLES.get(family)):
        raise NotApplicable(family=family.name, why=why)
    if family is DiscreteStaircase and search:
        return composed_whole_numbers(request, draws, rate, search=search)
    if issubclass(family, KernelNoise):
        if rate != 1:
            return sampled_kernels(family, request, draws, rate)
        return composed_kernels(family, request, draws)
    if issubclass(family, VectorNoise):
        return composed_bodies(family, request, draws, rate=rate)
    whole = {GeneralizedGamma: composed_gamma, SphericalStaircase: composed_radial_steps}
    if family in whole:
        return whole[family](request, draws)
    if not family.parameter_kinds and registered(family).fit is None:
        raise NotApplicable(family=family.name, why="it is designed for one release only")
    own = {Cactus: composed_cactus, FlippedHuber: composed_flipped_huber}.get(family)
    return own(request, draws, rate) if own else composed_law(family, request, draws, rate)
