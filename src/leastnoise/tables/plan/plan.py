"""What a release will do and how well, decided from the spec alone: no row is read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from leastnoise import _words
from leastnoise._notebooks import Framed, Shown
from leastnoise.certificate.plan import COMPOSED, RULE, PlanCertificate
from leastnoise.guarantees.exact import printed_at_least
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.tables.plan import together
from leastnoise.tables.plan.plan_record import (
    block_record,
    notes_of,
    of_split,
    plan_record,
    relative_to,
)
from leastnoise.tables.plan.plan_search import search_draws, share_of
from leastnoise.tables.query.accuracy import Wish, wishes
from leastnoise.tables.query.baselines import Baselines
from leastnoise.tables.query.layout import Layout
from leastnoise.tables.query.noise_error import (
    ExpectedError,
    check_range,
    expected_errors,
    noise_errors,
    rounded_rows,
)
from leastnoise.tables.statistics.base import NoiseError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from leastnoise._notebooks import Columns
    from leastnoise.guarantees.budget import Budget
    from leastnoise.noise.base import Noise
    from leastnoise.tables.plan.plan_search import Draw
    from leastnoise.tables.spec.model import Spec

_ERRORS = ("std", "half_width_95", "plain_laplace_std", "plain_gaussian_std")
JOIN = "+"  # between the names of blocks that share a draw; no name has it

# A release cuts values off at 2^61 steps of its grid. On this one that is at 2^39 rows.
FINEST_GRID = Fraction(1, 2**22)


@final
@dataclass(frozen=True, kw_only=True)
class BlockPlan:
    """One query, or one part of it: its layout, share of the budget, noise and expected error.

    Persons and rows that a query counts side by side are two parts (see `Layout`). `split` is there
    if all blocks meet the budget together: the same noise as large as it would be if this one met
    its part alone. `group` names the blocks that share one draw of the noise, of
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
        """The name of the query and of its table."""
        return self.layout.name

    @property
    def noise_errors(self) -> tuple[NoiseError, ...]:
        """The error of each number of a cell, in units of what it is scaled by."""
        return noise_errors(self.mechanism.certificate, self.layout, self.first)

    @property
    def errors(self) -> tuple[ExpectedError, ...]:
        """The expected errors, the same in every cell: of a mean one for each assumed size."""
        return expected_errors(self.layout, self.noise_errors, self.baselines)

    @property
    def exact_rows(self) -> int | None:
        """So many rows of a cell may be rounded alike before it shows; see `rounded_rows`."""
        return rounded_rows(self.layout, self.noise_errors)

    @property
    def wishes(self) -> tuple[Wish, ...]:
        """What the block wishes of its errors, and whether it is met."""
        return wishes(self.layout, self.errors)

    @property
    def saved(self) -> float | None:
        """The part of the variance of spherical noise that the geometry saves, None without one."""
        certificate = of_split(self.mechanism.certificate, self.split)
        return self.baselines.saved(certificate, self.layout, self.first)

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
            share=self.budget,
            baselines=self.baselines,
            split=self.split,
        )


