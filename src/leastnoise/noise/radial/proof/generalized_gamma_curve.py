"""The curve on which the privacy loss of spherical generalized gamma noise is ε, in enclosures.

Notation: lengths are in units of the scale. d is the dimension, p the power in the density, κ the
power of its pole at 0, and k = (α+1)/p. −ln of the density is ℓ(r) = κ ln r + r^p at the radius r,
up to a constant. s is the shift, r and r₂ the radii before and after it, x = ln(r₂/r) > 0, b = r^p
and v = ε − κx = b(e^(px) − 1). w and w₂ are the cosines of the angles to the shift, seen from the
centres of both densities. f_R is the density of the radius, and F the distribution function of the
cosine of a uniform direction. y is a coordinate on the curve: ln x or ln v (see `Position`).

On the curve b = v/(e^(px) − 1), which decreases in x. So every quantity is an explicit function of
x, or of v where x is near its end ε/κ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import acb, arb

from leastnoise.balls.core import ball
from leastnoise.noise.radial.law import GeneralizedGamma
from leastnoise.noise.radial.proof.cosine_law import CosineLaw, Halves
from leastnoise.numerics.bisection import Bisection

_WIDE = 2.0**-60  # boxes of positions that are wider aren't mere rounding
_LOG_MOST = 690.0
_LOG_LEAST = -_LOG_MOST
_I = acb(0, 1)


@final
@dataclass(frozen=True)
class Position:
    """A position on the curve: its coordinate y = ln x if `far` (at large radii), else y = ln v."""

    y: arb
    far: bool


@final
@dataclass(frozen=True, kw_only=True)
class Point:
    """Enclosures of the curve's quantities at a position, or over a box of positions."""

    x: acb
    v: acb
    growth: acb  # e^(px) − 1
    speed: acb  # |dx/dy|
    advance: acb  # r₂ − r
    c: Halves  # of w
    c2: Halves  # of w₂

    @property
    def b(self) -> acb:
        """The power b = r^p of the radius."""
        return self.v / self.growth


