"""k-fold calibration: the law for several releases under one budget, for any family.

A family's record may name the function that finds its law, such as `by_share` or a search built
from the functions below. A law whose only parameter is the scale needs no such function: see
`scale_alone`. An accountant, which comes with the question, decides if k draws of a law are
private, so that no kind of noise imports it.

Notation: k (`compositions`) is the number of releases, and q (`sampling_rate`) the probability of
each row to be sampled. The gap of a law is ln(δ/δ₀), where δ is the proved bound for all k draws
and δ₀ is the budget's δ. A law is private if its gap is at most 0. ε' and δ' are the budget of one
release. A factor is a positive number that determines a law, such as the factor of its scale. The
gap falls as the factor grows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import final

from leastnoise.balls.core import POINTS_PER_STD
from leastnoise.errors import Refused
from leastnoise.guarantees.budget import Budget, check_rate
from leastnoise.guarantees.exact import Interval, root_above
from leastnoise.noise.base import Noise
from leastnoise.noise.question import Question

SHARES = tuple(Fraction(eighths, 8) for eighths in (1, 3, 5, 7))  # parts of δ tried by `by_share`
RELATIVE = 1e-7  # relative accuracy of a scale, far below what the lattice adds to it
SLOWLY = 1e-4  # relative accuracy of ε' if a law for one release takes long to find
COARSE = 12  # steps of a coarse lattice in a standard deviation of the loss
_SHORTEST = 1e-4  # smallest first step in the logarithm of a factor


@dataclass(frozen=True, kw_only=True)
class SeveralReleases(ABC):
    """A question about several releases, with an accountant that bounds the δ of all draws.

    The question asks for a law of `family` that hides a worst shift of length 1. If a geometry maps
    the query linearly, this is a shift of the mapped query.
    """

    family: type[Noise]
    question: Question

    @abstractmethod
    def one(self, question: Question) -> Noise:
        """Return the family's law for one release of all rows, for another `question`."""

    @abstractmethod
    def log_delta_gap(self, law: Noise, points_per_std: int = POINTS_PER_STD) -> float:
        """The gap ln(δ/δ₀), for a bound δ of all draws of `law`; −∞ if the bound is 0.

        δ is computed on a lattice with `points_per_std` steps in a standard deviation of the loss.
        """

    @abstractmethod
    def by_moments(self, law: Noise, *, closest: float) -> Interval | None:
        """Enclose δ of all draws of `law` by moments of the loss; None if that is impossible.

        A relative width of about `closest` is narrow enough.
        """

    @abstractmethod
    def gaussian_sigma(self) -> float:
        """The approximate smallest σ of Gaussian noise for all releases, for comparisons."""

    @property
    def log_delta(self) -> float:
        """The logarithm ln δ₀ of the budget's δ, which must be positive."""
        return log_of(self.question.budget.delta)

    def one_at(self, budget: Budget) -> Noise:
        """The law for one of the releases, which meets `budget` for the sample of this release."""
        return self.one(self.question.one_at(budget))


def scale_alone(task: SeveralReleases) -> Noise:
    """Fit a family whose only parameter is the scale to all releases, and return the law.

    Without sampling, Gaussian noise needs √k times the scale for one release, and noise at δ = 0
    needs k times that scale. Samples at δ = 0 get the law for ε/k. Otherwise the scale is solved
    from the proved bound on δ. It is then at most about 1e-4 (relative) above the smallest scale,
    and mostly less than 1e-5. The search starts near √k times the scale for one release; for
    samples, at that scale.
    """
    question, compositions = task.question, task.question.compositions
    sampled = question.sampling_rate != 1
    if sampled and not question.budget.delta:
        return _pure_share(task)
    law = task.one_at(question.budget)
    if sampled:
        return law.scaled(find_least_factor(task, law, first=1.0))
    if law.gaussian_square is not None:
        return law.scaled(root_above(Fraction(compositions)))
    if not question.budget.delta:
        return law.scaled(compositions)
    return law.scaled(find_least_factor(task, law, first=math.sqrt(compositions)))


def by_share(
    task: SeveralReleases, *, shares: Sequence[Fraction] = SHARES, relative: float = RELATIVE
) -> Noise:
    """Fit a family to k releases, by its law for one release at ε' = ε/factor, δ' = share·δ₀/k.

    For each of `shares`, the factor is the smallest at which all releases are private. Returns the
    law of the share with the least loss. Trying more shares would give slightly less noise. The
    factor has the relative accuracy `relative`. If the budget has δ = 0, the result is the law for
    ε/k, since budgets add up.
    """
    budget, compositions = task.question.budget, task.question.compositions
    if not budget.delta:
        return _pure_share(task)
    check_rate(budget, task.question.sampling_rate, compositions=compositions)

    @cache
    def law_at(factor: float, share: Fraction) -> Noise:
        return task.one_at(share_budget(budget, factor, share / compositions))

    return find_law_of_best_share(task, law_at, shares=shares, relative=relative)


