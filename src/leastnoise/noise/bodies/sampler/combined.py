"""Points of bodies that are made of others, capped ones among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.balls.core import ball
from leastnoise.entropy.lazy import LazyReal, certainly_less, decide
from leastnoise.entropy.scaled import LazyRational
from leastnoise.guarantees.bodies.cells import AtMost, Cells
from leastnoise.guarantees.bodies.together import Together
from leastnoise.noise.bodies.sampler import scalars
from leastnoise.noise.bodies.sampler.arrange import (
    Columns,
    Gathered,
    JoinedReals,
    PointSource,
    ScaledRows,
    alone,
    beside,
    each,
    scaled,
)
from leastnoise.noise.bodies.sampler.reals import (
    DirichletShares,
    Gammas,
    LazyFunction,
    Listed,
    Maxima,
    Reals,
    Uniforms,
    one_of,
)
from leastnoise.noise.bodies.sampler.scalars import choose_below
from leastnoise.numerics.bisection import Bisection

if TYPE_CHECKING:
    from flint import arb
    from numpy.typing import NDArray

    from leastnoise.entropy.source import Entropy


# Gauges of cells that must not sum to more than a cap.
#
# notation: M_j ~ Beta(q, 1), j = 1 … m, independent, given that they sum to k at most.


_POINTS = 4000  # of the quadratures that choose a proposal; what they find changes no law
_TILT = Bisection(halvings=30)
_SLACK = 2.0**-40  # above what the comparison of two floats can lose, relatively


def capped(entropy: Entropy, *, cells: int, shape: int, cap: int) -> Reals:
    """Return the M_j, q = shape, m = cells, k = cap.

    By rejection, of whichever proposal is accepted more often: k·Dirichlet(q, …, q, 1), uniform
    but for the cap, if no entry is above 1; or tilted ones, see `_tilted`, whose sum is near k.
    """
    if cap >= cells:
        return _betas(entropy, cells, shape)
    if cap == 1:
        return _simplex(entropy, cells, shape, cap)
    tilt, from_simplex = _plan(cells, shape, cap)
    while True:
        if from_simplex:
            found = _simplex(entropy, cells, shape, cap)
            accepted = not np.any(~certainly_below_one(found))
        else:
            found = _tilted(entropy, cells, shape, tilt)
            accepted = _sum_accepted(entropy, found, cap, tilt)
        if accepted:
            return found


def find_largest_or_share(parts: Reals, cap: int) -> LazyReal:
    """Return max(max_j M_j, Σ M_j/k)."""

    def gauge(bits: int) -> arb:
        largest = total = ball(0)
        for index in range(parts.size):
            value = parts.enclose(index, bits)
            largest, total = largest.max(value), total + value
        return largest.max(total / cap)

    return LazyFunction(gauge)


def _simplex(entropy: Entropy, cells: int, shape: int, cap: int) -> Reals:
    shares = DirichletShares(np.append(np.full(cells, shape), 1), entropy, kept=cells)
    return scaled(Fraction(cap), shares)


def _betas(entropy: Entropy, cells: int, shape: int) -> Reals:
    uniforms = Uniforms(cells * shape, entropy)
    return uniforms if shape == 1 else Maxima(uniforms, row=shape)


def _tilted(entropy: Entropy, cells: int, shape: int, tilt: Fraction) -> Reals:
    """Return independent M_j of density ∝ M^(q−1) e^(−θM) on (0, 1), θ = tilt.

    Betas, accepted with probability e^(−θM), or gammas over θ, accepted if below 1.
    """
    if tilt == 0:
        return _betas(entropy, cells, shape)
    kept: list[Reals] = []
    places = np.empty(cells, dtype=np.int64)
    pending, drawn = np.arange(cells), 0
    while pending.size:
        proposed, accepted = _proposals(entropy, pending.size, shape, tilt)
        kept.append(proposed)
        places[pending[accepted]] = drawn + np.flatnonzero(accepted)
        drawn += pending.size
        pending = pending[~accepted]
    return Gathered(JoinedReals(kept), places)


def _proposals(
    entropy: Entropy, count: int, shape: int, tilt: Fraction
) -> tuple[Reals, NDArray[np.bool_]]:
    if tilt > shape:
        gammas = Gammas(count, entropy, shape=shape)
        found = scaled(1 / tilt, gammas)
        return found, certainly_below_one(found)
    betas = _betas(entropy, count, shape)
    # M < E/θ, E exponential, has probability e^(−θM)
    limits = scaled(1 / tilt, Gammas(count, entropy, shape=1))
    return betas, _below(betas, limits)


def certainly_below_one(parts: Reals) -> NDArray[np.bool_]:
    """Return whether each is below 1; decided in balls where floats are too close to tell."""
    one = Listed([LazyRational(Fraction(1))])
    return _below(parts, Gathered(one, np.zeros(parts.size, dtype=np.int64)))


def _below(parts: Reals, limits: Reals) -> NDArray[np.bool_]:
    """Return parts[i] < limits[i]; decided in balls where floats are too close to tell."""
    a, b = parts.floats(0, parts.size), limits.floats(0, parts.size)
    gap = b.values - a.values
    doubt = 1.001 * (a.error + b.error) + _SLACK * (a.reach + b.reach)
    answer = gap > 0
    unsure = np.abs(gap) <= doubt
    unsure |= a.beyond | b.beyond
    for index in np.flatnonzero(unsure).tolist():
        answer[index] = decide(
            lambda bits, i=index: certainly_less(parts.enclose(i, bits), limits.enclose(i, bits))
        )
    return answer


def _sum_accepted(entropy: Entropy, parts: Reals, cap: int, tilt: Fraction) -> bool:
    """Return whether 0 < k − ΣM < E/θ, E exponential: so ΣM <= k, with weight e^(−θ(k − ΣM))."""
    limit = scaled(1 / tilt, Gammas(1, entropy, shape=1)) if tilt else None
    found = _sum_in_floats(parts, cap, limit)
    if found is not None:
        return found

    def question(bits: int) -> bool | None:
        rest = ball(cap) - sum((parts.enclose(i, bits) for i in range(parts.size)), ball(0))
        fits = certainly_less(ball(0), rest)
        if fits is not True or limit is None:
            return fits
        return certainly_less(rest, limit.enclose(0, bits))

    return decide(question)


def _sum_in_floats(parts: Reals, cap: int, limit: Reals | None) -> bool | None:
    """Return 0 < k − ΣM < limit; None where floats are too close to tell."""
    found = parts.floats(0, parts.size)
    if found.beyond.any():
        return None
    # fsum rounds but once; each entry may be off by `error`
    rest = cap - math.fsum(found.values)
    doubt = 1.001 * parts.size * found.error + _SLACK * cap
    if abs(rest) <= doubt:
        return None
    if rest < 0 or limit is None:
        return rest > 0
    most = limit.floats(0, 1)
    gap = float(most.values[0]) - rest
    if most.beyond[0] or abs(gap) <= doubt + 1.001 * most.error + _SLACK * most.reach:
        return None
    return gap > 0


@lru_cache(maxsize=256)
def _plan(cells: int, shape: int, cap: int) -> tuple[Fraction, bool]:
    """Return θ, with which E M is about k/m, and whether the simplex is accepted more often."""
    mean = cap / cells
    low, high = 0.0, 2.0 * shape / mean
    if _moments(low, shape)[0] > mean:
        low, _ = _TILT.close(lambda tilt: not _moments(tilt, shape)[0] > mean, low, high)
    tilt = Fraction(low).limit_denominator(100)
    spread = math.sqrt(2 * math.pi * cells * _moments(low, shape)[1])
    by_tilt = 1 / (1 + low * spread)
    x = shape / mean
    tail = math.exp(-x) * sum(x**i / math.factorial(i) for i in range(min(shape, 150)))
    return tilt, math.exp(-cells * tail) > by_tilt


def _moments(tilt: float, shape: int) -> tuple[float, float]:
    """Return mean and variance of a tilted M, about."""
    top = min(1.0, (shape + 12 * math.sqrt(shape) + 40) / tilt) if tilt else 1.0
    x = (np.arange(_POINTS) + 0.5) / _POINTS * top
    logs = (shape - 1) * np.log(x) - tilt * x
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = float(weights @ x)
    return mean, float(weights @ (x - mean) ** 2)


# Points of bodies that are made of others: cells, at most k of them, all together.
#
# notation: the body has dimension D, its parts K_i have D_i (theory/bodies.md §2).


def cells_falling(source: PointSource, body: Cells, count: int) -> Reals:
    """Cell by cell, independently."""
    pairs = zip(body.bodies, body.copies, strict=True)
    return beside([source.falling(one, count * copies) for one, copies in pairs], rows=count)


def cells_surface(source: PointSource, body: Cells, gauges: Reals) -> Reals:
    """Gauges N_i = N·Dirichlet(D_1, …)."""
    return _cells(source, body, gauges, _shapes(body))


def cells_uniform(source: PointSource, body: Cells, radii: Reals) -> Reals:
    """Gauges N_i = R·Dirichlet(D_1, …, 1), without the last."""
    return _cells(source, body, radii, np.append(_shapes(body), 1))


def _shapes(cells: Cells) -> NDArray[np.int64]:
    return np.repeat([one.dimension for one in cells.bodies], cells.copies)


def _cells(source: PointSource, cells: Cells, wholes: Reals, shapes: NDArray[np.int64]) -> Reals:
    rows, count = wholes.size, sum(cells.copies)
    # of one cell, all is its share
    if shapes.size == 1:
        return source.surface(cells.bodies[0], wholes)
    # what all cells share is known as well as a float can be
    factors = alone(one_of(wholes, 0)) if rows == 1 else wholes
    shares = DirichletShares(shapes, source.entropy, kept=count, rows=rows)
    gauges = ScaledRows(factors=factors, parts=shares, row=count)
    found, first = [], 0
    for one, copies in zip(cells.bodies, cells.copies, strict=True):
        own = Columns(gauges, first=first, width=copies, row=count)
        found.append(source.surface(one, own))
        first += copies
    return beside(found, rows=rows)


def at_most_uniform(source: PointSource, body: AtMost, radii: Reals) -> Reals:
    """Gauges R·M_j, where the M_j sum to k at most."""
    return each(radii, lambda radius: _at_most(source, body, lambda _: radius))


def at_most_surface(source: PointSource, body: AtMost, gauges: Reals) -> Reals:
    """Return such points over the gauge that they have together."""
    return each(
        gauges,
        lambda gauge: _at_most(
            source,
            body,
            lambda parts: scalars.divide(gauge, find_largest_or_share(parts, body.most)),
        ),
    )


def _at_most(source: PointSource, body: AtMost, factor: Callable[[Reals], LazyReal]) -> Reals:
    parts = capped(source.entropy, cells=body.cells, shape=body.of.dimension, cap=body.most)
    gauges = ScaledRows(factors=alone(factor(parts)), parts=parts, row=body.cells)
    return source.surface(body.of, gauges)


def together_surface(source: PointSource, body: Together, gauges: Reals) -> Reals:
    """Gauges N_i = N·r_i·(G_i/ΣG)^(1/p), G_i ~ Gamma(D_i/p); for p = ∞ one is at its end."""

    def point(gauge: LazyReal) -> Reals:
        if body.exponent is None:
            return _product(source, body, gauge, end=_by_dimension(source.entropy, body))
        sizes = [one.dimension for one in body.bodies]
        shares = draw_power_shares(source.entropy, sizes, body.exponent)
        own = zip(body.bodies, body.radii, shares, strict=True)
        return JoinedReals(
            [
                source.surface(one, alone(scalars.multiply_by(r, scalars.multiply(gauge, share))))
                for one, r, share in own
            ]
        )

    return each(gauges, point)


def together_uniform(source: PointSource, body: Together, radii: Reals) -> Reals:
    """For p = ∞ the parts' own uniform laws; else a surface within."""

    def point(radius: LazyReal) -> Reals:
        if body.exponent is None:
            return _product(source, body, radius, end=None)
        inner = scalars.multiply(radius, scalars.draw_root(source.entropy, body.dimension))
        return together_surface(source, body, alone(inner))

    return each(radii, point)


