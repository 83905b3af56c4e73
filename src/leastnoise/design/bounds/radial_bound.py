"""A lower bound on the mean squared error of any additive noise for a vector.

It uses the distribution of the cosine between a random and a fixed direction, enclosed in floats.

Notation: lengths are in sensitivities, c = e^ε, E is the mean and P a probability. x is a value of
the noise in R^d, v a shift of length 1, a = |x| and b = |x − v|. U is a uniform direction and r a
radius. ω = (b² − a² − 1)/2a is −cos of the angle between x and v; at x = 0 it counts as larger than
every level. With levels 0 < ω_1 < ω_2 < … < 1, the price of a point is ψ(a, b) = Σ_l J_l(a)·1{ω >
ω_l}, between 0 and λ. ρ is a radius from which on all J_l are 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from leastnoise import _validate
from leastnoise._record import Converter, field, record, takes
from leastnoise.balls.core import (
    FACTOR_BITS,
    ball,
    exponential_between,
    float_above,
    float_below,
    precision,
)
from leastnoise.certificate.records import exact_fields, require_type
from leastnoise.errors import CertificateRejected
from leastnoise.guarantees.fields import IntsField

Floats = NDArray[np.float64]

_STEP = 0.01  # of ln F between nodes; relative errors: _STEP²/8 of a chord, _STEP² of an extension
_ROUNDING = 2.0**-44  # more than the rounding of an interpolation's few operations


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Tail:
    """Bounds on F(t) = P(1 + cos θ <= t), for the angle θ between a random and a fixed direction.

    The random direction is uniform in R^d. For 0 <= t <= 1, F = ½ I_{t(2−t)}((d − 1)/2, ½), with I
    the regularised incomplete beta function. It is enclosed in balls at the `nodes`. The density of
    w = cos θ is ∝ (1 − w²)^{(d−3)/2}, which on [−1, 0] never falls for d >= 3, and falls for d = 2.
    So F is convex, or concave for d = 2. Between nodes, a chord lies on one side of F, and the
    extended previous chord on the other.
    """

    nodes: Floats
    upper: Floats
    upper_slopes: Floats
    lower: Floats
    lower_slopes: Floats

    def above(self, t: Floats) -> Floats:
        """Upper bounds on F(t) for numbers t <= 1; F is 0 for t <= 0."""
        line = self._line(self.upper, self.upper_slopes, t) * (1 + _ROUNDING)
        return np.where(t > self.nodes[1], line, np.where(t > 0, self.upper[1], 0.0))

    def below(self, t: Floats) -> Floats:
        """Lower bounds on F(t) for numbers t <= 1."""
        line = self._line(self.lower, self.lower_slopes, t) * (1 - _ROUNDING)
        return np.where(t > self.nodes[1], np.maximum(line, 0.0), 0.0)

    def _line(self, base: Floats, slopes: Floats, t: Floats) -> Floats:
        last = len(self.nodes) - 2
        index = np.clip(np.searchsorted(self.nodes, t, side="right") - 1, 0, last)
        return base[index] + slopes[index] * (t - self.nodes[index])


@lru_cache(maxsize=4)
def tail(dimension: int) -> Tail:
    """The bounds on F in `dimension` >= 2 dimensions, computed in a few tenths of a second."""
    ratio = -2 * _STEP / (dimension - 1)  # F ~ t^{(d−1)/2} for small t
    nodes, lower, upper = [1.0], [0.5], [0.5]
    with precision(128):
        least = 2.0**-100  # a bound on F below the last node
        while upper[-1] > least or len(nodes) < 3:
            nodes.append(float(np.exp(ratio * len(nodes))))
            at = arb(nodes[-1])
            half = ball(dimension - 1) / 2
            value = (at * (2 - at)).beta_lower(half, arb("0.5"), regularized=True) / 2
            lower.append(float_below(value))
            upper.append(float_above(value))
    t, low, high = (np.array(values[::-1]) for values in (nodes, lower, upper))
    width = np.diff(t)
    above_chord, below_chord = np.diff(high) / width, np.diff(low) / width
    # the extended previous chord: through the previous node, beyond it
    steep, flat = (high[1:] - low[:-1]) / width, (low[1:] - high[:-1]) / width
    convex = dimension >= 3
    before = np.concatenate([[0.0], (flat if convex else steep)[:-1]])
    return Tail(
        nodes=t,
        upper=high,
        upper_slopes=above_chord if convex else before,
        lower=low,
        lower_slopes=before if convex else below_chord,
    )


LEVEL_BITS = 52
_FIELDS = ("dimension", "cells", "bits", "ceiling", "nodes", "levels", "prices")
_MOST_EPSILON = 500  # with bits >= −200 and prices <= 2^39, nothing overflows
# A relative, outward margin: a sum of n <= 2^11 terms of one sign has a relative error of n·2^−53,
# and its terms have a few roundings more.
_SLACK = 2.0**-38

Wholes = NDArray[np.int64]


def _number(value: int, *, name: str) -> int:
    (number,) = _validate.any_wholes((value,), name=name)
    return number


def rows_of(rows: Sequence[Sequence[int]], *, name: str) -> tuple[tuple[int, ...], ...]:
    """Rows of integers, of any size and sign, as ints."""
    listed = _validate.items(rows, name=name, like="rows of whole numbers")
    return tuple(_validate.any_wholes(row, name=name) for row in listed)


A_NUMBER = takes(_number)
_NUMBERS: Converter[Sequence[int], tuple[int, ...]] = takes(_validate.any_wholes)


@final
@record()
class RadialWitness:
    """The prices ψ and λ that prove a lower bound, for shifts of length 1 in R^`dimension`.

    Notation: as in the module. Radii are in cells of length 1/`cells`, where `cells` is a power of
    two; J_l is constant on a cell. The levels are ω_l = `levels`[l]·2^−52. `prices` holds J_l at
    the `nodes` (cells 0 = n_0 < n_1 < …), one row per node. Between two nodes J_l is interpolated
    and rounded down; from the last node, ρ, on it is 0. Prices and the `ceiling` λ are in units of
    2^−bits.
    """

    dimension: int = field(converter=A_NUMBER)
    cells: int = field(converter=A_NUMBER)
    bits: int = field(converter=A_NUMBER)
    ceiling: int = field(converter=A_NUMBER)
    nodes: IntsField = field(converter=_NUMBERS)
    levels: IntsField = field(converter=_NUMBERS)
    prices: tuple[tuple[int, ...], ...] = field(converter=takes(rows_of))

    def bound(self, *, epsilon: Fraction, delta: Fraction) -> Fraction:
        """A lower bound on E‖X‖₂² of all (ε, δ)-private noise X for the shifts of length 1.

        Let G(r) = E ψ(r, |rU − v|) − c·E ψ(|rU + v|, r), and let ψ(x) stand for ψ(|x|, |x − v|).
        Private noise X, and so its mean over rotations, has E ψ(X) − c·E ψ(X + v) <= λδ: the left
        side is an integral of ψ <= λ against p − cq, where p is the density of X and q the density
        of X + v. For spherical X the left side is E G(|X|). If r² + G(r) >= z for every r >= 0,
        then E‖X‖² >= z − λδ (theory/noise.md §5).
        """
        self._check()
        least = float(self.values(epsilon).min())
        spent = Fraction(self.ceiling) / Fraction(2) ** self.bits
        # beyond ρ + 1, G = 0 and r² is larger than in the last cell, where G <= 0
        return Fraction(least) - delta * spent

    def values(self, epsilon: Fraction) -> Floats:
        """Lower bounds on r² + G(r), one float for all r in a cell, for each cell up to ρ + 1.

        G is the function in `bound`. Raises CertificateRejected if ε is too large or a field is out
        of its range.
        """
        self._check()
        if epsilon > _MOST_EPSILON:
            raise CertificateRejected(
                f"The lower bound isn't proved: such a proof needs epsilon <= {_MOST_EPSILON}."
            )
        _, scaled = exponential_between(epsilon, bits=FACTOR_BITS)
        factor = math.nextafter(scaled / (1 << FACTOR_BITS), math.inf)
        prices, distribution = self._by_cell(), tail(self.dimension)
        omega = np.array(self.levels) * 2.0**-LEVEL_BITS
        within = distribution.below(1 - omega)  # P(ω > ω_l) for x = rU: any r
        still = np.zeros(
            len(prices) + self.cells - 1
        )  # of cells 0 … ρ + 1; the last of prices is 0
        still[: len(prices)] = prices @ within
        moved = np.zeros_like(still)
        for chunk in self._chunks(len(still)):
            moved[chunk] = _Moved(self.cells, prices, omega, chunk).above(distribution)
        unit = 2.0**-self.bits
        squares = (np.arange(len(still)) / self.cells) ** 2  # exact: multiples of cells^−2
        gained, lost = unit * still, unit * factor * moved
        return squares + gained - lost - _SLACK * (squares + gained + lost)

    def _chunks(self, cells: int) -> Iterator[Wholes]:
        # where r <= 1, no x = rU + v has ω > 0: |x − v| = r and ω > 0 mean |x|² < r² − 1
        chunk = 1 << 17  # of pairs (cell, boundary) at a time: a few MB a table
        size = max(1, chunk // self.cells)
        for start in range(self.cells, cells, size):
            yield np.arange(start, min(start + size, cells))

    def _by_cell(self) -> Wholes:
        """The prices J_l as an array (cell, level); the last row is 0, for all cells from ρ on."""
        nodes, prices = np.array(self.nodes), np.array(self.prices, dtype=np.int64)
        cell = np.arange(nodes[-1])
        left = np.searchsorted(nodes, cell, side="right") - 1
        width = (nodes[left + 1] - nodes[left])[:, None]
        step = (cell - nodes[left])[:, None]
        between = (prices[left] * (width - step) + prices[left + 1] * step) // width
        return np.vstack([between, np.zeros_like(prices[:1])])

    def _check(self) -> None:
        cells, nodes, levels = self.cells, self.nodes, self.levels
        if not (
            2 <= self.dimension <= 10**4
            and 1 <= cells <= 1 << 11
            and cells & (cells - 1) == 0
            and abs(self.bits) <= 200
            and 0 <= self.ceiling <= 1 << 39  # so that sums of prices are exact in a double
            and 2 <= len(nodes) == len(self.prices)
            and nodes[0] == 0
            and nodes[-1] <= 1 << 16
            and all(low < high for low, high in pairwise(nodes))
            and 1 <= len(levels) <= 1 << 8
            and levels[0] >= 1
            and levels[-1] < 1 << LEVEL_BITS
            and all(low < high for low, high in pairwise(levels))
        ):
            raise CertificateRejected(
                "The lower bound isn't proved: in its proof, a number is out of range, or the "
                "nodes or levels don't increase."
            )
        for row in self.prices:
            if len(row) != len(levels) or min(row) < 0 or sum(row) > self.ceiling:
                raise CertificateRejected(
                    "The lower bound isn't proved: in its proof, a row of prices has the wrong "
                    "length, a negative price, or too large a sum."
                )
        if any(self.prices[-1]):
            raise CertificateRejected(
                "The lower bound isn't proved: in its proof, the last prices must be 0."
            )

    def record(self) -> dict[str, object]:
        """The witness as JSON values, exactly."""
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_record(cls, record: object) -> RadialWitness:
        """Read a result of `record`; raises CertificateRejected if a name or a type differs."""
        fields: dict[str, Any] = exact_fields(record, _FIELDS, where="witness")
        whole = {name: require_type(fields[name], int, where=name) for name in _FIELDS[:4]}
        return cls(
            **whole,
            nodes=whole_numbers(fields["nodes"]),
            levels=whole_numbers(fields["levels"]),
            prices=tuple(
                whole_numbers(row) for row in require_type(fields["prices"], list, where="ψ")
            ),
        )


@final
class _Moved:
    """Upper bounds on Σ_l E[J_l(|x|)·1{ω > ω_l}] for x = rU + v: one for all r in a cell.

    Notation: s is the lower end of a cell and h = 1/cells its length, so r is in [s, s + h]. e_i =
    ih is a boundary between cells, D_{i,l} the fall of J_l at e_i, and W = cos(U, v).

    |x| is an increasing function of W: |x| < e means W < (e² − r² − 1)/2r. And b = |x − v| = r, so
    ω > ω_l means |x| < A_l(r) = √(ω_l² + r² − 1) − ω_l, which increases with r. Hence

        E[J_l(|x|)·1{ω > ω_l}] = Σ_i D_{i,l} P(|x| < min(e_i, A_l(r))),

    where P(|x| < e_i) decreases in r >= 1, and P(|x| < A_l(r)) increases: there cos(U, v) = −cos(θ
    − φ) with ω_l = cos θ, sin φ = (sin θ)/r. Boundaries e_i <= A_l(s) are "inside" for every r of
    the cell, and e_i >= A_l(s + h) "outside". The falls at all outside boundaries add up to the
    value of J_l just below the first of them. For the few boundaries between, P(|x| < A_l(s)) at r
    = s + h is a lower bound, and P(|x| < A_l(s + h)) at r = s + h an upper bound.
    """

    def __init__(self, cells: int, prices: Wholes, omega: Floats, chunk: Wholes) -> None:
        self._cells, self._omega = cells, omega
        self._last = len(prices) - 1  # ρ, in cells
        self._here = chunk
        self._falls = np.zeros(
            (self._last + 2, len(omega)), dtype=np.int64
        )  # the last row is a sentinel
        self._falls[1:-1] = prices[:-1] - prices[1:]
        self._prices = prices
        low = self._reach(chunk) * (1 - _SLACK)
        high = self._reach(chunk + 1) * (1 + _SLACK)
        self._reached = low
        most = self._last + 1
        self._uncertain = np.minimum(np.floor(low * cells).astype(np.int64) + 1, most)
        outside = np.minimum(np.ceil(high * cells).astype(np.int64), most)
        self._outside = np.maximum(outside, self._uncertain)

    def above(self, distribution: Tail) -> Floats:
        """Upper bounds of the sum in each cell, in units of the prices.

        They may still be too small by a relative rounding error of _SLACK, which the caller adds.
        """
        return self._inside(distribution) + self._rest(distribution)

    def _inside(self, distribution: Tail) -> Floats:
        """An upper bound on the part of the sum over boundaries that are inside.

        Only those with r − 1 < e_i < r count: there is no |x| below r − 1.
        """
        here = self._here[:, None]
        boundary = here - self._cells + np.arange(1, self._cells + 1)
        index = np.minimum(boundary, self._last + 1)
        falls = np.zeros(index.shape, dtype=np.int64)
        for level in range(len(self._omega)):
            inside = boundary < self._uncertain[:, level, None]
            falls += np.where(inside, self._falls[index, level], 0)
        most = distribution.above(self._chance(boundary, here) * (1 + _SLACK))
        least = distribution.below(self._chance(boundary, here + 1) * (1 - _SLACK))
        rises = np.maximum(-falls, 0) * least
        return (np.maximum(falls, 0) * most).sum(axis=1) * (1 + _SLACK) - rises.sum(axis=1) * (
            1 - _SLACK
        )

    def _chance(self, boundary: Wholes, r: Wholes) -> Floats:
        """The T for which the F of `Tail` has F(T) = P(|rU + v| < e), for e < r; rounded once.

        T = 1 + cos(U, v) at |rU + v| = e is (e² − (r − 1)²)/2r. The `boundary` e and `r` are in
        cells.
        """
        return (boundary**2 - (r - self._cells) ** 2) / (2 * r * self._cells)

    def _rest(self, distribution: Tail) -> Floats:
        """An upper bound on the rest of the sum: boundaries outside, and the few between."""
        first, outside = self._uncertain, self._outside
        level = np.arange(len(self._omega))
        most = distribution.above(self._chance_reached(self._here + 1) * (1 + _SLACK))
        least = distribution.below(self._chance_missed() * (1 - _SLACK))
        down = np.maximum(self._falls, 0).cumsum(axis=0)
        up = np.maximum(-self._falls, 0).cumsum(axis=0)
        falls = down[outside - 1, level] - down[first - 1, level]
        rises = up[outside - 1, level] - up[first - 1, level]
        added = ((self._prices[outside - 1, level] + falls) * most).sum(axis=1)
        return added * (1 + _SLACK) - (rises * least).sum(axis=1) * (1 - _SLACK)

    def _reach(self, cell: Wholes) -> Floats:
        """The largest |x| with ω >= ω_l, for each level: A_l(r), computed without cancellation.

        A_l(r) = (r² − 1)/(√(ω_l² + r² − 1) + ω_l); `cell` is r in cells.
        """
        square = (cell**2 - self._cells**2)[:, None] / self._cells**2
        return square / (np.sqrt(self._omega**2 + square) + self._omega)

    def _chance_reached(self, cell: Wholes) -> Floats:
        """The T for which the F of `Tail` has F(T) = P(|rU + v| < A_l(r)), for each level.

        T = 1 + cos(U, v) at |rU + v| = A_l(r) is (A_l(r)² − (r − 1)²)/2r. To avoid the cancellation
        of squares, the code multiplies A_l(r) + (r − 1) by A_l(r) − (r − 1) = (r − 1)(1 − ω)(1 + (1
        + ω)/(r + D))/(D + ω), with ω = ω_l and D = √(ω² + r² − 1). All factors are positive, so the
        relative error is a few roundings.
        """
        r = cell[:, None] / self._cells
        less = (cell - self._cells)[:, None] / self._cells
        square = (cell**2 - self._cells**2)[:, None] / self._cells**2
        omega = self._omega
        root = np.sqrt(omega**2 + square)
        excess = less * (1 - omega) * (1 + (1 + omega) / (r + root)) / (root + omega)
        return np.minimum(excess * (self._reach(cell) + less) / (2 * r), 1.0)

    def _chance_missed(self) -> Floats:
        """For each cell and level, the T with F(T) = P(|rU + v| < A_l(s)).

        r = s + h is the end of the cell. F is the F of `Tail`, and F(T) = 0 for T <= 0. So a
        negative T is replaced by 0.
        """
        r = (self._here + 1)[:, None] / self._cells
        excess = self._reached - (r - 1)
        return np.maximum(excess, 0.0) * (self._reached + (r - 1)) / (2 * r)


def whole_numbers(values: object) -> tuple[int, ...]:
    """A witness's list of integers, from a record; raises CertificateRejected for other values."""
    numbers = require_type(values, list, where="witness")
    return tuple(require_type(value, int, where="witness") for value in numbers)
