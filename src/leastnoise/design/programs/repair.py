"""Round a solver's floats to whole numbers: dual prices that prove a bound, and masses of laws."""

from __future__ import annotations

import math

import numpy as np

from leastnoise.balls.core import FACTOR_BITS
from leastnoise.design.bounds.lower_bound import Witness
from leastnoise.design.programs.program import Floats, LatticeSolution
from leastnoise.noise.common.law import Steps

_PLACES = 64
_SHARE_BITS = 64


def witness(solved: LatticeSolution) -> Witness:
    """Return the solver's prices, swept, with the multipliers that they need: a proof in any case.

    A multiplier that is too small for its prices is raised, which costs δ times as much.
    """
    program = solved.program
    prices = np.maximum(solved.dense_prices(), 0.0)
    multipliers = np.maximum(solved.multipliers, prices.max(axis=1))
    _sweep(solved, prices)
    kept = {int(index) + 1: _scaled(multipliers[index]) for index in np.flatnonzero(multipliers)}
    return Witness(
        cells=program.cells,
        reach=program.reach,
        bits=_PLACES,
        multipliers=tuple(kept.items()),
        prices=tuple(
            _whole_prices(prices[j - 1], most=most, least=program.cells) for j, most in kept.items()
        ),
    )


def _whole_prices(prices: Floats, *, most: int, least: int) -> tuple[int, ...]:
    """Return the prices, at most `most`, without the zeros at their end, but `least` of them."""
    used = np.flatnonzero(prices).tolist()
    whole = [0] * max(least, used[-1] + 1 if used else 0)
    for place, price in zip(used, prices[used].tolist(), strict=True):
        whole[place] = min(_scaled(price), most)
    return tuple(whole)


def _sweep(solved: LatticeSolution, prices: Floats) -> None:
    """Move what the solver's tolerance spoils inwards, where it fades.

    A point k whose cost_k + (G_k + G_{−k})/2 is short of the optimum by s is helped by lowering the
    prices ψ_{j,j−k} by 2s/c in all; that makes the points j − k short by as much over 2, and so on
    inwards: what is left at the centre is smaller by e^{−ε} for every sensitivity on the way.
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
        # the shifts j whose place j − k is stored and nearer to 0 than k is
        shifts = np.arange(max(1, k - n), min(m, 2 * k - 1, n + k) + 1)
        places = shifts - k + n
        given = prices[shifts - 1, places]
        helped = c * given.sum()
        if k > n and shifts[-1] == m:  # the periodic part has the price of this very point
            helped -= given[-1]
        if short <= 0 or helped <= 0:
            continue
        part = min(1.0, 2 * short / helped)
        prices[shifts - 1, places] -= part * given
        total[places + m] -= part * given
        total[edge - k] += part * helped


def _scaled(value: float) -> int:
    return int(math.ldexp(value, _PLACES))


def whole_masses(solved: LatticeSolution, *, spare: int = 0) -> tuple[int, ...]:
    """Return the solver's law as whole numbers, the least of them with `spare` bits to divide.

    Whether it is private is for its proof to say, from these very numbers.
    """
    bits = 100 + math.ceil(-math.log2(solved.program.delta)) + spare
    masses = [max(0, int(math.ldexp(mass, 80)) << (bits - 80)) for mass in solved.masses.tolist()]
    while len(masses) > 1 and masses[-1] == 0:
        masses.pop()
    return tuple(masses)


def round_to_lattice(steps: Steps, *, cells: int, delta: float) -> tuple[int, ...]:
    """Return the law of the lattice point nearest to X, of density `steps`, as whole numbers.

    It commutes with lattice shifts, so that at those it is as private as X is, up to rounding.
    """
    beyond = np.append(np.cumsum(steps.masses[::-1])[::-1], 0.0)  # P(|X| >= edge)
    count = math.ceil(cells * steps.float_edges[-1] + 0.5)
    ends = np.append(0.0, (np.arange(1, count + 1) - 0.5) / cells)
    masses = -np.diff(np.interp(ends, steps.float_edges, beyond, right=0.0))
    masses[1:] /= 2  # P(K = k), not P(|K| = k)
    bits = 100 + math.ceil(-math.log2(delta))
    return tuple(int(math.ldexp(mass, bits)) for mass in masses.tolist())


def mix(masses: tuple[int, ...], others: tuple[int, ...], *, share: float) -> tuple[int, ...]:
    """Return the mixture of two laws in which the other has `share`, a number in [0, 1]."""
    unit, part = 1 << _SHARE_BITS, math.ceil(math.ldexp(share, _SHARE_BITS))
    here, there = (2 * sum(x) - x[0] for x in (masses, others))
    length = max(len(masses), len(others))
    pairs = zip(*(x + (0,) * (length - len(x)) for x in (masses, others)), strict=True)
    return tuple(one * (unit - part) + other * here // there * part for one, other in pairs)


def cover_centre(masses: tuple[int, ...], *, cells: int, factor: int, calm: int) -> tuple[int, ...]:
    """Return a law that exposes no point nearer than `calm` to the centre at any shift to `cells`.

    From there inwards, a mass that is more than e^ε times the least within one sensitivity
    outwards is cut down to it. `factor` <= e^ε 2^128; quotients are rounded down.
    """
    found = np.array(masses + (0,) * cells, dtype=object)
    for k in range(min(calm, len(masses)) - 1, -1, -1):
        most = int(found[k + 1 : k + cells + 1].min()) * factor >> FACTOR_BITS
        found[k] = min(found[k], most)
    return tuple(found[: len(masses)].tolist())


def lengthen(
    masses: tuple[int, ...], *, cells: int, factor: int, calm: int, periods: int
) -> tuple[int, ...]:
    """Return the law with `periods` sensitivities let in; no point nearer than `calm` is exposed.

    Between centre and end the best law falls by e^ε a sensitivity, exactly. Letting in t such
    periods, and scaling what is beyond by e^−εt, scales everything that a shift exposes by the
    same: so a law for δ becomes one for about δe^−εt. `factor` <= e^ε 2^128; quotients are rounded
    up, so that what is let in exposes nothing.
    """
    if not periods:
        return masses
    start = _seam(masses, cells=cells, calm=calm, fall=math.log(factor) - 128 * math.log(2))
    found = list(masses[: start + cells])
    block = masses[start : start + cells]
    for _ in range(periods):
        block = tuple(_over(mass, factor) for mass in block)
        found += block
    rest = masses[start + cells :]
    for _ in range(periods):
        rest = tuple(_over(mass, factor) for mass in rest)
    return (*found, *rest)


def _over(mass: int, factor: int) -> int:
    return -(-(mass << FACTOR_BITS) // factor)


def _seam(masses: tuple[int, ...], *, cells: int, calm: int, fall: float) -> int:
    """Return where the law is most nearly periodic over two sensitivities, within the calm part."""
    padded = masses + (0,) * (2 * cells + 1 - len(masses))
    logs = np.array([math.log(max(mass, 1)) for mass in padded])
    falls = np.abs(logs[cells:] - logs[:-cells] + fall)
    starts = max(1, min(calm - cells, len(falls) - cells + 1))
    return int(np.argmin([falls[start : start + cells].max() for start in range(starts)]))
