"""δ of many releases together, enclosed: tilted convolutions with a proved allowance for rounding.

notation (theory/accounting.md §2): for a lattice L(c) = log Σ wᵢe^(czᵢ) and pᵢ = wᵢe^(czᵢ−L), its
tilted law; S the sum of the losses, φ(y) = e^(−cy)(1 − e^(−y))₊ with largest value κ. Then the part
of δ(ε) that is not at infinity is e^(ΣkL − cε)·E_p φ(S − ε), with E_p by a Fourier transform whose
window is so wide that the rest of S is a proved trifle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np
from flint import arb

from leastnoise.balls.core import ball, precision
from leastnoise.certify.fourier import UNIT, relative_error, transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.certify.losses import LossLattice, LowerCells

_BITS = 128
_LARGEST_WINDOW = 1 << 20
_TRIFLE = arb(2) ** -200
_SMALL_TAIL = 60.0  # in nats: what lies outside the window, against what lies inside

Part = tuple["LossLattice", int]
"""A lattice, and how many releases have it."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Convolution:
    """The tilted sum of all losses, worked out once: it answers for every ε.

    The answers are best near the ε that the tilt was made for.
    For lattices that bound a law from one side, that side of the answers means something.
    """

    tilt: Fraction
    laws: tuple[_Tilted, ...]
    window: _Window
    masses: NDArray[np.float64]
    error: float
    infinity: arb

    @classmethod
    def of(cls, parts: Sequence[Part], tilt: Fraction) -> Convolution:
        """Convolve; raises ValueError unless all lattices have one step."""
        step = parts[0][0].step
        if any(lattice.step != step for lattice, _ in parts):
            raise ValueError("all lattices of a composition have one step")
        with precision(_BITS):
            laws = [_tilt_one(lattice, count, tilt) for lattice, count in parts]
            window = _window(laws)
            masses, error = _convolved(laws, window)
            return cls(
                tilt=tilt,
                laws=tuple(laws),
                window=window,
                masses=masses,
                error=error,
                infinity=_at_infinity(parts),
            )

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Return balls below and above δ(ε) of the composed lattices."""
        with precision(_BITS):
            low, high = self._expectation(epsilon)
            scale = self._log_scale(epsilon).exp()
            # (1 ± 2^-50)^k: every weight of the tilted laws is a rounded float
            slack = (arb(sum(law.count for law in self.laws)) * arb(2) ** -50).exp()
            lower = self.infinity + scale * low / slack if low > 0 else self.infinity
            return lower, self.infinity + scale * high * slack

    def approximate(self, epsilon: float) -> float:
        """Return about δ(ε), in floats: to look for an ε with."""
        start = float(self._start)
        step = float(self.laws[0].lattice.step)
        y = start + (self.window.first + np.arange(self.window.size)) * step - epsilon
        above, c = y > 0, float(self.tilt)
        phi = np.exp(-c * y[above]) * -np.expm1(-y[above])
        with precision(_BITS):
            scale = self._log_scale(Fraction(epsilon))
            return float((scale.exp() * arb(float(phi @ self.masses[above])) + self.infinity).mid())

    @property
    def _start(self) -> Fraction:
        """The loss where every release has its lattice's first."""
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
        """Enclose E φ(S − ε): Σφy, ± ‖φ‖₂ times the error of y, ± κ for what is outside."""
        step, window = self.laws[0].lattice.step, self.window
        # the first lattice point above ε, counted from the window's first
        begin = max(0, math.floor((epsilon - self._start) / step) + 1 - window.first)
        total, squares, c = arb(0), arb(0), ball(self.tilt)
        if begin < window.size:
            gap = ball(self._start + (window.first + begin) * step - epsilon)
            outer, inner = (-c * gap).exp(), (-(c + 1) * gap).exp()
            outer_ratio, inner_ratio = (-c * ball(step)).exp(), (-(c + 1) * ball(step)).exp()
            for value in self.masses[begin:].tolist():
                phi = outer - inner
                total += phi * arb(value)
                squares += phi * phi
                outer, inner = outer * outer_ratio, inner * inner_ratio
                if outer < _TRIFLE:
                    break
        kappa = c**c / (c + 1) ** (c + 1)
        # beyond the break φ is below 2^-200, and all of the masses together below 2^20
        margin = squares.sqrt() * arb(self.error) + kappa * window.outside + _TRIFLE * 2**20
        return total - margin, total + margin


