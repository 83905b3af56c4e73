"""W·v, exactly, for values of every kind: what elliptical noise is added to."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.guarantees.geometry import Blocks, Cells, CountEllipse, Geometry, Matrix
from leastnoise.release.sums import total_steps
from leastnoise.release.values import Rationals, Shifted, fractions_of

if TYPE_CHECKING:
    from leastnoise.release.values import ExactValues, Plain


def whiten(geometry: Geometry, values: Plain, exponent: int) -> ExactValues:
    """Return W·values, to be rounded on the grid 2^exponent.

    Counting queries are cut off at ±2^61 steps first. That can't carry a shift out of their set: it
    makes no entry of it larger.
    """
    if isinstance(geometry, Cells):
        return values
    if isinstance(geometry, CountEllipse):
        return _shifted(values, exponent, groups=1, block=geometry)
    if isinstance(geometry, Blocks):
        return _shifted(values, exponent, groups=geometry.groups, block=geometry.block)
    if isinstance(geometry, Matrix):
        return Rationals(values=np.array(geometry.image(fractions_of(values)), dtype=object))
    raise TypeError(f"no map is known for {geometry.kind}")


def _shifted(values: Plain, exponent: int, *, groups: int, block: CountEllipse) -> Shifted:
    """Add to each group's coordinates what the group's sums, and its count, call for."""
    size = block.dimension
    shifts: list[Fraction] = []
    for start in range(0, groups * size, size):
        total = total_steps(values, exponent, slice(start, start + block.queries))
        if not block.with_total:
            shifts += block.offsets(total, Fraction(0))[:1]
            continue
        counted = total_steps(values, exponent, slice(start + block.queries, start + size))
        shifts += block.offsets(total, counted)
    lengths = (block.queries, 1) if block.with_total else (block.queries,)
    ends = np.array(lengths * groups).cumsum()
    return Shifted(values=values, shifts=tuple(shifts), ends=ends)
