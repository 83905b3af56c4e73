"""Enclosure of δ(ε) for spherical generalized gamma noise (theory/noise.md §7).

Along the curve on which the privacy loss is ε, with w and w₂ the cosines at the two centres clipped
to [−1, 1], F the law of a cosine and f_R the density of the radius,

    δ = P(Z > ε) − e^ε Q(Z > ε) = ∫ f_R(r) (1 − F(w)) dr − e^ε ∫ f_R(r₂) (1 − F(w₂)) dr₂,

where e^ε f_R(r₂) r₂ = e^(dx) f_R(r) r, x = ln(r₂/r). It cancels; precision pays for that. The
quadrature of Johansson (2018) encloses both at once, as real and imaginary part, whatever the
places at which it is split. Below some r₀ the integrands are constant: f_R and 0 (w = −1) or 0 and
0 (w = 1).
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
    Place,
)
from leastnoise.noise.radial.proof.generalized_gamma_line import Tails

ACCURACY = 33  # bits of δ that are aimed at; the enclosure is right whatever is reached
_GOALS = 4
MOST_EVALUATIONS = 200_000  # of integrands for one δ, at most; laws that we calibrate took 50,000
_COARSE = 12  # steps from one place to the next of a first guess


def delta_ball(noise: GeneralizedGamma, *, shift: Fraction, epsilon: Fraction) -> arb:
    """Enclose δ(ε): by the proof of a Gaussian or l2 mechanism, or a closed form, or as above."""
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
    """Enclose the tails of the loss beyond ε, and δ(ε), aiming at so many bits of it.

    `about` is what δ(ε) is, if that is known. With no more than so many `evaluations` of
    integrands: what is left of the quadratures then is enclosed as it is known.
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
    """Enclose s^p, the largest loss of all if κ = 0 and p <= 1: that of the output 0."""
    return ball(shift / noise.scale) ** ball(noise.p)


def _as_classic(noise: GeneralizedGamma, *, shift: Fraction, epsilon: Fraction) -> arb:
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
    """Enclosures of integrals with so many evaluations in all."""

    def __init__(self, evaluations: int) -> None:
        self._left = evaluations

    def enclose(
        self, integrand: Callable[[acb, int], acb], start: arb, end: arb, *, goal: arb
    ) -> acb:
        """Enclose an integral, aiming at an error of `goal`; the total may be far below that."""

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
    curve = Curve(noise, shift=shift, epsilon=epsilon)
    hints = Hints(noise, shift=shift, epsilon=epsilon)
    edge, edges = hints.inner_edge(), hints.outer_edges()
    first, start, below = _start(curve, hints, edge, edges)
    if start is None:
        return acb("nan")

    def places(goal: arb) -> list[Place]:
        log_tail = 5 - float(goal.log()) + float(epsilon)
        last = hints.far_end(log_tail)
        inner = [r for r in sorted(edges) if first < r < last]
        found = [start, *map(hints.place, inner)]
        return [*found, hints.place(last)] if last > first else found

    def integral(goal: arb) -> acb:
        found = places(goal)
        total = below + _tail(curve, found[-1])
        for left, right in _stretches(curve, found):
            total += _stretch(curve, quadrature, left, right, goal=goal)
        return total

    if about == 1:
        about = _guessed(curve, _stretches(curve, places(arb(2) ** -accuracy)), below)
    return _to_accuracy(integral, about, accuracy)


