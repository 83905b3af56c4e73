"""What the recipe of one body may ask of those of others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, final

from leastnoise.entropy.lazy import LazyReal
from leastnoise.noise.bodies.sampler.arrange import Joined
from leastnoise.noise.bodies.sampler.reals import Listed, Reals, one_of

if TYPE_CHECKING:
    from leastnoise.entropy.source import Entropy
    from leastnoise.guarantees.bodies.base import Body
    from leastnoise.guarantees.bodies.one_sided import OneSided


Known = TypeVar("Known")


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Moves:
    """How far a point x of T's space is from 0: P(x) and Q(x), and of which shape P is.

    notation: s = shape, t = D − s, P = added, Q = removed as in guarantees/bodies/one_sided.py. P
    counts for nothing where s = 0, and Q where t = 0.
    """

    shape: int
    added: LazyReal
    removed: LazyReal


class Source(ABC):
    """Random points of any body, row by row: one of D coordinates for each number asked for.

    notation: U uniform in K, V = U/N(U), its point on the boundary (theory/bodies.md §1).
    """

    entropy: Entropy

    @abstractmethod
    def surface(self, body: Body, gauges: Reals) -> Reals:
        """Return gauges[r]·V_r."""

    @abstractmethod
    def uniform(self, body: Body, radii: Reals) -> Reals:
        """Return radii[r]·U_r."""

    @abstractmethod
    def falling(self, body: Body, count: int) -> Reals:
        """Return `count` points of density ∝ e^(−N(x))."""

    @abstractmethod
    def sides(self, of: OneSided, moves: Moves, *, inside: bool) -> Reals:
        """Return a random point of T's space with these P and Q.

        If it is `inside`, one uniform among those of this shape up to these P and Q.
        """


def each(rows: Reals, point: Callable[[LazyReal], Reals]) -> Reals:
    """Return point(x) of every x in `rows`, one after the other."""
    return Joined([point(one_of(rows, row)) for row in range(rows.size)])


def alone(number: LazyReal) -> Reals:
    """Return one number as a vector."""
    return Listed([number])


def known(value: object, kind: type[Known]) -> Known:
    """Return `value`, of which the table of recipes has said that it is a `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{type(value).__name__} is not a {kind.__name__}")
    return value
