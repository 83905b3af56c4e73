"""The registry knows every family and all its parts; what is missing or wrong is named."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import ClassVar

import pytest

import leastnoise.noise
from leastnoise.accounting.proof.composed import prove_delta
from leastnoise.entropy.source import InsecureSeededEntropy
from leastnoise.errors import InvalidArgument, NotApplicable, NotRegistered
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2, Norm
from leastnoise.noise.base import Noise
from leastnoise.noise.classic.fit import gaussian_search
from leastnoise.noise.classic.law import Gaussian, Laplace
from leastnoise.noise.classic.proof import gaussian_delta_ball
from leastnoise.noise.draw import find_quantile, make_sampler
from leastnoise.noise.family import Family, OwnLosses, laws_served
from leastnoise.noise.lattice.law import Optimal
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.registry import (
    FAMILIES,
    all_families,
    part_of,
    register,
    registered_family,
)
from leastnoise.noise.steps.proof import step_delta_ball


class Stranger(Gaussian):  # pyright: ignore[reportGeneralTypeIssues] - what a stranger might do
    """A family that nobody registered."""

    name: ClassVar[str] = "stranger"


class Gauss(Laplace):  # pyright: ignore[reportGeneralTypeIssues] - as above
    """A family with the name of another family."""

    name: ClassVar[str] = "gaussian"


class Own(Noise):
    """A family with a name of its own."""

    name: ClassVar[str] = "own"
    norm: ClassVar[Norm] = "l2"


class Taken(Own):
    """The same family with a name that is taken."""

    name: ClassVar[str] = "gaussian"


STRANGER = Stranger(scale=1)
QUESTION = Question(budget=Budget(epsilon=1, delta="1e-5"), dimension=1, loss=Loss.MSE)
ENTROPY = InsecureSeededEntropy(1)

NEEDED: dict[str, Callable[[], object]] = {
    "proof": lambda: prove_delta(STRANGER, L2(1), Fraction(1)),
    "fit": lambda: part_of(Stranger, "fit")(QUESTION),
    "quantile": lambda: find_quantile(STRANGER, 0.95),
}
ROLES = {
    "law": "law",
    "proof": "proof",
    "attained": "proof",
    "lower_profile": "proof",
    "tails": "proof",
    "lattice_deltas": "proof",
    "losses": "privacy_losses",
    "largest_loss": "proof",
    "no_loss_beyond": "proof",
    "work": "proof",
    "fit": "fit",
    "several": "fit",
    "wider": "fit",
    "limit": "fit",
    "design": "design",
    "sampler": "sampler",
    "draws": "sampler",
    "quantile": "profile",
    "knows_quantiles": "profile",
    "characteristic": "profile",
    "alike": "profile",
    "beyond": "proof",
}
WRONG = {
    "proof": "leastnoise.noise.steps.proof:step_delta_ball",
    "sampler": "leastnoise.noise.radial.sampler:spherical_laplace_sampler",
    "draws": "leastnoise.noise.lattice.sampler:step_draws",
    "losses": "leastnoise.noise.lattice.privacy_losses:LOSSES",
    "no_loss_beyond": "leastnoise.noise.common.proof:between_weights",
}
APART = {"several", "quantile"}  # which may have a module of their own; no proof imports it
NOT_OF_A_LAW = {"law", "work", "fit", "several", "design"}


def _described() -> set[type[Noise]]:
    """Return every family that a module of leastnoise.noise describes."""
    families_described: set[type[Noise]] = set()
    for module in pkgutil.walk_packages(leastnoise.noise.__path__, "leastnoise.noise."):
        for value in vars(import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, Noise) and hasattr(value, "name"):
                families_described.add(value)
    return families_described


def test_every_family_is_registered_by_its_name() -> None:
    assert set(all_families()) == _described()
    assert {family.name: registered_family(family) for family in all_families()} == FAMILIES
    assert list(FAMILIES) == sorted(FAMILIES)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_part_is_there_and_in_the_layer_that_may_have_it(name: str) -> None:
    """import-linter can't see what the registry imports by its name."""
    family = FAMILIES[name]
    room = family.part("law").__module__.split(".")[2]
    for part, role in ROLES.items():
        index = getattr(family, part)
        if index is None:
            continue
        where = index.partition(":")[0].split(".")
        if part == "design":
            assert where[:2] == ["leastnoise", "design"], index
        else:
            assert where[:2] == ["leastnoise", "noise"], index
            assert where[2] in {room, "common"}, index
            assert where[3] in {role, *APART.intersection({part})}, index
        part_object = family.part(part)
        if part not in NOT_OF_A_LAW:  # then it says of which, so that another law is refused
            answered = laws_served(
                part_object.upper if isinstance(part_object, OwnLosses) else part_object
            )
            assert all(issubclass(kind, Noise) for kind in answered)
    assert family.longest_is_worst or family.losses
    law = family.part("law")
    assert family.loss_unit in {None, "largest_loss", *law.parameter_kinds}
    assert (family.fit is None) != (family.design is None)
    assert (family.sampler is None) != (family.draws is None)


@pytest.mark.parametrize("part", NEEDED)
def test_a_missing_family_is_named(part: str) -> None:
    with pytest.raises(NotRegistered, match=r"noise\.registry .* stranger: it isn't registered"):
        NEEDED[part]()


def test_a_family_without_a_sampler_is_named() -> None:
    with pytest.raises(NotApplicable, match="stranger does not apply: no exact sampler"):
        make_sampler(STRANGER, grid=Fraction(1), entropy=ENTROPY)


@pytest.mark.parametrize("part", WRONG)
def test_a_part_of_another_law_is_named(part: str) -> None:
    parts = {"proof": gaussian_delta_ball, part: WRONG[part]}
    family = Family(law=Gaussian, **parts)  # pyright: ignore[reportArgumentType]
    with pytest.raises(NotRegistered, match=rf"its {part} is for .*, not for Gaussian"):
        family.part(part)


def test_a_part_that_a_family_lacks_is_named() -> None:
    with pytest.raises(NotRegistered, match="noise family optimal: it has no fit"):
        part_of(Optimal, "fit")


@pytest.mark.parametrize(
    ("family", "why"),
    [
        (
            Family(law=Gaussian, proof=step_delta_ball, fit=gaussian_search),
            "Gaussian: its law inherits from",
        ),
        (
            Family(law=Taken, proof=step_delta_ball, fit=gaussian_search),
            "gaussian: another family has that",
        ),
        (
            Family(law=Stranger, proof=step_delta_ball, fit=gaussian_search),
            "Stranger: its law inherits from",
        ),
        (Family(law=Own, proof=step_delta_ball), "own: it has no fit, and no design"),
    ],
)
def test_what_cannot_be_a_family_is_not_registered(family: Family, why: str) -> None:
    with pytest.raises(NotRegistered, match=why):
        register(family)
    assert not {"stranger", "own"} & {*FAMILIES}


def test_a_law_elsewhere_is_looked_at_when_it_is_registered() -> None:
    family = Family(law="fractions:Fraction", proof=step_delta_ball, fit=gaussian_search)
    with pytest.raises(InvalidArgument, match="law to be a subclass of Noise"):
        register(family)
    nowhere = Family(law="fractions:Nothing", proof=step_delta_ball, fit=gaussian_search)
    with pytest.raises(NotRegistered, match="there is no law at fractions:Nothing"):
        register(nowhere)


def test_two_families_of_one_name_are_both_named() -> None:
    with pytest.raises(NotRegistered, match="gaussian: Gauss and Gaussian both have that name"):
        registered_family(Gauss)
