"""Laws of the privacy loss on a lattice, from above and from below (theory/accounting.md §1).

Notation: P and Q are the laws of the output on two neighbouring inputs at the worst shift, and Z =
log dP/dQ is the privacy loss. α = e^ε, and the profile δ(ε) = E_P(1 − e^(ε−Z))₊ is convex in α and
decreasing. A lattice has the mass wᵢ of P at the loss zᵢ = origin + (first + i)·step, and a mass at
+∞.

Everything is computed from δ(ε), in balls. The second differences of δ are the masses of the upper
lattice; its slopes are the tails Q(Z > ε) = −dδ/dα, from which the lower lattice is made. So all
this holds for every law whose worst shift is the same at every ε, and whose pair (P, Q) is its own
mirror image. This is the case for symmetric noise, and means δ(−ε) = 1 − e^(−ε) + e^(−ε)·δ(ε).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.balls.atoms import inscribe
from leastnoise.balls.core import PRECISE, ball, float_above, float_below, precision
from leastnoise.balls.rounded import exponentials, join_floats
from leastnoise.errors import NotApplicable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Profile = Callable[[Fraction], arb]
"""A function ε ↦ δ(ε), enclosed at the current precision."""

Tails = Callable[[Fraction], tuple[arb, arb]]
"""A function b ↦ enclosures of P(Z > b) and Q(Z > b), for a law without atoms."""

BITS = 192  # working precision of lattices
LONGEST_LOSS = 700.0
"""The largest loss in floats: e^700 and e^−700 are floats."""
COARSE_POINTS = 48
"""Points above 0 of a coarse first lattice, which only serves to estimate the loss's spread."""
NOTHING = 2.0**-140
"""Masses below it are moved to infinity, at no noticeable cost."""
SPARE = 2.0**-60  # a small finite mass, needed if all mass is at infinity
_ORIGIN_BITS = 40  # bits of a lower lattice's origin, in steps
NUDGE = 2**38  # slopes come from chords over step/2^38; errors of the cells' masses are below 2^-37


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LossLattice:
    """A law of losses: masses[i] at origin + (first + i)·step, and the mass `infinity` at +∞.

    All are masses under P. `step` and `origin` are Fractions, so that all lattice points are exact.
    """

    step: Fraction
    origin: Fraction
    first: int
    masses: Floats
    infinity: float

    def point(self, index: int) -> Fraction:
        """The loss of masses[index]."""
        return self.origin + (self.first + index) * self.step

    @property
    def spread(self) -> float:
        """The approximate standard deviation of the finite losses, whatever the origin is."""
        z = (self.first + np.arange(len(self.masses))) * float(self.step)
        weights = self.masses / self.masses.sum()
        return math.sqrt(float(weights @ (z - weights @ z) ** 2))


def upper_lattice(profile: Profile, step: Fraction, size: int) -> LossLattice:
    """A law of losses at −size·step … size·step whose δ is nowhere below the profile.

    "Connect the dots" (Doroshenko et al. 2022): the chords of δ(α) between the lattice points are
    the profile of a law on the lattice, and a chord of a convex function is above it. Raises
    NotApplicable if the profile isn't known precisely enough.
    """
    with precision(BITS):
        return symmetric_lattice([accurate_delta(profile, step * i) for i in range(size + 1)], step)


def symmetric_lattice(deltas: Sequence[arb], step: Fraction) -> LossLattice:
    """The law of losses whose profile has chords in α between n + 1 known values of δ.

    `deltas` are δ at the losses 0, step, …, n·step, and the law is on −n·step … n·step. δ at
    negative ε follows from δ(−ε) = 1 − e^(−ε) + e^(−ε)·δ(ε). So the law is its own mirror image:
    the mass of P at −z is e^(−z) times the mass at z. Masses at −z are computed in this way,
    because chords at negative ε would lose precision.
    """
    width = ball(step)
    below = 1 - (-width).exp() * (1 - deltas[1])
    half = chord_lattice([below, *deltas], step=step, origin=Fraction(0), first=-1)
    mirror = [
        float_above(arb(mass) * (-width * (i + 1)).exp())
        for i, mass in enumerate(half.masses[2:].tolist())
    ]
    masses = np.concatenate([mirror[::-1], half.masses[1:]])
    if not masses.any():
        masses[len(mirror)] = SPARE  # extra mass is allowed, and a law needs some
    return LossLattice(
        step=step, origin=Fraction(0), first=-len(mirror), masses=masses, infinity=half.infinity
    )


