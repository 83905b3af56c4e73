"""Several releases with laws of which the width is solved for: what is spread out, and how far.

Flipped Huber laws have one number beside the width, which is searched. The steps of `cactus`, and
sums of Gaussians for samples, are those for fewer releases of all the data that need about the same
Gaussian noise. What is lost by that is accuracy alone: the proved bound decides how wide they are.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np

from leastnoise.calibration.composed import (
    excess_of,
    least_factor,
    root_of,
)
from leastnoise.calibration.composed_kernels import composed_kernels
from leastnoise.calibration.samples import amplified
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.hidden import Hidden
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.common.fit import classic
from leastnoise.noise.gaussian.law import Gaussian
from leastnoise.noise.huber.law import FlippedHuber
from leastnoise.noise.kernels.law.kernels import KernelNoise
from leastnoise.noise.lattice.fit import cactus
from leastnoise.noise.lattice.law.cactus import Cactus
from leastnoise.noise.loss import Loss
from leastnoise.noise.releases import Releases
from leastnoise.noise.request import Request
from leastnoise.numerics.roots import IncreasingRoot

if TYPE_CHECKING:
    from leastnoise.noise.kernels.law.gaussian_mixture import GaussianMixture
    from leastnoise.noise.kernels.law.quasi_gaussian import QuasiGaussian

_COARSE = 12  # lattice steps in a standard deviation, to tell which corner is the best
_ROUGHLY = IncreasingRoot(tolerance=1e-3, first_step=0.03)  # of the log of 1/scale, there
_NEARLY = 1e-3  # of the Gaussian's scale, that others are matched to
_RELATIVE = 1e-6  # of a sum's σ
_CORNERS, _CLOSER = 5, (1 / 3, 2 / 3)  # looked at first, and between; the minimum is flat
_SMALLEST_CORNER = 0.25
_NOTHING = -1e4  # stands for ln 0
_BISECTIONS = 20
_HIDDEN = Hidden.of(L2(1))


def composed_flipped_huber(
    request: Request, compositions: int, rate: Fraction = Fraction(1)
) -> FlippedHuber:
    """Return the law for a worst shift of 1 that may be drawn `compositions` times.

    The corner u = α/γ is searched on coarse lattices, from the Gaussian's 0 to where the tails are
    not felt. `fixed` may set alpha and gamma, and then the scale follows. Raises InvalidArgument if
    it sets one of them.
    """
    fixed = {name: Fraction(value) for name, value in request.fixed.items()}
    first = float(classic.gaussian(1, amplified(request.budget, rate)))
    if len(fixed) == 2:
        law = FlippedHuber(scale=1, alpha=fixed["alpha"], gamma=fixed["gamma"])
        start = first / math.sqrt(law.variance)
        return law.scaled(least_factor(law, request, compositions, rate, first=start))
    if fixed:
        raise InvalidArgument(
            name="parameter",
            value=", ".join(fixed),
            expected="both alpha and gamma, or neither, for several releases",
        )
    near = first * math.sqrt(compositions)  # the last standard deviation that was found

    def law_at(corner: float) -> FlippedHuber:
        return FlippedHuber(scale=1, alpha=Fraction(corner), gamma=1)

    def loss(corner: float) -> float:
        nonlocal near
        law = law_at(corner)
        width = math.sqrt(law.variance)

        def over(log_inverse: float) -> float:
            wide = law.scaled(Fraction(math.exp(-log_inverse)))
            part = Releases(noise=wide, hidden=_HIDDEN, count=compositions, rate=rate)
            return max(excess_of(part, request.budget, fineness=_COARSE), _NOTHING)

        factor = math.exp(-_ROUGHLY.find(over, guess=math.log(width / near)))
        near = factor * width
        return request.loss.of(law) * factor ** (1 if request.loss is Loss.MAE else 2)

    # the tail has a mass of e^(−u²); beyond ut = ε its loss of t²/2 isn't felt
    last = max(math.sqrt(math.log(compositions / request.budget.delta)), _SMALLEST_CORNER)
    last = max(1.2 * last, 2 * math.sqrt(float(request.budget.epsilon)))
    corners = [0.0, *np.geomspace(_SMALLEST_CORNER, last, _CORNERS).tolist()]
    found = {corner: loss(corner) for corner in corners}
    best = corners.index(min(corners, key=found.__getitem__))
    for low, high in pairwise(corners[max(0, best - 1) : best + 2]):
        found |= {at: loss(at) for share in _CLOSER if (at := low + share * (high - low))}
    law = law_at(min(found, key=found.__getitem__))
    start = 0.9 * near / math.sqrt(law.variance)
    gamma = least_factor(law, request, compositions, rate, first=start)
    return FlippedHuber(scale=1, alpha=float(gamma * law.corner), gamma=gamma)


def composed_cactus(request: Request, compositions: int, rate: Fraction = Fraction(1)) -> Cactus:
    """Return the law for a worst shift of 1 that may be drawn `compositions` times.

    Its steps fall like a Gaussian: they are those for one release at the (ε', δ/2k) where the
    Gaussian for all releases is. Raises what `cactus.search` raises.
    """
    leaked = request.budget.delta / (2 * compositions * rate)
    sigma = _gaussian_scale(request, compositions, rate)
    alone = cactus.search(replace(request, budget=_matched(sigma, leaked)))
    return alone.scaled(least_factor(alone, request, compositions, rate, first=1.0))


def sampled_kernels(
    family: type[KernelNoise], request: Request, compositions: int, rate: Fraction
) -> KernelNoise:
    """Return the law for a worst shift of 1 that may be drawn for `compositions` samples.

    Decay and number of kernels are those for as many releases as a record is in samples, at the
    budget that the same Gaussian meets for them.
    """
    count = max(2, round(compositions * rate))
    sigma = _gaussian_scale(request, compositions, rate)
    budget = _matched(sigma / math.sqrt(count), request.budget.delta)
    law = composed_kernels(family, replace(request, budget=budget), count)

    def wider(factor: float) -> KernelNoise:
        alone = cast("GaussianMixture | QuasiGaussian", law)
        return replace(alone, scale=law.scale * Fraction(factor))

    def excess(factor: float) -> float:
        part = Releases(noise=wider(factor), hidden=_HIDDEN, count=compositions, rate=rate)
        return excess_of(part, request.budget)

    return wider(root_of(excess, 1.0, 1.1, relative=_RELATIVE))


def _gaussian_scale(request: Request, compositions: int, rate: Fraction) -> float:
    """Return about the least σ of Gaussian noise."""
    one = classic.gaussian(1, amplified(request.budget, rate))
    if rate == 1:
        return float(one) * math.sqrt(compositions)

    def excess(sigma: float) -> float:
        law = Gaussian(scale=Fraction(sigma))
        part = Releases(noise=law, hidden=_HIDDEN, count=compositions, rate=rate)
        return excess_of(part, request.budget, fineness=_COARSE)

    low = float(one)
    return root_of(excess, low, low * math.sqrt(compositions), relative=_NEARLY)


def _matched(sigma: float, leaked: Fraction) -> Budget:
    """Return about the (ε', leaked) that a Gaussian of that σ meets in one release."""
    log_leaked = math.log(leaked)
    most = (1 / (2 * sigma) + math.sqrt(-2 * log_leaked)) / sigma  # P(Z > ε') < leaked
    low, high = math.log(most) - 12, math.log(most)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        needed = classic.gaussian(1, Budget(epsilon=Fraction(math.exp(middle)), delta=leaked))
        low, high = (middle, high) if float(needed) > sigma else (low, middle)
    return Budget(epsilon=Fraction(math.exp(high)).limit_denominator(10**6), delta=leaked)
