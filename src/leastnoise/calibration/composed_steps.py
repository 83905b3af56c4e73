"""Several releases with steps whose heights are searched for one: which shape, and how much of it.

The best shape for one release at some (ε', δ') need not be the best for k; but what is lost is
accuracy alone: the proved bound on all k together is what ε' or the scale is solved for.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from leastnoise.balls.core import float_above
from leastnoise.calibration import classic
from leastnoise.calibration.composed import root_of
from leastnoise.calibration.request import Request
from leastnoise.calibration.search import Search
from leastnoise.certify.composed import Releases, composed_at_most
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
    found = [_on_whole_numbers(request, compositions, search, share=share) for share in _SHARES]
    return min(found, key=request.loss.of)


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
        return _excess(law, Hidden.of(L2(1)), budget, compositions)

    return alone.scaled(Fraction(root_of(excess, 1.0, 1.1)))


def _on_whole_numbers(
    request: Request, compositions: int, search: Search, *, share: Fraction
) -> Noise:
    """Return the law for one release at the largest ε' that is proved, with δ' = share·δ/k."""
    budget, hidden = request.budget, Hidden.of(Integer(request.shift))
    leaked = share * budget.delta / compositions

    @lru_cache
    def law_at(factor: float) -> Noise:
        one = Budget(epsilon=budget.epsilon / Fraction(factor), delta=leaked)
        return search(replace(request, budget=one))

    def excess(factor: float) -> float:
        return _excess(law_at(factor).scaled(request.shift), hidden, budget, compositions)

    return law_at(root_of(excess, math.sqrt(compositions), compositions, relative=_RELATIVE))


def _excess(law: Noise, hidden: Hidden, budget: Budget, compositions: int) -> float:
    """Return the log of the proved δ over that of the budget."""
    part = Releases(noise=law, hidden=hidden, count=compositions)
    delta = float_above(composed_at_most((part,), budget.epsilon))
    return math.log(delta / float(budget.delta)) if delta > 0 else -math.inf
