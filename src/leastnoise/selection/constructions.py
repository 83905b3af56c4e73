"""The ways in which noise can be fitted to a sensitivity: the plain ball, and maps made for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from leastnoise.design import ellipse
from leastnoise.guarantees.bodies.base import OutOfRange
from leastnoise.guarantees.geometry import Cells, Geometry
from leastnoise.guarantees.structured import CountingQueries, Groups, Linf, Vertices

if TYPE_CHECKING:
    from leastnoise.guarantees.sensitivity import Sensitivity

BALL = "ball"


@final
@dataclass(frozen=True, kw_only=True)
class Construction:
    """A geometry by the name that results show; without one the noise is added as it is."""

    name: str
    geometry: Geometry | None = None


def constructions(sensitivity: Sensitivity, *, dimension: int) -> tuple[Construction, ...]:
    """Return the ways to fit noise of `dimension` released coordinates, the plain ball first.

    Raises NotApplicable if a program that fits one isn't solved, InvalidArgument for points that
    don't span their space.
    """
    ball = Construction(name=BALL)
    if isinstance(sensitivity, CountingQueries):
        fitted = Construction(name="ellipse", geometry=ellipse.least_variance(sensitivity))
        if not sensitivity.with_total:
            return (ball, fitted)
        published = ellipse.lebeda(sensitivity.dimension, bound=sensitivity.bound)
        return (ball, fitted, Construction(name="algorithm-1", geometry=published))
    if isinstance(sensitivity, Groups):
        return (ball, *_of_groups(sensitivity))
    if isinstance(sensitivity, Vertices):
        return (ball, *_of_points(sensitivity))
    if isinstance(sensitivity, Linf):
        return (ball, Construction(name="cells", geometry=Cells(count=dimension)))
    return (ball,)


def _of_points(sensitivity: Vertices) -> tuple[Construction, ...]:
    try:
        fitted = ellipse.least_trace(sensitivity)
    except OutOfRange:
        return ()
    return (Construction(name="ellipsoid", geometry=fitted),)


def _of_groups(sensitivity: Groups) -> tuple[Construction, ...]:
    published = Construction(name="algorithm-2", geometry=ellipse.grouped(sensitivity))
    if sensitivity.neighbours == "replace-one" and sensitivity.groups == 1:
        return (published,)  # the row count is public: no ellipse has a reason to hide it
    return (
        Construction(name="ellipse", geometry=ellipse.least_groups(sensitivity)),
        published,
    )
