"""Every noise family: its law, and the functions that serve it.

They are named like entry points, "module:name", and imported at first use: who asks for Gaussian
noise never imports the proofs of staircases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

from leastnoise import _validate
from leastnoise.errors import NotRegistered

if TYPE_CHECKING:
    from leastnoise.noise.base import Noise

ENOUGH_BITS = 60
"""Of an enclosure of δ, relatively: more than a double holds, so that the interval is as tight as
two floats can be."""
_ANY = -1000


@final
@dataclass(frozen=True, kw_only=True)
class Family:
    """Where the parts of one noise family are.

    law: the class, a subclass of `Noise`.
    proof: encloses δ(ε) in a ball, from the law, a `shift` in its norm and `epsilon`.
    sampler: makes a `Sampler` of the law, a grid and entropy; left out where none is exact.
    fit: returns the law of least loss for a `Request`; left out where `design` finds it.
    limit: says where the search for a law was cut off, so that another may have less loss.
    design: returns such a law too, by an optimiser that is told what `effort` to make.
    enough_bits: the relative accuracy of δ at which the proof tries no higher precision.
    """

    law: str
    proof: str
    sampler: str | None = None
    fit: str | None = None
    limit: str | None = None
    design: str | None = None
    enough_bits: int = ENOUGH_BITS

    def part(self, name: str) -> Callable[..., Any] | None:
        """Return the function called `name` above, imported; None if it is left out."""
        place = getattr(self, name)
        return None if place is None else _imported(place)


@cache
def _imported(place: str) -> Any:
    module, name = place.split(":")
    return getattr(import_module(module), name)


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "cactus": Family(
            law="leastnoise.noise.cactus:Cactus",
            proof="leastnoise.certify.lattice:step_delta_ball",
            fit="leastnoise.calibration.cactus:search",
            sampler="leastnoise.sampling.lattice:step_sampler",
        ),
        "discrete-staircase": Family(
            law="leastnoise.noise.discrete_staircase:DiscreteStaircase",
            proof="leastnoise.certify.lattice:delta_ball",
            design="leastnoise.design.find:discrete_staircase",
            sampler="leastnoise.sampling.lattice:sampler",
        ),
        "flipped-huber": Family(
            law="leastnoise.noise.flipped_huber:FlippedHuber",
            proof="leastnoise.certify.flipped_huber:delta_ball",
            fit="leastnoise.calibration.flipped_huber:search",
            sampler="leastnoise.sampling.flipped_huber:sampler",
        ),
        "gaussian": Family(
            law="leastnoise.noise.gaussian:Gaussian",
            proof="leastnoise.certify.gaussian:delta_ball",
            fit="leastnoise.calibration.classic:fit_gaussian",
            sampler="leastnoise.sampling.gaussian:sampler",
        ),
        "gaussian-mixture": Family(
            law="leastnoise.noise.gaussian_mixture:GaussianMixture",
            proof="leastnoise.certify.kernels:delta_ball",
            enough_bits=_ANY,  # a sum of floats, which no precision of the balls can better
            fit="leastnoise.calibration.gaussian_mixture:search",
            limit="leastnoise.calibration.gaussian_mixture:limit_of",
            sampler="leastnoise.sampling.kernels:mixture_sampler",
        ),
        "generalized-gamma": Family(
            law="leastnoise.noise.generalized_gamma:GeneralizedGamma",
            proof="leastnoise.certify.generalized_gamma:delta_ball",
            enough_bits=27,  # its scale is promised to 1e-5, and more bits take seconds
            fit="leastnoise.calibration.generalized_gamma:search",
            sampler="leastnoise.sampling.generalized_gamma:sampler",
        ),
        "geometric": Family(
            law="leastnoise.noise.geometric:Geometric",
            proof="leastnoise.certify.geometric:delta_ball",
            fit="leastnoise.calibration.geometric:search",
            sampler="leastnoise.sampling.geometric:sampler",
        ),
        "k-norm": Family(
            law="leastnoise.noise.k_norm:KNorm",
            proof="leastnoise.certify.bodies:delta_ball",
            fit="leastnoise.calibration.bodies:k_norm",
            sampler="leastnoise.sampling.bodies.k_norm:sampler",
        ),
        "k-staircase": Family(
            law="leastnoise.noise.k_staircase:KStaircase",
            proof="leastnoise.certify.bodies:delta_ball",
            fit="leastnoise.calibration.bodies:k_staircase",
            sampler="leastnoise.sampling.bodies.k_norm:staircase_sampler",
        ),
        "l2": Family(
            law="leastnoise.noise.spherical_laplace:SphericalLaplace",
            proof="leastnoise.certify.spherical_laplace:delta_ball",
            fit="leastnoise.calibration.classic:fit_l2",
            sampler="leastnoise.sampling.spherical_laplace:sampler",
        ),
        "laplace": Family(
            law="leastnoise.noise.laplace:Laplace",
            proof="leastnoise.certify.laplace:delta_ball",
            fit="leastnoise.calibration.classic:fit_laplace",
            sampler="leastnoise.sampling.laplace:sampler",
        ),
        "optimal": Family(
            law="leastnoise.noise.optimal:Optimal",
            proof="leastnoise.certify.lattice:step_delta_ball",
            design="leastnoise.design.find:optimal",
            sampler="leastnoise.sampling.lattice:step_sampler",
        ),
        "optimal-radial": Family(
            law="leastnoise.noise.optimal_radial:OptimalRadial",
            proof="leastnoise.certify.radial_step:delta_ball",
            design="leastnoise.design.find:optimal_radial",
            sampler="leastnoise.sampling.radial_step:sampler",
        ),
        "quasi-gaussian": Family(
            law="leastnoise.noise.quasi_gaussian:QuasiGaussian",
            proof="leastnoise.certify.kernels:delta_ball",
            enough_bits=_ANY,  # a sum of floats, which no precision of the balls can better
            fit="leastnoise.calibration.quasi_gaussian:search",
            sampler="leastnoise.sampling.kernels:quasi_gaussian_sampler",
        ),
        "spherical-staircase": Family(
            law="leastnoise.noise.spherical_staircase:SphericalStaircase",
            proof="leastnoise.certify.radial_step:delta_ball",
            fit="leastnoise.calibration.spherical_staircase:search",
            sampler="leastnoise.sampling.radial_step:sampler",
        ),
        "staircase": Family(
            law="leastnoise.noise.staircase:Staircase",
            proof="leastnoise.certify.staircase:delta_ball",
            fit="leastnoise.calibration.staircase:search",
            sampler="leastnoise.sampling.staircase:sampler",
        ),
        "truncated-k-staircase": Family(
            law="leastnoise.noise.truncated_k_staircase:TruncatedKStaircase",
            proof="leastnoise.certify.truncated_bodies:delta_ball",
            fit="leastnoise.calibration.truncated_bodies:search",
            sampler="leastnoise.sampling.bodies.k_norm:truncated_sampler",
        ),
        "truncated-laplace": Family(
            law="leastnoise.noise.truncated_laplace:TruncatedLaplace",
            proof="leastnoise.certify.truncated_laplace:delta_ball",
            fit="leastnoise.calibration.truncated_laplace:search",
            sampler="leastnoise.sampling.truncated_laplace:sampler",
        ),
        "truncated-staircase": Family(
            law="leastnoise.noise.truncated_staircase:TruncatedStaircase",
            proof="leastnoise.certify.step:delta_ball",
            fit="leastnoise.calibration.truncated_staircase:search",
            sampler="leastnoise.sampling.step:sampler",
        ),
        "tulap": Family(
            law="leastnoise.noise.tulap:Tulap",
            proof="leastnoise.certify.step:delta_ball",
            fit="leastnoise.calibration.tulap:search",
            sampler="leastnoise.sampling.step:sampler",
        ),
        "two-sided-laplace": Family(
            law="leastnoise.noise.two_sided_laplace:TwoSidedLaplace",
            proof="leastnoise.certify.bodies:delta_ball",
            fit="leastnoise.calibration.bodies:two_sided_laplace",
            sampler="leastnoise.sampling.bodies.two_sided:laplace_sampler",
        ),
        "two-sided-staircase": Family(
            law="leastnoise.noise.two_sided_staircase:TwoSidedStaircase",
            proof="leastnoise.certify.bodies:delta_ball",
            fit="leastnoise.calibration.bodies:two_sided_staircase",
            sampler="leastnoise.sampling.bodies.two_sided:staircase_sampler",
        ),
    }
)
"""By the names that the command line and certificates use."""


def family_named(name: str) -> type[Noise]:
    """Return the family called `name`; raises InvalidArgument, naming the nearest one."""
    return _law(FAMILIES[_validate.one_of(name, tuple(FAMILIES), name="noise")])


def all_families() -> tuple[type[Noise], ...]:
    """Return the class of every family, in the order of their names."""
    return tuple(_law(family) for family in FAMILIES.values())


def registered(family: type[Noise]) -> Family:
    """Return where the parts of `family` are; raises NotRegistered."""
    found = FAMILIES.get(family.name)
    if found is None:
        raise NotRegistered(family=family.name, table=__name__)
    if (other := _law(found)) is not family:
        why = f"{family.__name__} and {other.__name__} both have that name"
        raise NotRegistered(family=family.name, table=__name__, why=why)
    return found


def part_of(family: type[Noise], name: str) -> Callable[..., Any]:
    """Return the function of `family` that a `Family` calls `name`; raises NotRegistered."""
    found = registered(family).part(name)
    if found is None:
        raise NotRegistered(family=family.name, table=__name__, why=f"it has no {name}")
    return found


def _law(family: Family) -> type[Noise]:
    return _imported(family.law)
