"""The proved lower bound on the loss of any noise for a question, if one is known."""

from __future__ import annotations

from leastnoise.design import body_bound, find
from leastnoise.design.effort import Effort
from leastnoise.design.find import VectorTask
from leastnoise.design.lower_bound import LowerBound, power_of
from leastnoise.design.refine import Task
from leastnoise.errors import CertificateRejected, NotApplicable
from leastnoise.guarantees.sensitivity import L2, Sensitivity
from leastnoise.noise.question import Loss, Question
from leastnoise.selection.comparison import BestPossible


def find_fine_gap(question: Question) -> float | None:
    """Return the gap that a bound is computed to if nobody says; None for a vector."""
    task = _task(question)
    return find.fine_gap(task) if isinstance(task, Task) else None


def find_best_possible(
    question: Question, effort: Effort, *, vectors: bool = True
) -> BestPossible | None:
    """Return the bound on noise for this very question that `effort` finds; None if none can be.

    At δ = 0 it follows from the volume of the shifts. Else a linear program finds it: for one
    number the one that designs the best noise, which the same effort has mostly done before; for a
    vector, unless `vectors` is false, one that takes about a quarter of a minute.
    """
    bound = bound_by_volume(question)
    if bound is not None:
        return BestPossible(value=bound.value, bound=bound)
    task, radius = _task(question), question.radius("l2")
    if task is None or radius is None or (isinstance(task, VectorTask) and not vectors):
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
    return BestPossible(value=bound.at_sensitivity(radius), bound=bound)


def bound_by_volume(question: Question) -> LowerBound | None:
    """Return a bound of purely private noise, by the volume of the shifts, in milliseconds."""
    shifts = _all_shifts(question)
    if question.budget.delta or shifts is None or not question.once:
        return None
    epsilon, loss = question.budget.epsilon, question.loss
    witness = body_bound.propose(
        shifts, dimension=question.dimension, epsilon=epsilon, power=power_of(loss)
    )
    if witness is None:
        return None
    try:
        return LowerBound.prove(loss=loss, epsilon=epsilon, delta=0, witness=witness)
    except CertificateRejected:
        return None


def _all_shifts(question: Question) -> Sensitivity | None:
    """Return a sensitivity whose shifts are those, and all of those, that noise has to hide.

    Of several that hold at once, that is their intersection: of balls, the smallest. None where
    that isn't known, and for whole numbers.
    """
    offered = set(question.sensitivities)
    if question.dimension == 1 and _in_whole_steps(question):
        return None
    if question.dimension == 1 or all(isinstance(one, L2) for one in offered):
        radius = question.radius("l2")
        return L2(radius) if radius else None
    return offered.pop() if len(offered) == 1 else None


def _task(question: Question) -> Task | VectorTask | None:
    """Return the problem that a linear program bounds; None if there is none for this query."""
    if not question.once:
        return None
    if question.dimension > 1:
        balls = all(isinstance(one, L2) for one in question.sensitivities)
        if question.loss is not Loss.MSE or not balls:
            return None
        return VectorTask(budget=question.budget, dimension=question.dimension)
    if _in_whole_steps(question):
        return find.integer_task(question)
    return Task(budget=question.budget, loss=question.loss)


def _in_whole_steps(question: Question) -> bool:
    """Whether one number moves by whole numbers alone, so that less noise may do."""
    return question.radius("integer") is not None
