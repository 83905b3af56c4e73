"""Every noise family: its law, and the functions that serve it.

They are named like entry points, "module:name", and imported at first use: who asks for Gaussian
noise never imports the proofs of staircases. A family from outside is added by `register`, or by an
entry point of an installed package, group "leastnoise.families" (docs/new-family.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from leastnoise import _validate
from leastnoise.errors import NotRegistered
from leastnoise.noise.base import Noise
from leastnoise.noise.family import ANY_BITS, Family, check_law

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_families: dict[str, Family] = {
    "agreeing": Family(
        law="leastnoise.noise.trees.law:Agreeing",
        proof="leastnoise.noise.trees.proof:delta_ball",
        attained="leastnoise.noise.trees.proof:attained",
        longest_is_worst=True,
        largest_loss="leastnoise.noise.trees.proof:largest_loss",
        fit="leastnoise.noise.trees.fit:search",
        several="leastnoise.noise.trees.fit:several",
        sampler="leastnoise.noise.trees.sampler:sampler",
        quantile="leastnoise.noise.trees.profile:quantile",
    ),
    "cactus": Family(
        law="leastnoise.noise.lattice.law:Cactus",
        proof="leastnoise.noise.lattice.proof:step_delta_ball",
        losses="leastnoise.noise.lattice.privacy_losses:LOSSES",
        no_loss_beyond="leastnoise.noise.common.proof:between_weights",
        work="leastnoise.noise.lattice.proof:too_long",
        fit="leastnoise.noise.lattice.fit.cactus:search",
        several="leastnoise.noise.lattice.fit.cactus:cactus_several",
        sampler="leastnoise.noise.lattice.sampler:step_sampler",
        quantile="leastnoise.noise.common.profile:step",
    ),
    "discrete-staircase": Family(
        law="leastnoise.noise.lattice.law:DiscreteStaircase",
        proof="leastnoise.noise.lattice.proof:delta_ball",
        losses="leastnoise.noise.lattice.privacy_losses:LOSSES",
        work="leastnoise.noise.lattice.proof:too_long",
        design="leastnoise.design.find:discrete_staircase",
        several="leastnoise.noise.lattice.fit.cactus:discrete_staircase_several",
        sampler="leastnoise.noise.lattice.sampler:sampler",
        quantile="leastnoise.noise.lattice.profile:quantile",
        beyond="leastnoise.noise.lattice.proof:beyond",
    ),
    "flipped-huber": Family(
        law="leastnoise.noise.huber.law:FlippedHuber",
        proof="leastnoise.noise.huber.proof:delta_ball",
        longest_is_worst=True,
        refinement=1.25,
        fit="leastnoise.noise.huber.fit:search",
        several="leastnoise.noise.huber.fit:several",
        sampler="leastnoise.noise.huber.sampler:sampler",
        quantile="leastnoise.noise.huber.profile:quantile",
    ),
    "gaussian": Family(
        law="leastnoise.noise.gaussian.law:Gaussian",
        proof="leastnoise.noise.gaussian.proof:delta_ball",
        tails="leastnoise.noise.gaussian.proof:tails",
        quick=True,
        longest_is_worst=True,
        fit="leastnoise.noise.gaussian.fit:search",
        sampler="leastnoise.noise.gaussian.sampler:sampler",
        share="leastnoise.noise.gaussian.sampler:share",
        quantile="leastnoise.noise.gaussian.profile:quantile",
        beyond="leastnoise.noise.gaussian.proof:beyond",
    ),
    "gaussian-mixture": Family(
        law="leastnoise.noise.kernels.law:GaussianMixture",
        proof="leastnoise.noise.kernels.proof.every_shift:delta_ball",
        enough_bits=ANY_BITS,  # a sum of floats, which no precision of the balls can better
        lengthy=True,
        losses="leastnoise.noise.kernels.privacy_losses:LOSSES",
        work="leastnoise.noise.kernels.proof.table:too_long",
        fit="leastnoise.noise.kernels.fit.quasi_gaussian:gaussian_mixture_search",
        limit="leastnoise.noise.kernels.fit.quasi_gaussian:limit_of",
        several="leastnoise.noise.kernels.fit.several:several",
        wider="leastnoise.noise.kernels.fit.kernels:wider",
        sampler="leastnoise.noise.kernels.sampler:mixture_sampler",
        quantile="leastnoise.noise.kernels.profile.divergence:quantile",
    ),
    "generalized-gamma": Family(
        law="leastnoise.noise.radial.law:GeneralizedGamma",
        proof="leastnoise.noise.radial.proof.generalized_gamma:delta_ball",
        enough_bits=27,  # its scale is promised to 1e-5, and more bits take seconds
        lengthy=True,
        longest_is_worst=True,
        losses="leastnoise.noise.radial.privacy_losses:LOSSES",
        refinement=0.75,
        slow=True,
        fit="leastnoise.noise.radial.fit.generalized_gamma:generalized_gamma_search",
        several="leastnoise.noise.radial.fit.generalized_gamma_several:several",
        sampler="leastnoise.noise.radial.sampler:generalized_gamma_sampler",
        radius="leastnoise.noise.radial.sampler:radius",
        quantile="leastnoise.noise.radial.profile.tails:generalized_gamma",
    ),
    "geometric": Family(
        law="leastnoise.noise.steps.law:Geometric",
        proof="leastnoise.noise.steps.proof:geometric_delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.noise.steps.proof:geometric_largest_loss",
        loss_unit="decay",
        fit="leastnoise.noise.steps.fit:geometric_search",
        several="leastnoise.noise.common.fit.several:by_share",
        sampler="leastnoise.noise.steps.sampler:geometric_sampler",
        share="leastnoise.noise.steps.sampler:share",
        quantile="leastnoise.noise.steps.profile:geometric",
        beyond="leastnoise.noise.steps.proof:geometric_beyond",
    ),
    "k-norm": Family(
        law="leastnoise.noise.bodies.law.k_norm:KNorm",
        proof="leastnoise.noise.bodies.proof:pure_delta_ball",
        attained="leastnoise.noise.bodies.proof:attained",
        lower_profile="leastnoise.noise.bodies.proof:lower_profile",
        longest_is_worst=True,
        largest_loss="leastnoise.noise.bodies.proof:largest_loss",
        any_scale=True,
        fit="leastnoise.noise.bodies.fit:k_norm",
        several="leastnoise.noise.bodies.fit:several",
        sampler="leastnoise.noise.bodies.sampler.draw:k_norm_sampler",
        quantile="leastnoise.noise.bodies.profile:one_coordinate_quantile",
        beyond="leastnoise.noise.bodies.proof:beyond",
        knows_quantiles="leastnoise.noise.bodies.profile:one_coordinate_known",
    ),
    "k-staircase": Family(
        law="leastnoise.noise.bodies.law.k_norm:KStaircase",
        proof="leastnoise.noise.bodies.proof:pure_delta_ball",
        attained="leastnoise.noise.bodies.proof:attained",
        longest_is_worst=True,
        largest_loss="leastnoise.noise.bodies.proof:largest_loss",
        loss_unit="largest_loss",
        losses_stay=True,
        fit="leastnoise.noise.bodies.fit:k_staircase",
        several="leastnoise.noise.bodies.fit:several",
        sampler="leastnoise.noise.bodies.sampler.draw:k_staircase_sampler",
        quantile="leastnoise.noise.bodies.profile:one_coordinate_quantile",
        knows_quantiles="leastnoise.noise.bodies.profile:one_coordinate_known",
    ),
    "l2": Family(
        law="leastnoise.noise.radial.law:SphericalLaplace",
        proof="leastnoise.noise.radial.proof.spherical_laplace:delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.noise.common.proof:shift_in_scales",
        work="leastnoise.noise.radial.proof.spherical_laplace:too_long",
        refinement=1.25,
        for_one_number="laplace",
        fit="leastnoise.noise.radial.fit.generalized_gamma:spherical_laplace_search",
        several="leastnoise.noise.radial.fit.generalized_gamma:several",
        sampler="leastnoise.noise.radial.sampler:spherical_laplace_sampler",
        quantile="leastnoise.noise.radial.profile.tails:spherical_laplace",
    ),
    "laplace": Family(
        law="leastnoise.noise.laplace.law:Laplace",
        proof="leastnoise.noise.laplace.proof:laplace_delta_ball",
        quick=True,
        longest_is_worst=True,
        largest_loss="leastnoise.noise.common.proof:shift_in_scales",
        fit="leastnoise.noise.laplace.fit:laplace_search",
        sampler="leastnoise.noise.laplace.sampler:laplace_sampler",
        quantile="leastnoise.noise.laplace.profile:laplace_quantile",
        beyond="leastnoise.noise.laplace.proof:beyond",
    ),
    "optimal": Family(
        law="leastnoise.noise.lattice.law:Optimal",
        proof="leastnoise.noise.lattice.proof:step_delta_ball",
        losses="leastnoise.noise.lattice.privacy_losses:LOSSES",
        no_loss_beyond="leastnoise.noise.common.proof:between_weights",
        work="leastnoise.noise.lattice.proof:too_long",
        losses_stay=True,
        for_a_vector="optimal-radial",
        design="leastnoise.design.find:optimal",
        sampler="leastnoise.noise.lattice.sampler:step_sampler",
        quantile="leastnoise.noise.common.profile:step",
    ),
    "optimal-radial": Family(
        law="leastnoise.noise.shells.law:OptimalRadial",
        proof="leastnoise.noise.shells.proof:delta_ball",
        longest_is_worst=True,
        no_loss_beyond="leastnoise.noise.common.proof:between_weights",
        work="leastnoise.noise.shells.proof:too_long",
        losses_stay=True,
        slow=True,
        design="leastnoise.design.find:optimal_radial",
        sampler="leastnoise.noise.shells.sampler:sampler",
        quantile="leastnoise.noise.shells.profile:quantile",
    ),
    "quasi-gaussian": Family(
        law="leastnoise.noise.kernels.law:QuasiGaussian",
        proof="leastnoise.noise.kernels.proof.every_shift:delta_ball",
        enough_bits=ANY_BITS,  # a sum of floats, which no precision of the balls can better
        lengthy=True,
        losses="leastnoise.noise.kernels.privacy_losses:LOSSES",
        work="leastnoise.noise.kernels.proof.table:too_long",
        fit="leastnoise.noise.kernels.fit.quasi_gaussian:quasi_gaussian_search",
        several="leastnoise.noise.kernels.fit.several:several",
        wider="leastnoise.noise.kernels.fit.kernels:wider",
        sampler="leastnoise.noise.kernels.sampler:quasi_gaussian_sampler",
        quantile="leastnoise.noise.kernels.profile.divergence:quantile",
    ),
    "spherical-staircase": Family(
        law="leastnoise.noise.shells.law:SphericalStaircase",
        proof="leastnoise.noise.shells.proof:delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.noise.common.proof:steps_up_to_the_edge",
        loss_unit="decay",
        work="leastnoise.noise.shells.proof:too_long",
        losses_stay=True,
        slow=True,
        fit="leastnoise.noise.shells.fit:search",
        several="leastnoise.noise.shells.fit:several",
        sampler="leastnoise.noise.shells.sampler:sampler",
        quantile="leastnoise.noise.shells.profile:quantile",
    ),
    "staircase": Family(
        law="leastnoise.noise.steps.law:Staircase",
        proof="leastnoise.noise.steps.proof:staircase_delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.noise.steps.proof:staircase_largest_loss",
        loss_unit="decay",
        losses_stay=True,
        fit="leastnoise.noise.steps.fit:staircase_search",
        several="leastnoise.noise.common.fit.several:by_share",
        sampler="leastnoise.noise.steps.sampler:staircase_sampler",
        quantile="leastnoise.noise.steps.profile:staircase",
    ),
    "truncated-k-staircase": Family(
        law="leastnoise.noise.bodies.law.k_norm:TruncatedKStaircase",
        proof="leastnoise.noise.bodies.proof:truncated_delta_ball",
        attained="leastnoise.noise.bodies.proof:attained",
        longest_is_worst=True,
        largest_loss="leastnoise.noise.bodies.proof:largest_loss",
        loss_unit="decay",
        losses_stay=True,
        fit="leastnoise.noise.bodies.fit:search",
        several="leastnoise.noise.bodies.fit:several",
        sampler="leastnoise.noise.bodies.sampler.draw:truncated_k_staircase_sampler",
        quantile="leastnoise.noise.bodies.profile:one_coordinate_quantile",
        knows_quantiles="leastnoise.noise.bodies.profile:one_coordinate_known",
    ),
    "truncated-laplace": Family(
        law="leastnoise.noise.laplace.law:TruncatedLaplace",
        proof="leastnoise.noise.laplace.proof:truncated_laplace_delta_ball",
        quick=True,
        longest_is_worst=True,
        largest_loss="leastnoise.noise.common.proof:shift_in_scales",
        fit="leastnoise.noise.laplace.fit:truncated_laplace_search",
        several="leastnoise.noise.common.fit.several:by_share",
        sampler="leastnoise.noise.laplace.sampler:truncated_laplace_sampler",
        quantile="leastnoise.noise.laplace.profile:truncated_laplace_quantile",
        beyond="leastnoise.noise.laplace.proof:beyond",
    ),
    "truncated-staircase": Family(
        law="leastnoise.noise.steps.law:TruncatedStaircase",
        proof="leastnoise.noise.steps.proof:step_delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.noise.common.proof:steps_up_to_the_edge",
        loss_unit="decay",
        work="leastnoise.noise.steps.proof:too_long",
        losses_stay=True,
        fit="leastnoise.noise.steps.fit:truncated_staircase_search",
        several="leastnoise.noise.common.fit.several:by_share",
        sampler="leastnoise.noise.steps.sampler:step_sampler",
        quantile="leastnoise.noise.common.profile:step",
    ),
    "tulap": Family(
        law="leastnoise.noise.steps.law:Tulap",
        proof="leastnoise.noise.steps.proof:step_delta_ball",
        longest_is_worst=True,
        largest_loss="leastnoise.noise.common.proof:steps_up_to_the_edge",
        loss_unit="decay",
        work="leastnoise.noise.steps.proof:too_long",
        losses_stay=True,
        fit="leastnoise.noise.steps.fit:tulap_search",
        several="leastnoise.noise.common.fit.several:by_share",
        sampler="leastnoise.noise.steps.sampler:step_sampler",
        quantile="leastnoise.noise.common.profile:step",
    ),
    "two-sided-laplace": Family(
        law="leastnoise.noise.bodies.law.two_sided:TwoSidedLaplace",
        proof="leastnoise.noise.bodies.proof:pure_delta_ball",
        attained="leastnoise.noise.bodies.proof:attained",
        longest_is_worst=True,
        largest_loss="leastnoise.noise.bodies.proof:largest_loss",
        any_scale=True,
        fit="leastnoise.noise.bodies.fit:two_sided_laplace",
        several="leastnoise.noise.bodies.fit:several",
        sampler="leastnoise.noise.bodies.sampler.draw:two_sided_laplace_sampler",
        quantile="leastnoise.noise.bodies.profile:two_sided_quantile",
        knows_quantiles="leastnoise.noise.bodies.profile:two_sided_known",
    ),
    "two-sided-staircase": Family(
        law="leastnoise.noise.bodies.law.two_sided:TwoSidedStaircase",
        proof="leastnoise.noise.bodies.proof:pure_delta_ball",
        attained="leastnoise.noise.bodies.proof:attained",
        longest_is_worst=True,
        largest_loss="leastnoise.noise.bodies.proof:largest_loss",
        loss_unit="largest_loss",
        losses_stay=True,
        fit="leastnoise.noise.bodies.fit:two_sided_staircase",
        several="leastnoise.noise.bodies.fit:several",
        sampler="leastnoise.noise.bodies.sampler.draw:two_sided_staircase_sampler",
        quantile="leastnoise.noise.bodies.profile:two_sided_quantile",
        knows_quantiles="leastnoise.noise.bodies.profile:two_sided_known",
    ),
}

FAMILIES: Mapping[str, Family] = MappingProxyType(_families)
"""By the names that the command line and certificates use."""

GROUP = "leastnoise.families"
"""Of entry points: a family's name, and where its `Family` is."""


