"""Composed δ by direct convolution of privacy losses on a fine lattice, from above and below.

The line is cut into cells. The cell of an output is post-processing of the output, so the two
masses of each cell bound δ from below. Where the loss is monotone within a cell, its value at the
larger end bounds δ from above. Losses are rounded to the lattice, down and up, and summed by
Fourier transform. `SLACK` includes its error of about 1e-16 a mass.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import final

import numpy as np

from tests.attacks import oracles
from tests.attacks.oracles import Bounds, Floats, Smooth, Steps

POINTS = 1 << 17
SLACK = 1e-12
_MOST_POINTS = 10**6  # of a lattice
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@final
@dataclass(frozen=True, kw_only=True)
class Losses:
    """The masses of cells under one input, and lower and upper bounds on their losses.

    A loss is ∞ if the cell has mass 0 under the other input.
    """

    masses: Floats
    low: Floats
    high: Floats


def of_law(density: Smooth | Steps, shift: Fraction) -> Losses:
    """The losses of one release at one shift."""
    return _of_steps(density, shift) if isinstance(density, Steps) else _of_smooth(density, shift)


def _of_smooth(density: Smooth, shift: Fraction) -> Losses:
    s, f = float(shift), density.log_density
    ends = oracles.ends_of(density, s)
    pieces = max(1, 4000 // len(ends))
    ends = np.unique(np.concatenate([np.linspace(a, b, pieces + 1) for a, b in pairwise(ends)]))
    half = np.diff(ends)[:, None] / 2
    x = (ends[:-1, None] + half * (1 + _NODES)).ravel()
    shape = (len(ends) - 1, len(_NODES))
    with np.errstate(under="ignore"):
        p = (half * _WEIGHTS * np.exp(f(x)).reshape(shape)).sum(axis=1)
        q = (half * _WEIGHTS * np.exp(f(x - s)).reshape(shape)).sum(axis=1)
    width = np.diff(ends)
    sides = [ends[:-1] + 1e-9 * width, ends[1:] - 1e-9 * width]
    with np.errstate(invalid="ignore", divide="ignore"):
        low = np.log(p) - np.log(q)
        high = np.max([f(side) - f(side - s) for side in sides], axis=0)
    keep = p > 0
    return Losses(masses=p[keep], low=low[keep], high=np.maximum(low, high)[keep])


def _of_steps(density: Steps, shift: Fraction) -> Losses:
    """The exact losses of a step density: the loss is constant on each piece."""
    values = [float(value) for value in density.values()]
    ends = [*(-edge for edge in reversed(density.edges[1:])), *density.edges]
    heights = [*reversed(values), *values]
    total = 2 * sum(
        v * float(b - a) for v, (a, b) in zip(values, pairwise(density.edges), strict=True)
    )
    stops = sorted({*ends, *(end + shift for end in ends)})
    masses, losses = [], []
    for left, right in pairwise(stops):
        middle = (left + right) / 2
        here = bisect_left(ends, middle) - 1
        there = bisect_left(ends, middle - shift) - 1
        if 0 <= here < len(heights) and heights[here] > 0:
            other = heights[there] if 0 <= there < len(heights) else 0.0
            masses.append(float(right - left) * heights[here] / total)
            losses.append(math.log(heights[here] / other) if other else math.inf)
    exact = np.array(losses)
    return Losses(masses=np.array(masses), low=exact, high=exact)


def of_points(p: oracles.Parameters, cells: Fraction) -> Losses | None:
    """The losses of stepwise noise on a lattice, shifted by `cells`; None for too many points."""
    levels = oracles.steps_of_points(p, _MOST_POINTS)
    if cells.denominator != 1:  # the supports are disjoint
        return Losses(masses=np.ones(1), low=np.array([np.inf]), high=np.array([np.inf]))
    if levels is None or cells > _MOST_POINTS:
        return None
    half, decay = np.array(levels), float(p["decay"])
    steps = np.concatenate([half[:0:-1], half])
    masses = np.exp(-decay * steps)
    beyond = np.full(int(cells), steps[-1])  # the masses out there are negligible
    losses = decay * (np.concatenate([beyond, steps])[: len(steps)] - steps)
    return Losses(masses=masses / masses.sum(), low=losses, high=losses)


def composed(parts: Sequence[tuple[Losses, int]], epsilon: float) -> Bounds:
    """Bounds on δ(ε) of all releases together."""
    low = _convolved([(item.masses, item.low, count) for item, count in parts], epsilon, up=False)
    high = _convolved([(item.masses, item.high, count) for item, count in parts], epsilon, up=True)
    return max(0.0, low * (1 - 1e-9) - SLACK), high * (1 + 1e-9) + SLACK


def _convolved(parts: Sequence[tuple[Floats, Floats, int]], epsilon: float, *, up: bool) -> float:
    """δ(ε) of the summed losses, each rounded to a lattice: up if `up`, else down."""
    spread = sum(count * _largest(masses, losses) for masses, losses, count in parts)
    step = 2 * max(spread, 1e-9) / (POINTS // 2)
    product, kept = np.ones(POINTS // 2 + 1, dtype=complex), 1.0
    for masses, losses, count in parts:
        finite = np.isfinite(losses)
        places = losses[finite] / step
        # a number within rounding of a whole number is taken as whole
        near = np.rint(places)
        rounded = np.where(
            np.abs(places - near) < 1e-6, near, np.ceil(places) if up else np.floor(places)
        ).astype(int)
        inside = np.abs(rounded) <= POINTS // 2 // max(1, count)
        lattice = np.bincount(
            rounded[inside] % POINTS, weights=masses[finite][inside], minlength=POINTS
        )
        leaked = float(masses[~finite].sum())
        if up:
            leaked += float(masses[finite][~inside].sum())
        product *= np.fft.rfft(lattice) ** count
        kept *= (1 - leaked) ** count
    result = np.fft.irfft(product, POINTS)
    losses = step * np.concatenate([np.arange(POINTS // 2), np.arange(-POINTS // 2, 0)])
    above = losses > epsilon
    gained = result[above] * -np.expm1(epsilon - losses[above])
    return 1 - kept + float(gained.sum())


def _largest(masses: Floats, losses: Floats) -> float:
    """The largest finite |loss| of a mass that isn't negligible."""
    counted = np.isfinite(losses) & (masses > 1e-18)
    return float(np.abs(losses[counted]).max(initial=0.0))
