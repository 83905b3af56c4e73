"""The least noise in the shape of a body, or of what can be added and removed.

It is purely private: its largest loss is ε, and δ is left unspent. What is searched is the shape of
its steps, or of its core.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.bodies.ball import Ball
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.interval import Interval
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.bodies.law.k_norm import KNorm
from leastnoise.noise.bodies.law.k_staircase import SMALLEST_GAMMA, KStaircase
from leastnoise.noise.bodies.law.two_sided_laplace import LARGEST_CORE, TwoSidedLaplace
from leastnoise.noise.bodies.law.two_sided_staircase import SMALLEST_CORE, TwoSidedStaircase
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.common.law.step_sums import SMALLEST_DECAY, step_terms
from leastnoise.noise.request import Request
from leastnoise.numerics.minima import minimise

_SHAPE_BITS = 30  # of a shape, so that its proof takes short fractions
_ROUNDS = 34  # of the search for a shape: to 1e-7, where the loss is flat
_MOST_TERMS = 300_000  # of the sums for one shape: some 20 ms
_SMALLEST = 1e-100  # of a shape


def k_norm(request: Request) -> KNorm:
    """Return e^(−ε₀N), ε₀ = ε; raises NotApplicable where another family has the same law."""
    return at_loss(KNorm, request, purely(KNorm, request))


def k_staircase(request: Request) -> KStaircase:
    """Return the staircase in N with the best γ, which `fixed` may set."""
    return at_loss(KStaircase, request, purely(KStaircase, request))


def two_sided_staircase(request: Request) -> TwoSidedStaircase:
    """Return the staircase in P and Q with the best core, which `fixed` may set."""
    return at_loss(TwoSidedStaircase, request, purely(TwoSidedStaircase, request))


def two_sided_laplace(request: Request) -> TwoSidedLaplace:
    """Return the smooth law in P and Q with the best core, which `fixed` may set."""
    return at_loss(TwoSidedLaplace, request, purely(TwoSidedLaplace, request))


def purely(family: type[VectorNoise], request: Request) -> Fraction:
    """Return ε, the largest loss of one release; raises NotApplicable where it is 0."""
    if not request.budget.epsilon:
        raise NotApplicable(family=family.name, why="it is purely private, which takes epsilon > 0")
    return request.budget.epsilon


def sensitivity_of(request: Request) -> Sensitivity:
    """Return the shifts that are to be hidden."""
    if request.sensitivity is None:
        raise InvalidArgument(name="sensitivity", value=None, expected="the shifts to be hidden")
    return request.sensitivity


def at_loss(family: type[Any], request: Request, largest: Fraction) -> Any:
    """Return the law of `family` with that largest loss and the best shape."""
    form = family.form_of(sensitivity_of(request), dimension=request.dimension)
    if form is None:
        raise NotApplicable(family=family.name, why=family.no_form(sensitivity_of(request)))
    _refuse_known(family, form)
    if family is KNorm:
        return KNorm(scale=1 / largest, body=form)
    name, first, law_at = _SHAPES[family]
    if family is not TwoSidedLaplace:
        _refuse_long(family, form.dimension, largest)
    if derived := sorted(set(request.fixed) - {name}):
        why = f"{derived[0]} follows from epsilon and the sensitivity; {name} may be set"
        raise NotApplicable(family=family.name, why=why)
    if name in request.fixed:
        return law_at(form, largest, Fraction(request.fixed[name]))
    least, most = _LIMITS[family]

    def made(shape: float) -> Any:
        return law_at(form, largest, max(least, min(most, _short(shape))))

    grid = first(form.dimension, float(largest))
    return made(minimise(lambda shape: request.loss.of(made(shape)), grid, rounds=_ROUNDS))


def _refuse_long(family: type[VectorNoise], dimension: int, decay: Fraction) -> None:
    """Raise NotApplicable where the sums over the steps are too long: where they gain nothing."""
    powers = 3 if family is KStaircase else dimension + 3
    terms = step_terms(decay, dimension=dimension, powers=powers)
    if decay < SMALLEST_DECAY or terms > _MOST_TERMS:
        smooth = KNorm if family is KStaircase else TwoSidedLaplace
        why = f"its steps are too short to gain anything: {smooth.name} has about the same error"
        raise NotApplicable(family=family.name, why=why)


def _refuse_known(family: type[VectorNoise], form: Any) -> None:
    """Raise NotApplicable where another family is the same law, which is offered once."""
    known = None
    if family is KNorm:
        known = {Interval: "laplace", Ball: "l2"}.get(type(form))
        if isinstance(form, Cells) and all(isinstance(one, Interval) for one in form.bodies):
            known = "laplace"
    if family is KStaircase and isinstance(form, Interval):
        known = "staircase"
    if known:
        raise NotApplicable(family=family.name, why=f"on this body it is {known}")


def _short(shape: float) -> Fraction:
    mantissa, exponent = math.frexp(shape)
    return Fraction(round(mantissa * 2**_SHAPE_BITS)) * Fraction(2) ** (exponent - _SHAPE_BITS)


def _least(dimension: int, epsilon: float) -> float:
    """Return less than the best shape for a large ε, about e^(−ε/(D + 2)).

    There the mass e^(−ε) beyond the first step has the same mean square as that within it, γ².
    """
    return max(math.exp(-epsilon / (dimension + 2)) / 8, _SMALLEST)


def _between(low: float, high: float) -> list[float]:
    """Return points to look at first, each at most 1.4 times the last."""
    count = 2 + math.ceil(math.log(high / low) / math.log(1.4))
    return np.geomspace(low, high, count).tolist()


def _gammas(dimension: int, epsilon: float) -> list[float]:
    return _between(min(_least(dimension, epsilon), 1 / 16), 1.0)


def _cores(dimension: int, epsilon: float) -> list[float]:
    """Return cores around 0.3·d/ε + 0.1, where those of counts are (theory/bodies.md §3)."""
    typical = 0.3 * dimension / epsilon + 0.1
    low = max(min(_least(dimension, epsilon), typical / 16), float(SMALLEST_CORE))
    return _between(low, 16 * typical)


def _smooth_cores(dimension: int, epsilon: float) -> list[float]:
    """Return the same in units of the scale 1/ε, which is all that there is without steps."""
    del epsilon
    return _between(0.3 * dimension / 64, 0.3 * dimension * 16)


_Shape = tuple[
    str, Callable[[int, float], list[float]], Callable[[Any, Fraction, Fraction], VectorNoise]
]
_SHAPES: dict[type[VectorNoise], _Shape] = {
    KStaircase: (
        "gamma",
        _gammas,
        lambda body, largest, gamma: KStaircase(scale=1, body=body, gamma=gamma, decay=largest),
    ),
    TwoSidedStaircase: (
        "core",
        _cores,
        lambda of, largest, core: TwoSidedStaircase(scale=1, of=of, core=core, decay=largest),
    ),
    TwoSidedLaplace: (
        "core",
        _smooth_cores,
        lambda of, largest, core: TwoSidedLaplace(scale=1 / largest, of=of, core=core),
    ),
}
"""What is searched of each family: its name, where it is looked at first, and the law there."""

_LIMITS: dict[type[VectorNoise], tuple[Fraction, Fraction]] = {
    KStaircase: (SMALLEST_GAMMA, Fraction(1)),
    TwoSidedStaircase: (SMALLEST_CORE, Fraction(10**6)),
    TwoSidedLaplace: (Fraction(0), LARGEST_CORE),
}
"""What a search may find; what you set yourself is refused beyond it."""
