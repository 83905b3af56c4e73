"""The ways to fit noise to a sensitivity: in a ball, or through a linear map of the query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from leastnoise.design.programs import ellipse
from leastnoise.guarantees.bodies.base import OutOfRange
from leastnoise.guarantees.geometry import CellGeometry, Geometry
from leastnoise.guarantees.structured import CountingQueries, Groups, Linf, Vertices

if TYPE_CHECKING:
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.noise.question import Question

BALL = "ball"


@final
@dataclass(frozen=True, kw_only=True)
class Construction:
    """A way to fit noise to one of the sensitivities.

    `name` is the name that results show. With a `geometry` the drawn noise is mapped linearly;
    without one it is added as it is.
    """

    sensitivity: Sensitivity
    name: str = BALL
    geometry: Geometry | None = None

    @property
    def draws(self) -> int:
        """The number of draws of noise that a unit affects.

        It is 1 for a draw of the whole vector. With a draw for each cell it is the largest number
        of cells that a unit affects.
        """
        return 1 if self.geometry is None else self.geometry.draws(self.sensitivity)


def list_constructions(question: Question) -> list[Construction]:
    """The constructions for each of the sensitivities; the plain ball comes first.

    For one number the ball is the only construction, since a map would give the same noise.

    Raises NotApplicable if the search for an optimal map fails, and InvalidArgument for points that
    don't span their space.
    """
    return [
        Construction(sensitivity=sensitivity, name=name, geometry=geometry)
        for sensitivity in question.sensitivities
        for name, geometry in ((BALL, None), *_geometries(sensitivity, question.dimension))
    ]


def _geometries(sensitivity: Sensitivity, dimension: int) -> Iterator[tuple[str, Geometry]]:
    """Yield the name and the map of each geometry that suits this sensitivity.

    `dimension` is the number of released coordinates.
    """
    if dimension == 1:
        return
    if isinstance(sensitivity, CountingQueries):
        yield "ellipse", ellipse.least_variance(sensitivity)
        if sensitivity.with_total:
            yield "algorithm-1", ellipse.lebeda(sensitivity.dimension, bound=sensitivity.bound)
    elif isinstance(sensitivity, Groups):
        if sensitivity.neighbours != "replace-one" or sensitivity.groups != 1:
            # otherwise the row count is public, and no ellipse needs to hide it
            yield "ellipse", ellipse.least_groups(sensitivity)
        yield "algorithm-2", ellipse.grouped(sensitivity)
    elif isinstance(sensitivity, Vertices):
        try:
            yield "ellipsoid", ellipse.least_trace(sensitivity)
        except OutOfRange:
            return
    elif isinstance(sensitivity, Linf):
        yield "cells", CellGeometry(count=dimension)
