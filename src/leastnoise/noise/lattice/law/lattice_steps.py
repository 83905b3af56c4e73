"""Step densities whose steps are even: a law on a lattice, spread evenly over its cells."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property

from leastnoise.noise.common.law.steps import StepNoise, Steps
from leastnoise.noise.lattice.law.lattice import Lattice


class LatticeStepNoise(StepNoise):
    """X = scale·(K + U)/cells, P(K = k) ∝ masses[|k|], U uniform on (−½, ½)."""

    @property
    @abstractmethod
    def lattice(self) -> Lattice:
        """The law of K."""

    @property
    def steps(self) -> Steps:
        """Edges 0, ½, 1½, … over `cells`; the weights are the masses."""
        return self._steps

    @cached_property
    def _steps(self) -> Steps:
        masses, cells = self.lattice.masses, self.lattice.cells
        ends = (Fraction(2 * k + 1, 2 * cells) for k in range(len(masses)))
        return Steps(
            edges=(Fraction(0), *ends),
            weights=tuple(map(Fraction, masses)),
            levels=(0,) * len(masses),
            decay=Fraction(0),
        )