@final
@dataclass(frozen=True, kw_only=True)
class Plan(Framed, Shown):
    """A whole release before it happens; everything in it is public.

    As a frame it has a row an expected error, the same in every cell of a query, with the columns
    `query`, `statistic`, `rows` (assumed of a group, for a mean), `cells`, `noise`, `epsilon` and
    `delta` (the query's share of the budget), and in the statistic's own units `std`,
    `half_width_95`, `plain_laplace_std` and `plain_gaussian_std` (missing where there is none).
    """

    unit: str
    blocks: tuple[BlockPlan, ...]
    certificate: PlanCertificate
    """The proof of the whole release: each block's, and of all together."""

    @property
    def budget(self) -> Budget:
        """The budget of the whole release."""
        return self.certificate.budget

    def __repr__(self) -> str:
        names = list(dict.fromkeys(block.name for block in self.blocks))
        queries = _words.counted(len(names), "query", "queries")
        said = _words.private(self.budget.epsilon, self.budget.delta)
        return _words.line(
            "Plan", f"{queries}, {said} for each {self.unit}: {_words.listed(names)}"
        )

    def _columns(self) -> Columns:
        rows = [(block, error) for block in self.blocks for error in block.errors]
        budgets = [block.budget for block, _ in rows]
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
    def draws(self) -> tuple[tuple[BlockPlan, ...], ...]:
        """The blocks, those of one draw of noise together."""
        groups = dict.fromkeys(block.group for block in self.blocks)
        return tuple(
            tuple(block for block in self.blocks if block.group == group) for group in groups
        )

    @property
    def by_query(self) -> tuple[tuple[BlockPlan, ...], ...]:
        """The blocks, the parts of one query together."""
        names = dict.fromkeys(block.name for block in self.blocks)
        return tuple(tuple(one for one in self.blocks if one.name == name) for name in names)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the numbers don't say."""
        return notes_of(
            [block.layout for block in self.blocks],
            budget=self.budget,
            rule=RULE if self.blocks[0].split is None else COMPOSED,
            draws=len(self.draws),
            exact_rows=[block.exact_rows for block in self.blocks],
        )

    def to_record(self) -> dict[str, Any]:
        """Return the plan as JSON values; privacy numbers are exact texts."""
        layouts = [block.layout for block in self.blocks]
        records = [block.to_record() for block in self.blocks]
        return plan_record(self.certificate, self.unit, layouts, records)

    def to_json(self) -> str:
        """Return the plan as JSON text."""
        return json.dumps(self.to_record(), indent=2, allow_nan=False)


def plan(spec: Spec, *, progress: Callable[[str], object] | None = None) -> Plan:
    """Return the plan of `spec`: for each block the proved noise with the least variance.

    Each block's at its share of the budget, or several blocks' in one draw, or, where that is less
    for every one, all blocks' noise at the budget together, scaled down by one factor. No block has
    more noise in a draw with others than it would get alone.

    `progress` is told the stages. Raises Refused if no noise can serve a block, or its numbers may
    be out of the range of float64.
    """
    found: dict[int, BlockPlan] = {}
    for draw, mechanism, split in search_draws(spec, progress=progress):
        found |= _blocks(spec, draw, mechanism, split)
    plans = tuple(block for _, block in sorted(found.items()))
    for block in plans:
        check_range(block.layout, block.mechanism.certificate, block.baselines, block.first)
    draws = {name_of(block.group): block.mechanism.certificate for block in plans}
    return Plan(
        unit=spec.privacy.unit_label,
        blocks=plans,
        certificate=PlanCertificate.prove(budget=spec.budget, blocks=tuple(draws.items())),
    )


def name_of(group: Sequence[str]) -> str:
    """Return what a certificate calls the draw of noise for these blocks."""
    return JOIN.join(group)


def _blocks(
    spec: Spec, draw: Draw, mechanism: Mechanism, split: Noise | None
) -> dict[int, BlockPlan]:
    """Return the blocks that one draw serves, by index."""
    ways = [block.ways for block in draw.blocks]
    layouts = together.layouts_for(ways, mechanism.certificate.sensitivity)
    if layouts is None:
        raise RuntimeError("noise is found for what the layouts of its blocks imply")
    stated = Mechanism(mechanism.certificate.about(spec.privacy.neighbours))
    found: dict[int, BlockPlan] = {}
    first = 0
    for block, layout in zip(draw.blocks, layouts, strict=True):
        share = share_of(spec, (block,))
        found[block.index] = BlockPlan(
            layout=layout,
            group=draw.labels,
            first=first,
            budget=share,
            mechanism=stated.on_grid(max(stated.grid, FINEST_GRID)),
            baselines=Baselines.of(block.ways, share),
            split=split,
        )
        first += layout.dimension
    return found
