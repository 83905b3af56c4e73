"""The best spherical staircase for a budget (theory/noise.md §2)."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import cast

from flint import arb

from leastnoise.balls.convolution import composed_upper
from leastnoise.balls.core import float_above
from leastnoise.balls.losses import symmetric_lattice
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.base import Noise
from leastnoise.noise.common import fit as common_fit
from leastnoise.noise.common.fit import CutStaircase, least_scale
from leastnoise.noise.common.profile import outside, radial_log_delta
from leastnoise.noise.common.several import (
    SLOWLY,
    SeveralReleases,
    find_law_of_best_share,
    share_budget,
)
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.shells.law import SphericalStaircase

_MOST_DIMENSIONS = 10  # largest dimension for several releases


def search(question: Question) -> SphericalStaircase:
    """The spherical staircase of least expected error (`question.loss`), for a shift of 1.

    The law has the decay ε, the best gamma in (0, 1], and the smallest radius that meets the
    budget. The question's `fixed` may set gamma. If `fixed` sets the radius or another decay, it
    must set both radius and gamma; then the scale is the smallest that meets the budget. Raises
    NotApplicable for more than 20,000 steps, InvalidArgument if the radius or gamma is missing.
    """
    fixed = {name: Fraction(value) for name, value in question.fixed.items()}
    decay = fixed.get("decay", question.budget.epsilon)
    if "radius" in fixed or decay != question.budget.epsilon:
        return _at_shape(question, fixed | {"decay": decay})
    return _least(question.dimension, question.budget, question.loss, fixed.get("gamma"))


@lru_cache(maxsize=64)  # a comparison repeats it for several geometries
def _least(
    dimension: int, budget: Budget, loss: Loss, gamma: Fraction | None
) -> SphericalStaircase:
    """The spherical staircase with decay ε and the smallest radius that meets the budget.

    Its gamma gives the least expected error, unless the argument `gamma` sets it.
    """
    decay = budget.epsilon
    problem = CutStaircase(
        family=SphericalStaircase.name,
        dimension=dimension,
        epsilon=float(decay),
        log_target=math.log(budget.delta) - 2e-13 * dimension,  # float errors; measured: 9e-14
        loss=loss,
        outside=partial(outside, shift=1.0, dimension=dimension),
    )
    guess = math.ceil(float(common_fit.gaussian(1, budget)) * math.sqrt(dimension))
    best_gamma, radius = problem.least(gamma, guess=guess)
    return SphericalStaircase(
        scale=1, dimension=dimension, gamma=best_gamma, radius=radius, decay=decay
    )


def _at_shape(question: Question, fixed: dict[str, Fraction]) -> SphericalStaircase:
    """The law with the parameters in `fixed`, at the smallest scale that meets the budget.

    Raises InvalidArgument unless `fixed` has both gamma and radius.
    """
    if missing := {"gamma", "radius"} - set(fixed):
        raise InvalidArgument(
            name="parameter",
            value="nothing",
            expected=f"{' and '.join(sorted(missing))} as well, if the radius or the decay is set",
        )
    law = SphericalStaircase(scale=1, dimension=question.dimension, **fixed)
    epsilon = question.budget.epsilon
    scale = least_scale(
        lambda t: radial_log_delta(law, shift=Fraction(t), epsilon=epsilon), question.budget.delta
    )
    return law.scaled(scale)


def several(task: SeveralReleases) -> SphericalStaircase:
    """The spherical staircase for several releases with ε > 0, each with a worst shift of 1.

    Its decay is ε', the ε of one release. Its steps are as wide as the shift, so losses are −ε', 0,
    ε' and ∞, and their law follows from δ(0) and δ(ε'). The search for ε' takes these in floats; a
    proof decides later. The question's `fixed` may set gamma. Raises NotApplicable in more than 10
    dimensions and for samples, InvalidArgument for other fixed parameters.
    """
    question, budget = task.question, task.question.budget
    if question.sampling_rate != 1:
        why = "for several samples its proof takes a minute"
        raise NotApplicable(family=SphericalStaircase.name, why=why)
    if question.dimension > _MOST_DIMENSIONS:
        why = f"for several releases its proof takes long beyond {_MOST_DIMENSIONS} dimensions"
        raise NotApplicable(family=SphericalStaircase.name, why=why)
    if others := sorted(set(question.fixed) - {"gamma"}):
        raise InvalidArgument(
            name="parameter",
            value=", ".join(others),
            expected="no parameter but gamma: for several releases the others are searched",
        )

    @cache
    def law_at(factor: float, share: Fraction) -> SphericalStaircase:
        budget_of_release = share_budget(budget, factor, share / question.compositions)
        return search(question.one_at(budget_of_release))

    def gap(law: Noise, points_per_std: int) -> float:
        del points_per_std  # the lattice has only three points, and is exact
        steps = cast("SphericalStaircase", law)
        logs = (
            radial_log_delta(steps, shift=Fraction(1), epsilon=at)
            for at in (Fraction(0), steps.decay)
        )
        lattice = symmetric_lattice([arb(math.exp(log)) for log in logs], steps.decay)
        bound = float_above(composed_upper([(lattice, question.compositions)], budget.epsilon))
        return math.log(bound) - task.log_delta if bound > 0 else -math.inf

    shares = (Fraction(1, 2),)  # each release gets half of δ/k
    best = find_law_of_best_share(task, law_at, shares=shares, relative=SLOWLY, gap=gap)
    return cast("SphericalStaircase", best)
