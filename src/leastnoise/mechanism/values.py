"""Exact values, and their split on a grid.

Notation: v is a value, and g = 2^exponent is the grid. v/g = n + f, with an integer n (`whole`) and
a fraction f, which isn't always reduced: |f| <= 1, or 3/2 after a shift (`Shifted`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from leastnoise._record import field, record, takes, whole
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import of_ints

if TYPE_CHECKING:
    from numpy.typing import NDArray


# `Split.whole` is clipped at ±2^61, which leaves room in an int64; `exact` has the rest.
LARGEST_STEPS = 1 << 61
LARGEST_BITS = 1 << 11
FILL = "Fill it first: values.filled(0)."


def _check_numerators(numerators: NDArray[np.int64], *, name: str) -> NDArray[np.int64]:
    """Return the numerators as an array. Raise InvalidArgument unless they are int64.

    Only the type is checked, never a value.
    """
    if isinstance(numerators, np.ma.MaskedArray):
        raise unknown_type("a masked array", name=name, hint=FILL)
    array = array_of(numerators, name=name)
    if array.dtype != np.int64:
        raise InvalidArgument(
            name=name,
            value=f"an array of {array.dtype.type.__name__}",
            expected=f"{name} to be an int64 array",
            hint="Convert the array with numpy.asarray(…, dtype=numpy.int64), if that changes no "
            "value.",
        )
    return array


@final
@record(eq=False)
class ScaledIntegers:
    """The exact values numerators·2^(−bits).

    `numerators` is an int64 array. Raises InvalidArgument for another dtype or for |bits| > 2048.
    """

    numerators: NDArray[np.int64] = field(converter=takes(_check_numerators))
    bits: int = field(converter=whole(least=-LARGEST_BITS, most=LARGEST_BITS))

    def __repr__(self) -> str:
        # values before noise, which no log and no notebook may show
        return f"<ScaledIntegers: an array of shape {self.numerators.shape}>"


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """Values in grid steps, v/g = n + f: integers `whole`, and fractions f.

    `exact(i)` is the exact f of value i, and `fraction` has floats near f. If |whole| < 2^61,
    `fraction` is within 2^-52 of f, and |f| <= 1 (3/2 for `Shifted` values). For ±inf v/g is ±2^61,
    and for NaN 0.
    """

    whole: NDArray[np.int64]
    fraction: NDArray[np.float64]
    exact: Callable[[int], Fraction]


def splitter(values: ExactValues, exponent: int) -> Callable[[slice], Split]:
    """A function that splits any slice of `values` on the grid 2^exponent."""
    if isinstance(values, Shifted):
        return _shifted_splitter(splitter(values.values, exponent), values)
    if isinstance(values, Rationals):
        items = values.values.reshape(-1)
        return lambda here: _split_rationals(items[here], exponent)
    if isinstance(values, ScaledIntegers):
        numerators, shift = values.numerators.reshape(-1), exponent + values.bits
        return lambda here: _split_integers(numerators[here], shift)
    floats = values.reshape(-1)
    return lambda here: _split_floats(floats[here], exponent)


def _split_floats(values: NDArray[np.float64], exponent: int) -> Split:
    """Split the floats v on the grid 2^exponent.

    Scaling by a power of two is exact, except for underflow below 2^-1022. Two factors are used,
    since 2^(−exponent) itself may be outside the range of floats.
    """
    half = exponent // 2
    scaled = values * math.ldexp(1.0, -half)
    scaled *= math.ldexp(1.0, half - exponent)
    scaled[np.isnan(scaled)] = 0.0
    np.clip(scaled, -float(LARGEST_STEPS), float(LARGEST_STEPS), out=scaled)
    whole = np.rint(scaled)
    return Split(
        whole=whole.astype(np.int64),
        fraction=scaled - whole,
        exact=partial(_exact_float_fraction, values, whole, exponent),
    )


def _exact_float_fraction(
    values: NDArray[np.float64], whole: NDArray[np.float64], exponent: int, index: int
) -> Fraction:
    value = float(values[index])
    if math.isnan(value):
        return Fraction(0)
    if math.isinf(value):  # ±2^61, which is `whole`
        return Fraction(0)
    return Fraction(value) / Fraction(2) ** exponent - int(whole[index])


def _split_integers(numerators: NDArray[np.int64], shift: int) -> Split:
    """Split v/g = numerators·2^(−shift) by shifting bits; all arrays on the way fit an int64."""
    if shift <= 0:
        whole = _shift_up(numerators, -shift)
        rest = np.zeros_like(whole)
    elif shift <= 62:
        # an int64 is below 2^63, so it exceeds 2^61 steps only for a shift of 1
        largest = min(LARGEST_STEPS << shift, np.iinfo(np.int64).max)
        clipped = np.clip(numerators, -largest, largest)
        rest = clipped & ((1 << shift) - 1)
        up = rest >> (shift - 1)  # 1 if the fraction is at least 1/2
        whole = (clipped >> shift) + up
        rest -= up << shift
    else:  # |numerators| <= 2^63: all of it is fraction, at most 1
        whole = np.zeros_like(numerators)
        rest = numerators
    fraction = np.ldexp(rest.astype(np.float64), -max(shift, 0))
    return Split(
        whole=whole,
        fraction=fraction,
        exact=partial(_exact_integer_fraction, numerators, whole, shift),
    )


def _shift_up(numerators: NDArray[np.int64], places: int) -> NDArray[np.int64]:
    """Multiply the numerators by 2^places; the products are clipped at ±2^61."""
    if places > 61:
        return np.sign(numerators) * LARGEST_STEPS
    largest = LARGEST_STEPS >> places
    return np.clip(numerators, -largest, largest) << places


def _exact_integer_fraction(
    numerators: NDArray[np.int64], whole: NDArray[np.int64], shift: int, index: int
) -> Fraction:
    return Fraction(int(numerators[index])) / Fraction(2) ** shift - int(whole[index])


def _clip(steps: Fraction) -> Fraction:
    return max(Fraction(-LARGEST_STEPS), min(Fraction(LARGEST_STEPS), steps))


_FLOATS: tuple[type, ...] = (float, np.float32, np.float16)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Rationals:
    """An array of exact Python numbers, for values that `as_exact` reads as no other type; slow."""

    values: NDArray[np.object_]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Shifted:
    """Values plus exact shifts in grid steps, one shift for each run of consecutive values.

    `shifts[j]` is added to the values from index `ends[j − 1]` (0 for j = 0) to `ends[j]` − 1.
    """

    values: Plain
    shifts: tuple[Fraction, ...]
    ends: NDArray[np.intp]


Plain = np.ndarray | ScaledIntegers | Rationals
ExactValues = Plain | Shifted


def unknown_type(what: str, *, name: str = "values", hint: str = "") -> InvalidArgument:
    """The error for values of an unknown type, called `what`; it never shows a value."""
    return InvalidArgument(
        name=name,
        value=what,
        expected="floats of at most 64 bits, whole numbers, or Fractions",
        hint=hint,
    )


def array_of(data: Any, *, name: str, dtype: type | None = None) -> NDArray[Any]:
    """Make an array of a user's data. The error for unreadable data quotes none of it."""
    try:
        return np.asarray(data, dtype=dtype)
    except Exception:  # noqa: BLE001  # an object's own conversion may quote its data
        raise unknown_type("a ragged sequence, or objects of an unknown type", name=name) from None