def chord_lattice(
    deltas: Sequence[arb], *, step: Fraction, origin: Fraction, first: int
) -> LossLattice:
    """The law whose profile has chords in α between `deltas`, values of δ at the lattice points.

    The first chord starts at α = 0, where δ is 1. Beyond the last point δ is constant: this is the
    mass at infinity. All masses are rounded up.
    """
    start, width = ball(origin + step * first), ball(step)
    alphas = [(start + width * i).exp() for i in range(len(deltas))]
    slopes = [(deltas[0] - 1) / alphas[0]]  # the slope of the chord from (0, 1)
    slopes += [
        (deltas[i + 1] - deltas[i]) / (alphas[i + 1] - alphas[i]) for i in range(len(deltas) - 1)
    ]
    slopes.append(arb(0))
    masses = [
        max(0.0, float_above(alpha * (slopes[i + 1] - slopes[i]))) for i, alpha in enumerate(alphas)
    ]
    return LossLattice(
        step=step,
        origin=origin,
        first=first,
        masses=np.array(masses),
        infinity=max(0.0, float_above(deltas[-1])),
    )


@final
@dataclass(frozen=True, kw_only=True)
class LowerCells:
    """A law of losses that bounds δ from below: atoms, each a pair of a loss and a mass of P.

    Atoms come from merging outputs; `infinity` is P's mass of infinite losses. At every ε, their δ
    is at most the δ of the true law, also if both are composed several times. `atoms[i]` belongs to
    the point origin + (first + i)·step, and its loss is near that point.
    """

    step: Fraction
    first: int
    atoms: tuple[tuple[float, float], ...]
    infinity: float
    origin: Fraction = Fraction(0)

    def lattice(self, tilt: float) -> LossLattice:
        """Move each atom down to a point of a lattice with the same step; return this lattice.

        Any origin of the lattice gives a valid lower bound. Lowering it lowers the loss of every
        atom that moves to its own point. If the origin is too high, atoms that lie below their own
        points lose a whole step. The chosen origin costs about the least, if an atom's loss z
        counts with the weight of its mass times e^(tilt·z).
        """
        width, points = float(self.step), self.first + np.arange(len(self.atoms))
        atoms = np.array(self.atoms).reshape(-1, 2)
        here = atoms[:, 1] > 0
        losses, masses, points = atoms[here, 0], atoms[here, 1], points[here]
        logs = np.log(masses) + tilt * losses
        weights = np.exp(logs - logs.max())
        gaps = (losses - float(self.origin)) / width - points
        # the error of three roundings of numbers of at most this size, and of the step's rounding
        error = 2.0**-50 * (1 + (np.abs(losses).max() + abs(float(self.origin))) / width)
        order = np.argsort(gaps)
        moved = np.concatenate([[0.0], np.cumsum(weights[order])[:-1]]) / weights.sum()
        near = gaps[order] < 0.5  # a larger gap would lose more than one step
        near[0] = True
        best = float(gaps[order][near][np.argmin((moved - gaps[order])[near])])
        shift = Fraction(math.floor((best - error) * 2.0**_ORIGIN_BITS), 2**_ORIGIN_BITS)
        moves = np.where(gaps < best, np.floor(gaps - float(shift) - 2 * error), 0.0)
        indices = points - self.first + moves.astype(np.int64)
        inside = indices >= -1  # the new lattice has one more point below
        sums = np.zeros(len(self.atoms) + 1)
        np.add.at(sums, indices[inside] + 1, masses[inside])
        parts = np.bincount(indices[inside] + 1, minlength=len(sums))
        return LossLattice(
            step=self.step,
            origin=self.origin + self.step * shift,
            first=self.first - 1,
            masses=np.where(parts > 1, sums * (1 - parts * 2.0**-52), sums),
            infinity=self.infinity,
        )


