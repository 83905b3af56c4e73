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

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from flint import arb

from leastnoise.balls.core import PRECISE, UNIT, ball, float_above, float_below, precision
from leastnoise.balls.losses import BITS, LossLattice, LowerCells, Profile, on_best_lattice
from leastnoise.balls.rounded import exponentials, join_floats

if TYPE_CHECKING:
    from leastnoise.balls.rounded import Floats

_FINE_BITS = 768  # of log a, so that δ is told down to about 2^-700
_OUTWARD = 2**64  # ends of the range are rounded outward to multiples of 1 / this


def enclose_sampled(
    profile: Profile, sampling_rate: Fraction, epsilon: Fraction, *, removed: bool
) -> arb:
    """Enclose H_α of the pair for the record removed, or added, at α = e^epsilon.

    `profile` need only be known at ε >= 0. It may be a supremum over shifts, if `epsilon` is >= 0.
    """
    with precision(_FINE_BITS):
        alpha, gamma = ball(epsilon).exp(), ball(sampling_rate)
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


def loss_range(
    sampling_rate: Fraction, reach: Fraction, *, leaks: bool
) -> tuple[Fraction, Fraction]:
    """Return the least and the largest loss of the pair for the record removed, rounded outward.

    Losses of (P, Q) are at most `reach`; with `leaks`, or infinite.
    """
    with precision(BITS):
        least = ball(-reach).exp() if not leaks else arb(0)
        low = (1 - ball(sampling_rate) + ball(sampling_rate) * least).log()
        high = (1 - ball(sampling_rate) + ball(sampling_rate) * ball(reach).exp()).log()
        return _rounded(low, -1), _rounded(high, 1)


def _rounded(value: arb, direction: int) -> Fraction:
    scaled = _fraction((value * _OUTWARD).mid())
    return Fraction(round(scaled) + 2 * direction, _OUTWARD)


def find_sampled_spread(base: LossLattice, sampling_rate: Fraction) -> float:
    """Approximate the standard deviation of the loss, given that of (P, Q) on a lattice."""
    z = (base.first + np.arange(len(base.masses))) * float(base.step)
    p = base.masses / base.masses.sum()
    weights = (1 - float(sampling_rate)) * p[::-1] + float(sampling_rate) * p
    losses = np.logaddexp(math.log(1 - sampling_rate), math.log(sampling_rate) + z)
    return math.sqrt(float(weights @ (losses - weights @ losses) ** 2))


def sample_upper(
    base: LossLattice,
    *,
    sampling_rate: Fraction,
    ends: tuple[Fraction, Fraction],
    step: Fraction,
    removed: bool,
) -> LossLattice:
    """Return a law of losses whose δ is nowhere below that of the subsampled pair.

    `base` is an upper lattice of (P, Q), so that its δ is an upper bound for (Q, P) too. `ends` are
    those of `loss_range`, and none of the losses of `base` but ∞ are outside; the largest loss is a
    lattice point. Each atom (p, q) of the pair is put on the two lattice points around its loss
    ("connect the dots"): b = (p − q e^z)/(1 − e^(−h)) on the upper one, the rest on z, the lower.
    """
    origin, size = _points(ends, step, removed=removed)
    with precision(BITS):
        p, q, infinity = _upper_atoms(base, sampling_rate, removed=removed)
        ratios = join_floats(*exponentials(ball(origin), ball(step), size + 1))
        share = float_below(-(-ball(step)).expm1())
    beyond = p > q * ratios[-1] * (1 + 2.0**-40)
    infinity += float(p[beyond].sum()) * (1 + 2.0**-20)
    p, q = p[~beyond], q[~beyond]
    # floats of ratios are within 5u and quotients within u, so that no atom comes below its cell
    index = np.searchsorted(ratios, p / q * (1 + 2.0**-44), side="right") - 1
    index = np.clip(index, 0, size - 1)
    lower = ratios[index]
    # less Q is more loss: what is just below its cell is lifted to the end of it, and q too small
    # for a float is what it is at the largest loss
    q = np.minimum(q, p / lower * (1 - 8 * UNIT))
    raised = np.maximum((p - q * lower * (1 - 8 * UNIT)) / share * (1 + 8 * UNIT), 0.0)
    raised = np.minimum(raised, p)
    masses = np.bincount(index, p - raised, size + 1) + np.bincount(index + 1, raised, size + 1)
    added = np.bincount(index, minlength=size + 1) + np.bincount(index + 1, minlength=size + 1)
    return LossLattice(
        step=step,
        origin=origin,
        first=0,
        masses=masses * (1 + (added + 4) * UNIT),
        infinity=infinity,
    )


