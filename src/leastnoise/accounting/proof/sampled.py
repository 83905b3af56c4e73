"""Poisson subsampling: δ of a release for a record that is in the sample with probability γ.

Notation (theory/accounting.md §4): P is the law of the outputs if the record is in the sample, Q
the law if it isn't, and Z = log dP/dQ the loss. If the record is in the data, the outputs have the
law R = (1 − γ)Q + γP. A removed record compares R to Q, an added record Q to R. H_α(P‖Q) is the
largest P(S) − αQ(S) over sets S of outputs, which is δ(ε) for α = e^ε. For all α > 0

```
H_α(R‖Q) = γ H_a(P‖Q),  a = (α − 1 + γ)/γ            (1 − α where a <= 0)
H_α(Q‖R) = b H_a(Q‖P),  a = αγ/b, b = 1 − α(1 − γ)   (0 where b <= 0)
```

For a < 1, H_a(P‖Q) = H_a(Q‖P) = 1 − a + a·δ(−log a), because the noise is symmetric. Losses of the
first pair are log(1 − γ + γe^Z); losses of the second have the other sign. Neither pair describes a
person who is replaced by another.
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

_FINE_BITS = 768  # precision of log a, enough for a δ down to about 2^-700
_OUTWARD = 2**64  # ends of the range are rounded outward to multiples of 1 / this


def enclose_sampled(
    profile: Profile, sampling_rate: Fraction, epsilon: Fraction, *, removed: bool
) -> arb:
    """Enclose H_α(R‖Q) for a `removed` record, else H_α(Q‖R), at α = e^epsilon.

    `profile` is δ of the pair (P, Q), and is only called at ε >= 0. If `epsilon` >= 0, the profile
    may be the largest δ over several shifts.
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
    """Enclose H_a(P‖Q) at a = `base`; `log_base` is ln a, as a very narrow ball.

    `profile` is called at an exact number just below |ln a|. From there to |ln a|, δ falls by at
    most the difference of the two numbers; the result is wider by this difference.
    """
    with precision(_FINE_BITS):
        mirrored = bool(log_base < 0)
        size = -log_base if mirrored else log_base
        start = _fraction(size.lower())
        slack = size - ball(start)
    delta = profile(max(Fraction(0), start))
    if start < 0:  # log a is too near to 0 to know its sign
        delta = delta.union(delta + slack)
    if not delta.is_zero():
        delta = delta.union(delta - slack)
    return 1 - base + base * delta if mirrored else delta


def _fraction(point: arb) -> Fraction:
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def loss_range(
    sampling_rate: Fraction, reach: Fraction, *, leaks: bool
) -> tuple[Fraction, Fraction]:
    """The least and the largest finite loss after subsampling, for a removed record.

    Both are rounded outward. Finite losses before subsampling lie between −`reach` and `reach`;
    with `leaks`, some losses are infinite.
    """
    with precision(BITS):
        least = ball(-reach).exp() if not leaks else arb(0)
        low = (1 - ball(sampling_rate) + ball(sampling_rate) * least).log()
        high = (1 - ball(sampling_rate) + ball(sampling_rate) * ball(reach).exp()).log()
        return _round_outward(low, -1), _round_outward(high, 1)


def _round_outward(value: arb, direction: int) -> Fraction:
    scaled = _fraction((value * _OUTWARD).mid())
    return Fraction(round(scaled) + 2 * direction, _OUTWARD)


