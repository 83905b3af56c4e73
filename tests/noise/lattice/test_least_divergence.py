"""The convex program of cactus noise: no other law is better, and its limits are known laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from leastnoise.noise.lattice.fit import GAP, Floats, Program


def _law(program: Program, masses: Floats, length: int) -> Floats:
    """The law's masses at all |i| < length, from the definition of its tail."""
    beyond = np.arange(1, length - program.reach)
    half = np.append(masses, masses[-1] * np.exp(-program.fall * beyond))
    return np.concatenate([half[:0:-1], half])


def _largest(program: Program, masses: Floats) -> float:
    """The largest divergence max_k Σ p_i ln(p_i/p_{i−k}), from its definition."""
    p = _law(program, masses, 400)
    shifts = range(1, program.cells + 1)
    return max(float(p[k:] @ np.log(p[k:] / p[:-k])) for k in shifts)


def _loss(program: Program, masses: Floats) -> float:
    p = _law(program, masses, 400)
    i = np.abs(np.arange(-399, 400)) / program.cells
    h = 1 / program.cells
    if program.power == 2:
        return float(p @ (i * i + h * h / 12))
    return float(p @ np.where(i > 0, i, h / 4))


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize(("cells", "reach", "price"), [(1, 12, 0.3), (4, 16, 3.0), (5, 12, 40.0)])
def test_no_other_law_does_better(power: int, cells: int, reach: int, price: float) -> None:
    """Against scipy's SLSQP on the logs of the masses, with divergences from the definition."""
    program = Program(cells=cells, reach=reach, fall=1.5 / cells, power=power)
    start = np.exp(-np.arange(reach + 1) / cells)
    solution = program.solve(price=price, start=start)
    assert solution @ program.counts == pytest.approx(1, abs=1e-12)
    assert solution @ program.costs == pytest.approx(_loss(program, solution), rel=1e-12)

    def normalised(logs: Floats) -> Floats:
        masses = np.exp(logs)
        return masses / (program.counts @ masses)

    def objective(logs: Floats) -> float:
        # a smooth stand-in for the maximum, at most 2e-3 of it above
        p = _law(program, normalised(logs), 400)
        shifts = range(1, cells + 1)
        d = np.array([float(p[k:] @ np.log(p[k:] / p[:-k])) for k in shifts])
        sharpness = 500 * max(1.0, math.log(cells)) / d.max()
        largest = d.max() + math.log(np.exp(sharpness * (d - d.max())).sum()) / sharpness
        return largest + price * _loss(program, normalised(logs))

    other = normalised(minimize(objective, np.log(solution), method="SLSQP").x)
    value = _largest(program, solution) + price * _loss(program, solution)
    best = _largest(program, other) + price * _loss(program, other)
    assert value <= best + GAP * _largest(program, solution) * 1.1


def test_small_shifts_give_a_gaussian() -> None:
    """For E X² and cells of one sensitivity, the law tends to a Gaussian of its variance."""
    program = Program(cells=1, reach=120, fall=1.0, power=2)
    masses = program.solve(price=0.5 / 15**4, start=np.exp(-np.arange(121) / 20))
    variance = masses @ program.costs
    i = np.arange(121)
    expected = np.exp(-(i**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
    assert masses[:50] == pytest.approx(expected[:50], rel=3e-3)


def test_tight_loss_bounds_give_spikes() -> None:
    program = Program(cells=20, reach=60, fall=0.3, power=1)
    masses = program.solve(price=30.0, start=np.exp(-np.arange(61) / 20 * 4))
    assert masses[20] > 1.5 * masses[18]
