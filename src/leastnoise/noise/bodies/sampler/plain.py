"""Random points of intervals, boxes, balls and polygons.

Notation: K is the body, D is its dimension, and N is its gauge.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.balls.core import ball
from leastnoise.entropy.lazy import LazyReal, LazyUniform
from leastnoise.entropy.spherical import DirectionSampler
from leastnoise.guarantees.bodies.plain import Ball, Box, Polygon, Segment
from leastnoise.noise.bodies.sampler import scalars
from leastnoise.noise.bodies.sampler.arrange import PointSource, ScaledRows, as_vector, map_rows
from leastnoise.noise.bodies.sampler.reals import (
    Estimates,
    Gammas,
    LazyFunction,
    Listed,
    Reals,
    Signs,
    Uniforms,
)
from leastnoise.noise.bodies.sampler.scalars import choose_below, choose_many_below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flint import arb
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy
    from leastnoise.guarantees.bodies.base import Body
    from leastnoise.guarantees.bodies.plain import Vertex


def interval_surface(source: PointSource, body: Segment, gauges: Reals) -> Reals:
    """Draw boundary points: ±bound with fair signs, times the gauges."""
    bound = body.bound
    signs = Signs(gauges.size, source.entropy)
    return ScaledRows(factors=gauges, parts=signs, units=[bound], row=1)


def interval_uniform(source: PointSource, body: Segment, radii: Reals) -> Reals:
    """Draw uniform points on (−bound, bound), times the radii."""
    bound = body.bound
    parts = Uniforms(radii.size, source.entropy, signed=True)
    return ScaledRows(factors=radii, parts=parts, units=[bound], row=1)


def interval_falling(source: PointSource, body: Segment, count: int) -> Reals:
    """Draw `count` points of density ∝ e^(−N), which is Laplace noise."""
    return interval_surface(source, body, Gammas(count, source.entropy, shape=1))


def box_uniform(source: PointSource, body: Box, radii: Reals) -> Reals:
    """Draw uniform points: independent uniform coordinates, times the radii."""
    bounds = body.bounds
    parts = Uniforms(radii.size * len(bounds), source.entropy, signed=True)
    return ScaledRows(factors=radii, parts=parts, units=bounds, row=len(bounds))


def box_surface(source: PointSource, body: Box, gauges: Reals) -> Reals:
    """Draw boundary points, times the gauges.

    One random coordinate is at ± its bound, and the others are uniform.
    """
    bounds = body.bounds
    rows, q = gauges.size, len(bounds)
    parts = Uniforms(rows * q, source.entropy, signed=True)
    ends = np.arange(rows) * q + choose_many_below(source.entropy, q, size=rows)
    return ScaledRows(factors=gauges, parts=_Ends(parts, ends), units=bounds, row=q)


@final
class _Ends(Reals):
    """Reals in (−1, 1), in which the entries at the indices `ends` become their signs ±1."""

    def __init__(self, parts: Reals, ends: NDArray[np.int64]) -> None:
        self.size = parts.size
        self._parts, self._ends = parts, ends

    def floats(self, start: int, stop: int) -> Estimates:
        estimates = self._parts.floats(start, stop)
        first, last = np.searchsorted(self._ends, [start, stop])
        here = self._ends[first:last] - start
        estimates.values[here] = np.copysign(1.0, estimates.values[here])
        return estimates

    def enclose(self, index: int, bits: int) -> arb:
        value = self._parts.enclose(index, bits)
        position = int(np.searchsorted(self._ends, index))
        if position < self._ends.size and int(self._ends[position]) == index:
            return ball(1 if value.mid() > 0 else -1)  # a ball of a uniform never contains 0
        return value


def ball_surface(source: PointSource, disc: Ball, gauges: Reals) -> Reals:
    """Draw boundary points: uniform directions, times the gauges."""
    return map_rows(
        gauges,
        lambda gauge: _Direction(scalars.multiply_by(disc.bound, gauge), disc, source.entropy),
    )


@final
class _Direction(Reals):
    """A uniform point of a sphere around 0, which a `DirectionSampler` draws as one block."""

    def __init__(self, radius: LazyReal, disc: Ball, entropy: Entropy) -> None:
        self.size = disc.dimension
        sampler = DirectionSampler(radius=radius, dimension=disc.dimension, entropy=entropy)
        self._block = sampler.draw(disc.dimension)

    def floats(self, start: int, stop: int) -> Estimates:
        return Estimates(
            values=self._block.estimates[start:stop].copy(),
            beyond=self._block.beyond[start:stop].copy(),
            error=self._block.error,
            reach=self._block.reach,
        )

    def enclose(self, index: int, bits: int) -> arb:
        return self._block.enclose(index, bits)


def polygon_surface(source: PointSource, body: Polygon, gauges: Reals) -> Reals:
    """Draw boundary points: choose an edge, then a uniform point of it, times the gauge.

    An edge is chosen in proportion to the area of its triangle with the origin.
    """
    edges = _edges(body)
    areas = [u[0] * v[1] - u[1] * v[0] for u, v in edges]
    common = math.lcm(*(area.denominator for area in areas))
    sums = list(accumulate(int(area * common) for area in areas))

    def point(gauge: LazyReal) -> Reals:
        number = choose_below(source.entropy, sums[-1])
        u, v = edges[next(i for i, limit in enumerate(sums) if number < limit)]
        along = LazyUniform(source.entropy)
        return Listed([_between(u[i], v[i], along, gauge) for i in range(2)])

    return map_rows(gauges, point)


def _edges(polygon: Polygon) -> Sequence[tuple[Vertex, Vertex]]:
    vertices = list(polygon.corners())
    return [((u[0], u[1]), (v[0], v[1])) for u, v in pairwise([*vertices, vertices[0]])]


def _between(start: Fraction, end: Fraction, along: LazyReal, gauge: LazyReal) -> LazyReal:
    def enclose(bits: int) -> arb:
        return gauge.enclose(bits) * (ball(start) + ball(end - start) * along.enclose(bits))

    return LazyFunction(enclose)


def root_radii(source: PointSource, body: Body, radii: Reals) -> Reals:
    """Draw the gauges R·U^(1/D) of uniform points of R·K, one for each R in `radii`.

    U is uniform on (0, 1). A boundary point, scaled to such a gauge, is uniform in R·K.
    """
    degree = body.dimension
    return map_rows(
        radii,
        lambda radius: as_vector(
            scalars.multiply(radius, scalars.draw_root(source.entropy, degree))
        ),
    )
