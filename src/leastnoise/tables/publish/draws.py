"""Draw the tables of a release: read and bound the rows, then draw each answer.

Bounds or a limit that the release finds are drawn first. Later answers use the published bounds,
whose certificate was proved before they were found (see `layout.found_bounds`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

from leastnoise import _words
from leastnoise.certificate.limits import LimitCertificate
from leastnoise.errors import InvalidInput, Refused
from leastnoise.mechanism.limits import choose_limit
from leastnoise.tables.answers.base import Totals
from leastnoise.tables.answers.kinds import lay_out_spec
from leastnoise.tables.layout import found_bounds, found_limits
from leastnoise.tables.parse import spec_file
from leastnoise.tables.plan.make_plan import plan_as_certified
from leastnoise.tables.results.table import join_parts, select_groups
from leastnoise.tables.rows.exact import ExactTotals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from leastnoise.tables.answers.base import Answered
    from leastnoise.tables.layout.found_limits import Finder
    from leastnoise.tables.layout.layout import SpecLayout
    from leastnoise.tables.layout.periods import OpenTotals
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.results.table import Table
    from leastnoise.tables.rows.source import Source

    Tell = Callable[[str], object]


@final
@dataclass(frozen=True, kw_only=True)
class Draws:
    """The draws of a `plan`, which add noise to the exact totals of `rows`.

    Tables in `known`, by the labels of their parts, were drawn before and are used unchanged.
    `memory` is only for a series with running totals: it has the sums so far, and receives the new
    sums.
    """

    plan: Plan
    rows: ExactTotals
    known: Mapping[str, Table] = field(default_factory=dict)
    memory: OpenTotals | None = None

    def tables(self) -> dict[str, Table]:
        """Draw all tables that aren't known; return the published tables, by query."""
        known = self.known.keys()
        remaining = [answer for answer in self.plan.answered if known.isdisjoint(answer.labels)]
        drawn = self.draw(remaining) | dict(self.known)
        by_query: dict[str, Table] = {}
        for query in self.plan.by_query:
            table = join_parts(query.layouts, [drawn[part.label] for part in query.parts])
            by_query[query.name] = select_groups(query.layouts[0], table)
        return by_query

    def draw(self, answered: Sequence[Answered]) -> dict[str, Table]:
        """Draw these answers; return the table of each of their parts, by the part's label."""
        layouts = [layout for answer in answered for layout in answer.reads.cells]
        vectors = iter(self.rows.vectors(layouts))
        drawn: dict[str, Table] = {}
        for answer in answered:
            cells = [next(vectors) for _ in answer.reads.cells]
            groups = [self.rows.groups(layout) for layout in answer.reads.groups]
            self.rows.tell(answer.stage)
            totals = Totals(cells=cells, groups=groups, drawn=drawn, memory=self.memory)
            tables = answer.draw(totals)
            drawn |= zip((part.label for part in answer.parts), tables, strict=True)
        return drawn


def draw_tables(
    spec_layout: SpecLayout,
    plan: Plan,
    source: Source,
    tell: Tell,
    *,
    memory: OpenTotals | None = None,
) -> tuple[Plan, dict[str, Table]]:
    """Draw the tables of a release.

    Returns the plan, with any limit and bounds that were found, and the tables by query. `tell`
    receives messages about progress. `memory` is only for a series with running totals: it has the
    sums so far, and receives the new sums.
    """
    rows = ExactTotals.of(source, spec_layout.spec, tell=tell)
    if (finder := found_limits.finder_of(spec_layout.spec)) is not None:
        plan = _find_limit(spec_layout, plan, finder, rows)
        return plan, Draws(plan=plan, rows=replace(rows, spec=plan.spec)).tables()
    first = Draws(plan=plan, rows=rows, memory=memory)
    columns = found_bounds.columns_by_query(spec_layout.spec)
    if not columns:
        return plan, first.tables()
    parts = [part for part in plan.quantiles if part.name in columns]
    known = first.draw(parts)
    bounds: dict[str, tuple[Fraction, Fraction]] = {}
    for part in parts:
        name = columns[part.name]
        chosen = part.read_chosen(known[part.label].columns)
        bounds[name] = found_bounds.pick_bounds(spec_layout.spec.columns[name], chosen)
    plan = plan_with_bounds(spec_layout, plan, bounds)
    # the bounding of persons and the cells stay the same
    rows = replace(first.rows, spec=plan.spec)
    return plan, Draws(plan=plan, rows=rows, known=known).tables()


def _find_limit(spec_layout: SpecLayout, plan: Plan, finder: Finder, rows: ExactTotals) -> Plan:
    """Choose a limit by chance, and return the plan with this limit."""
    ((_, claim),) = plan.certificate.draws
    if not isinstance(claim, LimitCertificate):
        raise TypeError("the plan of a found limit has one certificate, of its choice")
    cut_off = rows.cut_off(finder, found_limits.layout_of(spec_layout, finder))
    return plan.with_limits[choose_limit(claim, cut_off)]


def plan_with_bounds(
    spec_layout: SpecLayout, plan: Plan, bounds: Mapping[str, tuple[Fraction, Fraction]]
) -> Plan:
    """The plan with the bounds that the release found.

    The certificate is unchanged: a value scaled to its bounds is within [−1, 1] for any bounds.
    """
    spec = found_bounds.set_found_bounds(spec_layout.spec, bounds)
    splits = {answered.labels: answered.split for answered in plan.answered}
    return plan_as_certified(lay_out_spec(spec), plan.certificate, splits)


def try_bounds(spec_layout: SpecLayout, plan: Plan) -> None:
    """Check that a plan exists for extreme bounds that a release may find.

    Tries the narrowest bounds, and the bounds with the smallest absolute values: for all columns
    together, then for each column while the others have their widest bounds. `plan` was computed
    with the widest bounds of all. Raises Refused, with the bounds, if there is no plan for them,
    since noise could underflow. Raises InvalidInput if the spec would not read back unchanged.
    """
    narrow = {
        name: found_bounds.narrowest_bounds(spec_layout.spec.columns[name])
        for name in found_bounds.columns_by_query(spec_layout.spec).values()
    }
    for index in range(2):
        together = {name: pairs[index] for name, pairs in narrow.items()}
        single = [{name: pair} for name, pair in together.items()] if len(together) > 1 else []
        for bounds in (together, *single):
            widest = {name: spec_layout.spec.columns[name].widest for name in narrow}
            known = {name: pair for name, pair in (widest | bounds).items() if pair is not None}
            try:
                spec = plan_with_bounds(spec_layout, plan, known).spec
            except Refused as refused:
                ends = [f"[{float(a):g}, {float(b):g}] of {x}" for x, (a, b) in known.items()]
                why = f"{refused} The release may find the bounds {_words.join_names(ends)}. "
                raise Refused(f"{why}Choose other candidates.") from None
            if spec_file.loads(spec_file.dumps(spec)) != spec:
                raise InvalidInput(
                    "A spec with the bounds that were found can't be stored exactly. Nothing was "
                    "spent."
                )
