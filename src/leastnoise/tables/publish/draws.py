"""The draws of a release: each block's rows are read and bounded, and its noise is added.

Where bounds are to be found they are drawn first. Nothing but what that published decides what the
others are: their noise was fixed before, by the certificate (see `query.finding`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

import numpy as np

from leastnoise import _words
from leastnoise.errors import InvalidInput, Refused
from leastnoise.mechanism.values import ScaledIntegers
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan_as_certified
from leastnoise.tables.publish.groups import publish_groups, publish_keys
from leastnoise.tables.publish.quantiles import chosen_in, publish_quantiles
from leastnoise.tables.publish.summed import (
    margins_of,
    publish_levels,
    publish_margins,
    publish_running_sums,
)
from leastnoise.tables.query import finding
from leastnoise.tables.query.lay_out import lay_out_query
from leastnoise.tables.query.layout import LaidOut, Layout
from leastnoise.tables.query.ranks import lay_out_ranks
from leastnoise.tables.query.results import joined, select, table_of
from leastnoise.tables.query.summed.margins import layouts_read as margins_read
from leastnoise.tables.query.summed.margins import table_layout
from leastnoise.tables.rows.exact import ExactTotals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from leastnoise.tables.plan.keys import KeysPlan
    from leastnoise.tables.plan.plan import BlockPlan, Plan
    from leastnoise.tables.plan.quantiles import QuantilePlan
    from leastnoise.tables.query.results import Table
    from leastnoise.tables.rows.source import Source

    Tell = Callable[[str], object]


@final
@dataclass(frozen=True, kw_only=True)
class Draws:
    """What is drawn by a `plan`, from the exact totals of `rows`.

    What is `known`, by its layout's label, was drawn before.
    """

    plan: Plan
    rows: ExactTotals
    known: Mapping[str, Table] = field(default_factory=dict)

    def tables(self) -> dict[str, Table]:
        """Return the tables of all queries."""
        ranks = [part for part in self.plan.quantiles if part.layout.label not in self.known]
        read = [*map(layouts_read, self.plan.draws), *([part.layout.counted] for part in ranks)]
        vectors = iter(self.rows.vectors([layout for some in read for layout in some]))
        drawn: dict[str, Table] = {}
        for draw in self.plan.draws:
            exact = [next(vectors) for _ in layouts_read(draw)]
            tables = self._blocks(draw, exact)
            drawn |= zip((block.layout.label for block in draw), tables, strict=True)
        drawn |= {part.layout.label: self.keys(part) for part in self.plan.keys}
        drawn |= self.known
        drawn |= {part.layout.label: self._quantiles(part, next(vectors)) for part in ranks}
        by_query: dict[str, Table] = {}
        for query in self.plan.by_query:
            every = joined(query.layouts, [drawn[one.label] for one in query.layouts])
            by_query[query.name] = select(query.layouts[0], every)
        return by_query

    def keys(self, part: KeysPlan) -> Table:
        """Return the table of the keys of a query."""
        totals = self.rows.groups(part.layout)
        self.rows.tell(f"Choosing the keys of {part.name}")
        return publish_keys(part, totals)

    def quantiles(self, parts: Sequence[QuantilePlan]) -> list[Table]:
        """Return the tables of quantiles, each of one column in a query."""
        vectors = self.rows.vectors([part.layout.counted for part in parts])
        return [self._quantiles(*pair) for pair in zip(parts, vectors, strict=True)]

    def _quantiles(self, part: QuantilePlan, counts: NDArray[np.int64]) -> Table:
        self.rows.tell(f"Choosing the quantiles of {part.name}")
        return publish_quantiles(part, counts)

    def _blocks(
        self, draw: tuple[BlockPlan, ...], vectors: Sequence[NDArray[np.int64]]
    ) -> list[Table]:
        """Return the tables of blocks that share one draw of noise, from what `layouts_read`."""
        rows, first = self.rows, draw[0]
        if first.groups is not None:
            totals = rows.groups(first.layout)
            rows.tell(f"Drawing the noise of {first.name}")
            return [publish_groups(first, totals)]
        if first.margin is not None:
            rows.tell(f"Drawing the noise of {first.name}")
            margins = margins_of(draw)
            if not margins.total_is_known:
                return publish_margins(draw, *vectors)
            *exact, total = vectors
            return publish_margins(draw, *exact, total=int(total[0]) >> margins.drawn.bits)
        if first.running is not None:
            rows.tell(f"Drawing the noise of {first.name}")
            return publish_running_sums(draw, *vectors)
        if first.level is not None:
            rows.tell(f"Drawing the noise of {first.name}")
            return publish_levels(draw, *vectors)
        bits = max(block.layout.bits for block in draw)
        # persons are counted in whole numbers, which any scale of the rows' integers holds
        exact = [
            vector << (bits - block.layout.bits)
            for block, vector in zip(draw, vectors, strict=True)
        ]
        rows.tell(f"Drawing the noise of {', '.join(first.group)}")
        integers = ScaledIntegers(numerators=np.concatenate(exact), bits=bits)
        noisy = first.mechanism.release(integers).values
        ends = np.cumsum([block.layout.dimension for block in draw])[:-1]
        return [
            table_of(block.layout, part, block.noise_errors)
            for block, part in zip(draw, np.split(noisy, ends), strict=True)
        ]


def layouts_read(draw: Sequence[BlockPlan]) -> list[Layout]:
    """Return the layouts whose exact integers one draw of noise hides; none of unlisted groups."""
    first = draw[0]
    if first.groups is not None:
        return []
    if first.margin is not None:
        margins = margins_of(draw)
        whole = [table_layout(margins.drawn, 0)] if margins.total_is_known else []
        return [
            *margins_read(margins.cells),
            *whole,
        ]  # the total is of all rows, whatever cell is found for them
    if first.running is not None:
        return [first.running.whole.cells]
    if first.level is not None:
        return [first.level.whole.cells]
    return [block.layout for block in draw]


def draw_tables(
    laid: LaidOut, plan: Plan, found: Source, tell: Tell
) -> tuple[Plan, dict[str, Table]]:
    """Return the tables of a release, and its plan: that of the bounds that it found, if any."""
    first = Draws(plan=plan, rows=ExactTotals.of(found, laid.spec, tell=tell))
    columns = finding.columns_by_query(laid.spec)
    if not columns:
        return plan, first.tables()
    known: dict[str, Table] = {}
    bounds: dict[str, tuple[Fraction, Fraction]] = {}
    parts = [one for one in plan.quantiles if one.name in columns]
    for part, table in zip(parts, first.quantiles(parts), strict=True):
        known[part.layout.label] = table
        name = columns[part.name]
        chosen = chosen_in(part.layout, table.columns)
        bounds[name] = finding.bounds_from(laid.spec.columns[name], chosen)
    plan = plan_with_bounds(laid, plan, bounds)
    rows = replace(first.rows, spec=plan.spec)  # of the same persons in the same cells
    return plan, Draws(plan=plan, rows=rows, known=known).tables()


def plan_with_bounds(
    laid: LaidOut, plan: Plan, bounds: Mapping[str, tuple[Fraction, Fraction]]
) -> Plan:
    """Return the plan of the same noise, where these are the bounds that were to be found.

    What is certified stays as it is: scaled to its bounds a value is within [−1, 1] by any.
    """
    spec = finding.with_found(laid.spec, bounds)
    again = LaidOut(
        spec=spec,
        queries=tuple(lay_out_query(spec, query) for query in spec.query),
        ranks=tuple(lay_out_ranks(spec, query) for query in spec.query),
    )
    return plan_as_certified(again, plan.certificate, [draw[0].split for draw in plan.draws])


def try_bounds(laid: LaidOut, plan: Plan) -> None:
    """Plan with the bounds that make numbers smallest, of all columns and of each beside others.

    With the widest the plan was made. Raises Refused, naming the bounds, if a number that is
    published could vanish, InvalidInput if the spec wouldn't be read back as it is.
    """
    narrow = {
        name: finding.narrow_bounds(laid.spec.columns[name])
        for name in finding.columns_by_query(laid.spec).values()
    }
    for index in range(2):
        every = {name: pairs[index] for name, pairs in narrow.items()}
        alone = [{name: pair} for name, pair in every.items()] if len(every) > 1 else []
        for bounds in (every, *alone):
            widest = {name: laid.spec.columns[name].widest for name in narrow}
            known = {name: pair for name, pair in (widest | bounds).items() if pair is not None}
            try:
                spec = plan_with_bounds(laid, plan, known).spec
            except Refused as refused:
                ends = [f"[{float(a):g}, {float(b):g}] of {x}" for x, (a, b) in known.items()]
                why = f"{refused} Bounds may be found that are {_words.in_turn(ends)}: "
                raise Refused(f"{why}choose other candidates.") from None
            if spec_file.loads(spec_file.dumps(spec)) != spec:
                raise InvalidInput("Found bounds don't read back as they are. Nothing was spent.")
