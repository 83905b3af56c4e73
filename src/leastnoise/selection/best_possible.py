"""How good any noise could be for a problem: the proved bound that is about it, if there is one."""

from __future__ import annotations

from fractions import Fraction

from leastnoise.design import body_bound, find
from leastnoise.design.effort import Effort
from leastnoise.design.find import VectorTask
from leastnoise.design.lower_bound import LARGEST_EPSILON, LowerBound, power_of
from leastnoise.design.refine import Task
from leastnoise.errors import CertificateRejected, NotApplicable
from leastnoise.guarantees.sensitivity import L2, Sensitivity
from leastnoise.noise.loss import Loss
from leastnoise.noise.request import Request
from leastnoise.selection.comparison import BestPossible
from leastnoise.selection.fit import Problem


def fine_gap(problem: Problem) -> float | None:
    """Return the gap that a bound is computed to if nobody says; None for a vector."""
    task = _task(problem)
    return find.fine_gap(task) if isinstance(task, Task) else None


def best_possible(problem: Problem, effort: Effort, *, vectors: bool = True) -> BestPossible | None:
    """Return the bound on the noise for this very problem that `effort` finds; None if none can be.

    At δ = 0 it follows from the volume of the shifts. Else a linear program finds it: for one
    number the one that designs the best noise, which the same effort has mostly done before; for a
    vector, unless `vectors` is false, one that takes about a quarter of a minute.
    """
    bound = from_volume(problem)
    if bound is not None:
        return BestPossible(value=bound.value, bound=bound)
    task = _task(problem)
    if task is None or (isinstance(task, VectorTask) and not vectors):
        return None
    try:
        if isinstance(task, VectorTask):
            bound = find.find_bound(task, effort=effort)
        else:
            bound = find.find_design(task, effort).bound
    except NotApplicable:
        return None
    if bound is None:
        return None
    return BestPossible(value=bound.at_sensitivity(_radius(problem.offered)), bound=bound)


def from_volume(problem: Problem) -> LowerBound | None:
    """Return what the volume of the shifts proves of purely private noise, in milliseconds."""
    shifts = _all_shifts(problem)
    if problem.budget.delta or shifts is None or not _is_plain(problem):
        return None
    if problem.budget.epsilon > LARGEST_EPSILON:
        return None
    epsilon, loss = problem.budget.epsilon, problem.loss
    witness = body_bound.propose(
        shifts, dimension=problem.dimension, epsilon=epsilon, power=power_of(loss)
    )
    if witness is None:
        return None
    try:
        return LowerBound.prove(loss=loss, epsilon=epsilon, delta=0, witness=witness)
    except CertificateRejected:
        return None


def _is_plain(problem: Problem) -> bool:
    """Say whether it is one release of all rows, which is what bounds are about."""
    return problem.compositions == 1 and problem.sampling_rate == 1


def _all_shifts(problem: Problem) -> Sensitivity | None:
    """Return a sensitivity whose shifts are those, and all of those, that noise has to hide.

    Of several that hold at once, that is their intersection: of balls, the smallest. None where
    that isn't known, and for whole numbers.
    """
    offered = set(problem.offered)
    if problem.dimension == 1:
        return None if _in_whole_steps(problem.offered) else L2(_radius(problem.offered))
    if all(isinstance(one, L2) for one in offered):
        return L2(_radius(problem.offered))
    return offered.pop() if len(offered) == 1 else None


def _task(problem: Problem) -> Task | VectorTask | None:
    """Return the problem that a linear program bounds; None if there is none for this query."""
    budget, loss, offered = problem.budget, problem.loss, problem.offered
    if not _is_plain(problem):
        return None
    if problem.dimension > 1:
        balls = loss is Loss.MSE and all(isinstance(one, L2) for one in offered)
        return VectorTask(budget=budget, dimension=problem.dimension) if balls else None
    if _in_whole_steps(offered):
        return find.integer_task(Request(budget=budget, loss=loss, shift=_radius(offered)))
    return Task(budget=budget, loss=loss)


def _in_whole_steps(offered: tuple[Sensitivity, ...]) -> bool:
    """Say whether one number moves by whole numbers alone, so that less noise may do."""
    return any(one.radius("integer", dimension=1) is not None for one in offered)


def _radius(offered: tuple[Sensitivity, ...]) -> Fraction:
    """Return the radius of the smallest ball, or interval, of those offered."""
    radii = (one.radius("l2", dimension=1) for one in offered)
    return min(radius for radius in radii if radius is not None)
