"""Laws on an evenly spaced lattice: discrete, or spread uniformly over the lattice's cells.

Notation: X is a draw of the noise, E an expectation, and K the integer with P(K = k) ∝ masses[|k|]
for all integers k. U is uniform on (−½, ½).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise import _validate
from leastnoise._record import field, record, takes, whole
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.fields import FractionField, IntsField
from leastnoise.guarantees.sensitivity import Norm
from leastnoise.noise.base import BOUNDED, DIMENSION, SCALE, Noise
from leastnoise.noise.common.law import StepNoise, Steps, nearest_cells

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


# Symmetric laws on an evenly spaced lattice, with whole-number weights.


MAX_POINTS = 50_000
_MAX_BITS = 20_000


def _checked_masses(masses: Iterable[int], *, name: str) -> tuple[int, ...]:
    """The masses as a tuple; raises InvalidArgument unless `Lattice` allows them."""
    weights = _validate.wholes(masses, name=name, least=0, most=(1 << _MAX_BITS) - 1)
    if not 1 <= len(weights) <= MAX_POINTS or weights[0] == 0:
        raise InvalidArgument(
            name=name,
            value=f"{len(weights)} masses, the first {weights[0] if weights else 'missing'}",
            expected=f"1 to {MAX_POINTS:,} masses, the first positive",
        )
    return weights


_CELLS = whole(most=MAX_POINTS)
_MASSES = takes(_checked_masses)


@final
@record()
class Lattice:
    """A symmetric law of K/cells, for an integer K with P(K = k) = masses[|k|]/total.

    The probability is 0 for k beyond the last mass. Raises InvalidArgument unless cells is a whole
    number from 1 to 50,000. It is also raised unless there are 1 to 50,000 masses, whole numbers >=
    0 of at most 20,000 bits, with masses[0] > 0.

    >>> Lattice(cells=2, masses=(2, 1)).total
    4
    """

    cells: int = field(converter=_CELLS)
    masses: IntsField = field(converter=_MASSES)

    @cached_property
    def total(self) -> int:
        """The sum of masses[|k|] over all integers k."""
        return 2 * sum(self.masses) - self.masses[0]

    @property
    def falls(self) -> bool:
        """True if masses[|k|] never increases with |k|."""
        return all(a >= b for a, b in pairwise(self.masses))

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """The probabilities P(K = k) for k = 0, 1, …, as correctly rounded floats."""
        return np.array([mass / self.total for mass in self.masses])

    def moment(self, power: int) -> float:
        """The moment E|K/cells|^power, for a power > 0."""
        positions = np.arange(len(self.masses), dtype=float) / self.cells
        return 2 * float(self.probabilities @ positions**power)

    def log_probabilities(self) -> NDArray[np.float64]:
        """The logarithms ln P(K = k) for k = 0, 1, …; −inf where P(K = k) is 0."""
        log_total = math.log(self.total)
        return np.array([math.log(mass) - log_total if mass else -math.inf for mass in self.masses])


@record()
class LatticeNoise(Noise):
    """Base of noise for one number on a lattice of step scale/cells, or spread over its cells.

    The lattice point is K·scale/cells, with P(K = k) ∝ masses[|k|] for all integers k.
    """

    most_dimension: ClassVar[int] = 1
    without_delta: ClassVar[str] = BOUNDED
    most_points: ClassVar[int] = MAX_POINTS
    scale: FractionField = field(converter=SCALE)
    cells: int = field(converter=_CELLS)
    masses: IntsField = field(converter=_MASSES)
    dimension: int = field(converter=DIMENSION, default=1)

    @cached_property
    def lattice(self) -> Lattice:
        """The law of K/cells, which is X/scale without the uniform part if there is one."""
        return Lattice(cells=self.cells, masses=self.masses)


# Step densities with steps of equal width: a law on a lattice, spread evenly over its cells.


class LatticeStepNoise(  # pyright: ignore[reportIncompatibleVariableOverride] - frozen fields
    LatticeNoise, StepNoise
):
    """Base of noise X = scale·(K + U)/cells, P(K = k) ∝ masses[|k|] and U uniform on (−½, ½)."""

    norm: ClassVar[Norm] = "l2"

    def _steps(self) -> Steps:
        """The steps with the edges 0, ½, 1½, …, divided by `cells`; the weights are the masses."""
        masses, cells = self.lattice.masses, self.lattice.cells
        ends = (Fraction(2 * k + 1, 2 * cells) for k in range(len(masses)))
        return Steps(
            edges=(Fraction(0), *ends),
            weights=tuple(map(Fraction, masses)),
            levels=(0,) * len(masses),
            decay=Fraction(0),
        )


# Cactus noise: the smallest KL divergence from its shifts at a given expected loss.


@final
@record()
class Cactus(LatticeStepNoise):
    """Cactus noise X = scale·(K + U)/cells, where P(K = k) ∝ masses[|k|].

    U is uniform on (−½, ½), so the density has steps of equal width. Calibration takes masses that
    about minimise the largest KL divergence over shifts of at most `scale`, under a bound on the
    expected error. The proof encloses δ(ε) for any masses. If the bound on the error is small, the
    density has a spike at every multiple of the scale, hence the name.

    Args:
        scale: Length of `cells` lattice steps, > 0, in the query's unit.
        cells: Number of lattice steps in the length `scale`, 1 to 50,000.
        masses: Weights of K = 0, ±1, …: up to 50,000 whole numbers >= 0, the first positive.
        dimension: 1.

    Raises:
        InvalidArgument: A parameter is malformed or out of its range.

    Source:
        Alghamdi et al. (2022).

    Examples:
        >>> Cactus(scale=1, cells=1, masses=(2, 1)).mean_abs
        0.625
    """

    name: ClassVar[str] = "cactus"


# The best noise on the whole numbers, for queries that are whole numbers themselves.


@final
@record()
class DiscreteStaircase(LatticeNoise):
    """Discrete staircase noise X = scale·K/cells, where P(K = k) ∝ masses[|k|].

    It hides only shifts by whole numbers, so the query must always be a whole number (`Integer`).
    With scale = cells the noise is a whole number, too. For shifts of at most 1 the best masses
    fall by the factor e^−ε at each step and end in one smaller mass. For longer shifts they solve a
    linear program.

    Args:
        scale: Length of `cells` lattice steps, > 0, in the query's unit.
        cells: Number of lattice steps in the length `scale`, 1 to 50,000.
        masses: Weights of K = 0, ±1, …: up to 50,000 whole numbers >= 0, the first positive.
        dimension: 1.

    Raises:
        InvalidArgument: A parameter is malformed or out of its range.

    Source:
        theory/noise.md §3.

    Examples:
        >>> DiscreteStaircase(scale=1, cells=1, masses=(2, 1)).variance
        0.5
    """

    name: ClassVar[str] = "discrete-staircase"
    norm: ClassVar[Norm] = "integer"

    @property
    def lattice_step(self) -> Fraction:
        return self.scale / self.cells

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        """The logarithm of P(X = x), which is −inf off the lattice; see `Noise.log_density`."""
        nearest, on_lattice = nearest_cells(self, x, cells=self.cells)
        logs = np.append(self.lattice.log_probabilities(), -np.inf)
        densities = logs[np.minimum(nearest, len(logs) - 1).astype(int)]
        return np.where(on_lattice, densities, -np.inf)

    @property
    def variance(self) -> float:
        """The variance scale²·E (K/cells)²."""
        return float(self.scale) ** 2 * self.lattice.moment(2)

    @property
    def mean_abs(self) -> float:
        """The mean absolute value E|X| = scale·E|K/cells|."""
        return float(self.scale) * self.lattice.moment(1)


# The best additive noise for one number, up to a proved gap; `design` computes it.


@final
@record()
class Optimal(LatticeStepNoise):
    """Optimal noise X = scale·(K + U)/cells, where P(K = k) ∝ masses[|k|].

    U is uniform on (−½, ½), so the density has steps of equal width. At a lattice shift
    j·scale/cells, δ(ε) is a finite sum. Between lattice shifts it is linear in the shift.
    `leastnoise.design` chooses the masses, so that the error is the least possible up to a proved
    gap.

    Args:
        scale: Length of `cells` lattice steps, > 0, in the query's unit.
        cells: Number of lattice steps in the length `scale`, 1 to 50,000.
        masses: Weights of K = 0, ±1, …: up to 50,000 whole numbers >= 0, the first positive.
        dimension: 1.

    Raises:
        InvalidArgument: A parameter is malformed or out of its range.

    Source:
        theory/noise.md §4.

    Examples:
        >>> Optimal(scale=1, cells=1, masses=(2, 1)).mean_abs
        0.625
    """

    name: ClassVar[str] = "optimal"
