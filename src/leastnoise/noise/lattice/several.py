"""Laws on a lattice for several releases: the law for one release with a larger budget, scaled."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from leastnoise.noise.base import Noise
from leastnoise.noise.common.fit import match_gaussian
from leastnoise.noise.common.several import SLOWLY, SeveralReleases, by_share, find_least_factor
from leastnoise.noise.lattice.fit import search
from leastnoise.noise.lattice.law import Cactus


def cactus_several(task: SeveralReleases) -> Cactus:
    """Return the law for several releases, each with a worst shift of 1.

    Its steps fall like a Gaussian. They are the steps for one release at (ε', δ/2k). Here ε' is
    the ε that one release of Gaussian noise, calibrated for all k releases, has at δ/2k. Raises the
    errors of `search`.
    """
    question = task.question
    leaked = question.budget.delta / (2 * question.compositions * question.sampling_rate)
    budget = match_gaussian(task.gaussian_sigma(), leaked)
    single = search(replace(question, budget=budget))
    return single.scaled(find_least_factor(task, single, first=1.0))


def discrete_staircase_several(task: SeveralReleases) -> Noise:
    """Return noise on whole numbers for several releases; δ > 0.

    Its scale is fixed. Its loss is at most ε' except with a small probability, and the search finds
    ε' between ε/k and ε/√k. Raises the errors of the design.
    """
    # The δ of one release as a share of δ/k; nearly all of δ/k if losses just add up.
    shares = (Fraction(1, 2), Fraction(63, 64))
    return by_share(task, shares=shares, relative=SLOWLY)