def together_falling(source: PointSource, body: Together, count: int) -> Reals:
    """By whichever of the two is plain."""
    if body.exponent is None:
        radii = Gammas(count, source.entropy, shape=body.dimension + 1)
        return together_uniform(source, body, radii)
    return together_surface(source, body, Gammas(count, source.entropy, shape=body.dimension))


def _by_dimension(entropy: Entropy, body: Together) -> int:
    """Return i with probability D_i/D: at a random point of the boundary, which part is there."""
    number = choose_below(entropy, body.dimension)
    for index, one in enumerate(body.bodies):
        number -= one.dimension
        if number < 0:
            return index
    raise AssertionError("the dimensions sum up to D")


def _product(source: PointSource, body: Together, whole: LazyReal, *, end: int | None) -> Reals:
    found = []
    for index, (one, radius) in enumerate(zip(body.bodies, body.radii, strict=True)):
        scaled = alone(scalars.multiply_by(radius, whole))
        found.append(source.surface(one, scaled) if index == end else source.uniform(one, scaled))
    return JoinedReals(found)


def draw_power_shares(entropy: Entropy, sizes: Sequence[int], exponent: Fraction) -> list[LazyReal]:
    """Return (G_i/ΣG)^(1/p), G_i ~ Gamma(sizes[i]/p), p = exponent; 0 for size 0."""
    if sum(size > 0 for size in sizes) == 1:
        return [scalars.ONE if size else scalars.NOTHING for size in sizes]
    parts = [scalars.draw_gamma(entropy, size / exponent) for size in sizes]
    whole = scalars.add(parts)
    return [
        scalars.raise_to(scalars.divide(one, whole), 1 / exponent) if size else scalars.NOTHING
        for one, size in zip(parts, sizes, strict=True)
    ]
