"""Exact draws from laws on a lattice: whole-number weights need whole-number randomness alone."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate

from leastnoise.noise.base import Noise
from leastnoise.noise.discrete_staircase import DiscreteStaircase
from leastnoise.noise.lattice import Lattice
from leastnoise.noise.lattice_steps import LatticeStepNoise
from leastnoise.sampling.base import Sampler
from leastnoise.sampling.entropy import Entropy
from leastnoise.sampling.lazy import LazyReal
from leastnoise.sampling.scalar import LazyBetween, LazySampler
from leastnoise.sampling.scaled import Constant


def step_sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of even steps, in units of `grid`: a lattice point, then uniform about it."""
    if not isinstance(noise, LatticeStepNoise):
        raise TypeError(f"{noise.name} has no lattice of steps")
    points, width = _Points(noise.lattice, entropy), Fraction(1, 2 * noise.lattice.cells)

    def draw_one() -> LazyReal:
        centre = Fraction(points.draw(), noise.lattice.cells)
        return LazyBetween(entropy, centre - width, centre + width)

    return LazySampler(draw_one, factor=noise.scale / grid)


def sampler(noise: Noise, grid: Fraction, entropy: Entropy) -> Sampler:
    """Return one draw of `DiscreteStaircase`, in units of `grid`."""
    if not isinstance(noise, DiscreteStaircase):
        raise TypeError(f"{noise.name} has no lattice")
    points = _Points(noise.lattice, entropy)
    return LazySampler(
        lambda: Constant(Fraction(points.draw(), noise.cells)), factor=noise.scale / grid
    )


class _Points:
    """Draws K with P(K = k) = masses[|k|]/total, exactly."""

    def __init__(self, lattice: Lattice, entropy: Entropy) -> None:
        # The weights of 0, then of 1 and −1, then of 2 and −2, …: K = 0 has no sign to draw.
        doubled = [lattice.masses[0], *(2 * mass for mass in lattice.masses[1:])]
        self._ends = list(accumulate(doubled))
        self._entropy = entropy

    def draw(self) -> int:
        """Return K, by a uniform whole number below the total (redrawn if it isn't below)."""
        total = self._ends[-1]
        number = self._entropy.bits(total.bit_length())
        while number >= total:
            number = self._entropy.bits(total.bit_length())
        magnitude = bisect_right(self._ends, number)
        # the parity of the place within the two equal halves would do; a fresh bit is clearer
        negative = magnitude > 0 and self._entropy.bits(1) == 1
        return -magnitude if negative else magnitude
