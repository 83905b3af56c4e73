"""Spherical densities in steps: parameters, densities and moments."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, final

from leastnoise import _validate
from leastnoise._record import Converter, field, record, takes, whole
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.fields import FractionField, IntsField
from leastnoise.guarantees.sensitivity import Norm
from leastnoise.noise.base import BOUNDED, DIMENSION, SCALE
from leastnoise.noise.common.law import (
    DECAY,
    GAMMA,
    RADIUS,
    RadialStepNoise,
    RadialSteps,
    truncated_steps,
)

# The best spherical noise for a vector with a falling step profile: what `design` finds.


MAX_STEPS = 10_000
_LARGEST = 2**256 - 1  # largest number of cells, edge and weight
_WHOLES: Converter[Iterable[int], tuple[int, ...]] = takes(
    _validate.wholes, spelled="Iterable[int]", most=_LARGEST
)


@final
@record()
class OptimalRadial(RadialStepNoise):
    """Spherical noise for a vector, with a density in falling steps of any heights and widths.

    The density at x is proportional to weights[j] for edges[j−1] <= cells·‖x‖₂/scale < edges[j],
    where the edge before the first is 0. It is 0 beyond the last edge. For every shift, δ(ε) is a
    finite weighted sum; each term is the volume of a ball outside another (theory/noise.md §1).
    `leastnoise.design` finds these laws.

    Args:
        scale: Scale > 0; usually the sensitivity.
        dimension: Number of coordinates, 2 to 20.
        cells: Number of units in one scale; edges are in these units.
        edges: Increasing integers >= 1, at most 10,000 of them.
        weights: Heights of the steps, integers >= 1 that never increase.

    Raises:
        InvalidArgument: A parameter is malformed or out of its range.

    Source:
        theory/noise.md §1.

    Examples:
        >>> law = OptimalRadial(scale=1, dimension=2, cells=2, edges=(1, 3), weights=(4, 1))
        >>> [float(edge) for edge in law.steps.edges], round(law.mse, 9)
        ([0.5, 1.5], 0.875)
    """

    name: ClassVar[str] = "optimal-radial"
    norm: ClassVar[Norm] = "l2"
    least_dimension: ClassVar[int] = 2
    most_dimension: ClassVar[int] = 20
    too_few: ClassVar[str] = "it is noise for a vector; for one number there is optimal"
    too_many: ClassVar[str] = f"it is designed up to dimension {most_dimension}"
    without_delta: ClassVar[str] = BOUNDED
    scale: FractionField = field(converter=SCALE)
    dimension: int = field(converter=DIMENSION)
    cells: int = field(converter=whole(most=_LARGEST))
    edges: IntsField = field(converter=_WHOLES)
    weights: IntsField = field(converter=_WHOLES)

    def _check_together(self) -> None:
        if not 1 <= len(self.edges) <= MAX_STEPS or len(self.edges) != len(self.weights):
            raise InvalidArgument(
                name="edges",
                value=f"{len(self.edges)} edges, {len(self.weights)} weights",
                expected=f"1 to {MAX_STEPS:,} edges, and a weight for each",
            )
        if any(a >= b for a, b in pairwise(self.edges)):
            raise InvalidArgument(name="edges", value="a list", expected="edges that rise")
        if any(a < b for a, b in pairwise(self.weights)):
            raise InvalidArgument(
                name="weights", value="a list", expected="weights that never rise"
            )

    def _steps(self) -> RadialSteps:
        """The step density: edges divided by `cells`, and the weights."""
        return RadialSteps(
            edges=tuple(Fraction(edge, self.cells) for edge in self.edges),
            weights=self.weights,
            levels=(0,) * len(self.edges),
            decay=Fraction(0),
        )


# The truncated staircase as a spherical law, for a vector (theory/noise.md §2).


@final
@record()
class SphericalStaircase(RadialStepNoise):
    """The truncated staircase for a vector: spherical noise in equal steps that fall by one ratio.

    For an output x of length r = ‖x‖₂/scale, in scales, the density is proportional to
    e^(−decay·k(r)) if r <= radius, and 0 beyond. The step k(r) is 0 for r < gamma, and
    ⌊r − gamma⌋ + 1 for larger r. With decay = ε the privacy loss under a shift of length `scale` is
    ∞, ε, 0 or −ε, and δ(ε) is the mass that the shift moves beyond the radius. In one dimension it
    is `truncated-staircase`.

    Args:
        scale: Scale > 0; usually the sensitivity.
        dimension: Number of coordinates, 2 to 10,000.
        gamma: End of the first step, in scales; 0 < gamma <= 1.
        radius: End of the range, in scales.
        decay: Each step is e^−decay times as high as the step before; usually ε.

    Raises:
        InvalidArgument: A parameter is out of its range.

    Source:
        theory/noise.md §2.

    Examples:
        >>> law = SphericalStaircase(scale=1, dimension=7, gamma="0.5", radius=2, decay=1)
        >>> [float(edge) for edge in law.steps.edges], law.steps.levels
        ([0.5, 1.5, 2.0], (0, 1, 2))
    """

    name: ClassVar[str] = "spherical-staircase"
    norm: ClassVar[Norm] = "l2"
    least_dimension: ClassVar[int] = 2
    most_dimension: ClassVar[int] = 10_000  # beyond it proofs aren't tested
    too_few: ClassVar[str] = "in one dimension it is the same law as truncated-staircase"
    too_many: ClassVar[str] = f"it is offered up to dimension {most_dimension:,}"
    without_delta: ClassVar[str] = BOUNDED
    scale: FractionField = field(converter=SCALE)
    dimension: int = field(converter=DIMENSION)
    gamma: FractionField = field(converter=GAMMA)
    radius: FractionField = field(converter=RADIUS)
    decay: FractionField = field(converter=DECAY)

    def _steps(self) -> RadialSteps:
        """The step density with the edges gamma, gamma + 1, … below the radius, and the radius."""
        return truncated_steps(gamma=self.gamma, radius=self.radius, decay=self.decay)
