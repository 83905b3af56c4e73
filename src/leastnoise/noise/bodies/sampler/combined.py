"""Random points of bodies that are composed of others: cells, capped cells, blocks together.

Notation: K is the body, D is its dimension, and N is its gauge. Cell or block i has the dimension
D_i. For a body of capped cells, a unit is in at most k of m cells. M_j is the gauge of cell j of a
point of r·K, divided by r, and q is the dimension of a cell. For blocks together, r_i is the radius
of block i, and p is the exponent that combines the blocks.
"""

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
    as_vector,
    join_columns,
    map_rows,
    scale_by,
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


# Gauges of cells whose sum has a cap.
#
# notation: M_j ~ Beta(q, 1), j = 1 … m, independent, given that their sum is at most k.


_POINTS = 4000  # nodes of the quadratures that choose a proposal, which doesn't affect the law
_TILT = Bisection(halvings=30)
_SLACK = 2.0**-40  # more than the relative rounding error of a comparison of two floats


def draw_capped(entropy: Entropy, *, cells: int, shape: int, cap: int) -> Reals:
    """Draw M_1, …, M_m: independent Beta(q, 1) variables, given that their sum is at most k.

    Here m = `cells`, q = `shape` and k = `cap`. For 1 < k < m it rejects draws of one of two
    proposals until one is accepted; `_plan` chooses the proposal. The first is k·Dirichlet(q, …, q,
    1) without the last entry, accepted if no entry is above 1. The second is M_j with a tilted
    density (`_tilted`), whose sum is near k.
    """
    if cap >= cells:
        return _betas(entropy, cells, shape)
    if cap == 1:
        return _simplex(entropy, cells, shape, cap)
    tilt, from_simplex = _plan(cells, shape, cap)
    while True:
        if from_simplex:
            draws = _simplex(entropy, cells, shape, cap)
            accepted = not np.any(~certainly_below_one(draws))
        else:
            draws = _tilted(entropy, cells, shape, tilt)
            accepted = _sum_accepted(entropy, draws, cap, tilt)
        if accepted:
            return draws


def capped_gauge(parts: Reals, cap: int) -> LazyReal:
    """The gauge of a point of capped cells, max(max_j M_j, Σ_j M_j/k).

    Here M_j = parts[j] are the gauges of its cells, and k = `cap`.
    """

    def gauge(bits: int) -> arb:
        largest = total = ball(0)
        for index in range(parts.size):
            value = parts.enclose(index, bits)
            largest, total = largest.max(value), total + value
        return largest.max(total / cap)

    return LazyFunction(gauge)


def _simplex(entropy: Entropy, cells: int, shape: int, cap: int) -> Reals:
    shares = DirichletShares(np.append(np.full(cells, shape), 1), entropy, kept=cells)
    return scale_by(Fraction(cap), shares)


def _betas(entropy: Entropy, cells: int, shape: int) -> Reals:
    uniforms = Uniforms(cells * shape, entropy)
    return uniforms if shape == 1 else Maxima(uniforms, row=shape)


def _tilted(entropy: Entropy, cells: int, shape: int, tilt: Fraction) -> Reals:
    """Draw independent M_j of density ∝ M^(q−1)·e^(−θM) on (0, 1); q = `shape`, θ = `tilt`.

    Proposals are rejected until each M_j is accepted. For θ <= q they are betas, accepted with
    probability e^(−θM); for larger θ, gammas divided by θ, accepted if below 1.
    """
    if tilt == 0:
        return _betas(entropy, cells, shape)
    batches: list[Reals] = []
    indices = np.empty(cells, dtype=np.int64)
    pending, drawn = np.arange(cells), 0
    while pending.size:
        proposed, accepted = _proposals(entropy, pending.size, shape, tilt)
        batches.append(proposed)
        indices[pending[accepted]] = drawn + np.flatnonzero(accepted)
        drawn += pending.size
        pending = pending[~accepted]
    return Gathered(JoinedReals(batches), indices)


def _proposals(
    entropy: Entropy, count: int, shape: int, tilt: Fraction
) -> tuple[Reals, NDArray[np.bool_]]:
    """Draw `count` proposals for `_tilted`, and flags that are True for the accepted proposals."""
    if tilt > shape:
        gammas = Gammas(count, entropy, shape=shape)
        draws = scale_by(1 / tilt, gammas)
        return draws, certainly_below_one(draws)
    betas = _betas(entropy, count, shape)
    # M < E/θ, E exponential, has probability e^(−θM)
    limits = scale_by(1 / tilt, Gammas(count, entropy, shape=1))
    return betas, _below(betas, limits)


def certainly_below_one(parts: Reals) -> NDArray[np.bool_]:
    """For each number, True if it is below 1; balls decide if floats are too close."""
    limit = Listed([LazyRational(Fraction(1))])
    return _below(parts, Gathered(limit, np.zeros(parts.size, dtype=np.int64)))


