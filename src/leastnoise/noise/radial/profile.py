"""δ(ε) of spherical generalized gamma noise, as an integral of a positive function.

Notation: lengths are in units of the scale. d is the dimension, α and p the shape, κ = d−1−α and
k = (α+1)/p. r is the radius of the noise, with the density f_R(r) ∝ r^α e^(−r^p), and y = ln r. s
is the shift, θ the angle from the shift, with the density f_Θ, and r₂ the radius after the shift:
r₂² = r² + 2rs cos θ + s². ℓ(r) = κ ln r + r^p is −ln of the noise's density, up to a constant. The
privacy loss is L = ℓ(r₂) − ℓ(r), and θ* is the angle at which L = ε, clipped to [0, π]. Then

    δ = E[(1 − e^(ε−L))₊] = ∫ f_R(r) ∫₀^θ*(r) (1 − e^(ε−L)) f_Θ(θ) dθ dr

(theory/noise.md §7). Nothing cancels: L − ε is integrated from its zero. θ* = π for r < r₁, and
θ* = 0 on a gap [a, b] (which may be empty or unbounded). The integrand has half powers at these
radii, so the rule between them is `half_powers`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from leastnoise.noise.base import log_gamma_ratio, stirling_remainder
from leastnoise.noise.common.profile import log_sine
from leastnoise.numerics.quadrature import gauss_legendre, half_powers, narrow, tanh_sinh
from leastnoise.numerics.searches import falling_root

_Array = NDArray[np.float64]
_LogOf = Callable[[_Array], _Array]

_CUT = 38.0  # an integrand is cut off below e^-38 of its peak
_NODES, _ANGLES = 80, 36  # nodes of the rules
_STEEP = 8.0  # for α + 1 above it the law of the radius is narrow
_LOST = 800.0  # radii where the density is below e^-800 of its peak are cut off first
_LOWEST = -690.0  # ln of about the smallest positive float
_NEWTON = 30
_CLOSE = 1e-9  # relative: after a Newton step this short, the error is about its square
_LARGEST_EXPONENT = 500.0  # largest px; beyond it e^(px) may overflow
_TINY = 1e-280


def log_delta(
    *, dimension: int, alpha: float, kappa: float, p: float, shift: float, epsilon: float
) -> float:
    """Return ln δ(ε) under a shift of `shift` scales; −inf if δ(ε) is 0.

    `kappa` = dimension − 1 − `alpha` >= 0 is a separate argument, since it may be tiny.
    """
    law = Law(d=dimension, alpha=alpha, kappa=kappa, p=p, s=shift, epsilon=epsilon)
    edge, pieces = law.pieces()
    parts = [law.outer(*piece) for piece in pieces]
    if edge > _TINY and law.most_inside(edge) > max(parts, default=-math.inf) - _CUT:
        parts.append(law.inner(edge))
    top = max(parts, default=-math.inf)
    if top == -math.inf:
        return -math.inf
    return min(0.0, top + math.log(math.fsum(math.exp(part - top) for part in parts)))


@final
@dataclass(frozen=True, kw_only=True)
class Law:
    """A law, a shift in scales and ε, with the integrals for δ(ε)."""

    d: int
    alpha: float
    kappa: float
    p: float
    s: float
    epsilon: float

    def rise(self, start: float, x: float) -> float:
        """Return ℓ(start·e^x) − ℓ(start): the loss if the shift multiplies a radius by e^x."""
        try:
            if self.p * x > 1:
                powers = math.exp(self.p * (math.log(start) + x)) - start**self.p
            else:
                powers = start**self.p * math.expm1(self.p * x)
            return self.kappa * x + powers
        except OverflowError:
            return math.inf

    @property
    def rise_from_zero(self) -> float:
        """The loss of the output 0, ℓ(s) − ℓ(0); inf for a density with a pole."""
        return math.inf if self.kappa > 0 else math.exp(min(self.p * math.log(self.s), 700.0))

    def pieces(self) -> tuple[float, list[tuple[float, float]]]:
        """Return the radius r₁, and the ranges of radii (start, end) in which 0 < θ* < π."""
        edge, gap = self.inner_edge(), self.gap()
        pieces: list[tuple[float, float]] = []
        if edge > 0 or gap is None or gap[0] > 0:
            pieces.append((edge, math.inf if gap is None else gap[0]))
        if gap is not None and gap[1] < math.inf:
            pieces.append((gap[1], math.inf))
        return edge, [(start, end) for start, end in pieces if start < end]

    def inner_edge(self) -> float:
        """Return r₁, the radius in (0, s/2) at which ℓ(s−r) − ℓ(r) falls through ε; 0 if none."""
        if self.rise_from_zero <= self.epsilon:
            return 0.0

        def over(y: float) -> float:
            return self.rise(math.exp(y), math.log(self.s - math.exp(y)) - y) - self.epsilon

        return math.exp(falling_root(over, _LOWEST, math.log(self.s / 2)))

    def gap(self) -> tuple[float, float] | None:
        """Return the gap (a, b) of radii with ℓ(r+s) − ℓ(r) < ε, or None if there is no such r.

        If p > 1, the difference falls, then rises, because ℓ′ = κ/r + p r^(p−1) has one minimum;
        for κ = 0 it only rises. If p <= 1, it only falls; for p = 1 and κ = 0 it is constant.
        """

        def over(y: float) -> float:
            r = math.exp(y)
            return self.rise(r, math.log1p(self.s / r)) - self.epsilon

        if self.p == 1 and self.kappa == 0:
            return None if self.s > self.epsilon else (0.0, math.inf)
        low, high = _LOWEST, -_LOWEST / max(self.p, 1.0)
        a, b = 0.0, math.inf
        turn = high
        if self.p > 1:
            turn = low if self.kappa == 0 else self._log_minimum(low, high)
            if over(turn) >= 0:
                return None
            b = math.exp(falling_root(lambda y: -over(y), turn, high))
        if self.rise_from_zero > self.epsilon:
            a = math.exp(falling_root(over, low, turn))
        return a, b

    def _log_minimum(self, low: float, high: float) -> float:
        """Return ln r at the minimum of ℓ(r+s) − ℓ(r), for p > 1 and κ > 0."""

        def falls(y: float) -> float:
            ahead = math.log1p(self.s / math.exp(y))
            powers, z = self.p * y, (self.p - 1) * ahead
            if z > 1:
                rise = math.exp(powers + z) - math.exp(powers)
            else:
                rise = math.exp(powers) * math.expm1(z)
            return -self.kappa * math.expm1(-ahead) - self.p * rise

        return falling_root(falls, low, high)

    def log_radius(self, y: _Array) -> _Array:
        """The logarithm of the density of y = ln r, which is k ln(r^p) − r^p + ln(p/Γ(k)).

        It is computed as the logarithm at the peak, minus the fall from there, so that no digits
        cancel.
        """
        k = (self.alpha + 1) / self.p
        q = self.p * y - math.log(k)
        peak = math.log(self.p) + math.log(k / (2 * math.pi)) / 2 - stirling_remainder(k)
        return peak - k * _exp_gap(q)

    def solve(self, y: _Array, rise: float) -> _Array:
        """Return x = ln(r₂/r) at which the loss is `rise`, for the radii r = e^y.

        It solves κx + e^(py) expm1(px) = rise. Newton's method converges from above, because the
        left side is convex and increasing.
        """
        if rise == 0:
            return np.zeros_like(y)
        mass = np.exp(self.p * y)
        with np.errstate(divide="ignore", over="ignore"):
            ratio = rise / mass  # inf if e^(py) underflows; then 1 + ratio = ratio
            x = np.where(np.isinf(ratio), np.log(rise) - self.p * y, np.log1p(ratio)) / self.p
            if self.kappa == 0:
                return x
            x = np.minimum(x, rise / self.kappa)
            for _ in range(_NEWTON):
                near = self.p * x.max(initial=0.0) < _LARGEST_EXPONENT
                e = mass * np.expm1(self.p * x) if near else _powers(self.p, y, x)
                step = (self.kappa * x + e - rise) / (self.kappa + self.p * (e + mass))
                x = np.maximum(x - step, 0.0)
                if np.all(np.abs(step) <= _CLOSE * x):
                    break
        return x

    def angle(self, y: _Array) -> tuple[_Array, _Array]:
        """Return θ* and the radius r₂ at θ*, for radii r = e^y in the `pieces`."""
        r, x = np.exp(y), self.solve(y, self.epsilon)
        rho = np.exp(y + x)
        away = np.where(x < 1, r * np.expm1(np.minimum(x, 1.0)), rho - r)
        with np.errstate(over="ignore"):  # for large r, upper is negative and lower may be infinite
            # both are divided by s, as a product of two short lengths may underflow
            upper = np.maximum((1 - away / self.s) * (r + self.s + rho), 0.0)
            lower = np.maximum((1 + away / self.s) * (r + rho - self.s), 0.0)
        return 2 * np.arctan2(np.sqrt(upper), np.sqrt(lower)), rho

    def mean_gain(self, r: _Array, theta: _Array, rho: _Array, floor: _Array) -> _Array:
        """Return ln of the integral of (1 − e^(ε−L)) f_Θ over the angles from 0 to `theta`.

        At `theta` the radius r₂ is `rho`, and L − ε is `floor`. All arrays have one entry for each
        radius. The interval of angles is split where L − ε = _CUT: where L is larger, the integrand
        is the density f_Θ up to rounding.
        """
        if self.d == 1:
            return self._two_sides(r, theta, rho, floor)
        centre = np.minimum(theta, math.pi / 2)
        low, high = self._window(centre, theta)
        x = self.solve(np.log(rho), _CUT)
        with np.errstate(over="ignore"):
            cosine = np.cos(theta) + (rho / r) * (rho / self.s) * np.expm1(2 * x) / 2
        cut = np.clip(np.arccos(np.clip(cosine, -1.0, 1.0)), low, high)
        total = self._between(cut, high, (r, theta, rho, floor, centre))
        if np.any(cut > low):
            total = total + self._between(low, cut, (r, theta, rho, floor, centre))
        with np.errstate(divide="ignore"):
            gain = np.log(total)
        if self.d > 2:
            gain += (self.d - 2) * log_sine(centre)
        return gain + log_gamma_ratio((self.d - 1) / 2, 0.5) - math.log(math.pi) / 2

    def _between(self, low: _Array, high: _Array, at: tuple[_Array, ...]) -> _Array:
        """Return ∫ (1 − e^(ε−L)) (sin θ/sin centre)^(d−2) dθ over the angles from `low` to `high`.

        `at` has the arrays of `mean_gain`, and the angle `centre` relative to which f_Θ is given.
        """
        r, theta, rho, floor, centre = (values[:, None] for values in at)
        unit, weight = gauss_legendre(0.0, 1.0, nodes=_ANGLES)
        width = high - low
        from_high = width[:, None] * unit
        angle = high[:, None] - from_high
        from_theta = from_high + (theta - high[:, None])
        turn = _sine_of_double((theta + angle) / 4) * _sine_of_double(from_theta / 4)
        x = self._to_angle(turn, r, rho)
        with np.errstate(over="ignore"):
            gap = self.kappa * x + rho**self.p * np.expm1(self.p * x) + floor
        values = -np.expm1(-gap)
        if self.d > 2:
            values *= np.exp((self.d - 2) * (log_sine(angle) - log_sine(centre)))
        return width * (values @ weight)

    def _to_angle(self, turn: _Array, r: _Array, rho: _Array) -> _Array:
        """Return ln of the ratio of two radii r₂: at an angle φ, and at θ, where r₂ is `rho`.

        `turn` is sin((θ+φ)/2) sin((θ−φ)/2).
        """
        return np.log1p(4 * turn * (r / rho) * (self.s / rho)) / 2

    def _window(self, centre: _Array, theta: _Array) -> tuple[_Array, _Array]:
        """Return the ends of the range of angles up to `theta` in which the density f_Θ matters.

        Beyond them, sin^(d−2) is negligible relative to its value at `centre`.
        """
        n = self.d - 2
        sine = np.maximum(np.sin(centre), 1e-140)
        slope = n * np.cos(centre) / sine
        curve = n / sine / sine + 1e-9
        reach = 2 * _CUT / (slope + np.sqrt(slope * slope + 2 * _CUT * curve))
        return np.maximum(centre - reach, 0.0), np.minimum(theta, centre + reach)

    def _two_sides(self, r: _Array, theta: _Array, rho: _Array, floor: _Array) -> _Array:
        """Return the result of `mean_gain` in one dimension, where θ is 0 or π, equally likely."""
        both = theta >= math.pi
        x = self._to_angle(np.sin(theta / 2) ** 2, r, rho)
        gap = self.kappa * x + rho**self.p * np.expm1(self.p * x) + floor
        with np.errstate(divide="ignore", over="ignore"):
            return np.log(-np.expm1(-gap) / 2 + np.where(both, -np.expm1(-floor) / 2, 0.0))

    def most_inside(self, edge: float) -> float:
        """Return an upper bound on ln of the probability of a radius below `edge`.

        It is valid because the density of ln r is log-concave: below the edge the density falls at
        least as fast as at the edge. The bound is 0 if the density doesn't fall there.
        """
        y, k = math.log(edge), (self.alpha + 1) / self.p
        slope = self.p * (k - edge**self.p)
        return float(self.log_radius(np.array(y))) - math.log(slope) if slope > 0 else 0.0

    def inner(self, edge: float) -> float:
        """Return ln of the part of δ from radii below r₁ = `edge`, where θ* = π."""
        log_edge, power = math.log(edge), self.alpha + 1
        mode = math.log(power / self.p) / self.p
        if power > _STEEP:  # the density falls towards 0 fast enough
            low = max(min(log_edge, mode) - _reach_down(power / self.p) / self.p, _LOWEST)
            return self._inner(low, log_edge)
        knee = min(log_edge, mode)
        u, _, weight = tanh_sinh(_NODES)  # u = (r/knee)^(α+1) removes the pole of r^α
        y = knee + np.log(u) / power
        above = np.maximum(y, _LOWEST)  # below it the integrand is proportional to r^(α+1)
        near = _log_dot(self._inside(above) + power * (y - above) - np.log(power * u), weight)
        return float(np.logaddexp(near, self._inner(knee, log_edge)))

    def _inner(self, low: float, high: float) -> float:
        y, weight = self._rule(self._inside, low, high, ends=(False, True))
        return _log_dot(self._inside(y), weight)

    def _inside(self, y: _Array) -> _Array:
        """Return ln of the integrand of δ in y = ln r, at radii where θ* = π."""
        r = np.exp(y)
        rho = self.s - r
        x = np.log(rho) - y
        with np.errstate(over="ignore"):
            rise = _powers(self.p, y, x)
        floor = np.maximum(self.kappa * x + rise - self.epsilon, 0.0)
        return self.log_radius(y) + self.mean_gain(r, np.full_like(r, math.pi), rho, floor)

    def outer(self, start: float, end: float) -> float:
        """Return ln of the part of δ from radii between `start` and `end`, where 0 < θ* < π."""
        y, weight = self.rule(self._beyond, start, end)
        return _log_dot(self._beyond(y), weight)

    def rule(self, log_f: _LogOf, start: float, end: float) -> tuple[_Array, _Array]:
        """Return nodes y = ln r and weights for an integral over the radii from `start` to `end`.

        The range is one of the `pieces`. `log_f` is the logarithm of the integrand in y.
        """
        k = (self.alpha + 1) / self.p
        mode = math.log(k) / self.p
        first, last = math.log(start) if start > 0 else -math.inf, math.log(end)
        low = max(first, mode - _reach_down(k) / self.p, _LOWEST)
        high = min(last, mode + _reach_up(k) / self.p)
        return self._rule(log_f, low, high, ends=(low == first, high == last))

    def _beyond(self, y: _Array) -> _Array:
        """Return ln of the integrand of δ in y = ln r, at radii where θ* < π."""
        r = np.exp(y)
        theta, rho = self.angle(y)
        with np.errstate(invalid="ignore"):
            values = self.log_radius(y) + self.mean_gain(r, theta, rho, np.zeros_like(r))
        return np.where(np.isnan(values), -math.inf, values)

    def _rule(
        self, log_f: _LogOf, low: float, high: float, *, ends: tuple[bool, bool]
    ) -> tuple[_Array, _Array]:
        """Return nodes and weights for an integral over the part of [low, high] that matters.

        `log_f` is the logarithm of the integrand. At the ends that `ends` marks, the integrand
        behaves like half powers of the distance from the end.
        """
        if high <= low:
            return np.empty(0), np.empty(0)
        left, right = narrow(log_f, low, high, drop=_CUT)
        starts, stops = ends[0] and left == low, ends[1] and right == high
        # e^(−r^p) falls within a few 1/p of ln r; a long interval below gets a rule of its own
        cut = (math.log((self.alpha + 1) / self.p) - 3) / self.p
        if left < cut - 3 / self.p and cut < right:
            below = half_powers(left, cut, nodes=_NODES, ends=(starts, False))
            above = half_powers(cut, right, nodes=_NODES, ends=(False, stops))
            return np.concatenate((below[0], above[0])), np.concatenate((below[1], above[1]))
        return half_powers(left, right, nodes=_NODES, ends=(starts, stops))


def _reach_up(k: float) -> float:
    """Return q > 0 such that the density of p·ln r is negligible further than q above its peak.

    At the distance q, relative to its peak, the density is e^(−k(e^q − 1 − q)).
    """
    q = min(2.0, math.sqrt(2 * _LOST / k))  # e^q − 1 − q >= q²/2
    while k * (math.expm1(q) - q) < _LOST:
        q *= 1.5
    return q


def _reach_down(k: float) -> float:
    """Return q > 0 such that the density of p·ln r is negligible further than q below its peak.

    At the distance q, relative to its peak, the density is e^(−k(e^−q − 1 + q)), and the exponent's
    k(e^−q − 1 + q) is at least kq²/(2 + q).
    """
    half = _LOST / k / 2
    return half + math.sqrt(half * (half + 4))


def _sine_of_double(x: _Array) -> _Array:
    """Return sin(2x) from tan x, which takes numpy a fifth of the time of a sine."""
    tangent = np.tan(x)
    return 2 * tangent / (1 + tangent * tangent)


def _powers(p: float, y: _Array, x: _Array) -> _Array:
    """Return e^(p(y+x)) − e^(py) for x > 0: the rise of r^p from r = e^y to r = e^(y+x)."""
    near = np.minimum(p * x, 1.0)
    return np.where(p * x < 1, np.exp(p * y) * np.expm1(near), np.exp(p * (y + x)) - np.exp(p * y))


def _exp_gap(q: _Array) -> _Array:
    """The difference e^q − 1 − q, by its series for small q."""
    series = np.zeros_like(q)
    for n in range(11, 1, -1):
        series = (1 + series) * q / n
    with np.errstate(over="ignore"):
        return np.where(np.abs(q) < 0.1, series * q, np.expm1(q) - q)


def _log_dot(logs: _Array, weight: _Array) -> float:
    top = float(logs.max(initial=-math.inf))
    if top == -math.inf:
        return -math.inf
    return top + math.log(float(np.exp(logs - top) @ weight))
