"""The smallest scale whose noise may be used k times within one budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import TypeVar

from leastnoise.accounting.proof.composed import FINENESS, composed_at_most
from leastnoise.accounting.proof.moment_sum import delta_by_moments
from leastnoise.balls.core import float_above
from leastnoise.calibration.samples import amplified, check_rate, share_of
from leastnoise.calibration.search import unit_law
from leastnoise.errors import NotApplicable, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.hidden import Hidden
from leastnoise.guarantees.interval import Interval
from leastnoise.guarantees.sensitivity import L1, L2, Integer
from leastnoise.noise.base import Noise, Shape
from leastnoise.noise.common.fit import classic
from leastnoise.noise.laplace.law.truncated_laplace import TruncatedLaplace
from leastnoise.noise.loss import Loss
from leastnoise.noise.radial.law.spherical_laplace import SphericalLaplace
from leastnoise.noise.releases import Releases
from leastnoise.noise.request import Request
from leastnoise.noise.steps.law.geometric import Geometric
from leastnoise.noise.steps.law.staircase import Staircase
from leastnoise.noise.steps.law.truncated_staircase import TruncatedStaircase
from leastnoise.noise.steps.law.tulap import Tulap
from leastnoise.numerics.roots import IncreasingRoot

Law = TypeVar("Law", bound=Noise)

# Families with parameters whose search for one release takes milliseconds.
_SHAPED = frozenset({Geometric, Staircase, TruncatedLaplace, TruncatedStaircase, Tulap})
_SHARES = tuple(Fraction(eighths, 8) for eighths in (1, 3, 5, 7))
_ALL = 1 - Fraction(1, 10**12)  # no ball tells a sum that is just δ from one above it

_LEAST_GROWTH = 1.5
_RELATIVE = 1e-7  # of the scale: far below what the lattice itself costs
_ROUGHLY = 1e-3  # of ε', to tell which share is the best
_SPARE = 0.01  # by which it is too small there, or less
_NEARLY = 1e-4  # of the scale, on a lattice so coarse that it is off by more
_COARSE = 12  # its steps in a standard deviation of the loss
_STEPS = 8
_ASTRAY = 0.1  # of the logarithm: a step so long says that the slope is wrong
_ROUNDS = 60
_LEAST_FACTOR = 1e-6  # at ε = 0, shares of ε say nothing
_FAR, _CLOSE = 1e-7, 1e-9  # of δ: some 6e-11 of the scale
_CLOSEST = 2e-10  # of 1/σ − ε/k
_NEAR_LEAST = IncreasingRoot(tolerance=1e-8, first_step=0.05)  # of its logarithm
_PURE = 5e-10  # 1/σ − ε/k against ε/k, below which σ = k/ε is as good


def composed_law(
    family: type[Noise], request: Request, compositions: int, rate: Fraction = Fraction(1)
) -> Noise:
    """Return the law of `family` for a worst shift of 1 that may be drawn `compositions` times.

    Where the family is a scale alone, Gaussians need √k times the scale of one release, and a pure
    budget k times; for others the proved upper bound on δ is solved for the scale, which is then
    above the smallest by about 1e-5, for l2 by 1e-10 where its moment generating function serves.
    Staircases for one number, and the truncated Laplace law, take the shape that is best for one
    release at some (ε', δ'). Raises NotApplicable for the others. With a `rate` < 1 every draw is
    for a Poisson sample of its own.
    """
    if rate != 1 and not (family.parameter_kinds and request.budget.delta):
        return _sampled_law(family, request, compositions, rate)
    if family.parameter_kinds:
        return _shaped_law(family, request, compositions, rate)
    if family is SphericalLaplace and (found := _l2_law(request, compositions)):
        return found
    alone = unit_law(family, request)
    if family.shape is Shape.GAUSSIAN:
        return alone.scaled(_root_above(compositions))
    if not request.budget.delta:
        return alone.scaled(compositions)
    root = math.sqrt(compositions)
    return alone.scaled(least_factor(alone, request, compositions, first=root))


def _l2_law(request: Request, compositions: int) -> Noise | None:
    """Return the l2 law at its least scale; None at δ = 0, and where that takes too many nodes.

    The proved bound on δ is solved for ln(1/σ − ε/k): σ = k/ε is private at δ = 0.
    """
    budget, dimension, hidden = request.budget, request.dimension, Hidden.of(L2(1))
    if not budget.delta:
        return None
    share, target = float(budget.epsilon) / compositions, _log(budget.delta)

    def law(log_excess: float) -> SphericalLaplace:
        scale = Fraction(1 / (share + math.exp(log_excess)))
        return SphericalLaplace(scale=scale, dimension=dimension)

    @cache
    def proved(log_excess: float, closest: float) -> Interval | None:
        parts = (Releases(noise=law(log_excess), hidden=hidden, count=compositions),)
        found = delta_by_moments(parts, budget.epsilon, closest=closest)
        return found.interval if found else None

    def over(log_excess: float, closest: float) -> float:
        if found := proved(log_excess, closest):
            return math.log(found.upper) - target if found.upper > 0 else -math.inf
        part = Releases(noise=law(log_excess), hidden=hidden, count=compositions)
        return excess_of(part, budget)

    # Guess: the variance of the loss of the Gaussian that meets the budget
    sigma = float(classic.gaussian(dimension, budget)) * math.sqrt(compositions / dimension)
    guess = math.log(max(1 / sigma - share, 1e-3 * share))
    if proved(guess, _FAR) is None:
        return None
    near = _NEAR_LEAST.find(partial(over, closest=_FAR), guess=guess)
    if math.exp(near) < _PURE * share:
        return SphericalLaplace(scale=compositions / budget.epsilon, dimension=dimension)
    start = math.exp(-near)
    known = proved(-math.log(start), _CLOSE) or Interval(0.0, 1.0)
    factor = polished(
        lambda factor: over(-math.log(factor), _CLOSE),
        lambda factor: over(-math.log(factor), _FAR),
        start,
        relative=max(_CLOSEST, (1 - known.lower / known.upper) / 4),
    )
    return law(-math.log(factor))


def _log(number: Fraction) -> float:
    return math.log(number.numerator) - math.log(number.denominator)


def least_factor(
    alone: Noise,
    request: Request,
    compositions: int,
    rate: Fraction = Fraction(1),
    *,
    first: float,
) -> Fraction:
    """Return the least factor of `alone` for so many releases; above `first`, or near it.

    For k releases it is about √k. For k samples at a rate q it is about 1 as long as a record is
    in few of them, and grows like q√k.
    """
    hidden = Hidden.of((L1 if alone.norm == "l1" else L2)(1))

    def excess(factor: float, fineness: int) -> float:
        law = alone.scaled(Fraction(factor))
        part = Releases(noise=law, hidden=hidden, count=compositions, rate=rate)
        return excess_of(part, request.budget, fineness=fineness)

    coarse = partial(excess, fineness=_COARSE)
    often = math.sqrt(compositions) * (1 if rate == 1 else float(rate))
    near = root_of(coarse, first, first * max(often, _LEAST_GROWTH), relative=_NEARLY)
    return Fraction(polished(partial(excess, fineness=FINENESS), coarse, near))


def polished(
    excess: Callable[[float], float],
    coarse: Callable[[float], float],
    near: float,
    *,
    relative: float = _RELATIVE,
) -> float:
    """Return a factor with excess <= 0 near the root, which is close to that of `coarse`.

    Newton's steps with the slope of `coarse`, cheap and almost the same: they end on the private
    side once the next would be shorter than the accuracy asked for.
    """
    apart = 1e-3
    slope = (coarse(near * math.exp(apart)) - coarse(near)) / apart
    factor = near
    for _ in range(_STEPS if math.isfinite(slope) and slope < 0 else 0):
        move = -excess(factor) / slope  # of log factor, > 0 if too much leaks
        if -relative <= move <= 0:
            return factor
        if not abs(move) < _ASTRAY:
            break
        factor *= math.exp(move + relative / 2)
    return root_of(excess, near, near * (1 + apart), relative=relative)


def _sampled_law(family: type[Noise], request: Request, compositions: int, rate: Fraction) -> Noise:
    """Return the law for several releases, by the proved bound on δ; pure budgets add up.

    Fewer releases never need more noise, so that the search starts at the law for one.
    """
    budget = request.budget
    if not budget.delta:
        budget = Budget(epsilon=budget.epsilon / compositions)
    alone = unit_law(family, replace(request, budget=amplified(budget, rate)))
    if not budget.delta:
        return alone
    return alone.scaled(least_factor(alone, request, compositions, rate, first=1.0))


def _shaped_law(family: type[Noise], request: Request, compositions: int, rate: Fraction) -> Noise:
    """Return the best of the laws for one release at δ' = share·δ/k and the largest private ε'.

    ε/k is private by basic composition. What is lost to the search over shapes is accuracy alone.
    """
    if family not in _SHAPED:
        raise NotApplicable(
            family=family.name, why="its parameters are searched for one release only"
        )
    epsilon, delta = request.budget.epsilon, request.budget.delta
    if not delta:
        return unit_law(family, replace(request, budget=Budget(epsilon=epsilon / compositions)))
    check_rate(request.budget, rate)

    def law_at(factor: float, share: Fraction) -> Noise:
        budget = share_of(request.budget, factor, share / compositions, rate=rate)
        return unit_law(family, replace(request, budget=budget))

    def excess(law: Noise, fineness: int) -> float:
        noise, hidden = law, Hidden.of(L2(1))
        if law.for_whole_numbers:  # its shift can't be called 1
            noise, hidden = law.scaled(request.shift), Hidden.of(Integer(request.shift))
        part = Releases(noise=noise, hidden=hidden, count=compositions, rate=rate)
        return excess_of(part, request.budget, fineness=fineness)

    return law_of_best_share(
        law_at, excess, shares=_SHARES, compositions=compositions, loss=request.loss
    )


def law_of_best_share(
    law_at: Callable[[float, Fraction], Law],
    excess: Callable[[Law, int], float],
    *,
    shares: Sequence[Fraction],
    compositions: int,
    loss: Loss,
    relative: float = _RELATIVE,
) -> Law:
    """Return `law_at`(factor, share) for the best of `shares` and the least private factor.

    The law is that for one release at ε' = ε/factor and δ' = share·δ/k, and `excess` of it, on a
    lattice of that fineness, <= 0 if k are private. Which share is best is told on a coarse one. By
    basic composition ε/k and δ/k are private, which is the best for a tiny δ.
    """

    def loss_near(share: Fraction) -> float:
        return loss.of(law_at(near[share], share))

    root = math.sqrt(compositions)
    near = {
        share: root_of(
            lambda factor, share=share: excess(law_at(factor, share), _COARSE),
            root,
            compositions,
            relative=_ROUGHLY,
        )
        for share in shares
    }
    best = min(shares, key=loss_near)
    least = root_of(
        lambda factor: excess(law_at(factor, best), FINENESS),
        near[best] * (1 - _SPARE),
        near[best],
        relative=relative,
    )
    found, split = law_at(least, best), law_at(compositions, _ALL)
    better = loss.of(split) < loss.of(found) and excess(split, FINENESS) <= 0
    return split if better else found


def excess_of(part: Releases, budget: Budget, *, fineness: int = FINENESS) -> float:
    """Return the logarithm of the proved bound on δ, over that of the budget."""
    delta = float_above(composed_at_most((part,), budget.epsilon, fineness=fineness))
    return math.log(delta / float(budget.delta)) if delta > 0 else -math.inf


def _root_above(count: int) -> Fraction:
    """Return √count, rounded up."""
    return Fraction(math.isqrt(count << 128) + 1, 1 << 64)


def root_of(
    excess: Callable[[float], float], low: float, high: float, *, relative: float = _RELATIVE
) -> float:
    """Return a factor with excess <= 0 near the root; excess falls.

    Secants in the logarithm of the factor, kept inside a bracket that bisection would shrink.
    """
    points = [(math.log(low), excess(low))]
    if points[0][1] <= 0:
        low, high = low / 2, low
        while (found := excess(low)) <= 0:
            if high < _LEAST_FACTOR:
                raise Refused("No least noise was found: less and less of it meets this budget.")
            low, high = low / 2, low
        points = [(math.log(high), excess(high)), (math.log(low), found)]
    else:
        while (found := excess(high)) > 0:
            low, high = high, 2 * high
        points.append((math.log(high), found))
    left, right = math.log(low), math.log(high)
    for _ in range(_ROUNDS):
        if right - left <= relative:
            break
        middle = _secant(points, left, right, relative / 2)
        value = excess(math.exp(middle))
        points.append((middle, value))
        left, right = (left, middle) if value <= 0 else (middle, right)
    return math.exp(right)


def _secant(points: list[tuple[float, float]], left: float, right: float, margin: float) -> float:
    """Return where the last two points lead, a `margin` to the private side, or the middle."""
    (x0, y0), (x1, y1) = points[-2:]
    guess = (left + right) / 2
    if math.isfinite(y0) and math.isfinite(y1) and y0 != y1:
        aim = x1 - y1 * (x1 - x0) / (y1 - y0)
        aim += margin if y1 > 0 else -margin
        if left < aim < right:
            guess = aim
    return guess
