"""The result of a comparison: ranked candidates, skipped families, and a lower bound.

The bound, if there is one, is proved for all additive noise that meets the budget. For a number
that moves by whole numbers, it is proved for noise on the integers only.
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
    """The relative gap between bound and design to which `compare(bound=True)` refines the bound.

    None if the linear program for one number doesn't apply, as for a vector.
    """
    task = _task(question)
    return find.fine_gap(task) if isinstance(task, Task) else None


def find_best_possible(
    question: Question, effort: Effort, *, vectors: bool = True
) -> BestPossible | None:
    """Find a lower bound on the loss, within `effort`; None if no bound is found.

    It is about any additive noise; for a number that moves by whole numbers, it is about noise on
    the integers. At δ = 0 `bound_by_volume` finds it, if it applies. Otherwise a linear program
    finds it. For one number, this is the program that designs the best noise, so the work is
    usually done already. For a vector the program takes about 15 seconds; without `vectors` it
    isn't run.
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
    """A lower bound on the loss from the volume of the shifts; it takes milliseconds.

    None if δ > 0, for several releases or samples, or if no bound is known for these shifts.
    """
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
    """A single sensitivity that allows exactly the shifts that the noise has to hide.

    If several sensitivities hold, it is their intersection; for balls, the smallest ball. None if
    the intersection isn't known, or if a single number moves by whole numbers only.
    """
    offered = set(question.sensitivities)
    if question.dimension == 1 and _in_whole_steps(question):
        return None
    if question.dimension == 1 or all(isinstance(each, L2) for each in offered):
        radius = question.radius("l2")
        return L2(radius) if radius else None
    return offered.pop() if len(offered) == 1 else None


def _task(question: Question) -> Task | VectorTask | None:
    """The task of the linear program that bounds the loss; None if no program can bound it."""
    if not question.once:
        return None
    if question.dimension > 1:
        balls = all(isinstance(sensitivity, L2) for sensitivity in question.sensitivities)
        if question.loss is not Loss.MSE or not balls:
            return None
        return VectorTask(budget=question.budget, dimension=question.dimension)
    if _in_whole_steps(question):
        return find.integer_task(question)
    return Task(budget=question.budget, loss=question.loss)


def _in_whole_steps(question: Question) -> bool:
    """True if the query is one number that moves by whole numbers only.

    Then noise on the integers may have a smaller loss than any other noise.
    """
    return question.radius("integer") is not None


@final
@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A proved mechanism in a comparison.

    Attributes:
        mechanism: The mechanism, with its certificate.
        construction: How the noise is fitted to the sensitivity: "ball" if the drawn noise is
            added as it is. If a geometry maps it first, the name of the geometry, such as
            "ellipse".
        search_seconds: Time of the search.
        proof_seconds: Time of the proof.
        note: Where the search stopped, if it stopped early; otherwise None.

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
        """The expected sum of absolute errors of one release; None without a closed form."""
        return mae_of(self.mechanism)

    @property
    def label(self) -> str:
        """The noise, with the construction unless it is a plain ball: "l2 (ellipse)"."""
        name = self.mechanism.noise.name
        return name if self.construction == BALL else f"{name} ({self.construction})"


