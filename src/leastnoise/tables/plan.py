"""What a release will do and how well, decided from the spec alone: no row is read."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from leastnoise import _words
from leastnoise._notebooks import Framed, Shown
from leastnoise.certificate.plan import COMPOSED, RULE, PlanCertificate
from leastnoise.errors import Refused
from leastnoise.guarantees.exact import printed_at_least
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.noise.loss import Loss
from leastnoise.noise.quantiles import has_quantiles
from leastnoise.selection.comparison import Comparison
from leastnoise.selection.fit import Problem
from leastnoise.selection.public import compared
from leastnoise.selection.rivals import draws_of, first, later, quick
from leastnoise.tables import together
from leastnoise.tables.accuracy import Wish, wishes
from leastnoise.tables.baselines import Baselines
from leastnoise.tables.joint import Chosen, Offers, jointly
from leastnoise.tables.layout import (
    MAX_BITS,
    Layout,
    of_block,
)
from leastnoise.tables.noise_error import (
    ExpectedError,
    NoiseError,
    check_range,
    expected_errors,
)
from leastnoise.tables.plan_record import (
    block_record,
    notes_of,
    of_split,
    plan_record,
    relative_to,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leastnoise._notebooks import Columns
    from leastnoise.guarantees.budget import Budget
    from leastnoise.noise.base import Noise
    from leastnoise.tables.spec import Spec

_ERRORS = ("std", "half_width_95", "plain_laplace_std", "plain_gaussian_std")
JOIN = "+"  # between the names of blocks that share a draw; no name has it
Layouts = tuple[Layout, ...]
"""Those of one block, one for each way to bound a unit."""

# A release cuts values off at 2^61 steps of its grid. On this one that is at 2^39 rows, and the
# integers that a block sums, of at most 22 bits, are on it.
FINEST_GRID = Fraction(1, 2**MAX_BITS)


@final
@dataclass(frozen=True, kw_only=True)
class BlockPlan:
    """One query block: its layout, its part of the budget, its noise and what to expect of it.

    `split` is there if all blocks meet the budget together: the same noise as large as it would be
    if this one met its part alone. `group` names the blocks that share one draw of the noise, of
    whose coordinates this one's begin at `first`.
    """

    layout: Layout
    group: tuple[str, ...]
    first: int
    budget: Budget
    mechanism: Mechanism
    baselines: Baselines
    split: Noise | None = None

    @property
    def name(self) -> str:
        """The name of the block and of its table."""
        return self.layout.name

    @property
    def noise_error(self) -> NoiseError:
        """The error of each of its numbers, in units of what they are scaled by."""
        return NoiseError.of(self.mechanism.certificate, self.first)

    @property
    def errors(self) -> tuple[ExpectedError, ...]:
        """The expected errors, the same in every cell: of a mean one for each assumed size."""
        return expected_errors(self.layout, self.noise_error, self.baselines)

    @property
    def wishes(self) -> tuple[Wish, ...]:
        """What the block wishes of its errors, and whether it is met."""
        return wishes(self.layout, self.errors)

    @property
    def saved(self) -> float | None:
        """The part of the variance of spherical noise that the geometry saves, None without one."""
        return self.baselines.saved(of_split(self.mechanism.certificate, self.split), self.first)

    @property
    def relative_to_split(self) -> float | None:
        """The error over that of `split`, None without it."""
        return relative_to(self.mechanism.certificate, self.split)

    def to_record(self) -> dict[str, Any]:
        """Return the block as JSON values."""
        certificate = self.mechanism.certificate
        return block_record(
            self.layout,
            group=self.group,
            first=self.first,
            certificate=certificate,
            baselines=self.baselines,
            split=self.split,
        )


@final
@dataclass(frozen=True, kw_only=True)
class Plan(Framed, Shown):
    """A whole release before it happens; everything in it is public.

    As a frame it has a row an expected error, the same in every cell of a query, with the columns
    `query`, `statistic`, `rows` (assumed of a group, for a mean), `cells`, `noise`, `epsilon` and
    `delta` (what the noise is worth alone), and in the statistic's own units `std`,
    `half_width_95`, `plain_laplace_std` and `plain_gaussian_std` (missing where there is none).
    """

    budget: Budget
    unit: str
    blocks: tuple[BlockPlan, ...]

    def __repr__(self) -> str:
        names = [block.name for block in self.blocks]
        queries = _words.counted(len(names), "query", "queries")
        said = _words.private(self.budget.epsilon, self.budget.delta)
        return _words.line(
            "Plan", f"{queries}, {said} for each {self.unit}: {_words.listed(names)}"
        )

    def _columns(self) -> Columns:
        rows = [(block, error) for block in self.blocks for error in block.errors]
        budgets = [block.mechanism.certificate.budget for block, _ in rows]
        return {
            "query": [block.name for block, _ in rows],
            "statistic": [error.statistic for _, error in rows],
            "rows": [error.rows for _, error in rows],
            "cells": [block.layout.cells for block, _ in rows],
            "noise": [block.mechanism.noise.name for block, _ in rows],
            "epsilon": [printed_at_least(budget.epsilon) for budget in budgets],
            "delta": [printed_at_least(budget.delta) for budget in budgets],
            **{name: [getattr(error, name) for _, error in rows] for name in _ERRORS},
        }

    def _tables(self) -> dict[str, Columns]:
        return {"": self._columns()}

    @property
    def certificate(self) -> PlanCertificate:
        """The proof of the whole release: each block's, and of all together."""
        draws = {name_of(block.group): block.mechanism.certificate for block in self.blocks}
        return PlanCertificate.prove(budget=self.budget, blocks=tuple(draws.items()))

    @property
    def draws(self) -> tuple[tuple[BlockPlan, ...], ...]:
        """The blocks, those of one draw of noise together."""
        groups = dict.fromkeys(block.group for block in self.blocks)
        return tuple(
            tuple(block for block in self.blocks if block.group == group) for group in groups
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What the numbers don't say."""
        joint = self.blocks[0].split is not None
        layouts = [block.layout for block in self.blocks]
        return notes_of(layouts, self.budget, COMPOSED if joint else RULE)

    def to_record(self) -> dict[str, Any]:
        """Return the plan as JSON values; privacy numbers are exact texts."""
        layouts = [block.layout for block in self.blocks]
        records = [block.to_record() for block in self.blocks]
        return plan_record(self.certificate, self.unit, layouts, records)

    def to_json(self) -> str:
        """Return the plan as JSON text."""
        return json.dumps(self.to_record(), indent=2, allow_nan=False)


def plan(spec: Spec, *, progress: Callable[[str], object] | None = None) -> Plan:
    """Return the plan of `spec`: for each block the proved noise with the least mean square error.

    Each block's at its share of the budget, or, where that is less for every one, all blocks' noise
    at the budget together, scaled down by one factor.

    `progress` is told the stages. Raises Refused if no noise can serve a block, or its numbers may
    be out of the range of float64.
    """
    ways = [of_block(spec, query) for query in spec.query]
    draws = _draws(spec, ways)
    offers, joint = _offered(spec.budget, draws, progress)
    chosen = joint[0] if joint else tuple(some[0] for some in offers)
    splits = [one.noise for one in joint[1]] if joint else [None] * len(offers)
    found: dict[int, BlockPlan] = {}
    for draw, mechanism, split in zip(draws, chosen, splits, strict=True):
        found |= _blocks(spec, draw, mechanism, split)
    blocks = tuple(block for _, block in sorted(found.items()))
    for block in blocks:
        check_range(block.layout, block.mechanism.certificate, block.baselines, block.first)
    return Plan(budget=spec.budget, unit=spec.privacy.unit_label, blocks=blocks)


@final
@dataclass(frozen=True, kw_only=True)
class _Draw:
    """One draw of noise to be found: the blocks that it serves, with their layouts."""

    members: tuple[int, ...]
    names: tuple[str, ...]
    ways: tuple[Layouts, ...]
    problem: Problem


def name_of(group: Sequence[str]) -> str:
    """Return what a certificate calls the draw of noise for these blocks."""
    return JOIN.join(group)


def share_of(spec: Spec, group: Sequence[int]) -> Budget:
    """Return the part of the budget that one draw for several blocks spends: that of all."""
    return spec.budget.share(sum((spec.share(spec.query[index]) for index in group), Fraction(0)))


def _draws(spec: Spec, ways: Sequence[Layouts]) -> list[_Draw]:
    """Return which blocks are drawn together, each as a problem of its own."""
    blocks = [
        together.Block(index=i, ways=some, share=spec.share(spec.query[i]))
        for i, some in enumerate(ways)
    ]
    return [
        _Draw(
            members=group.members,
            names=tuple(spec.query[i].name for i in group.members),
            ways=tuple(ways[i] for i in group.members),
            problem=_problem(
                group, [ways[i] for i in group.members], share_of(spec, group.members)
            ),
        )
        for group in together.partition(blocks, spec.budget)
    ]


def _blocks(
    spec: Spec, draw: _Draw, mechanism: Mechanism, split: Noise | None
) -> dict[int, BlockPlan]:
    """Return the blocks that one draw serves, by index."""
    layouts = together.layouts_for(draw.ways, mechanism.certificate.sensitivity)
    if layouts is None:
        raise RuntimeError("noise is found for what the layouts of its blocks imply")
    stated = Mechanism(mechanism.certificate.about(spec.privacy.neighbours))
    found: dict[int, BlockPlan] = {}
    first = 0
    for index, layout in zip(draw.members, layouts, strict=True):
        share = share_of(spec, (index,))
        found[index] = BlockPlan(
            layout=layout,
            group=draw.names,
            first=first,
            budget=share,
            mechanism=stated.on_grid(max(stated.grid, FINEST_GRID)),
            baselines=Baselines.of(layout, share),
            split=split,
        )
        first += layout.dimension
    return found


def _offered(
    budget: Budget, draws: Sequence[_Draw], progress: Callable[[str], object] | None
) -> tuple[list[Offers], tuple[Chosen, Chosen] | None]:
    """Return what serves each draw, and all of them together if that is less for every one.

    What takes seconds to search is not scaled together, and is searched only where it might have
    less than all that is known by then: spherical noise of more than one parameter, and noise for
    one number in each of several cells that a unit moves.
    """
    tell = progress or (lambda _: None)
    quick: dict[Problem, Comparison] = {}
    for draw in draws:
        if draw.problem not in quick:  # blocks that are alike are one problem
            tell(f"Finding and proving the least noise for {', '.join(draw.names)}")
            quick[draw.problem] = _quickly(draw.problem)
    found = [quick[draw.problem] for draw in draws]
    joint = None
    if len(draws) > 1 and budget.delta:
        tell("Accounting for all queries together")
        joint = jointly(budget, [one.mechanisms for one in found])
    to_beat = [one.mse for one in joint[0]] if joint else [math.inf] * len(draws)
    every: dict[tuple[Problem, float], Comparison] = {}
    for draw, least in zip(draws, to_beat, strict=True):
        if (draw.problem, least) not in every:
            tell(f"Finding and proving the least noise for {', '.join(draw.names)}")
            every[draw.problem, least] = _slowly(draw.problem, quick[draw.problem], least)
    found = [every[draw.problem, least] for draw, least in zip(draws, to_beat, strict=True)]
    for draw, some in zip(draws, found, strict=True):
        if not some.mechanisms:
            raise Refused(f"The query {', '.join(draw.names)!r}: {some.why_none}")
    offers = [one.mechanisms for one in found]
    if joint and not _all_less(joint[0], offers):  # what was found since is to be beaten as well
        joint = jointly(budget, offers)
    return offers, joint


def _quickly(problem: Problem) -> Comparison:
    ways = [way for way in problem.ways() if draws_of(way) == 1]
    return compared(problem, families=first(), usable=has_quantiles, ways=ways, to_beat=math.inf)


def _slowly(problem: Problem, known: Comparison, to_beat: float) -> Comparison:
    ways = [way for way in problem.ways() if draws_of(way) > 1]
    if ways:
        known = compared(
            problem, families=quick(), usable=has_quantiles, known=known, ways=ways, to_beat=to_beat
        )
    return compared(problem, families=later(), usable=has_quantiles, known=known, to_beat=to_beat)


def _all_less(new: Chosen, offers: Sequence[Offers]) -> bool:
    return all(one.mse < some[0].mse for one, some in zip(new, offers, strict=True))


def _problem(group: together.Group, members: Sequence[Layouts], budget: Budget) -> Problem:
    """Return what one draw has to hide: a unit moves a block as any of its boundings lets it."""
    if group.sensitivity is not None:
        offered = (group.sensitivity,)
    else:
        offered = tuple(dict.fromkeys(s for one in members[0] for s in one.sensitivities))
    dimension = sum(layouts[0].dimension for layouts in members)
    return Problem(budget=budget, offered=offered, dimension=dimension, loss=Loss.MSE)
