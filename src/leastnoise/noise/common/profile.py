"""δ(ε) and quantiles in floats, for several kinds of noise and for searches outside `noise`.

Notation: d is the dimension, σ the scale of the noise and Δ the length of the shift. W is a
coordinate of a uniform direction in R^d, w a cosine, a = (d − 1)/2, B(·, ·) the beta function and
I_h(·, ·) the regularised incomplete beta function. φ and Φ are the standard normal density and
distribution function, L is the privacy loss, and θ the angle that determines L for l2 noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key, lru_cache
from heapq import merge
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray

from leastnoise.errors import NumericalFailure, Refused
from leastnoise.noise.base import log_gamma_ratio
from leastnoise.noise.common.law import NEGLIGIBLE, RadialStepNoise, RadialSteps, StepNoise
from leastnoise.numerics.quadrature import gauss_legendre
from leastnoise.numerics.searches import IncreasingRoot

# Caps and slabs of a sphere: the law of a coordinate W of a uniform direction, as polynomials.
#
# The density of W is ∝ (1−w²)^(a−1), so P(W > w) = I_h(a, a) with h = (1−w)/2, and P(|W| < w) =
# I_y(½, a) with y = w². a is whole or half of an odd number. All terms are positive: nothing
# cancels. scipy.special, which takes 0.2 s to import, serves the dimensions that need hundreds of
# terms.


Floats = NDArray[np.float64]

MOST_BY_TERMS = 200
"""The largest dimension whose caps and slabs are computed from series, which then are short."""

SMALL_TERM = 1e-18  # a series ends with a term this small, relative to its largest


def cap(dimension: int, half: Floats) -> Floats:
    """The probability P(W > w) that a uniform direction falls into a cap; dimension >= 2.

    W is the direction's first coordinate, and w follows from `half` = (1 − w)/2 in [0, ½]. The
    result has the shape of `half`.

    >>> cap(3, np.array([0.0, 0.25, 0.5])).tolist()
    [0.0, 0.25, 0.5]
    """
    if dimension == 2:
        return 2 / math.pi * np.arcsin(np.sqrt(half))
    a = (dimension - 1) / 2
    if dimension > MOST_BY_TERMS:
        from scipy.special import betainc  # noqa: PLC0415  (0.2 s, needed here alone)

        return betainc(a, a, half)
    other = 1 - half
    if dimension % 2:
        return half**a * _horner(_whole(dimension // 2), other)
    return (4 * half * other) ** a * _horner(_broken(dimension), half)


def slab(dimension: int, cosine: Floats) -> Floats:
    """The probability P(|W| < w) that a uniform direction falls into a slab; dimension >= 3.

    W is the direction's first coordinate, and w = `cosine` is in [0, 1]. The result has the shape
    of `cosine`.

    >>> slab(3, np.array([0.0, 0.25, 1.0])).round(9).tolist()
    [0.0, 0.25, 1.0]
    """
    square, a = cosine * cosine, (dimension - 1) / 2
    if dimension > MOST_BY_TERMS:
        from scipy.special import betainc  # noqa: PLC0415  (0.2 s, needed here alone)

        return betainc(0.5, a, square)
    slab = 1.0  # the series of a slab serves w² <= slab/(dimension/2), but at most ¼
    most = min(0.25, 2 * slab / dimension)
    largest = float(square.max(initial=0.0))
    near, places = np.minimum(square, most), math.ceil(-math.log2(max(min(largest, most), 1e-9)))
    shares = cosine * (1 - near) ** a * _horner(_middle(dimension, places), near)
    if largest <= most:
        return shares
    return np.where(square <= most, shares, 1 - 2 * cap(dimension, (1 - cosine) / 2))


def _horner(coefficients: tuple[float, ...], x: Floats) -> Floats:
    """The value at `x` of a polynomial with these coefficients, from the highest power down."""
    total = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total *= x
        total += coefficient
    return total


@lru_cache(maxsize=16)
def _whole(a: int) -> tuple[float, ...]:
    """The coefficients of I_h(a, a)/h^a in powers of 1 − h, the highest power first; integer a.

    For an integer a, I_h(a, a) = h^a Σ_(j<a) C(a−1+j, j) (1−h)^j, with binomial coefficients C. It
    is the probability that at least a of 2a−1 independent trials succeed, each with probability h.
    """
    return tuple(float(math.comb(a - 1 + j, j)) for j in reversed(range(a)))


@lru_cache(maxsize=16)
def _broken(dimension: int) -> tuple[float, ...]:
    """The coefficients of a power series in h for I_h(a, a), the highest power first.

    Coefficients that don't matter for h <= ½ are omitted. They serve the half-integers a of even
    dimensions: I_h(a, a) is (4h(1−h))^a times their series, since I_h(a, a) = (h(1−h))^a/(a B(a,
    a)) Σ_n (2a)…(2a+n−1)/((a+1)…(a+n)) h^n.
    """
    a = (dimension - 1) / 2
    return _series(_log_norm(dimension) - math.log(2 * a), top=2 * a, bottom=a + 1, at=0.5)


@lru_cache(maxsize=64)
def _middle(dimension: int, places: int) -> tuple[float, ...]:
    """The coefficients of a power series in y for I_y(½, a), the highest power first.

    Coefficients that don't matter for y <= 2^(1−places) are omitted. I_y(½, a) is √y (1−y)^a times
    their series, since it is 2√y (1−y)^a/B(½, a) Σ_n (a+½)…(a+n−½)/((3/2)…(n+½)) y^n.
    """
    log_norm = math.log(2) + _log_norm(dimension)
    return _series(log_norm, top=dimension / 2, bottom=1.5, at=2.0 ** (1 - places))


def _log_norm(dimension: int) -> float:
    """The logarithm −ln B(½, a) of the constant factor in the series of `_broken` and `_middle`.

    B(½, a) is 2^(2a−1) B(a, a).
    """
    return log_gamma_ratio((dimension - 1) / 2, 0.5) - math.log(math.pi) / 2


def _series(log_first: float, *, top: float, bottom: float, at: float) -> tuple[float, ...]:
    """The coefficients of a power series in x that matter at x = `at`, the highest power first.

    The constant term is e^log_first, and the ratio of coefficients n + 1 and n is (top + n)/(bottom
    + n).
    """
    coefficients, reached, largest = [1.0], 1.0, 1.0
    while reached > SMALL_TERM * largest:
        n = len(coefficients) - 1
        coefficients.append(coefficients[-1] * (top + n) / (bottom + n))
        reached *= at * (top + n) / (bottom + n)
        largest = max(largest, reached)
    return tuple(math.exp(log_first) * coefficient for coefficient in reversed(coefficients))


# δ(ε) of Gaussian noise (Balle & Wang 2018, Theorem 8), without cancellation.


_GAUSSIAN_CUT = 2 * NEGLIGIBLE  # the integrand is dropped where it is e^-45 of its peak
LOG_ROOT_2PI = math.log(2 * math.pi) / 2


def gaussian_log_delta(*, shift_ratio: float, epsilon: float) -> float:
    """The logarithm of δ(ε) of Gaussian noise, in floats; −∞ if it underflows.

    `shift_ratio` is μ = Δ/σ, the shift in standard deviations. The textbook difference Φ(−t) −
    e^ε Φ(−t−μ), with t = ε/μ − μ/2, loses all digits for small μ. It equals the integral of
    φ(t+x)(1 − e^(−μx)) over x >= 0, which is the mean of (1 − e^(ε−L))₊. This integral is computed,
    since its integrand is positive.
    """
    mu = shift_ratio
    t = epsilon / mu - mu / 2
    root = math.sqrt(t * t + _GAUSSIAN_CUT)
    if t >= 0:
        first, last = 0.0, _GAUSSIAN_CUT / (t + root)
        peak = t * t / 2
    else:
        first, last = max(0.0, -t - math.sqrt(_GAUSSIAN_CUT)), root - t
        last = min(last, -t + math.sqrt(_GAUSSIAN_CUT))
        peak = 0.0
    x, weight = gauss_legendre(first, last)
    exponent = -x * (t + x / 2) if t >= 0 else -((t + x) ** 2) / 2
    total = float(np.dot(weight, -np.expm1(-mu * x) * np.exp(exponent)))
    return math.log(total) - peak - LOG_ROOT_2PI if total > 0 else -math.inf


# Quantiles of one coordinate from its tail P(|X| > t), and quantiles of step densities.


_TAIL_ROOT = IncreasingRoot(tolerance=1e-12)


def solve(tail: Callable[[float], float], outside: float, *, guess: float) -> float:
    """Return the t at which a decreasing tail probability `tail(t)` equals `outside`.

    The search is in ln t, from ln `guess`. Raises NumericalFailure if it fails, since every law has
    such a point.
    """

    def f(log_t: float) -> float:
        value = tail(math.exp(log_t))
        none = 1e3  # stands for −ln 0
        return none if value <= 0 else math.log(outside) - math.log(value)  # NaN stays NaN

    try:
        return math.exp(_TAIL_ROOT.find(f, guess=math.log(guess)))
    except (OverflowError, Refused) as error:
        raise NumericalFailure(what="A quantile of the noise") from error


def step(noise: StepNoise, outside: float) -> float:
    """The magnitude, in scales, that step noise exceeds with probability `outside`.

    The distribution of the magnitude is linear between the edges. The result is 0 if the atom at 0
    has at least the remaining probability 1 − `outside`.
    """
    atom = float(noise.atom)
    below = atom + (1 - atom) * np.concatenate([[0.0], np.cumsum(noise.steps.masses)])
    return float(np.interp(1 - outside, below, noise.steps.float_edges))


# δ(ε) of the l2 mechanism: one integral over the angle (theory/noise.md §6).
#
# The privacy loss of an output under a shift of length Δ is (Δ/σ) cos θ for an angle θ in (0, π)
# with density p(θ) ∝ e^(z cos θ) sin^(2ν)θ (1 + r sin²θ). Here z = Δ/2σ, ν = (d−2)/2, ρ_ν =
# K_ν(z)/K_{ν+1}(z) is a ratio of modified Bessel functions, and r = (z/2)ρ_ν/(ν+½).


_Angles = NDArray[np.float64] | np.float64

_SPHERICAL_LAPLACE_CUT = 140.0  # twice the exponent at which an integrand is dropped


def spherical_laplace_log_delta(*, dimension: int, epsilon: float, excess: float) -> float:
    """Return ln δ(ε) of the l2 mechanism in floats, for dimension >= 2; −inf for excess <= 0.

    The largest loss is the shift in scales, Δ/σ, and `excess` is Δ/σ − ε. Near the pure guarantee
    (excess = 0) all digits of δ are in this difference. The loss is L = (Δ/σ) cos θ. δ is the
    integral of 1 − e^(ε−L) over the density of the angle θ, from 0 to the angle at which L = ε.
    """
    if excess <= 0:
        return -math.inf
    a = epsilon + excess
    law = _AngleLaw.of(dimension=dimension, z=a / 2)
    theta_0 = 2 * math.asin(math.sqrt(excess / a / 2))
    centre = min(theta_0, law.mode)
    theta, weight = law.rule(centre, lower=0.0, upper=theta_0)
    gap = 2 * a * np.sin((theta_0 + theta) / 2) * np.sin((theta_0 - theta) / 2)
    above = float(np.dot(weight, np.exp(law.log_ratio(theta, centre)) * -np.expm1(-gap)))
    theta, weight = law.rule(law.mode, lower=0.0, upper=math.pi)
    everything = float(np.dot(weight, np.exp(law.log_ratio(theta, law.mode))))
    if above <= 0:
        return -math.inf
    return math.log(above / everything) + float(law.log_ratio(np.float64(centre), law.mode))


@dataclass(frozen=True, kw_only=True)
class _AngleLaw:
    """The density of the angle θ for z = Δ/2σ, always relative to its value at some angle.

    It is ∝ e^(z cos θ) sin^(d−2)θ (1 + r sin²θ), and `mode` is an angle near its peak.
    """

    dimension: int
    z: float
    r: float
    mode: float

    @classmethod
    def of(cls, *, dimension: int, z: float) -> _AngleLaw:
        """The law for this dimension and z.

        The stored mode is the angle at which e^(z cos θ) sin^m θ is largest, for m = d − 1. There
        cos θ = 2z/(m + √(m² + 4z²)).
        """
        m = dimension - 1
        return cls(
            dimension=dimension,
            z=z,
            r=z / m * bessel_ratio(dimension - 2, z),
            mode=math.acos(min(1.0, 2 * z / (m + math.hypot(m, 2 * z)))),
        )

    def rule(
        self, centre: float, *, lower: float, upper: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return angles and weights to integrate over the part of [lower, upper] that matters.

        In that part the logarithm of the density is within _SPHERICAL_LAPLACE_CUT/2 of its value at
        `centre`, by a second-order model. To the left of the centre (towards 0) the curvature only
        grows, so that the density falls faster than in the model. To the right the curvature may
        fall, which the generous cut allows for.
        """
        nu2 = self.dimension - 2
        sine, cosine = math.sin(centre), math.cos(centre)
        slope = nu2 * cosine / sine - self.z * sine  # derivative of the log density in θ
        curvature = nu2 / sine**2 + self.z * cosine + 1e-9
        left, right = max(slope, 0.0), max(-slope, 0.0)
        return gauss_legendre(
            max(
                lower,
                centre
                - _SPHERICAL_LAPLACE_CUT
                / (left + math.sqrt(left * left + _SPHERICAL_LAPLACE_CUT * curvature)),
            ),
            min(
                upper,
                centre
                + _SPHERICAL_LAPLACE_CUT
                / (right + math.sqrt(right * right + _SPHERICAL_LAPLACE_CUT * curvature)),
            ),
        )

    def log_ratio(self, theta: _Angles, reference: float) -> _Angles:
        """Return ln of the density at `theta` divided by the density at `reference`."""
        sine, reference_log = math.sin(reference), log_sine(np.float64(reference))
        tilt = 2 * self.z * np.sin((reference + theta) / 2) * np.sin((reference - theta) / 2)
        shape = np.log1p(self.r * np.sin(theta) ** 2) - math.log1p(self.r * sine**2)
        if self.dimension > 2:
            shape = shape + (self.dimension - 2) * (log_sine(theta) - reference_log)
        return tilt + shape


