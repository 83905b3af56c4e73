"""Poisson subsampling: what a release leaks of a person who is in the sample with probability γ.

notation (theory/accounting.md §4): P, Q the outputs with and without the record, Z = log dP/dQ,
R = (1 − γ)Q + γP; the record's neighbour is removed (R against Q) or added (Q against R), and
H_α(P‖Q) = δ(log α). Over its whole range

    H_α(R‖Q) = γ H_a(P‖Q),  a = (α − 1 + γ)/γ            (1 − α where a <= 0)
    H_α(Q‖R) = b H_a(Q‖P),  a = αγ/b, b = 1 − α(1 − γ)   (0 where b <= 0)

and H_a(P‖Q) = H_a(Q‖P) is 1 − a + a·δ(−log a) where a < 1, as of symmetric noise. Losses of the
first pair are log(1 − γ + γe^Z), those of the second the same with the other sign. Neither is the
pair of a person who is replaced by another one.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from leastnoise.balls.core import ball, float_below, precision
from leastnoise.certify.losses import (
    BITS,
    NUDGE,
    LossLattice,
    LowerCells,
    Profile,
    accurate,
    chord_lattice,
    merged,
    tails_at,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_FINE_BITS = 768  # of log a, so that δ is told down to about 2^-700
_OUTWARD = 2**64  # ends of the range are rounded outward to multiples of 1 / this


def sampled_delta(profile: Profile, rate: Fraction, epsilon: Fraction, *, removed: bool) -> arb:
    """Enclose H_α of the pair for the record removed, or added, at α = e^epsilon.

    `profile` need only be known at ε >= 0. It may be a supremum over shifts, if `epsilon` is >= 0.
    """
    with precision(_FINE_BITS):
        alpha, gamma = ball(epsilon).exp(), ball(rate)
        if removed:
            factor, base = gamma, (alpha - 1 + gamma) / gamma
            if not base > 0:
                return gamma * (1 - base) if base <= 0 else gamma * (1 - base).union(arb(1))
        else:
            factor = 1 - alpha * (1 - gamma)
            if not factor > 0:
                return arb(0) if factor <= 0 else arb(0).union(factor)
            base = alpha * gamma / factor
        if epsilon == 0:
            base = arb(1)
        log_base = base.log()
    return factor * _divergence(profile, base, log_base)


def _divergence(profile: Profile, base: arb, log_base: arb) -> arb:
    """Enclose H_a(P‖Q) at a = `base`, the logarithm of which is given as a very small ball.

    δ falls, and by at most as much as ε grows.
    """
    with precision(_FINE_BITS):
        mirrored = bool(log_base < 0)
        size = -log_base if mirrored else log_base
        start = _fraction(size.lower())
        slack = size - ball(start)
    found = profile(max(Fraction(0), start))
    if start < 0:  # log a is too near to 0 to tell its sign
        found = found.union(found + slack)
    if not found.is_zero():
        found = found.union(found - slack)
    return 1 - base + base * found if mirrored else found


def _fraction(point: arb) -> Fraction:
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def loss_range(rate: Fraction, reach: Fraction, *, leaks: bool) -> tuple[Fraction, Fraction]:
    """Return the least and the largest loss of the pair for the record removed, rounded outward.

    Losses of (P, Q) are at most `reach`; with `leaks`, or infinite.
    """
    with precision(BITS):
        least = ball(-reach).exp() if not leaks else arb(0)
        low = (1 - ball(rate) + ball(rate) * least).log()
        high = (1 - ball(rate) + ball(rate) * ball(reach).exp()).log()
        return _rounded(low, -1), _rounded(high, 1)


def _rounded(value: arb, direction: int) -> Fraction:
    scaled = _fraction((value * _OUTWARD).mid())
    return Fraction(round(scaled) + 2 * direction, _OUTWARD)


def sampled_spread(base: LossLattice, rate: Fraction) -> float:
    """Return about the standard deviation of the loss, given that of (P, Q) on a lattice."""
    z = (base.first + np.arange(len(base.masses))) * float(base.step)
    p = base.masses / base.masses.sum()
    weights = (1 - float(rate)) * p[::-1] + float(rate) * p
    losses = np.logaddexp(math.log(1 - rate), math.log(rate) + z)
    return math.sqrt(float(weights @ (losses - weights @ losses) ** 2))


def sampled_upper(
    profile: Profile,
    *,
    rate: Fraction,
    ends: tuple[Fraction, Fraction],
    step: Fraction,
    removed: bool,
) -> LossLattice:
    """Return a law of losses whose δ is nowhere below that of the subsampled pair.

    `ends` are those of `loss_range`; the largest loss is a lattice point.
    """
    low, high = ends if removed else (-ends[1], -ends[0])
    size = math.ceil((high - low) / step)
    origin = high - size * step

    def sampled(epsilon: Fraction) -> arb:
        return sampled_delta(profile, rate, epsilon, removed=removed)

    with precision(BITS):
        deltas = [accurate(sampled, origin + step * i) for i in range(size + 1)]
        return chord_lattice(deltas, step=step, origin=origin, first=0)


def sampled_lower(
    profile: Profile,
    *,
    rate: Fraction,
    upper: LossLattice,
    removed: bool,
    infinite: arb | None = None,
) -> LowerCells:
    """Return atoms whose δ is nowhere above that of the subsampled pair.

    `upper` is the lattice of the record removed. The outputs are merged alike for both pairs, those
    of an `infinite` loss of (P, Q), if it is known how many, with no others.
    """
    step, nudge, gamma = upper.step, upper.step / NUDGE, ball(rate)
    certain = arb(0) if infinite is None else infinite
    with precision(BITS):
        ends = [(arb(1), arb(1))]
        ends += [_tails(profile, nudge, at) for at in _boundaries(upper, float(rate))]
        ends.append((certain, arb(0)))
        atoms: list[tuple[float, float]] = []
        for (p_below, q_below), (p_above, q_above) in itertools.pairwise(ends):
            without = q_below - q_above
            sampled = (1 - gamma) * without + gamma * (p_below - p_above)
            atoms.append(merged(sampled, without) if removed else merged(without, sampled))
    last = upper.origin + step * (len(atoms) - 1)
    if not removed:
        atoms.reverse()
    infinity = max(0.0, float_below(gamma * certain)) if removed else 0.0
    if atoms[-1][0] == math.inf:
        infinity = float_below(arb(infinity) + arb(atoms.pop()[1]))
    origin = upper.origin if removed else -last
    return LowerCells(step=step, first=0, atoms=tuple(atoms), infinity=infinity, origin=origin)


def _boundaries(upper: LossLattice, rate: float) -> Sequence[float]:
    """Return boundaries of Z between those of cells whose merged losses lie at lattice points.

    Any are right that don't fall; see `losses.lower_cells` for the small shift of the centres.
    """
    width = float(upper.step)
    logs = np.log(np.maximum(upper.masses, 1e-300))
    slopes = np.clip(np.gradient(logs, width), -2 / width, 2 / width)
    slopes[-2:] = slopes[-3] if len(slopes) > 2 else 0.5  # the last may be an atom
    points = float(upper.origin) + np.arange(len(logs)) * width
    centres = points - width**2 / 12 * (slopes - 0.5)
    middles: NDArray[np.float64] = (centres[1:] + centres[:-1]) / 2
    odds = np.maximum(np.expm1(np.minimum(middles, 700.0)) / rate, -1.0)
    with np.errstate(divide="ignore"):
        return np.maximum.accumulate(np.log1p(odds)).tolist()


def _tails(profile: Profile, nudge: Fraction, boundary: float) -> tuple[arb, arb]:
    """Enclose P(Z > b) and Q(Z > b), or with >=, at b = `boundary` of either sign, or near it."""
    if boundary == -math.inf:
        return arb(1), arb(1)
    size = max(Fraction(abs(boundary)), 2 * nudge)
    p, q = tails_at(profile, nudge, size)
    return (1 - q, 1 - p) if boundary < 0 else (p, q)
