"""The least noise in the shape of a body, or of what can be added and removed.

It is purely private: its largest loss is ε, and δ is left unspent. What is searched is the shape of
its steps, or of its core.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from leastnoise.calibration.request import Request
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.bodies.ball import Ball
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.interval import Interval
from leastnoise.guarantees.sensitivity import Sensitivity
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.k_norm import KNorm
from leastnoise.noise.k_staircase import KStaircase
from leastnoise.noise.step_sums import SMALLEST_DECAY
from leastnoise.noise.two_sided_laplace import TwoSidedLaplace
from leastnoise.noise.two_sided_staircase import TwoSidedStaircase
from leastnoise.numerics.minima import minimise

_GAMMAS = np.linspace(1 / 16, 1, 16).tolist()  # the first look at γ
_CORES = np.geomspace(1 / 64, 64, 25).tolist()  # the same at a core, in units of what is typical
_SHAPE_BITS = 2**30  # shapes are multiples of 1/this: their proof takes short fractions


def k_norm(request: Request) -> KNorm:
    """Return e^(−ε₀N), ε₀ = ε; raises NotApplicable where another family has the same law."""
    return at_loss(KNorm, request, purely(request))


def k_staircase(request: Request) -> KStaircase:
    """Return the staircase in N with the best γ, which `fixed` may set."""
    return at_loss(KStaircase, request, purely(request))


def two_sided_staircase(request: Request) -> TwoSidedStaircase:
    """Return the staircase in P and Q with the best core, which `fixed` may set."""
    return at_loss(TwoSidedStaircase, request, purely(request))


def two_sided_laplace(request: Request) -> TwoSidedLaplace:
    """Return the smooth law in P and Q with the best core, which `fixed` may set."""
    return at_loss(TwoSidedLaplace, request, purely(request))


def purely(request: Request) -> Fraction:
    """Return ε, the largest loss of one release; raises NotApplicable where it is 0."""
    if not request.budget.epsilon:
        raise NotApplicable(family="k-norm", why="it is purely private, which takes epsilon > 0")
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
    if family is not TwoSidedLaplace and largest < SMALLEST_DECAY:
        why = f"below epsilon = {float(SMALLEST_DECAY):g} its steps are too small to tell from none"
        raise NotApplicable(family=family.name, why=why)

    def made(shape: float) -> Any:
        return law_at(form, largest, _short(shape))

    if name in request.fixed:
        return law_at(form, largest, Fraction(request.fixed[name]))
    best = minimise(lambda shape: request.loss.of(made(shape)), first(form.dimension, largest))
    return made(best)


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
    return Fraction(max(1, round(shape * _SHAPE_BITS)), _SHAPE_BITS)


def _cores(dimension: int, largest: Fraction) -> list[float]:
    """Return cores around (d + 1)/(2ε) + ½/d, where those of counts are (theory/bodies.md §3)."""
    typical = 0.3 * dimension / float(largest) + 0.1
    return [typical * factor for factor in _CORES]


_Shape = tuple[
    str, Callable[[int, Fraction], list[float]], Callable[[Any, Fraction, Fraction], VectorNoise]
]
_SHAPES: dict[type[VectorNoise], _Shape] = {
    KStaircase: (
        "gamma",
        lambda dimension, largest: _GAMMAS,  # noqa: ARG005
        lambda body, largest, gamma: KStaircase(
            scale=1, body=body, gamma=min(gamma, Fraction(1)), decay=largest
        ),
    ),
    TwoSidedStaircase: (
        "core",
        _cores,
        lambda of, largest, core: TwoSidedStaircase(scale=1, of=of, core=core, decay=largest),
    ),
    TwoSidedLaplace: (
        "core",
        # in units of the scale 1/ε₀
        lambda dimension, largest: [float(largest) * one for one in _cores(dimension, largest)],
        lambda of, largest, core: TwoSidedLaplace(scale=1 / largest, of=of, core=core),
    ),
}
"""What is searched of each family: its name, where it is looked at first, and the law there."""
