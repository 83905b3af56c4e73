"""Bounds on the noise of a vector: from the cache if they are there and hold, else made and kept.

Only for mse. A law may be averaged over rotations without changing E‖X‖₂², so that spherical laws
are as good as any. E‖X‖₁ does change: it is smaller for noise along the axes, and what holds for
spherical laws alone would be no bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from leastnoise.design import cache, radial_dual
from leastnoise.design.effort import Effort
from leastnoise.design.lower_bound import LowerBound
from leastnoise.errors import LeastnoiseError
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text
from leastnoise.noise.question import Loss


@final
@dataclass(frozen=True, kw_only=True)
class VectorTask:
    """A bound for `dimension` >= 2 numbers and every shift of length at most 1."""

    budget: Budget
    dimension: int


def cached(task: VectorTask, effort: Effort) -> LowerBound | None:
    """Return the stored bound that `effort` finds for `task`, if it can be proved again."""
    record = cache.load(_key(task, effort))
    if record is None:
        return None
    try:
        bound = LowerBound.from_json(str(record["bound"]))
        bound.verify()
    except (LeastnoiseError, ValueError, TypeError, KeyError, ArithmeticError):
        return None
    about = bound.is_about(budget=task.budget, loss=Loss.MSE, dimension=task.dimension)
    return bound if about else None


def prove(task: VectorTask, *, effort: Effort) -> LowerBound:
    """Return the proved bound that `effort` finds, from the cache if there is one there.

    Raises NotApplicable if no linear program was solved, or the noise is too wide for its grid.
    """
    found = cached(task, effort)
    if found is not None:
        return found
    witness = radial_dual.propose(task.budget, task.dimension, effort=effort)
    bound = LowerBound.prove(
        loss=Loss.MSE, epsilon=task.budget.epsilon, delta=task.budget.delta, witness=witness
    )
    cache.store(_key(task, effort), {"bound": bound.to_json()})
    return bound


def _key(task: VectorTask, effort: Effort) -> str:
    numbers = (decimal_text(task.budget.epsilon), decimal_text(task.budget.delta))
    return " ".join(("vector", Loss.MSE.value, *numbers, str(task.dimension), effort.limit))
