"""Several releases with steps whose heights are searched for one: which shape, and how much of it.

The best shape for one release at some (ε', δ') need not be the best for k; but what is lost is
accuracy alone: the proved bound on all k together is what ε' or the scale is solved for.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

from leastnoise.calibration import classic
from leastnoise.calibration.composed import excess_of, law_of_best_share, root_of
from leastnoise.calibration.request import Request
from leastnoise.calibration.search import Search
from leastnoise.certify.composed import Releases
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.hidden import Hidden
from leastnoise.guarantees.sensitivity import L2, Integer
from leastnoise.noise.base import Noise
from leastnoise.noise.cactus import Cactus
from leastnoise.noise.discrete_staircase import DiscreteStaircase

FAMILIES = frozenset({Cactus, DiscreteStaircase})

# Of δ/k: what one release may leak by itself. Where losses just add up it is all of δ.
_SHARES = (Fraction(1, 2), Fraction(63, 64))
_RELATIVE = 1e-4  # of ε'
_BISECTIONS = 20


def composed_steps(
    family: type[Noise], request: Request, compositions: int, search: Search
) -> Noise:
    """Return the law for a worst shift of 1 that may be drawn `compositions` times; δ > 0.

    The steps of `cactus` fall like a Gaussian: they are those for one release at the (ε', δ/2k)
    where the Gaussian for all releases is, spread out until the proved δ is met. Noise on whole
    numbers can't be spread out, and has a largest loss of ε' but for what leaks: ε' is searched,
    between ε/k and ε/√k. Raises what `search` raises.
    """
    if family is Cactus:
        leaked = _SHARES[0] * request.budget.delta / compositions
        budget = Budget(epsilon=_matched(request.budget, compositions, leaked), delta=leaked)
        return _spread_out(search(replace(request, budget=budget)), request.budget, compositions)
    return _on_whole_numbers(request, compositions, search)


def _matched(budget: Budget, compositions: int, leaked: Fraction) -> Fraction:
    """Return about the ε' at which a Gaussian for `compositions` releases leaks `leaked` in one."""
    sigma = float(classic.gaussian(1, budget)) * math.sqrt(compositions)
    low, high = math.log(float(budget.epsilon) / compositions) - 3, math.log(float(budget.epsilon))
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        needed = classic.gaussian(1, Budget(epsilon=Fraction(math.exp(middle)), delta=leaked))
        low, high = (middle, high) if float(needed) > sigma else (low, middle)
    return Fraction(math.exp(high)).limit_denominator(10**6)


def _spread_out(alone: Noise, budget: Budget, compositions: int) -> Noise:
    """Return `alone` at the least scale that is proved."""

    def excess(factor: float) -> float:
        law = alone.scaled(Fraction(factor))
        part = Releases(noise=law, hidden=Hidden.of(L2(1)), count=compositions)
        return excess_of(part, budget)

    return alone.scaled(Fraction(root_of(excess, 1.0, 1.1)))


def _on_whole_numbers(request: Request, compositions: int, search: Search) -> Noise:
    """Return the law for one release at the largest ε' that is proved."""
    budget, hidden = request.budget, Hidden.of(Integer(request.shift))

    @cache
    def law_at(factor: float, share: Fraction) -> Noise:
        leaked = share * budget.delta / compositions
        one = Budget(epsilon=budget.epsilon / Fraction(factor), delta=leaked)
        return search(replace(request, budget=one))

    def excess(law: Noise, fineness: int) -> float:
        part = Releases(noise=law.scaled(request.shift), hidden=hidden, count=compositions)
        return excess_of(part, budget, fineness=fineness)

    return law_of_best_share(
        law_at,
        excess,
        shares=_SHARES,
        compositions=compositions,
        loss=request.loss,
        relative=_RELATIVE,
    )
