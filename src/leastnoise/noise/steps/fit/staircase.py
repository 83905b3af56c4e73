"""The best staircase for a pure budget (Geng & Viswanath 2014)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.common.fit.fixed_shape import least_scale
from leastnoise.noise.loss import Loss
from leastnoise.noise.request import Request
from leastnoise.noise.steps.law.staircase import SMALLEST_DECAY, SMALLEST_GAMMA, Staircase
from leastnoise.noise.steps.profile.staircase import log_delta
from leastnoise.numerics.minima import minimise

_GAMMAS = np.linspace(1 / 32, 1, 32).tolist()  # the first look at γ where it has no closed form


def search(request: Request) -> Staircase:
    """Return the purely ε-private law of scale 1 and decay ε with the best γ; δ is left unspent.

    `fixed` may set γ, and a decay; with another decay than ε the scale is the least that meets the
    budget, δ included. Raises NotApplicable for epsilon = 0, or if no scale meets the budget.
    """
    budget = request.budget
    decay = Fraction(request.fixed.get("decay", budget.epsilon))
    if decay < SMALLEST_DECAY:
        raise NotApplicable(family=Staircase.name, why="its steps fall by epsilon, which is 0 here")
    best = request.fixed.get("gamma", best_gamma(float(decay), request.loss))
    law = Staircase(scale=1, gamma=best, decay=decay)
    if decay == budget.epsilon:
        return law
    if budget.delta == 0:
        return law.scaled(_pure_scale(law, budget))
    if "gamma" in request.fixed:
        return law.scaled(_least_scale(law, budget))
    return _best_at_decay(decay, request)


def best_gamma(decay: float, loss: Loss) -> Fraction:
    """Return the γ of least loss at a given scale (Geng & Viswanath 2014, Theorems 4 and 5).

    1/(1 + e^(ε/2)) for E|X|, ((b(1 + b)/2)^(1/3) − b)/(1 − b) for E X², b = e^(−ε); the latter as
    b·expm1(ln((1 + b)/(2b²))/3)/(1 − b) where that would cancel.
    """
    b, gap = math.exp(-decay), -math.expm1(-decay)
    if loss is Loss.MAE:
        half = math.exp(-decay / 2)
        gamma = half / (1 + half)
    elif decay < 1:
        gamma = b * math.expm1((math.log1p(-gap / 2) + 2 * decay) / 3) / gap
    else:
        gamma = (math.exp(-decay / 3) * ((1 + b) / 2) ** (1 / 3) - b) / gap
    return max(Fraction(gamma), SMALLEST_GAMMA)


def _pure_scale(law: Staircase, budget: Budget) -> Fraction:
    """Return 1/t for the largest t with decay·⌈t⌉ <= ε: a shift of t scales costs that much."""
    whole = math.floor(budget.epsilon / law.decay)
    if whole == 0:
        raise NotApplicable(family=law.name, why="a decay above epsilon leaves delta > 0")
    return Fraction(1, whole)


def _least_scale(law: Staircase, budget: Budget) -> Fraction:
    return least_scale(
        lambda t: log_delta(law, shift=Fraction(t), epsilon=budget.epsilon), budget.delta
    )


def _best_at_decay(decay: Fraction, request: Request) -> Staircase:
    def law_at(gamma: float) -> Staircase:
        law = Staircase(scale=1, gamma=Fraction(gamma), decay=decay)
        return law.scaled(_least_scale(law, request.budget))

    return law_at(minimise(lambda gamma: request.loss.of(law_at(gamma)), _GAMMAS))
