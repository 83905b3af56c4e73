"""g·round((v + X)/g), exactly, for every bit string that the ideal noise X is made of.

notation: g = 2^m the grid, v/g = n + f with n whole and |f| <= 1/2, x = X/g, y = f + x.
The released number is g·(n + round(y)). Proof that the float filter never decides otherwise than
the ideal mechanism (theory/release.md §1): the floats give ŷ with |ŷ − y| <= τ. If ŷ is nearer
than 1/2 − τ to a whole number k, no half-integer is within τ of ŷ, so round(y) = k. Otherwise y is
enclosed in balls, from the same bits and then fresh ones, until one whole number is left. Ties have
probability 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from leastnoise.balls.core import ball
from leastnoise.errors import InvalidArgument
from leastnoise.release.grid import check_grid, exponent_of
from leastnoise.sampling.entropy import Entropy, SystemEntropy
from leastnoise.sampling.lazy import decide
from leastnoise.sampling.registry import sampler_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from leastnoise.noise.base import Noise
    from leastnoise.sampling.base import Block, Sampler

# Values are projected on |v/g| <= 2^61, which moves no two of them apart in any norm; n + round(y)
# is cut off at 2^62. Both leave room in an int64.
LARGEST_STEPS = 1 << 61
LARGEST_RESULT = 1 << 62
LARGEST_BITS = 1 << 11
_BLOCK = 1 << 14  # coordinates at a time: a block's dozen arrays stay in the second-level cache


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ScaledIntegers:
    """The exact values numerators·2^(−bits).

    `numerators` is an int64 array. Raises InvalidArgument for another dtype or for |bits| > 2048.
    """

    numerators: NDArray[np.int64]
    bits: int

    def __post_init__(self) -> None:
        """Check the type of the numerators and the range of bits, never a value."""
        numerators = np.asarray(self.numerators)
        if numerators.dtype != np.int64:
            raise InvalidArgument(
                name="numerators",
                value=f"an array of {numerators.dtype}",
                expected="numerators to be an int64 array",
                hint="Convert it with numpy.asarray(…, dtype=numpy.int64) where that is exact.",
            )
        if abs(self.bits) > LARGEST_BITS:
            raise InvalidArgument(
                name="bits", value=self.bits, expected=f"|bits| <= {LARGEST_BITS}"
            )
        object.__setattr__(self, "numerators", numerators)


def add_noise(
    noise: Noise,
    grid: Fraction,
    values: ArrayLike | ScaledIntegers,
    *,
    entropy: Entropy | None = None,
) -> NDArray[np.float64]:
    """Return g·round((values + X)/g), X a fresh draw of `noise`, in the shape of `values`.

    `values` has shape (noise.dimension,), or is a number in one dimension: floats, taken as the
    exact reals that they are, an integer array, or `ScaledIntegers`. No value raises: NaN counts
    as 0 and ±inf, like all beyond ±2^61 grid steps, as the nearest value within; an error that
    depended on data would itself be an output. Results are the doubles nearest to the multiples of
    g (±inf beyond their range). Raises InvalidArgument for a grid that `check_grid` refuses and for
    a wrong shape or type, naming shapes and types only; RandomnessError, with nothing published, if
    a rounding can't be decided (probability 0).

    `entropy` is for tests; a release leaves it out and gets fresh bits, keyed by the system. What
    is not promised: equal time for all draws (theory/release.md §1).
    """
    check_grid(grid, noise)
    exact_values = _as_exact(values)
    shape = _check_shape(exact_values, noise.dimension)
    sampler = sampler_of(noise, grid=grid, entropy=entropy or SystemEntropy())
    exponent = exponent_of(grid)
    with np.errstate(all="ignore"):  # a caller's np.seterr must not turn a value into an error
        steps = round_sums(sampler, exponent, exact_values)
        return np.ldexp(steps.astype(np.float64), exponent).reshape(shape)


def round_sums(sampler: Sampler, exponent: int, values: _Exact) -> NDArray[np.int64]:
    """Return k = round(v/2^exponent + x), flat, shape (d,): the exact core of `add_noise`."""
    split = _splitter(values, exponent)
    size = _flat(values).size
    steps = np.empty(size, dtype=np.int64)
    for start in range(0, size, _BLOCK):
        here = slice(start, min(start + _BLOCK, size))
        steps[here] = _round_block(sampler.draw(here.stop - start), split(here))
    return steps


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Split:
    """v/g = whole + f; `fraction` is f as floats, within 2^-54, and `exact(i)` is f itself."""

    whole: NDArray[np.int64]
    fraction: NDArray[np.float64]
    exact: Callable[[int], Fraction]


def _splitter(values: _Exact, exponent: int) -> Callable[[slice], _Split]:
    if isinstance(values, _Rationals):
        items = values.values.reshape(-1)
        return lambda here: _split_rationals(items[here], exponent)
    if isinstance(values, ScaledIntegers):
        numerators, shift = values.numerators.reshape(-1), exponent + values.bits
        return lambda here: _split_integers(numerators[here], shift)
    flat = values.reshape(-1)
    return lambda here: _split_floats(flat[here], exponent)


def _round_block(block: Block, part: _Split) -> NDArray[np.int64]:
    """Return whole + round(f + x) for one block."""
    y = np.add(block.estimates, part.fraction, out=block.estimates)
    nearest = np.rint(y)
    distance = np.subtract(y, nearest, out=y)  # exact: below 2^52 both are multiples of ulp(ŷ)
    np.abs(distance, out=distance)
    undecided = distance >= 0.5 - _tau(block)
    undecided |= block.beyond
    steps = nearest.astype(np.int64)
    steps += part.whole
    for index in np.flatnonzero(undecided).tolist():
        steps[index] = _round_exactly(block, part, index)
    return steps


def _tau(block: Block) -> float:
    """Return τ >= |ŷ − y| wherever the block has an estimate.

    y = f + x and ŷ = fl(f̂ + x̂): |x̂ − x| <= error; |f̂ − f| <= 2^-54; the sum rounds by at most
    2^-53·(reach + 1/2); 1/2 − τ rounds by at most 2^-54. Their total is below error +
    2^-53·(reach + 2), and 1.001 covers the rounding of that. From reach = 2^52 on, where rint would
    be void, τ >= 1/2: nothing passes.
    """
    return 1.001 * (block.error + 2.0**-53 * (block.reach + 2))


def _round_exactly(block: Block, part: _Split, index: int) -> int:
    """Return whole + round(f + x) for one coordinate, decided in balls."""
    fraction = part.exact(index) + Fraction(1, 2)

    def question(bits: int) -> int | None:
        below = (block.enclose(index, bits) + ball(fraction)).floor()
        return None if (found := below.unique_fmpz()) is None else int(found)

    total = int(part.whole[index]) + decide(question)
    return max(-LARGEST_RESULT, min(LARGEST_RESULT, total))


def _split_floats(values: NDArray[np.float64], exponent: int) -> _Split:
    """Split v·2^(−exponent). Scaling by powers of two is exact; what underflows is below 2^-1022.

    Two factors, since 2^(−exponent) itself may be outside the range of floats.
    """
    half = exponent // 2
    scaled = values * math.ldexp(1.0, -half)
    scaled *= math.ldexp(1.0, half - exponent)
    scaled[np.isnan(scaled)] = 0.0
    np.clip(scaled, -float(LARGEST_STEPS), float(LARGEST_STEPS), out=scaled)
    whole = np.rint(scaled)
    exact = partial(_exact_float_fraction, values, whole, exponent)
    return _Split(whole=whole.astype(np.int64), fraction=scaled - whole, exact=exact)


def _exact_float_fraction(
    values: NDArray[np.float64], whole: NDArray[np.float64], exponent: int, index: int
) -> Fraction:
    value = float(values[index])
    if math.isnan(value):
        return Fraction(0)
    if math.isinf(value):  # cut off at ±2^61, which is `whole`
        return Fraction(0)
    return _clamped(Fraction(value) / Fraction(2) ** exponent) - int(whole[index])


def _split_integers(numerators: NDArray[np.int64], shift: int) -> _Split:
    """Split numerators·2^(−shift) by integer shifts; every intermediate fits an int64."""
    if shift <= 0:
        whole = _shifted_up(numerators, -shift)
        rest = np.zeros_like(whole)
    elif shift <= 62:
        # int64 holds up to 2^63: only with a shift of 1 can that be more than 2^61 steps
        largest = min(LARGEST_STEPS << shift, np.iinfo(np.int64).max)
        numerators = np.clip(numerators, -largest, largest)
        rest = numerators & ((1 << shift) - 1)
        up = rest >> (shift - 1)  # 1 where the fraction is a half or more
        whole = (numerators >> shift) + up
        rest -= up << shift
    else:  # |numerators| <= 2^63: all of it is fraction, at most 1
        whole = np.zeros_like(numerators)
        rest = numerators
    fraction = np.ldexp(rest.astype(np.float64), -max(shift, 0))
    exact = partial(_exact_integer_fraction, numerators, whole, shift)
    return _Split(whole=whole, fraction=fraction, exact=exact)


def _shifted_up(numerators: NDArray[np.int64], places: int) -> NDArray[np.int64]:
    """Return numerators·2^places, cut off at ±2^61."""
    if places > 61:
        return np.sign(numerators) * LARGEST_STEPS
    largest = LARGEST_STEPS >> places
    return np.clip(numerators, -largest, largest) << places


def _exact_integer_fraction(
    numerators: NDArray[np.int64], whole: NDArray[np.int64], shift: int, index: int
) -> Fraction:
    value = Fraction(int(numerators[index])) / Fraction(2) ** shift
    return _clamped(value) - int(whole[index])


def _clamped(steps: Fraction) -> Fraction:
    return max(Fraction(-LARGEST_STEPS), min(Fraction(LARGEST_STEPS), steps))


_FLOATS: tuple[type, ...] = (float, np.float32, np.float16)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Rationals:
    """Any exact numbers, one by one: slower, and for what fits neither floats nor int64."""

    values: NDArray[np.object_]


_Exact = np.ndarray | ScaledIntegers | _Rationals


def _as_exact(values: ArrayLike | ScaledIntegers) -> _Exact:
    """Return `values` as the exact numbers that they are, refusing types, never values.

    A list may hold numbers of several kinds, and numpy would round them to one. Which of the three
    forms is used may depend on the values; what they stand for doesn't, so neither does the result.
    """
    if isinstance(values, ScaledIntegers):
        return values
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidArgument(
            name="values", value="a ragged sequence", expected="a flat array of numbers"
        ) from None
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind in "ib" or (kind == "u" and size < 8):
        return ScaledIntegers(numerators=array.astype(np.int64), bits=0)
    if kind == "f" and size <= 8:
        items = np.asarray(values, dtype=object) if isinstance(values, (list, tuple)) else array
        if items is array or all(isinstance(item, float) for item in items.reshape(-1)):
            return array.astype(np.float64)
        array, kind = items, "O"
    if kind == "u" or (kind == "O" and not any(isinstance(item, Decimal) for item in array.flat)):
        return _Rationals(values=array.astype(object))
    raise InvalidArgument(
        name="values",
        value=f"an array of {array.dtype.type.__name__}",  # a text's dtype tells its length
        expected="floats of at most 64 bits, whole numbers, or Fractions",
    )


def _steps_of(item: object, exponent: int) -> Fraction:
    """Return item/2^exponent, cut off at ±2^61; NaN and what isn't a number count as 0."""
    if isinstance(item, _FLOATS):
        number = float(cast("float", item))  # exact: no more than 64 bits
        if math.isnan(number):
            return Fraction(0)
        if math.isinf(number):
            return Fraction(LARGEST_STEPS if number > 0 else -LARGEST_STEPS)
        return _clamped(Fraction(number) / Fraction(2) ** exponent)
    if isinstance(item, (int, np.integer)):
        return _clamped(Fraction(int(item)) / Fraction(2) ** exponent)
    return _clamped(item / Fraction(2) ** exponent) if isinstance(item, Fraction) else Fraction(0)


def _split_rationals(values: NDArray[np.object_], exponent: int) -> _Split:
    steps = [_steps_of(item, exponent) for item in values]
    whole = np.array([round(step) for step in steps], dtype=np.int64)
    rest = [step - round(step) for step in steps]
    fraction = np.array([float(one) for one in rest])
    return _Split(whole=whole, fraction=fraction, exact=rest.__getitem__)


def _flat(values: _Exact) -> NDArray[Any]:
    if isinstance(values, ScaledIntegers):
        return values.numerators
    return values.values if isinstance(values, _Rationals) else values


def _check_shape(values: _Exact, dimension: int) -> tuple[int, ...]:
    shape = _flat(values).shape
    if shape == (dimension,) or (shape == () and dimension == 1):
        return shape
    raise InvalidArgument(
        name="values",
        value=f"an array of shape {shape}",
        expected=f"values of shape ({dimension},), one for each coordinate of the noise",
    )
