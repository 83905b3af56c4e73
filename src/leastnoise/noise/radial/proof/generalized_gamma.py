"""Enclosure of δ(ε) for spherical generalized gamma noise (theory/noise.md §7).

Notation: lengths are in units of the scale. d is the dimension, p the power in the density, κ the
power of its pole at 0, and k = (α+1)/p. −ln of the density is ℓ(r) = κ ln r + r^p at the radius r,
up to a constant. s is the shift, r and r₂ the radii before and after it, and f_R the density of the
radius R of a draw. Z is the privacy loss. P and Q are probabilities under the noise and under the
shifted noise. F is the distribution function of the cosine W of a uniform direction. w and w₂ are
the cosines at which Z = ε, seen from the centres of both densities and clipped to [−1, 1].

δ is the difference of two integrals along the curve on which Z = ε:

    δ = P(Z > ε) − e^ε Q(Z > ε) = ∫ f_R(r) (1 − F(w)) dr − e^ε ∫ f_R(r₂) (1 − F(w₂)) dr₂.

On the curve e^ε f_R(r₂) r₂ = e^(dx) f_R(r) r with x = ln(r₂/r). The difference cancels digits, so
it takes a higher precision. The quadrature of Johansson (2018) encloses both integrals at once, as
the real and imaginary part of one integral. The enclosure holds for any split of the curve. Below
some r₀ the integrands are f_R and 0 (w = −1), or both are 0 (w = 1). `generalized_gamma_curve`
defines the quantities b, v and y of a position on the curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import final

from flint import acb, arb

from leastnoise.balls.core import ball
from leastnoise.noise.common import proof as common_proof
from leastnoise.noise.radial.law import GeneralizedGamma, SphericalLaplace
from leastnoise.noise.radial.proof import generalized_gamma_line, spherical_laplace
from leastnoise.noise.radial.proof.generalized_gamma_curve import (
    CosineLaw,
    Curve,
    Halves,
    Hints,
    Position,
)
from leastnoise.noise.radial.proof.generalized_gamma_line import Tails

ACCURACY = 33  # goal in bits of δ; the enclosure holds even if the goal isn't met
_GOALS = 4  # most goals for the absolute error that are tried, each finer than the one before
MOST_EVALUATIONS = 200_000  # evaluations of integrands for one δ; calibrated laws took 50,000
_COARSE = 12  # steps between two positions for a first guess of δ


def delta_ball(noise: GeneralizedGamma, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε); a classic member uses the proof of Gaussian, Laplace or l2 noise."""
    if noise.is_classic:
        return _as_classic(noise, shift=shift, epsilon=epsilon)
    return tails(noise, shift=shift, epsilon=epsilon).delta


def tails(
    noise: GeneralizedGamma,
    *,
    shift: Fraction,
    epsilon: Fraction,
    about: float = 1.0,
    accuracy: int = ACCURACY,
    evaluations: int = MOST_EVALUATIONS,
) -> Tails:
    """Enclose the tails of the loss above ε, and δ(ε) with a goal of `accuracy` bits.

    `about` is an approximation of δ(ε), or 1 if δ(ε) is unknown. `evaluations` limits how often the
    integrands are computed. If the limit is reached, the result is a wider enclosure, or NaN.
    """
    if noise.kappa == 0 and noise.p <= 1:
        top = largest_loss(noise, shift)
        if not top > ball(epsilon):
            nothing = arb(0)
            return Tails.of(nothing, nothing) if top <= ball(epsilon) else Tails.unknown(arb.nan())
    if noise.dimension == 1:
        return generalized_gamma_line.tails(noise, shift=shift, epsilon=epsilon)
    if epsilon == 0:
        return Tails.at_zero(_within_half(noise, shift=shift, accuracy=accuracy))
    quadrature = _Quadrature(evaluations)
    total = _along_the_curve(
        noise, quadrature, shift=shift, epsilon=epsilon, about=about, accuracy=accuracy
    )
    return Tails.of(total.real, total.imag)


def largest_loss(noise: GeneralizedGamma, shift: Fraction) -> arb:
    """Enclose s^p: if κ = 0, the loss of the output 0, which is the largest loss if p <= 1."""
    return ball(shift / noise.scale) ** ball(noise.p)