def _below(parts: Reals, limits: Reals) -> NDArray[np.bool_]:
    """For each i, True if parts[i] < limits[i]; balls decide if floats are too close."""
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
    """Decide if the M_j are accepted: True if 0 < k − ΣM_j < E/θ for a fresh exponential E.

    Here M_j = parts[j], k = `cap` and θ = `tilt`. So a sum of at most k is accepted with
    probability e^(−θ(k − ΣM_j)); for θ = 0 always.
    """
    limit = scale_by(1 / tilt, Gammas(1, entropy, shape=1)) if tilt else None
    decision = _sum_in_floats(parts, cap, limit)
    if decision is not None:
        return decision

    def question(bits: int) -> bool | None:
        rest = ball(cap) - sum((parts.enclose(i, bits) for i in range(parts.size)), ball(0))
        fits = certainly_less(ball(0), rest)
        if fits is not True or limit is None:
            return fits
        return certainly_less(rest, limit.enclose(0, bits))

    return decide(question)


def _sum_in_floats(parts: Reals, cap: int, limit: Reals | None) -> bool | None:
    """Decide in floats if 0 < k − ΣM_j < limit; None if floats can't decide.

    Here M_j = parts[j] and k = `cap`. `limit` is a vector with one entry; without it, only 0 < k −
    ΣM_j is decided.
    """
    estimates = parts.floats(0, parts.size)
    if estimates.beyond.any():
        return None
    # fsum rounds only once, and each entry has an error of at most `error`
    rest = cap - math.fsum(estimates.values)
    doubt = 1.001 * parts.size * estimates.error + _SLACK * cap
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
    """Return the tilt θ for `_tilted`, and True if the Dirichlet proposal is accepted more often.

    Both are approximate, and affect only speed. With this θ the mean of a tilted M_j is about
    cap/cells; θ is 0 if the mean is at most that without a tilt.
    """
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
    """The approximate mean and variance of a tilted M_j, with the density of `_tilted`."""
    top = min(1.0, (shape + 12 * math.sqrt(shape) + 40) / tilt) if tilt else 1.0
    x = (np.arange(_POINTS) + 0.5) / _POINTS * top
    logs = (shape - 1) * np.log(x) - tilt * x
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = float(weights @ x)
    return mean, float(weights @ (x - mean) ** 2)


# Points of bodies composed of others: cells, at most k cells, several blocks together
# (theory/bodies.md §2).


def cells_falling(source: PointSource, body: Cells, count: int) -> Reals:
    """Draw `count` points of density ∝ e^(−N), independently in each cell.

    N is the sum of the cells' gauges, so cells are independent.
    """
    pairs = zip(body.bodies, body.copies, strict=True)
    return join_columns(
        [source.exponential_points(body_of_cell, count * copies) for body_of_cell, copies in pairs],
        rows=count,
    )


def cells_surface(source: PointSource, body: Cells, gauges: Reals) -> Reals:
    """Draw a point with each gauge in `gauges`: the gauge is divided among the point's cells.

    The shares of the cells are Dirichlet(D_1, D_2, …).
    """
    return _cells(source, body, gauges, _shapes(body))


def cells_uniform(source: PointSource, body: Cells, radii: Reals) -> Reals:
    """Draw a uniform point of R·K for each R in `radii`.

    Cell i of the point has the gauge R·S_i, where (S_1, S_2, …, rest) ~ Dirichlet(D_1, D_2, …, 1),
    and rest = 1 − ΣS_i.
    """
    return _cells(source, body, radii, np.append(_shapes(body), 1))


def _shapes(cells: Cells) -> NDArray[np.int64]:
    return np.repeat([body.dimension for body in cells.bodies], cells.copies)


def _cells(source: PointSource, cells: Cells, wholes: Reals, shapes: NDArray[np.int64]) -> Reals:
    """For each number in `wholes`, draw a point whose cells share the number as their gauges.

    The shares of the cells are Dirichlet(`shapes`). If there is one shape more than cells, the last
    share belongs to no cell.
    """
    rows, count = wholes.size, sum(cells.copies)
    # a single cell has the whole gauge
    if shapes.size == 1:
        return source.surface(cells.bodies[0], wholes)
    # the factor of all cells is known to the accuracy of a float
    factors = as_vector(one_of(wholes, 0)) if rows == 1 else wholes
    shares = DirichletShares(shapes, source.entropy, kept=count, rows=rows)
    gauges = ScaledRows(factors=factors, parts=shares, row=count)
    points, first = [], 0
    for body_of_cell, copies in zip(cells.bodies, cells.copies, strict=True):
        gauges_of_cell = Columns(gauges, first=first, width=copies, row=count)
        points.append(source.surface(body_of_cell, gauges_of_cell))
        first += copies
    return join_columns(points, rows=rows)


