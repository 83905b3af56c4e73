"""Load designs and bounds from the cache if they can be proved again; else compute and store them.

A design takes seconds to find and milliseconds to prove again. Nothing in a cached file is trusted:
its bound is proved from its witness, and its law's δ is evaluated again. A file that is damaged or
states something false is ignored.

Bounds on the noise of a vector are only for mse. Averaging a law over rotations doesn't change
E‖X‖₂², so spherical laws are as good as any. It does change E‖X‖₁, which is smaller for noise along
the axes, so a bound for spherical laws would not hold for all noise.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import final

from leastnoise._files import write_file
from leastnoise.design.bounds.lower_bound import LowerBound
from leastnoise.design.programs import radial, radial_dual
from leastnoise.design.programs.effort import Effort
from leastnoise.design.programs.refine import Design, Task, examine_law, refine
from leastnoise.errors import InvalidArgument, LeastnoiseError, NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.exact import decimal_text
from leastnoise.noise import DiscreteStaircase, Optimal
from leastnoise.noise.base import Noise
from leastnoise.noise.question import Loss, Question

_VERSION = 1  # of the records in the cache


def cache_folder() -> Path:
    """Leastnoise's folder within the platform's folder for a user's caches.

    `LEASTNOISE_CACHE` overrides it.
    """
    if override := os.environ.get("LEASTNOISE_CACHE"):
        return Path(override)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "leastnoise"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "leastnoise"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "leastnoise"


def load_record(key: str) -> dict[str, object] | None:
    """The record that was stored under `key`; None if there is no usable record."""
    try:
        path = _path(key)
        if path.stat().st_size > 20_000_000:
            return None
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError, RecursionError):  # RuntimeError: no home folder
        return None
    matches = isinstance(record, dict) and record.get("key") == key
    return record if matches and record.get("version") == _VERSION else None


def store_record(key: str, record: dict[str, object]) -> None:
    """Store `record` under `key`, whole or not at all; if the disk can't be written, do nothing."""
    with contextlib.suppress(OSError, RuntimeError, LeastnoiseError):
        path = _path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, json.dumps(record | {"key": key, "version": _VERSION}))


def _path(key: str) -> Path:
    return cache_folder() / f"design-{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


GAP = 0.005
FINE_GAP = 0.0005
MOST_STEPS = 40
"""The largest integer sensitivity; beyond it the linear program is too large."""
_USUAL = Effort()


def load_design(task: Task, effort: Effort = _USUAL) -> Design | None:
    """The stored design that `effort` finds for `task`, if it can be proved again; else None."""
    record = load_record(_key(task, effort))
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
    law, _ = examine_law(task, cells, tuple(masses))
    if law is None:
        raise ValueError("not private")
    return law


def plain_gap(task: Task) -> float:
    """The relative gap between a design's loss and its bound that a search aims at by default."""
    return GAP if task.budget.epsilon <= 5 else 0.02  # a smaller gap takes minutes for larger ε


def fine_gap(task: Task) -> float:
    """For ε <= 2, a smaller gap than `plain_gap`, which a search still reaches in seconds.

    For a larger ε it is `plain_gap`.
    """
    return FINE_GAP if task.budget.epsilon <= 2 else plain_gap(task)


def find_design(task: Task, effort: Effort = _USUAL) -> Design:
    """A law for `task`, and a lower bound on the loss of every law.

    The law's loss exceeds the bound by at most the relative gap of `effort`, or else the best
    design that was found is returned. Its law is None if no private law was found, as at δ = 0.
    Without a time limit the result doesn't depend on earlier results: the cache only saves time.
    Raises NotApplicable as `refine` does.
    """
    gap = _gap(task, effort)
    stored = load_design(task, effort)
    if stored is not None and (effort.seconds is None or stored.gap <= gap):
        return stored
    design = refine(task, gap=gap, effort=effort)
    if design.bound is not None:
        masses = None if design.law is None else list(design.law.masses)
        cells = None if design.law is None else design.law.cells
        record: dict[str, object] = {
            "bound": design.bound.to_json(),
            "masses": masses,
            "cells": cells,
        }
        store_record(_key(task, effort), record)
    return design


def _gap(task: Task, effort: Effort) -> float:
    return plain_gap(task) if effort.gap is None else effort.gap


def _key(task: Task, effort: Effort) -> str:
    budget = task.budget
    numbers = (decimal_text(budget.epsilon), decimal_text(budget.delta), str(task.steps))
    limits = repr(_gap(task, effort)), effort.limit
    return " ".join((task.scope, task.loss.value, *numbers, *limits))