def find_sampled_spread(base: LossLattice, sampling_rate: Fraction) -> float:
    """Approximate the standard deviation of the loss after subsampling.

    `base` is a lattice of the losses before subsampling.
    """
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
    """A law of losses whose δ is nowhere below the δ of the subsampled pair.

    `base` is an upper lattice of (P, Q), so its δ bounds (Q, P) from above too. `ends` are the
    numbers of `loss_range`; the lattice after subsampling has the `step` h and the points of
    `_points`. An atom (p, q) is a set of outputs with the probability p under the first law of the
    pair, and q under the second. Each atom is split between the lattice points z and z + h around
    its loss ("connect the dots"). The mass at z + h is (p − q e^z)/(1 − e^(−h)), and z gets the
    rest of p. An atom with a loss beyond the last point counts as an infinite loss.
    """
    origin, size = _points(ends, step, removed=removed)
    with precision(BITS):
        p, q, infinity = _upper_atoms(base, sampling_rate, removed=removed)
        ratios = join_floats(*exponentials(ball(origin), ball(step), size + 1))
        share = float_below(-(-ball(step)).expm1())
    beyond = p > q * ratios[-1] * (1 + 2.0**-40)
    infinity += float(p[beyond].sum()) * (1 + 2.0**-20)
    p, q = p[~beyond], q[~beyond]
    # ratios are accurate to 5 and quotients to 1 rounding unit, so no atom falls below its cell
    index = np.searchsorted(ratios, p / q * (1 + 2.0**-44), side="right") - 1
    index = np.clip(index, 0, size - 1)
    lower = ratios[index]
    # Less Q means more loss: an atom just below its cell is lifted to the cell's end, and a q too
    # small for a float is replaced by its value at the largest loss.
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
    """Atoms whose δ is nowhere above the δ of the subsampled pair.

    `base` bounds (P, Q) from below, so it bounds (Q, P) too. Its atoms are split and merged onto
    points that lie at most about half a step below the points of `sample_upper`. These follow from
    `ends` and `step`: see `_points`.
    """
    origin, size = _points(ends, step, removed=removed)
    p, q, infinity = _lower_atoms(base, sampling_rate, removed=removed)
    return on_best_lattice(
        p, q, step=step, first=0, count=size + 1, infinity=infinity, origin=origin
    )


def _points(
    ends: tuple[Fraction, Fraction], step: Fraction, *, removed: bool
) -> tuple[Fraction, int]:
    """The first lattice point, and the number of steps to the last point.

    The last point is the upper end of the range `ends`. For an added record, the range is (−end,
    −start) instead of (start, end).
    """
    low, high = ends if removed else (-ends[1], -ends[0])
    size = math.ceil((high - low) / step)
    return high - size * step, size


def _upper_atoms(
    base: LossLattice, sampling_rate: Fraction, *, removed: bool
) -> tuple[Floats, Floats, float]:
    """Atoms (p, q), and a mass of infinite loss: together their δ is at least the sampled pair's.

    Each p and the mass are rounded up, each q is rounded down.

    Let w be P's mass at the loss z in `base`. Q's mass there is q = we^(−z) (`other`). If the
    record is removed, H_α(R‖Q) = γH_a(P‖Q) gives the atom (γw + (1 − γ)q, q). The mass q₋ that Q
    has outside of P's support gives ((1 − γ)q₋, q₋): Q's total is 1, as the case a <= 0 needs. A q₋
    that is too large only raises the bound.

    If the record is added, H_α(Q‖R) = bH_a(Q‖P) is at most b times the δ of `base`. That gives the
    atom (w, (1 − γ)w + γq), with q = 0 for the infinite loss.
    """
    gamma, kept = float(sampling_rate), float(1 - sampling_rate)
    w = base.masses
    mantissas, exponents = exponentials(-ball(base.point(0)), -ball(base.step), len(w))
    fractions, shifts = np.frexp(w)
    other = join_floats(mantissas * fractions, exponents + shifts)
    here = other > PRECISE
    # atoms too small for a float with all its digits are counted as infinite losses
    lost = float(np.sum(w[~here])) * (1 + 2.0**-20) + base.infinity
    w, other = w[here], other[here]
    # `other` is accurate to 6 rounding units, and sums of two products to 9
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
    """Atoms (p, q), and a mass of infinite loss: together their δ is at most the sampled pair's.

    Each p and the mass are rounded down, each q is rounded up.

    Let w be P's mass at the loss z in `base`, q Q's mass there, and T the total of all q. Let q₋ =
    max(0, 1 − T) be Q's mass outside of P's support, rounded down. If the record is added, the
    atoms are (w, (1 − γ)w + γq), with q = 0 for the infinite loss. If it is removed, they are (γw +
    (1 − γ)q/max(1, T), q) and ((1 − γ)q₋, q₋). Rounding may make T exceed 1. Dividing by T keeps
    the part 1 − γ of R within 1 − γ, as the case a <= 0 needs. For a > 0 an atom adds at most γ(w −
    aq) to H_α(R‖Q).
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