def log_sine(theta: _Angles) -> _Angles:
    """The logarithm of sin θ, accurate near π/2, too; from s = tan(π/4 − θ/2).

    sin θ = 1 − 2s²/(1 + s²). numpy's sin and cos take five times as long as its tan.
    """
    square = np.tan(np.pi / 4 - theta / 2) ** 2
    missing = 2 * square / (1 + square)
    tangent = np.tan(theta / 2)
    with np.errstate(divide="ignore"):
        near_pole = np.log(2 * tangent / (1 + tangent * tangent))
    return np.where(missing > 0.5, near_pole, np.log1p(-np.minimum(missing, 0.5)))


def bessel_ratio(twice_order: int, z: float) -> float:
    """Return the ratio ρ_ν = K_ν(z)/K_{ν+1}(z) of modified Bessel functions, for ν = twice_order/2.

    It follows from the forward recurrence ρ_{ν+1} = 1/(ρ_ν + 2(ν+1)/z). Each step multiplies the
    size of an error by about ρ_{ν+1}² < 1. So any value in [0, 1] some orders below ν is a good
    start. For a small ν the recurrence starts exactly at order −½ or 0.
    """
    nu = twice_order / 2
    half = nu / 2  # errors shrink less at lower orders, so the rate at half the order is used
    contraction = (z / (half + math.hypot(half, z))) ** 2
    shrinks = 1e-300 < contraction < 1
    steps = math.ceil(-40 / math.log(contraction)) + 2 if shrinks else twice_order
    if steps < half:
        order, ratio = nu - steps, 0.5
    elif twice_order % 2:
        order, ratio = -0.5, 1.0
    else:
        from scipy.special import k0e, k1e  # noqa: PLC0415  (0.2 s, needed here alone)

        order, ratio = 0.0, float(k0e(z) / k1e(z))
    while order < nu:
        ratio = 1 / (ratio + 2 * (order + 1) / z)
        order += 1
    return ratio


