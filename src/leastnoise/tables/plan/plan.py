"""What a release will do and how well, decided from the spec alone: no row is read."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from leastnoise import _words
from leastnoise._notebooks import Framed, Shown, text_table
from leastnoise.certificate.plan import COMPOSED, PlanCertificate
from leastnoise.certificate.quantiles import QuantileCertificate
from leastnoise.certificate.records import write_record
from leastnoise.certificate.threshold import ThresholdCertificate
from leastnoise.errors import CertificateRejected, NotCertified, Refused
from leastnoise.guarantees.exact import decimal_text, printed_at_least
from leastnoise.mechanism.mechanism import Mechanism
from leastnoise.tables.plan import notes, summary, together
from leastnoise.tables.plan.joint import split_noise
from leastnoise.tables.plan.margins import Margin, Margins, find_measured
from leastnoise.tables.plan.plan_search import search_draws
from leastnoise.tables.plan.quantiles import NAME, QuantilePlan, plan_quantiles
from leastnoise.tables.plan.served import JOIN, check_draw, check_groups, find_served
from leastnoise.tables.plan.unlisted import FINEST_GRID, Groups, find_claims
from leastnoise.tables.query import margins, selection
from leastnoise.tables.query.accuracy import Wish, wishes
from leastnoise.tables.query.baselines import Baselines
from leastnoise.tables.query.layout import MAX_ROWS, MAX_UNITS, Layout
from leastnoise.tables.query.noise_error import (
    ExpectedError,
    check_range,
    expected_errors,
    noise_errors,
    rounded_rows,
)
from leastnoise.tables.query.ranks import share_parts
from leastnoise.tables.statistics.base import NoiseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leastnoise._notebooks import Columns
    from leastnoise.certificate.certificate import Certificate
    from leastnoise.certificate.plan import Blocks as Claims
    from leastnoise.guarantees.budget import Budget
    from leastnoise.guarantees.sensitivity import Neighbours
    from leastnoise.noise.base import Noise
    from leastnoise.tables.query.layout import LaidOut
    from leastnoise.tables.query.ranks import Ranks
    from leastnoise.tables.spec.model import Query, Spec

_ERRORS = ("std", "half_width_95", "plain_laplace_std", "plain_gaussian_std")


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
    certificate: Certificate
    baselines: Baselines
    split: Noise | None = None
    groups: Groups | None = None
    """From where on a group is published, where nobody listed them: then `certificate` is about the
    noise of one group's row, which is drawn anew for each."""
    margin: Margin | None = None
    """Which table it is of those that add up: then `certificate` is about the noise that takes most
    of the budget, and `budget` is an equal part of what all these tables have together."""

    @property
    def name(self) -> str:
        """The name of its table: that of the query, but for tables of sums."""
        return self.layout.name

    @property
    def query(self) -> str:
        """The name of the query."""
        return self.name if self.margin is None else self.margin.whole.cells.name

    @property
    def mechanism(self) -> Mechanism:
        """The noise, which is proved if it wasn't yet."""
        return Mechanism(self.certificate)

    @cached_property
    def noise_errors(self) -> tuple[NoiseError, ...]:
        """The error of each number of a cell, in units of what it is scaled by."""
        if self.margin is not None:
            return (self.margin.error,)
        return noise_errors(self.certificate, self.layout, self.first)

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
        if self.groups is not None or self.margin is not None:
            return None
        alone = self.certificate
        alone = alone if self.split is None else replace(alone, noise=self.split)
        return self.baselines.saved(alone, self.layout, self.first)

    @property
    def relative_to_split(self) -> float | None:
        """The error over that of `split`, None without it."""
        return (
            None if self.split is None else float(self.certificate.noise.scale / self.split.scale)
        )

    def to_record(self) -> dict[str, Any]:
        """Return the block as JSON values, all of which a certificate can confirm."""
        layout, certificate, grid = self.layout, self.certificate, self.certificate.grid
        errors = self.errors
        return {
            "name": layout.name,
            "statistics": [one.label for one in layout.statistics],
            "cells": layout.cells,
            "dimension": layout.dimension,
            "epsilon": decimal_text(self.budget.epsilon),
            "delta": decimal_text(self.budget.delta),
            "sensitivities": [write_record(one) for one in layout.sensitivities],
            "bounding": None if layout.by_row else layout.bounding.to_record(),
            "bits": layout.bits,
            "exact_rows": self.exact_rows,
            "drawn_with": [label for label in self.group if label != layout.label],
            "noise": certificate.noise.name,
            "geometry": None if certificate.geometry is None else certificate.geometry.kind,
            "spherical_noise": self.baselines.spherical.name,
            "saved_by_geometry": self.saved,
            "error_relative_to_split": self.relative_to_split,
            "scale": decimal_text(certificate.noise.scale),
            "grid": None if grid is None else decimal_text(grid),
            "missing": list(layout.missing),
            "errors": [error.to_record() for error in errors],
            "wishes": [wish.to_record() for wish in wishes(layout, errors)],
            **({"joined": list(layout.joined)} if layout.joined else {}),
            **({"filters": list(layout.filters)} if layout.filters else {}),
            **({"published": said} if (said := [*selection.in_words(layout)]) else {}),
            **({} if self.groups is None else {"unlisted": self.groups.to_record()}),
            **({} if self.margin is None else {"margins": self.margin.whole.to_record()}),
        }


