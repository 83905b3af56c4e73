"""A family that is missing from a table, or is wrong in it, is named together with the table."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar, cast

import pytest

from leastnoise.analysis.marginal import absolute_quantile
from leastnoise.calibration.request import Request
from leastnoise.calibration.search import unit_law
from leastnoise.certify.prove import prove_delta
from leastnoise.certify.step import delta_ball
from leastnoise.errors import NotApplicable, NotRegistered
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.base import Noise, Shape
from leastnoise.noise.gaussian import Gaussian
from leastnoise.noise.laplace import Laplace
from leastnoise.noise.loss import Loss
from leastnoise.noise.registry import by_name
from leastnoise.sampling.entropy import InsecureSeededEntropy
from leastnoise.sampling.registry import sampler_of
from leastnoise.sampling.step import sampler


class Unknown(StrEnum):
    SHAPE = "unknown"


class Stranger(Gaussian):  # pyright: ignore[reportGeneralTypeIssues] - what a stranger might do
    """A family that nobody registered."""

    name: ClassVar[str] = "stranger"
    shape: ClassVar[Shape] = cast("Shape", Unknown.SHAPE)


STRANGER = Stranger(scale=1)
REQUEST = Request(budget=Budget(epsilon=1, delta="1e-5"), dimension=1, loss=Loss.MSE)
ENTROPY = InsecureSeededEntropy(1)

MISSING: dict[str, Callable[[], object]] = {
    "certify.prove": lambda: prove_delta(STRANGER, L2(1), Fraction(1)),
    "calibration.search": lambda: unit_law(Stranger, REQUEST),
    "analysis.marginal": lambda: absolute_quantile(STRANGER, 0.95),
}
WRONG: dict[str, Callable[[], object]] = {
    "certify.step": lambda: delta_ball(Gaussian(scale=1), shift=Fraction(1), epsilon=Fraction(1)),
    "sampling.step": lambda: sampler(Gaussian(scale=1), Fraction(1), ENTROPY),
}


@pytest.mark.parametrize("table", MISSING)
def test_a_missing_family_is_named(table: str) -> None:
    with pytest.raises(NotRegistered, match=rf"leastnoise\.{table} .* stranger: it isn't reg"):
        MISSING[table]()


def test_a_family_without_a_sampler_is_named() -> None:
    with pytest.raises(NotApplicable, match="stranger does not apply: no exact sampler"):
        sampler_of(STRANGER, grid=Fraction(1), entropy=ENTROPY)


@pytest.mark.parametrize("table", WRONG)
def test_a_family_in_the_wrong_place_is_named(table: str) -> None:
    with pytest.raises(NotRegistered, match=rf"leastnoise\.{table} .* gaussian: it has no steps"):
        WRONG[table]()


def test_two_families_of_one_name_are_both_named() -> None:
    class Gauss(Laplace):  # pyright: ignore[reportGeneralTypeIssues] - as above
        name: ClassVar[str] = "gaussian"

    families: tuple[type[Noise], ...] = (Gaussian, Laplace, Gauss)
    with pytest.raises(NotRegistered, match="gaussian: Gauss and Gaussian both have that name"):
        by_name(families)
    assert by_name(families[:2]) == {"gaussian": Gaussian, "laplace": Laplace}
