"""Privacy losses of generalized gamma noise on a lattice, from enclosures of both tails.

Notation: lengths are in units of the scale. d is the dimension, α and p the shape, κ = d − 1 − α
and k = (α+1)/p. r is the radius of the noise, a random number with density ∝ r^α e^(−r^p). s is the
shift, and w the cosine of the angle between noise and shift. Z is the privacy loss. P and Q are
probabilities under the noise and under the shifted noise. λ is a factor of the scale.
"""

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


# An approximate law of the privacy loss of spherical generalized gamma noise, in floats.
#
# It only chooses the grid of losses for the proof; no proof depends on it.
#
# With ℓ(r) = κ ln r + r^p, the loss is Z = ℓ(ρ) − ℓ(r) with ρ² = (r − s)² + 2rs(1 + w). y = ln r
# has a density ∝ e^(kp·y − e^(py)), and t = artanh w has a density ∝ (cosh t)^(1−d). Both are
# smooth and fall so fast that sums over a grid are as accurate as integrals.


MOST_LOSSES = 288
_RADII, _COSINES, _ON_A_LINE = 300, 160, 4000
_DROPPED = 110.0  # a density is cut off e^-110 below its peak
_LEAST = -85.0  # ln P(Z > z) at the last loss of the grid, if losses are unbounded
_LEAST_BELOW_TOP = -36.0  # the same if losses are bounded; near the bound proofs take seconds
_CELLS = 256
_TEMPER = 0.25  # the power of the density in `loss_grid`


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LossSketch:
    """An approximate law of the loss: losses and their masses under P, in arrays of one length.

    The masses sum to 1.
    """

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
    """Approximate the law of the privacy loss under a shift of `shift` scales.

    `radii` and `cosines` are the numbers of grid points for the radius, and for the cosine of its
    angle to the shift. In one dimension neither has an effect.
    """
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
    # positive even if r = s and w = −1
    log_rho = np.log(np.maximum(square, 1e-30 * shift * shift)) / 2
    with np.errstate(over="ignore", invalid="ignore"):
        losses = kappa * (log_rho - y) + np.exp(p * log_rho) - np.exp(p * y)
    masses = (y_masses[:, None] * w_masses).ravel()
    return LossSketch(losses=np.clip(losses.ravel(), -LONGEST_LOSS, LONGEST_LOSS), masses=masses)


def _radii(k: float, p: float, count: int) -> tuple[Floats, Floats]:
    """Return `count` values of ln r and their masses, on a grid that is finest near the mode."""
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
    """Return `count` values of artanh w and their masses, for the cosine w."""
    width = 1 / math.sqrt(d - 1)
    last = math.asinh(((_DROPPED / (d - 1)) + math.sqrt(2 * _DROPPED / (d - 1)) + 1) / width)
    x = np.linspace(-last, last, count)
    t = width * np.sinh(x)
    log_cosh = np.abs(t) + np.log1p(np.exp(-2 * np.abs(t)))
    masses = np.exp(-(d - 1) * (log_cosh - log_cosh.min())) * np.cosh(x)
    return t, masses / masses.sum()


@lru_cache(maxsize=64)
def loss_grid(noise: GeneralizedGamma, shift: float) -> tuple[tuple[float, float], ...]:
    """Choose the values of ε at which δ(ε) is enclosed, for a shift of `shift` scales.

    They are losses z that ascend from 0, MOST_LOSSES + 1 in all. Returns pairs of z and the
    approximate ln P(Z > z). For fewer losses, take every second, fourth or eighth pair.

    Chords between the losses add to the variance of the loss in proportion to the squares of their
    lengths. So half of the losses are spaced by a power of the density of Z. The density itself
    would be best for many releases; for few releases, or a small δ, larger losses count more. The
    other half is spaced evenly in `_stage` of −ln P(Z > z).
    """
    bounded = noise.kappa == 0 and noise.p <= 1
    losses, least = sketch(noise, shift), _LEAST_BELOW_TOP if bounded else _LEAST
    order = np.argsort(losses.losses)
    z = losses.losses[order]
    with np.errstate(divide="ignore"):
        log_tail = np.log(np.cumsum(losses.masses[order][::-1])[::-1])
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
    chosen = np.interp(np.linspace(0, 1, MOST_LOSSES + 1), along, at)
    chosen[0] = 0.0
    logs = np.interp(chosen, z, log_tail)
    return tuple(zip(chosen.tolist(), logs.tolist(), strict=True))


@lru_cache(maxsize=64)
def _delta_grid(noise: GeneralizedGamma, shift: float) -> tuple[Floats, Floats]:
    """The losses of `loss_grid`, and an approximate ln δ at each.

    δ(ε) is the integral of e^(ε−z) P(Z > z) over z > ε.
    """
    z, log_tail = np.array(loss_grid(noise, shift)).T
    logs = log_tail - z
    with np.errstate(divide="ignore"):
        pieces = np.log(np.diff(z) / 2) + np.logaddexp(logs[:-1], logs[1:])
    sums = np.logaddexp.accumulate(pieces[::-1])[::-1]
    return z, z + np.append(sums, sums[-1])


