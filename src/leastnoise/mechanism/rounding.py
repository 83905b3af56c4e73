"""The sum g·round((v + X)/g), exact for every bit string that defines the ideal noise X.

The grid g = 2^m never depends on data. Rounding the sum is post-processing, so any fixed g keeps
the guarantee (theory/release.md §1); it adds g²/12 to a coordinate's variance.

Notation: v is a value, X the noise of its coordinate, and s the standard deviation of X, which
counts as at least 1 for noise on the integers. v/g = n + f with an integer n and |f| <= 3/2, x =
X/g, y = f + x; f̂, x̂ and ŷ are their floats, and fl(y) is the float nearest to y. The released
number is g·(n + round(y)), clipped at ±2^62 g. Nothing is clipped before the noise is added: that
would move neighbours by shifts that noise in the shape of a body need not hide.

Proof that the float filter always decides like the ideal mechanism (theory/release.md §1): the
floats give ŷ with |ŷ − y| <= τ. If ŷ is nearer than 1/2 − τ to an integer k, no half-integer is
within τ of ŷ, so round(y) = k. Otherwise y is enclosed in balls, from the same bits and then fresh
bits, until one integer remains. Ties have probability 0.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.balls.core import ball
from leastnoise.entropy.lazy import decide
from leastnoise.entropy.source import Entropy, SystemEntropy
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import is_power_of_two
from leastnoise.mechanism.reading import as_exact
from leastnoise.mechanism.values import (
    LARGEST_STEPS,
    ExactValues,
    ScaledIntegers,
    Split,
    flat,
    nearest_whole,
    splitter,
)
from leastnoise.mechanism.whitening import BLOCK, whiten
from leastnoise.noise.draw import make_sampler, prepare_draws

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from leastnoise.entropy.base import Block, Sampler
    from leastnoise.guarantees.geometry import Geometry
    from leastnoise.mechanism.reading import Values
    from leastnoise.mechanism.values import Plain
    from leastnoise.noise.base import Noise

DEFAULT_BITS = 20  # g²/12 is then below 2^-43 of the variance
# With 30 bits the rounding is nearly always decided in floats. A finer grid would only be slower:
# beyond 52 bits no float64 could hold the result.
FINEST_BITS = 30


def default_grid(noise: Noise) -> Fraction:
    """The default grid g = 2^(⌊log₂ s⌋ − 20) for one noise law.

    >>> from leastnoise.noise import Gaussian
    >>> default_grid(Gaussian(scale=3)) == Fraction(2) ** -19
    True
    """
    # ⌊x/2⌋ = ⌊⌊x⌋/2⌋: no root of s² is needed
    return Fraction(2) ** (_floor_log2(_variance(noise)) // 2 - DEFAULT_BITS)


def check_grid(grid: Fraction, noise: Noise) -> None:
    """Raise InvalidArgument unless `grid` is a power of two and at least s·2^-30."""
    if not is_power_of_two(grid):
        raise InvalidArgument(
            name="grid",
            value=_short(grid),
            expected="grid to be a power of two, like 1/1024 or 4",
            hint=f"The default is about {_short(default_grid(noise))}. Leave out grid to use the "
            "default.",
        )
    least_square = _variance(noise) / 4**FINEST_BITS
    if grid**2 < least_square:
        finest = Fraction(2) ** (_floor_log2(least_square) // 2)
        finest = finest if finest**2 >= least_square else 2 * finest
        raise InvalidArgument(
            name="grid",
            value=_short(grid),
            expected=f"grid >= 2^-{FINEST_BITS} standard deviations of the noise",
            hint=f"Use {_short(finest)} or a larger power of two.",
        )


def exponent_of(grid: Fraction) -> int:
    """The exponent m of a grid 2^m."""
    return grid.numerator.bit_length() - grid.denominator.bit_length()


def _variance(noise: Noise) -> Fraction:
    """The variance s², computed at scale 1, since scale² may be outside the range of floats.

    For noise on the integers it is at least 1, even if the noise is nearly always 0. So the grid
    isn't too fine, and the limit of 2^61 grid steps is an integer. Otherwise a clipped value would
    not be an integer, and integer noise wouldn't hide it.
    """
    variance = noise.scale**2 * Fraction(noise.scaled(1 / noise.scale).variance)
    return max(variance, Fraction(1)) if noise.for_whole_numbers else variance


def _floor_log2(number: Fraction) -> int:
    guess = exponent_of(number)  # within 1
    return guess if Fraction(2) ** guess <= number else guess - 1


def _short(number: Fraction) -> str:
    """The number as text; very large and very small powers of two as "2^m"."""
    if is_power_of_two(number) and not 10**-6 < number < 10**6:
        return f"2^{exponent_of(number)}"
    return str(number)[:40]


LARGEST_RESULT = 1 << 62  # n + round(y) is clipped there, which leaves room in an int64


def add_noise(
    noise: Noise,
    grid: Fraction,
    values: Values,
    *,
    geometry: Geometry | None = None,
    entropy: Entropy | None = None,
) -> NDArray[np.float64]:
    """Add noise to values on a grid: g·round((values + X)/g), X a fresh draw of `noise`.

    With a `geometry`, its map W is applied to the values exactly, and noise is added. The result is
    mapped back by W⁻¹ in floats, which is post-processing of a private output.

    `values` has shape (dimension,), or is a number in one dimension. It holds integers, Fractions,
    `ScaledIntegers`, or floats, taken as the exact reals that they are. Noise on the integers is
    added to each value v after rounding to ⌊v + 1/2⌋, see `nearest_whole`. No value raises an
    error, which would itself be an output: NaN counts as 0, and ±inf as ±2^61 grid steps. Results
    are the doubles nearest to the multiples of g, none beyond ±2^62 g (±inf beyond the doubles'
    range).

    Raises InvalidArgument for a grid that `check_grid` refuses and for a wrong shape or type; the
    message names shapes and types only. Raises RandomnessError, with nothing published, if a
    rounding can't be decided (probability 0).

    `entropy` is for tests; a release omits it and gets fresh bits, keyed by the system. Equal time
    for all draws is not promised (theory/release.md §1).
    """
    return PreparedNoise(noise, grid, geometry=geometry).add_to(values, entropy=entropy)


@final
class PreparedNoise:
    """`add_noise` with one noise on one grid, prepared once for many calls.

    It keeps only public constants and tables: no bit of a draw, and no value.
    """

    def __init__(self, noise: Noise, grid: Fraction, *, geometry: Geometry | None = None) -> None:
        """Prepare the noise.

        Raise InvalidArgument for a refused grid, NotApplicable without a sampler.
        """
        check_grid(grid, noise)
        self._noise, self._geometry, self._exponent = noise, geometry, exponent_of(grid)
        self._dimension = geometry.dimension if geometry else noise.dimension
        self._draws = prepare_draws(noise, grid=grid)

    def add_to(self, values: Values, *, entropy: Entropy | None = None) -> NDArray[np.float64]:
        """Add a fresh draw of the noise to `values`; see `add_noise`."""
        exact_values = read_values(self._noise, values)
        shape = _check_shape(exact_values, self._dimension)
        sampler, exponent = self._draws(entropy or SystemEntropy()), self._exponent
        with np.errstate(all="ignore"):  # a caller's np.seterr must not turn a value into an error
            if self._geometry is None:
                return _add_on_grid(sampler, exponent, exact_values).reshape(shape)
            noisy = _add_on_grid(sampler, exponent, whiten(self._geometry, exact_values, exponent))
            return self._geometry.restore(noisy).reshape(shape)


@final
class VectorDraw:
    """One draw of noise whose coordinates are added to a vector's chunks, in order."""

    def __init__(self, noise: Noise, grid: Fraction, *, entropy: Entropy | None = None) -> None:
        check_grid(grid, noise)
        self._noise, self._exponent = noise, exponent_of(grid)
        self._sampler = make_sampler(noise, grid=grid, entropy=entropy or SystemEntropy())
        self.left = noise.dimension

    def chunk(self, values: Values) -> NDArray[np.float64]:
        """Add noise to the next coordinates of the vector, `values`; raises like `add_noise`."""
        exact_values = read_values(self._noise, values)
        shape = flat(exact_values).shape
        if len(shape) != 1 or shape[0] > self.left:
            raise InvalidArgument(
                name="chunks",
                value=f"an array of shape {shape}",
                expected=f"vectors with at most {self.left:,} more coordinates",
            )
        self.left -= shape[0]
        with np.errstate(all="ignore"):
            return _add_on_grid(self._sampler, self._exponent, exact_values)


