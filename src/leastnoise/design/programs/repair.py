"""Round a solver's floats to integers: dual prices that prove a bound, and masses of laws.

Notation: as in `program`, with cost_i = |i/m|^p; the prices λ_j and ψ_{j,i} and their sums G_i are
as in `lower_bound.Witness`. A shift exposes the part of a mass that exceeds e^ε times the shifted
law's mass at the same point. A tuple of masses has the integer weights of a symmetric law at 0, 1,
2, … lattice points from the centre.
"""

from __future__ import annotations

import math

import numpy as np

from leastnoise.balls.core import FACTOR_BITS
from leastnoise.design.bounds.lower_bound import Witness
from leastnoise.design.programs.program import Floats, LatticeSolution
from leastnoise.noise.common.law import Steps

_ROW_PRICE_BITS = 64
_SHARE_BITS = 64


def make_witness(solved: LatticeSolution) -> Witness:
    """Turn the solver's prices into a witness, which proves a bound even if they are inexact.

    If a multiplier λ_j is below one of its prices, it is raised to that price, which lowers the
    bound by δ times the difference.
    """
    program = solved.program
    prices = np.maximum(solved.dense_prices(), 0.0)
    multipliers = np.maximum(solved.multipliers, prices.max(axis=1))
    _sweep(solved, prices)
    nonzero = {int(index) + 1: _scaled(multipliers[index]) for index in np.flatnonzero(multipliers)}
    return Witness(
        cells=program.cells,
        reach=program.reach,
        bits=_ROW_PRICE_BITS,
        multipliers=tuple(nonzero.items()),
        prices=tuple(
            _whole_prices(prices[j - 1], most=most, least=program.cells)
            for j, most in nonzero.items()
        ),
    )


def _whole_prices(prices: Floats, *, most: int, least: int) -> tuple[int, ...]:
    """Round the prices down to integers in units of 2^−64, and limit them to `most`.

    Trailing zeros are dropped, but at least `least` prices are kept.
    """
    used = np.flatnonzero(prices).tolist()
    whole = [0] * max(least, used[-1] + 1 if used else 0)
    for index, price in zip(used, prices[used].tolist(), strict=True):
        whole[index] = min(_scaled(price), most)
    return tuple(whole)


def _sweep(solved: LatticeSolution, prices: Floats) -> None:
    """Shift the solver's rounding errors towards the centre, and shrink them on the way.

    `prices` is changed in place. Suppose cost_k + (G_k + G_{−k})/2 at a point k falls short of the
    optimum by s. Lowering the prices ψ_{j,j−k}, over all shifts j, by 2s/c in total repairs the
    point k. But then the points j − k fall short, by s/c in total. Repairing these in turn leads
    inwards, and each sensitivity reduces the shortfall by the factor e^{−ε}.
    """
    program = solved.program
    m, n, c = program.cells, program.reach, math.exp(program.epsilon)
    edge = n + m
    total = np.zeros(2 * edge + 1)  # G at −edge … edge
    total[m : m + 2 * n + 1] = prices.sum(axis=0)
    for j in range(1, m + 1):
        total[m - j : m - j + 2 * n + 1] -= c * prices[j - 1]
    total[:m] += prices[m - 1, :m]  # the periodic part
    for k in range(edge, 0, -1):
        short = solved.level - (k / m) ** program.power
        short -= (total[edge - k] + total[edge + k]) / 2
        # the shifts j whose point j − k is stored and nearer to 0 than k
        shifts = np.arange(max(1, k - n), min(m, 2 * k - 1, n + k) + 1)
        indices = shifts - k + n
        taken = prices[shifts - 1, indices]
        repaired = c * taken.sum()
        if k > n and shifts[-1] == m:  # the periodic part contains the price of this point
            repaired -= taken[-1]
        if short <= 0 or repaired <= 0:
            continue
        part = min(1.0, 2 * short / repaired)
        prices[shifts - 1, indices] -= part * taken
        total[indices + m] -= part * taken
        total[edge - k] += part * repaired


def _scaled(value: float) -> int:
    return int(math.ldexp(value, _ROW_PRICE_BITS))


def whole_masses(solved: LatticeSolution, *, spare: int = 0) -> tuple[int, ...]:
    """The solver's masses as integers in one unit, rounded down, without zeros at the end.

    `spare` is the number of extra bits, for divisions in `lengthen`. The law's privacy is proved
    later, from these integers.
    """
    bits = 100 + math.ceil(-math.log2(solved.program.delta)) + spare
    masses = [max(0, int(math.ldexp(mass, 80)) << (bits - 80)) for mass in solved.masses.tolist()]
    while len(masses) > 1 and masses[-1] == 0:
        masses.pop()
    return tuple(masses)