def share_budget(budget: Budget, factor: float, share: Fraction) -> Budget:
    """The budget with the ε of `budget` divided by `factor`, and its δ times `share`."""
    return Budget(epsilon=budget.epsilon / Fraction(factor), delta=share * budget.delta)


def find_law_of_best_share(
    task: SeveralReleases,
    law_at: Callable[[float, Fraction], Noise],
    *,
    shares: Sequence[Fraction],
    relative: float = RELATIVE,
    gap: Callable[[Noise, int], float] | None = None,
) -> Noise:
    """The law of least loss among `law_at(factor, share)`, one for each of `shares`.

    The factor of each is the smallest that makes all releases private. `gap` replaces the task's
    gap if a kind of noise has a faster function. It takes a law and the number of lattice points
    per standard deviation. The best share is chosen on a coarse lattice. By basic composition the
    law for ε/k and δ₀/k is private, too. It is returned instead if its gap is at most 0, too, and
    its loss is smaller, as it may be for a tiny δ₀. The factor, and so ε', has the relative
    accuracy `relative`.
    """
    loss, compositions = task.question.loss, task.question.compositions
    over = gap or task.log_delta_gap

    def loss_near(share: Fraction) -> float:
        return loss.of(law_at(near[share], share))

    roughly = 1e-3  # relative accuracy of ε' for the choice of the share
    spare = 0.01  # the largest relative error of a factor found on the coarse lattice
    near: dict[Fraction, float] = {}
    low, high = math.sqrt(compositions), float(compositions)
    for share in shares:
        near[share] = find_root(
            lambda factor, share=share: over(law_at(factor, share), COARSE),
            low,
            high,
            relative=roughly,
        )
        low, high = near[share] * (1 - spare), near[share]  # a first bracket of the final factor
    best = min(shares, key=loss_near)
    least = find_root(
        lambda factor: over(law_at(factor, best), POINTS_PER_STD),
        near[best] * (1 - spare),
        near[best],
        relative=relative,
    )
    nearly_all = 1 - Fraction(
        1, 10**12
    )  # balls can't separate a sum of exactly δ from a larger one
    law, split = law_at(least, best), law_at(compositions, nearly_all)
    better = loss.of(split) < loss.of(law) and over(split, POINTS_PER_STD) <= 0
    return split if better else law


def _pure_share(task: SeveralReleases) -> Noise:
    """The purely private law whose k releases meet the budget: each spends ε/k."""
    budget = task.question.budget
    return task.one_at(Budget(epsilon=budget.epsilon / task.question.compositions))


def find_least_factor(
    task: SeveralReleases, law: Noise, *, first: float, growth: float | None = None
) -> Fraction:
    """The smallest factor by which `law` must be scaled so that all releases are private.

    The search starts with the interval from `first` to `growth`·`first`; without `growth`, to
    max(q√k, 1.5)·`first`. The interval grows until it contains the factor, so both arguments affect
    only speed.
    """

    def gap(factor: float, points_per_std: int) -> float:
        return task.log_delta_gap(law.scaled(Fraction(factor)), points_per_std=points_per_std)

    coarse = partial(gap, points_per_std=COARSE)
    often = math.sqrt(task.question.compositions) * float(task.question.sampling_rate)
    nearly = 1e-4  # accuracy on the coarse lattice, whose own error is larger
    least_growth = 1.5
    farthest = first * (growth or max(often, least_growth))
    near = find_root(coarse, first, farthest, relative=nearly)
    return Fraction(polish(partial(gap, points_per_std=POINTS_PER_STD), coarse, near))


