"""Exact draws from laws on a lattice, by inversion of P(|K| > k).

X is the noise, and K·scale/cells its lattice point, K an integer. A piece of |X| is a lattice point
|K|·scale/cells, or the cell around it. |K| = 0 stands for one point of the lattice, every other |K|
for two points. The whole-number weights are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate

from flint import arb

from leastnoise.entropy.pieces import UniformPieces, draws_of_pieces, finite_pieces
from leastnoise.entropy.scaled import ScaledDraws
from leastnoise.noise.lattice.law import DiscreteStaircase, Lattice, LatticeStepNoise


def step_draws(noise: LatticeStepNoise, grid: Fraction) -> ScaledDraws:
    """A factory of draws of a lattice point plus uniform noise in its cell, in units of `grid`."""
    cell = noise.scale / grid / noise.lattice.cells

    def ends(k: int) -> tuple[Fraction, Fraction]:
        return cell * Fraction(max(0, 2 * k - 1), 2), cell * Fraction(2 * k + 1, 2)

    return draws_of_pieces(_pieces(noise.lattice, ends))


def discrete_draws(noise: DiscreteStaircase, grid: Fraction) -> ScaledDraws:
    """A factory of draws of `DiscreteStaircase` noise, in units of `grid`."""
    cell = noise.scale / grid / noise.cells

    def ends(k: int) -> tuple[Fraction, Fraction]:
        return (point := k * cell), point

    return draws_of_pieces(_pieces(noise.lattice, ends))


def _pieces(lattice: Lattice, ends: Callable[[int], tuple[Fraction, Fraction]]) -> UniformPieces:
    """The pieces of |X|: for each |K| of positive weight the interval `ends(|K|)`."""
    points = [k for k, mass in enumerate(lattice.masses) if mass]
    # S_j = beyond[j]/beyond[0], summed from the outermost points inward; 0 is a single point
    doubled = [2 * lattice.masses[k] for k in reversed(points)]
    doubled[-1] //= 2
    beyond = list(accumulate(doubled, initial=0))[::-1]

    def survival(j: int) -> arb:
        return arb(beyond[j]) / arb(beyond[0])

    return finite_pieces(lambda j: ends(points[j]), survival, len(points))
