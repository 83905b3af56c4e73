"""The search for the noise of a release: which blocks share a draw, and what each draw gets."""

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
from leastnoise.selection.comparison import Comparison
from leastnoise.selection.constructions import list_constructions
from leastnoise.selection.public import compare_families
from leastnoise.selection.rivals import list_first, list_later, list_quick, may_lead
from leastnoise.tables.noise import shared_draws
from leastnoise.tables.noise.baselines import plain_laplace
from leastnoise.tables.noise.errors import variances
from leastnoise.tables.noise.joint_budget import Chosen, Offers, jointly

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leastnoise.certificate.certificate import Certificate
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Sensitivity
    from leastnoise.mechanism.mechanism import Mechanism
    from leastnoise.noise.base import Noise
    from leastnoise.tables.layout.layout import LaidOut

_SAME = 1e-9  # of a variance

Found = tuple["DrawSearch", "Mechanism", "Noise | None"]
"""A draw, its noise, and what that was before the noise of all was scaled down together, if so."""


def search_draws(
    laid: LaidOut, *, progress: Callable[[str], object] | None = None
) -> tuple[list[Found], list[Certificate]]:
    """Return the draws of a release with their noise, in the order of their first blocks.

    And all that was proved on the way at a draw's own share of the budget, to compare with.
    No block has more noise in a draw with others than it would get alone. Raises Refused if no
    noise can serve a block.
    """
    blocks, budget, times = shared_draws.list_blocks(laid), laid.spec.budget, laid.spec.releases
    search = _Search(progress or (lambda _: None))
    groups = [shared_draws.DrawGroup(members=(block.index,)) for block in blocks]
    alone = [DrawSearch.of(budget, blocks, group, times) for group in groups]
    logs = [search.log_variance(draw) for draw in alone]
    groups = shared_draws.partition(blocks, logs, budget, times)
    while True:
        draws = [DrawSearch.of(budget, blocks, group, times) for group in groups]
        chosen, splits = _chosen(budget, draws, search)
        losing = {
            index
            for draw, mechanism in zip(draws, chosen, strict=True)
            if _someone_loses(draw, mechanism, [alone[i] for i in draw.members], search)
            for index in draw.members
        }
        if not losing:
            return list(zip(draws, chosen, splits, strict=True)), search.proved
        groups = [group for group in groups if not losing.issuperset(group.members)]
        groups += [shared_draws.DrawGroup(members=(index,)) for index in losing]
        groups.sort(key=lambda group: group.members)


@final
@dataclass(frozen=True, kw_only=True)
class DrawSearch:
    """One draw of noise to be found: the blocks that it serves, and what it has to hide."""

    blocks: tuple[shared_draws.DrawQuery, ...]
    question: Question

    @classmethod
    def of(
        cls,
        budget: Budget,
        blocks: Sequence[shared_draws.DrawQuery],
        group: shared_draws.DrawGroup,
        releases: int,
    ) -> DrawSearch:
        """Return the draw for a group; a unit moves a block as any of its boundings lets it.

        There is one in each of so many `releases`, which spend the group's part of `budget`.
        """
        own = tuple(blocks[index] for index in group.members)
        if group.sensitivity is not None:
            offered = (group.sensitivity,)
        else:
            found = dict.fromkeys(one for way in own[0].ways for one in way.sensitivities)
            offered = tuple(one for one in found if not any(_says_more(x, one) for x in found))
        question = Question(
            budget=shared_draws.share_budget(budget, own),
            sensitivities=offered,
            dimension=sum(block.numbers for block in own),
            compositions=releases,
        )
        return cls(blocks=own, question=question)

    @property
    def members(self) -> tuple[int, ...]:
        """The blocks by index."""
        return tuple(block.index for block in self.blocks)

    @property
    def labels(self) -> tuple[str, ...]:
        """What its blocks are called."""
        return tuple(block.label for block in self.blocks)

    def variances(self, mechanism: Mechanism) -> list[list[float]]:
        """Return of each block the variance of each number of a cell."""
        found: list[list[float]] = []
        first = 0
        for block in self.blocks:
            found.append(variances(mechanism.certificate, block.ways[0], first))
            first += block.numbers
        return found

    def ranked(self, offers: Offers) -> Offers:
        """Return the offers, those with the least Σ share·ln(variance) first.

        Behind them come those with more noise in some number than plain Laplace noise has.
        """
        laplace = math.inf
        if len(self.blocks) == 1:
            least = min(way.l1 for way in self.blocks[0].ways)
            asked = self.question
            plain = plain_laplace(least, asked.budget, asked.dimension, asked.compositions)
            scale = math.inf if plain is None else float(plain.scale)
            laplace = 2 * scale * scale * (1 + _SAME)  # a power would raise where this is inf

        def rank(mechanism: Mechanism) -> tuple[bool, float]:
            of_blocks = self.variances(mechanism)
            cost = sum(
                float(block.share) * _mean_log(own)
                for block, own in zip(self.blocks, of_blocks, strict=True)
            )
            return any(one > laplace for own in of_blocks for one in own), cost

        return tuple(sorted(offers, key=rank))


