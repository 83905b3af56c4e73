"""The best truncated staircase for a budget (theory/noise.md §2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from leastnoise.errors import Refused
from leastnoise.noise.loss import Loss
from leastnoise.noise.request import Request
from leastnoise.noise.steps.law.truncated_staircase import MAX_STEPS, TruncatedStaircase
from leastnoise.numerics.minima import minimise

# Of the radius: the float formula is accurate to a few ulps, and the proof needs a little room.
_MARGIN = 1e-14
_LARGEST_EPSILON = 300  # e^−ε is a normal float, with room for products of two
_POINTS = 129  # of each half of the first look at γ; the loss has kinks where the steps change


def search(request: Request) -> TruncatedStaircase:
    """Return the law with the γ in (0, 1] of least loss, at its smallest radius.

    `fixed` may set gamma, decay (ε if not) and an atom w (0 if not): the steps then have
    δ' = (δ − w)/(1 − w) left to spend. Raises Refused if nothing is left, or the radius too large.
    """
    decay = Fraction(request.fixed.get("decay", request.budget.epsilon))
    atom = Fraction(request.fixed.get("atom", 0))
    if atom >= request.budget.delta:
        raise Refused(f"An atom of {float(atom):.3g} leaves nothing of delta for the steps.")
    left = (request.budget.delta - atom) / (1 - atom)
    problem = _Problem(epsilon=float(request.budget.epsilon), delta=float(left), loss=request.loss)
    if decay != request.budget.epsilon or "radius" in request.fixed:
        raise Refused("A truncated staircase is searched with decay = epsilon and a free radius.")
    if problem.epsilon > _LARGEST_EPSILON:
        raise Refused(f"Truncated staircases are searched up to epsilon = {_LARGEST_EPSILON}.")
    if "gamma" in request.fixed:
        gamma = float(request.fixed["gamma"])
    else:
        gamma = minimise(problem.loss_at, _grid(problem.epsilon))
    radius = problem.radius(gamma) * (1 + _MARGIN)
    if not radius <= MAX_STEPS:
        raise Refused(
            f"A truncated staircase would need a radius of {radius:.3g} sensitivities; "
            f"leastnoise computes with at most {MAX_STEPS:,}."
        )
    return TruncatedStaircase(
        scale=1,
        gamma=Fraction(request.fixed.get("gamma", Fraction(gamma))),
        radius=Fraction(radius),
        decay=decay,
        atom=atom,
    )


def _grid(epsilon: float) -> list[float]:
    """Even steps for small ε, where γ is near ½; geometric ones for large ε, near e^−ε/2."""
    even = np.linspace(1 / _POINTS, 1.0, _POINTS)
    geometric = np.geomspace(math.exp(-min(epsilon, 600.0)), 1.0, _POINTS)
    return sorted({*even.tolist(), *geometric.tolist()})


@final
@dataclass(frozen=True, kw_only=True)
class _Problem:
    """notation: q = e^−ε, κ̄ = 1 − q; the steps at γ + j < R and the last one end at R."""

    epsilon: float
    delta: float
    loss: Loss

    def radius(self, gamma: float) -> float:
        """Return the smallest R that meets δ, in closed form."""
        if self.epsilon == 0:  # all steps are equally high: uniform on [−R, R]
            return 1 / (2 * self.delta)
        return self._long(gamma) if self.delta <= 0.5 else self._short(gamma)

    def _long(self, gamma: float) -> float:
        """R >= 1: theory/noise.md §2."""
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
        """½ < R < 1. δ is the mass outside [1 − R, R], where the two copies overlap.

        Heights are 1 up to γ and q from there. With all of [−R, R] below γ, δ = 1/(2R). Else the
        total is M = 2(γκ̄ + qR), and the overlap holds γ − (1−R) + q(R−γ) if γ > 1 − R, q(2R−1) if
        not; both equations δM = M − overlap are linear in R.
        """
        q, gap, twice = math.exp(-self.epsilon), -math.expm1(-self.epsilon), 2 * self.delta
        if gamma >= 1 / twice:
            return 1 / twice
        radius = (1 + gamma * gap * (1 - twice)) / (twice * q + gap)
        if gamma > 1 - radius:
            return radius
        return gamma + ((2 * gamma * gap + q) / twice - gamma) / q

    def loss_at(self, gamma: float) -> float:
        """Return the loss at γ: positive sums over the uniform laws that the staircase mixes."""
        radius = self.radius(gamma)
        if radius > MAX_STEPS:
            return math.inf
        if gamma >= radius:
            return self._uniform(radius)
        whole = math.ceil(radius - gamma)  # steps that end at γ, γ + 1, …, below R
        ends = gamma + np.arange(whole, dtype=float)
        weights = -math.expm1(-self.epsilon) * np.exp(-self.epsilon * np.arange(whole)) * ends
        last = math.exp(-self.epsilon * whole) * radius
        total = float(weights.sum()) + last
        if self.loss is Loss.MAE:
            return (float(weights @ ends) + last * radius) / total / 2
        return (float(weights @ ends**2) + last * radius**2) / total / 3

    def _uniform(self, radius: float) -> float:
        return radius / 2 if self.loss is Loss.MAE else radius**2 / 3