def _stage(depth: Floats) -> Floats:
    """Map −ln of a tail, `depth`, to the scale on which losses are spaced evenly.

    The map is linear at first, then like a square root, then like a logarithm.
    """
    root = np.where(depth < 1, depth, 2 * np.sqrt(np.maximum(depth, 1.0)) - 1)
    return np.where(root < 5, root, 5 + 3 * np.log1p(np.maximum(root - 5, 0.0) / 3))


# Losses of spherical generalized gamma noise on a lattice, from both sides.
#
# The density falls radially, so that the longest shift is worst at every ε (theory/noise.md §1),
# and the pair is its own mirror image. Both tails of the loss are enclosed at some dozens of
# losses, with a quadrature at each (`generalized_gamma`). As a function of e^ε, δ is convex: the
# upper bound replaces it by chords between these losses, and the lower bound merges all outputs
# with losses between two neighbours. So a fine lattice costs little, and the width of the interval
# depends on the distance of these losses.


# The number of losses for a lattice with up to _STEPS steps in a standard deviation of the loss.
# For twice as many steps it is twice as large.
_FEWEST_LOSSES = 18
_STEPS = 16
_MORE_ON_A_LINE = 4
_BITS, _BITS_MORE = 80, 32  # precision; 32 more bits for every 32 leading zero bits of δ
# Accuracy of the tails in bits. k releases add k·2^-24 to δ (relative); 1,000 releases add about
# 5e-6 to the scale.
_ACCURACY = 24
_EVALUATIONS = 10_000  # evaluations of integrands for one loss; calibrated laws took up to 1,700
_SHIFT_BITS = 44  # significant bits of the shift; rounding it costs at most 1.2e-13 of the noise
_PART = 0.5  # of an approximate δ(ε) is the guess of δ(ε) for the proof, seldom above it
_SMALLEST = math.log(1e-300)


def upper(noise: GeneralizedGamma, shift: Fraction, step: Fraction, size: int) -> LossLattice:
    """A law of losses on a lattice whose δ is an upper bound on the noise's δ, at every ε.

    The losses are −size·step … size·step, and the bound holds for all shifts up to `shift`.
    """
    law, scales = _in_scales(noise, shift)
    if law.is_classic:
        return upper_lattice(lambda epsilon: _delta(law, scales, epsilon), step, size)
    enclosed = _enclose_tails(law, scales, step)
    points = [(tail.epsilon, at_most_one(tail.delta)) for tail in enclosed]
    return between(points, step, size)


def between(points: Sequence[Point], step: Fraction, size: int) -> LossLattice:
    """A law of losses at −size·step … size·step, from chords between upper bounds on δ(ε).

    `points` are pairs of ε >= 0 and a bound on δ(ε). P and Q must be mirror images of each other:
    P(Z > z) = Q(Z < −z).
    """
    with precision(BITS):
        deltas = chords(points, [step * i for i in range(size + 1)])
        return symmetric_lattice(deltas, step)


def lower(noise: GeneralizedGamma, shift: Fraction, step: Fraction, size: int) -> LowerCells:
    """Atoms whose δ is a lower bound on the noise's δ under `shift`, at every ε.

    They are outputs merged by their loss. `step` and `size` are as in `upper`.
    """
    law, scales = _in_scales(noise, shift)
    if law.is_classic:
        return lower_cells(
            lambda epsilon: _delta(law, scales, epsilon), upper(noise, shift, step, size)
        )
    known = [tail for tail in _enclose_tails(law, scales, step) if tail.p.is_finite()]
    widened = _Widened.of(law, scales * noise.scale / shift)
    with precision(BITS):
        above = [(tail.p, tail.weighted / ball(tail.epsilon).exp()) for tail in known]
        # P(Z > −z) = 1 − Q(Z > z), as no loss is an atom; the loss 0 twice makes an empty cell
        mirror = [(1 - q, 1 - p) for p, q in reversed(above)]
        ends = [(arb(1), arb(1)), *mirror, *above, (arb(0), arb(0))]
        cells = [
            (float_below(widened.at_least(p0 - p1)), float_above(widened.at_most(q0 - q1)))
            for (p0, q0), (p1, q1) in pairwise(ends)
        ]
        p, q = np.array([cell for cell in cells if min(cell) > 0]).T
        sums = zip(*inscribe(p, q, float(step), size), strict=True)
        atoms = tuple(merge(arb(p), arb(q)) for p, q in sums)
    return LowerCells(step=step, first=-size, atoms=atoms, infinity=0.0)


def reach(noise: GeneralizedGamma, shift: Fraction) -> Fraction:
    """A loss beyond which finite losses have negligible mass, under a shift by `shift`.

    The bounds of `upper` and `lower` hold for any value of it.
    """
    law, scales = _in_scales(noise, shift)
    if law.kappa == 0 and law.p == 1:
        return scales
    if law.kappa == 0 and law.p < 1:
        with precision(BITS):
            return Fraction(float_above(largest_loss(law, scales)))
    return Fraction(loss_grid(law, float(scales))[-1][0])