def family_named(name: str) -> type[Noise]:
    """Return the family called `name`; raises InvalidArgument, naming the nearest one.

    Raises NotRegistered for an entry point of that name at which there is no such family.
    """
    if isinstance(name, str) and name not in FAMILIES:
        _register_installed(name=name)
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
    if issubclass(law, _laws()):
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
    """Return the class of every family: ours by their names, then those from outside.

    Raises NotRegistered for an entry point at which there is no family.
    """
    _register_installed()
    return _laws()


def _laws() -> tuple[type[Noise], ...]:
    return tuple(_law(family) for family in FAMILIES.values())


def _register_installed(*, name: str | None = None) -> None:
    """Register what installed packages offer as entry points, the one of that `name` or all."""
    for entry in _installed():
        if entry.name in FAMILIES or name not in {None, entry.name}:
            continue
        try:
            family = entry.load()
        except Exception as error:  # whatever a package that we don't know raises on import
            why = f"the entry point {entry.value} can't be imported"
            raise NotRegistered(family=entry.name, table=__name__, why=why) from error
        if entry.name not in FAMILIES:  # unless that module registers it itself
            register(family)
        if entry.name not in FAMILIES:
            why = f"the law at the entry point {entry.value} has another name"
            raise NotRegistered(family=entry.name, table=__name__, why=why)


@cache
def _installed() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points  # noqa: PLC0415 (30 ms, where it is needed)

    return tuple(entry_points(group=GROUP))


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