# δ(ε) of a spherical step density: volumes of balls outside other balls (theory/noise.md §1, §2).
#
# Here f is the density, in n steps, c = e^ε, v the shift, t = |v| in scales, and λ the volume. By
# layer cake δ = ∫ (f − c f(·−v))₊ = ∫₀^∞ λ({f ≥ u} ∖ {c f(·−v) ≥ u}) du. Both sets are balls, of
# radii a and b with centres t apart, and change only where u passes a height h_j of f or a height
# c·h_k: δ is a sum of at most 2n positive terms. Equal heights are recognised exactly: nothing
# cancels.


def radial_log_delta(law: RadialStepNoise, *, shift: Fraction, epsilon: Fraction) -> float:
    """Return ln δ(ε) of a spherical step density under shifts up to `shift`; −inf for δ = 0.

    The density never rises with the radius, so the longest shift is the worst. Digits are lost if
    it is short relative to the radii of the steps.
    """
    steps, d = law.steps, law.dimension
    t = shift / law.scale
    log_drops, inner, outer = [], [], []
    for log_drop, i, k in _level_sets(steps, epsilon):
        if steps.edges[i] + t > steps.edges[k]:  # else the first ball is inside the second
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
class _LevelHeight:
    """The height weight·e^exponent of a step of the density.

    If `shifted`, it is a step of the shifted density times e^ε.
    """

    weight: int
    exponent: Fraction
    shifted: bool

    def log_above(self, other: _LevelHeight) -> float:
        """Return ln(this height/the other height), from an exact difference of exponents."""
        ratio = 0.0 if self.weight == other.weight else math.log(self.weight / other.weight)
        return ratio + float(self.exponent - other.exponent)

    @property
    def log(self) -> float:
        """Return the logarithm of this height."""
        return math.log(self.weight) + float(self.exponent)


