"""The draws of a release: rows are read and bounded, and each answer is drawn.

Where bounds are to be found they are drawn first. Nothing but what that published decides what the
others are: their noise was fixed before, by the certificate (see `layout.finding`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

from leastnoise import _words
from leastnoise.errors import InvalidInput, Refused
from leastnoise.tables.answers.base import Totals
from leastnoise.tables.answers.kinds import lay_out_spec
from leastnoise.tables.layout import finding
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan_as_certified
from leastnoise.tables.results.table import joined, select
from leastnoise.tables.rows.exact import ExactTotals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from leastnoise.tables.answers.base import Answered
    from leastnoise.tables.layout.layout import LaidOut
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.rows.source import Source

    Tell = Callable[[str], object]


@final
@dataclass(frozen=True, kw_only=True)
class Draws:
    """What is drawn by a `plan`, from the exact totals of `rows`.

    The tables that are `known`, by the labels of their parts, were drawn before.
    """

    plan: Plan
    rows: ExactTotals
    known: Mapping[str, Table] = field(default_factory=dict)

    def tables(self) -> dict[str, Table]:
        """Return the published tables of all queries."""
        known = self.known.keys()
        left = [answer for answer in self.plan.answered if known.isdisjoint(answer.labels)]
        drawn = self.draw(left) | dict(self.known)
        by_query: dict[str, Table] = {}
        for query in self.plan.by_query:
            every = joined(query.layouts, [drawn[part.label] for part in query.parts])
            by_query[query.name] = select(query.layouts[0], every)
        return by_query

    def draw(self, answered: Sequence[Answered]) -> dict[str, Table]:
        """Return the table of each part, by its label; the rows are read in one scan."""
        layouts = [layout for answer in answered for layout in answer.reads.cells]
        vectors = iter(self.rows.vectors(layouts))
        drawn: dict[str, Table] = {}
        for answer in answered:
            cells = [next(vectors) for _ in answer.reads.cells]
            groups = [self.rows.groups(layout) for layout in answer.reads.groups]
            self.rows.tell(answer.stage)
            tables = answer.draw(Totals(cells=cells, groups=groups))
            drawn |= zip((part.label for part in answer.parts), tables, strict=True)
        return drawn


def draw_tables(
    laid: LaidOut, plan: Plan, found: Source, tell: Tell
) -> tuple[Plan, dict[str, Table]]:
    """Return the tables of a release, and its plan: that of the bounds that it found, if any."""
    first = Draws(plan=plan, rows=ExactTotals.of(found, laid.spec, tell=tell))
    columns = finding.columns_by_query(laid.spec)
    if not columns:
        return plan, first.tables()
    parts = [part for part in plan.quantiles if part.name in columns]
    known = first.draw(parts)
    bounds: dict[str, tuple[Fraction, Fraction]] = {}
    for part in parts:
        name = columns[part.name]
        chosen = part.read_chosen(known[part.label].columns)
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
    splits = {answered.labels: answered.split for answered in plan.answered}
    return plan_as_certified(lay_out_spec(spec), plan.certificate, splits)


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
                why = f"{refused} Bounds may be found that are {_words.join_names(ends)}: "
                raise Refused(f"{why}choose other candidates.") from None
            if spec_file.loads(spec_file.dumps(spec)) != spec:
                raise InvalidInput("Found bounds don't read back as they are. Nothing was spent.")