def polish(
    gap: Callable[[float], float],
    coarse: Callable[[float], float],
    near: float,
    *,
    relative: float = RELATIVE,
) -> float:
    """A factor near the root of `gap`, at which the gap is at most 0.

    `gap` and `coarse` are functions of the factor; `coarse` is cheaper and less accurate. The
    search starts at `near`, the approximate root of `coarse`.

    Newton's steps in ln of the factor use the slope of `coarse`, which is almost equal to the slope
    of `gap`. They end where the gap is at most 0 and the next step would be at most `relative`.
    After three steps the slope is taken from `gap` itself. If the steps fail, `find_root` takes
    over.
    """
    apart = 1e-3
    slope = (coarse(near * math.exp(apart)) - coarse(near)) / apart
    factor = near
    astray = 0.1  # in ln of the factor: a longer step shows that the slope is wrong
    before: _Point | None = None
    for step in range(8 if math.isfinite(slope) and slope < 0 else 0):
        here = _Point(math.log(factor), gap(factor))
        if step > 2 and before is not None and (here.gap - before.gap) / (here.x - before.x) < 0:
            slope = (here.gap - before.gap) / (here.x - before.x)
        move = -here.gap / slope  # step of the ln of the factor; > 0 if too much leaks
        if -relative <= move <= 0:
            return factor
        if not abs(move) < astray:
            break
        before = here
        factor *= math.exp(move + relative / 2)
    return find_root(gap, near, near * (1 + apart), relative=relative)


def find_root(
    gap: Callable[[float], float], low: float, high: float, *, relative: float = RELATIVE
) -> float:
    """A factor at which `gap` is at most 0, at most about `relative` above the root of `gap`.

    The first bracket is [low, high]; it grows until it contains the root. The search takes secant
    steps in the logarithm x of the factor, inside the bracket. Usually ln δ is nearly linear in x.
    Where ε is close to the largest loss of all releases, δ is nearly linear instead. If a secant of
    ln δ gains little, a secant of δ is tried next, and then the middle of the bracket.
    """
    left, right = _bracket(gap, low, high)
    last, before = (left, right) if left.x > math.log(low) else (right, left)
    stalls = 0
    for _ in range(60):
        width = right.x - left.x
        if width <= relative:
            break
        x = math.nan
        if stalls == 0:
            x = _aim(before.x, before.gap, last.x, last.gap)
        elif stalls == 1:
            x = _aim(left.x, left.over, right.x, right.over)
        x += relative / 2 if last.gap > 0 else -relative / 2
        if not left.x < x < right.x:
            x = (left.x + right.x) / 2
        before, last = last, _Point.at(gap, x)
        left, right = (left, last) if last.gap <= 0 else (last, right)
        slope = (last.gap - before.gap) / (last.x - before.x)
        if last.gap <= 0 and -math.inf < slope * relative <= last.gap:
            break  # the root is as near as required
        stalls = (stalls + 1) % 3 if right.x - left.x > 0.4 * width else 0
    return math.exp(right.x)


@final
@dataclass(frozen=True)
class _Point:
    """A point of a search: x, the logarithm of a factor, and the gap at this factor."""

    x: float
    gap: float

    @classmethod
    def at(cls, gap: Callable[[float], float], x: float) -> _Point:
        return cls(x, gap(math.exp(x)))

    @property
    def over(self) -> float:
        """The relative excess δ/δ₀ − 1 of the bound δ over the budget's δ₀."""
        return math.expm1(min(self.gap, 700.0))


def _bracket(gap: Callable[[float], float], low: float, high: float) -> tuple[_Point, _Point]:
    """Find a point with a gap above 0, and a point with a larger factor and a gap of at most 0.

    The search starts from [low, high] and takes growing steps. Raises Refused if the gap is at most
    0 at ever smaller factors.
    """
    first = _Point(math.log(low), gap(low))
    step = max(math.log(high / low), _SHORTEST)
    if first.gap > 0:
        before, there = first, _Point(math.log(high), gap(high))
        while there.gap > 0:
            step = min(2 * step, math.log(2))
            before, there = there, _Point.at(gap, there.x + step)
        return before, there
    least_factor = 1e-6  # the search ends there; at ε = 0, for instance, the factor has no effect
    before, there = first, _Point.at(gap, first.x - step)
    while there.gap <= 0:
        if there.x < math.log(least_factor):
            raise Refused(
                "There is no smallest noise, because ever smaller noise meets this budget. Give "
                "a smaller epsilon or delta."
            )
        step = 2 * step
        before, there = there, _Point.at(gap, there.x - step)
    return there, before


def _aim(x: float, f: float, other: float, g: float) -> float:
    """The zero of the line through (x, f) and (other, g), two points; NaN unless it is unique."""
    if not (math.isfinite(f) and math.isfinite(g) and f != g):
        return math.nan
    return other - g * (other - x) / (g - f)


def log_of(number: Fraction) -> float:
    """The logarithm of a number that may be outside the range of floats."""
    return math.log(number.numerator) - math.log(number.denominator)
