"""The default inputs of an audit: 0 and a shift that the claimed sensitivity allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.audit.claim import Claim
from leastnoise.balls.core import PLAIN_BITS, float_above, precision
from leastnoise.guarantees.bodies.base import Body
from leastnoise.guarantees.bodies.one_sided import OneSided
from leastnoise.guarantees.exact import float_at_most
from leastnoise.guarantees.sensitivity import L1, L2, Integer, Sensitivity
from leastnoise.guarantees.strategy import SumsOfCells
from leastnoise.guarantees.structured import CountingQueries, Groups, Linf, Vertices, Within
from leastnoise.guarantees.units import Added, RowCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_AXES = 100
"""The largest number of axes on which a shift in a body is sought."""
_FEWEST_BITS = 8
"""The fewest bits of a scale in `_scale_to_floats`, so that it costs less than 2^-7 of a length."""


def default_inputs(claim: Claim, dimension: int) -> tuple[Any, Any] | None:
    """Two inputs that differ by a shift of the claimed sensitivity; None if no shift is known.

    The first is 0. In more than one dimension, both are vectors. `dimension` counts only if the
    sensitivity doesn't fix the number of coordinates.
    """
    sensitivity = claim.sensitivity
    if sensitivity is None:
        return None
    size = sensitivity.coordinates or dimension
    shift = _find_shift(sensitivity, size)
    if shift is None:
        return None
    return (0.0, float(shift[0])) if size == 1 else (np.zeros(size), shift)


def _find_shift(sensitivity: Sensitivity, size: int) -> NDArray[np.float64] | None:
    """A shift of `size` coordinates that the sensitivity allows exactly; None if none is known."""
    match sensitivity:
        case Within():
            return _shift_in(sensitivity.hull)
        case Added():
            return _shift_in(sensitivity.of)
        case Vertices():
            return _scale_to_floats(max(sensitivity.points, key=lambda p: sum(x * x for x in p)))
        case CountingQueries() | Groups():
            return _add_record(sensitivity)
        case L1() | L2() | Integer() | Linf() | RowCounts() | SumsOfCells():
            several = isinstance(sensitivity, Integer) and size > 1  # Integer is for one number
            return None if several else _on_axis(0, sensitivity.bound, size)
        case _:
            return None


def _add_record(sensitivity: CountingQueries | Groups) -> NDArray[np.float64]:
    """The change by a record that counts in the first query, fully.

    If the number of records is a coordinate, an added record raises it; a replaced record doesn't.
    """
    shift = _on_axis(0, sensitivity.bound, sensitivity.coordinates)
    counted = isinstance(sensitivity, Groups) or sensitivity.with_total
    if counted and sensitivity.neighbours == "add-remove":
        shift[sensitivity.dimension] = 1.0
    return shift


def _on_axis(index: int, length: Fraction, size: int) -> NDArray[np.float64]:
    """The vector of `size` numbers that are 0, but at `index` the largest float <= `length`."""
    shift = np.zeros(size)
    shift[index] = float_at_most(length)
    return shift


def _shift_in(shape: Body | OneSided) -> NDArray[np.float64] | None:
    """A vector in `shape` along the first axis on which a proof succeeds; None without a proof."""
    for index in range(min(shape.dimension, _MOST_AXES)):
        axis = [Fraction(int(i == index)) for i in range(shape.dimension)]
        if isinstance(shape, OneSided) and not shape.removes_nothing(axis):
            continue
        with precision(PLAIN_BITS):
            gauge = shape.enclosure(axis) if isinstance(shape, Body) else shape.enclosures(axis)[0]
            upper = float_above(gauge)
        if not 0 < upper < math.inf:
            continue
        shift = _on_axis(index, 1 / Fraction(upper), shape.dimension)
        if shift.any() and shape.holds([Fraction(value) for value in shift.tolist()]):
            return shift
    return None


def _scale_to_floats(point: Sequence[Fraction]) -> NDArray[np.float64] | None:
    """The point, scaled by at most 1, so that floats hold it exactly.

    None if its numbers need too many digits: the scale could then be below 1 − 2^-7.

    notation: D is the common denominator, and the point is n/D for integers n. It is scaled by
    D·m/2^k for an integer m <= 2^k/D, for which all n·m are below 2^53.
    """
    if all(Fraction(float_at_most(value)) == value for value in point):
        return np.array([float(value) for value in point])
    common = math.lcm(*(value.denominator for value in point))
    whole = [int(value * common) for value in point]
    bits = 53 - max(map(abs, whole)).bit_length()
    if bits < _FEWEST_BITS:
        return None
    k = bits + common.bit_length() - 1
    return np.array([math.ldexp(n * (2**k // common), -k) for n in whole])
