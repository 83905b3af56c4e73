"""The best spherical staircase for a budget (theory/noise.md §2)."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, partial

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.budget import Budget
from leastnoise.noise.common.fit import classic
from leastnoise.noise.common.fit.fixed_shape import least_scale
from leastnoise.noise.common.fit.truncated_steps import CutStaircase
from leastnoise.noise.loss import Loss
from leastnoise.noise.request import Request
from leastnoise.noise.shells.law.spherical_staircase import SphericalStaircase
from leastnoise.noise.shells.profile import log_delta, outside

_FLOAT_ERROR = 2e-13  # of ln δ, for each dimension; measured: 9e-14


def search(request: Request) -> SphericalStaircase:
    """Return the law with the γ in (0, 1] of least loss, at its smallest radius; decay is ε.

    `fixed` may set gamma. With the radius or another decay, it has to set both radius and gamma,
    and the scale is the least that meets the budget. Raises NotApplicable if the radius is too
    large, InvalidArgument if too little is set.
    """
    fixed = {name: Fraction(value) for name, value in request.fixed.items()}
    decay = fixed.get("decay", request.budget.epsilon)
    if "radius" in fixed or decay != request.budget.epsilon:
        return _at_shape(request, fixed | {"decay": decay})
    return _least(request.dimension, request.budget, request.loss, fixed.get("gamma"))


@lru_cache(maxsize=64)  # one comparison asks the same for several geometries
def _least(
    dimension: int, budget: Budget, loss: Loss, gamma: Fraction | None
) -> SphericalStaircase:
    decay = budget.epsilon
    problem = CutStaircase(
        family=SphericalStaircase.name,
        dimension=dimension,
        epsilon=float(decay),
        log_target=math.log(budget.delta) - _FLOAT_ERROR * dimension,
        loss=loss,
        outside=partial(outside, shift=1.0, dimension=dimension),
    )
    guess = math.ceil(float(classic.gaussian(1, budget)) * math.sqrt(dimension))
    found, radius = problem.least(gamma, guess=guess)
    return SphericalStaircase(scale=1, dimension=dimension, gamma=found, radius=radius, decay=decay)


def _at_shape(request: Request, fixed: dict[str, Fraction]) -> SphericalStaircase:
    if missing := {"gamma", "radius"} - set(fixed):
        raise InvalidArgument(
            name="parameter",
            value="nothing",
            expected=f"{' and '.join(sorted(missing))}, which the others leave open",
        )
    law = SphericalStaircase(scale=1, dimension=request.dimension, **fixed)
    epsilon = request.budget.epsilon
    scale = least_scale(
        lambda t: log_delta(law, shift=Fraction(t), epsilon=epsilon), request.budget.delta
    )
    return law.scaled(scale)
