"""δ(ε) of noise in steps, and quantiles of its coordinates, in floats.

Notation: X is a draw of the noise, and the quantile t a length in scales. γ = gamma is the end of
the first step in scales, b = e^(−decay) the ratio of the heights of neighbouring steps, and m =
b/(1 − b).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import NotApplicable
from leastnoise.noise.common.law import Steps
from leastnoise.noise.steps.law import Geometric, Staircase

Floats = NDArray[np.float64]

# Quantiles of staircases, on the line and on the whole numbers.


def staircase(noise: Staircase, outside: float) -> float:
    """The quantile t, in scales, with P(|X| > t·scale) = `outside`.

    At t = γ + i + u, with an integer i >= 0 and 0 <= u < 1, the probability is b^i (m/(γ + m)) (1 −
    u(1 − b)). Below γ it is linear in t.
    """
    gamma, decay, m = float(noise.gamma), float(noise.decay), noise.mean_step
    if outside >= m / (gamma + m):
        return (1 - outside) * (gamma + m)
    steps = (math.log(m / (gamma + m)) - math.log(outside)) / decay
    whole = math.floor(steps)
    return gamma + whole + math.expm1(-decay * (steps - whole)) / math.expm1(-decay)


def geometric(noise: Geometric, outside: float) -> float:
    """The quantile t in scales: the least multiple of 1/cells with P(|X| > t·scale) <= `outside`.

    For t = k/cells it follows from the tail of the staircase at (k + ½)/cells.
    """
    edge = staircase(noise.staircase, outside) * noise.cells
    return max(0, math.ceil(edge - 0.5)) / noise.cells


def geometric_characteristic(noise: Geometric, u: Floats) -> Floats:
    """The characteristic function (1 − b)²/(1 − 2b cos(u·scale) + b²), at each u.

    Raises NotApplicable if cells > 1.
    """
    if noise.cells > 1:
        raise NotApplicable(family=noise.name, why="its characteristic function isn't known here")
    raised = math.sinh(float(noise.decay) / 2) ** 2
    return raised / (raised + np.sin(u * (float(noise.scale) / 2)) ** 2)


# δ(ε) of staircase noise, in closed form; every term is positive.
#
# The density is symmetric and unimodal, so the longest shift is the worst (theory/noise.md §1).
# notation: s = Δ/scale = n + φ for a shift Δ, n whole and 0 <= φ < 1; heights in units of the peak.
# Where x has k(|x|) steps and x − s has k(|x − s|), the privacy loss is decay·ℓ, ℓ their
# difference:
#   x < 0: ℓ = n + 1 on a mass of min(γ, φ) + φm, and n on a mass of (γ − φ)₊ + (1 − φ)m;
#   0 < x < γ: with s − γ = p + χ, ℓ = p + 1 on a length of min(γ, χ), p on the rest;
#   step i >= 1, of height b^i: with s − 2γ + 1 = N + ψ, ℓ = N + 1 − 2i on a length of ψ, N − 2i on
#   the rest. For both lengths, the sum over the i with decay·ℓ > ε is geometric.


def log_delta(law: Staircase, *, shift: Fraction, epsilon: Fraction) -> float:
    """The logarithm of δ(ε) under shifts up to `shift`, in floats; −inf if δ is exactly 0."""
    s, gamma, m = shift / law.scale, law.gamma, law.mean_step
    n, phi = _split(s)
    p, chi = _split(s - gamma)
    whole, psi = _split(s - 2 * gamma + 1)

    def part(steps: int) -> float:
        """The factor (1 − e^(ε − decay·steps))₊ of a piece whose loss is decay·steps."""
        gap = epsilon - law.decay * steps
        return -math.expm1(float(gap)) if gap < 0 else 0.0

    def geometric(steps: int) -> float:
        """The sum of b^i (1 − e^(ε − decay·(steps − 2i)))₊ over all i >= 1."""
        last = (steps - math.floor(epsilon / law.decay) - 1) // 2
        if last < 1:
            return 0.0
        ratio = math.expm1(-float(law.decay) * last) / math.expm1(-float(law.decay))
        return ratio * math.exp(-float(law.decay)) * part(steps - last - 1)

    total = math.fsum(
        (
            float(min(gamma, phi)) * part(n + 1),
            float(phi) * m * part(n + 1),
            float(max(gamma - phi, Fraction(0))) * part(n),
            float(1 - phi) * m * part(n),
            float(min(gamma, chi)) * part(p + 1),
            float(gamma - min(gamma, chi)) * part(p),
            float(psi) * geometric(whole + 1),
            float(1 - psi) * geometric(whole),
        )
    )
    return math.log(total / 2 / (float(gamma) + m)) if total > 0 else -math.inf


def _split(number: Fraction) -> tuple[int, Fraction]:
    """Return the floor of a number, and its fractional part."""
    whole = math.floor(number)
    return whole, number - whole


# δ(ε) of a step density, a finite sum (theory/noise.md §2 and §4).


def delta(steps: Steps, *, shift: Fraction, epsilon: Fraction) -> float:
    """δ(ε) of a step density f: the maximum over |v| <= shift of ∫ (f(x) − e^ε f(x − v))₊ dx.

    Lengths are in the unit of `steps`. The integral is a sum over pieces of exact width. Each term
    is the mass of a piece times 1 − e^(ε − loss), with an exact loss if the weights agree, so
    nothing cancels.
    """
    return max(
        _delta_at(steps, shift=worst, epsilon=epsilon) for worst in steps.worst_shifts(shift)
    )


def _delta_at(steps: Steps, *, shift: Fraction, epsilon: Fraction) -> float:
    """The integral of `delta` at a single shift v = `shift`."""
    heights = steps.masses / (steps.float_edges[1:] - steps.float_edges[:-1]) / 2
    terms: list[float] = []
    for width, here, there in steps.overlay(shift):
        mass = float(width) * float(heights[here])
        if there is None or steps.weights[there] == 0:
            terms.append(mass)
            continue
        levels = epsilon - steps.decay * (steps.levels[there] - steps.levels[here])
        gap = float(levels)
        if mass > 0 and steps.weights[there] != steps.weights[here]:
            gap += math.log(steps.weights[there] / steps.weights[here])
        if gap < 0:
            terms.append(-mass * math.expm1(gap))
    return math.fsum(terms)