def optimal(question: Question, *, effort: Effort) -> Noise:
    """The law of the family `optimal` for `question`, for the sensitivity 1.

    Its loss exceeds a proved lower bound by at most the gap of `effort`, unless the limit of
    `effort` ends the search before. Raises NotApplicable if no law was found, as at δ = 0, and
    InvalidArgument for fixed parameters.
    """
    _refuse_fixed(question.fixed, "optimal")
    design = find_design(Task(budget=question.budget, loss=question.loss), effort)
    if design.law is None:
        raise NotApplicable(family="optimal", why="no private law was found on the lattices tried")
    return design.law


def discrete_staircase(question: Question, *, effort: Effort) -> Noise:
    """A law on the integers, for a query that moves by at most the sensitivity.

    Its loss exceeds a proved lower bound by at most the gap of `effort`, unless the limit of
    `effort` ends the search before. The unit of length is the sensitivity, rounded down to an
    integer. Raises NotApplicable if `integer_task` is None or no law was found, InvalidArgument for
    fixed parameters.
    """
    _refuse_fixed(question.fixed, DiscreteStaircase.name)
    task = integer_task(question)
    if task is None:
        raise NotApplicable(
            family=DiscreteStaircase.name,
            why=f"it is computed for a sensitivity of at most {MOST_STEPS}",
        )
    design = find_design(task, effort)
    if design.law is None:
        raise NotApplicable(
            family=DiscreteStaircase.name, why="no private law was found on the integers"
        )
    return design.law


def optimal_radial(question: Question, *, effort: Effort) -> Noise:
    """The law of the family `optimal-radial`; see `radial`.

    Raises InvalidArgument if a gap is set, since it isn't known during the search.
    """
    if effort.gap is not None:
        raise InvalidArgument(
            name="gap",
            value=effort.gap,
            expected="no gap for vectors, since it isn't known during the design",
        )
    return radial.search(question, effort=effort)


def integer_task(question: Question) -> Task | None:
    """The design task on the integers, for the sensitivity rounded down to an integer.

    None if this integer isn't from 1 to MOST_STEPS.
    """
    longest = question.radius("l2")  # for one number all norms agree
    steps = math.floor(longest) if longest else 0
    if not 1 <= steps <= MOST_STEPS:
        return None
    return Task(budget=question.budget, loss=question.loss, scope="integer", steps=steps)


def _refuse_fixed(fixed: Mapping[str, Fraction | int], family: str) -> None:
    if fixed:
        raise InvalidArgument(
            name="parameter",
            value=", ".join(fixed),
            expected=f"no fixed parameters: {family} finds its own",
        )


@final
@dataclass(frozen=True, kw_only=True)
class VectorTask:
    """The task of a lower bound for `dimension` >= 2 numbers and all shifts of l2 length <= 1."""

    budget: Budget
    dimension: int


def load_bound(task: VectorTask, effort: Effort) -> LowerBound | None:
    """The stored bound that `effort` finds for `task`, if it can be proved again; else None."""
    record = load_record(_bound_key(task, effort))
    if record is None:
        return None
    try:
        bound = LowerBound.from_json(str(record["bound"]))
        bound.verify()
    except (LeastnoiseError, ValueError, TypeError, KeyError, ArithmeticError):
        return None
    about = bound.is_about(budget=task.budget, loss=Loss.MSE, dimension=task.dimension)
    return bound if about else None


def find_bound(task: VectorTask, *, effort: Effort) -> LowerBound:
    """Compute the proved bound that `effort` allows, or load it if it is stored.

    Raises NotApplicable if no bound above 0 was proved, or the noise is too wide for the grid.
    """
    stored = load_bound(task, effort)
    if stored is not None:
        return stored
    witness = radial_dual.propose(task.budget, task.dimension, effort=effort)
    bound = LowerBound.prove(
        loss=Loss.MSE, epsilon=task.budget.epsilon, delta=task.budget.delta, witness=witness
    )
    store_record(_bound_key(task, effort), {"bound": bound.to_json()})
    return bound


def _bound_key(task: VectorTask, effort: Effort) -> str:
    numbers = (decimal_text(task.budget.epsilon), decimal_text(task.budget.delta))
    return " ".join(("vector", Loss.MSE.value, *numbers, str(task.dimension), effort.limit))
