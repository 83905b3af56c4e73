"""The least noise in steps for a budget: its scale, and the position of its steps or its radius.

Notation: X is a draw of the noise, E an expectation, and K an integer. γ = gamma is the end of the
first step in scales, and b = e^(−decay) the ratio of the heights of neighbouring steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import final

import numpy as np

from leastnoise import _validate
from leastnoise.errors import InvalidArgument, NotApplicable, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import SMALLEST_SQUARED
from leastnoise.noise.common.fit import ROUNDING, least_scale
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.steps import profile as steps_profile
from leastnoise.noise.steps.law import (
    MAX_STEPS,
    Geometric,
    Staircase,
    TruncatedStaircase,
    Tulap,
    cut_moment,
    step_decay,
)
from leastnoise.noise.steps.profile import log_delta
from leastnoise.numerics.searches import minimise

# The best staircase for a pure budget (Geng & Viswanath 2014).


_GAMMAS = np.linspace(1 / 32, 1, 32).tolist()  # grid for γ where the best γ has no closed form


def staircase_search(question: Question) -> Staircase:
    """Return the purely ε-private staircase of scale 1 and decay ε with the best γ.

    δ is left unspent. The user may set γ and a decay (`question.fixed`). With a decay other than ε,
    the scale is the smallest that meets the budget, and δ is spent, too. Raises NotApplicable for
    epsilon = 0, or if no scale meets the budget.
    """
    budget = question.budget
    decay = Fraction(question.fixed.get("decay", budget.epsilon))
    if decay < SMALLEST_SQUARED:
        raise NotApplicable(family=Staircase.name, why="its steps fall by epsilon, which is 0 here")
    best = question.fixed.get("gamma", find_best_gamma(float(decay), question.loss))
    law = Staircase(scale=1, gamma=best, decay=decay)
    if decay == budget.epsilon:
        return law
    if budget.delta == 0:
        return law.scaled(_pure_scale(law, budget))
    if "gamma" in question.fixed:
        return law.scaled(_staircase_least_scale(law, budget))
    return _best_at_decay(decay, question)


def find_best_gamma(decay: float, loss: Loss) -> Fraction:
    """Return the γ of least loss at a given scale (Geng & Viswanath 2014, Theorems 4 and 5).

    For the loss E|X|, γ = 1/(1 + e^(decay/2)). For E X², γ = ((b(1 + b)/2)^(1/3) − b)/(1 − b),
    where b = e^(−decay). For a decay below 1, where digits cancel, the equal form b·expm1(ln((1 +
    b)/(2b²))/3)/(1 − b) is used.
    """
    b, gap = math.exp(-decay), -math.expm1(-decay)
    if loss is Loss.MAE:
        half = math.exp(-decay / 2)
        gamma = half / (1 + half)
    elif decay < 1:
        gamma = b * math.expm1((math.log1p(-gap / 2) + 2 * decay) / 3) / gap
    else:
        gamma = (math.exp(-decay / 3) * ((1 + b) / 2) ** (1 / 3) - b) / gap
    return max(Fraction(gamma), SMALLEST_SQUARED)


def _pure_scale(law: Staircase, budget: Budget) -> Fraction:
    """Return the smallest scale at which `law` is purely ε-private for a shift of 1.

    A shift of t scales has a loss of at most decay·⌈t⌉, so the scale is 1/⌊ε/decay⌋. Raises
    NotApplicable for a decay above ε.
    """
    whole = math.floor(budget.epsilon / law.decay)
    if whole == 0:
        raise NotApplicable(family=law.name, why="a decay above epsilon leaves delta > 0")
    return Fraction(1, whole)


def _staircase_least_scale(law: Staircase, budget: Budget) -> Fraction:
    return least_scale(
        lambda t: log_delta(law, shift=Fraction(t), epsilon=budget.epsilon), budget.delta
    )


def _best_at_decay(decay: Fraction, question: Question) -> Staircase:
    def law_at(gamma: float) -> Staircase:
        law = Staircase(scale=1, gamma=Fraction(gamma), decay=decay)
        return law.scaled(_staircase_least_scale(law, question.budget))

    return law_at(minimise(lambda gamma: question.loss.of(law_at(gamma)), _GAMMAS))


# The best staircase on the whole numbers for a pure budget; for a shift of 1 the geometric law.


def geometric_search(question: Question) -> Geometric:
    """Return the purely ε-private law for integer shifts up to the sensitivity; δ is left unspent.

    The law is in units of the sensitivity. It has decay ε, as many cells as the largest shift, and
    the core of least loss. The user may set each of these parameters (`question.fixed`). A shift by
    the integer s has a loss of at most decay·⌈s/cells⌉. So a fixed number of cells gets the largest
    decay that is purely private, and a fixed decay gets the fewest cells. Raises NotApplicable for
    epsilon = 0, for a shift beyond 2^53, and for a decay above epsilon without a fixed number of
    cells.
    """
    shift = math.floor(Geometric.radius_of(question.sensitivity, dimension=1))
    fixed = question.fixed
    if shift > _validate.MAX_COUNT:
        why = "it has as many cells as the sensitivity, and 2^53 at most"
        raise NotApplicable(family=Geometric.name, why=why)
    if question.budget.epsilon < SMALLEST_SQUARED:
        raise NotApplicable(family=Geometric.name, why="its steps fall by epsilon, which is 0 here")
    if "cells" in fixed:
        cells = _validate.whole(fixed["cells"], name="cells")
        decay = step_decay(fixed.get("decay", question.budget.epsilon / -(-shift // cells)))
    else:
        decay = step_decay(fixed.get("decay", question.budget.epsilon))
        cells = _fewest_cells(shift, question.budget.epsilon, decay)
    return _law(question, shift, decay, cells)


def _fewest_cells(shift: int, epsilon: Fraction, decay: Fraction) -> int:
    """Return the smallest number of cells with decay·⌈shift/cells⌉ <= epsilon.

    Raises NotApplicable for a decay above epsilon.
    """
    steps = math.floor(epsilon / decay)
    if steps == 0:
        raise NotApplicable(family=Geometric.name, why="a decay above epsilon leaves delta > 0")
    return -(-shift // steps)


def _law(question: Question, shift: int, decay: Fraction, cells: int) -> Geometric:
    """The law on multiples of 1/`shift`, in sensitivities, with the core of least loss.

    Its steps have `cells` lattice points and this `decay`. The user may set another core
    (`question.fixed`).
    """
    law = partial(Geometric, scale=Fraction(cells, shift), cells=cells, decay=decay)
    if "core" in question.fixed:
        return law(core=_validate.whole(question.fixed["core"], name="core"))
    return min((law(core=core) for core in _cores(question, decay, cells)), key=question.loss.of)


def _cores(question: Question, decay: Fraction, cells: int) -> range:
    """Return candidates that include the core of least loss.

    Let c = cells, a = core, m = b/(1 − b) and y = a − ½ + cm > 0. The loss is a convex function of
    a divided by y. So it falls up to a real number a* and rises from there, and the best core is
    next to a*. For E K², a* = γc + ½ with the staircase's best γ, as the staircase's variance is
    1/12 more. For E|K|, y² = Y² − ¼ at a*, where Y = c√b/(1 − b) is the staircase's best y. If Y >=
    ½, y is at most ½ below Y. Otherwise the loss grows with a, so the best core is 1. The
    staircase's best a, which is Y + ½ − cm, is then at most 1, too.
    """
    near = math.floor(find_best_gamma(float(decay), question.loss) * cells + Fraction(1, 2))
    return range(min(max(1, near - 2), cells), min(near + 2, cells) + 1)


# The best truncated staircase for a budget (theory/noise.md §2).


_LARGEST_EPSILON = 300  # e^−ε is a normal float, with room for products of two
_POINTS = 129  # points in each half of the grid for γ; the loss has kinks where steps change


def truncated_staircase_search(question: Question) -> TruncatedStaircase:
    """Return the truncated staircase of least loss: the best γ in (0, 1], at its smallest radius.

    The user may set gamma and an atom w, by default 0 (`question.fixed`). The steps then have δ' =
    (δ − w)/(1 − w) left to spend. Raises Refused if no δ' is left, or if the radius or ε is too
    large. Raises Refused, too, if the radius is set, or a decay other than ε.
    """
    decay = Fraction(question.fixed.get("decay", question.budget.epsilon))
    atom = Fraction(question.fixed.get("atom", 0))
    if atom >= question.budget.delta:
        raise Refused(
            f"Expected atom < delta = {float(question.budget.delta):.3g}, got atom = "
            f"{float(atom):.3g}. The atom takes this much of delta, and the steps of the noise "
            "need a part of delta, too. Give a smaller atom."
        )
    left = (question.budget.delta - atom) / (1 - atom)
    problem = _StepsProblem(
        epsilon=float(question.budget.epsilon), delta=float(left), loss=question.loss
    )
    if decay != question.budget.epsilon or "radius" in question.fixed:
        raise Refused(
            "truncated-staircase computes decay from epsilon, and searches for radius itself. "
            "Leave out decay and radius."
        )
    if problem.epsilon > _LARGEST_EPSILON:
        raise Refused(
            f"truncated-staircase works up to epsilon = {_LARGEST_EPSILON}. Give a smaller epsilon "
            "or another noise."
        )
    if "gamma" in question.fixed:
        gamma = float(question.fixed["gamma"])
    else:
        gamma = minimise(problem.loss_at, _grid(problem.epsilon))
    radius = problem.radius(gamma) * (1 + ROUNDING)
    if not radius <= MAX_STEPS:
        raise Refused(
            f"A truncated staircase would need a radius of {radius:.3g} times the sensitivity, "
            f"but leastnoise computes only up to {MAX_STEPS:,} times. Use a larger epsilon or "
            "delta."
        )
    return TruncatedStaircase(
        scale=1,
        gamma=Fraction(question.fixed.get("gamma", Fraction(gamma))),
        radius=Fraction(radius),
        decay=decay,
        atom=atom,
    )


def _grid(epsilon: float) -> list[float]:
    """Grid points for γ: evenly spaced, and a geometric sequence, which serves a large ε."""
    even = np.linspace(1 / _POINTS, 1.0, _POINTS)
    geometric = np.geomspace(math.exp(-min(epsilon, 600.0)), 1.0, _POINTS)
    return sorted({*even.tolist(), *geometric.tolist()})


@final
@dataclass(frozen=True, kw_only=True)
class _StepsProblem:
    """The search for γ and the radius R of a truncated staircase of scale 1 and decay ε.

    Let q = e^(−ε) and κ̄ = 1 − q. Steps end at γ, γ + 1, … below R, and at R.
    """

    epsilon: float
    delta: float
    loss: Loss

    def radius(self, gamma: float) -> float:
        """Return the smallest R that meets δ, in closed form."""
        if self.epsilon == 0:  # all steps are equally high: uniform on [−R, R]
            return 1 / (2 * self.delta)
        return self._long(gamma) if self.delta <= 0.5 else self._short(gamma)

    def _long(self, gamma: float) -> float:
        """The smallest radius for δ <= ½, where R >= 1 (theory/noise.md §2)."""
        q, gap, twice = math.exp(-self.epsilon), -math.expm1(-self.epsilon), 2 * self.delta
        ratio = math.log(gap + twice * q) - math.log(twice) - math.log(gamma * gap + q)
        n = math.floor(ratio / self.epsilon)
        power = math.exp(-n * self.epsilon)
        if power * gap == 0:  # below all floats: reported as a radius that is too large
            return math.inf
        inner = q * math.expm1(-n * self.epsilon) / math.expm1(-self.epsilon)
        last = (power - twice * (gamma + inner)) / (power * (gap + twice * q))
        return gamma + n + last

    def _short(self, gamma: float) -> float:
        """The smallest radius for δ > ½, where ½ < R < 1.

        The two copies overlap on [1 − R, R], and δ is the mass outside. Heights are 1 up to γ, and
        q from there. If R <= γ, δ = 1/(2R). Otherwise the total is M = 2(γκ̄ + qR), and the mass of
        the overlap is γ − (1−R) + q(R−γ) if γ > 1 − R, and q(2R−1) if not. Both equations δM = M −
        overlap are linear in R.
        """
        q, gap, twice = math.exp(-self.epsilon), -math.expm1(-self.epsilon), 2 * self.delta
        if gamma >= 1 / twice:
            return 1 / twice
        radius = (1 + gamma * gap * (1 - twice)) / (twice * q + gap)
        if gamma > 1 - radius:
            return radius
        return gamma + ((2 * gamma * gap + q) / twice - gamma) / q

    def loss_at(self, gamma: float) -> float:
        """Return the loss of the law with this γ and its smallest radius; ∞ if it is too large."""
        radius = self.radius(gamma)
        if radius > MAX_STEPS:
            return math.inf
        return cut_moment(
            gamma=gamma,
            radius=radius,
            decay=self.epsilon,
            whole=max(0, math.ceil(radius - gamma)),  # steps that end at γ, γ + 1, …, below R
            order=1 if self.loss is Loss.MAE else 2,
        )


# The Tulap law for a budget (Awan & Slavković 2020).


def tulap_search(question: Question) -> Tulap:
    """Return the Tulap law of its source: scale 1, decay ε, and the radius that meets δ.

    The user may set the radius, and with it the decay (`question.fixed`). Then the scale is the
    smallest that meets the budget. Raises NotApplicable if the radius is too large, and
    InvalidArgument for a decay other than ε without a radius.
    """
    epsilon = question.budget.epsilon
    decay = Fraction(question.fixed.get("decay", epsilon))
    if "radius" in question.fixed:
        law = Tulap(scale=1, radius=question.fixed["radius"], decay=decay)
        return law.scaled(_tulap_least_scale(law, question.budget))
    if decay != epsilon:
        raise InvalidArgument(
            name="decay", value=decay, expected="decay = epsilon unless the radius is set too"
        )
    radius = least_radius(float(epsilon), float(question.budget.delta)) * (1 + ROUNDING)
    if not radius <= MAX_STEPS:
        why = f"it would need {radius:.3g} steps; leastnoise computes with at most {MAX_STEPS:,}"
        raise NotApplicable(family=Tulap.name, why=why)
    return Tulap(scale=1, radius=Fraction(radius), decay=decay)


def least_radius(epsilon: float, delta: float) -> float:
    """Return the radius of the canonical noise for (ε, δ), 0 < δ < 1, to a few ulps.

    Let b = e^(−ε), and q = 2δb/(1 − b + 2δb) the mass that is cut off. Before the cut the noise is
    N + U as in `Tulap`. Its tail beyond n + ½ is b^(n+1)/(1 + b), and falls linearly up to n + 3/2.
    Let n + s = ln(b(1+b)⁻¹·2/q)/ε with 0 <= s < 1. Then the tail is q/2 at n + ½ + (1 − b^s)/(1 −
    b), which is the radius.
    """
    if epsilon == 0:
        return 1 / (2 * delta)  # the limit: uniform
    gap = -math.expm1(-epsilon)
    count = math.log1p(gap * (1 - delta) / (delta * (1 + math.exp(-epsilon)))) / epsilon
    whole = math.floor(count)
    return whole + 0.5 + math.expm1(-epsilon * (count - whole)) / -gap


def _tulap_least_scale(law: Tulap, budget: Budget) -> Fraction:
    def log_delta(shift: float) -> float:
        value = steps_profile.delta(law.steps, shift=Fraction(shift), epsilon=budget.epsilon)
        return math.log(value) if value > 0 else -math.inf

    return least_scale(log_delta, budget.delta)
