"""W·v, exactly, for values of every kind: what elliptical noise is added to."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.guarantees.geometry import Blocks, Cells, CountEllipse, Geometry, Matrix
from leastnoise.mechanism.sums import total_steps
from leastnoise.mechanism.values import Rationals, Shifted, all_steps, within

if TYPE_CHECKING:
    from leastnoise.mechanism.values import ExactValues, Plain


def whiten(geometry: Geometry, values: Plain, exponent: int) -> ExactValues:
    """Return W·values, to be rounded on the grid 2^exponent.

    For values beyond ±2^61 steps, where the quick sums end, it is worked out one by one.
    """
    if isinstance(geometry, Cells):
        return values
    if isinstance(geometry, CountEllipse):
        return _shifted(values, exponent, groups=1, block=geometry)
    if isinstance(geometry, Blocks):
        return _shifted(values, exponent, groups=geometry.groups, block=geometry.block)
    if isinstance(geometry, Matrix):
        unit = Fraction(2) ** exponent
        exactly = [step * unit for step in all_steps(values, exponent)]
        return Rationals(values=np.array(geometry.image(exactly), dtype=object))
    raise TypeError(f"no map is known for {geometry.kind}")


def _shifted(values: Plain, exponent: int, *, groups: int, block: CountEllipse) -> ExactValues:
    """Add to each group's coordinates what the group's sums, and its count, call for."""
    if not within(values, exponent):
        return _one_by_one(values, exponent, groups=groups, block=block)
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


def _one_by_one(values: Plain, exponent: int, *, groups: int, block: CountEllipse) -> Rationals:
    """Do the same in Fractions, however large the values are."""
    steps = all_steps(values, exponent)
    size, unit = block.dimension, Fraction(2) ** exponent
    moved: list[Fraction] = []
    for start in range(0, groups * size, size):
        queries = steps[start : start + block.queries]
        counted = steps[start + block.queries : start + size]
        shifts = block.offsets(sum(queries, Fraction(0)), sum(counted, Fraction(0)))
        moved += [(step + shifts[0]) * unit for step in queries]
        moved += [(step + shifts[1]) * unit for step in counted]
    return Rationals(values=np.array(moved, dtype=object))