def sample_lower(
    base: LowerCells,
    *,
    sampling_rate: Fraction,
    ends: tuple[Fraction, Fraction],
    step: Fraction,
    removed: bool,
) -> LowerCells:
    """Return atoms whose δ is nowhere above that of the subsampled pair.

    `base` is a bound of (P, Q) from below, so that it is one of (Q, P) too. Its atoms are merged in
    parts, so that they lie on the points that `sample_upper` has.
    """
    origin, size = _points(ends, step, removed=removed)
    p, q, infinity = _lower_atoms(base, sampling_rate, removed=removed)
    return on_best_lattice(
        p, q, step=step, first=0, count=size + 1, infinity=infinity, origin=origin
    )


def _points(
    ends: tuple[Fraction, Fraction], step: Fraction, *, removed: bool
) -> tuple[Fraction, int]:
    """Return the first lattice point and the number of steps up to the last, which is an end."""
    low, high = ends if removed else (-ends[1], -ends[0])
    size = math.ceil((high - low) / step)
    return high - size * step, size


def _upper_atoms(
    base: LossLattice, sampling_rate: Fraction, *, removed: bool
) -> tuple[Floats, Floats, float]:
    """Return atoms (p, q) of the subsampled pair, p from above and q from below, and P(Z = ∞).

    With w at z in `base` and q = we^(−z) = `other`. From H_α(R‖Q) = γH_a(P‖Q): γw + (1 − γ)q over
    q. A part q₋ of Q that P hasn't keeps Q's total at 1, which is what counts where a <= 0; more
    of it is right too. From H_α(Q‖R) = bH_a(Q‖P), at most b times the δ of `base`: w over
    (1 − γ)w + γq; there is w = w_∞ with q = 0 too.
    """
    gamma, kept = float(sampling_rate), float(1 - sampling_rate)
    w = base.masses
    mantissas, exponents = exponentials(-ball(base.point(0)), -ball(base.step), len(w))
    own, more = np.frexp(w)
    other = join_floats(mantissas * own, exponents + more)
    here = other > PRECISE
    # what is too small for a float with all its digits is counted as infinite
    lost = float(np.sum(w[~here])) * (1 + 2.0**-20) + base.infinity
    w, other = w[here], other[here]
    # `other` is within 6u, and sums of two products within 9u
    if removed:
        rest = max(0.0, 1 - math.fsum(other.tolist()) * (1 - 16 * UNIT) + 2 * UNIT)
        p = np.append(gamma * w + kept * other, kept * rest) * (1 + 16 * UNIT)
        q = np.append(other * (1 - 12 * UNIT), rest)
        filled = q > 0
        return p[filled], q[filled], gamma * lost * (1 + 4 * UNIT)
    p = np.append(w, lost)
    q = np.append(kept * w + gamma * other, kept * lost) * (1 - 16 * UNIT)
    filled = p > 0
    return p[filled], q[filled], 0.0


def _lower_atoms(
    base: LowerCells, sampling_rate: Fraction, *, removed: bool
) -> tuple[Floats, Floats, float]:
    """Return atoms (p, q) of the subsampled pair, p from below and q from above, and P(Z = ∞).

    As in `_upper_atoms`, with these differences for a removed record: if rounding has made Q's
    total S > 1, R has (1 − γ)q/S only, as for a <= 0 it mustn't have more than 1 − α; and q₋ is
    rounded down. Where a is a little above 0 the atoms still have γ(p − aq) at most.
    """
    gamma, kept = float(sampling_rate), float(1 - sampling_rate)
    atoms = [(loss, mass) for loss, mass in base.atoms if mass > 0]
    p = np.array([mass for _, mass in atoms])
    with precision(BITS):
        q = np.array([float_above(arb(mass) * (-arb(loss)).exp()) for loss, mass in atoms])
    if not removed:
        p = np.append(p, base.infinity)
        q = kept * p + gamma * np.append(q, 0.0)
        return p, np.nextafter(q * (1 + 4 * UNIT), math.inf), 0.0
    total = math.fsum(q.tolist()) * (1 + 2 * UNIT)
    rest = max(0.0, (1 - total) * (1 - 2 * UNIT))
    with_record = (gamma * p + kept * q / max(1.0, total)) * (1 - 8 * UNIT)
    return (
        np.append(with_record, kept * rest * (1 - 4 * UNIT)),
        np.append(q, rest),
        gamma * base.infinity * (1 - 4 * UNIT),
    )