@final
@dataclass(frozen=True, kw_only=True)
class QueryPlan:
    """One table of a query: the parts that noise is added to, and its quantiles."""

    name: str
    blocks: tuple[BlockPlan, ...]
    quantiles: tuple[QuantilePlan, ...]

    @property
    def layouts(self) -> tuple[Layout | Ranks, ...]:
        """The layouts of all parts."""
        return tuple(part.layout for part in (*self.blocks, *self.quantiles))

    @property
    def claim(self) -> ThresholdCertificate | None:
        """What decides which groups are published, where nobody listed them."""
        groups = self.blocks[0].groups if self.blocks else None
        return None if groups is None else groups.claim


@final
@dataclass(frozen=True, kw_only=True)
class Plan(Framed, Shown):
    """A whole release before it happens; everything in it is public.

    As a frame it has a row an expected error, the same in every cell of a query, with the columns
    `query`, `statistic`, `rows` (assumed of a group, for a mean), `cells`, `noise`, `epsilon` and
    `delta` (the query's share of the budget), and in the statistic's own units `std`,
    `half_width_95`, `plain_laplace_std` and `plain_gaussian_std` (missing where there is none).
    Quantiles have none of these, and `rows_95` beside: by how many rows they are off. Printed it is
    one table: the shares of the budget, what holds 95 % of the noise, and how many times as much
    plain noise would err.
    """

    spec: Spec
    blocks: tuple[BlockPlan, ...]
    quantiles: tuple[QuantilePlan, ...]
    certificate: PlanCertificate
    """The proof of the whole release: each block's, and of all together."""

    @classmethod
    def of(
        cls,
        laid: LaidOut,
        certificate: PlanCertificate,
        splits: Sequence[Noise | None] | None = None,
    ) -> Plan:
        """Return the plan of a spec that is released as `certificate` says, proved or not.

        All of it follows from the two, so that `verify` makes it again. `splits` are those of each
        draw; without them they are found again where they are needed. Raises CertificateRejected
        unless the certificate is about this spec, Refused if its numbers may be out of the range of
        float64.
        """
        spec = laid.spec
        if certificate.budget != spec.budget:
            raise CertificateRejected("The certificate's budget is not the spec's.")
        composed = certificate.rule == COMPOSED
        found: dict[int, list[BlockPlan]] = {}
        for place, (blocks, layouts, drawn) in enumerate(find_served(laid, certificate)):
            stated = share = together.share_budget(spec.budget, blocks)
            where = f"Query {JOIN.join(one.label for one in blocks)!r}"
            if isinstance(drawn, Margins):
                found[blocks[0].index] = _of_margins(drawn)
                continue
            if isinstance(drawn, ThresholdCertificate):
                (block,), (layout,) = blocks, layouts
                check_groups(drawn, layout, share, where=where)
                of_groups = BlockPlan(
                    layout=layout,
                    group=(block.label,),
                    first=0,
                    budget=share,
                    certificate=drawn.noise,
                    baselines=Baselines.of(block.ways, share),
                    groups=Groups.of(layout, drawn),
                )
                found[block.index] = [of_groups]
                continue
            if composed:  # its ε is what the noise is worth alone, its δ the share
                stated = replace(share, epsilon=drawn.budget.epsilon)
            check_draw(drawn, layouts, stated, spec.privacy.neighbours, where=where)
            split = None
            if drawn.budget != share:  # less noise than that is worth: all were scaled down
                split = _split(drawn, share) if splits is None else splits[place]
            first = 0
            for block, layout in zip(blocks, layouts, strict=True):
                own = together.share_budget(spec.budget, (block,))
                listed = BlockPlan(
                    layout=layout,
                    group=tuple(one.label for one in blocks),
                    first=first,
                    budget=own,
                    certificate=drawn,
                    baselines=Baselines.of(block.ways, own),
                    split=split,
                )
                found[block.index] = [listed]
                first += layout.dimension
        plans = tuple(block for _, some in sorted(found.items()) for block in some)
        for block in plans:
            check_range(block.layout, block.certificate, block.baselines, block.first)
        return cls(
            spec=spec, blocks=plans, quantiles=_chosen(laid, certificate), certificate=certificate
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the queries, in the order of the spec."""
        return tuple(query.name for query in self.spec.query)

    @property
    def unit(self) -> str:
        """What ledgers call those who are protected, a column or rows."""
        return self.spec.privacy.unit_label

    @property
    def person(self) -> str:
        """What people who read of it call the unit."""
        return self.spec.privacy.person

    @property
    def budget(self) -> Budget:
        """The budget of the whole release."""
        return self.certificate.budget

    def __repr__(self) -> str:
        queries = _words.counted(len(self.names), "query", "queries")
        said = _words.private(self.budget.epsilon, self.budget.delta)
        return _words.line(
            "Plan", f"{queries}, {said} for each {self.person}: {_words.listed(self.names)}"
        )

    def __str__(self) -> str:
        """Return the plan as a table, and what it rests on."""
        table = text_table(summary.HEADS, summary.list_rows(self))
        return "\n".join([repr(self), "", table, "", *summary.list_sentences(self)])

    @property
    def neighbours(self) -> Neighbours:
        """What one unit does between two tables that nobody can tell apart."""
        return self.spec.privacy.neighbours

    def _columns(self) -> Columns:
        rows = [(block, error) for block in self.blocks for error in block.errors]
        ranks = [(part, error) for part in self.quantiles for error in part.errors]
        both = [*rows, *ranks]
        budgets = [part.budget for part, _ in both]
        found: Columns = {
            "query": [part.name for part, _ in both],
            "statistic": [error.statistic for _, error in both],
            "rows": [*(error.rows for _, error in rows), *([None] * len(ranks))],
            "cells": [part.layout.cells for part, _ in both],
            "noise": [block.certificate.noise.name for block, _ in rows] + [NAME] * len(ranks),
            "epsilon": [printed_at_least(budget.epsilon) for budget in budgets],
            "delta": [printed_at_least(budget.delta) for budget in budgets],
            **{
                name: [*(getattr(error, name) for _, error in rows), *([None] * len(ranks))]
                for name in _ERRORS
            },
        }
        if ranks:
            found["rows_95"] = [*([None] * len(rows)), *(error.rows_95 for _, error in ranks)]
        return found

    def _tables(self) -> dict[str, Columns]:
        rows = zip(*summary.list_rows(self), strict=True)
        return {"": dict(zip(summary.HEADS, map(list, rows), strict=True))}

    @property
    def draws(self) -> tuple[tuple[BlockPlan, ...], ...]:
        """The blocks, those of one draw of noise together."""
        groups = dict.fromkeys(block.group for block in self.blocks)
        return tuple(
            tuple(block for block in self.blocks if block.group == group) for group in groups
        )

    @property
    def by_query(self) -> tuple[QueryPlan, ...]:
        """The parts of each query together; of one with margins those of each table."""
        return tuple(
            QueryPlan(
                name=name,
                blocks=tuple(one for one in self.blocks if one.name == name),
                quantiles=tuple(one for one in self.quantiles if one.name == name),
            )
            for query in self.spec.query
            for name in margins.file_names(query)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What the numbers don't say."""
        return notes.list_notes(self)

    def to_record(self) -> dict[str, Any]:
        """Return the plan as JSON values; privacy numbers are exact texts."""
        return {
            "version": 1,
            "unit": self.unit,
            "neighbours": self.neighbours,
            "epsilon": decimal_text(self.budget.epsilon),
            "delta": decimal_text(self.budget.delta),
            "rule": self.certificate.rule,
            "caps": {"rows": MAX_ROWS, "units": MAX_UNITS},
            "blocks": [block.to_record() for block in self.blocks],
            **(
                {"quantiles": [part.to_record() for part in self.quantiles]}
                if self.quantiles
                else {}
            ),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return the plan as JSON text."""
        return json.dumps(self.to_record(), indent=2, allow_nan=False)


def plan(laid: LaidOut, *, progress: Callable[[str], object] | None = None) -> Plan:
    """Return the plan of a spec: for each block the proved noise with the least variance.

    Each block's at its share of the budget, or several blocks' in one draw, or, where that is less
    for every one, all blocks' noise at the budget together, scaled down by one factor. No block has
    more noise in a draw with others than it would get alone.

    `progress` is told the stages. Raises Refused if no noise can serve a block, or its numbers may
    be out of the range of float64.
    """
    tell = progress or (lambda _: None)
    listed, found = _listed(laid), list[_Drawn]()
    order = {block.label: block.index for block in together.list_blocks(laid)}
    for draw, mechanism, split in search_draws(listed, progress=progress) if listed else ():
        stated = Mechanism(mechanism.certificate.about(laid.spec.privacy.neighbours))
        rounded = stated.on_grid(max(stated.grid, FINEST_GRID))
        claim = JOIN.join(draw.labels), rounded.certificate
        found.append((order[draw.labels[0]], (claim,), split))
    try:
        return _proved(laid, [*found, *_drawn_apart(laid, tell, pure=False)])
    except NotCertified:  # Gaussian noise in margins, beside noise that isn't composed with it
        return _proved(laid, [*found, *_drawn_apart(laid, tell, pure=True)])


_Drawn = tuple[int, "Claims", "Noise | None"]
"""The index of a draw's first block, its certificates, and its noise before all was scaled down."""


def _drawn_apart(laid: LaidOut, tell: Callable[[str], object], *, pure: bool) -> Iterator[_Drawn]:
    """Yield the draws of groups that nobody listed and of margins, each at its block's share."""
    for block in together.list_blocks(laid):
        way, share = block.ways[0], together.share_budget(laid.spec.budget, (block,))
        if way.unlisted:
            tell(f"Finding and proving the threshold of {block.label}")
            yield block.index, ((block.label, find_claims(way, share)[0]),), None
        elif way.margins:
            tell(f"Finding and proving the noise of {block.label}")
            yield block.index, find_measured(way, share, pure=pure), None


def _proved(laid: LaidOut, drawn: list[_Drawn]) -> Plan:
    """Return the plan with these draws; raises NotCertified if they don't meet the budget."""
    ordered = sorted(drawn, key=lambda one: one[0])
    claims = tuple(claim for _, some, _ in ordered for claim in some)
    claims += tuple((one.layout.label, one.certificate) for one in plan_quantiles(laid))
    certificate = PlanCertificate.prove(budget=laid.spec.budget, blocks=claims)
    return Plan.of(laid, certificate, [split for *_, split in ordered])


def _of_margins(drawn: Margins) -> list[BlockPlan]:
    """Return the plan of each published table; plain noise has an equal share for each."""
    layouts = [margins.table_layout(drawn.cells, table) for table in drawn.cells.margins]
    each = drawn.budget.share(Fraction(1, len(layouts)))
    most = max(drawn.measured.values(), key=lambda one: one.budget.epsilon)
    return [
        BlockPlan(
            layout=layout,
            group=tuple(one.name for one in layouts),
            first=0,
            budget=each,
            certificate=most,
            baselines=Baselines.of((layout,), each),
            margin=Margin(whole=drawn, table=table),
        )
        for layout, table in zip(layouts, drawn.cells.margins, strict=True)
    ]


def _listed(laid: LaidOut) -> LaidOut | None:
    """Return what noise is added to in public groups, at the budget that all else leaves.

    None if there is none. These are the same parts of the whole as before.
    """
    apart = [bool(one[0][0].unlisted or one[0][0].margins) if one else True for one in laid.queries]
    if not any(laid.ranks) and not any(apart):
        return laid
    kept = [
        (_without_ranks(query, parts, ranks), parts)
        for query, parts, ranks, alone in zip(
            laid.spec.query, laid.queries, laid.ranks, apart, strict=True
        )
        if not alone
    ]
    if not kept:
        return None
    left = laid.spec.budget.share(sum((laid.spec.share(query) for query, _ in kept), Fraction(0)))
    changed = {"epsilon": left.epsilon, "delta": left.delta}
    privacy = laid.spec.privacy.model_copy(update=changed)
    queries = tuple(query for query, _ in kept)
    spec = laid.spec.model_copy(update={"privacy": privacy, "query": queries})
    ranks: tuple[tuple[Ranks, ...], ...] = ((),) * len(kept)
    return replace(laid, spec=spec, queries=tuple(parts for _, parts in kept), ranks=ranks)


def _without_ranks(query: Query, parts: Sequence[Any], ranks: Sequence[Ranks]) -> Query:
    """Return a query that weighs as much as its parts that noise is added to."""
    own = sum(share_parts(parts, ranks)[: len(parts)], Fraction(0))
    return query.model_copy(update={"importance": query.importance * own})


def _chosen(laid: LaidOut, certificate: PlanCertificate) -> tuple[QuantilePlan, ...]:
    """Return the plans of quantiles; raises CertificateRejected unless it is about them."""
    wanted = plan_quantiles(laid)
    found = [one for one in certificate.blocks if isinstance(one[1], QuantileCertificate)]
    if found != [(one.layout.label, one.certificate) for one in wanted]:
        raise CertificateRejected("The quantiles are not chosen as the spec implies.")
    return wanted


def _split(drawn: Certificate, share: Budget) -> Noise:
    try:
        return split_noise(drawn, share)
    except Refused as error:
        raise CertificateRejected(f"No split to compare with: {error}") from None
