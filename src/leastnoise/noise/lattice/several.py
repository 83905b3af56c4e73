"""Laws on a lattice for several releases: which law for one release is spread out, and how."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from leastnoise.noise.base import Noise
from leastnoise.noise.common.fit import match_gaussian
from leastnoise.noise.common.several import SLOWLY, SeveralReleases, by_share, find_least_factor
from leastnoise.noise.lattice.fit import search
from leastnoise.noise.lattice.law import Cactus


def cactus_several(task: SeveralReleases) -> Cactus:
    """Return the law for a worst shift of 1 that may be drawn several times.

    Its steps fall like a Gaussian: they are those for one release at the (ε', δ/2k) where the
    Gaussian for all releases is. Raises what `search` raises.
    """
    question = task.question
    leaked = question.budget.delta / (2 * question.compositions * question.sampling_rate)
    budget = match_gaussian(task.gaussian_sigma(), leaked)
    alone = search(replace(question, budget=budget))
    return alone.scaled(find_least_factor(task, alone, first=1.0))


def discrete_staircase_several(task: SeveralReleases) -> Noise:
    """Return noise on whole numbers that may be drawn several times; δ > 0.

    It can't be spread out, and has a largest loss of ε' but for what leaks: ε' is searched, between
    ε/k and ε/√k. Raises what the design raises.
    """
    # Of δ/k: what one release may leak by itself. Where losses just add up it is all of δ.
    shares = (Fraction(1, 2), Fraction(63, 64))
    return by_share(task, shares=shares, relative=SLOWLY)