def _guessed(curve: Curve, stretches: list[tuple[Place, Place]], below: acb) -> float:
    """Return about what δ is, by the trapezoidal rule; 1 where that says nothing.

    It only sets what error is aimed at, so that no integral is computed twice.
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
) -> tuple[float, Place | None, acb]:
    """Return r₀, its place, and what they give before it, where the integrands are constant.

    Up to r₁ they are f_R and 0: ℓ(s−r) − ℓ(r) falls, so w <= −1 at r₀ means w <= −1 before. If
    that is nowhere, ℓ(r+s) − ℓ(r) rises (κ = 0, p > 1) and w >= 1 at r₀ means w >= 1 before.
    """
    radius = min(edges) if edge is None else edge
    for shrink in (1e-13, 1e-10, 1e-6, 1e-3):
        place = hints.place(radius * (1 - shrink))
        point = curve.at(acb(place.y), far=place.far)
        if point is None:
            continue
        if edge is None and point.c.down.real <= 0:
            return radius, place, acb(0)
        if edge is not None and point.c.up.real <= 0:
            return radius, place, acb(1 - arb(point.b.real).gamma_upper(curve.k, 1))
    return _first_at(curve, hints, radius * (1 - 1e-3))


def _first_at(curve: Curve, hints: Hints, radius: float) -> tuple[float, Place | None, acb]:
    """Start at a radius before which nothing is known, where the density has a strong pole.

    What is before it on the curve gives between 0 and P = P(R < r₀) to either part: points with
    r₂ < r₂(r₀) and L > ε have r < r₀, and e^ε times their mass under the shifted law is at most
    that under the other. P <= b^k/Γ(k+1).
    """
    place = hints.place(radius)
    point = curve.at(acb(place.y), far=place.far)
    if point is None:
        return radius, None, acb("nan")
    mass = (curve.k * point.b.real.log() - (curve.k + 1).lgamma()).exp()
    either = arb(0).union(mass)
    return radius, place, acb(either, either)


def _tail(curve: Curve, last: Place) -> acb:
    """Enclose what lies beyond: 0 to P(R > r), and 0 to e^ε P(R > r₂), r₂^p = b + v."""
    point = curve.at(acb(last.y), far=last.far)
    if point is None:
        return acb("nan")
    b = point.b.real
    first = b.gamma_upper(curve.k, 1)
    second = curve.epsilon.exp() * (b + point.v.real).gamma_upper(curve.k, 1)
    return acb(arb(0).union(first), arb(0).union(second))


def _stretches(curve: Curve, places: list[Place]) -> list[tuple[Place, Place]]:
    """Return consecutive pairs, cut at κx = v = ε/2 where y changes its meaning."""
    pairs: list[tuple[Place, Place]] = []
    for left, right in pairwise(places):
        if left.far == right.far:
            pairs.append((left, right))
            continue
        half = curve.epsilon / 2
        pairs.append((left, Place(half.log(), far=False)))
        pairs.append((Place((half / curve.kappa).log(), far=True), right))
    return pairs


def _stretch(curve: Curve, quadrature: _Quadrature, left: Place, right: Place, *, goal: arb) -> acb:
    """Enclose both integrals between two places; far places come in falling y."""
    total = quadrature.enclose(
        lambda y, analytic: curve.integrand(y, far=left.far, analytic=bool(analytic)),
        left.y,
        right.y,
        goal=goal,
    )
    return -total if left.far else total


def _within_half(noise: GeneralizedGamma, *, shift: Fraction, accuracy: int) -> arb:
    """Enclose δ(0) = P(|X₁| < s/2) = ∫ f_R(r) (1 − 2P(W > s/2r)) dr, P = 0 for r < s/2."""
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
    """Return integral(goal) for absolute goals that follow the size of δ, while that helps.

    δ is the real less the imaginary part, and about `about`: 1 if nothing is known of it.
    """
    finer = arb(2) ** -(accuracy + 9)  # the error of each piece
    goal = arb(2) ** -accuracy if about == 1 else arb((about * finer).mid())
    best, found = arb.nan(), acb("nan")
    for _ in range(_GOALS):
        total = integral(goal)
        delta = total.real - total.imag
        if best.is_finite() and not 2 * delta.rad() < best.rad():
            break  # what is left is rounding, which takes more bits and not a finer goal
        best, found = delta, total
        if best.rel_accuracy_bits() >= accuracy - 2:
            break
        size = best.mid() if best > 0 else goal
        goal = arb((size * finer).mid())
    return found
