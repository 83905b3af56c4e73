"""The law of least loss: laplace."""

from __future__ import annotations

import math
from fractions import Fraction

from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.common import fit as common_fit
from leastnoise.noise.common.fit import ROUNDING, least_scale
from leastnoise.noise.laplace.law import Laplace, TruncatedLaplace
from leastnoise.noise.laplace.profile import truncated_laplace_log_delta
from leastnoise.noise.question import Question

# The least Laplace noise for a budget.


def laplace_search(question: Question) -> Laplace:
    """Return the law of least scale."""
    scale = common_fit.laplace(question.dimension, question.budget)
    return Laplace(scale=scale, dimension=question.dimension)


# The truncated Laplace law for a budget (Geng, Ding, Guo & Kumar 2020).


def truncated_laplace_search(question: Question) -> TruncatedLaplace:
    """Return the published law: b = 1/ε at the smallest radius; or the least b at a fixed radius.

    A smaller b with its own, larger radius can have less loss; that isn't the published law, but
    `fixed` may set any radius. Raises NotApplicable for epsilon = 0, where b would be infinite.
    """
    if "radius" in question.fixed:
        return _at_radius(question, Fraction(question.fixed["radius"]))
    if question.budget.epsilon == 0:
        raise NotApplicable(
            family=TruncatedLaplace.name, why="it needs epsilon > 0: its scale is 1/epsilon"
        )
    radius = least_radius(question.budget)
    return TruncatedLaplace(
        scale=1 / question.budget.epsilon, radius=Fraction(radius * (1 + ROUNDING))
    )


def least_radius(budget: Budget) -> float:
    """Return the least a = A/b that meets (ε, δ) at b = Δ/ε, to a few ulps.

    Up to δ = ½, where a >= ε, it is ln(1 + (e^ε − 1)/(2δ)) (Geng et al. 2020). Beyond, where only
    part of the range overlaps its shifted copy, 2δ(1 − e^(−a)) = 2 − e^(−a) − e^(a−ε) is quadratic
    in e^a: e^(a−ε) = 1 − δ + r, r² = (1 − δ)² + (1 − κ)c, κ = 1 − e^(−ε), c = 2δ − 1. For small ε
    that is near 1, and 1 − κc/(δ + r) keeps the digits.
    """
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    if delta <= 0.5:
        if epsilon < 1:
            return math.log1p(math.expm1(epsilon) / (2 * delta))
        return epsilon + math.log(math.exp(-epsilon) - math.expm1(-epsilon) / (2 * delta))
    rest, c = float(1 - budget.delta), 2 * delta - 1
    r = math.sqrt(rest * rest + math.exp(-epsilon) * c)
    if epsilon < 1:
        return epsilon + math.log1p(math.expm1(-epsilon) * c / (delta + r))
    return epsilon + math.log(rest + r)


def _at_radius(question: Question, radius: Fraction) -> TruncatedLaplace:
    epsilon, a = float(question.budget.epsilon), float(radius)
    scale = least_scale(
        lambda t: truncated_laplace_log_delta(shift_ratio=t, excess=t - epsilon, radius=a),
        question.budget.delta,
    )
    return TruncatedLaplace(scale=scale, radius=radius)
