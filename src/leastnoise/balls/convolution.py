"""Bounds on δ of many releases: tilted convolutions with a proved allowance for rounding.

Notation (theory/accounting.md §2): a lattice has the mass wᵢ at the loss zᵢ, and k releases have
these losses. Tilting by c > 0 multiplies each mass by e^(czᵢ): with L(c) = log Σ wᵢe^(czᵢ), pᵢ =
wᵢe^(czᵢ−L) is the tilted law, and E_p its mean. S is the sum of all releases' losses, and φ(y) =
e^(−cy)(1 − e^(−y))₊, with largest value κ. u = 2^-53 bounds the relative error of one operation on
floats.

The part of δ(ε) without infinite losses is e^(ΣkL − cε)·E_p φ(S − ε), where Σ is a sum over the
lattices. E_p is computed by a Fourier transform with a window so wide that the rest of S is proved
to be negligible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np
from flint import arb

from leastnoise.balls.core import PLAIN_BITS, UNIT, ball, precision
from leastnoise.balls.rounded import (
    BLOCK,
    Tilted,
    inverse,
    join_floats,
    log_moment_above,
    progression,
    relative_error,
    transform,
)
from leastnoise.errors import InvalidArgument
from leastnoise.numerics.bisection import Bisection

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.balls.losses import LossLattice, LowerCells

    Floats = NDArray[np.float64]

_LARGEST_WINDOW = 1 << 20
_DEEP = 200  # φ is evaluated while its factor e^(−cy) is above about 2^-200 of its first value
_TRIFLE = arb(2) ** (20 - _DEEP)  # all masses together are below 2^20
_STEEPEST = 1e4  # for larger t, e^t exceeds the range of floats between neighbouring points

Part = tuple["LossLattice", int]
"""A lattice of losses, and the number of releases with these losses."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Convolution:
    """The tilted sum of all losses, computed once: it gives bounds for every ε.

    The bounds are best near the ε for which the tilt was chosen. All bounds are on the lattices'
    own δ. If the lattices only bound the true δ from above, the lower bounds are not bounds on the
    true δ, and vice versa.
    """

    tilt: Fraction
    laws: tuple[Tilted, ...]
    window: _Window
    masses: Floats
    error: float
    infinity: arb

    @classmethod
    def of(cls, parts: Sequence[Part], tilt: Fraction) -> Convolution:
        """Convolve the tilted losses; raises InvalidArgument unless all lattices share one step."""
        step = parts[0][0].step
        if any(lattice.step != step for lattice, _ in parts):
            raise InvalidArgument(name="parts", value="several", expected="lattices of one step")
        with precision(PLAIN_BITS):
            laws = [Tilted.of(lattice, count, tilt) for lattice, count in parts]
            window = _window(laws)
            # powers of very many releases may overflow; an error of inf or NaN then proves nothing
            with np.errstate(over="ignore", invalid="ignore"):
                masses, error = _convolve(laws, window)
            return cls(
                tilt=tilt,
                laws=tuple(laws),
                window=window,
                masses=masses,
                error=error,
                infinity=_mass_at_infinity(parts),
            )

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """A lower and an upper bound, as balls, on δ(epsilon) of the composed lattices."""
        with precision(PLAIN_BITS):
            low, high = self._expectation(epsilon)
            scale = self._log_scale(epsilon).exp()
            # (1 ± 2^-50)^k: the relative error of k releases, since each weight is a rounded float
            slack = (arb(sum(law.count for law in self.laws)) * arb(2) ** -50).exp()
            lower = self.infinity + scale * low / slack if low > 0 else self.infinity
            return lower, self.infinity + scale * high * slack

    def approximate(self, epsilon: float) -> float:
        """Approximate δ(ε) in floats, for the search of an ε."""
        step, c = float(self.laws[0].lattice.step), float(self.tilt)
        ahead = float(self._start) + self.window.first * step - epsilon
        begin = max(0, math.floor(-ahead / step) + 1)
        far = 45.0  # in nats: floats omit φ beyond it
        y = (
            ahead
            + np.arange(begin, min(self.window.size, begin + math.ceil(far / (c * step)))) * step
        )
        expectation = np.exp(-c * y) * -np.expm1(-y) @ self.masses[begin : begin + len(y)]
        with precision(PLAIN_BITS):
            scale = self._log_scale(Fraction(epsilon))
            return float((scale.exp() * arb(float(expectation)) + self.infinity).mid())

    @property
    def _start(self) -> Fraction:
        """The smallest possible sum of the losses: each is the first point of its lattice."""
        return sum(
            (law.count * law.lattice.point(0) for law in self.laws),
            Fraction(0),
        )

    def _log_scale(self, epsilon: Fraction) -> arb:
        total = -ball(self.tilt) * ball(epsilon)
        for law in self.laws:
            total += law.count * law.log_moment
        return total

    def _expectation(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Two balls, below and above E_p φ(S − ε).

        They are the sum of φ times the masses of S in the window, minus and plus a margin. The
        margin is ‖φ‖₂ times the l2 norm of the masses' errors, plus κ times the mass outside the
        window, plus a little for rounding.
        """
        step, window, c = self.laws[0].lattice.step, self.window, ball(self.tilt)
        # the index of the first lattice point above ε, relative to the window's first point
        begin = max(0, math.floor((epsilon - self._start) / step) + 1 - window.first)
        # 2^-900: fewer than 2^100 weights, with repetitions, have errors of 2^-50 and 2^-1070
        total, margin = arb(0), c**c / (c + 1) ** (c + 1) * (window.outside + arb(2) ** -900)
        if begin < window.size:
            gap = self._start + (window.first + begin) * step - epsilon
            phi = _test_function(c, ball(gap), ball(step), window.size - begin)
            first = (-c * ball(gap)).exp()
            inside, doubt = _dot(phi, self.masses[begin : begin + len(phi)])
            # 2^-20: a sum of at most 2^20 squares, each within 2^-47
            norm = arb(float(np.linalg.norm(phi)) * (1 + 2.0**-20))
            total = first * arb(inside)
            margin += first * (arb(doubt) + norm * arb(self.error) + _TRIFLE)
        return total - margin, total + margin


def _test_function(c: arb, gap: arb, step: arb, count: int) -> Floats:
    """The values e^(c·gap)·φ(gap + i·step), for i < `count` and while e^(−c·i·step) >= 2^-200.

    Each has a relative error of at most 8u. As 1 − e^(−(x+y)) is (1 − e^(−x)) + e^(−x)(1 − e^(−y))
    for a block that begins at x, nothing is subtracted.
    """
    count = min(count, math.ceil(_DEEP * math.log(2) / float((c * step).mid())) + 1)
    rows = -(-count // BLOCK)
    row_step = step * BLOCK
    falls = join_floats(*progression((-gap).exp(), (-row_step).exp(), rows))
    starts = np.array([float((-(-gap - row_step * i).expm1()).mid()) for i in range(rows)])
    rises = np.array([float((-(-step * i).expm1()).mid()) for i in range(min(count, BLOCK))])
    far = join_floats(*progression(arb(1), (-c * row_step).exp(), rows))
    near = join_floats(*progression(arb(1), (-c * step).exp(), len(rises)))
    rising = starts[:, None] + falls[:, None] * rises
    return (far[:, None] * near * rising).ravel()[:count]


def _dot(phi: Floats, masses: Floats) -> tuple[float, float]:
    """The inner product of `phi` and `masses`, and a bound on its error.

    Each value of `phi` has a relative error of at most 8u. Rows of BLOCK products are summed in any
    order, with an error of at most BLOCK·u times the sum of their absolute values. The rows' sums
    are added exactly and rounded once.
    """
    products = phi * masses
    padded = np.append(products, np.zeros(-len(products) % BLOCK)).reshape(-1, BLOCK)
    total = math.fsum(padded.sum(axis=1).tolist())
    size = float(np.abs(products).sum()) * (1 + 2.0**-20)
    return total, (BLOCK + 16) * UNIT * size


def composed_upper(parts: Sequence[Part], epsilon: Fraction) -> arb:
    """An upper bound, as a ball, on δ(ε) of the laws that the lattices bound from above."""
    return Convolution.of(parts, tilt_for(parts, epsilon)).delta(epsilon)[1]


def composed_lower(parts: Sequence[tuple[LowerCells, int]], epsilon: Fraction) -> arb:
    """A lower bound, as a ball, on δ(ε) of the laws that the cells bound from below."""
    tilt = tilt_for([(cells.lattice(0.0), count) for cells, count in parts], epsilon)
    placed = [(cells.lattice(float(tilt)), count) for cells, count in parts]
    return Convolution.of(placed, tilt).delta(epsilon)[0]


def _mass_at_infinity(parts: Sequence[Part]) -> arb:
    """The probability that the sum of all losses is infinite, as a ball.

    It is Π finite^k · (e^(Σ k log(1 + infinite/finite)) − 1) over the lattices, for k releases
    each. Here finite and infinite are a lattice's masses of finite and infinite losses.
    """
    finite, log_ratio = arb(1), arb(0)
    for lattice, count in parts:
        # exactly added and rounded once
        inside = arb(math.fsum(lattice.masses.tolist())) * arb(1, 2.0**-52)
        finite *= inside**count
        log_ratio += count * (arb(lattice.infinity) / inside).log1p()
    return finite * log_ratio.expm1()


def tilt_for(parts: Sequence[Part], epsilon: Fraction) -> Fraction:
    """Approximate the tilt c > 0 for which the bound at `epsilon` is smallest.

    Any c gives a valid bound.
    """
    log_moment, target = _log_moment(parts), float(epsilon)
    return _first_tilt(lambda c: log_moment(c)[1] - target - 1 / c - 1 / (c + 1) >= 0)


def tilt_at(parts: Sequence[Part], delta: float) -> tuple[Fraction, float]:
    """Approximate the best tilt and the ε at which the finite losses have δ(ε) = `delta`.

    With the log-moments of all releases added up to L(c), δ(ε) is about e^(L(c) − cε)/(c(c + 1)).
    Each c > 0 gives an ε at which this is `delta`; the smallest ε, and its c, are returned.
    """
    log_moment = _log_moment(parts)

    def rises(c: float) -> bool:
        here, slope = log_moment(c)
        return c * slope - 1 - c / (c + 1) >= here - math.log(c * (c + 1)) - math.log(delta)

    tilt = _first_tilt(rises)
    c = float(tilt)
    return tilt, (log_moment(c)[0] - math.log(c * (c + 1)) - math.log(delta)) / c


def _log_moment(parts: Sequence[Part]) -> Callable[[float], tuple[float, float]]:
    """A function from c to two approximate numbers: Σ k L(c) over all parts, and its slope in c."""
    laws = [
        (_points(lattice), np.log(np.maximum(lattice.masses, 1e-300)), count)
        for lattice, count in parts
    ]

    def at(c: float) -> tuple[float, float]:
        value = slope = 0.0
        for z, logs, count in laws:
            tilted = logs + c * z
            top = tilted.max()
            weights = np.exp(tilted - top)
            total = weights.sum()
            value += count * float(top + math.log(total))
            slope += count * float(weights @ z / total)
        return value, slope

    return at


def _first_tilt(enough: Callable[[float], bool]) -> Fraction:
    """Approximate the smallest tilt c with `enough(c)`; larger c must satisfy it, too.

    The search is for c from 1e-6 to about 1e6.
    """
    low, high = 1e-6, 1.0
    while not enough(high) and high < 1e6:
        low, high = high, 2 * high
    # relative, since the search is in logarithms; the bound is flat there
    near = Bisection(within=1e-2)
    _, log_c = near.close(lambda x: enough(math.exp(x)), math.log(low), math.log(high))
    return Fraction(round(math.exp(log_c) * 2**20) or 1, 2**20)


def _points(lattice: LossLattice) -> Floats:
    indices = lattice.first + np.arange(len(lattice.masses))
    points = float(lattice.origin) + indices * float(lattice.step)
    return np.asarray(points, dtype=np.float64)


@final
@dataclass(frozen=True, kw_only=True)
class _Window:
    """A window of lattice indices of the sum, first … first + size − 1.

    Other indices wrap around into it; `outside` bounds their probability. Index 0 is the sum of the
    laws' first points.
    """

    first: int
    size: int
    outside: arb


def _window(laws: list[Tilted]) -> _Window:
    """A window that holds nearly all of the tilted sum, or else the longest, of 2^20 indices."""
    mean = spread = 0.0
    for law in laws:
        i = np.arange(len(law.weights))
        mean_index = float(law.weights @ i)
        mean += law.count * mean_index
        spread += law.count * float(law.weights @ (i - mean_index) ** 2)
    most = sum(law.count * (len(law.weights) - 1) for law in laws)
    wide = 9.5  # standard deviations on each side of a window
    half = wide * math.sqrt(spread) + 16
    size = 16
    while size < min(2 * half, most + 1) and size < _LARGEST_WINDOW:
        size *= 2
    small_tail = 40.0  # in nats: the aim for the probability outside the window
    while True:
        first = 0 if size > most else max(0, min(most + 1 - size, round(mean - size / 2)))
        outside = arb(0)
        if first > 0:
            outside += _tail(laws, first - 1, mean=mean, spread=spread)
        if first + size <= most:
            outside += _tail(laws, first + size, mean=mean, spread=spread)
        if size >= _LARGEST_WINDOW or outside < arb(-small_tail).exp():
            return _Window(first=first, size=size, outside=outside)
        size *= 2


def _tail(laws: list[Tilted], index: int, *, mean: float, spread: float) -> arb:
    """A Chernoff bound on P(S >= index), or on P(S <= index) if the index is below the mean.

    P is the tilted law, and S is counted in lattice steps from its first point. The bound is
    e^(−t·index)·E e^(tS), with t > 0, or t < 0 if the index is below the mean. The best t for a
    Gaussian is far too large for a law with few large losses, such as the law of a small sample. So
    several t are compared in floats.
    """
    with np.errstate(divide="ignore"):
        logs = [np.log(law.weights) for law in laws]

    def about(t: float) -> float:
        total = -t * index
        for law, log_weights in zip(laws, logs, strict=True):
            terms = log_weights + t * np.arange(len(log_weights))
            top = terms.max()
            total += law.count * float(top + math.log(np.exp(terms - top).sum()))
        return total

    gaussian = (index - mean) / max(spread, 1e-9)
    tilts = (1 / 256, 1 / 64, 1 / 16, 1 / 4, 0.5, 1.0, 2.0)  # factors on the best t for a Gaussian
    candidates = (max(-_STEEPEST, min(gaussian * scale, _STEEPEST)) for scale in tilts)
    t = arb(min(candidates, key=about))
    log_bound = -t * index
    for law in laws:
        log_bound += law.count * log_moment_above(law.weights, t)
    bound = log_bound.exp()
    return bound if bound < 1 else arb(1)


def _convolve(laws: list[Tilted], window: _Window) -> tuple[Floats, float]:
    """The law of the sum modulo the window's size, and a bound on the l2 norm of its error.

    Notation: N = window.size, ν = relative_error(N); p is a law's array of weights, X its Fourier
    transform, and k the number of releases with this law.

    X has an error of at most e = ν√N‖p‖₂, in any entry and in the l2 norm. A k-th power by
    squarings has an error of k(|X| + e)^(k−1)·(the error of X) + √5·k·u·|X|^k. The errors of the
    product of all powers are bounded in two ways. In the first, e is the error of every entry. In
    the second, e is the l2 norm of all errors, and |X| + e <= 1 + 2e. The smaller l2 norm counts.
    The inverse transform divides by √N, and adds a relative error of ν.
    """
    size = window.size
    nu = relative_error(size)
    product = np.ones(size // 2 + 1, dtype=np.complex128)
    magnitude = np.ones(size // 2 + 1)  # upper bounds on the exact product's entries
    error = np.zeros(size // 2 + 1)  # bounds on the errors of the computed product's entries
    rounding = np.zeros(size // 2 + 1)  # the part of `error` that does not depend on e
    in_norm, largest = 0.0, 1.0
    for law in laws:
        rows = -(-len(law.weights) // size)
        wrapped = _wrap(law.weights, size)
        x = transform(wrapped)
        # each entry of p is a sum of `rows` numbers
        e = 1.01 * (nu + rows * UNIT) * math.sqrt(size) * float(np.linalg.norm(wrapped))
        # the weights sum to 1 within 2^-50, so |X| <= 1 + 2^-50; and 2^-40 is more than the
        # rounding of each factor of a power
        most = float(_power(np.array(1 + 2.0**-40 + 2 * e), law.count))
        bound = np.sqrt(x.real**2 + x.imag**2) * (1 + 2.0**-40) + e
        size_of = _power(bound, law.count)
        rounded = math.sqrt(5) * UNIT * law.count * size_of
        error_of_law = law.count * (size_of / bound) * e + rounded
        rounding_of_product = math.sqrt(5) * UNIT * magnitude * size_of
        error = error * (size_of + error_of_law) + magnitude * error_of_law + rounding_of_product
        rounding = rounding * (size_of + error_of_law) + magnitude * rounded + rounding_of_product
        in_norm = in_norm * most + largest * law.count * most * e
        largest *= most
        magnitude *= size_of
        product *= _power(x, law.count)
    masses = inverse(product)
    # the other half of the entries are the conjugates of these
    entries = min(
        math.sqrt(2) * float(np.linalg.norm(error)),
        math.sqrt(2) * float(np.linalg.norm(rounding)) + in_norm,
    )
    total = entries / math.sqrt(size) + nu / (1 - nu) * float(np.linalg.norm(masses)) * 1.01
    return np.roll(masses, -(window.first % size)), 1.01 * total


def _wrap(weights: Floats, size: int) -> Floats:
    """Add up the weights whose indices agree modulo `size`; the result has shape (size,)."""
    padded = np.append(weights, np.zeros(-len(weights) % size))
    return padded.reshape(-1, size).sum(axis=0)


def _power(x: NDArray[Any], count: int) -> NDArray[Any]:
    """The power x^count, by repeated squaring."""
    result = np.ones_like(x)
    while count:
        if count & 1:
            result = result * x
        count >>= 1
        if count:
            x = x * x
    return result
