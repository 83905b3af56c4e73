"""Groups of queries that share a draw of noise, because one unit moves them all at once.

Counts of persons are counting queries that one unit may all move (theory/bodies.md §3): an added
unit raises them, a removed unit lowers them, and a replaced unit may do both. For counts of rows
this holds, too: the shifts are in cubes or simplices. If a unit moves each query i within a body
K_i, then it moves all queries within the set (Σ (N_i/r_i)^p)^(1/p) <= 1. Here N_i is the gauge of
K_i, and any p >= 1 and r_i are allowed with Σ r_i^(−p) <= 1 (§2, §7). p = 1 corresponds to shares
of the budget; with larger p small queries gain and large queries lose.

The search compares estimates in floats with the noise of separate draws. Its result is proved
later, and then compared again.

Notation: D_i is the count of the numbers of query i, and D their sum; w_i is the query's share of ε
and δ. c_i is the mean square of a number of a uniform point in K_i, averaged over its numbers.
Noise in the gauge of a body is R times a uniform point of the body; F(D, ε) is the least mean of R²
among ε-private noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.bodies.together import Jointly, Together
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.structured import CountingQueries, Within
from leastnoise.guarantees.units import Added
from leastnoise.noise.common import fit as common_fit
from leastnoise.numerics.searches import raise_shares
from leastnoise.tables.layout.boundings.once_in_cells import OnceInCells
from leastnoise.tables.noise.budget_shares import DrawQuery
from leastnoise.tables.noise.estimates import (
    MOST_ADDED,
    log_of_additions,
    log_of_persons,
    log_radial,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from leastnoise.guarantees.bodies.counts import Counts
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.tables.layout.layout import Layout

    Floats = NDArray[np.float64]

MOST_QUERIES = 8  # queries of one kind: 255 groups to compare
MOST_EPSILON = 30  # above this ε there is hardly any noise
MOST_PERSONS = 30  # numbers together; above it spherical noise is nearly as good
_EXPONENTS = tuple(Fraction(n, 4) for n in (5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128))
_RADIUS_UNITS = 10**6  # radii are rounded up to whole multiples of one over this number
_ROOM = 1e-5  # least gain in ln(variance) over a separate draw: more than the errors of floats


@final
@dataclass(frozen=True, kw_only=True)
class DrawGroup:
    """Indices of queries that share a draw, and their joint `sensitivity` if there are several."""

    members: tuple[int, ...]
    sensitivity: Sensitivity | None = None


def partition(
    queries: Sequence[DrawQuery], logs: Sequence[float], budget: Budget, releases: int = 1
) -> list[DrawGroup]:
    """Find the groups of queries that are best drawn together, sorted by their first member.

    `logs` has, for each query, the mean of ln(variance) over its numbers, in a separate draw at its
    share of `budget`. Of the groups within the lists of `_split_kinds`, the result is the partition
    with the least Σ share·ln(variance) in which no query gets more noise than in a separate draw.
    Queries stay separate if Gaussian noise in all of them gives a smaller sum, or if one release
    has ε = 0 or ε above MOST_EPSILON. In a series, `budget` is for all `releases`, and noise of a
    body gets an equal part for each.
    """
    alone = [DrawGroup(members=(query.index,)) for query in queries]
    release_budget = _part_of(budget, Fraction(1, releases))
    if len(queries) < 2 or release_budget is None or not np.isfinite(logs).all():
        return alone
    if not 0 < release_budget.epsilon <= MOST_EPSILON:
        return alone
    shared, gained = list[DrawGroup](), 0.0
    for kind in _split_kinds(queries):
        groups, gain = _best_groups(kind, logs, release_budget)
        shared += groups
        gained += gain
    gaussian = _gaussian_gain(queries, logs, budget, releases)
    if gaussian is not None and gaussian > gained:
        return alone
    unshared = {query.index for query in queries}.difference(*(group.members for group in shared))
    shared += [group for group in alone if group.members[0] in unshared]
    return sorted(shared, key=lambda group: group.members)


def _split_kinds(queries: Sequence[DrawQuery]) -> list[list[DrawQuery]]:
    """The lists of queries in which groups are searched: all, or persons and rows separately.

    With many queries, separate lists keep the number of possible groups small. A list of more than
    `MOST_QUERIES` queries is left out, so that these queries share no draw.
    """
    able = [query for query in queries if query.persons or query.shaped or query.additions]
    kinds = [able]
    if len(able) > MOST_QUERIES:
        rows = [query for query in able if not query.persons]
        kinds = [[query for query in able if query.persons], rows]
    return [kind for kind in kinds if 2 <= len(kind) <= MOST_QUERIES]


def find_layouts(
    queries: Sequence[DrawQuery], sensitivity: Sensitivity
) -> tuple[Layout, ...] | None:
    """A layout for each query, so that `sensitivity` holds for all queries together.

    None if no such layouts are found.
    """
    options = [query.layouts for query in queries]
    if len(options) == 1:
        match = next((layout for layout in options[0] if sensitivity in layout.sensitivities), None)
        return None if match is None else (match,)
    if isinstance(sensitivity, CountingQueries):
        first = tuple(query.counting or query.layouts[0] for query in queries)
        return first if _join_counts(first) == sensitivity else None
    known = tuple(_match_layouts(options, sensitivity))
    return known if len(known) == len(options) and same_integers(known) else None


def _match_layouts(
    options: Sequence[Sequence[Layout]], sensitivity: Sensitivity
) -> Iterator[Layout]:
    """Yield, for each query, a layout whose shifts lie in the query's part of `sensitivity`.

    `options` has the layouts of each query. A query for which no layout fits is skipped.
    """
    if isinstance(sensitivity, Added) and isinstance(sensitivity.of, Jointly):
        parts = sensitivity.of.parts
        if len(parts) == len(options):
            for layouts, part in zip(options, parts, strict=True):
                yield from [layout for layout in layouts if part in layout.additions][:1]
    hull = sensitivity.hull if isinstance(sensitivity, Within) else None
    if isinstance(hull, Together) and len(hull.bodies) == len(options):
        for layouts, body in zip(options, hull.bodies, strict=True):
            yield from [layout for layout in layouts if body in layout.bodies][:1]


def same_integers(layouts: Iterable[Layout]) -> bool:
    """True if the integers of all layouts can have the same scale.

    Counts of persons fit every scale, since they are whole.
    """
    rows = (layout for layout in layouts if not isinstance(layout.bounding, OnceInCells))
    return len({layout.bits for layout in rows}) <= 1


_Joint = tuple[float, "Sensitivity"]
"""The cost Σ share·ln(variance) of a joint draw, and the joint sensitivity of its queries."""


def _best_groups(
    queries: Sequence[DrawQuery],
    logs: Sequence[float],
    budget: Budget,
) -> tuple[list[DrawGroup], float]:
    """The best groups of two or more queries, and their total gain over separate draws.

    The gain of a group is the decrease of Σ share·ln(variance). The search is dynamic programming
    over subsets, because the gains of groups are independent.
    """
    size = len(queries)
    gains = dict[int, tuple[float, DrawGroup]]()
    for chosen in range(1, 2**size):
        members = [queries[i] for i in range(size) if chosen >> i & 1]
        separate = [logs[query.index] for query in members]
        joint = _find_joint(members, separate, budget) if len(members) > 1 else None
        if joint is not None:
            pairs = zip(members, separate, strict=True)
            cost = math.fsum(float(query.share) * log for query, log in pairs)
            indices = tuple(query.index for query in members)
            gains[chosen] = (cost - joint[0], DrawGroup(members=indices, sensitivity=joint[1]))
    best: list[tuple[float, list[DrawGroup]]] = [(0.0, [])]
    for chosen in range(1, 2**size):
        first = chosen & -chosen
        candidate = best[chosen ^ first]  # leaves the first query in a separate draw
        for part, (gain, group) in gains.items():
            if part & first and part & chosen == part:
                gain_of_rest, rest = best[chosen ^ part]
                if gain + gain_of_rest > candidate[0]:
                    candidate = (gain + gain_of_rest, [*rest, group])
        best.append(candidate)
    gained, groups = best[-1]
    return groups, gained


def _find_joint(
    queries: Sequence[DrawQuery], alone: Sequence[float], budget: Budget
) -> _Joint | None:
    """The least Σ share·ln(variance) of a joint draw, and its sensitivity.

    None if no known joint draw serves these queries without more noise for one of them. `alone` has
    ln of the variance of each query in a separate draw.
    """
    methods = (_cost_of_persons, _cost_of_additions, _cost_of_bodies)
    joints = (method(queries, alone, budget) for method in methods)
    return min(filter(None, joints), key=lambda joint: joint[0], default=None)


def _cost_of_persons(
    queries: Sequence[DrawQuery], alone: Sequence[float], budget: Budget
) -> _Joint | None:
    """The result of `_find_joint` for queries that all count persons.

    None for other queries, for too many numbers, or if a query would have more noise than
    separately.
    """
    if not all(query.persons for query in queries):
        return None
    numbers, part = sum(query.numbers for query in queries), _share_of(queries, budget)
    counting = _join_counts([query.counting or query.layouts[0] for query in queries])
    if numbers > MOST_PERSONS or counting is None or part is None:
        return None
    log = log_of_persons(numbers, float(part.epsilon), counting.neighbours)
    share = math.fsum(float(query.share) for query in queries)
    return None if log > min(alone) else (share * log, counting)


def _share_of(queries: Sequence[DrawQuery], budget: Budget) -> Budget | None:
    """The sum of the queries' shares of `budget`; None if its ε or δ would have too many digits."""
    return _part_of(budget, sum((query.share for query in queries), Fraction(0)))