@final
class Curve:
    """The curve for one law in at least 2 dimensions, one shift and one ε > 0.

    Its numbers have the precision that is current when it is created.
    """

    def __init__(self, noise: GeneralizedGamma, *, shift: Fraction, epsilon: Fraction) -> None:
        self.noise = noise
        self.d = noise.dimension
        self.s, self.epsilon = ball(shift / noise.scale), ball(epsilon)
        self.kappa, self.p = ball(noise.kappa), ball(noise.p)
        self.k = ball((noise.alpha + 1) / noise.p)
        self._log_norm = self.p.log() - self.k.lgamma()
        self.cosine = CosineLaw(self.d)

    def _radius(self, y: acb, *, far: bool) -> tuple[acb, acb, acb, acb] | None:
        """Enclose x, v, e^(px) − 1 and r over a box of y.

        None unless x > 0, v > 0 and r^p > 0 are certain.
        """
        if far:
            x = y.exp()
            v = self.epsilon - self.kappa * x
        else:
            v = y.exp()
            x = (self.epsilon - v) / self.kappa
        if not (x.real > 0 and v.real > 0):
            return None
        growth = (self.p * x).expm1()
        if not (growth.real > 0 and (v / growth).real > 0):
            return None
        return x, v, growth, ((v.log() - growth.log()) / self.p).exp()

    def at(self, y: acb, *, far: bool) -> Point | None:
        """Enclose the curve's quantities over a box of y.

        None unless x > 0, v > 0 and r^p > 0 are certain.
        """
        radius = self._radius(y, far=far)
        if radius is None:
            return None
        x, v, growth, r = radius
        speed = x if far else v / self.kappa
        advance = r * x.expm1()
        if y.real.rad() > _WIDE or y.imag.rad() > _WIDE:
            # Near the l2 mechanism r₂ − r is nearly s along the whole curve, so that 1 − w depends
            # on its last digits. r and x move in opposite directions, so the mean value theorem
            # gives a tighter enclosure.
            middle = acb(y.real.mid(), y.imag.mid())
            there = self._radius(middle, far=far)
            if there is None:
                return None
            bend = x.exp() - x.expm1() * (self.kappa / (self.p * v) + 1 + 1 / growth)
            at_middle = there[3] * there[0].expm1()
            advance = at_middle + (y - middle) * (r * bend * (speed if far else -speed))
        r2 = advance + r
        ahead, behind = self.s - advance, r + r2 - self.s  # >= 0 in a triangle of sides r, r₂, s
        unit = 4 * r * self.s
        unit2 = 4 * r2 * self.s
        return Point(
            x=x,
            v=v,
            growth=growth,
            speed=speed,
            advance=advance,
            c=Halves(ahead * (r + r2 + self.s) / unit, behind * (advance + self.s) / unit),
            c2=Halves(ahead * behind / unit2, (advance + self.s) * (r + r2 + self.s) / unit2),
        )

    def integrand(self, y: acb, *, far: bool, analytic: bool) -> acb:
        """Enclose the integrand of both tails, as a function of y, over a box of y.

        It is f_R(r) [|dr| (1 − F(w)) + i e^((d−1)x) |dr₂| (1 − F(w₂))] / |dy|, i the imaginary
        unit. The differentials follow from −d(ln r₂) = (κ/(pv) + 1/(e^(px) − 1)) dx and
        −d(ln r) = −d(ln r₂) + dx. For real y both terms are real, so they become the real and the
        imaginary part of the integral. NaN if `analytic` is true and analyticity isn't certain.
        """
        if not analytic and y.imag.is_zero() and y.real.rad() <= _WIDE:
            return self._integrand_at(y.real, far=far)
        point = self.at(y, far=far)
        if point is None:
            return acb("nan")
        slower = (self.kappa / (self.p * point.v) + 1 / point.growth) * point.speed
        first = (slower + point.speed) * self.cosine.above(point.c, analytic=analytic)
        second = slower * self.cosine.above(point.c2, analytic=analytic)
        return self.log_radius(point.v.log() - point.growth.log()).exp() * (
            first + _I * (self.d * point.x).exp() * second
        )

    def _integrand_at(self, y: arb, *, far: bool) -> acb:
        """Enclose the integrand at a real y, with the formulas of `at` in arb; twice as fast."""
        if far:
            x = y.exp()
            v = self.epsilon - self.kappa * x
            speed = x
        else:
            v = y.exp()
            x = (self.epsilon - v) / self.kappa
            speed = v / self.kappa
        growth = (self.p * x).expm1()
        if not (x > 0 and v > 0 and growth > 0):
            return acb("nan")
        log_b = v.log() - growth.log()
        r = (log_b / self.p).exp()
        s, advance = self.s, r * x.expm1()
        r2 = advance + r
        ahead, behind, along, around = s - advance, r + r2 - s, advance + s, r + r2 + s
        unit, unit2 = 4 * r * s, 4 * r2 * s
        slower = (self.kappa / (self.p * v) + 1 / growth) * speed
        cosine = self.cosine.above_at
        first = (slower + speed) * cosine(ahead * around / unit, behind * along / unit)
        second = slower * cosine(ahead * behind / unit2, along * around / unit2)
        density = (self.k * log_b - log_b.exp() + self._log_norm).exp()
        return acb(density * first, density * (self.d * x).exp() * second)

    def log_radius(self, log_b: acb) -> acb:
        """The logarithm of the density of ln r, which is k ln b − b + ln(p/Γ(k)) with b = r^p."""
        return self.k * log_b - log_b.exp() + self._log_norm