def lower_cells(
    profile: Profile,
    upper: LossLattice,
    *,
    infinite: arb | None = None,
    tails: Tails | None = None,
) -> LowerCells:
    """Merge outputs into atoms whose δ is nowhere above the profile, near points of `upper`.

    Merging outputs with a loss between two boundaries is post-processing. Masses p of P and q of Q
    give an atom at log(p/q); rounding p down and q up lowers it. `upper` helps to choose boundaries
    for which atoms lie near its points. One more boundary is just below its last point, which may
    be the largest finite loss. `infinite` encloses P(Z = ∞); if it is None, outputs with an
    infinite loss are merged with the losses above the last boundary. `tails` gives the tails P(Z >
    b) and Q(Z > b) for a boundary b; by default they follow from the slopes of `profile`. At the
    end atoms are merged, whole or in parts, onto one lattice.
    """
    step, size = upper.step, -upper.first
    certain = arb(0) if infinite is None else infinite
    with precision(BITS):
        # sorted, since boundaries may cross for long steps
        boundaries = sorted([*_boundaries(upper), step * size - step / 2**20])
        slopes = tails or partial(tails_at, profile, step / NUDGE)
        interior = _mirror_tails([slopes(at) for at in boundaries])
        ends = [(arb(1), 1 - certain), *interior, (certain, arb(0))]
        p = np.array([float_below(below - above) for (below, _), (above, _) in pairwise(ends)])
        q = np.array([float_above(below - above) for (_, below), (_, above) in pairwise(ends)])
        infinity = max(0.0, float_below(certain))
    return on_best_lattice(p, q, step=step, first=-size - 1, count=2 * size + 3, infinity=infinity)