def nearest_whole(values: Plain) -> Plain:
    """Round each value v to the nearest integer, ⌊v + 1/2⌋; NaN and ±inf are unchanged.

    Halves go up, not to the even neighbour. So v ↦ ⌊v + 1/2⌋ never decreases, and commutes with
    adding an integer. Hence values that differ by at most an integer k are rounded to integers that
    differ by at most k. Values that move by integers move by the same integers after rounding.
    """
    if isinstance(values, Rationals):
        nearest = np.array([_whole_item(item) for item in values.values.flat], dtype=object)
        return Rationals(values=nearest.reshape(values.values.shape))
    if isinstance(values, ScaledIntegers):
        return ScaledIntegers(numerators=_whole_numerators(values), bits=min(values.bits, 0))
    with np.errstate(all="ignore"):
        below = np.floor(values)
        # the difference is exact for v outside (−1/2, 0), and inside it rounds to 1/2 at least
        return np.asarray(below + (values - below >= 0.5))


def _whole_item(item: object) -> object:
    if isinstance(item, _FLOATS) and not math.isfinite(cast("float", item)):
        return item
    return math.floor(_fraction_of(item) + Fraction(1, 2))


def _whole_numerators(values: ScaledIntegers) -> NDArray[np.int64]:
    """Round each value n·2^(−bits) to an integer ⌊n·2^(−bits) + 1/2⌋; n are the numerators.

    The sum n + 2^(bits−1) isn't computed, since it may overflow.
    """
    numerators, bits = values.numerators, values.bits
    if bits <= 0:
        return numerators
    if bits > 63:  # |n·2^(−bits)| <= 1/2, and only 1/2 itself would be rounded up
        return np.zeros_like(numerators)
    halves = numerators >> (bits - 1)  # ⌊2v⌋, and ⌊v + 1/2⌋ = ⌊(⌊2v⌋ + 1)/2⌋
    return (halves >> 1) + (halves & 1)


def steps_of(item: object, exponent: int) -> Fraction:
    """The number `item` in steps of 2^exponent; NaN counts as 0, and ±inf as ±2^61 steps."""
    if isinstance(item, _FLOATS) and math.isinf(cast("float", item)):
        return Fraction(LARGEST_STEPS if cast("float", item) > 0 else -LARGEST_STEPS)
    return _fraction_of(item) / Fraction(2) ** exponent


