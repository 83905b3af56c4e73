"""What the numbers of a plan don't say, in sentences that a certificate can confirm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise import _words
from leastnoise.certificate.plan import COMPOSED
from leastnoise.tables.plan.quantiles import quantiles_notes
from leastnoise.tables.plan.summary import counted_in
from leastnoise.tables.plan.whole_counts import WHOLE_NOTE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.statistics.base import Statistic

CLIP_NOTE = (
    "Errors, and 95 %, are of the noise alone: what clamping to bounds and clipping a person's "
    "rows take away (bias) is not in them."
)
PURE_NOTE = "With delta = 0 losses add up: each draw of noise has its share of epsilon."
SPLIT_NOTE = (
    "Accounting for all draws of noise together proved no less noise for each: each has its share "
    "of the budget."
)
JOINT_NOTE = (
    "All queries together meet the budget, by tight composition: each has less noise than its "
    "share of the budget would give it alone."
)
ROUNDING_NOTE = (
    "Values are rounded a little before they are summed. From {rows:,} rows of one value in a cell "
    "on, that may be more than 1 % of an interval, in which it isn't counted."
)
PARTS_NOTE = (
    "Where a query counts persons beside rows, plain Laplace and Gaussian noise have a scale for "
    "each, too."
)
GROUPS_NOTE = (
    "Of groups that nobody listed, one is published where its noisy count reaches the threshold, "
    "and nothing is said of the others. Near the threshold a published count is biased upwards: a "
    "group whose noise was lower isn't there. Intervals hold for each group whether it is "
    "published or not; of those that are published, near the threshold fewer than 95 % do."
)
KEYS_NOTE = (
    "Of keys that are published alone, chance decides by how many have each, and nothing is said "
    "of the others. A key that isn't there may be one of many."
)
SELECTED_NOTE = (
    "Where min_count or top chooses groups, their published counts alone decide, which costs "
    "nothing. Those that are there are biased upwards. Intervals hold for each group whether it is "
    "published or not; of those that are published fewer than 95 % may."
)
_MANY_ROWS = 10**7
MEAN_NOTE = (
    "A mean's error depends on how many values its group has, which isn't public: it is shown, at "
    "most, for assumed sizes."
)
SIZES_NOTE = (
    "The errors of {kinds} depend on how many values a group has, which isn't public: they are "
    "shown, at most, for assumed sizes."
)
UNIT_NOTE = "Rows that don't say whose they are, as their unit is missing, are left out."


def _of_sizes(sized: Sequence[Statistic]) -> Iterator[str]:
    """Yield what is assumed of groups, given the statistics whose errors depend on that."""
    kinds = [*dict.fromkeys(one.kind for one in sized)]
    if kinds:
        several = SIZES_NOTE.format(kinds=_words.in_turn(kinds))
        yield MEAN_NOTE if kinds == ["mean"] else several
    yield from dict.fromkeys(one.assumes for one in sized if one.assumes)


def list_notes(plan: Plan) -> tuple[str, ...]:
    """Return the notes of a plan."""
    layouts = [block.layout for block in plan.blocks]
    sized = [one for layout in layouts for one in layout.statistics if one.needs_size]
    notes = (CLIP_NOTE, *counted_in(layouts), *_of_sizes(sized)) if layouts else ()
    notes += tuple(quantiles_notes(plan.quantiles)) if plan.quantiles else ()
    by_row = (*plan.blocks, *plan.quantiles, *plan.keys)[0].layout.by_row
    notes = notes if by_row else (*notes, UNIT_NOTE)
    found = (block.exact_rows for block in plan.blocks)
    exact = min((rows for rows in found if rows is not None), default=_MANY_ROWS)
    if exact < _MANY_ROWS:
        notes += (ROUNDING_NOTE.format(rows=exact),)
    if any(layout.part for layout in layouts):
        notes += (PARTS_NOTE,)
    if any(block.groups is not None for block in plan.blocks):
        notes += (GROUPS_NOTE,)
    if plan.keys:
        notes += (KEYS_NOTE,)
    if any(layout.decides for layout in layouts):
        notes += (SELECTED_NOTE,)
    if any(layout.projected for layout in layouts):
        notes += (WHOLE_NOTE,)
    if len([draw for draw in plan.draws if draw[0].groups is None]) <= 1:
        return notes
    if plan.certificate.rule == COMPOSED and any(one.split is not None for one in plan.blocks):
        return (*notes, JOINT_NOTE)
    return (*notes, SPLIT_NOTE if plan.budget.delta else PURE_NOTE)
