"""Moments of the uniform law of a body whose pieces are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.guarantees.bodies.base import nearest
from leastnoise.guarantees.bodies.one_sided import Balls, Coordinate, Pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray


@final
@dataclass(frozen=True, kw_only=True)
class Uniform:
    """The uniform law of a body, by the shape s of P: each field holds one number for every s.

    `shares` are the probabilities of s; the others are E P², E PQ, E Q², E P, E Q and E|P − Q|
    given s.
    """

    shares: Balls
    pp: Balls
    pq: Balls
    qq: Balls
    p: Balls
    q: Balls
    apart: Balls


def uniform_moments(
    pieces: Pieces, law: Uniform
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return E U_i² and E|U_i| of all coordinates; None for E|U_i| if one has no closed form."""
    seconds, firsts, known = [], [], True
    for cell, copies in pieces.layout:
        seconds.append(np.tile([_second(one, law) for one in cell], copies))
        first = [_first(one, law) for one in cell]
        known = known and None not in first
        firsts.append(np.tile([value or 0.0 for value in first], copies))
    return np.concatenate(seconds), np.concatenate(firsts) if known else None


def _second(one: Coordinate, law: Uniform) -> float:
    unit = arb(one.unit.numerator) / one.unit.denominator
    total = _mean(law, ((one.pp, law.pp), (one.pq, law.pq), (one.qq, law.qq)))
    return nearest(unit**2 * total)


def _first(one: Coordinate, law: Uniform) -> float | None:
    if one.p is None or one.q is None or one.apart is None:
        return None
    unit = arb(one.unit.numerator) / one.unit.denominator
    total = _mean(law, ((one.p, law.p), (one.q, law.q), (one.apart, law.apart)))
    return nearest(unit * total)


def _mean(law: Uniform, pairs: tuple[tuple[Balls, Balls], ...]) -> arb:
    total = arb(0)
    for given, moment in pairs:
        for share, a, b in zip(law.shares, given, moment, strict=True):
            total += share * a * b
    return total
