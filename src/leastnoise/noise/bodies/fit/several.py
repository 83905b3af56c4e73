"""k-fold noise in the shape of a body: the largest loss that one release may have."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import cast

from leastnoise.errors import NotApplicable
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.samples import amplified
from leastnoise.noise.bodies.fit.pure import at_loss, purely
from leastnoise.noise.bodies.law.k_staircase import KStaircase
from leastnoise.noise.bodies.law.two_sided_staircase import TwoSidedStaircase
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.common.fit.several import Several
from leastnoise.numerics.roots import IncreasingRoot

_ROOT = IncreasingRoot(tolerance=1e-6)  # of ln ε₀


def several(task: Several) -> VectorNoise:
    """Return the law for several releases together: the largest ε₀ that is proved to meet δ.

    What is worth ε/k for a sample is always enough, and all that there is at δ = 0. Raises
    NotApplicable for laws that aren't purely private.
    """
    family, request = cast("type[VectorNoise]", task.family), task.request
    if not family.purely_private:
        why = "for several releases its shape isn't searched; several purely private ones share"
        raise NotApplicable(family=family.name, why=f"{why} a budget as tightly as is proved")
    share = purely(family, request) / task.draws
    if task.rate != 1:
        share = amplified(Budget(epsilon=share), task.rate).epsilon
    if not request.budget.delta:
        return at_loss(family, request, share)

    def largest(shape: VectorNoise, guess: Fraction) -> Fraction:
        def gap(log_loss: float) -> float:
            return task.log_delta_gap(_with_loss(shape, Fraction(math.exp(log_loss))))

        return max(share, Fraction(math.exp(_ROOT.find(gap, guess=math.log(guess)))))

    found = largest(at_loss(family, request, share), share)
    best = at_loss(family, request, found)
    # of a staircase in N, γ is in the curve too: that γ is kept, and ε₀ looked for again
    return _with_loss(best, largest(best, found)) if family is KStaircase else best


def _with_loss(law: VectorNoise, largest: Fraction) -> VectorNoise:
    """Return the same shape with another largest loss."""
    if isinstance(law, KStaircase):
        return KStaircase(scale=1, body=law.body, gamma=law.gamma, decay=largest)
    if isinstance(law, TwoSidedStaircase):
        return TwoSidedStaircase(scale=1, of=law.of, core=law.core, decay=largest)
    return law.scaled(law.largest_loss / largest)
