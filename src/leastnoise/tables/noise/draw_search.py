"""The search for the noise of a release: queries that share a draw, and the noise of each draw."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, final

from leastnoise.errors import Refused
from leastnoise.guarantees.structured import Linf
from leastnoise.noise.draw import has_quantiles
from leastnoise.noise.question import Question
from leastnoise.noise.registry import family_named
from leastnoise.selection.comparison import Comparison
from leastnoise.selection.constructions import list_constructions
from leastnoise.selection.public import compare_families
from leastnoise.selection.rivals import list_first, list_later, list_quick, may_lead
from leastnoise.tables.noise import budget_shares, shared_draws
from leastnoise.tables.noise.baselines import plain_laplace
from leastnoise.tables.noise.errors import variances
from leastnoise.tables.noise.joint_scaling import Chosen, Offers, scale_jointly

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.mechanism.mechanism import Mechanism
    from leastnoise.noise.base import Noise
    from leastnoise.tables.layout.layout import SpecLayout

_MORE_CELLS = 3  # times as many as a unit moves: see `_moves_far_fewer_cells`
_SAME = 1e-9  # relative difference up to which two variances count as equal

Found = tuple["DrawSearch", "Mechanism", "Noise | None"]
"""A draw, its noise, and the noise before joint scaling (None if it isn't scaled jointly)."""


def search_draws(
    layouts: SpecLayout, *, progress: Callable[[str], object] | None = None
) -> tuple[list[Found], list[Certificate]]:
    """Find the draws of a release with their noise, in the order of their first queries.

    Also returns the certificates of all offers from families that are quick to search, each for a
    draw's own share of the budget. No query gets more noise in a shared draw than in a draw of its
    own. Raises Refused if no noise can serve a query.
    """
    queries, budget, times = (
        budget_shares.list_draw_queries(layouts),
        layouts.spec.budget,
        layouts.spec.compositions,
    )
    search = _Search(progress or (lambda _: None), gaussian=layouts.spec.privacy.rho is not None)
    groups = [shared_draws.DrawGroup(members=(query.index,)) for query in queries]
    alone = [DrawSearch.of(budget, queries, group, times) for group in groups]
    if search.families is not None:  # they are scaled to their parts of ρ later
        return [(draw, search.best(draw), None) for draw in alone], search.certificates
    logs = [search.log_variance(draw) for draw in alone]
    groups = shared_draws.partition(queries, logs, budget, times)
    while True:
        draws = [DrawSearch.of(budget, queries, group, times) for group in groups]
        chosen, splits = _choose_noise(budget, draws, search)
        losing = {
            index
            for draw, mechanism in zip(draws, chosen, strict=True)
            if _has_loser(draw, mechanism, [alone[i] for i in draw.members], search)
            for index in draw.members
        }
        if not losing:
            return list(zip(draws, chosen, splits, strict=True)), search.certificates
        groups = [group for group in groups if not losing.issuperset(group.members)]
        groups += [shared_draws.DrawGroup(members=(index,)) for index in losing]
        groups.sort(key=lambda group: group.members)


@final
@dataclass(frozen=True, kw_only=True)
class DrawSearch:
    """One draw of noise to be found: its queries, and the question that the noise answers."""

    queries: tuple[budget_shares.DrawQuery, ...]
    question: Question

    @classmethod
    def of(
        cls,
        budget: Budget,
        queries: Sequence[budget_shares.DrawQuery],
        group: shared_draws.DrawGroup,
        releases: int,
    ) -> DrawSearch:
        """The draw for a group of queries.

        Each of the `releases` has one such draw, and all together spend the group's share of
        `budget`. For several queries, the question has their joint sensitivity. For a single query
        it has all sensitivities of its layouts, except those that can't give the least noise.
        """
        members = tuple(queries[index] for index in group.members)
        if group.sensitivity is not None:
            offered = (group.sensitivity,)
        else:
            sensitivities = dict.fromkeys(
                moves for bounding in members[0].layouts for moves in bounding.sensitivities
            )
            offered = tuple(
                moves
                for moves in sensitivities
                if not any(_moves_far_fewer_cells(x, moves) for x in sensitivities)
            )
        question = Question(
            budget=budget_shares.share_budget(budget, members),
            sensitivities=offered,
            dimension=sum(query.numbers for query in members),
            compositions=releases,
        )
        return cls(queries=members, question=question)

    @property
    def members(self) -> tuple[int, ...]:
        """The indices of the draw's queries in the release."""
        return tuple(query.index for query in self.queries)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the draw's queries."""
        return tuple(query.label for query in self.queries)

    def variances(self, mechanism: Mechanism) -> list[list[float]]:
        """For each query of the draw, the variances of the numbers of a cell under `mechanism`."""
        by_query: list[list[float]] = []
        first = 0
        for query in self.queries:
            by_query.append(variances(mechanism.certificate, query.layouts[0], first))
            first += query.numbers
        return by_query

    def rank(self, offers: Offers) -> Offers:
        """Sort the offers by their loss: the sum over queries of share·(mean of ln(variance)).

        For a single query, offers that give a number more noise than plain Laplace noise come last.
        """
        laplace = math.inf
        if len(self.queries) == 1:
            least = min(bounding.l1 for bounding in self.queries[0].layouts)
            asked = self.question
            plain = plain_laplace(least, asked.budget, asked.dimension, asked.compositions)
            scale = math.inf if plain is None else float(plain.scale)
            laplace = (
                2 * scale * scale * (1 + _SAME)
            )  # a power would raise an error for a scale of inf

        def find_rank(mechanism: Mechanism) -> tuple[bool, float]:
            by_query = self.variances(mechanism)
            cost = sum(
                float(query.share) * _mean_log(numbers)
                for query, numbers in zip(self.queries, by_query, strict=True)
            )
            return any(variance > laplace for numbers in by_query for variance in numbers), cost

        return tuple(sorted(offers, key=find_rank))


def _moves_far_fewer_cells(moves: Sensitivity, other: Sensitivity) -> bool:
    """True if `moves` lets a unit move under a third of the cells of `other`, by the same amount.

    Then noise for `other` is never the least noise. For a unit that moves k of d cells, noise in
    the shape of a box of all d cells has less variance than noise for k moved cells only if d <
    2.45·k (small ε) or d < 3·k (large ε).
    """
    if not (isinstance(moves, Linf) and isinstance(other, Linf)):
        return False
    same = (moves.bound, moves.whole) == (other.bound, other.whole)
    return same and _MORE_CELLS * moves.l0 < other.l0


def _mean_log(variances: Sequence[float]) -> float:
    # a variance of 0 stands for noise that underflows
    return math.fsum(math.log(max(variance, sys.float_info.min)) for variance in variances) / len(
        variances
    )


@final
class _Search:
    """The offers of noise that were found so far, by question, so that no search is repeated.

    If `families` isn't None, only these families are searched.
    """

    def __init__(self, tell: Callable[[str], object], *, gaussian: bool) -> None:
        self.tell = tell
        self.families = [family_named("gaussian")] if gaussian else None
        self._quick: dict[Question, Comparison] = {}
        self._every: dict[tuple[Question, float], Comparison] = {}

    @property
    def certificates(self) -> list[Certificate]:
        """The certificates of all offers from families that are quick to search."""
        return [
            mechanism.certificate
            for comparison in self._quick.values()
            for mechanism in comparison.mechanisms
        ]

    def quick(self, draw: DrawSearch) -> Offers:
        """The offers for a draw from families that are quick to search."""
        if draw.question not in self._quick:
            self._tell(draw)
            self._quick[draw.question] = _search_quick(draw.question, self.families)
        return draw.rank(self._quick[draw.question].mechanisms)

    def best(self, draw: DrawSearch) -> Mechanism:
        """The best offer that is quick to search. Raises Refused without an offer."""
        offers = self.quick(draw)
        if not offers:
            why = self._quick[draw.question].why_none
            raise Refused(f"The query {', '.join(draw.labels)!r}: {why}")
        return offers[0]

    def every(self, draw: DrawSearch, *, to_beat: float) -> Offers:
        """The quick offers, and offers of families whose error (`mse`) may be below `to_beat`.

        Raises Refused if there is no offer.
        """
        self.quick(draw)
        key = draw.question, to_beat
        if key not in self._every:
            self._tell(draw)
            self._every[key] = _search_later(draw.question, self._quick[draw.question], to_beat)
        comparison = self._every[key]
        if not comparison.mechanisms:
            raise Refused(f"The query {', '.join(draw.labels)!r}: {comparison.why_none}")
        return draw.rank(comparison.mechanisms)

    def log_variance(self, draw: DrawSearch) -> float:
        """The mean of ln(variance) over a cell's numbers, for a draw with only one query.

        The noise is the best offer that is quick to search. The result is ∞ without an offer.
        """
        offers = self.quick(draw)
        return _mean_log(draw.variances(offers[0])[0]) if offers else math.inf

    def _tell(self, draw: DrawSearch) -> None:
        self.tell(f"Finding and proving the least noise for {', '.join(draw.labels)}")


def _choose_noise(
    budget: Budget, draws: Sequence[DrawSearch], search: _Search
) -> tuple[Chosen, Sequence[Noise | None]]:
    """Choose the noise of each draw; return it with the noise before joint scaling.

    If no draw is scaled jointly, each noise before scaling is None. Some noise takes seconds to
    search: the families of `list_later`, and noise that is drawn for each cell separately. It is
    left out at first, and searched only if it might have less variance than all known offers.
    """
    joint = None
    if len(draws) > 1 and budget.delta:
        search.tell("Accounting for all queries together")
        joint = scale_jointly(budget, [search.quick(draw) for draw in draws])
    while joint:
        offers = [
            search.every(draw, to_beat=noise.mse)
            for draw, noise in zip(draws, joint[0], strict=True)
        ]
        if all(
            mechanism.mse < some[0].mse for mechanism, some in zip(joint[0], offers, strict=True)
        ):
            return joint[0], [mechanism.noise for mechanism in joint[1]]
        # Newly found offers have to be beaten, too. That takes budget from the other draws. Their
        # noise grows, so that more families may beat it.
        joint = scale_jointly(budget, offers)
    offers = [search.every(draw, to_beat=math.inf) for draw in draws]
    return tuple(some[0] for some in offers), [None] * len(draws)


def _has_loser(
    draw: DrawSearch, mechanism: Mechanism, alone: Sequence[DrawSearch], search: _Search
) -> bool:
    """True if sharing the draw gives a number of some query more noise than a separate draw."""
    if len(draw.queries) == 1:
        return False
    for query, numbers, apart in zip(draw.queries, draw.variances(mechanism), alone, strict=True):
        offers = search.every(apart, to_beat=math.fsum(numbers) / len(numbers) * query.numbers)
        (least,) = apart.variances(offers[0])
        if any(
            more > variance * (1 + _SAME) for more, variance in zip(numbers, least, strict=True)
        ):
            return True
    return False


def _search_quick(question: Question, families: Sequence[type[Noise]] | None) -> Comparison:
    ways = [
        construction for construction in list_constructions(question) if construction.draws == 1
    ]
    if families is None:
        families = [family for family in list_first() if may_lead(family, question)]
    return compare_families(
        question, families=families, usable=has_quantiles, constructions=ways, to_beat=math.inf
    )


def _search_later(question: Question, known: Comparison, to_beat: float) -> Comparison:
    ways = [construction for construction in list_constructions(question) if construction.draws > 1]
    more = partial(compare_families, question, usable=has_quantiles, to_beat=to_beat)
    quick, later = (
        [family for family in some if may_lead(family, question)]
        for some in (list_quick(), list_later())
    )
    if ways:
        known = more(families=quick, known=known, constructions=ways)
    return more(families=later, known=known)
