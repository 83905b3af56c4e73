"""The best staircase in the gauge of a body that is cut off, for a budget (theory/bodies.md §9)."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.balls.core import float_above, precision
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.bodies.ball import Ball
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.bodies.fit.pure import k_staircase, sensitivity_of
from leastnoise.noise.bodies.law.truncated_k_staircase import TruncatedKStaircase
from leastnoise.noise.bodies.proof.truncated import delta_ball
from leastnoise.noise.common.fit.fixed_shape import least_scale
from leastnoise.noise.common.fit.truncated_steps import CutStaircase
from leastnoise.noise.common.law.truncated_steps import MAX_STEPS
from leastnoise.noise.loss import Loss
from leastnoise.noise.request import Request

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FLOAT_ERROR = 1e-12  # of ln δ, and 1e-15 more for each dimension
_GAIN = Fraction(1, 10_000)  # of the loss; for less, nobody gives up δ = 0
_BITS = 128


def search(request: Request) -> TruncatedKStaircase:
    """Return the law with the γ in (0, 1] of least loss, at its smallest radius; decay is ε.

    `fixed` may set gamma. With the radius or another decay, it has to set both radius and gamma,
    and the scale is the least that meets the budget. Raises NotApplicable where another family is
    the same law, where `k-staircase` has the same loss to 1e-4, and for radii beyond 20,000;
    InvalidArgument if too little is set.
    """
    body = _body(request)
    fixed = {name: Fraction(value) for name, value in request.fixed.items()}
    decay = fixed.get("decay", request.budget.epsilon)
    if "radius" in fixed or decay != request.budget.epsilon:
        return _at_shape(request, body, fixed | {"decay": decay})
    gamma, radius = _least(body.dimension, request.budget, request.loss, fixed.get("gamma"))
    found = TruncatedKStaircase(scale=1, body=body, gamma=gamma, radius=radius, decay=decay)
    pure = None if fixed else _pure(request)
    if pure is not None and request.loss.of(found) > (1 - _GAIN) * pure:
        why = "its range would end so far out that k-staircase has the same error, with no delta"
        raise NotApplicable(family=TruncatedKStaircase.name, why=why)
    return found


def _body(request: Request) -> Body:
    family, sensitivity = TruncatedKStaircase, sensitivity_of(request)
    body = family.form_of(sensitivity, dimension=request.dimension)
    if body is None:
        raise NotApplicable(family=family.name, why=family.no_form(sensitivity))
    if isinstance(body, Ball):
        why = "on this body it is spherical-staircase, of which delta is known exactly"
        raise NotApplicable(family=family.name, why=why)
    return body


def _pure(request: Request) -> float | None:
    """Return the loss of the same law without an end; None where it isn't offered."""
    try:
        return request.loss.of(k_staircase(replace(request, fixed={})))
    except NotApplicable:
        return None


@lru_cache(maxsize=64)  # of all bodies of a dimension it is the same
def _least(
    dimension: int, budget: Budget, loss: Loss, gamma: Fraction | None
) -> tuple[Fraction, Fraction]:
    """Return γ and R."""
    epsilon = float(budget.epsilon)
    log_delta = math.log(budget.delta.numerator) - math.log(budget.delta.denominator)
    cut = CutStaircase(
        family=TruncatedKStaircase.name,
        dimension=dimension,
        epsilon=epsilon,
        log_target=log_delta - _FLOAT_ERROR - 1e-15 * dimension,
        loss=loss,
        outside=partial(_outside, dimension=dimension),
    )
    # the gauge is about Gamma(D)/ε; at ε = 0 the law is uniform, and D/2R of it leaves
    steps = (dimension - log_delta) / epsilon if epsilon else math.inf
    guess = min(steps, dimension / 2 * math.exp(-log_delta), MAX_STEPS)
    return cut.least(gamma, guess=math.ceil(guess))


def _outside(a: Floats, b: Floats, *, dimension: int) -> Floats:
    """Return the share of aK outside s + bK, a <= b, at a corner s of a cube K."""
    gone = np.clip((a - b + 1) / (2 * a), 0.0, 1.0)
    with np.errstate(divide="ignore"):
        return -np.expm1(dimension * np.log1p(-gone))


def _at_shape(request: Request, body: Body, fixed: dict[str, Fraction]) -> TruncatedKStaircase:
    if missing := {"gamma", "radius"} - set(fixed):
        raise InvalidArgument(
            name="parameter",
            value="nothing",
            expected=f"{' and '.join(sorted(missing))}, which the others leave open",
        )
    law = TruncatedKStaircase(scale=1, body=body, **fixed)

    def log_delta(shift: float) -> float:
        with precision(_BITS):
            found = delta_ball(law, shift=Fraction(shift), epsilon=request.budget.epsilon)
            most = float_above(found)
        return math.log(most) if most > 0 else -math.inf

    return law.scaled(least_scale(log_delta, request.budget.delta))
