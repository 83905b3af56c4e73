"""Gauges of cells that must not sum to more than a cap.

notation: M_j ~ Beta(q, 1), j = 1 … m, independent, given that they sum to k at most.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.balls.core import ball
from leastnoise.entropy.lazy import LazyReal, certainly_less, decide
from leastnoise.entropy.scaled import Constant
from leastnoise.noise.bodies.sampler.arrange import Gathered, Joined, scaled
from leastnoise.noise.bodies.sampler.leaves import Gammas, Uniforms
from leastnoise.noise.bodies.sampler.maxima import Maxima
from leastnoise.noise.bodies.sampler.reals import Computed, Listed, Reals
from leastnoise.noise.bodies.sampler.shares import Shares

if TYPE_CHECKING:
    from flint import arb
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy

_POINTS = 4000  # of the quadratures that choose a proposal; what they find changes no law
_SLACK = 2.0**-40  # above what the comparison of two floats can lose, relatively


def capped(entropy: Entropy, *, cells: int, shape: int, cap: int) -> Reals:
    """Return the M_j, q = shape, m = cells, k = cap.

    By rejection, of whichever proposal is accepted more often: k·Dirichlet(q, …, q, 1), uniform
    but for the cap, if no entry is above 1; or tilted ones, see `_tilted`, whose sum is near k.
    """
    if cap >= cells:
        return _betas(entropy, cells, shape)
    if cap == 1:
        return _simplex(entropy, cells, shape, cap)
    tilt, from_simplex = _plan(cells, shape, cap)
    while True:
        if from_simplex:
            found = _simplex(entropy, cells, shape, cap)
            accepted = not np.any(~certainly_below_one(found))
        else:
            found = _tilted(entropy, cells, shape, tilt)
            accepted = _sum_accepted(entropy, found, cap, tilt)
        if accepted:
            return found


def largest_or_share(parts: Reals, cap: int) -> LazyReal:
    """Return max(max_j M_j, Σ M_j/k)."""

    def gauge(bits: int) -> arb:
        largest = total = ball(0)
        for index in range(parts.size):
            value = parts.enclose(index, bits)
            largest, total = largest.max(value), total + value
        return largest.max(total / cap)

    return Computed(gauge)


def _simplex(entropy: Entropy, cells: int, shape: int, cap: int) -> Reals:
    shares = Shares(np.append(np.full(cells, shape), 1), entropy, kept=cells)
    return scaled(Fraction(cap), shares)


def _betas(entropy: Entropy, cells: int, shape: int) -> Reals:
    uniforms = Uniforms(cells * shape, entropy)
    return uniforms if shape == 1 else Maxima(uniforms, row=shape)


def _tilted(entropy: Entropy, cells: int, shape: int, tilt: Fraction) -> Reals:
    """Return independent M_j of density ∝ M^(q−1) e^(−θM) on (0, 1), θ = tilt.

    Betas, accepted with probability e^(−θM), or gammas over θ, accepted if below 1.
    """
    if tilt == 0:
        return _betas(entropy, cells, shape)
    kept: list[Reals] = []
    places = np.empty(cells, dtype=np.int64)
    pending, drawn = np.arange(cells), 0
    while pending.size:
        proposed, accepted = _proposals(entropy, pending.size, shape, tilt)
        kept.append(proposed)
        places[pending[accepted]] = drawn + np.flatnonzero(accepted)
        drawn += pending.size
        pending = pending[~accepted]
    return Gathered(Joined(kept), places)


def _proposals(
    entropy: Entropy, count: int, shape: int, tilt: Fraction
) -> tuple[Reals, NDArray[np.bool_]]:
    if tilt > shape:
        gammas = Gammas(count, entropy, shape=shape)
        found = scaled(1 / tilt, gammas)
        return found, certainly_below_one(found)
    betas = _betas(entropy, count, shape)
    # M < E/θ, E exponential, has probability e^(−θM)
    limits = scaled(1 / tilt, Gammas(count, entropy, shape=1))
    return betas, _below(betas, limits)


def certainly_below_one(parts: Reals) -> NDArray[np.bool_]:
    """Return whether each is below 1; decided in balls where floats are too close to tell."""
    one = Listed([Constant(Fraction(1))])
    return _below(parts, Gathered(one, np.zeros(parts.size, dtype=np.int64)))


def _below(parts: Reals, limits: Reals) -> NDArray[np.bool_]:
    """Return parts[i] < limits[i]; decided in balls where floats are too close to tell."""
    a, b = parts.floats(0, parts.size), limits.floats(0, parts.size)
    gap = b.values - a.values
    doubt = 1.001 * (a.error + b.error) + _SLACK * (a.reach + b.reach)
    answer = gap > 0
    unsure = np.abs(gap) <= doubt
    unsure |= a.beyond | b.beyond
    for index in np.flatnonzero(unsure).tolist():
        answer[index] = decide(
            lambda bits, i=index: certainly_less(parts.enclose(i, bits), limits.enclose(i, bits))
        )
    return answer


def _sum_accepted(entropy: Entropy, parts: Reals, cap: int, tilt: Fraction) -> bool:
    """Return whether 0 < k − ΣM < E/θ, E exponential: so ΣM <= k, with weight e^(−θ(k − ΣM))."""
    limit = scaled(1 / tilt, Gammas(1, entropy, shape=1)) if tilt else None
    found = _sum_in_floats(parts, cap, limit)
    if found is not None:
        return found

    def question(bits: int) -> bool | None:
        rest = ball(cap) - sum((parts.enclose(i, bits) for i in range(parts.size)), ball(0))
        fits = certainly_less(ball(0), rest)
        if fits is not True or limit is None:
            return fits
        return certainly_less(rest, limit.enclose(0, bits))

    return decide(question)


def _sum_in_floats(parts: Reals, cap: int, limit: Reals | None) -> bool | None:
    """Return 0 < k − ΣM < limit; None where floats are too close to tell."""
    found = parts.floats(0, parts.size)
    if found.beyond.any():
        return None
    # fsum rounds but once; each entry may be off by `error`
    rest = cap - math.fsum(found.values)
    doubt = 1.001 * parts.size * found.error + _SLACK * cap
    if abs(rest) <= doubt:
        return None
    if rest < 0 or limit is None:
        return rest > 0
    most = limit.floats(0, 1)
    gap = float(most.values[0]) - rest
    if most.beyond[0] or abs(gap) <= doubt + 1.001 * most.error + _SLACK * most.reach:
        return None
    return gap > 0


@lru_cache(maxsize=256)
def _plan(cells: int, shape: int, cap: int) -> tuple[Fraction, bool]:
    """Return θ, with which E M is about k/m, and whether the simplex is accepted more often."""
    mean = cap / cells
    low, high = 0.0, 2.0 * shape / mean
    if _moments(low, shape)[0] > mean:
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if _moments(middle, shape)[0] > mean else (low, middle)
    tilt = Fraction(low).limit_denominator(100)
    spread = math.sqrt(2 * math.pi * cells * _moments(low, shape)[1])
    by_tilt = 1 / (1 + low * spread)
    x = shape / mean
    tail = math.exp(-x) * sum(x**i / math.factorial(i) for i in range(min(shape, 150)))
    return tilt, math.exp(-cells * tail) > by_tilt


def _moments(tilt: float, shape: int) -> tuple[float, float]:
    """Return mean and variance of a tilted M, about."""
    top = min(1.0, (shape + 12 * math.sqrt(shape) + 40) / tilt) if tilt else 1.0
    x = (np.arange(_POINTS) + 0.5) / _POINTS * top
    logs = (shape - 1) * np.log(x) - tilt * x
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = float(weights @ x)
    return mean, float(weights @ (x - mean) ** 2)