def all_steps(values: Plain, exponent: int) -> list[Fraction]:
    """All values in steps of 2^exponent, as a flat list; NaN counts as 0, and ±inf as ±2^61."""
    if isinstance(values, ScaledIntegers):
        return [value / Fraction(2) ** exponent for value in fractions_of(values)]
    return [steps_of(item, exponent) for item in flat(values).reshape(-1).tolist()]


def all_within_limit(values: Plain, exponent: int) -> bool:
    """True if every value is at most 2^61·2^exponent in size; NaN counts as 0.

    An infinite value is beyond the limit, but in `Rationals` it counts as ±2^61 steps, within it.
    """
    if isinstance(values, Rationals):
        items = values.values.reshape(-1)
        return all(abs(steps_of(item, exponent)) <= LARGEST_STEPS for item in items)
    if isinstance(values, ScaledIntegers):
        numerators = values.numerators
        largest = max(-int(numerators.min()), int(numerators.max()))
        return abs(Fraction(largest)) <= LARGEST_STEPS * Fraction(2) ** (exponent + values.bits)
    largest = float(np.max(np.nan_to_num(np.abs(values), nan=0.0, posinf=np.inf)))
    return largest < math.inf and Fraction(largest) <= LARGEST_STEPS * Fraction(2) ** exponent


def fractions_of(values: Plain) -> list[Fraction]:
    """All values as Fractions, shape (d,); NaN and ±inf count as 0."""
    if isinstance(values, ScaledIntegers):
        unit = Fraction(2) ** -values.bits
        return [int(numerator) * unit for numerator in values.numerators.reshape(-1)]
    return [_fraction_of(item) for item in flat(values).reshape(-1).tolist()]


def _fraction_of(item: object) -> Fraction:
    if isinstance(item, _FLOATS):
        number = float(cast("float", item))  # exact: no more than 64 bits
        return Fraction(number) if math.isfinite(number) else Fraction(0)
    if isinstance(item, (int, np.integer, np.bool_)):
        return Fraction(int(item))
    if isinstance(item, Fraction):
        return of_ints(item)
    return Fraction(0)  # nothing else gets past `reading.as_exact`


def _split_rationals(values: NDArray[np.object_], exponent: int) -> Split:
    steps = [steps_of(item, exponent) for item in values]
    wholes = [round(_clip(step)) for step in steps]
    rest = [step - whole for step, whole in zip(steps, wholes, strict=True)]
    return Split(
        whole=np.array(wholes, dtype=np.int64),
        fraction=np.array([float(max(-1, min(1, step_rest))) for step_rest in rest]),
        exact=rest.__getitem__,
    )


def flat(values: ExactValues) -> NDArray[Any]:
    """An array with one entry for each value, in the shape of the values."""
    if isinstance(values, ScaledIntegers):
        return values.numerators
    if isinstance(values, Shifted):
        return flat(values.values)
    return values.values if isinstance(values, Rationals) else values


def _shifted_splitter(split: Callable[[slice], Split], values: Shifted) -> Callable[[slice], Split]:
    """The splitter of shifted values; sums beyond ±2^61 steps are clipped.

    `split` is the splitter of the values without the shifts.
    """
    # |whole| <= 2^61, so the sum with a shift beyond ±2^62 is clipped in any case
    wholes = [
        max(-2 * LARGEST_STEPS, min(2 * LARGEST_STEPS, round(shift_value)))
        for shift_value in values.shifts
    ]
    rests = [shift - whole for shift, whole in zip(values.shifts, wholes, strict=True)]
    floats = [float(max(-1, min(1, rest))) for rest in rests]
    ends = values.ends

    def split_shifted(here: slice) -> Split:
        part = split(here)
        first, last = (int(ends.searchsorted(i, side="right")) for i in (here.start, here.stop - 1))
        if first == last:  # one shift for all
            whole, fraction = part.whole + wholes[first], part.fraction
            fraction += floats[first]
        else:
            runs = ends.searchsorted(np.arange(here.start, here.stop), side="right") - first
            whole = part.whole + np.array(wholes[first : last + 1])[runs]
            fraction = part.fraction + np.array(floats[first : last + 1])[runs]
        beyond: list[int] = []
        if (
            not -LARGEST_STEPS
            < np.minimum.reduce(whole)
            <= np.maximum.reduce(whole)
            < LARGEST_STEPS
        ):
            beyond = np.flatnonzero(np.abs(whole) >= LARGEST_STEPS).tolist()
            np.clip(whole, -LARGEST_STEPS, LARGEST_STEPS, out=whole)
            fraction[beyond] = 0.0

        def exact(index: int) -> Fraction:
            run = int(ends.searchsorted(here.start + index, side="right"))
            return Fraction(0) if index in beyond else part.exact(index) + rests[run]

        return Split(whole=whole, fraction=fraction, exact=exact)

    return split_shifted