def _add_on_grid(sampler: Sampler, exponent: int, values: ExactValues) -> NDArray[np.float64]:
    """Return g·round((values + X)/g), flat, where X are the next coordinates of the draw."""
    steps = round_sums(sampler, exponent, values)
    return np.ldexp(steps.astype(np.float64), exponent)


def read_values(noise: Noise, values: Values) -> Plain:
    """Read `values` as exact numbers; for noise on the integers, round them to ⌊v + 1/2⌋."""
    exact_values = as_exact(values)
    if noise.for_whole_numbers:  # a fractional part would stay visible in the sum
        return nearest_whole(exact_values)
    return exact_values


def round_sums(
    sampler: Sampler, exponent: int, values: ExactValues, *, fit: Callable[[int], int] | None = None
) -> NDArray[np.int64]:
    """The integers round(v/2^exponent + x) for all values v: the exact core of `add_noise`.

    x is the noise in grid steps, from the sampler. The result has shape (number of values,). `fit`
    maps an integer that may be beyond ±2^62 to an int64; by default it clips.
    """
    split = splitter(values, exponent)
    size = flat(values).size
    steps = np.empty(size, dtype=np.int64)
    for start in range(0, size, BLOCK):
        here = slice(start, min(start + BLOCK, size))
        steps[here] = _round_block(sampler.draw(here.stop - start), split(here), fit or _clip)
    return steps


