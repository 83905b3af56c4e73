"""δ(ε) of a spherical step density: volumes of balls without balls (theory/noise.md §1, §2).

notation: f the density, c = e^ε, v the shift, t = |v| in scales. By layer cake
δ = ∫ (f − c f(·−v))₊ = ∫₀^∞ λ({f ≥ u} ∖ {c f(·−v) ≥ u}) du. Both sets are balls, of radii a and b
with centres t apart, and change only where u passes a height h_j of f or a height c·h_k: δ is a sum
of at most 2n positive terms. Heights that agree are known to, exactly, so that nothing cancels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from heapq import merge
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray

from leastnoise.noise.common.law import RadialStepNoise, RadialSteps
from leastnoise.noise.common.profile import cap, slab, solve

Floats = NDArray[np.float64]


def log_delta(law: RadialStepNoise, *, shift: Fraction, epsilon: Fraction) -> float:
    """Return ln δ(ε) under shifts up to `shift`; −inf where δ is exactly 0.

    To about 1e-15 times radius/shift. The density never rises, so the longest shift is the worst.
    """
    steps, d = law.steps, law.dimension
    t = shift / law.scale
    log_drops, inner, outer = [], [], []
    for log_drop, i, k in _level_sets(steps, epsilon):
        if steps.edges[i] + t > steps.edges[k]:  # else the one ball is inside the other
            log_drops.append(log_drop)
            inner.append(i)
            outer.append(k)
    a, b = steps.float_edges[inner], steps.float_edges[outer]
    with np.errstate(divide="ignore"):
        terms = np.array(log_drops) + d * np.log(a)
        terms += np.log(outside(a, b, shift=float(t), dimension=d))
    top = float(terms.max(initial=-math.inf))
    if top == -math.inf:
        return -math.inf
    total = top + math.log(float(np.exp(terms - top).sum()))
    return total + steps.log_peak(d) - float(steps.log_heights[0])


@final
@dataclass(frozen=True, kw_only=True)
class _Height:
    """A height weight·e^exponent that u passes: of f, or (`shifted`) of c·f(·−v)."""

    weight: int
    exponent: Fraction
    shifted: bool

    def log_above(self, other: _Height) -> float:
        """Return ln of this height over the other, from an exact difference of exponents."""
        ratio = 0.0 if self.weight == other.weight else math.log(self.weight / other.weight)
        return ratio + float(self.exponent - other.exponent)

    @property
    def log(self) -> float:
        """Return ln of this height."""
        return math.log(self.weight) + float(self.exponent)


def _level_sets(steps: RadialSteps, epsilon: Fraction) -> list[tuple[float, int, int]]:
    """Return (ln Δu, i, k): while u falls by Δu, {f ≥ u} has radius edge_i, the other edge_k."""
    pairs = list(zip(steps.weights, steps.levels, strict=True))
    ours = [_Height(weight=w, exponent=-steps.decay * k, shifted=False) for w, k in pairs]
    others = [_Height(weight=w, exponent=epsilon - steps.decay * k, shifted=True) for w, k in pairs]
    # where heights agree, that of c·f(·−v) is passed first: the merge is stable
    heights = list(merge(others, ours, key=cmp_to_key(_lower_last)))
    kept = [-math.expm1(-here.log_above(below)) for here, below in pairwise(heights)]
    sets, i, k = [], -1, -1
    for height, share in zip(heights, [*kept, 1.0], strict=True):
        i, k = (i, k + 1) if height.shifted else (i + 1, k)
        if i >= 0 and share > 0:
            sets.append((height.log + math.log(share), i, k))
    return sets


def _lower_last(one: _Height, other: _Height) -> int:
    gap = one.log_above(other)
    return (gap < 0) - (gap > 0)


def outside(a: Floats, b: Floats, *, shift: float, dimension: int) -> Floats:
    """Return the share of the ball of radius a that is outside one of radius b >= a, `shift` away.

    The spheres meet in the plane α = (a² − b² + t²)/(2t) away from the first centre, at the cosines
    α/a and (t−α)/b. What is left is what the first ball has before that plane, less what the other
    has: caps of each, with a cosine of dimension d + 2, where α <= 0; else all but a cap of each,
    through slabs if both are nearly half balls. To a few 1e-16·b/t.
    """
    t = shift
    with np.errstate(all="ignore"):  # overwritten below where the spheres don't meet
        square = (t - b + a) * (t + b - a) * (a + b - t) * (a + b + t) / (4 * t * t)
        before = (t - (b - a) * (b + a) / t) / 2
        log_ratio = dimension * np.log(b / a)  # the ratio itself may be beyond floats
        own, other = np.abs(before) / a, np.abs(t - before) / b
        shares = np.select([a + t <= b, a + b <= t], [0.0, 1.0], math.nan)
        asked, halves = np.isnan(shares), (before > 0) & (log_ratio < 1)
        if np.any(here := asked & halves):
            cosines = np.stack((own[here], other[here]))
            first, second = slab(dimension + 2, np.clip(cosines, 0.0, 1.0))
            ratio = log_ratio[here]
            shares[here] = (first - np.expm1(ratio) + _times(ratio, second)) / 2
        if np.any(here := asked & ~halves):
            # sin² = 4h(1−h) and h = (1 − cos)/2, which keeps its digits at either end
            squares, cosines = (
                np.stack((square / (a * a), square / (b * b))),
                np.stack((own, other)),
            )
            half = (squares / (2 * (1 + cosines)))[:, here]
            first, second = cap(dimension + 2, np.clip(half, 0.0, 0.5))
            kept = np.where(before[here] <= 0, first, 1 - first)
            shares[here] = kept - _times(log_ratio[here], second)
    return shares


def _times(log_ratio: Floats, share: Floats) -> Floats:
    return np.exp(log_ratio + np.log(share))


def quantile(noise: RadialStepNoise, outside: float) -> float:
    """Sum the caps of all balls beyond t: I_{1−t²/e²}((d + 1)/2, ½) for the ball of radius e."""
    from scipy.special import betainc  # noqa: PLC0415  (0.2 s, needed here alone)

    edges, masses, p = noise.steps.float_edges, noise.ball_masses, (noise.dimension + 1) / 2

    def tail(t: float) -> float:
        inside = np.clip((1 - t / edges) * (1 + t / edges), 0.0, 1.0)
        return float(masses @ betainc(p, 0.5, inside))

    return solve(tail, outside, guess=float(masses @ edges) / math.sqrt(2 * p))