def _part_of(budget: Budget, part: Fraction) -> Budget | None:
    try:
        return budget.share(part)
    except InvalidArgument:
        return None


def _join_counts(layouts: Sequence[Layout]) -> CountingQueries | None:
    """The joint counting queries; None unless a unit adds 0 or 1 to each cell of every layout."""
    most = 0
    for layout in layouts:
        if not isinstance(layout.bounding, OnceInCells):
            return None
        most += min(layout.bounding.most, layout.cells)
    return CountingQueries(
        dimension=sum(layout.cells for layout in layouts),
        max_nonzero=most,
        neighbours=layouts[0].neighbours,
    )


def _cost_of_additions(
    queries: Sequence[DrawQuery], alone: Sequence[float], budget: Budget
) -> _Joint | None:
    """The result of `_find_joint` for counts that a unit raises together.

    None for other queries, for too many numbers, if sums have different scales, or if a query would
    have more noise than separately. The sets in `additions` are tried for one query after another.
    """
    part, limits = _share_of(queries, budget), np.array(alone) - _ROOM
    if part is None or any(not query.additions for query in queries):
        return None
    if sum(query.numbers for query in queries) > MOST_ADDED:
        return None
    shares = np.array([float(query.share) for query in queries])
    epsilon = float(part.epsilon)
    start = [
        min(query.additions, key=lambda pair: log_of_additions([pair[0]], epsilon)[0])
        for query in queries
    ]
    best: tuple[float, list[tuple[Counts, Layout]]] | None = None
    for index, query in enumerate(queries):
        for option in query.additions:
            trial = [*(start if best is None else best[1])]
            trial[index] = option
            logs = log_of_additions([added for added, _ in trial], epsilon)
            cost = float(shares @ logs)
            fits = (logs <= limits).all() and same_integers(layout for _, layout in trial)
            if fits and (best is None or cost < best[0]):
                best = cost, trial
    if best is None:
        return None
    parts = [added for added, _ in best[1]]
    return best[0], Added(Jointly(parts=parts, radii=[1] * len(parts), exponent=None))