def composed_upper(parts: Sequence[Part], epsilon: Fraction) -> arb:
    """Return a ball no point of which is below δ(ε) of what the lattices are upper bounds of."""
    return Convolution.of(parts, tilt_for(parts, epsilon)).delta(epsilon)[1]


def composed_lower(parts: Sequence[tuple[LowerCells, int]], epsilon: Fraction) -> arb:
    """Return a ball no point of which is above δ(ε) of what the cells are lower bounds of."""
    tilt = tilt_for([(cells.lattice(0.0), count) for cells, count in parts], epsilon)
    placed = [(cells.lattice(float(tilt)), count) for cells, count in parts]
    return Convolution.of(placed, tilt).delta(epsilon)[0]


@final
@dataclass(frozen=True, kw_only=True)
class _Tilted:
    """The tilted law of one lattice: floats within a relative 2^-52, and L exactly enough."""

    lattice: LossLattice
    count: int
    weights: NDArray[np.float64]
    log_moment: arb  # L(c)


def _at_infinity(parts: Sequence[Part]) -> arb:
    """Return Π totals − Π finite totals."""
    everything, finite = arb(1), arb(1)
    for lattice, count in parts:
        inside = _sum(lattice.masses)
        finite *= inside**count
        everything *= (inside + arb(lattice.infinity)) ** count
    found = everything - finite
    return found if found > 0 else arb(0).union(abs(found))


def _sum(values: NDArray[np.float64]) -> arb:
    total = arb(0)
    for value in values.tolist():
        total += arb(value)
    return total


def tilt_for(parts: Sequence[Part], epsilon: Fraction) -> Fraction:
    """Return about the c > 0 that makes the bound smallest; any c is right."""
    target = float(epsilon)

    def slope(c: float) -> float:
        mean = 0.0
        for lattice, count in parts:
            z = _points(lattice)
            logs = np.log(np.maximum(lattice.masses, 1e-300)) + c * z
            weights = np.exp(logs - logs.max())
            mean += count * float(weights @ z / weights.sum())
        return mean - target - 1 / c - 1 / (c + 1)

    low, high = 1e-6, 1.0
    while slope(high) < 0 and high < 1e6:
        low, high = high, 2 * high
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return Fraction(round(high * 2**20) or 1, 2**20)


def _points(lattice: LossLattice) -> NDArray[np.float64]:
    indices = lattice.first + np.arange(len(lattice.masses))
    points = float(lattice.origin) + indices * float(lattice.step)
    return np.asarray(points, dtype=np.float64)


def _tilt_one(lattice: LossLattice, count: int, tilt: Fraction) -> _Tilted:
    """Tilt a lattice in balls: wᵢe^(czᵢ)/Σ, each rounded to a float."""
    ratio = (ball(tilt) * ball(lattice.step)).exp()
    factor = (ball(tilt) * ball(lattice.point(0))).exp()
    products: list[arb] = []
    total = arb(0)
    for mass in lattice.masses.tolist():
        product = arb(mass) * factor
        products.append(product)
        total += product
        factor *= ratio
    weights = np.array([float((product / total).mid()) for product in products])
    return _Tilted(lattice=lattice, count=count, weights=weights, log_moment=total.log())


@final
@dataclass(frozen=True, kw_only=True)
class _Window:
    """The sum's lattice indices first … first + size − 1 are kept apart, the others wrap around.

    Indices count from the sum of the laws' own first points. `outside` bounds their probability.
    """

    first: int
    size: int
    outside: arb


