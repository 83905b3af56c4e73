"""Exact draws from step densities, by inversion: a step is a piece; theory/release.md §2.

An atom at 0 is the innermost piece.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from leastnoise.balls.core import ball
from leastnoise.entropy.base import Sampler
from leastnoise.entropy.pieces import Pieces, Survival, finitely_many, inverting
from leastnoise.entropy.source import Entropy
from leastnoise.errors import NotRegistered
from leastnoise.noise.base import Noise
from leastnoise.noise.common.law.steps import StepNoise, Steps


def sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of a step `noise`, in units of `grid`."""
    if not isinstance(noise, StepNoise):
        raise NotRegistered(family=noise.name, table=__name__, why="it has no steps")
    pieces = _pieces(noise.steps, noise.atom, noise.scale / grid)
    return inverting(pieces, entropy)


def _pieces(steps: Steps, atom: Fraction, unit: Fraction) -> Pieces:
    """Return the atom, if there is one, and the steps that aren't 0, in multiples of `unit`."""
    kept = [j for j, weight in enumerate(steps.weights) if weight]
    areas = [steps.weights[j] * (steps.edges[j + 1] - steps.edges[j]) for j in kept]
    atoms = 1 if atom else 0

    def masses() -> list[arb]:
        slope = ball(-steps.decay)
        found = [
            ball(area) * (slope * steps.levels[j]).exp()
            for j, area in zip(kept, areas, strict=True)
        ]
        return [ball(atom / (1 - atom)) * sum(found, arb(0)), *found] if atom else found

    def ends(j: int) -> tuple[Fraction, Fraction]:
        if j < atoms:
            return Fraction(0), Fraction(0)
        step = kept[j - atoms]
        return unit * steps.edges[step], unit * steps.edges[step + 1]

    return finitely_many(ends, Survival(masses), len(kept) + atoms)
