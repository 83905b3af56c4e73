"""The constructions of noise for a sensitivity: the plain ball, and the maps made for it."""

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
class Way:
    """How noise is fitted to one of the sensitivities.

    `construction` is the name of the geometry that results show; without one the noise is added as
    it is.
    """

    sensitivity: Sensitivity
    construction: str = BALL
    geometry: Geometry | None = None

    @property
    def draws(self) -> int:
        """How many draws a unit moves: 1, or in cells as many as it can be in."""
        return 1 if self.geometry is None else self.geometry.draws(self.sensitivity)


def list_ways(question: Question) -> list[Way]:
    """Return the ways to fit noise to each of the sensitivities, the plain ball first.

    One number has no other way: maps of it would give the same noise, searched twice.

    Raises NotApplicable if a program that fits one isn't solved, InvalidArgument for points that
    don't span their space.
    """
    return [
        Way(sensitivity=one, construction=name, geometry=geometry)
        for one in question.sensitivities
        for name, geometry in ((BALL, None), *_geometries(one, question.dimension))
    ]


def _geometries(sensitivity: Sensitivity, dimension: int) -> Iterator[tuple[str, Geometry]]:
    """Yield the maps made for noise of `dimension` released coordinates, by their names."""
    if dimension == 1:
        return
    if isinstance(sensitivity, CountingQueries):
        yield "ellipse", ellipse.least_variance(sensitivity)
        if sensitivity.with_total:
            yield "algorithm-1", ellipse.lebeda(sensitivity.dimension, bound=sensitivity.bound)
    elif isinstance(sensitivity, Groups):
        if sensitivity.neighbours != "replace-one" or sensitivity.groups != 1:
            # else the row count is public: no ellipse has a reason to hide it
            yield "ellipse", ellipse.least_groups(sensitivity)
        yield "algorithm-2", ellipse.grouped(sensitivity)
    elif isinstance(sensitivity, Vertices):
        try:
            yield "ellipsoid", ellipse.least_trace(sensitivity)
        except OutOfRange:
            return
    elif isinstance(sensitivity, Linf):
        yield "cells", CellGeometry(count=dimension)
