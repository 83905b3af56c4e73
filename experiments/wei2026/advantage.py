"""Algorithm 6: the δ at which generalized gamma noise gains most on Gaussian and l2 noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from leastnoise.errors import Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.common import fit as common_fit
from leastnoise.noise.question import Question
from leastnoise.noise.radial.fit import generalized_gamma_search
from leastnoise.noise.radial.law import GeneralizedGamma
from leastnoise.numerics.searches import IncreasingRoot


@final
@dataclass(frozen=True, kw_only=True)
class Advantage:
    """The δ at which the best law gains most on the better of Gaussian and l2, and that gain."""

    delta: Fraction
    law: GeneralizedGamma
    gain: float


def greatest_advantage(
    *, dimension: int, epsilon: Fraction, largest_delta: float = 0.1
) -> Advantage:
    """Return where the mse is furthest below that of both Gaussian and l2 noise, relatively.

    Wei, Bienstock & Polychroniadou (2026), Algorithm 6, bisects for the δ at which the gains on the
    two are equal, that is where their own mse cross: with less δ the l2 mechanism is better, with
    more the Gaussian. For dimension >= 2; raises Refused if they don't cross below `largest_delta`.
    """

    def l2_is_worse(log_of_delta: float) -> float:
        budget = Budget(epsilon=epsilon, delta=Fraction(math.exp(log_of_delta)))
        sigma = float(common_fit.gaussian(dimension, budget))
        scale = float(common_fit.spherical_laplace(dimension, budget))
        return math.log(scale * scale * (dimension + 1)) - math.log(sigma * sigma)

    top = math.log(largest_delta)
    if l2_is_worse(top) <= 0:
        raise Refused(f"The l2 mechanism is still better at delta={largest_delta}.")
    at = IncreasingRoot(tolerance=1e-10).find(l2_is_worse, guess=top - 1)
    delta = Fraction(f"{math.exp(at):.12g}")
    budget = Budget(epsilon=epsilon, delta=delta)
    law = generalized_gamma_search(Question(budget=budget, dimension=dimension))
    classic_mse = float(common_fit.gaussian(dimension, budget)) ** 2 * dimension
    return Advantage(delta=delta, law=law, gain=1 - law.mse / classic_mse)