def _round_block(block: Block, part: Split, fit: Callable[[int], int]) -> NDArray[np.int64]:
    """Round the sums of one block: return n + round(f + x), where n are the integers of `part`.

    `fit` is as in `round_sums`.
    """
    y = np.add(block.estimates, part.fraction, out=block.estimates)
    nearest = np.rint(y)
    distance = np.subtract(y, nearest, out=y)  # exact: below 2^52 both are multiples of ulp(ŷ)
    np.abs(distance, out=distance)
    undecided = distance >= 0.5 - _tau(block)
    undecided |= block.beyond
    if max(-int(part.whole.min()), int(part.whole.max())) >= LARGEST_STEPS:
        undecided |= np.abs(part.whole) >= LARGEST_STEPS
    steps = nearest.astype(np.int64)
    steps += part.whole
    for index in np.flatnonzero(undecided).tolist():
        steps[index] = fit(_round_exactly(block, part, index))
    return steps


def _tau(block: Block) -> float:
    """A bound τ >= |ŷ − y| for all entries of the block that have an estimate.

    `error` and `reach` are the block's bounds on |x̂ − x| and |x̂|. With y = f + x and
    ŷ = fl(f̂ + x̂), |ŷ − y| is at most error + 2^-52 + 2^-53·(reach + 3/2): the errors of x̂ and f̂,
    and the rounding of their sum. The caller compares with 1/2 − τ in floats, which rounds by at
    most 2^-54. The total is at most error + 2^-53·(reach + 4), and the factor 1.001 covers the
    rounding of this bound. From reach = 2^52 on, floats have no fractions to round. There
    τ >= 1/2, so balls decide every entry.
    """
    return 1.001 * (block.error + 2.0**-53 * (block.reach + 4))


def _round_exactly(block: Block, part: Split, index: int) -> int:
    """Return the integer n + round(f + x) for one coordinate, decided in balls."""
    carry, fraction = divmod(part.exact(index) + Fraction(1, 2), 1)

    def question(bits: int) -> int | None:
        below = (block.enclose(index, bits) + ball(fraction)).floor()
        return None if (integer := below.unique_fmpz()) is None else int(integer)

    return int(part.whole[index]) + carry + decide(question)


def _clip(steps: int) -> int:
    return max(-LARGEST_RESULT, min(LARGEST_RESULT, steps))


def _check_shape(values: ExactValues, dimension: int) -> tuple[int, ...]:
    shape = flat(values).shape
    if shape == (dimension,) or (shape == () and dimension == 1):
        return shape
    raise InvalidArgument(
        name="values",
        value=f"an array of shape {shape}",
        expected=f"values of shape ({dimension},), one for each coordinate of the noise",
    )


# Independent noise of one law for each row of a table of any length.


# Families whose samplers draw coordinates independently: one call draws any number of them.
_INDEPENDENT = frozenset({"discrete-staircase", "gaussian", "geometric", "laplace"})


def add_noise_to_rows(
    noise: Noise, grid: Fraction, rows: ScaledIntegers, *, entropy: Entropy | None = None
) -> NDArray[np.float64]:
    """Add noise to every row on a grid: g·round((row + X)/g), each X a fresh draw of `noise`.

    `rows` has shape (rows, dimension). Exact, like `add_noise`; time and memory grow with the
    number of rows. Raises InvalidArgument for another shape or a grid that `check_grid` refuses.
    `entropy` is for tests.
    """
    check_grid(grid, noise)
    shape = rows.numerators.shape
    if len(shape) != 2 or shape[1] != noise.dimension:
        raise InvalidArgument(
            name="rows",
            value=f"an array of shape {shape}",
            expected=f"rows of {noise.dimension} numbers",
        )
    exact = nearest_whole(rows) if noise.for_whole_numbers else rows
    if not isinstance(exact, ScaledIntegers):
        raise TypeError("expected integers from integers")
    source, exponent = entropy or SystemEntropy(), exponent_of(grid)

    def add_to_numerators(numerators: NDArray[np.int64]) -> NDArray[np.int64]:
        part = ScaledIntegers(numerators=numerators, bits=exact.bits)
        return round_sums(make_sampler(noise, grid=grid, entropy=source), exponent, part)

    with np.errstate(all="ignore"):  # as in `add_noise`
        if not shape[0]:
            return np.zeros(shape)
        if noise.name in _INDEPENDENT:
            steps = add_to_numerators(exact.numerators.reshape(-1))
        else:
            steps = np.concatenate([add_to_numerators(row) for row in exact.numerators])
        return np.ldexp(steps.astype(np.float64), exponent).reshape(shape)
