"""Standard noise for a query, with which a plan compares the noise that it chose."""

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

_SPHERICAL = ("gaussian", "l2")  # in one dimension the "l2" family is Laplace noise


@final
@dataclass(frozen=True, kw_only=True)
class Baselines:
    """Noise that needs only norms of a query: the best spherical, Laplace and Gaussian noise.

    `laplace` is for the l1 norm, `gaussian` for the l2 norm. `spherical` is the better of
    `gaussian` and noise of the family "l2". `laplace` or `gaussian` is None if it isn't applicable,
    such as `gaussian` at δ = 0. In a series, all releases together meet the budget, and `spherical`
    is Gaussian if δ > 0. If published numbers are sums of noisy numbers, the std of a sum is
    `summed` times the std of the noise.
    """

    laplace: Noise | None
    gaussian: Noise | None
    spherical: Noise
    summed: float = 1.0

    @classmethod
    def of(
        cls,
        layouts: Sequence[Layout],
        budget: Budget,
        releases: int = 1,
        *,
        summed: float = 1.0,
        known: Sequence[Certificate] = (),
    ) -> Baselines:
        """Find the noise that a query needs if only its smallest norms are known.

        `layouts` has the query's layout for each way to bound a unit. A certificate in `known` that
        answers the same question is used instead of a new search and proof.
        """
        dimension = layouts[0].dimension
        question = Question(
            budget=budget,
            sensitivities=(_find_smallest(layouts),),
            dimension=dimension,
            compositions=releases,
        )
        noises = _find_spherical(question, known)
        spherical = min(noises.values(), key=lambda noise: noise.mse)
        laplace = plain_laplace(min(layout.l1 for layout in layouts), budget, dimension, releases)
        return cls(
            laplace=laplace, gaussian=noises.get("gaussian"), spherical=spherical, summed=summed
        )

    def find_saving(self, certificate: Certificate, layout: Layout, first: int) -> float | None:
        """The fraction of the spherical noise's variance that this certificate's noise saves.

        The variance is averaged over the numbers of a cell. `first` is the query's first coordinate
        in the noise. None if the noise has no geometry and the same law in all coordinates, such as
        spherical or Laplace noise.
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
    """Laplace noise for an l1 norm under the budget of all releases; None if no scale is possible.

    With a single release or δ = 0, the scale depends on ε alone, otherwise on the composition of
    all releases.
    """
    if not budget.epsilon:
        return None
    try:
        return Laplace(scale=norm * _laplace_scale(budget, releases), dimension=dimension)
    except (InvalidArgument, Refused):  # the scale is out of the range of scales
        return None


@lru_cache(maxsize=256)
def _laplace_scale(budget: Budget, releases: int) -> Fraction:
    """The scale of Laplace noise for an l1 norm of 1, so that all releases meet the budget."""
    if releases == 1 or not budget.delta:
        return releases / budget.epsilon
    return _calibrate(
        Laplace, Question(budget=budget, sensitivities=(L1(1),), compositions=releases)
    ).scale


def _find_smallest(layouts: Sequence[Layout]) -> Sensitivity:
    """The first sensitivity whose l2 radius is the smallest of all layouts' radii.

    If no sensitivity has this radius, the result is a ball with it.
    """
    least = min(layout.l2 for layout in layouts)
    offered = (sensitivity for layout in layouts for sensitivity in layout.sensitivities)
    radii = (
        (sensitivity, sensitivity.radius("l2", dimension=layouts[0].dimension))
        for sensitivity in offered
    )
    return next((sensitivity for sensitivity, radius in radii if radius == least), L2(least))


def _find_spherical(question: Question, known: Sequence[Certificate]) -> dict[str, Noise]:
    noises: dict[str, Noise] = {}
    for name in _SPHERICAL:
        if noises and question.compositions > 1 and question.budget.delta:
            break  # a search for l2 noise takes seconds for each new dimension
        family = choose_family(name, dimension=question.dimension)
        candidates = (
            certificate
            for certificate in known
            if certificate.proved and isinstance(certificate.noise, family)
        )
        proved = next(
            (
                certificate.noise
                for certificate in candidates
                if ask_again(certificate, certificate.budget) == question
            ),
            None,
        )
        try:
            noises[name] = proved or _calibrate(family, question)
        except Refused:
            continue
    return noises


@lru_cache(maxsize=256)
def _calibrate(family: type[Noise], question: Question) -> Noise:
    return calibrate_family(family, question).certificate.noise
