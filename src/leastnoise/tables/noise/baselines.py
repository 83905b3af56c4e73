"""What a block would need in the standard ways: the noise that a plan compares with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, final

from leastnoise.calibration import ask_again, calibrate_family
from leastnoise.errors import InvalidArgument, Refused
from leastnoise.guarantees.sensitivity import L1, L2
from leastnoise.noise import Laplace
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.question import Question
from leastnoise.selection.ask import choose_family

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.noise.base import Noise
    from leastnoise.tables.layout.layout import Layout

_SPHERICAL = ("gaussian", "l2")  # in one dimension "l2" is laplace


@final
@dataclass(frozen=True, kw_only=True)
class Baselines:
    """Noise for the block's norms alone.

    `laplace` for its l1 norm, `gaussian` for its l2 norm, and the least `spherical`. One that can't
    serve is None, as `gaussian` at δ = 0. Of a series each is for all of its releases together, and
    `spherical` is the Gaussian if δ > 0. Where numbers are sums of several that noise is in, its
    error is `summed` times as large.
    """

    laplace: Noise | None
    gaussian: Noise | None
    spherical: Noise
    summed: float = 1.0

    @classmethod
    def of(
        cls,
        ways: Sequence[Layout],
        budget: Budget,
        releases: int = 1,
        *,
        summed: float = 1.0,
        known: Sequence[Certificate] = (),
    ) -> Baselines:
        """Return what the block needs if no more than the least of its norms is known.

        `ways` are its layouts, one for each way to bound a unit. What answers the very question is
        taken from the certificates that are `known`, not searched and proved again.
        """
        dimension = ways[0].dimension
        question = Question(
            budget=budget,
            sensitivities=(_smallest(ways),),
            dimension=dimension,
            compositions=releases,
        )
        found = _spherical(question, known)
        spherical = min(found.values(), key=lambda noise: noise.mse)
        laplace = plain_laplace(min(way.l1 for way in ways), budget, dimension, releases)
        return cls(
            laplace=laplace, gaussian=found.get("gaussian"), spherical=spherical, summed=summed
        )

    def saved(self, certificate: Certificate, layout: Layout, first: int) -> float | None:
        """Return the part of the spherical noise's variance that fitting to the shape saves.

        The mean over the numbers of a cell; `first` is the block's first coordinate of the noise.
        None for noise that is as large in every direction.
        """
        geometry, noise = certificate.geometry, certificate.noise
        if geometry is None and not isinstance(noise, VectorNoise):
            return None
        numbers = range(first, first + len(layout.components))
        variances = [noise.variance_at(number) for number in numbers]
        if geometry is not None:
            variances = [
                variance * float(geometry.deviations[number]) ** 2
                for number, variance in zip(numbers, variances, strict=True)
            ]
        return 1 - math.fsum(variances) / len(variances) / self.spherical.variance


def plain_laplace(norm: Fraction, budget: Budget, dimension: int, releases: int) -> Noise | None:
    """Return Laplace noise for an l1 norm, so many draws of it together; None if it can't serve.

    One draw has the scale of ε alone, several have that of their composition.
    """
    if not budget.epsilon:
        return None
    try:
        return Laplace(scale=norm * _laplace_scale(budget, releases), dimension=dimension)
    except (InvalidArgument, Refused):  # out of the range of scales
        return None


@lru_cache(maxsize=256)
def _laplace_scale(budget: Budget, releases: int) -> Fraction:
    """Return the scale for a norm of 1, whichever number of a vector it is the norm of."""
    if releases == 1 or not budget.delta:
        return releases / budget.epsilon
    return _calibrated(
        Laplace, Question(budget=budget, sensitivities=(L1(1),), compositions=releases)
    ).scale


def _smallest(ways: Sequence[Layout]) -> Sensitivity:
    """Return what the search for spherical noise is about: the first that has the least radius."""
    least = min(way.l2 for way in ways)
    offered = (one for way in ways for one in way.sensitivities)
    radii = ((one, one.radius("l2", dimension=ways[0].dimension)) for one in offered)
    return next((one for one, radius in radii if radius == least), L2(least))


def _spherical(question: Question, known: Sequence[Certificate]) -> dict[str, Noise]:
    found: dict[str, Noise] = {}
    for name in _SPHERICAL:
        if found and question.compositions > 1 and question.budget.delta:
            break  # l2 noise takes seconds for each number of dimensions
        family = choose_family(name, dimension=question.dimension)
        own = (one for one in known if one.proved and isinstance(one.noise, family))
        proved = next((one.noise for one in own if ask_again(one, one.budget) == question), None)
        try:
            found[name] = proved or _calibrated(family, question)
        except Refused:
            continue
    return found


@lru_cache(maxsize=256)
def _calibrated(family: type[Noise], question: Question) -> Noise:
    return calibrate_family(family, question).certificate.noise