@final
class Hints:
    """Radii and positions, in floats, at which the integrals are split.

    The proof holds for any of them.
    """

    def __init__(self, noise: GeneralizedGamma, *, shift: Fraction, epsilon: Fraction) -> None:
        self._s, self._epsilon = float(shift / noise.scale), float(epsilon)
        self._kappa, self._p = float(noise.kappa), float(noise.p)
        self._k = float((noise.alpha + 1) / noise.p)

    @property
    def _rise_from_zero(self) -> float:
        return math.inf if self._kappa > 0 else self._s**self._p

    def inner_edge(self) -> float | None:
        """Return the radius at which ℓ(s−r) − ℓ(r) falls through ε, or None; w = −1 below it."""
        if self._rise_from_zero <= self._epsilon:
            return None

        def over(y: float) -> float:
            return self._excess(y, math.log(self._s - math.exp(y)) - y)

        return math.exp(_bisect(over, _LOG_LEAST, math.log(self._s / 2)))

    def outer_edges(self) -> list[float]:
        """Return the radii where ℓ(r+s) − ℓ(r) crosses ε.

        If the difference never falls below ε, the list has only the radius of its minimum, or
        nothing for κ = 0.
        """
        most = _LOG_MOST / max(1.0, self._p)

        def over(y: float) -> float:
            return self._excess(y, math.log1p(self._s / math.exp(y)))

        def under(y: float) -> float:
            return -over(y)

        if self._rise_from_zero <= self._epsilon:
            return [math.exp(_bisect(under, _LOG_LEAST, most))]
        if self._p <= 1:
            return [math.exp(_bisect(over, _LOG_LEAST, most))]
        if self._kappa == 0:
            return []
        low, high = _LOG_LEAST, most
        for _ in range(150):
            third = (high - low) / 3
            if over(low + third) <= over(high - third):
                high -= third
            else:
                low += third
        if over(low) >= 0:
            return [math.exp(low)]
        return [
            math.exp(_bisect(over, _LOG_LEAST, low)),
            math.exp(_bisect(under, low, most)),
        ]

    def far_end(self, log_tail: float) -> float:
        """Return a radius beyond which the noise lies with a probability of about e^(−log_tail)."""
        q = 0.01
        while self._k * (math.expm1(q) - q) < log_tail:
            q *= 1.1  # P(R > e^(q/p) · mode) falls like e^(−k(e^q − 1 − q))
        return math.exp((math.log(self._k) + q) / self._p)

    def position(self, r: float) -> Position:
        """Approximate the position on the curve at the radius r, by Newton's method in x."""
        y, mass = math.log(r), r**self._p
        if self._p * y > -600:
            x = math.log1p(self._epsilon / mass) / self._p
        else:
            x = math.log(self._epsilon) / self._p - y
        if self._kappa > 0:
            x = min(x, self._epsilon / self._kappa)
            for _ in range(60):
                e = self._powers(y, x)
                slope = self._kappa + self._p * (e + mass)
                step = (self._kappa * x + e - self._epsilon) / slope
                x -= step
                if abs(step) <= 1e-16 * x:
                    break
        if self._kappa * x <= self._epsilon / 2:
            return Position(arb(math.log(x)), far=True)
        growth = math.log(math.expm1(self._p * x)) if self._p * x < 600 else self._p * x
        return Position(arb(self._p * y + growth), far=False)

    def _excess(self, y: float, x: float) -> float:
        """Return ℓ(re^x) − ℓ(r) − ε for r = e^y: the loss minus ε, if the shift adds x to ln r."""
        try:
            return self._kappa * x + self._powers(y, x) - self._epsilon
        except OverflowError:
            return math.inf

    def _powers(self, y: float, x: float) -> float:
        """Return the rise of r^p from r = e^y to r = e^(y+x)."""
        if self._p * x > 1:
            return math.exp(self._p * (y + x)) - math.exp(self._p * y)
        return math.exp(self._p * y) * math.expm1(self._p * x)


def _bisect(f: Callable[[float], float], low: float, high: float) -> float:
    """Approximate the root of a decreasing function between `low` and `high`, in floats."""
    low, high = Bisection(halvings=200).close(lambda x: not f(x) > 0, low, high)
    return (low + high) / 2
