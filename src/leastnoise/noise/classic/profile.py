"""δ(ε) and quantiles in floats of Laplace, Gaussian and flipped Huber noise.

δ(ε) of Laplace and Gaussian noise is in noise/common/profile.py, as other kinds use it.

Notation: X is one coordinate of the noise, and the quantile t a length in scales. For flipped Huber
noise, in units of scale·γ, t is the shift, u the corner, and f the density, which is ∝ e^(−h) with
h(y) = u|y| up to |y| = u and (y² + u²)/2 beyond. The privacy loss is L(y) = h(y − t) − h(y). A kink
is a point where h or L changes from one polynomial to another.

Flipped Huber noise is symmetric and unimodal, so the longest shift is the worst (theory/noise.md
§1). L never increases, and is at most 0 from t/2 on. δ = ∫ f (1 − e^(ε − L)) dy up to the point
where L = ε. Between two kinks, L and h are polynomials. So L − ε is summed from its own
differences, starting at its zero, and nothing cancels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray

from leastnoise.noise.classic.law import (
    FlippedHuber,
    Gaussian,
    Laplace,
    TruncatedLaplace,
    standard_mass,
)
from leastnoise.noise.common.law import NEGLIGIBLE
from leastnoise.noise.common.profile import solve
from leastnoise.numerics.quadrature import gauss_legendre

Floats = NDArray[np.float64]


def gaussian_quantile(noise: Gaussian, outside: float) -> float:
    """The quantile t, in scales, with P(|X| > t·scale) = erfc(t/√2) = `outside`."""
    del noise
    return solve(lambda t: math.erfc(t / math.sqrt(2)), outside, guess=1.5)


def gaussian_characteristic(noise: Gaussian, u: Floats) -> Floats:
    """The characteristic function e^(−(u·scale)²/2) at each u."""
    return np.exp(-((u * float(noise.scale)) ** 2) / 2)


# The following holds for a Gaussian, and for a mixture of Gaussians of standard deviation σ whose
# component is drawn independently of the data: publishing the component gives a plain Gaussian, and
# omitting it is post-processing (theory/accounting.md §5). It doesn't hold for quasi-Gaussian
# noise.


def zero_concentrated(*, sigma: Fraction, sensitivity: Fraction) -> Fraction:
    """The exact ρ = Δ²/2σ² for which the noise is ρ-zCDP.

    Args:
        sigma: σ, the standard deviation.
        sensitivity: Δ, in l2.

    Returns:
        ρ.

    Source:
        Bun & Steinke (2016), Proposition 1.6.

    Examples:
        >>> zero_concentrated(sigma=Fraction(2), sensitivity=Fraction(1))
        Fraction(1, 8)
    """
    return sensitivity**2 / (2 * sigma**2)


def gaussian_differential(*, sigma: Fraction, sensitivity: Fraction) -> Fraction:
    """The exact μ = Δ/σ for which the noise is μ-GDP.

    Args:
        sigma: σ, the standard deviation.
        sensitivity: Δ, in l2.

    Returns:
        μ.

    Source:
        Dong, Roth & Su (2022), Theorem 2.7.

    Examples:
        >>> gaussian_differential(sigma=Fraction(2), sensitivity=Fraction(1))
        Fraction(1, 2)
    """
    return sensitivity / sigma


def laplace_quantile(noise: Laplace, outside: float) -> float:
    """The quantile t, in scales, with P(|X| > t·scale) = e^(−t) = `outside`."""
    del noise
    return -math.log(outside)


def laplace_characteristic(noise: Laplace, u: Floats) -> Floats:
    """The characteristic function 1/(1 + (u·scale)²) at each u."""
    return 1 / (1 + (u * float(noise.scale)) ** 2)


def laplace_difference(
    noise: Laplace, outside: float, coordinates: tuple[int, int], ratio: float
) -> float:
    """The t with P(|X − r·Y| > t·scale) = `outside`, for independent draws X and Y; r is `ratio`.

    The probability is (e^(−t) − r²·e^(−t/r))/(1 − r²), and (1 + t/2)·e^(−t) for r = 1. For r near 1
    digits cancel. There the result is max(r, 1) times the t for r = 1, which is slightly too large.
    """
    del noise, coordinates
    square, alike = ratio * ratio, abs(ratio - 1) < 1e-6

    def tail(t: float) -> float:
        if alike:
            return (1 + t / 2) * math.exp(-t)
        scaled = math.exp(-t / ratio) if ratio else 0.0
        return (math.exp(-t) - square * scaled) / (1 - square)

    return solve(tail, outside, guess=1 + ratio) * (max(ratio, 1.0) if alike else 1.0)


# δ(ε) of truncated Laplace noise, in closed form; every term is positive.
#
# The density is symmetric and unimodal, so the longest shift is the worst (theory/noise.md §1).
# notation: t = Δ/b is the shift in scales, excess = t − ε, a = radius, f the density and f_t its
# shifted copy. In units of the peak of f, ∫ (f − e^ε f_t)₊ is the sum of
#   e^(−a)(e^t − 1), or 2 − e^(−a) − e^(a−t) if t > a: what the shift moves out of the range;
#   (1 − e^(t−a))(1 − e^(−excess)) for t < a: where the loss is t;
#   e^(−x₀)(1 − e^(−d))², d = excess/2 − x₀, x₀ = max(0, t − a): where the loss falls from t to ε.
# The second term needs excess > 0, and the third d > 0 as well. The total mass is 2(1 − e^(−a)).


def truncated_laplace_log_delta(*, shift_ratio: float, excess: float, radius: float) -> float:
    """The logarithm of δ(ε) of truncated Laplace noise, in floats.

    `shift_ratio` is the shift t in scales. It is given in addition to `excess` = t − ε, since
    computing one from the other may lose digits. From t = 2·radius on, δ is 1: no output is
    possible both with and without the shift.
    """
    t, a = shift_ratio, radius
    if t >= 2 * a:
        return 0.0
    total = math.exp(t - a) * -math.expm1(-t) if t <= a else -math.expm1(-a) - math.expm1(a - t)
    if excess > 0:
        total += max(0.0, -math.expm1(t - a)) * -math.expm1(-excess)
        start = max(0.0, t - a)
        total += math.exp(-start) * math.expm1(min(0.0, start - excess / 2)) ** 2
    log_mass = math.log(2) + math.log(-math.expm1(-a))
    return min(0.0, math.log(total) - log_mass) if total > 0 else -math.inf


def truncated_laplace_quantile(noise: TruncatedLaplace, outside: float) -> float:
    """The quantile t, in scales, with P(|X| > t·scale) = `outside`.

    P(|X| <= t·scale) = (1 − e^(−t))/(1 − e^(−radius)).
    """
    return -math.log1p((1 - outside) * math.expm1(-float(noise.radius)))


_GRADING = 4.0 ** -np.arange(9)  # parts shrink by 4 towards both ends, where f may be steep


@final
@dataclass(frozen=True)
class _FloatForm:
    """A polynomial square·y² + slope·y + constant that equals h or L − ε between two kinks."""

    square: float
    slope: float
    constant: float

    @classmethod
    def at(cls, point: float, u: float) -> _FloatForm:
        """The polynomial of h near `point`."""
        if abs(point) <= u:
            return cls(0.0, math.copysign(u, point), 0.0)
        return cls(0.5, 0.0, u * u / 2)

    def value(self, y: float) -> float:
        """The polynomial at y."""
        return (self.square * y + self.slope) * y + self.constant

    def rise(self, start: float, distance: NDArray[np.float64]) -> NDArray[np.float64]:
        """The rise of the polynomial from `start` to `start` + `distance`."""
        return distance * (self.slope + self.square * (2 * start + distance))

    def falling_root(self) -> float:
        """The y where the polynomial falls through 0; NaN if it is constant."""
        if self.square == 0:
            return -self.constant / self.slope if self.slope else math.nan
        discriminant = max(0.0, self.slope * self.slope - 4 * self.square * self.constant)
        return (-self.slope - math.sqrt(discriminant)) / (2 * self.square)


def log_delta(*, corner: float, shift_ratio: float, epsilon: float) -> float:
    """The logarithm of δ(ε) of flipped Huber noise, in floats.

    In units of scale·γ, the corner u is `corner`, and the shift t is `shift_ratio`.
    """
    u, t = corner, shift_ratio
    excess = _Excess(corner=u, shift=t, epsilon=epsilon)
    kinks = sorted({-u, 0.0, u, t - u, t, t + u})
    stretches = [(-math.inf, kinks[0]), *pairwise(kinks)]
    sweep: _Sweep | None = None
    for left, right in reversed(stretches):
        middle = (max(left, right - 2) + right) / 2
        here, loss = _FloatForm.at(middle, u), excess.near(middle)
        if sweep is None:
            if left > -math.inf and loss.value(left) <= 0:
                continue  # L <= ε on all of the stretch
            root = loss.falling_root()
            start = right if math.isnan(root) else max(min(root, right), left)
            sweep = _Sweep.beginning(start, here)
        sweep.pass_over(left, loss, here)
    if sweep is None or sweep.total <= 0:
        return -math.inf
    return min(0.0, math.log(sweep.total) - sweep.least - math.log(2 * standard_mass(u)))


@final
class _Excess:
    """The function L − ε with exact constants: where L is flat and near ε, δ needs all digits."""

    def __init__(self, *, corner: float, shift: float, epsilon: float) -> None:
        self._corner, self._shift = corner, shift
        u, t = Fraction(corner), Fraction(shift)
        self._epsilon, self._linear = Fraction(epsilon), u * t
        self._tail, self._square = u * u / 2, t * t / 2

    def near(self, point: float) -> _FloatForm:
        """The polynomial of L − ε = h(y − t) − h(y) − ε near `point`."""
        here = _FloatForm.at(point, self._corner)
        there = _FloatForm.at(point - self._shift, self._corner)
        constant = -self._epsilon
        if there.square:
            constant += self._square + self._tail
        else:
            constant += self._linear if there.slope < 0 else -self._linear
        if here.square:
            constant -= self._tail
        slope = there.slope - 2 * there.square * self._shift - here.slope
        return _FloatForm(there.square - here.square, slope, float(constant))


@final
@dataclass
class _Sweep:
    """An integral for δ, from `at` to the point where L = ε; `at` moves left from kink to kink.

    `total` is the integral of e^(least − h)(1 − e^(ε − L)), where `least` is the smallest h to the
    left of that point. At `at`, `gap` is L − ε and `height` is h − least.
    """

    at: float
    least: float
    height: float
    gap: float = 0.0
    total: float = 0.0

    @classmethod
    def beginning(cls, start: float, here: _FloatForm) -> _Sweep:
        """Start where L = ε, at `start`, near which h is the polynomial `here`."""
        value = here.value(start)
        least = value if start < 0 else 0.0
        return cls(at=start, least=least, height=value - least)

    def pass_over(self, left: float, loss: _FloatForm, here: _FloatForm) -> None:
        """Add the integral of e^(least − h)(1 − e^(ε − L)) over [left, at], and move to `left`."""
        if left == -math.inf:  # up to where e^(−y²/2) is e^-45 of its peak
            rest = max(NEGLIGIBLE - self.height, 1.0)
            width = 2 * rest / (-self.at + math.sqrt(self.at * self.at + 2 * rest))
        else:
            width = self.at - left
        unit, weight = _graded_rule()
        distances = -width * unit
        density = np.exp(-(self.height + here.rise(self.at, distances)))
        gaps = self.gap + loss.rise(self.at, distances)
        self.total += width * float(weight @ (density * -np.expm1(-gaps)))
        end = np.array(-width)
        self.gap += float(loss.rise(self.at, end))
        self.height += float(here.rise(self.at, end))
        self.at = left


@cache
def _graded_rule() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Quadrature nodes and weights for [0, 1], in parts that shrink towards both ends."""
    ends = [0.0, *(_GRADING[:0:-1] / 2), 0.5, *(1 - _GRADING[1:] / 2), 1.0]
    nodes = 32  # exact to 1e-16 for exponents up to 100 over a part
    rules = [gauss_legendre(a, b, nodes=nodes) for a, b in pairwise(ends)]
    return np.concatenate([x for x, _ in rules]), np.concatenate([w for _, w in rules])


def huber_quantile(noise: FlippedHuber, outside: float) -> float:
    """The quantile t, in scales, with P(|X| > t·scale) = `outside`.

    It is γ·y for the y beyond which `outside` of the mass lies. For y <= u this mass is (e^(−uy) −
    e^(−u²))/u plus the tail's mass, in units of e^(−h).
    """
    u, gamma = float(noise.corner), float(noise.gamma)
    beyond = outside * standard_mass(u)
    peak = math.exp(-u * u / 2) * math.sqrt(math.pi / 2)  # the tail is peak·erfc(y/√2)
    more = beyond - peak * math.erfc(u / math.sqrt(2))
    if more > 0:
        return -math.log(math.exp(-u * u) + u * more) / u * gamma
    return solve(lambda y: peak * math.erfc(y / math.sqrt(2)), beyond, guess=u + 1) * gamma
