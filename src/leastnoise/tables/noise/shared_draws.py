"""Blocks that one draw of noise serves together, because one unit moves them all at once.

Persons that are counted, in all of which a unit may be, are as many counting queries (theory/
bodies.md §3): an added unit moves all of them up, a removed one all of them down, and one replaced
by another any of them either way. So do counts of rows, in cubes or simplices of what a unit adds.
Any blocks that a unit moves within bodies K_i lie together
within (Σ (N_i/r_i)^p)^(1/p) <= 1, for any p >= 1 and Σ r_i^(−p) <= 1 (§2, §7). p = 1 is what shares
of the budget are; beyond it small blocks gain and large ones lose.

What is best is looked for in floats, beside the noise that each block has alone. It is proved
later, and compared with that noise again.

notation: D_i the numbers of block i, D of all; w_i its share of ε and δ; c_i = E U² of a number of
U uniform in K_i, the mean over its numbers; F(D, ε) = E R², R·U the noise in the gauge of a body.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.bodies.together import Jointly, Together
from leastnoise.guarantees.structured import CountingQueries, Within
from leastnoise.guarantees.units import Added
from leastnoise.noise.common import fit as common_fit
from leastnoise.numerics.searches import raise_shares
from leastnoise.tables.layout.layout import share_parts
from leastnoise.tables.layout.limits import FirstCells
from leastnoise.tables.noise.estimates import (
    MOST_ADDED,
    log_of_additions,
    log_of_persons,
    log_radial,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.guarantees.bodies.base import Body
    from leastnoise.guarantees.bodies.counts import Counts
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.layout.layout import LaidOut, Layout

    Floats = NDArray[np.float64]

MOST_BLOCKS = 8  # of a kind: 255 groups of them are looked at
MOST_EPSILON = 30  # beyond it there is hardly any noise
MOST_PERSONS = 30  # numbers together; beyond it spherical noise comes near
_EXPONENTS = tuple(Fraction(n, 4) for n in (5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128))
_RADIUS_UNITS = 10**6  # of radii, rounded up
_ROOM = 1e-5  # of ln(variance), below which a block must stay that would have as much alone


@final
@dataclass(frozen=True, kw_only=True)
class DrawQuery:
    """A query, or a part of one: the ways to bound a unit in it, and its `share` of the budget.

    `index` is its place among all blocks of the release.
    """

    index: int
    ways: tuple[Layout, ...]
    share: Fraction

    @property
    def persons(self) -> bool:
        """True if a unit adds 0 or 1 to each cell, to all of them at most."""
        return self.counting is not None

    @cached_property
    def counting(self) -> Layout | None:
        """The way in which a unit adds 0 or 1 to all cells at most; None if there is none."""
        return next((way for way in self.ways if _fills_cells(way)), None)

    @property
    def name(self) -> str:
        """The name of the query."""
        return self.ways[0].name

    @property
    def label(self) -> str:
        """The label in certificates."""
        return self.ways[0].label

    @property
    def numbers(self) -> int:
        """D_i."""
        return self.ways[0].dimension

    @cached_property
    def shaped(self) -> tuple[Body, Layout] | None:
        """The best of the bodies that a unit is bounded into, and how; None if there is none."""
        found = [(body, way) for way in self.ways for body in way.bodies]
        return min(found, key=lambda pair: pair[0].second_moment, default=None)

    @cached_property
    def additions(self) -> tuple[tuple[Counts, Layout], ...]:
        """What a unit adds to it, with the way in which it is bounded so."""
        found = {added: way for way in reversed(self.ways) for added in way.additions}
        return tuple(found.items())

    @cached_property
    def moment(self) -> float:
        """c_i."""
        return math.inf if self.shaped is None else self.shaped[0].second_moment / self.numbers


def _fills_cells(way: Layout) -> bool:
    return isinstance(way.bounding, FirstCells) and way.bounding.most >= way.cells


def list_blocks(laid: LaidOut) -> tuple[DrawQuery, ...]:
    """Return the blocks of a release that noise is added to, those of one query side by side."""
    found = list[DrawQuery]()
    for query, parts, ranks in zip(laid.spec.query, laid.queries, laid.ranks, strict=True):
        for ways, own in zip(parts, share_parts(parts, ranks), strict=False):
            share = laid.spec.share(query) * own
            found.append(DrawQuery(index=len(found), ways=ways, share=share))
    return tuple(found)


def share_budget(budget: Budget, blocks: Iterable[DrawQuery]) -> Budget:
    """Return the part of the `budget` that one draw for these blocks spends: that of all."""
    return budget.share(sum((block.share for block in blocks), Fraction(0)))


@final
@dataclass(frozen=True, kw_only=True)
class DrawGroup:
    """Blocks of one draw, by index; `sensitivity` is that of all together, if they are several."""

    members: tuple[int, ...]
    sensitivity: Sensitivity | None = None


def partition(
    blocks: Sequence[DrawQuery], logs: Sequence[float], budget: Budget, releases: int = 1
) -> list[DrawGroup]:
    """Return which of `blocks` are best drawn together, in order of their first.

    `logs` are ln of the variance that a number of each has alone, at its share of `budget`, the
    mean over its numbers. Of all partitions in which no block has more noise, the one with the
    least Σ share·ln(variance); each alone where Gaussian noise in all of them has less. Of a series
    `budget` is that of all `releases`, of which the noise of a body has an equal part in each.
    """
    alone = [DrawGroup(members=(block.index,)) for block in blocks]
    one = _part_of(budget, Fraction(1, releases))
    if len(blocks) < 2 or one is None or not np.isfinite(logs).all():
        return alone
    if not 0 < one.epsilon <= MOST_EPSILON:
        return alone
    found, gained = list[DrawGroup](), 0.0
    for kind in _kinds(blocks):
        groups, gain = _best(kind, logs, one)
        found += groups
        gained += gain
    gaussian = _gained_by_gaussians(blocks, logs, budget, releases)
    if gaussian is not None and gaussian > gained:
        return alone
    apart = {block.index for block in blocks}.difference(*(group.members for group in found))
    found += [group for group in alone if group.members[0] in apart]
    return sorted(found, key=lambda group: group.members)


def _kinds(blocks: Sequence[DrawQuery]) -> list[list[DrawQuery]]:
    """Return the blocks that may be drawn together: all, or of many those of persons and of rows.

    So that the groups that are looked at are not too many.
    """
    able = [b for b in blocks if b.persons or b.shaped is not None or b.additions]
    persons = [block for block in able if block.persons]
    kinds = [able] if len(able) <= MOST_BLOCKS else [persons, [b for b in able if not b.persons]]
    return [kind for kind in kinds if 2 <= len(kind) <= MOST_BLOCKS]


def find_layouts(
    blocks: Sequence[DrawQuery], sensitivity: Sensitivity
) -> tuple[Layout, ...] | None:
    """Return a layout of each block, under which `sensitivity` is true of all together.

    None if there are none.
    """
    ways = [block.ways for block in blocks]
    if len(ways) == 1:
        own = next((one for one in ways[0] if sensitivity in one.sensitivities), None)
        return None if own is None else (own,)
    if isinstance(sensitivity, CountingQueries):
        first = tuple(block.counting or block.ways[0] for block in blocks)
        return first if _counting(first) == sensitivity else None
    known = tuple(_found(ways, sensitivity))
    return known if len(known) == len(ways) and same_integers(known) else None


def _found(ways: Sequence[Sequence[Layout]], sensitivity: Sensitivity) -> Iterator[Layout]:
    """Yield of each block a layout that bounds a unit as its part of `sensitivity` says."""
    if isinstance(sensitivity, Added) and isinstance(sensitivity.of, Jointly):
        parts = sensitivity.of.parts
        if len(parts) == len(ways):
            for some, part in zip(ways, parts, strict=True):
                yield from [way for way in some if part in way.additions][:1]
    hull = sensitivity.hull if isinstance(sensitivity, Within) else None
    if isinstance(hull, Together) and len(hull.bodies) == len(ways):
        for some, body in zip(ways, hull.bodies, strict=True):
            yield from [way for way in some if body in way.bodies][:1]


def same_integers(layouts: Iterable[Layout]) -> bool:
    """Whether the integers of all can be on one scale: those of rows are, and persons fit any."""
    return len({one.bits for one in layouts if not isinstance(one.bounding, FirstCells)}) <= 1


_Found = tuple[float, "Sensitivity"]


def _best(
    blocks: Sequence[DrawQuery],
    logs: Sequence[float],
    budget: Budget,
) -> tuple[list[DrawGroup], float]:
    """Return the best groups of two or more blocks, and Σ share·ln(variance) that they gain.

    By dynamic programming over subsets, since each group's gain is its own.
    """
    size = len(blocks)
    gains = dict[int, tuple[float, DrawGroup]]()
    for chosen in range(1, 2**size):
        members = [blocks[i] for i in range(size) if chosen >> i & 1]
        apart = [logs[block.index] for block in members]
        found = _together(members, apart, budget) if len(members) > 1 else None
        if found is not None:
            own = math.fsum(float(b.share) * log for b, log in zip(members, apart, strict=True))
            group = DrawGroup(members=tuple(b.index for b in members), sensitivity=found[1])
            gains[chosen] = (own - found[0], group)
    best: list[tuple[float, list[DrawGroup]]] = [(0.0, [])]
    for chosen in range(1, 2**size):
        first = chosen & -chosen
        some = best[chosen ^ first]  # the first block alone
        for part, (gain, group) in gains.items():
            if part & first and part & chosen == part:
                gain_of_rest, rest = best[chosen ^ part]
                if gain + gain_of_rest > some[0]:
                    some = (gain + gain_of_rest, [*rest, group])
        best.append(some)
    gained, groups = best[-1]
    return groups, gained


def _together(blocks: Sequence[DrawQuery], alone: Sequence[float], budget: Budget) -> _Found | None:
    """Return the least Σ share·ln(variance), and what the blocks have for it; None if one loses."""
    ways = (_cost_of_persons, _cost_of_additions, _cost_of_bodies)
    found = [one for way in ways if (one := way(blocks, alone, budget)) is not None]
    return min(found, key=lambda one: one[0], default=None)


def _cost_of_persons(
    blocks: Sequence[DrawQuery], alone: Sequence[float], budget: Budget
) -> _Found | None:
    """Return what `_together` does of persons that are counted, None of others."""
    if not all(block.persons for block in blocks):
        return None
    numbers, part = sum(block.numbers for block in blocks), _share_of(blocks, budget)
    counting = _counting([block.counting or block.ways[0] for block in blocks])
    if numbers > MOST_PERSONS or counting is None or part is None:
        return None
    log = log_of_persons(numbers, float(part.epsilon), counting.neighbours)
    share = math.fsum(float(block.share) for block in blocks)
    return None if log > min(alone) else (share * log, counting)


def _share_of(blocks: Sequence[DrawQuery], budget: Budget) -> Budget | None:
    """Return the part of `budget` that blocks have together; None if it has too many digits."""
    return _part_of(budget, sum((block.share for block in blocks), Fraction(0)))


def _part_of(budget: Budget, part: Fraction) -> Budget | None:
    try:
        return budget.share(part)
    except InvalidArgument:
        return None


def _counting(layouts: Sequence[Layout]) -> CountingQueries | None:
    """Return what blocks are together, if a unit adds 0 or 1 to each cell of each."""
    most = 0
    for layout in layouts:
        if not isinstance(layout.bounding, FirstCells):
            return None
        most += min(layout.bounding.most, layout.cells)
    return CountingQueries(
        dimension=sum(one.cells for one in layouts),
        max_nonzero=most,
        neighbours=layouts[0].neighbours,
    )


def _cost_of_additions(
    blocks: Sequence[DrawQuery], alone: Sequence[float], budget: Budget
) -> _Found | None:
    """Return what `_together` does of counts that a unit raises all at once, None of others."""
    part, limits = _share_of(blocks, budget), np.array(alone) - _ROOM
    if part is None or any(not block.additions for block in blocks):
        return None
    if sum(block.numbers for block in blocks) > MOST_ADDED:
        return None
    shares = np.array([float(block.share) for block in blocks])
    epsilon = float(part.epsilon)
    begun = [
        min(block.additions, key=lambda one: log_of_additions([one[0]], epsilon)[0])
        for block in blocks
    ]
    best: tuple[float, list[tuple[Counts, Layout]]] | None = None
    for place, block in enumerate(blocks):
        for option in block.additions:
            tried = [*(begun if best is None else best[1])]
            tried[place] = option
            logs = log_of_additions([added for added, _ in tried], epsilon)
            cost = float(shares @ logs)
            fits = (logs <= limits).all() and same_integers(way for _, way in tried)
            if fits and (best is None or cost < best[0]):
                best = cost, tried
    if best is None:
        return None
    parts = [added for added, _ in best[1]]
    return best[0], Added(Jointly(parts=parts, radii=[1] * len(parts), exponent=None))


def _cost_of_bodies(
    blocks: Sequence[DrawQuery], alone: Sequence[float], budget: Budget
) -> _Found | None:
    """Return what `_together` does of blocks that a unit moves within bodies, at the best p.

    p = ∞: the variance of a number is c_i·F(D, ε). Less p: it is r_i² c_i (D_i + 2)/D_i times
    D(D + 1)/ε²·E S^(2/p), S ~ Beta(D_i/p, (D − D_i)/p), and r_i^(−p) is w_i/Σw, or more where the
    block would have more noise than alone.
    """
    part = _share_of(blocks, budget)
    shaped = [block.shaped for block in blocks if block.shaped is not None]
    if part is None or len(shaped) < len(blocks) or not same_integers(way for _, way in shaped):
        return None
    bodies = [body for body, _ in shaped]
    shares = np.array([float(block.share) for block in blocks])
    sizes = np.array([block.numbers for block in blocks], dtype=float)
    logs, limits = np.log([block.moment for block in blocks]), np.array(alone) - _ROOM
    epsilon, d = float(part.epsilon), sizes.sum()
    best: tuple[float, Fraction | None, list[Fraction]] | None = None
    product = logs + log_radial(int(d), epsilon)
    if (product <= limits).all():
        best = (float(shares @ product), None, [Fraction(1)] * len(blocks))
    for exponent in _EXPONENTS:
        p = float(exponent)
        moved = logs + np.log((sizes + 2) / sizes * d * (d + 1)) - 2 * math.log(epsilon)
        moved += _log_share_moment(sizes, d, p)
        parts = raise_shares(shares / shares.sum(), _exp(p / 2 * (moved - limits)))
        if parts is None:
            continue
        cost = float(shares @ (moved - 2 / p * np.log(parts)))
        if best is None or cost < best[0]:
            radii = [_rounded_up(part ** (-1 / p)) for part in parts.tolist()]
            best = (cost, exponent, radii)
    if best is None:
        return None
    return best[0], Within(Together(bodies=bodies, radii=best[2], exponent=best[1]))


def _log_share_moment(sizes: Floats, d: float, p: float) -> Floats:
    """Return ln E S^(2/p) of each block."""
    whole = math.lgamma(d / p) - math.lgamma((d + 2) / p)
    own = [math.lgamma((size + 2) / p) - math.lgamma(size / p) for size in sizes.tolist()]
    return np.array(own) + whole


def _rounded_up(radius: float) -> Fraction:
    return Fraction(math.floor(radius * _RADIUS_UNITS) + 1, _RADIUS_UNITS)


def _gained_by_gaussians(
    blocks: Sequence[DrawQuery], logs: Sequence[float], budget: Budget, releases: int
) -> float | None:
    """Return Σ share·ln(variance) that Gaussian noise in all blocks gains; None if one loses."""
    if not budget.delta:
        return None
    # σ of the draws of one block in all releases, for an l2 norm of 1
    whole = math.log(common_fit.gaussian(1, budget)) + math.log(releases) / 2
    radii = np.log([float(min(way.l2 for way in block.ways)) for block in blocks])
    alone = np.array([logs[block.index] for block in blocks])
    shares = np.array([float(block.share) for block in blocks])
    parts = raise_shares(shares, _exp(2 * (radii + whole) - alone))
    if parts is None:
        return None
    return float(shares @ (alone - 2 * (radii + whole) + np.log(parts)))


def _exp(logs: Floats) -> Floats:
    """Return e^logs, or e where that is more: more than the whole, however much."""
    return np.exp(np.minimum(logs, 1.0))
