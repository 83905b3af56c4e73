"""W·v, exactly, for values of every kind: what elliptical noise is added to.

A map that adds to every coordinate has to know exact sums of values in grid steps.
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
    steps_of,
    within,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.mechanism.values import ExactValues, Plain

BLOCK = 1 << 14  # values at a time: a dozen arrays of them stay in the second-level cache
_ROOM = BLOCK.bit_length()  # 2 to this is a block + 2 at least


def whiten(geometry: Geometry, values: Plain, exponent: int) -> ExactValues:
    """Return W·values, to be rounded on the grid 2^exponent.

    For values beyond ±2^61 steps, where the quick sums end, it is worked out one by one.
    """
    if isinstance(geometry, CellGeometry):
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


def total_steps(values: Plain, exponent: int, here: slice = slice(None)) -> Fraction:
    """Return Σ v/2^exponent over `here`, each cut off at ±2^61; exact. NaN counts as 0."""
    if isinstance(values, Rationals):
        return sum((steps_of(item, exponent) for item in values.values[here]), Fraction(0))
    if isinstance(values, ScaledIntegers):
        return _sum_of_integers(values.numerators.reshape(-1)[here], exponent + values.bits)
    return _sum_of_floats(values.reshape(-1)[here], exponent)


def _sum_of_integers(numerators: NDArray[np.int64], shift: int) -> Fraction:
    """Return Σ n·2^(−shift), each cut off."""
    if shift < -61:  # every n but 0 is beyond
        return Fraction(_whole_sum(np.sign(numerators)) * LARGEST_STEPS)
    largest = LARGEST_STEPS << shift if shift >= 0 else LARGEST_STEPS >> -shift
    if largest < 1 << 63:
        numerators = np.clip(numerators, -largest, largest)
    return _scaled(_whole_sum(numerators), shift)


def _whole_sum(values: NDArray[np.int64]) -> int:
    """Return Σ values, which may not fit an int64: high and low halves apart where it might."""
    total = 0
    for start in range(0, len(values), BLOCK):
        part = values[start : start + BLOCK]
        if max(-int(part.min()), int(part.max())) < 1 << 48:
            total += int(part.sum())
        else:
            total += (int((part >> 32).sum()) << 32) + int((part & 0xFFFFFFFF).sum())
    return total


def _scaled(number: int, shift: int) -> Fraction:
    """Return number·2^(−shift)."""
    return Fraction(number, 1 << shift) if shift >= 0 else Fraction(number << -shift)


def _sum_of_floats(values: NDArray[np.float64], exponent: int) -> Fraction:
    """Return Σ v·2^(−exponent), each cut off."""
    limit = math.ldexp(float(LARGEST_STEPS), exponent) if exponent < 963 else sys.float_info.max
    parts: list[float] = []
    beyond = 0  # how many more lie above the limit than below its negative
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
    return _scaled(total, common.bit_length() - 1 + exponent) + beyond * LARGEST_STEPS


def _block_sums(values: NDArray[np.float64], largest: float) -> list[float]:
    """Return a few floats of the same sum as up to BLOCK values, none beyond `largest`.

    Their leading bits are split off again and again (Rump, Ogita & Oishi 2008, Lemma 3.3): for
    |p| <= 2^e and σ = 2^(e + _ROOM), q = (σ + p) − σ is a multiple of 2^−53 σ with |q| <= 2^e, so
    that no sum of q's rounds, and |p − q| <= 2^−53 σ is exact too.
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
    """Return max |v|, NaN if there is one."""
    return max(-float(np.minimum.reduce(values)), float(np.maximum.reduce(values)))