@final
@dataclass(frozen=True, kw_only=True)
class _Tails:
    """Enclosures of P(Z > ε) (`p`), of e^ε Q(Z > ε) (`weighted`), and of their difference δ(ε)."""

    epsilon: Fraction
    p: arb
    weighted: arb
    delta: arb


def _in_scales(noise: GeneralizedGamma, shift: Fraction) -> tuple[GeneralizedGamma, Fraction]:
    """Return the law of scale 1, and the shift in scales, which determine the losses.

    The shift is rounded up, except for classic members. For upper bounds this is valid because a
    longer shift is worse at every ε; for lower bounds see `_Widened`. In a search for the smallest
    scale, the last two shifts mostly round to the same number, so that they share cached
    quadratures.
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
    """Bounds on masses of outputs under a law, from their masses under a slightly narrower law.

    The narrower law has scale 1, and the wider law has scale λ >= 1. A shift s/λ of the narrower
    law has the losses of a shift s of the wider law. The ratio of the wider to the narrower density
    is λ^−(α+1) e^(r^p (1 − λ^−p)), so it is at least λ^−(α+1) everywhere. It is at most e^(B (1 −
    λ^−p)) for radii with r^p <= B, whatever B. The probability of larger radii under the wider law
    is `beyond`.
    """

    least_ratio: arb
    most_ratio: arb
    beyond: arb

    @classmethod
    def of(cls, law: GeneralizedGamma, factor: Fraction) -> _Widened:
        with precision(BITS):
            k, shrunk = ball((law.alpha + 1) / law.p), ball(factor) ** -ball(law.p)
            farthest = 2 * k + 1000  # the mass beyond is at most e^-500
            return cls(
                least_ratio=ball(factor) ** -ball(law.alpha + 1),
                most_ratio=(farthest * (1 - shrunk)).exp(),
                beyond=(farthest * shrunk).gamma_upper(k, 1),
            )

    def at_least(self, mass: arb) -> arb:
        """A lower bound on the wider law's mass of outputs with `mass` under the narrower law."""
        return self.least_ratio * mass

    def at_most(self, mass: arb) -> arb:
        """An upper bound on the wider law's mass of outputs with `mass` under the narrower law."""
        return self.most_ratio * mass + self.beyond


def _delta(law: GeneralizedGamma, scales: Fraction, epsilon: Fraction) -> arb:
    return delta_ball(law, shift=scales, epsilon=epsilon)


def _enclose_tails(law: GeneralizedGamma, scales: Fraction, step: Fraction) -> list[_Tails]:
    """Enclose the tails of the loss under a shift of `scales`, at each ε of `choose_losses`."""
    return [_tails_at(law, scales, *loss) for loss in choose_losses(law, scales, step)]


def choose_losses(
    law: GeneralizedGamma, scales: Fraction, step: Fraction
) -> list[tuple[Fraction, float]]:
    """Choose the values of ε for the proof, as pairs (ε, approximate ln P(Z > ε)).

    The values of ε ascend from 0 to the `reach` of the law of scale 1 under a shift of `scales`.
    For a finer `step` of the lattice there are more of them.
    """
    wanted = _spread(law, scales) / (_STEPS * float(step))
    if law.dimension == 1:  # closed forms take milliseconds
        wanted *= _MORE_ON_A_LINE
    count = _FEWEST_LOSSES
    while count < MOST_LOSSES and wanted > 1.25 * count / _FEWEST_LOSSES:
        count *= 2
    *inner, last = loss_grid(law, float(scales))[:: MOST_LOSSES // count]
    return [*((Fraction(z), log_tail) for z, log_tail in inner), (reach(law, scales), last[1])]


@lru_cache(maxsize=64)
def _spread(law: GeneralizedGamma, scales: Fraction) -> float:
    return sketch(law, float(scales)).spread


@lru_cache(maxsize=4096)
def _tails_at(
    law: GeneralizedGamma, scales: Fraction, epsilon: Fraction, log_tail: float
) -> _Tails:
    """Enclose P(Z > ε), e^ε·Q(Z > ε) and δ(ε) for a shift by `scales`, in units of the scale.

    `log_tail`, the approximate ln P(Z > ε), sets the precision.
    """
    small = max(log_tail, _SMALLEST)
    log_delta = float(np.interp(float(epsilon), *_delta_grid(law, float(scales))))
    more = math.ceil(-small / math.log(2) / _BITS_MORE) * _BITS_MORE
    with precision(_BITS + more):
        enclosed = tails(
            law,
            shift=scales,
            epsilon=epsilon,
            about=_PART * math.exp(min(0.0, max(log_delta, _SMALLEST))),
            accuracy=_ACCURACY,
            evaluations=_EVALUATIONS,
        )
    return _Tails(epsilon=epsilon, p=enclosed.p, weighted=enclosed.weighted, delta=enclosed.delta)


LOSSES = OwnLosses(upper=upper, lower=lower, reach=reach)
