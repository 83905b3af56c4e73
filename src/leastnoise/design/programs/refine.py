"""Designs on ever finer lattices, until a law is proved to be within a gap of the best possible."""

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
)
from leastnoise.errors import NotApplicable, Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.noise import DiscreteStaircase, Optimal, TruncatedStaircase
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.registry import part_of

_NEAR = 0.05  # of the gap: what a step of the design may cost
_TINY = Fraction(1, 10**12)  # stands for δ = 0, where there is a bound but no law of bounded range


@final
@dataclass(frozen=True, kw_only=True)
class Task:
    """What is designed: a law for a worst shift of 1, and a bound on every such law.

    "integer" means a query of whole numbers, which moves by at most `steps` of them.
    """

    budget: Budget
    loss: Loss
    scope: Scope = "real"
    steps: int = 1

    @property
    def family(self) -> str:
        """The name of the family that is designed."""
        return (Optimal if self.scope == "real" else DiscreteStaircase).name


@final
@dataclass(frozen=True, kw_only=True)
class Design:
    """`law` (None where there is none, at δ = 0) and the `bound` that says how good it is."""

    law: Optimal | DiscreteStaircase | None
    bound: LowerBound | None

    @property
    def gap(self) -> float:
        """Loss of the law over the bound, minus 1; inf if one of them is missing."""
        if self.law is None or self.bound is None or self.bound.value <= 0:
            return math.inf
        return max(0.0, self.bound.loss.of(self.law) / self.bound.value - 1)


def refine(task: Task, *, gap: float, effort: Effort) -> Design:
    """Return the best design found: within `gap`, or whatever there is after that `effort`.

    Law and bound may come from different lattices. Raises NotApplicable if none could be solved.
    """
    if task.scope == "integer" and task.steps == 1:
        return _in_closed_form(task)
    allowance = effort.begin()
    best = Design(law=None, bound=None)
    rough = _Rough.of(task, gap)
    for cells in _cell_counts(task, rough, gap):
        if allowance.spent:
            break
        if effort.progress:
            shown = "" if math.isinf(best.gap) else f", now within {100 * best.gap:.2g} %"
            effort.progress(f"Designing noise on {cells} cells a sensitivity{shown}")
        most = allowance.part(0.6)  # of what is left goes to one lattice
        found = _on_lattice(task, rough, cells, gap=gap, allowance=most)
        best = Design(
            law=_better(task, best.law, found.law), bound=_higher(best.bound, found.bound)
        )
        if best.gap <= gap or (best.bound and not task.budget.delta):  # at δ = 0 there is no law
            break
    if best.bound is None:
        why = "no linear program was solved with the effort allowed"
        raise NotApplicable(family=task.family, why=why)
    return best


def _cell_counts(task: Task, rough: _Rough, gap: float) -> Iterator[int]:
    """Yield rising numbers of cells; whole numbers have but one lattice."""
    if task.scope == "integer":
        yield task.steps
        return
    # the best law's loss exceeds the bound by f(0)h²/4 (mae) or h²/3 (mse) (theory/noise.md §4)
    excess = rough.height / 4 if task.loss is Loss.MAE else 1 / 3
    finer = 1.06  # than the formula's number of cells, so that the first lattice mostly is enough
    cells = max(1, math.ceil(finer * math.sqrt(excess / (gap * rough.loss))))
    most_rows = 2_500_000  # the rows of one program, of which few are solved with: 200 MB
    most = max(1, int(math.sqrt(most_rows / (rough.radius + 1.5))))
    coarser = cells
    quick = 64  # cells: what takes a second or so
    while coarser > quick:  # have something first
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
    """Where to search: a law that is nearly the best, and the δ that programs are solved for.

    Deep tails drown in a solver's tolerances. So a program is solved at a `delta` of about the
    largest power of ten at which its bound costs less than a tenth of the gap, and `periods`
    sensitivities are let into its law afterwards (`repair.lengthen`).
    """

    epsilon: float
    delta: float
    periods: int
    law: TruncatedStaircase
    loss: float
    halving: float
    growth: float  # of the loss at half of `delta`

    @property
    def radius(self) -> float:
        """Where the law at that δ ends."""
        return float(self.law.radius)

    @property
    def height(self) -> float:
        """Its density at 0."""
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
        """Return the points, from the centre, that need not be exposed."""
        return max(1, math.floor(cells * (self.radius - 1 - 1 / (1 + self.epsilon))))


def _staircase(task: Task, delta: float) -> TruncatedStaircase:
    budget = Budget(epsilon=task.budget.epsilon, delta=delta)
    try:
        return part_of(TruncatedStaircase, "fit")(Question(budget=budget, loss=task.loss))
    except Refused as error:
        raise NotApplicable(family=task.family, why=str(error)) from error


