"""Noise whose density falls with two gauges: P of the added part of x, Q of the removed part.

Notation: X is the noise, and T = `of` is the set of all that a unit can add; D is its dimension.
P(x) is the gauge of the part of x that is added, and Q(x) is the gauge of the part that is removed
(`guarantees.bodies.one_sided`). For counts, these are the positive and the negative part of x. A
and B are random: given A and B, X/scale is uniform in {P <= A, Q <= B}. The shape s = 0 … D numbers
the parts of this set, and t = D − s; for counts, s coordinates are above 0. The part s has the
volume w[s]·A^s·B^t/(s!t!), where w are the `weights` of T (see `VolumeSplit`). Pr is a probability,
and E is the mean.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise._record import derived, field, record, takes
from leastnoise.balls.core import PLAIN_BITS, ball, precision
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.bodies.base import nearest, nearest_log
from leastnoise.guarantees.bodies.one_sided import A_ONE_SIDED, OneSided
from leastnoise.guarantees.bodies.signed import Signed
from leastnoise.guarantees.exact import Exact, exact_where
from leastnoise.guarantees.fields import FractionField
from leastnoise.noise.base import SCALE, points_of
from leastnoise.noise.body_noise import VectorNoise
from leastnoise.noise.common.law import log_step_sums, step_decay

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from leastnoise.guarantees.bodies.one_sided import Balls, Coordinate
    from leastnoise.guarantees.sensitivity import Sensitivity


class TwoSided(VectorNoise):
    """Noise of density ∝ h(P(x)/scale)·h(Q(x)/scale), where h decreases from h(0) = 1.

    h is a mixture of steps: h(t) = Pr(t <= A) for a random A. Let B be an independent copy of A.
    Then the density is ∝ Pr(P <= A and Q <= B), with P and Q at x/scale. So, given A and B, X/scale
    is uniform in {P <= A, Q <= B}, if the joint law of A and B is weighted by the volume of this
    set.

    The volume is Σ_s w[s]·A^s·B^(D−s)/(s!(D − s)!). So the normaliser and the first and second
    moments of X/scale are sums over s of multiples of E A^i·E A^j, with 0 <= i, j <= D + 2. In
    these products A has its law without the weight.
    """

    form: ClassVar[str] = "of"
    of: OneSided

    @property
    @abstractmethod
    def log_moments(self) -> NDArray[np.float64]:
        """The logarithms ln E A^j for j = 0 … D + 2; shape (D + 3,).

        A has the law with h(t) = Pr(t <= A), not weighted by the volume.
        """

    @classmethod
    def no_form(cls, sensitivity: Sensitivity) -> str:
        return f"a {sensitivity.kind} sensitivity doesn't state what a unit adds or removes"

    def _sides(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        added, removed = self.of.moves(x)
        return added / float(self.scale), removed / float(self.scale)

    @property
    def _log_mass(self) -> float:
        """The logarithm of the normaliser, the integral of h(P(x)/scale)·h(Q(x)/scale) over R^D."""
        return self._parts.log_mass + self.dimension * math.log(float(self.scale))

    @property
    def variances(self) -> NDArray[np.float64]:
        return float(self.scale) ** 2 * self._for_all_coordinates(self._second)

    @property
    def mean_abses(self) -> NDArray[np.float64]:
        known = all(axis.p is not None for cell, _ in self._pieces.layout for axis in cell)
        return float(self.scale) * self._known(
            self._for_all_coordinates(self._first) if known else None
        )

    def _for_all_coordinates(self, moment: Callable[[_Axis], float]) -> NDArray[np.float64]:
        """The `moment` of each coordinate, shape (dimension,)."""
        cells = self._pieces.layout
        return np.concatenate(
            [np.tile([moment(axis) for axis in cell], copies) for cell, copies in cells]
        )

    def _second(self, axis: _Axis) -> float:
        """The mean square of a coordinate of X/scale.

        `axis` has the coordinate's moments given P, Q and s. Given s, A and B, the P and Q of
        X/scale are independent: P = A·Beta(s, 1) and Q = B·Beta(t, 1). This gives the means of P²,
        PQ and Q². The mean square is a sum of their multiples over s.
        """
        parts, s = self._parts, np.arange(self.dimension + 1)
        t = s[::-1]
        total = axis.pp * s / (s + 2) @ parts.ratio(2, 0)
        total += axis.pq * s / (s + 1) * t / (t + 1) @ parts.ratio(1, 1)
        total += axis.qq * t / (t + 2) @ parts.ratio(0, 2)
        return axis.unit**2 * float(total)

    def _first(self, axis: _Axis) -> float:
        if axis.p is None or axis.q is None:
            raise NotApplicable(family=self.name, why="no closed form of E|X| is known")
        parts, s = self._parts, np.arange(self.dimension + 1)
        t = s[::-1]
        total = axis.p * s / (s + 1) @ parts.ratio(1, 0)
        total += axis.q * t / (t + 1) @ parts.ratio(0, 1)
        return axis.unit * float(total)

    @property
    def _pieces(self) -> _FloatPieces:
        return _float_pieces(self.of)

    @cached_property
    def _parts(self) -> _ShapeMoments:
        return _ShapeMoments(log_volumes=self._pieces.log_volumes, log_moments=self.log_moments)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Axis:
    """The moments of a `Coordinate` as floats.

    p and q are None unless the mean of |x| is known, and is a sum of multiples of P and Q alone.
    """

    unit: float
    pp: NDArray[np.float64]
    pq: NDArray[np.float64]
    qq: NDArray[np.float64]
    p: NDArray[np.float64] | None
    q: NDArray[np.float64] | None

    @classmethod
    def of(cls, coordinate: Coordinate) -> _Axis:
        """Convert the moments of `coordinate` to floats."""
        known = coordinate.apart is not None and all(value.is_zero() for value in coordinate.apart)
        return cls(
            unit=float(coordinate.unit),
            pp=_floats(coordinate.pp),
            pq=_floats(coordinate.pq),
            qq=_floats(coordinate.qq),
            p=_floats(coordinate.p) if known and coordinate.p is not None else None,
            q=_floats(coordinate.q) if known and coordinate.q is not None else None,
        )


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _FloatPieces:
    """A `VolumeSplit` in floats; `log_volumes` has ln(w[s]/(s!t!)) for s = 0 … D, t = D − s.

    `layout` lists the coordinates as in `VolumeSplit`.
    """

    log_volumes: NDArray[np.float64]
    layout: tuple[tuple[tuple[_Axis, ...], int], ...]


@lru_cache(maxsize=16)  # a search tries many laws on one set
def _float_pieces(of: OneSided) -> _FloatPieces:
    """The `VolumeSplit` of the set T = `of`, in floats."""
    with precision(PLAIN_BITS):
        pieces = of.pieces()
        factorials = [ball(s + 1).gamma() for s in range(of.dimension + 1)]
        logs = [
            nearest_log(weight / (a * b))
            for weight, a, b in zip(pieces.weights, factorials, reversed(factorials), strict=True)
        ]
        layout = tuple(
            (tuple(_Axis.of(coordinate) for coordinate in cell), copies)
            for cell, copies in pieces.layout
        )
    return _FloatPieces(log_volumes=np.array(logs), layout=layout)


@final
@dataclass(frozen=True, kw_only=True)
class _ShapeMoments:
    """Moments of A and B by the shape s, computed from logarithms.

    `log_volumes` has ln(w[s]/(s!t!)) for s = 0 … D, and `log_moments` has ln E A^j for j = 0 … D +
    2.
    """

    log_volumes: NDArray[np.float64]
    log_moments: NDArray[np.float64]

    @cached_property
    def log_mass(self) -> float:
        """The logarithm of Σ_s w[s]/(s!t!)·E A^s·E A^t, the normaliser at scale 1; t = D − s."""
        logs = self._logs(0, 0)
        top = float(logs.max())
        return top + math.log(float(np.exp(logs - top).sum()))

    def ratio(self, above: int, below: int) -> NDArray[np.float64]:
        """For each s, the number w[s]/(s!t!)·E A^(s + above)·E A^(t + below) over the mass.

        Here t = D − s, and the mass is the sum of `log_mass`. So the number is the probability of
        the shape s, times the mean of A^above·B^below given s.
        """
        return np.exp(self._logs(above, below) - self.log_mass)

    def _logs(self, above: int, below: int) -> NDArray[np.float64]:
        size = len(self.log_volumes)
        first = self.log_moments[above : above + size]
        second = self.log_moments[below : below + size][::-1]
        return self.log_volumes + first + second


def _floats(values: Balls) -> NDArray[np.float64]:
    return np.array([nearest(value) for value in values])


# The smooth two-sided law: a flat core, and exponential decay beyond it on either side.


TWO_SIDED_LAPLACE_LARGEST_CORE = Fraction(10**9)


@final
@record()
class TwoSidedLaplace(TwoSided):
    """Noise of density ∝ e^(−(P(x)/scale − b)₊ − (Q(x)/scale − b)₊), where b = core.

    P(x) is the gauge of the part of x that is added, and Q(x) the gauge of the part that is
    removed; y₊ = max(y, 0). For counts, these are the positive and the negative part of x. P(x + s)
    <= P(x) + P(s), and the same for Q. So with scale = 1/ε it is ε-DP for every shift s with P(s) +
    Q(s) <= 1: the hull of T and −T, T = of (theory/bodies.md §3). With b = 0 it is `k-norm` on that
    hull.

    Args:
        scale: Scale > 0; 1/ε for shifts in the hull.
        of: The set T of all that a unit can add, such as `Counts(queries=10)`.
        core: Value of P and Q, in scales, up to which the density is flat; 0 <= core <= 1e9.

    Raises:
        InvalidArgument: A parameter is out of its range.

    Source:
        theory/bodies.md §3.

    Examples:
        >>> from leastnoise.guarantees.bodies.counts import Counts
        >>> law = TwoSidedLaplace(scale=1, of=Counts(queries=10), core=0)
        >>> round(law.variance, 9)
        26.0

    """

    name: ClassVar[str] = "two-sided-laplace"
    scale: FractionField = field(converter=SCALE)
    of: OneSided = field(converter=A_ONE_SIDED)
    core: FractionField = field(
        converter=takes(
            exact_where,
            holds=lambda core: 0 <= core <= TWO_SIDED_LAPLACE_LARGEST_CORE,
            expected="0 <= core <= 1e9",
        )
    )
    dimension: int = derived(lambda law: law.of.dimension)

    @classmethod
    def form_of(cls, sensitivity: Sensitivity, *, dimension: int) -> OneSided | None:
        """The set T whose hull with −T is the hull of all shifts; None if no such T is known."""
        hull = sensitivity.body(dimension=dimension)
        return hull.of if isinstance(hull, Signed) else None

    def hides(self, sensitivity: Sensitivity) -> bool:
        """True only if it is proved that P(s) + Q(s) <= 1 for all shifts s of `sensitivity`."""
        hull = sensitivity.body(dimension=self.dimension)
        return hull is not None and Signed(of=self.of).contains(hull)

    @property
    def largest_loss(self) -> Fraction:
        return 1 / self.scale

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        core = float(self.core)
        added, removed = self._sides(points_of(x, dimension=self.dimension))
        return -np.maximum(added - core, 0) - np.maximum(removed - core, 0) - self._log_mass

    @property
    def log_moments(self) -> NDArray[np.float64]:
        """The logarithms of E A^j = j! Σ_{i<=j} b^i/i! for j = 0 … D + 2, where b = core.

        A − b is a standard exponential.
        """
        j = np.arange(self.dimension + 3)
        log_factorials = np.array([math.lgamma(x) for x in range(1, self.dimension + 4)])
        log_core = math.log(self.core) if self.core > 0 else -math.inf
        powers = np.concatenate([[0.0], j[1:] * log_core])
        return log_factorials + np.logaddexp.accumulate(powers - log_factorials)


# The count staircase: steps in P and in Q.


SMALLEST_CORE, TWO_SIDED_STAIRCASE_LARGEST_CORE = Fraction(1, 10**6), Fraction(10**6)


def _decay(decay: Exact, *, name: str, record: TwoSidedStaircase) -> Fraction:
    del name
    d = record.of.dimension
    return step_decay(decay, dimension=d, powers=d + 3)


@final
@record()
class TwoSidedStaircase(TwoSided):
    """Noise of density ∝ e^(−decay·(⌈(P(x)/scale − a)₊⌉ + ⌈(Q(x)/scale − a)₊⌉)), where a = core.

    P(x) is the gauge of the part of x that is added, and Q(x) the gauge of the part that is
    removed; y₊ = max(y, 0). For counts, these are the positive and the negative part of x. A unit
    that is added raises P by at most 1 and lowers Q by at most 1 (scale = 1). So one ceiling moves
    by 0 or 1, the other by 0 or −1, and their sum by at most 1. With decay = ε it is ε-DP for every
    shift in T and in −T, T = of. In general it is *not* ε-DP for other shifts in the hull of T and
    −T. Nor are several independent draws of such laws, for a shift that is spread over them
    (theory/bodies.md §3, §4). Use it for units that are added or removed whole; `TwoSidedLaplace`
    hides the hull as well. For one count and a core of at most 1 it is `staircase`.

    Args:
        scale: Scale > 0; 1 for shifts in T and −T.
        of: The set T of all that a unit can add, such as `Counts(queries=3)`.
        core: Value of P and Q, in scales, up to which the density is flat; 1e-6 <= core <= 1e6.
        decay: Each step is e^−decay times as high as the step before; usually ε.

    Raises:
        InvalidArgument: A parameter is out of its range, or the sums over steps would be too long.

    Source:
        theory/bodies.md §3.

    Examples:
        >>> from leastnoise.guarantees.bodies.counts import Counts
        >>> law = TwoSidedStaircase(scale=1, of=Counts(queries=3), core="1.0926", decay=1)
        >>> round(law.variance, 5)
        4.66132
    """

    name: ClassVar[str] = "two-sided-staircase"
    scale: FractionField = field(converter=SCALE)
    of: OneSided = field(converter=A_ONE_SIDED)
    core: FractionField = field(
        converter=takes(
            exact_where,
            holds=lambda core: SMALLEST_CORE <= core <= TWO_SIDED_STAIRCASE_LARGEST_CORE,
            expected="1e-6 <= core <= 1e6",
        )
    )
    decay: FractionField = field(converter=takes(_decay, of_record=True))
    dimension: int = derived(lambda law: law.of.dimension)

    @classmethod
    def form_of(cls, sensitivity: Sensitivity, *, dimension: int) -> OneSided | None:
        """The set T of all that a unit can add (a removal moves by −T); None if T isn't known."""
        return sensitivity.additions(dimension=dimension)

    def hides(self, sensitivity: Sensitivity) -> bool:
        """True only if it is proved that all shifts of `sensitivity` lie in T or −T.

        It is not enough that they lie in the hull of both.
        """
        added = sensitivity.additions(dimension=self.dimension)
        return added is not None and self.of.contains(added)

    @property
    def largest_loss(self) -> Fraction:
        return self.decay * math.ceil(1 / self.scale)

    def log_density(self, x: ArrayLike) -> NDArray[np.float64]:
        core = float(self.core)
        added, removed = self._sides(points_of(x, dimension=self.dimension))
        steps = np.ceil(np.maximum(added - core, 0)) + np.ceil(np.maximum(removed - core, 0))
        return -float(self.decay) * steps - self._log_mass

    @property
    def log_moments(self) -> NDArray[np.float64]:
        """The logarithms of E A^j for j = 0 … D + 2.

        A = a + k, where a = core and k is geometric: Pr(k >= n) = e^(−decay·n).
        """
        powers = np.arange(self.dimension + 3)
        return log_step_sums(first=float(self.core), decay=float(self.decay), powers=powers)