def _level_sets(steps: RadialSteps, epsilon: Fraction) -> list[tuple[float, int, int]]:
    """Return the ranges of heights in which the level sets of f and e^ε f(·−v) are constant.

    f is the density, and v the shift. A range is a triple: the logarithm of its length, and indices
    i and k. At its heights, the level set of f is a ball of radius edges[i], and the level set of
    e^ε f(·−v) is a ball of radius edges[k]. Ranges above the peak of f are left out.
    """
    pairs = list(zip(steps.weights, steps.levels, strict=True))
    ours = [_LevelHeight(weight=w, exponent=-steps.decay * k, shifted=False) for w, k in pairs]
    others = [
        _LevelHeight(weight=w, exponent=epsilon - steps.decay * k, shifted=True) for w, k in pairs
    ]
    # where heights agree, the height of c·f(·−v) is passed first: the merge is stable
    heights = list(merge(others, ours, key=cmp_to_key(_lower_last)))
    kept = [-math.expm1(-here.log_above(below)) for here, below in pairwise(heights)]
    sets, i, k = [], -1, -1
    for height, share in zip(heights, [*kept, 1.0], strict=True):
        i, k = (i, k + 1) if height.shifted else (i + 1, k)
        if i >= 0 and share > 0:
            sets.append((height.log + math.log(share), i, k))
    return sets