def _cost_of_bodies(
    queries: Sequence[DrawQuery], alone: Sequence[float], budget: Budget
) -> _Joint | None:
    """The result of `_find_joint` for queries that a unit moves in bodies, at the best exponent p.

    With p = ∞ the variance of a number is c_i·F(D, ε). With finite p it is r_i² c_i (D_i + 2)/D_i
    times D(D + 1)/ε²·E S^(2/p), where E is the mean over S ~ Beta(D_i/p, (D − D_i)/p). r_i^(−p) is
    proportional to w_i, or larger where the query would otherwise have more noise than in a
    separate draw. None if some query has no body, if sums have different scales, or if for every p
    some query would have more noise than separately.
    """
    part = _share_of(queries, budget)
    shaped = [query.shaped for query in queries if query.shaped is not None]
    if (
        part is None
        or len(shaped) < len(queries)
        or not same_integers(layout for _, layout in shaped)
    ):
        return None
    bodies = [body for body, _ in shaped]
    shares = np.array([float(query.share) for query in queries])
    sizes = np.array([query.numbers for query in queries], dtype=float)
    logs, limits = np.log([query.moment for query in queries]), np.array(alone) - _ROOM
    epsilon, d = float(part.epsilon), sizes.sum()
    best: tuple[float, Fraction | None, list[Fraction]] | None = None
    product = logs + log_radial(int(d), epsilon)
    if (product <= limits).all():
        best = (float(shares @ product), None, [Fraction(1)] * len(queries))
    for exponent in _EXPONENTS:
        p = float(exponent)
        moved = logs + np.log((sizes + 2) / sizes * d * (d + 1)) - 2 * math.log(epsilon)
        moved += _log_share_moment(sizes, d, p)
        parts = raise_shares(shares / shares.sum(), _exp(p / 2 * (moved - limits)))
        if parts is None:
            continue
        cost = float(shares @ (moved - 2 / p * np.log(parts)))
        if best is None or cost < best[0]:
            radii = [_round_up(part ** (-1 / p)) for part in parts.tolist()]
            best = (cost, exponent, radii)
    if best is None:
        return None
    return best[0], Within(Together(bodies=bodies, radii=best[2], exponent=best[1]))


