"""Losses of spherical generalized gamma noise on a lattice, from both sides.

Its density falls radially, so that the longest shift is worst at every ε (theory/noise.md §1), and
the pair is its own mirror image. Both tails of the loss are enclosed at some dozens of places, each
of which takes a quadrature (`generalized_gamma`). δ(α) is convex: from above it is replaced by
chords between the places, from below all outputs with losses between two of them are merged. So the
step of the lattice costs next to nothing, and the interval is as wide as the places are apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import final

import numpy as np
from flint import arb

from leastnoise.balls.atoms import inscribed
from leastnoise.balls.core import ball, float_above, float_below, precision
from leastnoise.balls.hull import Point, chords
from leastnoise.balls.losses import (
    BITS,
    LossLattice,
    LowerCells,
    lower_cells,
    merged,
    symmetric_lattice,
    upper_lattice,
)
from leastnoise.errors import NotRegistered
from leastnoise.noise.base import Noise
from leastnoise.noise.family import OwnLosses
from leastnoise.noise.radial.law.generalized_gamma import GeneralizedGamma
from leastnoise.noise.radial.privacy_losses.generalized_gamma_sketch import (
    MOST_PLACES,
    places,
    sketch,
)
from leastnoise.noise.radial.proof.generalized_gamma import delta_ball, largest_loss, tails

_PLACES = 18  # for a lattice of up to …
_STEPS = 16  # … so many steps in a standard deviation; twice as many for twice as many steps
_MORE_ON_A_LINE = 4
_BITS, _BITS_MORE = 80, 32  # and as many as δ has zeros
_ACCURACY = 24  # bits of the tails: k releases add k·2^-24 of δ, a thousand some 5e-6 of the scale
_EVALUATIONS = 10_000  # of integrands at a place: of laws that we calibrate 1,700 was the most
_PART = 2.0**-5  # of P(Z > ε): not much more than δ(ε) anywhere, and a goal too fine is cheap
_SMALLEST = math.log(1e-300)


def upper(noise: Noise, shift: Fraction, step: Fraction, size: int) -> LossLattice:
    """Return a law of losses at −size·step … size·step whose δ is nowhere below that of `noise`."""
    law, scales = _in_scales(noise, shift)
    if law.is_classic:
        return upper_lattice(lambda epsilon: _delta(law, scales, epsilon), step, size)
    points = [(one.epsilon, _at_most_one(one.delta)) for one in _known(law, scales, step)]
    return between(points, step, size)


def between(points: Sequence[Point], step: Fraction, size: int) -> LossLattice:
    """Return a law of losses at −size·step … size·step, of chords between bounds on δ(ε), ε >= 0.

    It holds for a pair that is its own mirror image.
    """
    with precision(BITS):
        found = chords(points, [step * i for i in range(size + 1)])
        return symmetric_lattice(found, step)


def lower(noise: Noise, shift: Fraction, step: Fraction, size: int) -> LowerCells:
    """Return atoms whose δ is nowhere above that of `noise`: outputs merged by their loss."""
    law, scales = _in_scales(noise, shift)
    if law.is_classic:
        return lower_cells(
            lambda epsilon: _delta(law, scales, epsilon), upper(noise, shift, step, size)
        )
    known = [one for one in _known(law, scales, step) if one.p.is_finite()]
    with precision(BITS):
        tail = [(one.p, one.weighted / ball(one.epsilon).exp()) for one in known]
        # P(Z > −z) = 1 − Q(Z > z), as no loss has a mass of its own. Twice 0 is an empty cell.
        mirror = [(1 - q, 1 - p) for p, q in reversed(tail)]
        ends = [(arb(1), arb(1)), *mirror, *tail, (arb(0), arb(0))]
        cells = [
            (float_below(p0 - p1), float_above(q0 - q1)) for (p0, q0), (p1, q1) in pairwise(ends)
        ]
        p, q = np.array([cell for cell in cells if min(cell) > 0]).T
        sums = zip(*inscribed(p, q, float(step), size), strict=True)
        atoms = tuple(merged(arb(p), arb(q)) for p, q in sums)
    return LowerCells(step=step, first=-size, atoms=atoms, infinity=0.0)


def reach(noise: Noise, shift: Fraction) -> Fraction:
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
class _Known:
    """Enclosures of P(Z > ε), e^ε Q(Z > ε) and δ(ε)."""

    epsilon: Fraction
    p: arb
    weighted: arb
    delta: arb


def _in_scales(noise: Noise, shift: Fraction) -> tuple[GeneralizedGamma, Fraction]:
    """Return the law of scale 1 and the shift in scales, all that losses depend on."""
    if not isinstance(noise, GeneralizedGamma):
        raise NotRegistered(family=noise.name, table=__name__, why="it is not generalized-gamma")
    law = GeneralizedGamma(scale=1, alpha=noise.alpha, p=noise.p, dimension=noise.dimension)
    return law, shift / noise.scale


def _delta(law: GeneralizedGamma, scales: Fraction, epsilon: Fraction) -> arb:
    return delta_ball(law, shift=scales, epsilon=epsilon)


def _known(law: GeneralizedGamma, scales: Fraction, step: Fraction) -> list[_Known]:
    """Return what is known at each of the places, ε rising."""
    return [_known_at(law, scales, *place) for place in chosen(law, scales, step)]


def chosen(law: GeneralizedGamma, scales: Fraction, step: Fraction) -> list[tuple[Fraction, float]]:
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


def _at_most_one(delta: arb) -> arb:
    """Return the upper end of `delta`, or 1, as an exact number."""
    return delta.upper().min(arb(1)) if delta.is_finite() else arb(1)


@lru_cache(maxsize=64)
def _spread(law: GeneralizedGamma, scales: Fraction) -> float:
    return sketch(law, float(scales)).spread


@lru_cache(maxsize=4096)
def _known_at(
    law: GeneralizedGamma, scales: Fraction, epsilon: Fraction, log_tail: float
) -> _Known:
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
    return _Known(epsilon=epsilon, p=found.p, weighted=found.weighted, delta=found.delta)


LOSSES = OwnLosses(upper=upper, lower=lower, reach=reach)