def _lower_last(height: _LevelHeight, other: _LevelHeight) -> int:
    gap = height.log_above(other)
    return (gap < 0) - (gap > 0)


def outside(a: Floats, b: Floats, *, shift: float, dimension: int) -> Floats:
    """Return the share of a ball of radius a that is outside a ball of radius b >= a, elementwise.

    Their centres are t = `shift` apart, in d = `dimension` dimensions. The spheres meet in a plane
    at the distance α = (a² − b² + t²)/(2t) from the first centre, at the cosines α/a and (t−α)/b.
    The result is the part of the first ball before that plane minus the part of the second ball,
    relative to the first ball. The second part is a cap of its ball. The first part is a cap, too,
    if α <= 0; otherwise it is the ball minus a cap. A cap of a ball follows from a cap of a sphere
    in d + 2 dimensions. If α > 0 and the volumes of the balls differ by a factor below e, slabs
    replace the caps. Digits are lost if t is short relative to b.
    """
    t = shift
    with np.errstate(all="ignore"):  # NaNs of spheres that don't meet are replaced below
        square = (t - b + a) * (t + b - a) * (a + b - t) * (a + b + t) / (4 * t * t)
        before = (t - (b - a) * (b + a) / t) / 2
        log_ratio = dimension * np.log(b / a)  # the ratio itself may overflow
        first_cosine, second_cosine = np.abs(before) / a, np.abs(t - before) / b
        shares = np.select([a + t <= b, a + b <= t], [0.0, 1.0], math.nan)
        asked, halves = np.isnan(shares), (before > 0) & (log_ratio < 1)
        if np.any(here := asked & halves):
            cosines = np.stack((first_cosine[here], second_cosine[here]))
            first, second = slab(dimension + 2, np.clip(cosines, 0.0, 1.0))
            ratio = log_ratio[here]
            shares[here] = (first - np.expm1(ratio) + _times(ratio, second)) / 2
        if np.any(here := asked & ~halves):
            # sin² = 4h(1−h) and h = (1 − cos)/2, which keeps its digits at either end
            squares, cosines = (
                np.stack((square / (a * a), square / (b * b))),
                np.stack((first_cosine, second_cosine)),
            )
            half = (squares / (2 * (1 + cosines)))[:, here]
            first, second = cap(dimension + 2, np.clip(half, 0.0, 0.5))
            parts = np.where(before[here] <= 0, first, 1 - first)
            shares[here] = parts - _times(log_ratio[here], second)
    return shares


def _times(log_ratio: Floats, share: Floats) -> Floats:
    return np.exp(log_ratio + np.log(share))
