"""Points of bodies that are made of others: cells, at most k of them, all together.

notation: the body has dimension D, its parts K_i have D_i (theory/bodies.md §2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.guarantees.bodies.at_most import AtMost
from leastnoise.guarantees.bodies.cells import Cells
from leastnoise.guarantees.bodies.together import Together
from leastnoise.noise.bodies.sampler import scalars
from leastnoise.noise.bodies.sampler.arrange import Joined, Rows
from leastnoise.noise.bodies.sampler.capped import capped, largest_or_share
from leastnoise.noise.bodies.sampler.choices import below
from leastnoise.noise.bodies.sampler.leaves import Gammas
from leastnoise.noise.bodies.sampler.reals import Estimates, Reals
from leastnoise.noise.bodies.sampler.shares import Shares
from leastnoise.noise.bodies.sampler.source import Source, alone, each, known

if TYPE_CHECKING:
    from flint import arb
    from numpy.typing import NDArray

    from leastnoise.entropy.lazy import LazyReal
    from leastnoise.entropy.source import Entropy
    from leastnoise.guarantees.bodies.base import Body


def cells_falling(source: Source, body: Body, count: int) -> Reals:
    """Cell by cell, independently."""
    cells = known(body, Cells)

    def row() -> Reals:
        pairs = zip(cells.bodies, cells.copies, strict=True)
        return Joined([source.falling(one, copies) for one, copies in pairs])

    return Joined([row() for _ in range(count)])


def cells_surface(source: Source, body: Body, gauges: Reals) -> Reals:
    """Gauges N_i = N·Dirichlet(D_1, …)."""
    cells = known(body, Cells)
    shapes = _shapes(cells)
    return each(gauges, lambda gauge: _cells(source, cells, gauge, shapes))


def cells_uniform(source: Source, body: Body, radii: Reals) -> Reals:
    """Gauges N_i = R·Dirichlet(D_1, …, 1), without the last."""
    cells = known(body, Cells)
    shapes = np.append(_shapes(cells), 1)
    return each(radii, lambda radius: _cells(source, cells, radius, shapes))


def _shapes(cells: Cells) -> NDArray[np.int64]:
    return np.repeat([one.dimension for one in cells.bodies], cells.copies)


def _cells(source: Source, cells: Cells, whole: LazyReal, shapes: NDArray[np.int64]) -> Reals:
    count = sum(cells.copies)
    # of one cell, all is its share
    if shapes.size == 1:
        return source.surface(cells.bodies[0], alone(whole))
    shares = Shares(shapes, source.entropy, kept=count)
    gauges = Rows(factors=alone(whole), parts=shares, row=count)
    found, start = [], 0
    for one, copies in zip(cells.bodies, cells.copies, strict=True):
        found.append(source.surface(one, _Slice(gauges, start, copies)))
        start += copies
    return Joined(found)


@final
class _Slice(Reals):
    """`size` reals from `start` on."""

    def __init__(self, reals: Reals, start: int, size: int) -> None:
        self.size = size
        self._reals, self._start = reals, start

    def floats(self, start: int, stop: int) -> Estimates:
        return self._reals.floats(self._start + start, self._start + stop)

    def enclose(self, index: int, bits: int) -> arb:
        return self._reals.enclose(self._start + index, bits)


def at_most_uniform(source: Source, body: Body, radii: Reals) -> Reals:
    """Gauges R·M_j, where the M_j sum to k at most."""
    found = known(body, AtMost)
    return each(radii, lambda radius: _at_most(source, found, lambda _: radius))


def at_most_surface(source: Source, body: Body, gauges: Reals) -> Reals:
    """Return such points over the gauge that they have together."""
    found = known(body, AtMost)
    return each(
        gauges,
        lambda gauge: _at_most(
            source,
            found,
            lambda parts: scalars.ratio(gauge, largest_or_share(parts, found.most)),
        ),
    )


def _at_most(source: Source, body: AtMost, factor: Callable[[Reals], LazyReal]) -> Reals:
    parts = capped(source.entropy, cells=body.cells, shape=body.of.dimension, cap=body.most)
    gauges = Rows(factors=alone(factor(parts)), parts=parts, row=body.cells)
    return source.surface(body.of, gauges)


def together_surface(source: Source, body: Body, gauges: Reals) -> Reals:
    """Gauges N_i = N·r_i·(G_i/ΣG)^(1/p), G_i ~ Gamma(D_i/p); for p = ∞ one is at its end."""
    found = known(body, Together)

    def point(gauge: LazyReal) -> Reals:
        if found.exponent is None:
            return _product(source, found, gauge, end=_by_dimension(source.entropy, found))
        sizes = [one.dimension for one in found.bodies]
        shares = power_shares(source.entropy, sizes, found.exponent)
        own = zip(found.bodies, found.radii, shares, strict=True)
        return Joined(
            [
                source.surface(one, alone(scalars.times(r, scalars.product(gauge, share))))
                for one, r, share in own
            ]
        )

    return each(gauges, point)


def together_uniform(source: Source, body: Body, radii: Reals) -> Reals:
    """For p = ∞ the parts' own uniform laws; else a surface within."""
    found = known(body, Together)

    def point(radius: LazyReal) -> Reals:
        if found.exponent is None:
            return _product(source, found, radius, end=None)
        inner = scalars.product(radius, scalars.root(source.entropy, found.dimension))
        return together_surface(source, body, alone(inner))

    return each(radii, point)


def together_falling(source: Source, body: Body, count: int) -> Reals:
    """By whichever of the two is plain."""
    found = known(body, Together)
    if found.exponent is None:
        radii = Gammas(count, source.entropy, shape=found.dimension + 1)
        return together_uniform(source, body, radii)
    return together_surface(source, body, Gammas(count, source.entropy, shape=found.dimension))


def _by_dimension(entropy: Entropy, body: Together) -> int:
    """Return i with probability D_i/D: at a random point of the boundary, which part is there."""
    number = below(entropy, body.dimension)
    for index, one in enumerate(body.bodies):
        number -= one.dimension
        if number < 0:
            return index
    raise AssertionError("the dimensions sum up to D")


def _product(source: Source, body: Together, whole: LazyReal, *, end: int | None) -> Reals:
    found = []
    for index, (one, radius) in enumerate(zip(body.bodies, body.radii, strict=True)):
        scaled = alone(scalars.times(radius, whole))
        found.append(source.surface(one, scaled) if index == end else source.uniform(one, scaled))
    return Joined(found)


def power_shares(entropy: Entropy, sizes: Sequence[int], exponent: Fraction) -> list[LazyReal]:
    """Return (G_i/ΣG)^(1/p), G_i ~ Gamma(sizes[i]/p), p = exponent; 0 for size 0."""
    if sum(size > 0 for size in sizes) == 1:
        return [scalars.ONE if size else scalars.NOTHING for size in sizes]
    parts = [scalars.gamma(entropy, size / exponent) for size in sizes]
    whole = scalars.total(parts)
    return [
        scalars.power(scalars.ratio(one, whole), 1 / exponent) if size else scalars.NOTHING
        for one, size in zip(parts, sizes, strict=True)
    ]
