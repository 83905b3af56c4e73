"""Losses of generalized gamma noise on a lattice, better known than from δ(ε)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.balls.atoms import Point, chords, inscribe
from leastnoise.balls.core import at_most_one, ball, float_above, float_below, precision
from leastnoise.balls.losses import (
    BITS,
    LONGEST_LOSS,
    LossLattice,
    LowerCells,
    lower_cells,
    merge,
    symmetric_lattice,
    upper_lattice,
)
from leastnoise.noise.family import OwnLosses
from leastnoise.noise.radial.law import GeneralizedGamma
from leastnoise.noise.radial.proof.generalized_gamma import delta_ball, largest_loss, tails

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


# About the law of the privacy loss of spherical generalized gamma noise, in floats.
#
# No part of a proof rests on it: it says where to look, and how closely.
#
# notation, in units of the scale: r the radius, w = tanh t the cosine of the angle to the shift,
# ℓ(r) = κ ln r + r^p, L = ℓ(ρ) − ℓ(r) with ρ² = (r − s)² + 2rs(1 + w), k = (α+1)/p. ln r has a
# density ∝ e^(kp·y − e^(py)), t one ∝ (cosh t)^(1−d); both are smooth and fall so fast that sums
# over a grid are as good as integrals.


MOST_PLACES = 288
_RADII, _COSINES, _ON_A_LINE = 300, 160, 4000
_DROPPED = 110.0  # of the log of a density, from its peak
_LEAST = -85.0  # of ln P(Z > z) at the last loss that counts …
_LEAST_BELOW_TOP = -36.0  # … or before the largest of all: nearer to it proofs take seconds
_CELLS = 256
_TEMPER = 0.25


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LossSketch:
    """Losses and their masses under P, shape (n,) each; the masses sum to 1."""

    losses: Floats
    masses: Floats

    @property
    def spread(self) -> float:
        """The standard deviation of the loss."""
        mean = self.masses @ self.losses
        return math.sqrt(float(self.masses @ (self.losses - mean) ** 2))


def sketch(
    noise: GeneralizedGamma, shift: float, *, radii: int = _RADII, cosines: int = _COSINES
) -> LossSketch:
    """Return about the law of the loss under a shift of `shift` scales."""
    d, p, kappa = noise.dimension, float(noise.p), float(noise.kappa)
    on_a_line = d == 1
    k = float((noise.alpha + 1) / noise.p)
    y, y_masses = _radii(k, p, _ON_A_LINE if on_a_line else radii)
    t, w_masses = (np.array([-math.inf, math.inf]), np.full(2, 0.5))
    if not on_a_line:
        t, w_masses = _cosines(d, cosines)
    y = y[:, None]
    r = np.exp(y)
    with np.errstate(over="ignore"):
        raised = 2 / (1 + np.exp(-2 * t))  # 1 + w
    square = (r - shift) ** 2 + 2 * r * shift * raised
    # never 0, not even where r = s and w = −1
    log_rho = np.log(np.maximum(square, 1e-30 * shift * shift)) / 2
    with np.errstate(over="ignore", invalid="ignore"):
        losses = kappa * (log_rho - y) + np.exp(p * log_rho) - np.exp(p * y)
    masses = (y_masses[:, None] * w_masses).ravel()
    return LossSketch(losses=np.clip(losses.ravel(), -LONGEST_LOSS, LONGEST_LOSS), masses=masses)


def _radii(k: float, p: float, count: int) -> tuple[Floats, Floats]:
    """Return ln r and masses, on a grid that is finest about the mode."""
    mode, width = math.log(k) / p, 1 / (p * math.sqrt(k))
    down, up = 1.0, 1.0
    while k * (math.exp(-down) - 1 + down) < _DROPPED:
        down *= 1.1
    while k * (math.expm1(up) - up) < _DROPPED:
        up *= 1.1
    x = np.linspace(-math.asinh(down / p / width), math.asinh(up / p / width), count)
    q = p * width * np.sinh(x)
    masses = np.exp(-k * (np.expm1(q) - q)) * np.cosh(x)
    return mode + q / p, masses / masses.sum()


def _cosines(d: int, count: int) -> tuple[Floats, Floats]:
    """Return t and masses."""
    width = 1 / math.sqrt(d - 1)
    last = math.asinh(((_DROPPED / (d - 1)) + math.sqrt(2 * _DROPPED / (d - 1)) + 1) / width)
    x = np.linspace(-last, last, count)
    t = width * np.sinh(x)
    log_cosh = np.abs(t) + np.log1p(np.exp(-2 * np.abs(t)))
    masses = np.exp(-(d - 1) * (log_cosh - log_cosh.min())) * np.cosh(x)
    return t, masses / masses.sum()


@lru_cache(maxsize=64)
def places(noise: GeneralizedGamma, shift: float) -> tuple[tuple[float, float], ...]:
    """Return losses z₀ = 0 … z_n, n = MOST_PLACES, where δ(ε) is best known.

    With each comes about ln P(Z > z). Every second, or fourth, is as good a choice of fewer.

    Chords between them add to the variance of the loss in proportion to the squares of their
    lengths. So half of them follow a power of the density: that of the loss itself would be best
    for many releases, but few releases, or a small δ, tilt it. The other half goes by the logarithm
    of the tail, by equal steps of its root where that is large.
    """
    bounded = noise.kappa == 0 and noise.p <= 1
    found, least = sketch(noise, shift), _LEAST_BELOW_TOP if bounded else _LEAST
    order = np.argsort(found.losses)
    z = found.losses[order]
    with np.errstate(divide="ignore"):
        log_tail = np.log(np.cumsum(found.masses[order][::-1])[::-1])
    above = z > 0
    z, log_tail = np.concatenate([[0.0], z[above]]), log_tail[above]
    log_tail = np.concatenate([[log_tail[0]], log_tail])
    depth = log_tail[0] - log_tail
    ends = np.linspace(0.0, _stage(np.array([-least]))[0], _CELLS + 1)
    at = np.interp(ends, _stage(depth), z)
    tails = np.exp(-np.interp(at, z, depth))
    widths = np.diff(at)
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.where(widths > 0, -np.diff(tails) / widths, 0.0)
    share = np.cumsum(density**_TEMPER * widths)
    along = np.concatenate([[0.0], share / share[-1]]) / 2 + ends / ends[-1] / 2
    chosen = np.interp(np.linspace(0, 1, MOST_PLACES + 1), along, at)
    chosen[0] = 0.0
    logs = np.interp(chosen, z, log_tail)
    return tuple(zip(chosen.tolist(), logs.tolist(), strict=True))


def _stage(depth: Floats) -> Floats:
    """Return a number that rises with the depth of a tail: by it, then by its root, then slower."""
    root = np.where(depth < 1, depth, 2 * np.sqrt(np.maximum(depth, 1.0)) - 1)
    return np.where(root < 5, root, 5 + 3 * np.log1p(np.maximum(root - 5, 0.0) / 3))


# Losses of spherical generalized gamma noise on a lattice, from both sides.
#
# Its density falls radially, so that the longest shift is worst at every ε (theory/noise.md §1),
# and the pair is its own mirror image. Both tails of the loss are enclosed at some dozens of
# places, each of which takes a quadrature (`generalized_gamma`). δ(α) is convex: from above it is
# replaced by chords between the places, from below all outputs with losses between two of them are
# merged. So the step of the lattice costs next to nothing, and the interval is as wide as the
# places are apart.


_PLACES = 18  # for a lattice of up to …
_STEPS = 16  # … so many steps in a standard deviation; twice as many for twice as many steps
_MORE_ON_A_LINE = 4
_BITS, _BITS_MORE = 80, 32  # and as many as δ has zeros
_ACCURACY = 24  # bits of the tails: k releases add k·2^-24 of δ, a thousand some 5e-6 of the scale
_EVALUATIONS = 10_000  # of integrands at a place: of laws that we calibrate 1,700 was the most
_SHIFT_BITS = 44  # of the shift: 1.2e-13 of the noise at most
_PART = 2.0**-5  # of P(Z > ε): not much more than δ(ε) anywhere, and a goal too fine is cheap
_SMALLEST = math.log(1e-300)


def upper(noise: GeneralizedGamma, shift: Fraction, step: Fraction, size: int) -> LossLattice:
    """Return a law of losses at −size·step … size·step whose δ is nowhere below that of `noise`."""
    law, scales = _in_scales(noise, shift)
    if law.is_classic:
        return upper_lattice(lambda epsilon: _delta(law, scales, epsilon), step, size)
    points = [(one.epsilon, at_most_one(one.delta)) for one in _known(law, scales, step)]
    return between(points, step, size)


def between(points: Sequence[Point], step: Fraction, size: int) -> LossLattice:
    """Return a law of losses at −size·step … size·step, of chords between bounds on δ(ε), ε >= 0.

    It holds for a pair that is its own mirror image.
    """
    with precision(BITS):
        found = chords(points, [step * i for i in range(size + 1)])
        return symmetric_lattice(found, step)


def lower(noise: GeneralizedGamma, shift: Fraction, step: Fraction, size: int) -> LowerCells:
    """Return atoms whose δ is nowhere above that of `noise`: outputs merged by their loss."""
    law, scales = _in_scales(noise, shift)
    if law.is_classic:
        return lower_cells(
            lambda epsilon: _delta(law, scales, epsilon), upper(noise, shift, step, size)
        )
    known = [place for place in _known(law, scales, step) if place.p.is_finite()]
    widened = _Widened.of(law, scales * noise.scale / shift)
    with precision(BITS):
        tail = [(place.p, place.weighted / ball(place.epsilon).exp()) for place in known]
        # P(Z > −z) = 1 − Q(Z > z), as no loss has a mass of its own. Twice 0 is an empty cell.
        mirror = [(1 - q, 1 - p) for p, q in reversed(tail)]
        ends = [(arb(1), arb(1)), *mirror, *tail, (arb(0), arb(0))]
        cells = [
            (float_below(widened.at_least(p0 - p1)), float_above(widened.at_most(q0 - q1)))
            for (p0, q0), (p1, q1) in pairwise(ends)
        ]
        p, q = np.array([cell for cell in cells if min(cell) > 0]).T
        sums = zip(*inscribe(p, q, float(step), size), strict=True)
        atoms = tuple(merge(arb(p), arb(q)) for p, q in sums)
    return LowerCells(step=step, first=-size, atoms=atoms, infinity=0.0)


def reach(noise: GeneralizedGamma, shift: Fraction) -> Fraction:
    """Return a loss beyond which there is next to nothing but what is at infinity; any is right."""
    law, scales = _in_scales(noise, shift)
    if law.kappa == 0 and law.p == 1:
        return scales
    if law.kappa == 0 and law.p < 1:
        with precision(BITS):
            return Fraction(float_above(largest_loss(law, scales)))
    return Fraction(places(law, float(scales))[-1][0])


@final
@dataclass(frozen=True, kw_only=True)
class _KnownRadii:
    """Enclosures of P(Z > ε), e^ε Q(Z > ε) and δ(ε)."""

    epsilon: Fraction
    p: arb
    weighted: arb
    delta: arb


def _in_scales(noise: GeneralizedGamma, shift: Fraction) -> tuple[GeneralizedGamma, Fraction]:
    """Return the law of scale 1, and the shift in scales or slightly more: losses depend on these.

    The shift is rounded up, as a longer shift is worse at every ε. So the floats just below and
    just above a root are mostly one shift, and its quadratures serve the bounds from both sides.
    """
    law = GeneralizedGamma(scale=1, alpha=noise.alpha, p=noise.p, dimension=noise.dimension)
    scales = shift / noise.scale
    if law.is_classic:
        return law, scales
    exponent = scales.numerator.bit_length() - scales.denominator.bit_length() - _SHIFT_BITS
    unit = Fraction(2) ** exponent
    return law, math.ceil(scales / unit) * unit


@final
@dataclass(frozen=True, kw_only=True)
class _Widened:
    """Bounds on masses under noise λ >= 1 times as wide as a law of scale 1, κ >= 0.

    A shift s/λ of scale-1 noise has the losses of a shift s of this noise. The ratio of the two
    densities is λ^−(α+1) e^(r^p (1 − λ^−p)): at least the first factor everywhere, and at most
    e^(B (1 − λ^−p)) but for radii beyond B, r^p > B, which have P(R^p > B λ^−p).
    """

    least_ratio: arb
    most_ratio: arb
    beyond: arb

    @classmethod
    def of(cls, law: GeneralizedGamma, factor: Fraction) -> _Widened:
        with precision(BITS):
            k, shrunk = ball((law.alpha + 1) / law.p), ball(factor) ** -ball(law.p)
            farthest = 2 * k + 1000  # e^-500 or less is left beyond it
            return cls(
                least_ratio=ball(factor) ** -ball(law.alpha + 1),
                most_ratio=(farthest * (1 - shrunk)).exp(),
                beyond=(farthest * shrunk).gamma_upper(k, 1),
            )

    def at_least(self, mass: arb) -> arb:
        """Bound from below the mass of outputs that have `mass` under the law itself."""
        return self.least_ratio * mass

    def at_most(self, mass: arb) -> arb:
        """Bound the same from above."""
        return self.most_ratio * mass + self.beyond


def _delta(law: GeneralizedGamma, scales: Fraction, epsilon: Fraction) -> arb:
    return delta_ball(law, shift=scales, epsilon=epsilon)


def _known(law: GeneralizedGamma, scales: Fraction, step: Fraction) -> list[_KnownRadii]:
    """Return what is known at each of the places, ε rising."""
    return [_known_at(law, scales, *place) for place in choose_places(law, scales, step)]


def choose_places(
    law: GeneralizedGamma, scales: Fraction, step: Fraction
) -> list[tuple[Fraction, float]]:
    """Return so many places as a lattice of that step deserves, with about ln P(Z > ε) each.

    They rise from 0 to what `reach` returns for a law of scale 1.
    """
    wanted = _spread(law, scales) / (_STEPS * float(step))
    if law.dimension == 1:  # closed forms take milliseconds
        wanted *= _MORE_ON_A_LINE
    count = _PLACES
    while count < MOST_PLACES and wanted > 1.25 * count / _PLACES:
        count *= 2
    *inner, last = places(law, float(scales))[:: MOST_PLACES // count]
    return [*((Fraction(z), log_tail) for z, log_tail in inner), (reach(law, scales), last[1])]


@lru_cache(maxsize=64)
def _spread(law: GeneralizedGamma, scales: Fraction) -> float:
    return sketch(law, float(scales)).spread


@lru_cache(maxsize=4096)
def _known_at(
    law: GeneralizedGamma, scales: Fraction, epsilon: Fraction, log_tail: float
) -> _KnownRadii:
    """Enclose the tails; `log_tail` is about ln P(Z > ε), from which the effort follows."""
    small = max(log_tail, _SMALLEST)
    more = math.ceil(-small / math.log(2) / _BITS_MORE) * _BITS_MORE
    with precision(_BITS + more):
        found = tails(
            law,
            shift=scales,
            epsilon=epsilon,
            about=_PART * math.exp(min(0.0, small)),
            accuracy=_ACCURACY,
            evaluations=_EVALUATIONS,
        )
    return _KnownRadii(epsilon=epsilon, p=found.p, weighted=found.weighted, delta=found.delta)


LOSSES = OwnLosses(upper=upper, lower=lower, reach=reach)
