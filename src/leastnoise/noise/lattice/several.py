"""Laws on a lattice for several releases, from laws that are fitted to a single release."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from leastnoise.noise.base import Noise
from leastnoise.noise.common.fit import match_gaussian
from leastnoise.noise.common.several import SLOWLY, SeveralReleases, by_share, find_least_factor
from leastnoise.noise.lattice.fit import search
from leastnoise.noise.lattice.law import Cactus


def cactus_several(task: SeveralReleases) -> Cactus:
    """The cactus law for several releases, each with a worst shift of 1.

    It has the masses of the law for one release at (ε', δ'), with δ' = δ/(2kq) for k samples at the
    rate q. Here ε' is the ε at which one draw of Gaussian noise has δ', if its scale suits all
    releases together. So the density falls about as fast as this Gaussian. This law is scaled by
    the smallest factor at which all releases are private. Raises the errors of `search`.
    """
    question = task.question
    leaked = question.budget.delta / (2 * question.compositions * question.sampling_rate)
    budget = match_gaussian(task.gaussian_sigma(), leaked)
    single = search(replace(question, budget=budget))
    return single.scaled(find_least_factor(task, single, first=1.0))


def discrete_staircase_several(task: SeveralReleases) -> Noise:
    """The discrete staircase for k releases and a δ > 0.

    Its scale is fixed, so every tried budget of one release needs a design of its own. The loss of
    one release is at most ε', except with a small probability. The search for ε' starts between ε/k
    and ε/√k. Raises the errors of the linear program that designs the masses.
    """
    # The δ of one release as a part of δ/k; nearly all of δ/k is best if losses just add up.
    shares = (Fraction(1, 2), Fraction(63, 64))
    return by_share(task, shares=shares, relative=SLOWLY)
