"""The least l2 noise for a budget, of one release and of several."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, partial

from leastnoise.guarantees.interval import Interval
from leastnoise.noise.base import Noise
from leastnoise.noise.common.fit import classic
from leastnoise.noise.common.fit.several import Several, polished, scale_alone
from leastnoise.noise.radial.law import SphericalLaplace
from leastnoise.noise.request import Request
from leastnoise.numerics.roots import IncreasingRoot

_FAR, _CLOSE = 1e-7, 1e-9  # of δ: some 6e-11 of the scale
_CLOSEST = 2e-10  # of 1/σ − ε/k
_NEAR_LEAST = IncreasingRoot(tolerance=1e-8, first_step=0.05)  # of its logarithm
_PURE = 5e-10  # 1/σ − ε/k against ε/k, below which σ = k/ε is as good


def search(request: Request) -> SphericalLaplace:
    """Return the law of least scale."""
    scale = classic.spherical_laplace(request.dimension, request.budget)
    return SphericalLaplace(scale=scale, dimension=request.dimension)


def several(task: Several) -> Noise:
    """Return the l2 law at its least scale for several releases.

    The proved bound on δ is solved for ln(1/σ − ε/k), by the moment generating function of the
    loss, to 1e-10: σ = k/ε is private at δ = 0. Where that takes too many nodes, by lattices.
    """
    if task.rate != 1 or not task.request.budget.delta:
        return scale_alone(task)
    return _by_moments(task) or scale_alone(task)


def _by_moments(task: Several) -> SphericalLaplace | None:
    budget, dimension = task.request.budget, task.request.dimension
    share = float(budget.epsilon) / task.draws

    def law(log_excess: float) -> SphericalLaplace:
        scale = Fraction(1 / (share + math.exp(log_excess)))
        return SphericalLaplace(scale=scale, dimension=dimension)

    @cache
    def proved(log_excess: float, closest: float) -> Interval | None:
        return task.by_moments(law(log_excess), closest=closest)

    def over(log_excess: float, closest: float) -> float:
        if found := proved(log_excess, closest):
            return math.log(found.upper) - task.log_delta if found.upper > 0 else -math.inf
        return task.log_delta_gap(law(log_excess))

    # Guess: the variance of the loss of the Gaussian that meets the budget
    sigma = float(classic.gaussian(dimension, budget)) * math.sqrt(task.draws / dimension)
    guess = math.log(max(1 / sigma - share, 1e-3 * share))
    if proved(guess, _FAR) is None:
        return None
    near = _NEAR_LEAST.find(partial(over, closest=_FAR), guess=guess)
    if math.exp(near) < _PURE * share:
        return SphericalLaplace(scale=task.draws / budget.epsilon, dimension=dimension)
    start = math.exp(-near)
    known = proved(-math.log(start), _CLOSE) or Interval(0.0, 1.0)
    factor = polished(
        lambda factor: over(-math.log(factor), _CLOSE),
        lambda factor: over(-math.log(factor), _FAR),
        start,
        relative=max(_CLOSEST, (1 - known.lower / known.upper) / 4),
    )
    return law(-math.log(factor))