def at_most_uniform(source: PointSource, body: AtMost, radii: Reals) -> Reals:
    """Draw a uniform point of R·K for each R in `radii`.

    Cell j is a random boundary point of the cell's body, scaled to the gauge R·M_j, with M_j as in
    `draw_capped`.
    """
    return map_rows(radii, lambda radius: _at_most(source, body, lambda _: radius))


def at_most_surface(source: PointSource, body: AtMost, gauges: Reals) -> Reals:
    """Draw a point with each gauge in `gauges`.

    It is a uniform point of K as in `at_most_uniform`, divided by its gauge and multiplied by the
    given gauge.
    """
    return map_rows(
        gauges,
        lambda gauge: _at_most(
            source,
            body,
            lambda parts: scalars.divide(gauge, capped_gauge(parts, body.most)),
        ),
    )


def _at_most(source: PointSource, body: AtMost, factor: Callable[[Reals], LazyReal]) -> Reals:
    parts = draw_capped(source.entropy, cells=body.cells, shape=body.of.dimension, cap=body.most)
    gauges = ScaledRows(factors=as_vector(factor(parts)), parts=parts, row=body.cells)
    return source.surface(body.of, gauges)


def together_surface(source: PointSource, body: Together, gauges: Reals) -> Reals:
    """Draw a point with each gauge t in `gauges`: block i has the gauge t·r_i·(G_i/ΣG_j)^(1/p).

    Here G_i ~ Gamma(D_i/p) are independent. For p = ∞ a random block i has the gauge t·r_i, and
    each other block j is uniform in t·r_j times its body.
    """

    def point(gauge: LazyReal) -> Reals:
        if body.exponent is None:
            return _product(source, body, gauge, end=_choose_part(source.entropy, body))
        sizes = [part.dimension for part in body.bodies]
        shares = draw_power_shares(source.entropy, sizes, body.exponent)
        parts = zip(body.bodies, body.radii, shares, strict=True)
        return JoinedReals(
            [
                source.surface(
                    part, as_vector(scalars.multiply_by(r, scalars.multiply(gauge, share)))
                )
                for part, r, share in parts
            ]
        )

    return map_rows(gauges, point)


def together_uniform(source: PointSource, body: Together, radii: Reals) -> Reals:
    """Draw a uniform point of R·K for each R in `radii`.

    For p = ∞ the point is uniform in each block. Otherwise it is a boundary point, scaled to a
    random gauge.
    """

    def point(radius: LazyReal) -> Reals:
        if body.exponent is None:
            return _product(source, body, radius, end=None)
        inner = scalars.multiply(radius, scalars.draw_root(source.entropy, body.dimension))
        return together_surface(source, body, as_vector(inner))

    return map_rows(radii, point)


def together_falling(source: PointSource, body: Together, count: int) -> Reals:
    """Draw `count` points of density ∝ e^(−N).

    For p = ∞ they are uniform points with random radii, otherwise boundary points with random
    gauges.
    """
    if body.exponent is None:
        radii = Gammas(count, source.entropy, shape=body.dimension + 1)
        return together_uniform(source, body, radii)
    return together_surface(source, body, Gammas(count, source.entropy, shape=body.dimension))


def _choose_part(entropy: Entropy, body: Together) -> int:
    """Draw the block that is on its boundary for p = ∞: the index i, with probability D_i/D."""
    number = choose_below(entropy, body.dimension)
    for index, part in enumerate(body.bodies):
        number -= part.dimension
        if number < 0:
            return index
    raise AssertionError("the dimensions sum up to D")


def _product(source: PointSource, body: Together, whole: LazyReal, *, end: int | None) -> Reals:
    """Draw a point of a product of blocks, scaled by `whole`; it is uniform in each block.

    If `end` is a block's index, this block is on its boundary instead.
    """
    points = []
    for index, (part, radius) in enumerate(zip(body.bodies, body.radii, strict=True)):
        gauge = as_vector(scalars.multiply_by(radius, whole))
        points.append(source.surface(part, gauge) if index == end else source.uniform(part, gauge))
    return JoinedReals(points)


def draw_power_shares(entropy: Entropy, sizes: Sequence[int], exponent: Fraction) -> list[LazyReal]:
    """Draw the shares (G_i/ΣG_j)^(1/p), where p = `exponent`.

    The G_i ~ Gamma(sizes[i]/p) are independent. A share is 0 for size 0.
    """
    if sum(size > 0 for size in sizes) == 1:
        return [scalars.ONE if size else scalars.ZERO for size in sizes]
    parts = [scalars.draw_gamma(entropy, size / exponent) for size in sizes]
    total = scalars.add(parts)
    return [
        scalars.raise_to(scalars.divide(part, total), 1 / exponent) if size else scalars.ZERO
        for part, size in zip(parts, sizes, strict=True)
    ]
