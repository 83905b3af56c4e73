"""Privacy losses of noise on a lattice with whole-number weights, put on a lattice of losses.

The worst shift may vary with ε.

Notation: p_k is the probability of the lattice point k, and q_k = p_(k−j) its probability after a
shift by j cells. P and Q are the laws with these probabilities. H_j(ε) = Σ_k (p_k − α q_k)₊, with α
= e^ε, is δ(ε) under this shift. A shift that is no multiple of a cell is a mixture of two such
shifts (theory/noise.md §4). The supremum of H over all shifts is the profile of a pair that
dominates the pairs of all shifts. So its chords may be composed (theory/accounting.md §1 E). The
lower bound takes a single shift and merges its outputs.

Each probability lies between two floats, `low` and `high`. A sum of n positive floats has a
relative error of at most n·2^-53.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.balls.atoms import SortedAtoms, chords, inscribe
from leastnoise.balls.core import UNIT, ball, float_below, precision
from leastnoise.balls.losses import (
    BITS,
    LONGEST_LOSS,
    NOTHING,
    SPARE,
    LossLattice,
    LowerCells,
    merge,
    symmetric_lattice,
)
from leastnoise.errors import NotApplicable
from leastnoise.noise.family import OwnLosses
from leastnoise.noise.lattice.law import DiscreteStaircase, LatticeNoise

if TYPE_CHECKING:
    from numpy.typing import NDArray

_POINTS = 400  # points of a grid in the search for the largest loss

_Shift = tuple[tuple[Fraction, int], ...]
"""A shift as a mixture of shifts by whole cells: pairs (weight, cells), whose weights sum to 1."""


def upper(noise: LatticeNoise, shift: Fraction, step: Fraction, size: int) -> LossLattice:
    """A law of losses at −size·step … size·step whose δ is an upper bound on the noise's δ.

    The bound holds at every ε, for all shifts up to `shift`. Raises NotApplicable if the lattice
    has too many points and shifts.
    """
    law = _law(noise)
    epsilons = [step * i for i in range(size + 1)]
    deltas_above = _supremum(law, shifts(noise, shift), epsilons)
    with precision(BITS):
        points = [(e, arb(float(delta))) for e, delta in zip(epsilons, deltas_above, strict=True)]
        deltas = chords(points, epsilons)
        return symmetric_lattice(deltas, step)


def lower(noise: LatticeNoise, shift: Fraction, step: Fraction, size: int) -> LowerCells:
    """Atoms whose δ is a lower bound on the noise's δ at one shift, for every ε.

    Of the `shifts`, the one with about the largest area under δ(ε) is chosen. The atoms are outputs
    merged by their loss. Another shift, or another merging, would give a valid bound, too.
    """
    law = _law(noise)
    epsilons = [step * i for i in range(size + 1)]
    every = shifts(noise, shift)
    areas = [float(_supremum(law, [parts], epsilons).sum()) for parts in every]
    p_low, q_high, infinity = _merge(law, every[int(np.argmax(areas))], float(step), size)
    with precision(BITS):
        atoms = [merge(arb(p), arb(q)) for p, q in zip(p_low, q_high, strict=True)]
    if not any(mass for _, mass in atoms):
        atoms[0] = (float(-step * size), SPARE)  # subtracted from the mass at infinity, about 1
        infinity -= 2 * SPARE
    return LowerCells(step=step, first=-size, atoms=tuple(atoms), infinity=infinity)


@lru_cache(maxsize=64)
def reach(noise: LatticeNoise, shift: Fraction) -> Fraction:
    """A loss above which finite losses have negligible mass, for shifts up to `shift`.

    The bounds of `upper` and `lower` hold for any value of it. The search is precise, because the
    bounds are best if the largest loss is a point of the lattice of losses.
    """
    law, every = _law(noise), shifts(noise, shift)
    grid = np.concatenate([[0.0], np.geomspace(2.0**-30, LONGEST_LOSS, _POINTS)])
    index = 0
    for _ in range(4):
        deltas = _supremum(law, every, [Fraction(float(z)) for z in grid])
        # a shorter lattice is used if it adds so little to the mass at infinity
        index = int(np.argmax(deltas <= deltas[-1] * (1 + 1e-7) + NOTHING))
        if index == 0:
            break
        grid = np.append(np.linspace(grid[index - 1], grid[index], _POINTS), LONGEST_LOSS)
    return Fraction(float(grid[max(index, 1)])).limit_denominator(2**40) + Fraction(1, 2**40)


def shifts(noise: LatticeNoise, longest: Fraction) -> list[_Shift]:
    """Shifts that include, for every ε, a worst shift up to `longest` (theory/noise.md §4)."""
    if isinstance(noise, DiscreteStaircase):
        stride = noise.cells / noise.scale
        most = math.floor(longest)
        off = stride.denominator != 1  # a shift by 1 leaves the lattice, so δ = 1
        if off or most == 0:
            far = 2 * len(noise.lattice.masses)
            return [((Fraction(1), far if most else 0),)]
        whole = [int(stride) * i for i in range(1, most + 1)]
        return _single_shifts(whole[-1:] if noise.lattice.falls else whole)
    steps = longest / noise.scale * noise.lattice.cells
    last = math.floor(steps)
    end: _Shift = ((1 - (steps - last), last), (steps - last, last + 1))
    if noise.lattice.falls:  # then the longest shift is the worst (theory/noise.md §1)
        return [end]
    return [*_single_shifts(range(1, min(last, 2 * len(noise.lattice.masses)) + 1)), end]


def _single_shifts(cells: Iterable[int]) -> list[_Shift]:
    return [((Fraction(1), j),) for j in cells]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _FloatLaw:
    """Lower and upper bounds on the probabilities p_k, for |k| < n, the number of `masses`.

    An upper bound is 0 only if p_k is 0.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def shifted(self, cells: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the bounds for the law shifted to the right by `cells`, for the same points k."""
        if cells == 0:
            return self.low, self.high
        low, high = np.zeros_like(self.low), np.zeros_like(self.high)
        if cells < len(low):
            low[cells:], high[cells:] = self.low[:-cells], self.high[:-cells]
        return low, high


@lru_cache(maxsize=16)
def _law(noise: LatticeNoise) -> _FloatLaw:
    masses, total = noise.lattice.masses, noise.lattice.total
    right = np.array([mass / total for mass in masses])  # Python rounds int/int correctly
    given = np.array([mass > 0 for mass in masses])
    low = np.where(given, np.maximum(np.nextafter(right, 0.0), 0.0), 0.0)
    high = np.where(given, np.nextafter(right, 1.0), 0.0)
    return _FloatLaw(low=np.r_[low[:0:-1], low], high=np.r_[high[:0:-1], high])


def _supremum(law: _FloatLaw, every: list[_Shift], epsilons: list[Fraction]) -> NDArray[np.float64]:
    """Upper bounds on the largest δ(ε) over the shifts `every`, for each ε in `epsilons`.

    `epsilons` ascend, and none is below 0. Raises NotApplicable if the lattice has too many points
    and shifts.
    """
    if len(law.low) * len(every) > 2e8:
        raise NotApplicable(family="composition", why="the lattice has too many shifts to compose")
    with precision(BITS):
        alphas = np.array([max(1.0, float_below(ball(e).exp())) for e in epsilons])
    largest = np.zeros(len(alphas))
    for parts in every:
        deltas = np.zeros(len(alphas))
        for weight, cells in parts:
            if weight:
                deltas += np.nextafter(float(weight), 2.0) * _divergence(law, cells, alphas)
        largest = np.maximum(largest, deltas * (1 + 8 * UNIT))
    # δ falls in ε
    return np.minimum(np.minimum.accumulate(largest), 1.0)


def _divergence(law: _FloatLaw, cells: int, alphas: NDArray[np.float64]) -> NDArray[np.float64]:
    """Upper bounds on H_j for j = `cells`, at every ε with e^ε >= α, for each α in `alphas`."""
    here = law.high > 0
    return SortedAtoms.of(law.high[here], law.shifted(cells)[0][here]).above(alphas)


def _merge(
    law: _FloatLaw, parts: _Shift, step: float, size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Merge outputs by their loss under the shift `parts`, on the lattice −size·step … size·step.

    Returns lower bounds on P's masses and upper bounds on Q's masses at the lattice points. Also
    returns a lower bound on the probability under P of outputs that are impossible under Q.
    """
    here = law.low > 0
    weights = [(float(weight), law.shifted(cells)[1][here]) for weight, cells in parts if weight]
    p = np.concatenate([np.nextafter(weight, 0.0) * law.low[here] for weight, _ in weights])
    q = np.concatenate([np.nextafter(weight, 2.0) * q_high for weight, q_high in weights])
    seen = q > 0
    infinity = float(p[~seen].sum()) * (1 - (len(p) + 64) * UNIT)
    p_low, q_high = inscribe(p[seen], q[seen], step, size)
    return p_low, q_high, infinity


LOSSES = OwnLosses(upper=upper, lower=lower, reach=reach, frequent=reach)
