"""The smallest scale whose noise may be used k times within one budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from leastnoise.balls.core import float_above
from leastnoise.calibration.request import Request
from leastnoise.calibration.search import unit_law
from leastnoise.certify.composed import Releases, composed_at_most
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.geometry import Hidden
from leastnoise.guarantees.sensitivity import L1, L2
from leastnoise.noise.base import Noise, Shape

_RELATIVE = 1e-7  # of the scale: far below what the lattice itself costs
_ROUNDS = 60


def composed_law(family: type[Noise], request: Request, compositions: int) -> Noise:
    """Return the law of `family` for a worst shift of 1 that may be drawn `compositions` times.

    Of families that are a scale alone. Gaussians need √k times the scale of one release, and a pure
    budget k times; for others the proved upper bound on δ is solved for the scale, which is then
    above the smallest by about 1e-5. Raises NotApplicable for the other families.
    """
    if family.parameter_kinds:
        raise NotApplicable(
            family=family.name, why="its parameters are searched for one release only"
        )
    alone = unit_law(family, request)
    if family.shape is Shape.GAUSSIAN:
        return alone.scaled(_root_above(compositions))
    if not request.budget.delta:
        return alone.scaled(compositions)
    hidden = Hidden.of((L1 if family.norm == "l1" else L2)(1))
    target = math.log(float(request.budget.delta))

    def excess(factor: float) -> float:
        law = alone.scaled(Fraction(factor))
        part = Releases(noise=law, hidden=hidden, count=compositions)
        delta = float_above(composed_at_most((part,), request.budget.epsilon))
        return math.log(delta) - target if delta > 0 else -math.inf

    return alone.scaled(Fraction(_root(excess, math.sqrt(compositions), float(compositions))))


def _root_above(count: int) -> Fraction:
    """Return √count, rounded up."""
    return Fraction(math.isqrt(count << 128) + 1, 1 << 64)


def _root(excess: Callable[[float], float], low: float, high: float) -> float:
    """Return a factor with excess <= 0 near the root; excess falls.

    Secants in the logarithm of the factor, kept inside a bracket that bisection would shrink.
    """
    points = [(math.log(low), excess(low))]
    if points[0][1] <= 0:
        low, high = low / 2, low
        while (found := excess(low)) <= 0:
            low, high = low / 2, low
        points = [(math.log(high), excess(high)), (math.log(low), found)]
    else:
        while (found := excess(high)) > 0:
            low, high = high, 2 * high
        points.append((math.log(high), found))
    left, right = math.log(low), math.log(high)
    for _ in range(_ROUNDS):
        if right - left <= _RELATIVE:
            break
        middle = _secant(points, left, right)
        value = excess(math.exp(middle))
        points.append((middle, value))
        left, right = (left, middle) if value <= 0 else (middle, right)
    return math.exp(right)


def _secant(points: list[tuple[float, float]], left: float, right: float) -> float:
    """Return where the last two points lead, a little to the private side, or the middle."""
    (x0, y0), (x1, y1) = points[-2:]
    guess = (left + right) / 2
    if math.isfinite(y0) and math.isfinite(y1) and y0 != y1:
        aim = x1 - y1 * (x1 - x0) / (y1 - y0)
        aim += _RELATIVE / 2 if y1 > 0 else -_RELATIVE / 2
        if left < aim < right:
            guess = aim
    return guess