def _log_share_moment(sizes: Floats, d: float, p: float) -> Floats:
    """The value of ln E S^(2/p) for each query; E and S are as in `_cost_of_bodies`."""
    whole = math.lgamma(d / p) - math.lgamma((d + 2) / p)
    parts = [math.lgamma((size + 2) / p) - math.lgamma(size / p) for size in sizes.tolist()]
    return np.array(parts) + whole


def _round_up(radius: float) -> Fraction:
    return Fraction(math.floor(radius * _RADIUS_UNITS) + 1, _RADIUS_UNITS)


def _gaussian_gain(
    queries: Sequence[DrawQuery], logs: Sequence[float], budget: Budget, releases: int
) -> float | None:
    """The gain in Σ share·ln(variance) of Gaussian noise in all queries over separate draws.

    None if δ = 0, or if a query would have more noise than in its separate draw.
    """
    if not budget.delta:
        return None
    # ln σ of a draw in each of all releases, for an l2 norm of 1
    whole = math.log(common_fit.gaussian(1, budget)) + math.log(releases) / 2
    radii = np.log([float(min(layout.l2 for layout in query.layouts)) for query in queries])
    alone = np.array([logs[query.index] for query in queries])
    shares = np.array([float(query.share) for query in queries])
    parts = raise_shares(shares, _exp(2 * (radii + whole) - alone))
    if parts is None:
        return None
    return float(shares @ (alone - 2 * (radii + whole) + np.log(parts)))


def _exp(logs: Floats) -> Floats:
    """e^logs, capped at e: any share above 1 is impossible, so larger values don't matter."""
    return np.exp(np.minimum(logs, 1.0))
