"""From a solver's floats to whole numbers that prove something: dual prices, and longer laws."""

from __future__ import annotations

import math

import numpy as np

from leastnoise.design.lower_bound import Witness
from leastnoise.design.program import Floats, Solution

_PRICE_BITS = 64
_FACTOR_BITS = 128


def witness(solved: Solution) -> Witness:
    """Return the solver's prices, swept and clipped to [0, λ]: a proof, whatever they are."""
    program = solved.program
    chosen = [index for index, value in enumerate(solved.multipliers.tolist()) if value > 0]
    rows = {index + 1: solved.prices_of(index + 1) for index in chosen}
    for index in chosen:
        np.clip(rows[index + 1], 0.0, solved.multipliers[index], out=rows[index + 1])
    if program.cells in rows:
        _sweep(solved, rows)
    multipliers = {index + 1: _scaled(solved.multipliers[index]) for index in chosen}
    return Witness(
        cells=program.cells,
        reach=program.reach,
        bits=_PRICE_BITS,
        multipliers=tuple(multipliers.items()),
        prices=tuple(
            tuple(min(max(0, _scaled(price)), multipliers[j]) for price in row.tolist())
            for j, row in rows.items()
        ),
    )


def _sweep(solved: Solution, rows: dict[int, Floats]) -> None:
    """Move what the solver's tolerance spoils in the far tail inwards, where it fades.

    A point −k whose cost_k + (G_k + G_{−k})/2 is short of the optimum by s is helped by lowering
    ψ_{m,m−k} by 2s/c; that makes m − k short by s/c, and so on inwards: what is left at the centre
    is smaller by e^{−ε} for every sensitivity on the way.
    """
    program = solved.program
    m, n, c = program.cells, program.reach, math.exp(program.epsilon)
    edge = n + m
    total = np.zeros(2 * edge + 1)
    for j, row in rows.items():
        total[m : m + len(row)] += row
        total[m - j : m - j + len(row)] -= c * row
    longest = rows[m]
    total[:m] += longest[:m]
    for k in range(edge, m // 2, -1):
        here = edge - k  # of −k; its inner neighbour of price ψ_{m, m−k} is m further on
        short = solved.level - (k / m) ** program.power
        short -= (total[edge - k] + total[edge + k]) / 2
        source = here + m
        index = source - m  # in `longest`, which starts at −n = edge − n − m
        if short <= 0 or index >= len(longest):
            continue
        change = min(2 * short / c, longest[index])
        longest[index] -= change
        total[source] -= change
        total[here] += c * change
        if index < m:  # the periodic part has the same price one sensitivity further out
            total[index] -= change


def _scaled(value: float) -> int:
    return int(math.ldexp(value, _PRICE_BITS))


def whole_masses(solved: Solution, *, factor: int, periods: int) -> tuple[int, ...]:
    """Return the solver's law as whole numbers, with `periods` sensitivities let in.

    Between centre and end the best law falls by e^ε a sensitivity, exactly. Letting in t such
    periods, and scaling what is beyond by e^−εt, scales everything that a shift exposes by the
    same: so a law for δ becomes one for about δe^−εt. `factor` <= e^ε 2^128; quotients are rounded
    up, so that what is let in exposes nothing. Whether the result is private is for `certify` to
    say, from these very numbers.
    """
    program = solved.program
    m = program.cells
    bits = 100 + math.ceil(-math.log2(program.delta) + 1.45 * periods * program.epsilon)
    masses = [max(0, int(math.ldexp(mass, 80)) << (bits - 80)) for mass in solved.masses.tolist()]
    while len(masses) > 1 and masses[-1] == 0:
        masses.pop()
    if not periods:
        return tuple(masses)
    start = _seam(solved, len(masses))
    found = masses[: start + m]
    block = masses[start : start + m]
    for _ in range(periods):
        block = [_over(mass, factor) for mass in block]
        found += block
    rest = masses[start + m :]
    for _ in range(periods):
        rest = [_over(mass, factor) for mass in rest]
    return tuple(found + rest)


def _over(mass: int, factor: int) -> int:
    return -(-(mass << _FACTOR_BITS) // factor)


def _seam(solved: Solution, points: int) -> int:
    """Return where the law is most nearly periodic over two sensitivities, within the calm part."""
    m = solved.program.cells
    logs = np.log(np.maximum(solved.masses[: max(points, 2 * m + 1)], 1e-300))
    falls = np.abs(logs[m:] - logs[:-m] + solved.program.epsilon)
    starts = max(1, min(solved.program.calm - m, len(falls) - m + 1))
    return int(np.argmin([falls[start : start + m].max() for start in range(starts)]))