def _on_lattice(
    task: Task, rough: _Rough, cells: int, *, gap: float, allowance: Allowance
) -> Design:
    """Return the best law on one lattice and its bound, each None if it couldn't be had."""
    if cells == 1:
        return _in_closed_form(task)
    power = power_of(task.loss)
    # A solver's law misses ε and δ by rounding: it is asked for a little less (relative to e^ε and
    # δ), and what its exact δ is still too large by is mended by a mixture.
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
    mending = 1e-7  # what mending a law on whole numbers may cost before all rows are tried
    dearest = _NEAR * gap if task.scope == "real" else mending
    best, rows = Design(law=None, bound=None), None
    for attempt in _attempts(program, rough):
        solved = attempt.solve(allowance=allowance, start=rows)
        if solved is None:
            break
        rows = solved.rows
        bound = None if attempt.calm else _bound(task, repair.witness(solved))
        law, cost = _law(task, rough, solved, dearest=dearest)
        best = Design(law=_better(task, best.law, law), bound=_higher(best.bound, bound))
        if cost <= dearest or not task.budget.delta or best.gap <= gap:
            break
    return best


def _in_closed_form(task: Task) -> Design:
    """Return the best law on the lattice of whole sensitivities, and its bound."""
    budget = Budget(epsilon=task.budget.epsilon, delta=task.budget.delta or _TINY)
    weights = closed_form_masses(budget, family=task.family)
    prices = closed_form_witness(budget, power=power_of(task.loss), points=len(weights))
    law, _ = examine_law(task, 1, weights)
    return Design(law=law, bound=_bound(task, prices))


def _attempts(program: LatticeProgram, rough: _Rough) -> Iterator[LatticeProgram]:
    """Yield the programs to solve until one's law needs no dear repair."""
    yield program
    if rough.periods:
        program = replace(program, calm=rough.calm(program.cells))
        yield program
    yield replace(program, structured=False)


def _law(
    task: Task, rough: _Rough, solved: LatticeSolution, *, dearest: float
) -> tuple[Optimal | DiscreteStaircase | None, float]:
    """Return the solver's law, repaired to be private, and by how much of itself its loss grew.

    Where the centre is a little exposed, it is covered if that costs at most `dearest`. What is
    exposed then is mended by a mixture. Returns None and inf if there is no law.
    """
    factor, _ = exponential_between(task.budget.epsilon, bits=FACTOR_BITS)
    program, periods = solved.program, rough.periods
    cells, calm = program.cells, rough.calm(program.cells)
    masses = repair.whole_masses(solved, spare=math.ceil(1.45 * periods * program.epsilon))
    if not masses[0] or not task.budget.delta or len(masses) > MAX_POINTS:
        return None, math.inf  # the first is 0 in a program cut short
    if not periods:
        law, _ = examine_law(task, cells, masses)
        if law is not None:
            return law, 0.0
    covered = repair.cover_centre(masses, cells=cells, factor=factor, calm=calm)
    if (
        covered[0] and _growth(covered, masses, program.power) <= dearest
    ):  # 0: the law ends so early
        masses = repair.lengthen(covered, cells=cells, factor=factor, calm=calm, periods=periods)
    elif periods:
        return None, math.inf
    return mend(task, cells, masses)


def _growth(masses: tuple[int, ...], before: tuple[int, ...], power: int) -> float:
    """Return by how much of itself the loss of a law on a lattice, however fine, grew."""
    laws = (Optimal(scale=1, cells=1, masses=own).lattice for own in (masses, before))
    after, loss = (law.moment(power) for law in laws)
    return after / loss - 1


def mend(
    task: Task, cells: int, masses: tuple[int, ...]
) -> tuple[Optimal | DiscreteStaircase | None, float]:
    """Return the law of these weights, mixed with another if it isn't private; and what that costs.

    δ is convex in the law: a mixture with one for half of δ, the share of which is just large
    enough, meets δ at every shift (theory/noise.md §4).
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
    """Return the law of these weights if its exact δ is in the budget, and the excess over it."""
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
    task: Task, one: Optimal | DiscreteStaircase | None, other: Optimal | DiscreteStaircase | None
) -> Optimal | DiscreteStaircase | None:
    laws = [law for law in (one, other) if law is not None]
    return min(laws, key=task.loss.of, default=None)


def _higher(one: LowerBound | None, other: LowerBound | None) -> LowerBound | None:
    bounds = [bound for bound in (one, other) if bound is not None]
    return max(bounds, key=lambda bound: bound.value, default=None)