def round_to_lattice(steps: Steps, *, cells: int, delta: float) -> tuple[int, ...]:
    """The integer weights of X rounded to the nearest lattice point, where X has the law `steps`.

    The lattice has `cells` points in a unit of X. The weights have enough digits for this `delta`.

    Rounding to the lattice commutes with lattice shifts, so for these the law has the guarantee of
    X, up to the rounding of weights.
    """
    beyond = np.append(np.cumsum(steps.masses[::-1])[::-1], 0.0)  # P(|X| >= edge)
    count = math.ceil(cells * steps.float_edges[-1] + 0.5)
    ends = np.append(0.0, (np.arange(1, count + 1) - 0.5) / cells)
    masses = -np.diff(np.interp(ends, steps.float_edges, beyond, right=0.0))
    masses[1:] /= 2  # P(K = k), not P(|K| = k)
    bits = 100 + math.ceil(-math.log2(delta))
    return tuple(int(math.ldexp(mass, bits)) for mass in masses.tolist())


def mix(masses: tuple[int, ...], others: tuple[int, ...], *, share: float) -> tuple[int, ...]:
    """Integer weights of a mixture of two laws; `others` has about the weight `share` in [0, 1]."""
    unit, part = 1 << _SHARE_BITS, math.ceil(math.ldexp(share, _SHARE_BITS))
    here, there = (2 * sum(x) - x[0] for x in (masses, others))
    length = max(len(masses), len(others))
    pairs = zip(*(x + (0,) * (length - len(x)) for x in (masses, others)), strict=True)
    return tuple(a * (unit - part) + b * here // there * part for a, b in pairs)


def cover_centre(masses: tuple[int, ...], *, cells: int, factor: int, calm: int) -> tuple[int, ...]:
    """Change a law so that no point nearer than `calm` to the centre is exposed.

    This holds for all shifts up to `cells`. From `calm` inwards, a mass is cut down if it exceeds
    e^ε times the smallest mass within one sensitivity outwards. `factor` <= e^ε 2^128; quotients
    are rounded down.
    """
    covered = np.array(masses + (0,) * cells, dtype=object)
    for k in range(min(calm, len(masses)) - 1, -1, -1):
        most = int(covered[k + 1 : k + cells + 1].min()) * factor >> FACTOR_BITS
        covered[k] = min(covered[k], most)
    return tuple(covered[: len(masses)].tolist())


def lengthen(
    masses: tuple[int, ...], *, cells: int, factor: int, calm: int, periods: int
) -> tuple[int, ...]:
    """Insert periods of one sensitivity, which is `cells` steps, into a law between centre and end.

    Between centre and end, the best law falls by exactly e^ε per sensitivity. Inserting t =
    `periods` such periods, and scaling everything beyond by e^−εt, scales each shift's exposure by
    the same factor: a law for δ becomes a law for about δe^−εt. In the given law, no point nearer
    than `calm` may be exposed. `factor` <= e^ε 2^128; quotients are rounded up, so the inserted
    part exposes nothing.
    """
    if not periods:
        return masses
    start = _seam(masses, cells=cells, calm=calm, fall=math.log(factor) - 128 * math.log(2))
    lengthened = list(masses[: start + cells])
    block = masses[start : start + cells]
    for _ in range(periods):
        block = tuple(_divide_up(mass, factor) for mass in block)
        lengthened += block
    rest = masses[start + cells :]
    for _ in range(periods):
        rest = tuple(_divide_up(mass, factor) for mass in rest)
    return (*lengthened, *rest)


def _divide_up(mass: int, factor: int) -> int:
    return -(-(mass << FACTOR_BITS) // factor)


def _seam(masses: tuple[int, ...], *, cells: int, calm: int, fall: float) -> int:
    """The start of the two sensitivities over which a law falls most evenly.

    A sensitivity is `cells` steps. From each point of the first, ln of the mass should fall by
    `fall` within one sensitivity. The first ends before `calm`, unless `calm` is shorter than a
    sensitivity.
    """
    padded = masses + (0,) * (2 * cells + 1 - len(masses))
    logs = np.array([math.log(max(mass, 1)) for mass in padded])
    falls = np.abs(logs[cells:] - logs[:-cells] + fall)
    starts = max(1, min(calm - cells, len(falls) - cells + 1))
    return int(np.argmin([falls[start : start + cells].max() for start in range(starts)]))