def on_best_lattice(
    p: Floats,
    q: Floats,
    *,
    step: Fraction,
    first: int,
    count: int,
    infinity: float = 0.0,
    origin: Fraction = Fraction(0),
) -> LowerCells:
    """Merge atoms with masses `p` of P and `q` of Q into `count` atoms near lattice points.

    `p` are lower bounds on the masses, and `q` upper bounds; `count` is odd. The points are origin
    + (first + i)·step. Several lattices, moved from there by at most about half a step, are
    compared by `_mean`, and the best is returned. Atoms without mass of Q go to infinity.
    """
    finite, positive = q > 0, p > 0
    certain = math.fsum([infinity, *p[positive & ~finite].tolist()]) * (1 - 2.0**-52)
    p, q = p[finite & positive], q[finite & positive]
    candidates: list[tuple[float, LowerCells]] = []
    for offset in _offsets(p, q, step, origin):
        start = origin + step * (first - offset)
        p_low, losses = _on_lattice(p, q, step=step, start=start, size=count // 2)
        if not p_low.any():  # tilting needs a lattice with some mass
            p_low[0], certain = SPARE, certain - 2 * SPARE
        cells = LowerCells(
            step=step,
            first=first,
            atoms=tuple(zip(losses.tolist(), p_low.tolist(), strict=True)),
            infinity=certain,
            origin=origin - step * offset,
        )
        candidates.append((_mean(cells.lattice(0.0)), cells))
    return max(candidates, key=lambda candidate: candidate[0])[1]


def _offsets(p: Floats, q: Floats, step: Fraction, origin: Fraction) -> set[Fraction]:
    """The distances, in steps, by which `on_best_lattice` tries to move down its lattice.

    They are at most about half a step; a negative distance moves the lattice up. One is tiny, and
    one is larger, so that atoms at points of the lattice are then slightly above a point. Two
    others put one of the two heaviest atoms just above a point. An atom between points is mixed
    with others, which loses more. The caller keeps the best candidate.
    """
    tiny = Fraction(1, 2**30)  # steps
    offsets = {tiny, Fraction(1, 2**14)}
    for i in np.argsort(p)[-2:]:
        position = (math.log(p[i]) - math.log(q[i]) - float(origin)) / float(step)
        offsets.add(Fraction(round(position) - position).limit_denominator(2**40) + tiny)
    return offsets


def _on_lattice(
    p: Floats, q: Floats, *, step: Fraction, start: Fraction, size: int
) -> tuple[Floats, Floats]:
    """Merge atoms with the masses p and q at the 2·size + 1 lattice points from `start` on.

    Returns P's masses and the losses of the merged atoms, both rounded down.
    """
    with precision(BITS):
        # losses are counted from the middle of the lattice
        middle = ball(start + size * step).exp()
        scaled = np.nextafter(q * float_above(middle), math.inf)
        p_low, q_high = inscribe(p, scaled, float(step), size)
        ratios = join_floats(*exponentials(ball(-size * step), ball(step), len(p_low)))
        points = float(start) + np.arange(len(p_low)) * float(step)
        # log(1 − 2^-46) > −2^-45; the rest is for rounding, also of the points
        losses = points - 2.0**-45 - 2.0**-50 * (np.abs(points) + abs(float(start)))
        with np.errstate(invalid="ignore"):  # 0 times inf is NaN
            least = q_high * ratios
        near = (ratios > PRECISE) & (least > PRECISE)
        near &= p_low >= least * (1 - 2.0**-46 + 2.0**-49)
        for i in np.flatnonzero((p_low > 0) & ~near):
            losses[i] = merge(arb(p_low[i]), arb(q_high[i]) / middle)[0]
    return p_low, losses


def _mean(lattice: LossLattice) -> float:
    """Approximate the sum of the finite losses times their masses, by which lattices are compared.

    If no loss is infinite, it is the Kullback–Leibler divergence of the merged outputs. The larger
    it is, the less the merging has lost.
    """
    points = float(lattice.point(0)) + np.arange(len(lattice.masses)) * float(lattice.step)
    return float(points @ lattice.masses)


def accurate_delta(profile: Profile, epsilon: Fraction) -> arb:
    """Compute δ(epsilon); raises NotApplicable unless it is known to a relative 2^-110 or is 0."""
    return check_accurate(profile(epsilon))


def check_accurate(delta: arb) -> arb:
    """Return `delta`; raises NotApplicable unless it is known to a relative 2^-110 or is 0."""
    accuracy = 110  # bits of δ; second differences for steps down to 2^-20 keep half of them
    if not (delta.is_zero() or delta.rel_accuracy_bits() >= accuracy):
        raise NotApplicable(
            family="composition", why="its privacy profile isn't known precisely enough"
        )
    return delta


def _boundaries(upper: LossLattice) -> list[Fraction]:
    """Choose boundaries between cells of outputs with positive losses.

    Any positive boundaries are valid. Let h be the step, and f the density of the loss under P.
    Merging all outputs with losses within h/2 of c gives an atom at about c + (h²/12)(f′/f − 1/2).
    The centres c of the cells are moved so that these atoms are near lattice points. For long
    steps, the boundaries may not be in order.
    """
    size, width = -upper.first, float(upper.step)
    logs = np.log(np.maximum(upper.masses, 1e-300))
    # starts at the point below 0; the last point may be an atom, and isn't used
    upper_logs = logs[size - 1 :]
    slopes = np.full(size + 1, 0.5)
    slopes[: size - 1] = (upper_logs[2:-1] - upper_logs[:-3]) / (2 * width)
    slopes[size - 1] = (upper_logs[-2] - upper_logs[-3]) / width
    slopes = np.clip(slopes, -2 / width, 2 / width)
    centres = np.arange(size + 1) * width - width**2 / 12 * (slopes - 0.5)
    centres[0] = 0.0  # the cells below 0 are mirror images of the cells above 0
    return [Fraction(float(at)) for at in (centres[1:] + centres[:-1]) / 2]


def tails_at(profile: Profile, nudge: Fraction, boundary: Fraction) -> tuple[arb, arb]:
    """Enclose the tails P(Z > b) and Q(Z > b) of the loss at a `boundary` b > `nudge`.

    The same balls enclose P(Z >= b) and Q(Z >= b). Q's tails are slopes −dδ/dα, and δ(α) is convex.
    So its chord just right of b is at most as steep as any tangent at b. The chord just left of b
    is at least as steep. `nudge` is the length of the chords.
    """
    here = accurate_delta(profile, boundary)
    alpha = ball(boundary).exp()
    right = here - accurate_delta(profile, boundary + nudge)
    left = accurate_delta(profile, boundary - nudge) - here
    q = (right / (ball(boundary + nudge).exp() - alpha)).union(
        left / (alpha - ball(boundary - nudge).exp())
    )
    return here + alpha * q, q


def _mirror_tails(tails: list[tuple[arb, arb]]) -> list[tuple[arb, arb]]:
    """Put the tails at the boundaries −b before `tails`, the tails at boundaries b > 0.

    P(Z > −b) = 1 − Q(Z >= b) and Q(Z > −b) = 1 − P(Z >= b). If the boundaries of `tails` increase,
    so do the boundaries of the result.
    """
    return [(1 - q, 1 - p) for p, q in reversed(tails)] + tails


def merge(p: arb, q: arb) -> tuple[float, float]:
    """The loss and the mass under P of outputs that are merged into one, both rounded down.

    Together, the outputs have the masses `p` under P and `q` under Q, so the loss is log(p/q). It
    is ∞ if q is 0, and −∞ if p is 0.
    """
    mass, other = max(0.0, float_below(p)), max(0.0, float_above(q))
    if mass == 0.0:
        return -math.inf, 0.0
    return float_below((arb(mass) / arb(other)).log()) if other > 0 else math.inf, mass
