"""Enclosures of δ(ε) for Laplace, Gaussian and flipped Huber noise.

Notation: Φ is the distribution function of the standard normal law N(0, 1). Lengths of flipped
Huber noise are in units of scale·γ: t is the shift, and u = α/γ the corner. Its density is ∝ e^(−h)
with h(y) = u|y| up to |y| = u, and (y² + u²)/2 beyond; F is its distribution function. At y the
privacy loss is L(y) = h(y − t) − h(y). A kink is a point where h or L changes from one polynomial
to another.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import final

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.noise.classic.law import FlippedHuber, Gaussian, Laplace, TruncatedLaplace
from leastnoise.noise.common import proof as common_proof


def gaussian_delta_ball(noise: Gaussian, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε) = Φ(−t) − e^ε Φ(−t−μ), t = ε/μ − μ/2, μ = shift/scale."""
    return common_proof.delta_of_ratio(ball(shift / noise.scale), epsilon=epsilon)


def gaussian_tails(noise: Gaussian, shift: Fraction, loss: Fraction) -> tuple[arb, arb]:
    """Enclose the probabilities that the privacy loss Z exceeds `loss`, before and after the shift.

    With μ = shift/scale, the mean of Z is μ²/2 before the shift and −μ²/2 after it. Its law is
    normal with the variance μ² in both cases.
    """
    mu, root_half = ball(shift / noise.scale), arb(0.5).sqrt()
    t = ball(loss) / mu - mu / 2
    return (t * root_half).erfc() / 2, ((t + mu) * root_half).erfc() / 2


def gaussian_beyond(noise: Gaussian, t: Fraction, coordinate: int = 0) -> arb:
    """Enclose the probability that a coordinate of the noise exceeds t, ½ erfc(t/(scale·√2))."""
    del coordinate
    return (ball(t / noise.scale) * arb(0.5).sqrt()).erfc() / 2


# Enclosure of δ(ε) for i.i.d. Laplace noise against l1 shifts.


def laplace_delta_ball(noise: Laplace, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε) = 1 − exp((ε − shift/scale)/2), or exactly 0 if ε >= shift/scale.

    The worst shift of the l1 ball is along an axis (theory/noise.md §1d), where all but one
    coordinate cancel.
    """
    return common_proof.delta_of_excess(shift / noise.scale - epsilon)


# Enclosure of δ(ε) for truncated Laplace noise.


def truncated_laplace_delta_ball(
    noise: TruncatedLaplace, *, shift: Fraction, epsilon: Fraction
) -> arb:
    """Enclose δ(ε) = F(y) − e^ε F(y − t), where y is the point up to which the loss exceeds ε.

    Lengths are in units of the scale: t is the shift, and a the radius. f is the density and F the
    distribution function. The density is symmetric and unimodal, so the longest shift is the worst
    (theory/noise.md §1). Let x rise from −a. Up to x = t − a the shifted density f(x − t) is 0, and
    the loss ln(f(x)/f(x − t)) is ∞. Then the loss is t up to x = 0, t − 2x up to x = t, and −t
    beyond. Rationals decide which case applies.
    """
    t, a = shift / noise.scale, noise.radius
    if t >= 2 * a:
        return arb(1)
    end = t - a
    if t > epsilon:  # then the stretch up to 0 counts too, where the loss is t
        end = max(end, (t - epsilon) / 2)
    return _below(end, a) - ball(epsilon).exp() * _below(end - t, a)


def _below(x: Fraction, a: Fraction) -> arb:
    """Enclose F(x), the probability that truncated Laplace noise of scale 1 is at most x.

    Its radius is a. F(x) = (e^x − e^(−a))/(2(1 − e^(−a))) for −a <= x <= 0, and 1 − F(−x) for x >
    0.
    """
    if x > 0:
        return 1 - _below(-x, a)
    if x <= -a:
        return arb(0)
    floor = ball(-a)
    return ball(x + a).expm1() * floor.exp() / (-2 * floor.expm1())


def laplace_beyond(noise: Laplace | TruncatedLaplace, t: Fraction, coordinate: int = 0) -> arb:
    """Enclose the probability that a coordinate of the noise exceeds t.

    It is ½ e^(−t/scale) for Laplace noise and t >= 0, and 1 − F(t/scale) for a truncated law, with
    the F of `_below`.
    """
    x = t / noise.scale
    if isinstance(noise, TruncatedLaplace):
        return 1 - _below(min(x, noise.radius), noise.radius)
    if t < 0:
        return 1 - laplace_beyond(noise, -t, coordinate)
    return ball(-x).exp() / 2


def huber_delta_ball(noise: FlippedHuber, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε) = F(y) − e^ε F(y − t), where y is the point at which the loss falls through ε.

    The density is symmetric and unimodal, so the longest shift is the worst (theory/noise.md §1). h
    is convex, so the loss L(y) = h(y − t) − h(y) never rises. Between its kinks, all rational, L is
    a polynomial with rational coefficients. So the stretch with y is found exactly, and y is the
    root of a linear or quadratic equation.
    """
    u, t = noise.corner, shift / (noise.scale * noise.gamma)
    y, here, there = _crossing(u, t, epsilon)
    law = _Masses(u)
    gap = law.below(y, here) - ball(epsilon).exp() * law.below(y - ball(t), there)
    return gap / law.total


