"""k-fold calibration with the proof as accountant: noise for several releases under one budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from leastnoise.accounting.proof.composed import bound_composed
from leastnoise.accounting.proof.moment_sum import prove_by_moments
from leastnoise.balls.core import float_above
from leastnoise.balls.losses import POINTS_PER_STD
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget, amplify, check_rate
from leastnoise.guarantees.interval import Interval
from leastnoise.guarantees.sensitivity import L1, L2, Integer, ShiftBounds
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.common.fit.several import COARSE, Several, find_root, log_of, scale_alone
from leastnoise.noise.question import Question, Search
from leastnoise.noise.registry import family_named, part_of, registered
from leastnoise.noise.releases import Releases


def find_law_for_several(family: type[Noise], question: Question, search: Search | None) -> Noise:
    """Return the law of `family` for a worst shift of 1 that may be drawn several times.

    `search` finds the law for one where calibration itself has no search. Raises NotApplicable if
    the family has none for several, Refused if sampling alone hides all.
    """
    check_rate(question.budget, question.sampling_rate)
    known = registered(family)
    task = ProvedSeveral(family=family, question=question, search=search)
    if own := known.part("several"):
        return own(task)
    if known.fit is None:
        raise NotApplicable(family=family.name, why="it is designed for one release only")
    if family.parameter_kinds:
        why = "its parameters are searched for one release only"
        raise NotApplicable(family=family.name, why=why)
    return scale_alone(task)


def find_log_delta_gap(
    parts: Sequence[Releases], budget: Budget, *, points_per_std: int = POINTS_PER_STD
) -> float:
    """Return ln of the proved bound on δ of `parts` together, less ln of the budget's; −∞ for 0.

    At most 0 if and only if they are proved to meet the budget.
    """
    delta = float_above(bound_composed(parts, budget.epsilon, points_per_std=points_per_std))
    if delta <= 0:
        return -math.inf
    gap = math.log(delta) - log_of(budget.delta)
    over = 1e-15  # of ln δ: what more than δ₀ is at least
    return min(gap, 0.0) if Fraction(delta) <= budget.delta else max(gap, over)


def find_gaussian(budget: Budget) -> Noise:
    """Return the least Gaussian noise for one number and a shift of 1: the yardstick of others."""
    return part_of(family_named("gaussian"), "fit")(Question(budget=budget))


@final
@dataclass(frozen=True, kw_only=True)
class ProvedSeveral(Several):
    """Every answer is a proved bound; floats rank nothing here."""

    search: Search | None = None

    def one(self, question: Question) -> Noise:
        return (self.search or part_of(self.family, "fit"))(question)

    def log_delta_gap(self, law: Noise, points_per_std: int = POINTS_PER_STD) -> float:
        parts = (self._releases(law),)
        return find_log_delta_gap(parts, self.question.budget, points_per_std=points_per_std)

    def by_moments(self, law: Noise, *, closest: float) -> Interval | None:
        parts = (self._releases(law),)
        found = prove_by_moments(parts, self.question.budget.epsilon, closest=closest)
        return found.interval if found else None

    def gaussian_sigma(self, *, relative: float) -> float:
        question = self.question
        alone = find_gaussian(amplify(question.budget, question.sampling_rate))
        low = float(alone.scale)
        high = low * math.sqrt(question.compositions)
        if question.sampling_rate == 1:
            return high

        def gap(sigma: float) -> float:
            return self.log_delta_gap(alone.scaled(Fraction(sigma) / alone.scale), COARSE)

        return find_root(gap, low, high, relative=relative)

    def _releases(self, law: Noise) -> Releases:
        """Return the question's releases with that noise, whose worst shift is called 1."""
        question = self.question
        if isinstance(law, VectorNoise):
            shifts = ShiftBounds.of(question.sensitivity)
        elif law.for_whole_numbers:  # its shift can't be called 1
            longest = law.worst_shift(question.sensitivity)
            law, shifts = law.scaled(longest), ShiftBounds.of(Integer(longest))
        else:
            shifts = ShiftBounds.of((L1 if law.norm == "l1" else L2)(1))
        return Releases(
            noise=law,
            shifts=shifts,
            compositions=question.compositions,
            sampling_rate=question.sampling_rate,
        )
