"""The Tulap law for a budget (Awan & Slavković 2020)."""

from __future__ import annotations

import math
from fractions import Fraction

from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.common.fit.fixed_shape import least_scale
from leastnoise.noise.request import Request
from leastnoise.noise.steps.law.truncated_staircase import MAX_STEPS
from leastnoise.noise.steps.law.tulap import Tulap
from leastnoise.noise.steps.profile import step

# Of the radius: the float formula is accurate to a few ulps, and the proof needs a little room.
_MARGIN = 1e-14


def search(request: Request) -> Tulap:
    """Return the published law: scale 1, decay ε, and the radius that meets δ.

    `fixed` may set the radius, and then the decay too; the scale is then the least that meets the
    budget. Raises NotApplicable if the radius is too large, InvalidArgument for a decay alone.
    """
    epsilon = request.budget.epsilon
    decay = Fraction(request.fixed.get("decay", epsilon))
    if "radius" in request.fixed:
        law = Tulap(scale=1, radius=request.fixed["radius"], decay=decay)
        return law.scaled(_least_scale(law, request.budget))
    if decay != epsilon:
        raise InvalidArgument(
            name="decay", value=decay, expected="decay = epsilon unless the radius is set too"
        )
    radius = least_radius(float(epsilon), float(request.budget.delta)) * (1 + _MARGIN)
    if not radius <= MAX_STEPS:
        why = f"it would need {radius:.3g} steps; leastnoise computes with at most {MAX_STEPS:,}"
        raise NotApplicable(family=Tulap.name, why=why)
    return Tulap(scale=1, radius=Fraction(radius), decay=decay)


def least_radius(epsilon: float, delta: float) -> float:
    """Return the radius of the canonical noise for (ε, δ), 0 < δ < 1, to a few ulps.

    notation: b = e^(−ε), q = 2δb/(1 − b + 2δb) the mass cut off. The tail of N + U beyond n + ½ is
    b^(n+1)/(1 + b), and it falls linearly up to n + 3/2. So with n + s = ln(b(1+b)⁻¹·2/q)/ε,
    0 <= s < 1, the tail is q/2 at n + ½ + (1 − b^s)/(1 − b).
    """
    if epsilon == 0:
        return 1 / (2 * delta)  # the limit: uniform
    gap = -math.expm1(-epsilon)
    count = math.log1p(gap * (1 - delta) / (delta * (1 + math.exp(-epsilon)))) / epsilon
    whole = math.floor(count)
    return whole + 0.5 + math.expm1(-epsilon * (count - whole)) / -gap


def _least_scale(law: Tulap, budget: Budget) -> Fraction:
    def log_delta(shift: float) -> float:
        value = step.delta(law.steps, shift=Fraction(shift), epsilon=budget.epsilon)
        return math.log(value) if value > 0 else -math.inf

    return least_scale(log_delta, budget.delta)