def _window(laws: list[_Tilted]) -> _Window:
    """Return a window that holds all but a trifle of the tilted sum."""
    mean = sum(law.count * float(law.weights @ np.arange(len(law.weights))) for law in laws)
    spread = 0.0
    for law in laws:
        i = np.arange(len(law.weights))
        own = float(law.weights @ i)
        spread += law.count * float(law.weights @ (i - own) ** 2)
    most = sum(law.count * (len(law.weights) - 1) for law in laws)
    half = 12 * math.sqrt(spread) + 16
    size = 16
    while size < min(2 * half, most + 1) and size < _LARGEST_WINDOW:
        size *= 2
    while True:
        first = 0 if size > most else max(0, min(most + 1 - size, round(mean - size / 2)))
        outside = arb(0)
        if first > 0:
            outside += _tail(laws, first - 1, spread, below=True)
        if first + size <= most:
            outside += _tail(laws, first + size, spread, below=False)
        if size >= _LARGEST_WINDOW or outside < arb(-_SMALL_TAIL).exp():
            return _Window(first=first, size=size, outside=outside)
        size *= 2


def _tail(laws: list[_Tilted], index: int, spread: float, *, below: bool) -> arb:
    """Return a Chernoff bound on P(S <= index) or P(S >= index), in index units; any t is right."""
    sign = -1 if below else 1
    mean = sum(law.count * float(law.weights @ np.arange(len(law.weights))) for law in laws)
    best = arb(1)
    for scale in (0.5, 1.0, 2.0):
        t = sign * abs(index - mean) / max(spread, 1e-9) * scale
        exact_t = arb(t)
        log_bound = -exact_t * index
        for law in laws:
            log_bound += law.count * _log_moment(law.weights, exact_t)
        bound = log_bound.exp()
        best = bound if bound < best else best
    return best


def _log_moment(weights: NDArray[np.float64], t: arb) -> arb:
    ratio, factor, total = t.exp(), arb(1), arb(0)
    for weight in weights.tolist():
        total += arb(weight) * factor
        factor *= ratio
    return total.log()


def _convolved(laws: list[_Tilted], window: _Window) -> tuple[NDArray[np.float64], float]:
    """Return the law of the sum modulo the window's size, and a bound on the l2 norm of its error.

    Each transform is off by at most e = ν√N‖p‖₂ in any entry. A k-th power by squarings is off by
    k(|X| + e)^(k−1)·e + √5·k·u·|X|^k; the product of the laws' powers adds up the same way; the way
    back divides by √N and adds ν of its own.
    """
    size = window.size
    nu = relative_error(size)
    product = np.ones(size, dtype=np.complex128)
    magnitude = np.ones(size)  # of the exact product, from above
    error = np.zeros(size)  # of the computed one
    for law in laws:
        wrapped = np.zeros(size)
        np.add.at(wrapped, np.arange(len(law.weights)) % size, law.weights)
        x = transform(wrapped.astype(np.complex128))
        e = 1.01 * nu * math.sqrt(size) * float(np.linalg.norm(wrapped))
        # 1 + 2^-20: the weights' sum is 1 but for rounding, and so is |X| at most
        bound = np.minimum(np.abs(x) * (1 + 2.0**-40) + e, 1 + 2.0**-40)
        power = _power(x, law.count)
        power_size = bound**law.count * (1 + 1e-9)
        power_error = law.count * bound ** (law.count - 1) * e
        power_error += math.sqrt(5) * UNIT * law.count * power_size
        error = error * (power_size + power_error) + magnitude * power_error
        error += math.sqrt(5) * UNIT * magnitude * power_size
        magnitude *= power_size
        product *= power
    back = transform(product, inverse=True)
    total = float(np.linalg.norm(error)) / math.sqrt(size)
    total += nu / (1 - nu) * float(np.linalg.norm(back)) * 1.01
    return np.roll(back.real, -(window.first % size)), 1.01 * total


def _power(x: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    """Return x^count by squarings."""
    result = np.ones_like(x)
    while count:
        if count & 1:
            result = result * x
        count >>= 1
        if count:
            x = x * x
    return result
