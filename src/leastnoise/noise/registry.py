"""Every noise family: its law, and the functions that serve it.

They are named like entry points, "module:name", and imported at first use: who asks for Gaussian
noise never imports the proofs of staircases. `register` adds a family from outside
(docs/new-family.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from leastnoise import _validate
from leastnoise.errors import NotRegistered
from leastnoise.noise.base import Noise, Shape
from leastnoise.noise.family import ANY_BITS, Family, check_law

_families: dict[str, Family] = {
    "cactus": Family(
        law="leastnoise.noise.cactus:Cactus",
        proof="leastnoise.certify.lattice:step_delta_ball",
        losses="leastnoise.certify.lattice_losses:LOSSES",
        work="leastnoise.certify.work:lattice",
        fit="leastnoise.calibration.cactus:search",
        sampler="leastnoise.sampling.lattice:step_sampler",
        quantile="leastnoise.analysis.marginal:step",
    ),
    "discrete-staircase": Family(
        law="leastnoise.noise.discrete_staircase:DiscreteStaircase",
        proof="leastnoise.certify.lattice:delta_ball",
        losses="leastnoise.certify.lattice_losses:LOSSES",
        work="leastnoise.certify.work:lattice",
        design="leastnoise.design.find:discrete_staircase",
        sampler="leastnoise.sampling.lattice:sampler",
        quantile="leastnoise.analysis.marginal:lattice",
    ),
    "flipped-huber": Family(
        law="leastnoise.noise.flipped_huber:FlippedHuber",
        proof="leastnoise.certify.flipped_huber:delta_ball",
        longest_is_worst=True,
        fineness=1.25,
        fit="leastnoise.calibration.flipped_huber:search",
        sampler="leastnoise.sampling.flipped_huber:sampler",
        quantile="leastnoise.analysis.marginal:flipped_huber",
    ),
    "gaussian": Family(
        law="leastnoise.noise.gaussian:Gaussian",
        proof="leastnoise.certify.gaussian:delta_ball",
        quick=True,
        longest_is_worst=True,
        fit="leastnoise.calibration.classic:fit_gaussian",
        sampler="leastnoise.sampling.gaussian:sampler",
        quantile="leastnoise.analysis.marginal:gaussian",
    ),
    "gaussian-mixture": Family(
        law="leastnoise.noise.gaussian_mixture:GaussianMixture",
        proof="leastnoise.certify.kernels:delta_ball",
        enough_bits=ANY_BITS,  # a sum of floats, which no precision of the balls can better
        lengthy=True,
        losses="leastnoise.certify.kernel_losses:LOSSES",
        work="leastnoise.certify.work:kernels",
        fit="leastnoise.calibration.gaussian_mixture:search",
        limit="leastnoise.calibration.gaussian_mixture:limit_of",
        sampler="leastnoise.sampling.kernels:mixture_sampler",
        quantile="leastnoise.analysis.marginal:gaussian_kernels",
    ),
    "generalized-gamma": Family(
        law="leastnoise.noise.generalized_gamma:GeneralizedGamma",
        proof="leastnoise.certify.generalized_gamma:delta_ball",
        enough_bits=27,  # its scale is promised to 1e-5, and more bits take seconds
        lengthy=True,
        longest_is_worst=True,
        losses="leastnoise.certify.generalized_gamma_losses:LOSSES",
        fineness=0.75,
        fit="leastnoise.calibration.generalized_gamma:search",
        sampler="leastnoise.sampling.generalized_gamma:sampler",
        quantile="leastnoise.analysis.marginal:generalized_gamma",
    ),
    "geometric": Family(
        law="leastnoise.noise.geometric:Geometric",
        proof="leastnoise.certify.geometric:delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.certify.at_infinity:steps_on_a_lattice",
        loss_unit="decay",
        fit="leastnoise.calibration.geometric:search",
        sampler="leastnoise.sampling.geometric:sampler",
        quantile="leastnoise.analysis.marginal:geometric",
    ),
    "k-norm": Family(
        law="leastnoise.noise.k_norm:KNorm",
        proof="leastnoise.certify.bodies:delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.certify.at_infinity:of_the_law",
        fit="leastnoise.calibration.bodies:k_norm",
        sampler="leastnoise.sampling.bodies.k_norm:sampler",
    ),
    "k-staircase": Family(
        law="leastnoise.noise.k_staircase:KStaircase",
        proof="leastnoise.certify.bodies:delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.certify.at_infinity:of_the_law",
        loss_unit="largest_loss",
        fit="leastnoise.calibration.bodies:k_staircase",
        sampler="leastnoise.sampling.bodies.k_norm:staircase_sampler",
    ),
    "l2": Family(
        law="leastnoise.noise.spherical_laplace:SphericalLaplace",
        proof="leastnoise.certify.spherical_laplace:delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.certify.at_infinity:shift_in_scales",
        work="leastnoise.certify.work:spherical_laplace",
        fineness=1.25,
        fit="leastnoise.calibration.classic:fit_l2",
        sampler="leastnoise.sampling.spherical_laplace:sampler",
        quantile="leastnoise.analysis.marginal:spherical_laplace",
    ),
    "laplace": Family(
        law="leastnoise.noise.laplace:Laplace",
        proof="leastnoise.certify.laplace:delta_ball",
        quick=True,
        longest_is_worst=True,
        largest_loss="leastnoise.certify.at_infinity:shift_in_scales",
        fit="leastnoise.calibration.classic:fit_laplace",
        sampler="leastnoise.sampling.laplace:sampler",
        quantile="leastnoise.analysis.marginal:laplace",
    ),
    "optimal": Family(
        law="leastnoise.noise.optimal:Optimal",
        proof="leastnoise.certify.lattice:step_delta_ball",
        losses="leastnoise.certify.lattice_losses:LOSSES",
        work="leastnoise.certify.work:lattice",
        design="leastnoise.design.find:optimal",
        sampler="leastnoise.sampling.lattice:step_sampler",
        quantile="leastnoise.analysis.marginal:step",
    ),
    "optimal-radial": Family(
        law="leastnoise.noise.optimal_radial:OptimalRadial",
        proof="leastnoise.certify.radial_step:delta_ball",
        longest_is_worst=True,
        work="leastnoise.certify.work:radial_steps",
        design="leastnoise.design.find:optimal_radial",
        sampler="leastnoise.sampling.radial_step:sampler",
        quantile="leastnoise.analysis.marginal:radial_step",
    ),
    "quasi-gaussian": Family(
        law="leastnoise.noise.quasi_gaussian:QuasiGaussian",
        proof="leastnoise.certify.kernels:delta_ball",
        enough_bits=ANY_BITS,  # a sum of floats, which no precision of the balls can better
        lengthy=True,
        losses="leastnoise.certify.kernel_losses:LOSSES",
        work="leastnoise.certify.work:kernels",
        fit="leastnoise.calibration.quasi_gaussian:search",
        sampler="leastnoise.sampling.kernels:quasi_gaussian_sampler",
        quantile="leastnoise.analysis.marginal:gaussian_kernels",
    ),
    "spherical-staircase": Family(
        law="leastnoise.noise.spherical_staircase:SphericalStaircase",
        proof="leastnoise.certify.radial_step:delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.certify.at_infinity:steps_up_to_the_edge",
        loss_unit="decay",
        work="leastnoise.certify.work:radial_steps",
        fit="leastnoise.calibration.spherical_staircase:search",
        sampler="leastnoise.sampling.radial_step:sampler",
        quantile="leastnoise.analysis.marginal:radial_step",
    ),
    "staircase": Family(
        law="leastnoise.noise.staircase:Staircase",
        proof="leastnoise.certify.staircase:delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.certify.at_infinity:steps",
        loss_unit="decay",
        fit="leastnoise.calibration.staircase:search",
        sampler="leastnoise.sampling.staircase:sampler",
        quantile="leastnoise.analysis.marginal:staircase",
    ),
    "truncated-k-staircase": Family(
        law="leastnoise.noise.truncated_k_staircase:TruncatedKStaircase",
        proof="leastnoise.certify.truncated_bodies:delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.certify.at_infinity:of_the_law",
        loss_unit="decay",
        fit="leastnoise.calibration.truncated_bodies:search",
        sampler="leastnoise.sampling.bodies.k_norm:truncated_sampler",
    ),
    "truncated-laplace": Family(
        law="leastnoise.noise.truncated_laplace:TruncatedLaplace",
        proof="leastnoise.certify.truncated_laplace:delta_ball",
        quick=True,
        longest_is_worst=True,
        largest_loss="leastnoise.certify.at_infinity:shift_in_scales",
        fit="leastnoise.calibration.truncated_laplace:search",
        sampler="leastnoise.sampling.truncated_laplace:sampler",
        quantile="leastnoise.analysis.marginal:truncated_laplace",
    ),
    "truncated-staircase": Family(
        law="leastnoise.noise.truncated_staircase:TruncatedStaircase",
        proof="leastnoise.certify.step:delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.certify.at_infinity:steps_up_to_the_edge",
        loss_unit="decay",
        work="leastnoise.certify.work:steps",
        fit="leastnoise.calibration.truncated_staircase:search",
        sampler="leastnoise.sampling.step:sampler",
        quantile="leastnoise.analysis.marginal:step",
    ),
    "tulap": Family(
        law="leastnoise.noise.tulap:Tulap",
        proof="leastnoise.certify.step:delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.certify.at_infinity:steps_up_to_the_edge",
        loss_unit="decay",
        work="leastnoise.certify.work:steps",
        fit="leastnoise.calibration.tulap:search",
        sampler="leastnoise.sampling.step:sampler",
        quantile="leastnoise.analysis.marginal:step",
    ),
    "two-sided-laplace": Family(
        law="leastnoise.noise.two_sided_laplace:TwoSidedLaplace",
        proof="leastnoise.certify.bodies:delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.certify.at_infinity:of_the_law",
        fit="leastnoise.calibration.bodies:two_sided_laplace",
        sampler="leastnoise.sampling.bodies.two_sided:laplace_sampler",
        quantile="leastnoise.analysis.marginal:two_sided",
    ),
    "two-sided-staircase": Family(
        law="leastnoise.noise.two_sided_staircase:TwoSidedStaircase",
        proof="leastnoise.certify.bodies:delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.certify.at_infinity:of_the_law",
        loss_unit="largest_loss",
        fit="leastnoise.calibration.bodies:two_sided_staircase",
        sampler="leastnoise.sampling.bodies.two_sided:staircase_sampler",
        quantile="leastnoise.analysis.marginal:two_sided",
    ),
}

FAMILIES: Mapping[str, Family] = MappingProxyType(_families)
"""By the names that the command line and certificates use."""


def family_named(name: str) -> type[Noise]:
    """Return the family called `name`; raises InvalidArgument, naming the nearest one."""
    return _law(FAMILIES[_validate.one_of(name, tuple(FAMILIES), name="noise")])


def register(family: Family) -> None:
    """Make a family from outside known by its law's name, in this process.

    It is as right as its proof is: nothing checks that the ball that it returns holds δ(ε). Raises
    InvalidArgument for what is no family, NotRegistered for a name that is taken and for a family
    without a name, a norm or a fit.
    """
    _validate.instance(family, Family, name="family", like="a Family")
    law = family.part("law")
    check_law(law)
    if law.shape is not Shape.OTHER or issubclass(law, all_families()):
        why = "its law inherits from another family's, whose proofs would be taken for its own"
        raise NotRegistered(family=law.__name__, table=__name__, why=why)
    name = getattr(law, "name", None)
    if not (isinstance(name, str) and hasattr(law, "norm")):
        why = "it has no name, or no norm"
        raise NotRegistered(family=law.__name__, table=__name__, why=why)
    if name in FAMILIES:
        raise NotRegistered(family=name, table=__name__, why="another family has that name")
    if family.fit is None and family.design is None:
        raise NotRegistered(family=name, table=__name__, why="it has no fit, and no design")
    _families[name] = family


def all_families() -> tuple[type[Noise], ...]:
    """Return the class of every family: ours by their names, then those that were registered."""
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


def part_of(family: type[Noise], name: str) -> Any:
    """Return the part of `family` that a `Family` calls `name`; raises NotRegistered."""
    found = registered(family).part(name)
    if found is None:
        raise NotRegistered(family=family.name, table=__name__, why=f"it has no {name}")
    return found


def _law(family: Family) -> type[Noise]:
    return family.part("law")
