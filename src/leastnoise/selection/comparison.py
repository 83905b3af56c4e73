"""The result of a comparison: candidates, ranked; the families that were skipped; and a bound.

A lower bound on the loss of any noise for a question is proved, if one is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from leastnoise import _words
from leastnoise._notebooks import Framed, Shown
from leastnoise.design.bounds import body_bound
from leastnoise.design.bounds.lower_bound import LowerBound, power_of
from leastnoise.design.programs import find
from leastnoise.design.programs.effort import Effort
from leastnoise.design.programs.find import VectorTask
from leastnoise.design.programs.refine import Task
from leastnoise.errors import CertificateRejected, NotApplicable
from leastnoise.guarantees.sensitivity import L2, Sensitivity
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.noise.question import Loss, Question
from leastnoise.selection.constructions import BALL

if TYPE_CHECKING:
    from leastnoise._notebooks import Columns


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


@final
@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A proved mechanism, and the seconds that finding and proving it took.

    `construction` names how the noise is fitted to the sensitivity: "ball" if it is added as it is.
    `note` says where the search ended before it was done, if it did.
    """

    mechanism: Mechanism
    construction: str
    search_seconds: float
    proof_seconds: float
    note: str | None = None

    def __repr__(self) -> str:
        seconds = _words.number(round(self.search_seconds + self.proof_seconds, 1))
        note = f"; {self.note}" if self.note else ""
        error = _words.number(self.mechanism.mse)
        return _words.line("Candidate", f"{self.label}, mse {error}, proved in {seconds} s{note}")

    @property
    def mae(self) -> float | None:
        """E‖error‖₁ of a release; None where no closed form of it is known."""
        return mae_of(self.mechanism)

    @property
    def label(self) -> str:
        """The noise, and how it is fitted unless it is added as it is: "l2 (ellipse)"."""
        name = self.mechanism.noise.name
        return name if self.construction == BALL else f"{name} ({self.construction})"


@final
@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A noise family that can't serve, and why."""

    name: str
    why: str

    def __repr__(self) -> str:
        return _words.line("Skipped", f"{self.name}, {self.why}")


@final
@dataclass(frozen=True, kw_only=True)
class BestPossible:
    """`value`: no noise for this query and budget has a smaller loss, as `bound` proves.

    `bound` is for sensitivity 1, `value` for the sensitivity asked.
    """

    value: float
    bound: LowerBound

    def __repr__(self) -> str:
        least = f"no noise has less {self.bound.loss} than {_words.round_down(self.value)}"
        return _words.line("BestPossible", least)


@final
@dataclass(frozen=True, kw_only=True)
class Comparison(Framed, Shown):
    """Every family: those that can serve, best first by `loss`, and those that can't.

    `best_possible` is there if a bound for this very problem is proved.

    As a frame it has a row a candidate, best first, with the columns `noise`, `construction` (see
    `Candidate`), `scale`, `mse` and `mae` (totals over the coordinates; `mae` is missing where no
    closed form is known), `search_seconds`, `proof_seconds` and `note`.
    """

    loss: Loss
    candidates: tuple[Candidate, ...]
    skipped: tuple[Skipped, ...]
    best_possible: BestPossible | None = None

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The proved mechanisms, best first."""
        return tuple(candidate.mechanism for candidate in self.candidates)

    @property
    def why_none(self) -> str:
        """Why no family can serve, one by one."""
        reasons = "; ".join(f"{skipped.name}: {skipped.why}" for skipped in self.skipped)
        return f"No noise family can serve this query. {reasons}."

    @property
    def gap(self) -> float | None:
        """How far, at most, the best candidate's loss is above the best possible; relative.

        None without a bound, and where the bound is about noise on the whole numbers and the
        candidate isn't on them.
        """
        if self.best_possible is None or self.best_possible.value <= 0 or not self.candidates:
            return None
        best = self.mechanisms[0].noise
        if self.best_possible.bound.scope == "integer" and not best.for_whole_numbers:
            return None
        return max(0.0, self.loss.of(self.mechanisms[0]) / self.best_possible.value - 1)

    def _columns(self) -> Columns:
        found = self.candidates
        return {
            "noise": [one.mechanism.noise.name for one in found],
            "construction": [one.construction for one in found],
            "scale": [float(one.mechanism.noise.scale) for one in found],
            "mse": [one.mechanism.mse for one in found],
            "mae": [one.mae for one in found],
            "search_seconds": [one.search_seconds for one in found],
            "proof_seconds": [one.proof_seconds for one in found],
            "note": [one.note for one in found],
        }

    def _tables(self) -> dict[str, Columns]:
        skipped = {
            "noise": [one.name for one in self.skipped],
            "why": [one.why for one in self.skipped],
        }
        return {"": self._columns()} | ({"Skipped": skipped} if self.skipped else {})

    def __repr__(self) -> str:
        kinds = _words.count_noun(len(self.candidates), "candidate")
        rest = f"{kinds}, {len(self.skipped):,} skipped"
        if not self.candidates:
            return _words.line("Comparison", rest)
        least = _words.number(self.loss.of(self.mechanisms[0]))
        return _words.line(
            "Comparison", f"{self.candidates[0].label} with {self.loss} {least} is best of {rest}"
        )

    def __str__(self) -> str:
        """Return a table, a line a mechanism."""
        lines = [f"{'noise':<30}{'scale':>12}{'mse':>12}{'mae':>12}"]
        lines += [
            f"{found.label:<30}{float(m.noise.scale):>12.6g}{m.mse:>12.6g}{error_text(found.mae):>12}"
            for found in self.candidates
            for m in (found.mechanism,)
        ]
        lines += [f"{found.label}: {found.note}" for found in self.candidates if found.note]
        lines += [f"{skipped.name:<30}skipped: {skipped.why}" for skipped in self.skipped]
        if self.gap is not None:
            name = self.candidates[0].label
            lines.append(
                f"{name} is at most {percent(self.gap)} above the best possible {self.loss}"
            )
        return "\n".join(lines)


def mae_of(mechanism: Mechanism) -> float | None:
    """Return E‖error‖₁; None where no closed form of it is known."""
    try:
        return mechanism.mae
    except NotApplicable:
        return None


def error_text(error: float | None) -> str:
    """Return an error for people to read."""
    return "unknown" if error is None else f"{error:.6g}"


def percent(gap: float) -> str:
    """Return `gap` as a percentage of two digits, rounded up."""
    if gap < 1e-10:  # a double's rounding of the loss
        return "0 %"
    scale = 10.0 ** (math.floor(math.log10(100 * gap)) - 1)
    rounded = math.ceil(100 * gap / scale) * scale
    return f"{rounded:.2g} %" if rounded < 99.5 else f"{rounded:.0f} %"
