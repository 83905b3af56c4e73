"""Find designs on finer and finer lattices, until a law is proved to be nearly the best."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

import numpy as np

from leastnoise.balls.core import FACTOR_BITS, ball, exponential_between, precision
from leastnoise.design.bounds.lower_bound import LowerBound, Scope, Witness, power_of
from leastnoise.design.programs import repair
from leastnoise.design.programs.effort import Allowance, Effort
from leastnoise.design.programs.program import (
    MAX_POINTS,
    LatticeProgram,
    LatticeSolution,
    closed_form_masses,
    closed_form_witness,
    fill_masses,
    fill_prices,
)
from leastnoise.errors import NotApplicable, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.noise import DiscreteStaircase, Optimal, TruncatedStaircase
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.registry import part_of

_NEAR = 0.05  # one step of the design may cost this share of the gap
_TINY = Fraction(1, 10**12)  # stands for δ = 0, which has a bound but no law of bounded range


@final
@dataclass(frozen=True, kw_only=True)
class Task:
    """The task of a design: find a law with a small loss, and a bound on the loss of every law.

    All laws have to meet `budget`. The unit of length is the sensitivity. With the scope "integer",
    the query is an integer that moves by at most `steps`, so the unit is `steps` integers long.
    """

    budget: Budget
    loss: Loss
    scope: Scope = "real"
    steps: int = 1

    @property
    def family(self) -> str:
        """The name of the designed family."""
        return (Optimal if self.scope == "real" else DiscreteStaircase).name


@final
@dataclass(frozen=True, kw_only=True)
class Design:
    """A `law`, and a lower `bound` on the loss of any law; each is None if it is unknown."""

    law: Optimal | DiscreteStaircase | None
    bound: LowerBound | None

    @property
    def gap(self) -> float:
        """The relative excess of the law's loss over the bound.

        It is inf if one of them is missing, or the bound is 0.
        """
        if self.law is None or self.bound is None or self.bound.value <= 0:
            return math.inf
        return max(0.0, self.bound.loss.of(self.law) / self.bound.value - 1)


def refine(task: Task, *, gap: float, effort: Effort) -> Design:
    """Find a design with at most this `gap`, or else the best design within the limit of `effort`.

    The law and the bound may be from different lattices. At δ = 0 there is a bound but no law.
    Raises NotApplicable if no bound was found.
    """
    best = Design(law=None, bound=None)
    if task.scope == "integer":
        simple = _design_in_closed_form(task)
        if task.steps == 1 or _is_wide(task, simple.bound, gap):
            return simple
        if simple.bound and simple.bound.value:
            best = simple
    allowance = effort.begin()
    rough = _Rough.of(task, gap)
    for cells in _cell_counts(task, rough, gap):
        if allowance.spent:
            break
        if effort.progress:
            shown = "" if math.isinf(best.gap) else f", now within {100 * best.gap:.2g} %"
            effort.progress(f"Designing noise on {cells} cells a sensitivity{shown}")
        most = allowance.part(0.6)  # of the rest for one lattice
        design = _design_on_lattice(task, rough, cells, gap=gap, allowance=most)
        best = Design(
            law=_better(task, best.law, design.law), bound=_higher(best.bound, design.bound)
        )
        if best.gap <= gap or (best.bound and not task.budget.delta):  # at δ = 0 there is no law
            break
    if best.bound is None:
        why = "no linear program was solved with the effort allowed"
        raise NotApplicable(family=task.family, why=why)
    return best


def _cell_counts(task: Task, rough: _Rough, gap: float) -> Iterator[int]:
    """Yield increasing numbers of cells per sensitivity to try.

    For noise on the integers only one number is possible: the sensitivity in steps.
    """
    if task.scope == "integer":
        yield task.steps
        return
    # the best law's loss exceeds the bound by f(0)h²/4 (mae) or h²/3 (mse) (theory/noise.md §4)
    excess = rough.height / 4 if task.loss is Loss.MAE else 1 / 3
    finer = 1.06  # than the formula's number of cells, so that the first lattice usually suffices
    cells = max(1, math.ceil(finer * math.sqrt(excess / (gap * rough.loss))))
    most_rows = 2_500_000  # the rows of one program, of which the solver sees a few: 200 MB
    most = max(1, int(math.sqrt(most_rows / (rough.radius + 1.5))))
    coarser = cells
    quick = 64  # cells, about a second
    while coarser > quick:  # get a first result quickly
        coarser = (coarser + 1) // 2
    while coarser < min(cells, most):
        yield coarser
        coarser *= 2
    while True:
        yield min(cells, most)
        if cells >= most:
            return
        cells = math.ceil(1.1 * cells)  # the first one mostly misses the gap by little


@final
@dataclass(frozen=True, kw_only=True)
class _Rough:
    """The start of a search: the δ for which programs are solved, and a nearly best law for it.

    A solver's tolerances are larger than probabilities far in the tail. So a program is solved for
    a larger `delta`, if one from 1e-4 to 1e-8 worsens the bound by less than a tenth of the gap.
    Afterwards its law is lengthened by `periods` sensitivities (`repair.lengthen`).

    `law` is a truncated staircase for `delta`, and `loss` the loss of such a law for the budget's
    δ. If δ is halved, the loss grows by the fraction `halving` at the budget's δ, and by the
    fraction `growth` at `delta`.
    """

    epsilon: float
    delta: float
    periods: int
    law: TruncatedStaircase
    loss: float
    halving: float
    growth: float

    @property
    def radius(self) -> float:
        """The radius of the support of `law`."""
        return float(self.law.radius)

    @property
    def height(self) -> float:
        """The density of `law` at 0."""
        return float(np.exp(self.law.log_density([0.0])))

    @classmethod
    def of(cls, task: Task, gap: float) -> _Rough:
        epsilon, delta = float(task.budget.epsilon), float(task.budget.delta or _TINY)
        loss = task.loss.of(_staircase(task, delta))
        periods, working = 0, delta
        working_deltas = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
        for candidate in working_deltas:
            if candidate <= delta or epsilon == 0:
                break
            # The bound from there is z − λδ, a tangent of the least loss as a function of δ.
            there, beyond = (
                task.loss.of(_staircase(task, x)) for x in (candidate, 1.2 * candidate)
            )
            tangent = there + (there - beyond) / (0.2 * candidate) * (candidate - delta)
            if loss - tangent <= 0.1 * gap * loss:
                periods = math.floor(math.log(candidate / delta) / epsilon)
                working = delta * math.exp(periods * epsilon)
                break
        law = _staircase(task, working)
        return cls(
            epsilon=epsilon,
            delta=working,
            periods=periods,
            law=law,
            loss=loss,
            halving=task.loss.of(_staircase(task, delta / 2)) / loss - 1,
            growth=task.loss.of(_staircase(task, working / 2)) / task.loss.of(law) - 1,
        )

    def calm(self, cells: int) -> int:
        """A radius n >= 1 in lattice points; if n > 1, `law` exposes no point |i| < n."""
        return max(1, math.floor(cells * (self.radius - 1 - 1 / (1 + self.epsilon))))


def _staircase(task: Task, delta: float) -> TruncatedStaircase:
    budget = Budget(epsilon=task.budget.epsilon, delta=delta)
    try:
        return part_of(TruncatedStaircase, "fit")(Question(budget=budget, loss=task.loss))
    except Refused as error:
        raise NotApplicable(family=task.family, why=str(error)) from error


def _design_on_lattice(
    task: Task, rough: _Rough, cells: int, *, gap: float, allowance: Allowance
) -> Design:
    """The best law found on one lattice and the best bound; each is None if none was found."""
    if cells == 1:
        return _design_in_closed_form(task)
    power = power_of(task.loss)
    # A solver's law misses ε and δ by rounding. So slightly smaller ones are required (relative to
    # e^ε and δ), and a remaining excess of the exact δ is mended by a mixture.
    program = LatticeProgram(
        cells=cells,
        reach=math.ceil(cells * (rough.radius + 1)),
        epsilon=max(0.0, rough.epsilon - 1e-11),
        delta=rough.delta * (1 - 1e-7),
        power=power,
        accuracy=_NEAR * gap if task.scope == "real" else 0.0,
        halving=rough.halving,
        growth=rough.growth if task.scope == "real" else math.inf,
    )
    mending = 1e-7  # if mending a law on the integers costs more, all rows are used
    dearest = _NEAR * gap if task.scope == "real" else mending
    best, rows = Design(law=None, bound=None), None
    for attempt in _attempts(program, rough):
        solved = attempt.solve(allowance=allowance, start=rows)
        if solved is None:
            break
        rows = solved.rows
        bound = None if attempt.calm else _bound(task, repair.make_witness(solved))
        law, cost = _repair_law(task, rough, solved, dearest=dearest)
        best = Design(law=_better(task, best.law, law), bound=_higher(best.bound, bound))
        if cost <= dearest or not task.budget.delta or best.gap <= gap:
            break
    return best


def _design_in_closed_form(task: Task) -> Design:
    """The best law on the integer multiples of the sensitivity, and a lower bound on any loss.

    If the sensitivity is several steps, noise between the multiples is added to the law.
    """
    budget = Budget(epsilon=task.budget.epsilon, delta=task.budget.delta or _TINY)
    weights = closed_form_masses(budget, steps=task.steps, family=task.family)
    prices = closed_form_witness(budget, power=power_of(task.loss), points=len(weights))
    law, _ = examine_law(task, task.steps, fill_masses(weights, task.steps))
    return Design(law=law, bound=_bound(task, fill_prices(prices, task.steps)))


def _is_wide(task: Task, bound: LowerBound | None, gap: float) -> bool:
    """True if the law in closed form is, by an estimate, nearly the best on the integers.

    For several steps, the noise between the multiples of the sensitivity adds at most 1/6 to the
    mse, and the bound is smaller by at most 1/4. To the mae it adds f(0)/6, with a density f(0) of
    about 1/(2 mae). A gap of 1e-4 takes a standard deviation of about 65 sensitivities.
    """
    if bound is None or not bound.value:
        return False
    added = 5 / 12 if task.loss is Loss.MSE else 1 / (12 * bound.value)
    return added <= min(gap, 1e-4) * bound.value


def _attempts(program: LatticeProgram, rough: _Rough) -> Iterator[LatticeProgram]:
    """Yield the programs to solve until one has a law that needs no expensive repair."""
    yield program
    if rough.periods:
        program = replace(program, calm=rough.calm(program.cells))
        yield program
    yield replace(program, structured=False)


def _repair_law(
    task: Task, rough: _Rough, solved: LatticeSolution, *, dearest: float
) -> tuple[Optimal | DiscreteStaircase | None, float]:
    """The solver's law, repaired to be private, and the relative growth of its loss by mixing.

    Slightly exposed points near the centre are covered if the loss grows by at most the fraction
    `dearest`. Then the law is lengthened to the budget's δ. If it still isn't private, it is mixed
    with another law; else the growth is 0. Returns None and inf if there is no law.
    """
    factor, _ = exponential_between(task.budget.epsilon, bits=FACTOR_BITS)
    program, periods = solved.program, rough.periods
    cells, calm = program.cells, rough.calm(program.cells)
    masses = repair.whole_masses(solved, spare=math.ceil(1.45 * periods * program.epsilon))
    if not masses[0] or not task.budget.delta or len(masses) > MAX_POINTS:
        return None, math.inf  # the first mass is 0 if the program was cut short
    if not periods:
        law, _ = examine_law(task, cells, masses)
        if law is not None:
            return law, 0.0
    covered = repair.cover_centre(masses, cells=cells, factor=factor, calm=calm)
    # the first mass is 0 if the law ends too early
    if covered[0] and _growth(covered, masses, program.power) <= dearest:
        masses = repair.lengthen(covered, cells=cells, factor=factor, calm=calm, periods=periods)
    elif periods:
        return None, math.inf
    return mend(task, cells, masses)


def _growth(masses: tuple[int, ...], before: tuple[int, ...], power: int) -> float:
    """The relative growth of the loss from the weights `before` to `masses`.

    The losses are the means of |X|^`power` over laws X with these weights, at a lattice spacing of
    1, which cancels.
    """
    laws = (Optimal(scale=1, cells=1, masses=weights).lattice for weights in (masses, before))
    after, loss = (law.moment(power) for law in laws)
    return after / loss - 1


def mend(
    task: Task, cells: int, masses: tuple[int, ...]
) -> tuple[Optimal | DiscreteStaircase | None, float]:
    """The law of these weights, mixed with another if it isn't private, and the growth of its loss.

    δ is convex in the law, so a mixture with a law for half of δ meets δ at every shift, if that
    law's share is large enough (theory/noise.md §4). Returns None and inf if no law results.
    """
    law, excess = examine_law(task, cells, masses)
    if law is not None or not 0 < excess < math.inf:
        return law, 0.0 if law else math.inf
    other = _staircase(task, float(task.budget.delta) / 2)
    others = repair.round_to_lattice(other.steps, cells=cells, delta=float(task.budget.delta))
    private, slack = examine_law(task, cells, others)
    if private is None:
        return None, math.inf
    spare = 1e-12  # of a mixture's share, for rounding
    mixed = repair.mix(masses, others, share=min(1.0, excess / (excess - slack) + spare))
    law, _ = examine_law(task, cells, mixed)
    return law, _growth(mixed, masses, power_of(task.loss)) if law else math.inf


def examine_law(
    task: Task, cells: int, masses: tuple[int, ...]
) -> tuple[Optimal | DiscreteStaircase | None, float]:
    """The law of these weights, and the relative excess of its exact δ over the budget's δ.

    The law is None unless its δ is proved to be in the budget. At δ = 0, and for too many weights,
    nothing is computed, and the result is None and 0.
    """
    if not task.budget.delta or len(masses) > MAX_POINTS:
        return None, 0.0
    epsilon = task.budget.epsilon
    with precision(192):
        delta = ball(task.budget.delta)
        if task.scope == "real":
            law = Optimal(scale=1, cells=cells, masses=masses)
        else:  # one sensitivity is `cells` steps, each a whole number
            law = DiscreteStaircase(scale=cells, cells=cells, masses=masses)
        enclosure = part_of(type(law), "proof")(law, shift=law.scale, epsilon=epsilon)
        excess = float((enclosure / delta - 1).mid())
        return (law.scaled(1 / law.scale) if enclosure <= delta else None), excess


def _bound(task: Task, witness: Witness) -> LowerBound:
    return LowerBound.prove(
        loss=task.loss,
        epsilon=task.budget.epsilon,
        delta=task.budget.delta,
        witness=witness,
        scope=task.scope,
    )


def _better(
    task: Task,
    first: Optimal | DiscreteStaircase | None,
    second: Optimal | DiscreteStaircase | None,
) -> Optimal | DiscreteStaircase | None:
    laws = [law for law in (first, second) if law is not None]
    return min(laws, key=task.loss.of, default=None)


def _higher(first: LowerBound | None, second: LowerBound | None) -> LowerBound | None:
    bounds = [bound for bound in (first, second) if bound is not None]
    return max(bounds, key=lambda bound: bound.value, default=None)