@final
@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A noise family that can't serve a question, or that wasn't worth a search.

    Attributes:
        name: Name of the family.
        why: The reason.

    """

    name: str
    why: str

    def __repr__(self) -> str:
        return _words.line("Skipped", f"{self.name}, {self.why}")


@final
@dataclass(frozen=True, kw_only=True)
class BestPossible:
    """A lower bound on the loss for this query and budget.

    It holds for any additive noise if the `scope` of `bound` is "real", and for noise on the
    integers if it is "integer".

    Attributes:
        value: The bound, for the sensitivity in the question.
        bound: The proof. If it is by a linear program, it is for sensitivity 1, and `value` is
            scaled from it.
    """

    value: float
    bound: LowerBound

    def __repr__(self) -> str:
        noise = "noise" if self.bound.scope == "real" else "noise on whole numbers"
        least = f"no {noise} has less {self.bound.loss} than {_words.round_down(self.value)}"
        return _words.line("BestPossible", least)


@final
@dataclass(frozen=True, kw_only=True)
class Comparison(Framed, Shown):
    """The result of `compare`: proved noise, best first, and the families that were skipped.

    As a frame it has one row per candidate, best first. The columns are `noise`, `construction`
    (see `Candidate`), `scale`, `mse` and `mae` (totals over the coordinates; `mae` is missing
    without a closed form), `search_seconds`, `proof_seconds` and `note`.

    Attributes:
        loss: The expected error by which the candidates are ranked.
        candidates: The proved mechanisms, best first.
        skipped: The families that can't serve or weren't worth a search, with the reasons.
        best_possible: A proved lower bound on the loss; None if none is known.

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
        """The reasons why no family can serve, as one text."""
        reasons = "; ".join(f"{skipped.name}: {skipped.why}" for skipped in self.skipped)
        return f"No noise family can serve this query. {reasons}."

    @property
    def gap(self) -> float | None:
        """The relative excess of the best candidate's loss over the proved lower bound.

        None without a candidate or a bound above 0. Also None if the bound is about noise on the
        integers and the candidate isn't.
        """
        if self.best_possible is None or self.best_possible.value <= 0 or not self.candidates:
            return None
        best = self.mechanisms[0].noise
        if self.best_possible.bound.scope == "integer" and not best.for_whole_numbers:
            return None
        return max(0.0, self.loss.of(self.mechanisms[0]) / self.best_possible.value - 1)

    def _columns(self) -> Columns:
        rows = self.candidates
        return {
            "noise": [row.mechanism.noise.name for row in rows],
            "construction": [row.construction for row in rows],
            "scale": [float(row.mechanism.noise.scale) for row in rows],
            "mse": [row.mechanism.mse for row in rows],
            "mae": [row.mae for row in rows],
            "search_seconds": [row.search_seconds for row in rows],
            "proof_seconds": [row.proof_seconds for row in rows],
            "note": [row.note for row in rows],
        }

    def _tables(self) -> dict[str, Columns]:
        skipped = {
            "noise": [family.name for family in self.skipped],
            "why": [family.why for family in self.skipped],
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
        """Format a table with one line per mechanism."""
        lines = [f"{'noise':<30}{'scale':>12}{'mse':>12}{'mae':>12}"]
        lines += [
            f"{row.label:<30}{float(m.noise.scale):>12.6g}{m.mse:>12.6g}{error_text(row.mae):>12}"
            for row in self.candidates
            for m in (row.mechanism,)
        ]
        lines += [f"{row.label}: {row.note}" for row in self.candidates if row.note]
        lines += [f"{skipped.name:<30}skipped: {skipped.why}" for skipped in self.skipped]
        if self.gap is not None:
            name = self.candidates[0].label
            lines.append(f"{name} is at most {percent(self.gap)} above {name_bound(self)}")
        return "\n".join(lines)


def name_bound(comparison: Comparison) -> str:
    """The name of a proved lower bound on the loss, such as "the best possible mse"."""
    best = comparison.best_possible
    whole = best is not None and best.bound.scope == "integer"
    return f"the best possible {comparison.loss}{' of noise on whole numbers' if whole else ''}"


def mae_of(mechanism: Mechanism) -> float | None:
    """The expected sum of absolute errors of one release; None without a closed form."""
    try:
        return mechanism.mae
    except NotApplicable:
        return None


def error_text(error: float | None) -> str:
    """Format an error; "unknown" for None."""
    return "unknown" if error is None else f"{error:.6g}"


def percent(gap: float) -> str:
    """Format `gap` as a percentage with two digits, rounded up; a gap below 1e-10 becomes 0 %."""
    if gap < 1e-10:  # rounding error of the loss
        return "0 %"
    scale = 10.0 ** (math.floor(math.log10(100 * gap)) - 1)
    rounded = math.ceil(100 * gap / scale) * scale
    return f"{rounded:.2g} %" if rounded < 99.5 else f"{rounded:.0f} %"