@final
@dataclass(frozen=True)
class _Form:
    """The polynomial square·y² + slope·y + constant that equals h between two of its kinks.

    `right` is True on the right of 0, and `inner` between the corners, where h is linear.
    """

    square: Fraction
    slope: Fraction
    constant: Fraction
    right: bool
    inner: bool

    @classmethod
    def at(cls, point: Fraction, u: Fraction) -> _Form:
        """The polynomial of h near `point`."""
        right, zero = point > 0, Fraction(0)
        if abs(point) <= u:
            return cls(zero, u if right else -u, zero, right, inner=True)
        return cls(Fraction(1, 2), zero, u * u / 2, right, inner=False)


@final
@dataclass(frozen=True, kw_only=True)
class _Stretch:
    """A stretch between two kinks of L, where L(y) = square·y² + slope·y + constant.

    `here` and `there` are the polynomials of h near y and near y − t. `least` is L at the right end
    of the stretch. It is None for the last stretch, at whose right end L is negative in any case.
    """

    here: _Form
    there: _Form
    square: Fraction
    slope: Fraction
    constant: Fraction
    least: Fraction | None


@lru_cache(maxsize=64)  # they are the same for every ε
def _stretches(u: Fraction, t: Fraction) -> tuple[_Stretch, ...]:
    """The stretches between the kinks of h and of its copy shifted by t, from the left."""
    kinks = sorted({center + side for center in (Fraction(0), t) for side in (-u, Fraction(0), u)})
    stretches: list[_Stretch] = []
    for left, right in pairwise((kinks[0] - 2, *kinks)):
        middle = (left + right) / 2
        here, there = _Form.at(middle, u), _Form.at(middle - t, u)
        square = there.square - here.square
        slope = there.slope - 2 * there.square * t - here.slope
        constant = there.square * t * t - there.slope * t + there.constant - here.constant
        least = None if right == kinks[-1] else (square * right + slope) * right + constant
        stretches.append(
            _Stretch(
                here=here,
                there=there,
                square=square,
                slope=slope,
                constant=constant,
                least=least,
            )
        )
    return tuple(stretches)


def _crossing(u: Fraction, t: Fraction, epsilon: Fraction) -> tuple[arb, _Form, _Form]:
    """The y with L(y) = ε, and the polynomials of h at y and at y − t.

    L never rises, and it is at most ε at u + t, since L(t/2) = 0. So y is in the stretch that ends
    at the first kink where L <= ε.
    """
    stretches = _stretches(u, t)
    on = next(part for part in stretches if part.least is None or part.least <= epsilon)
    return _root(on.square, on.slope, on.constant - epsilon), on.here, on.there


def _root(square: Fraction, slope: Fraction, constant: Fraction) -> arb:
    """Enclose the root where the polynomial square·y² + slope·y + constant falls.

    Its derivative there is −√(slope² − 4·square·constant).
    """
    if square == 0:
        return ball(-constant / slope)
    discriminant = slope * slope - 4 * square * constant
    return (-ball(slope) - ball(discriminant).sqrt()) / ball(2 * square)


class _Masses:
    """Integrals of e^(−h) over half-lines, not divided by the total; `total` is over the line."""

    def __init__(self, u: Fraction) -> None:
        self._u = ball(u)
        self._edge = ball(-u * u).exp()
        self._gauss = ball(-u * u / 2).exp() * (arb.pi() / 2).sqrt()
        self._tail = self._beyond(self._u)
        body = (1 - self._edge) / self._u if u > 0 else arb(0)
        self.total = 2 * (body + self._tail)

    def _beyond(self, r: arb) -> arb:
        return self._gauss * (r / arb(2).sqrt()).erfc()

    def below(self, y: arb, form: _Form) -> arb:
        """Enclose the mass below y, where `form` is the polynomial of h near y."""
        if form.right:
            return self.total - self._above(y, inner=form.inner)
        return self._above(-y, inner=form.inner)

    def _above(self, r: arb, *, inner: bool) -> arb:
        """Enclose the mass beyond r >= 0; `inner` if r is at most the corner."""
        if inner:
            return self._tail + ((-self._u * r).exp() - self._edge) / self._u
        return self._beyond(r)