def _as_classic(noise: GeneralizedGamma, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε) of a classic member, as Gaussian, Laplace or l2 noise."""
    if noise.p == 2:  # e^(−r²) has σ² = ½
        return common_proof.delta_of_ratio(
            ball(shift / noise.scale) * arb(2).sqrt(), epsilon=epsilon
        )
    if noise.dimension == 1:
        return common_proof.delta_of_excess(shift / noise.scale - epsilon)
    same = SphericalLaplace(scale=noise.scale, dimension=noise.dimension)
    return spherical_laplace.delta_ball(same, shift=shift, epsilon=epsilon)


@final
class _Quadrature:
    """A quadrature in balls, with a limit on the total number of evaluations."""

    def __init__(self, evaluations: int) -> None:
        self._left = evaluations

    def enclose(
        self, integrand: Callable[[acb, int], acb], start: arb, end: arb, *, goal: arb
    ) -> acb:
        """Enclose an integral with an absolute error of about `goal`.

        When the limit is reached, the enclosure is wider, or NaN.
        """

        def counted(y: acb, analytic: int) -> acb:
            self._left -= 1
            return integrand(y, analytic)

        if self._left <= 0:
            return acb("nan")
        return acb.integral(counted, acb(start), acb(end), abs_tol=goal, eval_limit=self._left)


def _along_the_curve(
    noise: GeneralizedGamma,
    quadrature: _Quadrature,
    *,
    shift: Fraction,
    epsilon: Fraction,
    about: float,
    accuracy: int,
) -> acb:
    """Enclose the tails P(Z > ε) and e^ε Q(Z > ε), as the real and the imaginary part.

    `about` and `accuracy` are as in `tails`.
    """
    curve = Curve(noise, shift=shift, epsilon=epsilon)
    hints = Hints(noise, shift=shift, epsilon=epsilon)
    edge, edges = hints.inner_edge(), hints.outer_edges()
    first, start, below = _start(curve, hints, edge, edges)
    if start is None:
        return acb("nan")

    def split(goal: arb) -> list[Position]:
        log_tail = 5 - float(goal.log()) + float(epsilon)
        last = hints.far_end(log_tail)
        inner = [r for r in sorted(edges) if first < r < last]
        positions = [start, *map(hints.position, inner)]
        return [*positions, hints.position(last)] if last > first else positions

    def integral(goal: arb) -> acb:
        positions = split(goal)
        total = below + _tail(curve, positions[-1])
        for left, right in _stretches(curve, positions):
            total += _stretch(curve, quadrature, left, right, goal=goal)
        return total

    if about == 1:
        about = _guess(curve, _stretches(curve, split(arb(2) ** -accuracy)), below)
    return _to_accuracy(integral, about, accuracy)


def _guess(curve: Curve, stretches: list[tuple[Position, Position]], below: acb) -> float:
    """Approximate δ by the trapezoidal rule; 1 if the sum is not between 0 and 1.

    The result only sets the goal for the error of the integrals, so a wrong guess costs only time.
    """
    total = below.real.mid() - below.imag.mid()
    for left, right in stretches:
        step = (right.y - left.y).mid() / _COARSE
        for i in range(_COARSE + 1):
            y = acb((left.y + i * step).mid())
            value = curve.integrand(y, far=left.far, analytic=False)
            part = (value.real - value.imag).mid() * step
            total += (-part if left.far else part) / (2 if i in {0, _COARSE} else 1)
    return float(total) if 0 < total < 1 else 1.0


def _start(
    curve: Curve, hints: Hints, edge: float | None, edges: list[float]
) -> tuple[float, Position | None, acb]:
    """Return r₀, where the curve begins, its position on the curve, and the integrals below r₀.

    `edge` is the radius at which ℓ(s−r) − ℓ(r) falls through ε, or None; `edges` are the radii of
    `Hints.outer_edges`. The position is None if the precision is too low to enclose it.

    If there is an edge, ℓ(s−r) − ℓ(r) falls, so w <= −1 at r₀ implies w <= −1 at smaller radii.
    Then the integrands are f_R and 0. Otherwise ℓ(r+s) − ℓ(r) rises (κ = 0, p > 1), and w >= 1 at
    r₀ implies w >= 1 at smaller radii. Then both integrands are 0.
    """
    radius = min(edges) if edge is None else edge
    for shrink in (1e-13, 1e-10, 1e-6, 1e-3):
        position = hints.position(radius * (1 - shrink))
        point = curve.at(acb(position.y), far=position.far)
        if point is None:
            continue
        if edge is None and point.c.down.real <= 0:
            return radius, position, acb(0)
        if edge is not None and point.c.up.real <= 0:
            return radius, position, acb(1 - arb(point.b.real).gamma_upper(curve.k, 1))
    return _first_at(curve, hints, radius * (1 - 1e-3))


def _first_at(curve: Curve, hints: Hints, radius: float) -> tuple[float, Position | None, acb]:
    """Return the triple of `_start` at r₀ = `radius`, where w isn't proved to be beyond ±1.

    This serves densities with a strong pole. The curve before r₀ adds to each integral at least 0
    and at most P(R < r₀), which is at most b^k/Γ(k+1) with b = r₀^p. The second integral is about
    outputs with Z > ε and a smaller r₂ than at r₀. They have r < r₀, and e^ε times their mass under
    Q is at most their mass under P.
    """
    position = hints.position(radius)
    point = curve.at(acb(position.y), far=position.far)
    if point is None:
        return radius, None, acb("nan")
    mass = (curve.k * point.b.real.log() - (curve.k + 1).lgamma()).exp()
    either = arb(0).union(mass)
    return radius, position, acb(either, either)


def _tail(curve: Curve, last: Position) -> acb:
    """Enclose both integrals beyond the position `last`: in [0, P(R > r)] and [0, e^ε P(R > r₂)].

    r and r₂ are the radii before and after the shift at `last`.
    """
    point = curve.at(acb(last.y), far=last.far)
    if point is None:
        return acb("nan")
    b = point.b.real
    first = b.gamma_upper(curve.k, 1)
    second = curve.epsilon.exp() * (b + point.v.real).gamma_upper(curve.k, 1)
    return acb(arb(0).union(first), arb(0).union(second))


def _stretches(curve: Curve, positions: list[Position]) -> list[tuple[Position, Position]]:
    """Return pairs of consecutive positions, split where κx = v = ε/2.

    There y changes its meaning (see `Position`): y = ln v before, and y = ln x beyond.
    """
    pairs: list[tuple[Position, Position]] = []
    for left, right in pairwise(positions):
        if left.far == right.far:
            pairs.append((left, right))
            continue
        half = curve.epsilon / 2
        pairs.append((left, Position(half.log(), far=False)))
        pairs.append((Position((half / curve.kappa).log(), far=True), right))
    return pairs


def _stretch(
    curve: Curve, quadrature: _Quadrature, left: Position, right: Position, *, goal: arb
) -> acb:
    """Enclose both integrals from `left` to `right`.

    If `far` (see `Position`), y decreases with r, so the integral over y has the other sign.
    """
    total = quadrature.enclose(
        lambda y, analytic: curve.integrand(y, far=left.far, analytic=bool(analytic)),
        left.y,
        right.y,
        goal=goal,
    )
    return -total if left.far else total


def _within_half(noise: GeneralizedGamma, *, shift: Fraction, accuracy: int) -> arb:
    """Enclose δ(0), the probability that the coordinate along the shift is within ±s/2.

    It is ∫ f_R(r) (1 − 2P(W > s/2r)) dr. For r < s/2 the probability P(W > s/2r) is 0.
    """
    curve = Curve(noise, shift=shift, epsilon=Fraction(1))
    hints = Hints(noise, shift=shift, epsilon=Fraction(1))
    half = curve.s / 2
    start = half.log()
    below = 1 - (half**curve.p).gamma_upper(curve.k, 1)
    cosine, quadrature = CosineLaw(noise.dimension), _Quadrature(MOST_EVALUATIONS)

    def integrand(y: acb, analytic: int) -> acb:
        w = half / y.exp()
        inside = 1 - 2 * cosine.above(Halves((1 - w) / 2, (1 + w) / 2), analytic=bool(analytic))
        return curve.log_radius(curve.p * y).exp() * inside

    def integral(goal: arb) -> acb:
        last = arb(math.log(hints.far_end(5 - float(goal.log()))))
        if not last > start:
            return acb(below + arb(0).union(1 - below))
        beyond = (curve.p * last).exp().gamma_upper(curve.k, 1)
        total = quadrature.enclose(integrand, start, last, goal=goal)
        return acb(below + total.real + arb(0).union(beyond))

    return _to_accuracy(integral, 1.0, accuracy).real


def _to_accuracy(integral: Callable[[arb], acb], about: float, accuracy: int) -> acb:
    """Evaluate `integral` with finer absolute goals until δ is accurate or stops improving.

    Returns the most accurate value. δ is the real minus the imaginary part. `about` approximates
    it, and is 1 if δ is unknown. `accuracy` is the relative accuracy of δ in bits.
    """
    finer = arb(2) ** -(accuracy + 9)  # the error of each piece
    goal = arb(2) ** -accuracy if about == 1 else arb((about * finer).mid())
    best, best_total = arb.nan(), acb("nan")
    for _ in range(_GOALS):
        total = integral(goal)
        delta = total.real - total.imag
        if best.is_finite() and not 2 * delta.rad() < best.rad():
            break  # the remaining error is rounding, which a finer goal doesn't reduce
        best, best_total = delta, total
        if best.rel_accuracy_bits() >= accuracy - 2:
            break
        size = best.mid() if best > 0 else goal
        goal = arb((size * finer).mid())
    return best_total