def _says_more(one: Sensitivity, other: Sensitivity) -> bool:
    """Return True if a unit moves fewer cells by `one`, and each by as much as by `other`."""
    if not (isinstance(one, Linf) and isinstance(other, Linf)):
        return False
    return one.l0 < other.l0 and (one.bound, one.whole) == (other.bound, other.whole)


def _mean_log(variances: Sequence[float]) -> float:
    # 0 is the variance of noise that never comes
    return math.fsum(math.log(max(one, sys.float_info.min)) for one in variances) / len(variances)


@final
class _Search:
    """The noise that was found for draws: blocks that are alike are one question, searched once."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self.tell = tell
        self._quick: dict[Question, Comparison] = {}
        self._every: dict[tuple[Question, float], Comparison] = {}

    @property
    def proved(self) -> list[Certificate]:
        """The certificates of all candidates that are quick to search."""
        return [one.certificate for found in self._quick.values() for one in found.mechanisms]

    def quick(self, draw: DrawSearch) -> Offers:
        """Return what serves a draw, of what is quick to search."""
        if draw.question not in self._quick:
            self._tell(draw)
            self._quick[draw.question] = _quickly(draw.question)
        return draw.ranked(self._quick[draw.question].mechanisms)

    def every(self, draw: DrawSearch, *, to_beat: float) -> Offers:
        """Return what serves a draw, of all that might have a mean square error below `to_beat`.

        Raises Refused if nothing serves it.
        """
        self.quick(draw)
        key = draw.question, to_beat
        if key not in self._every:
            self._tell(draw)
            self._every[key] = _slowly(draw.question, self._quick[draw.question], to_beat)
        found = self._every[key]
        if not found.mechanisms:
            raise Refused(f"The query {', '.join(draw.labels)!r}: {found.why_none}")
        return draw.ranked(found.mechanisms)

    def log_variance(self, draw: DrawSearch) -> float:
        """Return ln of the variance of a number of the draw's one block, ∞ if nothing serves it."""
        offers = self.quick(draw)
        return _mean_log(draw.variances(offers[0])[0]) if offers else math.inf

    def _tell(self, draw: DrawSearch) -> None:
        self.tell(f"Finding and proving the least noise for {', '.join(draw.labels)}")


def _chosen(
    budget: Budget, draws: Sequence[DrawSearch], search: _Search
) -> tuple[Chosen, Sequence[Noise | None]]:
    """Return the noise of each draw, and what it was before all were scaled down together, if so.

    What takes seconds to search is not scaled together, and is searched only where it might have
    less than all that is known by then: spherical noise of more than one parameter, and noise for
    one number in each of several cells that a unit moves.
    """
    joint = None
    if len(draws) > 1 and budget.delta:
        search.tell("Accounting for all queries together")
        joint = jointly(budget, [search.quick(draw) for draw in draws])
    while joint:
        offers = [
            search.every(draw, to_beat=noise.mse)
            for draw, noise in zip(draws, joint[0], strict=True)
        ]
        if all(one.mse < some[0].mse for one, some in zip(joint[0], offers, strict=True)):
            return joint[0], [one.noise for one in joint[1]]
        # What was found since has to be beaten as well. That leaves others with more noise than
        # before, and so with more that might have less.
        joint = jointly(budget, offers)
    offers = [search.every(draw, to_beat=math.inf) for draw in draws]
    return tuple(some[0] for some in offers), [None] * len(draws)


def _someone_loses(
    draw: DrawSearch, mechanism: Mechanism, alone: Sequence[DrawSearch], search: _Search
) -> bool:
    """Whether a number of one of several blocks has more noise in the draw than alone."""
    if len(draw.blocks) == 1:
        return False
    for block, own, apart in zip(draw.blocks, draw.variances(mechanism), alone, strict=True):
        offers = search.every(apart, to_beat=math.fsum(own) / len(own) * block.numbers)
        (least,) = apart.variances(offers[0])
        if any(more > one * (1 + _SAME) for more, one in zip(own, least, strict=True)):
            return True
    return False


def _quickly(question: Question) -> Comparison:
    ways = [way for way in list_constructions(question) if way.draws == 1]
    first = [family for family in list_first() if may_lead(family, question)]
    return compare_families(
        question, families=first, usable=has_quantiles, constructions=ways, to_beat=math.inf
    )


def _slowly(question: Question, known: Comparison, to_beat: float) -> Comparison:
    ways = [way for way in list_constructions(question) if way.draws > 1]
    more = partial(compare_families, question, usable=has_quantiles, to_beat=to_beat)
    quick, later = (
        [family for family in some if may_lead(family, question)]
        for some in (list_quick(), list_later())
    )
    if ways:
        known = more(families=quick, known=known, constructions=ways)
    return more(families=later, known=known)
