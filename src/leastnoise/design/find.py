"""Designs by task: from the cache if they are there and hold, else made and kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from leastnoise import _validate
from leastnoise.design import cache, radial
from leastnoise.design.lower_bound import LowerBound
from leastnoise.design.refine import Design, Progress, Task, examined, refine
from leastnoise.errors import InvalidArgument, LeastnoiseError, NotApplicable
from leastnoise.guarantees.exact import decimal_text
from leastnoise.noise.base import Noise
from leastnoise.noise.lattice.law.discrete_staircase import DiscreteStaircase
from leastnoise.noise.lattice.law.optimal import Optimal
from leastnoise.noise.request import Request

GAP = 0.005
FINE_GAP = 0.0005
_FINE_EPSILON = 2  # up to which FINE_GAP takes some seconds
_LARGE_GAP, _LARGE_EPSILON = 0.02, 5  # beyond which less than that takes minutes
SECONDS = 60.0
MOST_STEPS = 40
"""A linear program for a whole-number sensitivity beyond this is too large."""


@final
@dataclass(frozen=True, kw_only=True)
class Effort:
    """How near to the best possible a design has to be, and how long it is worth trying.

    `gap` is relative (0.005 is half a per cent; None leaves it to who designs), `seconds` the time
    after which the best so far is taken; `progress` is told the stages. Raises InvalidArgument for
    a gap or a time that isn't positive.
    """

    gap: float | None = None
    seconds: float = SECONDS
    progress: Progress | None = None

    def __post_init__(self) -> None:
        _validate.listener(self.progress)
        if self.gap is not None:
            object.__setattr__(self, "gap", _validate.real(self.gap, name="gap"))
        object.__setattr__(self, "seconds", _validate.real(self.seconds, name="time_limit"))
        if self.gap is not None and not 0 < self.gap < 1:
            raise InvalidArgument(
                name="gap",
                value=self.gap,
                expected="0 < gap < 1",
                hint="Half a per cent is 0.005.",
            )
        if not 0 < self.seconds < math.inf:
            raise InvalidArgument(
                name="time_limit", value=self.seconds, expected="a positive number of seconds"
            )


def cached(task: Task) -> Design | None:
    """Return the stored design for `task` if there is one and it can be proved again."""
    record = cache.load(_key(task))
    if record is None:
        return None
    try:
        bound = LowerBound.from_json(str(record["bound"]))
        bound.verify()
        steps = task.steps if task.scope == "integer" else None
        if not bound.is_about(budget=task.budget, loss=task.loss, steps=steps):
            return None
        law = _law_of(task, record)
    except (LeastnoiseError, ValueError, TypeError, KeyError, ArithmeticError):
        return None
    return Design(law=law, bound=bound)


def _law_of(task: Task, record: Mapping[str, object]) -> Optimal | DiscreteStaircase | None:
    masses = record["masses"]
    if masses is None:
        return None
    cells = record["cells"]
    if not (
        isinstance(masses, list) and type(cells) is int and all(type(m) is int for m in masses)
    ):
        raise ValueError("malformed masses")
    if task.scope == "integer" and cells != task.steps:
        raise ValueError("another lattice")
    law, _ = examined(task, cells, tuple(masses))
    if law is None:
        raise ValueError("not private")
    return law


def plain_gap(task: Task) -> float:
    """Return the gap that a law is designed for, if none is asked for."""
    return GAP if task.budget.epsilon <= _LARGE_EPSILON else _LARGE_GAP


def fine_gap(task: Task) -> float:
    """Return the gap that can be had in well under a minute."""
    return FINE_GAP if task.budget.epsilon <= _FINE_EPSILON else plain_gap(task)


def design(
    task: Task, *, gap: float = GAP, seconds: float = SECONDS, progress: Progress | None = None
) -> Design:
    """Return a design within `gap` of the best possible, or the best found in about `seconds`.

    What was found before is taken from the cache if it is fine enough; raises NotApplicable if
    nothing could be found.
    """
    found = cached(task)
    wanted = found is not None and (found.gap <= gap or not task.budget.delta)
    if found is not None and (wanted or task.scope == "integer"):
        return found
    made = refine(task, gap=gap, seconds=seconds, progress=progress)
    if found is not None and found.gap <= made.gap:
        return found
    if made.bound is not None:
        masses = None if made.law is None else list(made.law.masses)
        cells = None if made.law is None else made.law.cells
        cache.store(_key(task), {"bound": made.bound.to_json(), "masses": masses, "cells": cells})
    return made


def _key(task: Task) -> str:
    budget = task.budget
    numbers = (decimal_text(budget.epsilon), decimal_text(budget.delta), str(task.steps))
    return " ".join((task.scope, task.loss.value, *numbers))


def optimal(request: Request, *, effort: Effort) -> Noise:
    """Return the law of the family `optimal` for `request`, as good as `effort` asks.

    Raises NotApplicable if no program could be solved, InvalidArgument for fixed parameters.
    """
    _refuse_fixed(request.fixed, "optimal")
    found = _designed(Task(budget=request.budget, loss=request.loss), effort)
    if found.law is None:
        raise NotApplicable(family="optimal", why="no private law was found on the lattices tried")
    return found.law


def discrete_staircase(request: Request, *, effort: Effort) -> Noise:
    """Return the best law on the whole numbers, for a query that moves by at most request.shift.

    Lengths are in units of that shift. Raises NotApplicable if the shift is too large for the
    linear program, InvalidArgument for fixed parameters.
    """
    _refuse_fixed(request.fixed, DiscreteStaircase.name)
    task = integer_task(request)
    if task is None:
        raise NotApplicable(
            family=DiscreteStaircase.name,
            why=f"it is computed for a sensitivity of at most {MOST_STEPS}",
        )
    found = _designed(task, effort)
    if found.law is None:
        raise NotApplicable(
            family=DiscreteStaircase.name, why="no private law was found on the whole numbers"
        )
    return found.law


def optimal_radial(request: Request, *, effort: Effort) -> Noise:
    """Return the law of the family `optimal-radial`, which has no gap to ask for; see `radial`."""
    if effort.gap is not None:
        raise InvalidArgument(
            name="gap",
            value=effort.gap,
            expected="no gap for vectors: it isn't known while designing",
        )
    return radial.search(request, seconds=effort.seconds)


def _designed(task: Task, effort: Effort) -> Design:
    gap = plain_gap(task) if effort.gap is None else effort.gap
    return design(task, gap=gap, seconds=effort.seconds, progress=effort.progress)


def integer_task(request: Request) -> Task | None:
    """Return the task of the whole-number problem, None where it is too large."""
    steps = math.floor(request.shift)
    if not 1 <= steps <= MOST_STEPS:
        return None
    return Task(budget=request.budget, loss=request.loss, scope="integer", steps=steps)


def _refuse_fixed(fixed: Mapping[str, Fraction | int], family: str) -> None:
    if fixed:
        raise InvalidArgument(
            name="parameter",
            value=", ".join(fixed),
            expected=f"no fixed parameters: {family} finds its own",
        )
