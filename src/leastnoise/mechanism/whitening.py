"""The vector W·v to which elliptical noise is added, exactly, for values v of every type.

W is the linear map of a geometry. A map that adds to every coordinate needs exact sums of values in
grid steps.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.guarantees.geometry import Blocks, CellGeometry, CountEllipse, Geometry, Matrix
from leastnoise.mechanism.values import (
    LARGEST_STEPS,
    Rationals,
    ScaledIntegers,
    Shifted,
    all_steps,
    all_within_limit,
    steps_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.mechanism.values import ExactValues, Plain

BLOCK = 1 << 14  # values at a time: a dozen such arrays fit in the second-level cache
_ROOM = BLOCK.bit_length()  # 2^_ROOM >= BLOCK + 2


def whiten(geometry: Geometry, values: Plain, exponent: int) -> ExactValues:
    """The exact vector W·values, which is then rounded to the grid 2^exponent.

    If a value is beyond ±2^61 steps, slower exact arithmetic replaces the fast sums.
    """
    if isinstance(geometry, CellGeometry):
        return values
    if isinstance(geometry, CountEllipse):
        return _shift_groups(values, exponent, groups=1, block=geometry)
    if isinstance(geometry, Blocks):
        return _shift_groups(values, exponent, groups=geometry.groups, block=geometry.block)
    if isinstance(geometry, Matrix):
        unit = Fraction(2) ** exponent
        exactly = [step * unit for step in all_steps(values, exponent)]
        return Rationals(values=np.array(geometry.image(exactly), dtype=object))
    raise TypeError(f"no map is known for {geometry.kind}")


def _shift_groups(values: Plain, exponent: int, *, groups: int, block: CountEllipse) -> ExactValues:
    """Shift each group's coordinates by numbers that follow from the group's sums and count."""
    if not all_within_limit(values, exponent):
        return _shift_exactly(values, exponent, groups=groups, block=block)
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


def _shift_exactly(values: Plain, exponent: int, *, groups: int, block: CountEllipse) -> Rationals:
    """Shift groups like `_shift_groups`, but in Fractions, for values of any size."""
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


def total_steps(values: Plain, exponent: int, here: slice = slice(None)) -> Fraction:
    """The exact sum, in grid steps of 2^exponent, of the values in the slice `here`.

    Each value is clipped at ±2^61 steps, except finite `Rationals`. NaN counts as 0.
    """
    if isinstance(values, Rationals):
        return sum((steps_of(item, exponent) for item in values.values[here]), Fraction(0))
    if isinstance(values, ScaledIntegers):
        return _sum_of_integers(values.numerators.reshape(-1)[here], exponent + values.bits)
    return _sum_of_floats(values.reshape(-1)[here], exponent)


def _sum_of_integers(numerators: NDArray[np.int64], shift: int) -> Fraction:
    """The exact sum of numerators·2^(−shift), each term clipped at ±2^61."""
    if shift < -61:  # every n but 0 is beyond
        return Fraction(_whole_sum(np.sign(numerators)) * LARGEST_STEPS)
    largest = LARGEST_STEPS << shift if shift >= 0 else LARGEST_STEPS >> -shift
    if largest < 1 << 63:
        numerators = np.clip(numerators, -largest, largest)
    return _divide_by_power(_whole_sum(numerators), shift)


def _whole_sum(values: NDArray[np.int64]) -> int:
    """The sum of int64 values as an int: high and low halves are summed separately if needed."""
    total = 0
    for start in range(0, len(values), BLOCK):
        part = values[start : start + BLOCK]
        if max(-int(part.min()), int(part.max())) < 1 << 48:
            total += int(part.sum())
        else:
            total += (int((part >> 32).sum()) << 32) + int((part & 0xFFFFFFFF).sum())
    return total


def _divide_by_power(number: int, shift: int) -> Fraction:
    """The exact quotient number/2^shift."""
    return Fraction(number, 1 << shift) if shift >= 0 else Fraction(number << -shift)


def _sum_of_floats(values: NDArray[np.float64], exponent: int) -> Fraction:
    """The exact sum of values·2^(−exponent), each term clipped at ±2^61; NaN counts as 0."""
    limit = math.ldexp(float(LARGEST_STEPS), exponent) if exponent < 963 else sys.float_info.max
    parts: list[float] = []
    beyond = 0  # the number of values above the limit minus the number below its negative
    for start in range(0, len(values), BLOCK):
        part = values[start : start + BLOCK]
        largest = _largest(part)
        if not largest <= limit:  # or NaN
            beyond += int((part > limit).sum()) - int((part < -limit).sum())
            part = np.where(np.abs(part) <= limit, part, 0.0)
            largest = _largest(part)
        parts += _block_sums(part, largest)
    ratios = [part.as_integer_ratio() for part in parts]
    common = max((power for _, power in ratios), default=1)  # all powers of two
    total = sum(number * (common // power) for number, power in ratios)
    return _divide_by_power(total, common.bit_length() - 1 + exponent) + beyond * LARGEST_STEPS


def _block_sums(values: NDArray[np.float64], largest: float) -> list[float]:
    """Reduce up to BLOCK values, all at most `largest` in size, to a few floats with the same sum.

    Leading bits are split off repeatedly (Rump, Ogita & Oishi 2008, Lemma 3.3). For values p with
    |p| <= 2^e and σ = 2^(e + _ROOM), the float q = (σ + p) − σ is a multiple of 2^−53 σ with |q| <=
    2^e. So no sum of q's rounds, and p − q, with |p − q| <= 2^−53 σ, is exact, too.
    """
    if largest >= 2.0**1000:  # σ below might be beyond the floats
        return values.tolist()
    sums: list[float] = []
    while largest > 0:
        sigma = math.ldexp(1.0, math.frexp(largest)[1] + _ROOM)
        leading = values + sigma
        leading -= sigma
        sums.append(float(np.add.reduce(leading)))
        values = np.subtract(values, leading, out=leading)
        largest = _largest(values)
    return sums


def _largest(values: NDArray[np.float64]) -> float:
    """The largest absolute value; NaN if any value is NaN."""
    return max(-float(np.minimum.reduce(values)), float(np.maximum.reduce(values)))
