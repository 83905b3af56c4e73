"""k-fold calibration with the proof as accountant: noise for several releases under one budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from leastnoise.accounting.proof.composed import composed_at_most
from leastnoise.accounting.proof.moment_sum import delta_by_moments
from leastnoise.balls.core import float_above
from leastnoise.balls.losses import POINTS_PER_STD
from leastnoise.calibration.single import Search, unit_law
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget, amplified, check_rate
from leastnoise.guarantees.interval import Interval
from leastnoise.guarantees.sensitivity import L1, L2, Integer, ShiftBounds
from leastnoise.noise.base import Noise
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.common.fit import classic
from leastnoise.noise.common.fit.several import COARSE, Several, log_of, root_of, scale_alone
from leastnoise.noise.gaussian.law import Gaussian
from leastnoise.noise.registry import registered
from leastnoise.noise.releases import Releases
from leastnoise.noise.request import Request

_OVER = 1e-15  # of ln δ: what more than δ₀ is at least


def law_for_several(
    family: type[Noise], request: Request, draws: int, *, rate: Fraction, search: Search | None
) -> Noise:
    """Return the law of `family` for a worst shift of 1 that may be drawn `draws` times.

    With a `rate` < 1 every draw is for a Poisson sample of its own. `search` finds the law for one
    where calibration itself has no search. Raises NotApplicable if the family has none for several.
    """
    check_rate(request.budget, rate)
    known = registered(family)
    task = ProvedSeveral(family=family, request=request, draws=draws, rate=rate, search=search)
    if own := known.part("several"):
        return own(task)
    if known.fit is None:
        raise NotApplicable(family=family.name, why="it is designed for one release only")
    if family.parameter_kinds:
        why = "its parameters are searched for one release only"
        raise NotApplicable(family=family.name, why=why)
    return scale_alone(task)


def proved_log_delta_gap(
    parts: Sequence[Releases], budget: Budget, *, points_per_std: int = POINTS_PER_STD
) -> float:
    """Return ln of the proved bound on δ of `parts` together, less ln of the budget's; −∞ for 0.

    At most 0 if and only if they are proved to meet the budget.
    """
    delta = float_above(composed_at_most(parts, budget.epsilon, points_per_std=points_per_std))
    if delta <= 0:
        return -math.inf
    gap = math.log(delta) - log_of(budget.delta)
    return min(gap, 0.0) if Fraction(delta) <= budget.delta else max(gap, _OVER)


@final
@dataclass(frozen=True, kw_only=True)
class ProvedSeveral(Several):
    """Every answer is a proved bound; floats rank nothing here."""

    search: Search | None = None

    def one(self, request: Request) -> Noise:
        return self.search(request) if self.search else unit_law(self.family, request)

    def log_delta_gap(self, law: Noise, points_per_std: int = POINTS_PER_STD) -> float:
        return proved_log_delta_gap(
            (self._part(law),), self.request.budget, points_per_std=points_per_std
        )

    def by_moments(self, law: Noise, *, closest: float) -> Interval | None:
        found = delta_by_moments((self._part(law),), self.request.budget.epsilon, closest=closest)
        return found.interval if found else None

    def gaussian_sigma(self, *, relative: float) -> float:
        low = float(classic.gaussian(1, amplified(self.request.budget, self.rate)))
        high = low * math.sqrt(self.draws)
        if self.rate == 1:
            return high

        def gap(sigma: float) -> float:
            return self.log_delta_gap(Gaussian(scale=Fraction(sigma)), points_per_std=COARSE)

        return root_of(gap, low, high, relative=relative)

    def _part(self, law: Noise) -> Releases:
        request = self.request
        if isinstance(law, VectorNoise) and request.sensitivity is not None:
            shifts = ShiftBounds.of(request.sensitivity)
        elif law.for_whole_numbers:  # its shift can't be called 1
            law, shifts = law.scaled(request.shift), ShiftBounds.of(Integer(request.shift))
        else:
            shifts = ShiftBounds.of((L1 if law.norm == "l1" else L2)(1))
        return Releases(noise=law, shifts=shifts, count=self.draws, rate=self.rate)
