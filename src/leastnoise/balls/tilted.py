"""Tilted laws of lattices in floats, each entry within a proved relative error.

A geometric progression is the product of two short ones, whose terms are rounded from balls; terms
are kept as mantissa and exponent, so that nothing overflows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.balls.core import ball

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.balls.losses import LossLattice

    Floats = NDArray[np.float64]
    Exponents = NDArray[np.int64]

BLOCK = 256


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Tilted:
    """The tilted law of one lattice, used `count` times.

    wᵢ e^(czᵢ) = e^log_moment · weights[i] · (1 + ρ) with |ρ| <= 2^-50, or up to 2^-1070 in a
    weight; the weights sum to 1 within 2^-50.
    """

    lattice: LossLattice
    count: int
    weights: Floats
    log_moment: arb

    @classmethod
    def of(cls, lattice: LossLattice, count: int, tilt: Fraction) -> Tilted:
        """Tilt a lattice, at the current precision."""
        scaled, total, log_scale = _scaled_terms(lattice.masses, ball(tilt) * ball(lattice.step))
        # e^log_moment is `total`, a float, times powers of 2 and e, so that a weight has the error
        # of its term, 4u, and of one division; `total` itself is right within 2^-53
        log_moment = arb(total).log() + log_scale + ball(tilt) * ball(lattice.point(0))
        return cls(lattice=lattice, count=count, weights=scaled / total, log_moment=log_moment)


def log_moment_above(weights: Floats, t: arb) -> arb:
    """Return an upper bound of log Σ weights[i]·e^(ti), as a ball: every point of it is one."""
    _, total, log_scale = _scaled_terms(weights, t)
    return (arb(total) * (1 + arb(2) ** -50)).log() + log_scale


def geometric(log_ratio: arb, count: int) -> tuple[Floats, Exponents]:
    """Return e^(log_ratio·i) for i < count as mantissas, within a relative 3u, and exponents."""
    rows = -(-count // BLOCK)
    far, far_exponents = progression(arb(1), (log_ratio * BLOCK).exp(), rows)
    near, near_exponents = progression(arb(1), log_ratio.exp(), min(count, BLOCK))
    mantissas = (far[:, None] * near).ravel()[:count]
    return mantissas, (far_exponents[:, None] + near_exponents).ravel()[:count]


def exponentials(first: arb, step: arb, count: int) -> tuple[Floats, Exponents]:
    """Return e^(first + i·step) for i < count as mantissas, within a relative 5u, and exponents."""
    (start,), (exponent,) = progression(first.exp(), arb(1), 1)
    mantissas, exponents = geometric(step, count)
    return mantissas * start, exponents + exponent


def progression(first: arb, ratio: arb, count: int) -> tuple[Floats, Exponents]:
    """Return first·ratio^i for i < count, each rounded to the nearest float."""
    terms: list[tuple[float, int]] = []
    for _ in range(count):
        terms.append(_split(first))
        first *= ratio
    mantissas, exponents = zip(*terms, strict=True)
    return np.array(mantissas), np.array(exponents, dtype=np.int64)


def join_floats(mantissas: Floats, exponents: Exponents) -> Floats:
    """Return the floats mantissa·2^exponent; 0 far below all floats, and ∞ far above."""
    with np.errstate(over="ignore"):
        deepest, highest = -1100, 1100  # exponents of 2 outside which floats are 0 or infinite
        return np.ldexp(mantissas, np.clip(exponents, deepest, highest).astype(np.int32))


def _split(value: arb) -> tuple[float, int]:
    """Return a mantissa in [½, 1] and an exponent: the midpoint, rounded to nearest."""
    mantissa, exponent = value.mid().man_exp()
    found, more = math.frexp(float(int(mantissa)))
    return found, int(exponent) + more


def _scaled_terms(weights: Floats, log_ratio: arb) -> tuple[Floats, float, arb]:
    """Return terms, their sum, and a logarithm: weights[i]·e^(log_ratio·i) = e^that·terms[i].

    A term is off by a relative 4u, or by 2^-1074; their sum, rounded once, is at least 1/8.
    """
    powers, exponents = geometric(log_ratio, len(weights))
    mantissas, own = np.frexp(weights)
    exponents = np.where(mantissas > 0, exponents + own, np.iinfo(np.int64).min // 2)
    top = int(exponents.max())
    terms = join_floats(mantissas * powers, exponents - top)
    return terms, math.fsum(terms.tolist()), top * arb.const_log2()
