"""Noise that falls with what must be added and with what must be removed, each by itself.

notation: T = of, P and Q as in `guarantees.bodies.one_sided`, D the dimension; a, b the core.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from leastnoise.balls.core import ball, precision
from leastnoise.errors import NotApplicable
from leastnoise.guarantees.bodies.base import BITS, nearest, nearest_log
from leastnoise.noise.body_noise import VectorNoise

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from leastnoise.guarantees.bodies.one_sided import Balls, Coordinate, OneSided


class TwoSided(VectorNoise):
    """Density ∝ h(P(x)/scale)·h(Q(x)/scale), h falling from 1.

    h is a mixture of steps, h(t) = P(t <= A) for a random A; so X is uniform in {P <= A, Q <= B},
    A and B independent but for the weight by volume, Σ_s w[s]·A^s·B^(D−s)/(s!(D − s)!). So all
    moments are sums over s of products of two of E A^j, j = 0 … D + 2.
    """

    form: ClassVar[str] = "of"
    of: OneSided

    @abstractmethod
    def _log_moments(self) -> NDArray[np.float64]:
        """Return ln E A^j for j = 0 … D + 2."""

    def _sides(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        added, removed = self.of.moves(x)
        return added / float(self.scale), removed / float(self.scale)

    @property
    def _log_mass(self) -> float:
        """Ln ∫ h(P)h(Q) dx."""
        return self._parts.log_mass + self.dimension * math.log(float(self.scale))

    @property
    def variances(self) -> NDArray[np.float64]:
        return float(self.scale) ** 2 * self._expanded(self._second)

    @property
    def mean_abses(self) -> NDArray[np.float64]:
        known = all(one.p is not None for cell, _ in self._spread.layout for one in cell)
        return float(self.scale) * self._known(self._expanded(self._first) if known else None)

    def _expanded(self, moment: Callable[[_Axis], float]) -> NDArray[np.float64]:
        cells = self._spread.layout
        return np.concatenate(
            [np.tile([moment(one) for one in cell], copies) for cell, copies in cells]
        )

    def _second(self, one: _Axis) -> float:
        """E X_i²: given s, P = A·Beta(s, 1) and Q = B·Beta(t, 1) are independent."""
        parts, s = self._parts, np.arange(self.dimension + 1)
        t = s[::-1]
        total = one.pp * s / (s + 2) @ parts.ratio(2, 0)
        total += one.pq * s / (s + 1) * t / (t + 1) @ parts.ratio(1, 1)
        total += one.qq * t / (t + 2) @ parts.ratio(0, 2)
        return one.unit**2 * float(total)

    def _first(self, one: _Axis) -> float:
        if one.p is None or one.q is None:
            raise NotApplicable(family=self.name, why="no closed form of E|X| is known")
        parts, s = self._parts, np.arange(self.dimension + 1)
        t = s[::-1]
        total = one.p * s / (s + 1) @ parts.ratio(1, 0)
        total += one.q * t / (t + 1) @ parts.ratio(0, 1)
        return one.unit * float(total)

    @property
    def _spread(self) -> _Spread:
        return _spread_of(self.of)

    @cached_property
    def _parts(self) -> _Parts:
        return _Parts(log_volumes=self._spread.log_volumes, log_moments=self._log_moments())


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Axis:
    """A `Coordinate` in floats; p and q are None where E|x| has no closed form here."""

    unit: float
    pp: NDArray[np.float64]
    pq: NDArray[np.float64]
    qq: NDArray[np.float64]
    p: NDArray[np.float64] | None
    q: NDArray[np.float64] | None

    @classmethod
    def of(cls, one: Coordinate) -> _Axis:
        """Return `one` in floats."""
        known = one.apart is not None and all(value.is_zero() for value in one.apart)
        return cls(
            unit=float(one.unit),
            pp=_floats(one.pp),
            pq=_floats(one.pq),
            qq=_floats(one.qq),
            p=_floats(one.p) if known and one.p is not None else None,
            q=_floats(one.q) if known and one.q is not None else None,
        )


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class _Spread:
    """`Pieces` in floats: the logarithms of w[s]/(s!(D − s)!), and the coordinates."""

    log_volumes: NDArray[np.float64]
    layout: tuple[tuple[tuple[_Axis, ...], int], ...]


@lru_cache(maxsize=16)  # a search tries many laws on one set
def _spread_of(of: OneSided) -> _Spread:
    with precision(BITS):
        pieces = of.pieces()
        factorials = [ball(s + 1).gamma() for s in range(of.dimension + 1)]
        logs = [
            nearest_log(weight / (a * b))
            for weight, a, b in zip(pieces.weights, factorials, reversed(factorials), strict=True)
        ]
        layout = tuple(
            (tuple(_Axis.of(one) for one in cell), copies) for cell, copies in pieces.layout
        )
    return _Spread(log_volumes=np.array(logs), layout=layout)


@final
@dataclass(frozen=True, kw_only=True)
class _Parts:
    """The logarithms of w[s]/(s!(D − s)!) and of E A^j."""

    log_volumes: NDArray[np.float64]
    log_moments: NDArray[np.float64]

    @cached_property
    def log_mass(self) -> float:
        """The logarithm of Σ_s w[s]/(s!t!)·E A^s·E A^t."""
        logs = self._logs(0, 0)
        top = float(logs.max())
        return top + math.log(float(np.exp(logs - top).sum()))

    def ratio(self, above: int, below: int) -> NDArray[np.float64]:
        """Return w[s]/(s!t!)·E A^(s + above)·E A^(t + below) over the mass, by s."""
        return np.exp(self._logs(above, below) - self.log_mass)

    def _logs(self, above: int, below: int) -> NDArray[np.float64]:
        size = len(self.log_volumes)
        first = self.log_moments[above : above + size]
        second = self.log_moments[below : below + size][::-1]
        return self.log_volumes + first + second


def _floats(values: Balls) -> NDArray[np.float64]:
    return np.array([nearest(value) for value in values])
