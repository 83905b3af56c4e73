"""A plan as people read it: one table of all queries, and what it rests on, in sentences.

The noise is compared with the plain noise that one would take instead, the better of Laplace and
Gaussian for the same part of the budget. All else that is known is in the plan's record.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leastnoise import _words
from leastnoise.accounting.composition import Composition
from leastnoise.certificate.certificate import Certificate
from leastnoise.certificate.plan import COMPOSED
from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.guarantees.exact import printed_at_least
from leastnoise.tables.answers.base import NO_NAMES, Topic, texts
from leastnoise.tables.expressions.weeks import mixes_years
from leastnoise.tables.layout import found_bounds
from leastnoise.tables.statistics.totals import CountInNoGroup

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leastnoise.certificate.plan import PlanCertificate
    from leastnoise.tables.answers.base import TablePart
    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.spec.model import Privacy, Spec
    from leastnoise.tables.statistics.base import Statistic

HEADS = ("query", "statistic", "share", "± (95 %)", "plain noise")
PLAIN = (
    "Plain noise errs so many times as much: the better of Laplace and Gaussian noise for the same "
    "share of the budget."
)
OWN_NOISE = "The ± is of the noise alone. What limits and bounds take away is not in it."
LEFT_OUT = "Who is in more cells is left out of the others. So all cells may be far too low: in"
_WEAK = 10  # an ε above which a promise says little


def list_rows(plan: Plan) -> list[tuple[str, ...]]:
    """Return the rows of the table below `HEADS`, one for each statistic.

    A query is named, and a share said, where it begins. The shares add up to 100 %.
    """
    rows: list[tuple[str, ...]] = []
    parts = [part for query in plan.by_query for part in query.parts]
    shares = _percentages([_share(part, plan) for part in parts])
    named = ""
    for part, share in zip(parts, shares, strict=True):
        for numbers in part.list_rows(plan.spec):
            rows.append(("" if part.name == named else part.name, numbers[0], share, *numbers[1:]))
            named, share = part.name, ""  # noqa: PLW2901 (said once)
    return rows


def list_sentences(plan: Plan) -> list[str]:
    """Return whom the release protects, what each query shares and limits, and what was wished."""
    layouts = [layout for query in plan.by_query for layout in query.layouts]
    said = [
        _words.describe_protection(plan.neighbours, plan.spec.protected),
        *series_sentences(plan),
    ]
    said += weak_promises(plan.budget.epsilon, plan.spec.privacy)
    if not plan.budget.epsilon:
        said.append("ε = 0: the tables show hardly more than noise. Give an epsilon above 0.")
    said += sentences_on(plan, Topic.DRAW)
    said += [*mixed_years(plan.spec), *what_counts(plan)]
    said += sentences_on(plan, Topic.KEPT, Topic.NOISE, Topic.WISH)
    if plan.blocks:
        said += [PLAIN, OWN_NOISE, *counted_in(layouts), *least_counted(plan)]
    return said + sentences_on(plan, Topic.VALUES)


def sentences_on(plan: Plan, *topics: Topic) -> list[str]:
    """The sentences of all answers on some topics, topic by topic."""
    every = [sentence for answered in plan.answered for sentence in answered.sentences(NO_NAMES)]
    return [text for topic in topics for text in texts(iter(every), topic)]


def what_counts(plan: Plan) -> list[str]:
    """Return which rows the numbers are of, and what limits and bounds do to them, in sentences."""
    layouts = [layout for query in plan.by_query for layout in query.layouts]
    said = [] if plan.spec.privacy.by_row else limits_of_persons(layouts, plan.person)
    said += limits_of_values(plan.spec, layouts)
    said += dict.fromkeys(one for layout in layouts for one in layout.joined)
    said += rows_in_no_group(plan.spec, layouts)
    return said + _filters(layouts)


def weak_promises(epsilon: Fraction, privacy: Privacy) -> Iterator[str]:
    """Yield why a promise is weak: ε above 10, or δ above 1 in the population."""
    if epsilon > _WEAK:
        large = _words.round_up(epsilon)
        yield (
            f"ε = {large} is a weak promise: a result may be e^{large} times as likely with the "
            f"rows of any one {privacy.person} as without."
        )
    if privacy.population is not None and privacy.delta * privacy.population > 1:
        yield (
            f"δ = {_words.round_up(privacy.delta)} is a weak promise: above 1 in "
            f"{privacy.population:,}, it would allow publishing all rows of one {privacy.person} "
            "who is drawn by lot."
        )


def _share(part: TablePart, plan: Plan) -> Fraction:
    if plan.budget.epsilon:
        return part.budget.epsilon / plan.budget.epsilon
    return part.budget.delta / plan.budget.delta


def _percentages(shares: Sequence[Fraction]) -> list[str]:
    """Return shares of 1 in per cent, whole if all are, else in tenths, which add up to 100 %.

    Each is rounded down, and those that lose most by it are rounded up.
    """
    digits = 0 if all((100 * share).denominator == 1 for share in shares) else 1
    steps = [share * 100 * 10**digits for share in shares]
    whole = [math.floor(one) for one in steps]
    losing = sorted(range(len(steps)), key=lambda place: whole[place] - steps[place])
    for place in losing[: 100 * 10**digits - sum(whole)]:
        whole[place] += 1
    return [f"{one / 10**digits:.{digits}f} %" for one in whole]


def limits_of_values(spec: Spec, layouts: Sequence[TableShape]) -> list[str]:
    """Return what the bounds of columns do to the statistics of `layouts`, a sentence each."""
    parts = (one for layout in layouts for asked in layout.statistics for one in asked.parts)
    used = {one.column for one in parts if one.of_values}
    return [
        *(
            _words.describe_limits(spec.labels.get(name, name), *column.limits)
            for name, column in spec.columns.items()
            if column.limits is not None and name in used and not column.is_open
        ),
        *found_bounds.describe(spec, used),
    ]


def counted_in(layouts: Sequence[TableShape], *, rest: bool = False) -> list[str]:
    """The sentences about queries that count what limits and bounds take away; none without any.

    With `rest`, about those that count rows in no group.
    """
    own = [one for one in layouts if one.clipped]
    own = [one for one in own if (one.statistics == (CountInNoGroup(),)) is rest]
    if not own:
        return []
    names = [*dict.fromkeys(layout.name for layout in own)]
    counts = "counts" if len(names) == 1 else "count"
    what = "How many are in none" if rest else "How much that is"
    where = "" if rest else ", in all groups together"
    said = f"{what}, {_words.join_names(names)} {counts} with noise{where}."
    return [said, *dict.fromkeys(text for layout in own for text in layout.clipped)]


def least_counted(plan: Plan) -> list[str]:
    """Say how much limits and bounds must take away before the counts of that show it."""
    errors = [one for block in plan.blocks if block.layout.clipped for one in block.errors]
    said = [
        f"{one.statistic} is known within ±{_words.number(one.half_width_95)} (95 %): below that "
        "it can't be told from none."
        for one in errors
    ]
    if said:
        said.append("Twice the share of the budget about halves that, and takes it from the rest.")
    return said


def rows_in_no_group(spec: Spec, layouts: Sequence[TableShape]) -> list[str]:
    """The sentences about rows that a join, or another spelling of a key, leaves in no group."""
    said = [
        f"A row whose {join.on} no row of {name} has, or several have, stands alone: it has none "
        f"of the columns of {name}, and is in no group by them."
        for name, join in spec.data.join.items()
    ]
    texts = [
        query.name
        for query in spec.query
        for keys in spec.groupings(query).values()
        if isinstance(keys, tuple) and any(isinstance(key, str) for key in keys)
    ]
    if texts:
        said.append(
            "Keys are compared letter by letter: with other capitals or spaces, or a date written "
            f"otherwise, a row is in no group. So in {_words.join_names([*dict.fromkeys(texts)])}."
        )
    return [*said, *counted_in(layouts, rest=True)]


def mixed_years(spec: Spec) -> list[str]:
    """Warn of queries whose groups are of a calendar year and an ISO week."""
    return [
        f"{query.name} is grouped by year and week: week() is the ISO week, and 1 January may be "
        "in week 52 or 53 of the year before. Write isoyear() in place of year()."
        for query in spec.query
        if mixes_years(spec.derive, spec.groupings(query))
    ]


def _filters(layouts: Sequence[TableShape]) -> list[str]:
    """Return which rows count, each with its query."""
    said = [
        f"In {layout.name}, only rows where {text} count."
        for layout in layouts
        for text in layout.filters
    ]
    return list(dict.fromkeys(said))


def limits_of_persons(layouts: Sequence[TableShape], person: str) -> list[str]:
    """Return what one person can do, once for all queries of which it is the same."""
    found: dict[str, dict[str, None]] = {}
    for layout in layouts:
        limit = f"each {person} {layout.limits}."
        found.setdefault(limit, {})[layout.name] = None
    said = [f"In {_words.join_names([*names])}, {limit}" for limit, names in found.items()]
    if len(found) == 1:
        said = [limit[0].upper() + limit[1:] for limit in found]
    some = [one for one in layouts if one.leaves_out]
    cells = dict.fromkeys(one.name for one in some if not one.adds_cells)
    if cells:
        said.append(f"{LEFT_OUT} {_words.join_names([*cells])}.")
    sums = dict.fromkeys(one.name for one in some if one.adds_cells)
    return [
        *said,
        *(f"Counts may be far too low in the cells that {name} adds up." for name in sums),
    ]


# What the numbers of a plan don't say, in sentences that a certificate can confirm.


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
        several = SIZES_NOTE.format(kinds=_words.join_names(kinds))
        yield MEAN_NOTE if kinds == ["mean"] else several
    yield from dict.fromkeys(one.assumes for one in sized if one.assumes)


def list_notes(plan: Plan) -> tuple[str, ...]:
    """Return the notes of a plan."""
    layouts = [block.layout for block in plan.blocks]
    sized = [one for layout in layouts for one in layout.statistics if one.needs_size]
    counts = (*counted_in(layouts), *counted_in(layouts, rest=True), *least_counted(plan))
    notes = (CLIP_NOTE, *counts, *_of_sizes(sized)) if layouts else ()
    notes += tuple(mixed_years(plan.spec))
    notes += tuple(sentences_on(plan, Topic.VALUES))
    by_row = plan.spec.privacy.by_row
    notes = notes if by_row else (*notes, UNIT_NOTE)
    found = (block.exact_rows for block in plan.blocks)
    exact = min((rows for rows in found if rows is not None), default=_MANY_ROWS)
    if exact < _MANY_ROWS:
        notes += (ROUNDING_NOTE.format(rows=exact),)
    notes += tuple(sentences_on(plan, Topic.PARTS, Topic.GROUPS, Topic.SELECTED, Topic.WHOLE))
    if sum(one.is_composed for one in plan.answered) <= 1:
        return notes
    if plan.certificate.rule == COMPOSED and any(one.split is not None for one in plan.answered):
        return (*notes, JOINT_NOTE)
    return (*notes, SPLIT_NOTE if plan.budget.delta else PURE_NOTE)


# The sentences of a plan on a series: the guarantee of all releases, and of one of them.


EACH_NOTE = (
    "Limits are those of each release: all together protect who is in every one of them as well."
)
REPORT_NOTE = (
    "A row counts in the release whose number is in {column}, and in no other: a row that comes "
    "later is not counted. No row may ever be shown with two values of {column}. A date that is "
    "written once, when the row is loaded, meets that; the date of the last change does not."
)
ROW_NOTE = (
    "Whether one row is in the data changes the probability of anything that these releases "
    "publish by at most the factor e^{epsilon}{delta}. Somebody with j rows is protected less: ε "
    "is j times as large{more}."
)
REPORTED_NOTE = (
    "What was reported of one {person} in one release changes the probability of anything that "
    "these releases publish by at most the factor e^{epsilon}{delta}. It is not hidden that a "
    "{person} is in the data release after release: with rows in j releases, ε is j times as "
    "large{more}."
)
MOST_NOTE = (
    "This is promised to each {person} whose rows count in at most {most}. Nothing checks that: no "
    "{person} is remembered from one release to the next."
)


def find_epsilon_of_one(certificate: PlanCertificate) -> float:
    """Return an ε that one release of the series has alone, at the δ of all, rounded up.

    Losses add up at δ = 0; else it is the least that is proved of its draws together, and that of
    the whole series where none is.
    """
    budget, blocks = certificate.budget, [block for _, block in certificate.blocks]
    draws = [block for block in blocks if isinstance(block, Certificate)]
    others = [block.budget for block in blocks if not isinstance(block, Certificate)]
    apart = sum((one.epsilon for one in others), Fraction(0))
    if not budget.delta:
        pure = sum((draw.budget.epsilon for draw in draws), Fraction(0)) / certificate.releases
        return printed_at_least(apart + pure)
    left = budget.delta - sum((one.delta for one in others), Fraction(0))
    parts = tuple(draw.one_release for draw in draws)
    try:
        own = Composition(parts=parts).epsilon(delta=left, accuracy=0).upper if parts else 0.0
    except (NotApplicable, InvalidArgument):
        return printed_at_least(budget.epsilon)
    return printed_at_least(min(apart + Fraction(own), budget.epsilon))


def series_sentences(plan: Plan) -> Iterator[str]:
    """The guarantee of a series, in sentences; none without a series."""
    series, person = plan.spec.series, plan.person
    if series is None:
        return
    whole, alone = whole_guarantee(plan), plan.epsilon_of_one
    if alone is not None:
        whole += (
            f" One of them alone has {_words.format_guarantee(Fraction(alone), plan.budget.delta)}."
        )
    if series.each is None and series.max_releases is None:
        yield f"{whole} {EACH_NOTE}"
    elif series.each is None:
        most = _words.count_noun(series.max_releases or series.releases, "release")
        yield f"{whole} {MOST_NOTE.format(person=person, most=most)}"
    else:
        note = ROW_NOTE if series.each == "row" else REPORTED_NOTE
        epsilon, delta = _words.round_up(plan.budget.epsilon), plan.budget.delta
        but = f", but for a probability of {_words.round_up(delta)}" if delta else ""
        more = ""
        if delta:  # j rows may be in one release, whose guarantee for a group is weaker
            more = ", and δ j·e^((j−1)ε) times" if series.each == "row" else ", and δ too"
        yield f"{whole} {note.format(person=person, epsilon=epsilon, delta=but, more=more)}"
    if series.report is not None:
        yield REPORT_NOTE.format(column=series.report)


def whole_guarantee(plan: Plan) -> str:
    """The guarantee of the release, or of all releases of a series together, in a sentence."""
    guarantee = _words.format_guarantee(plan.budget.epsilon, plan.budget.delta)
    releases = plan.planned_releases
    if releases == 1:
        return f"The whole release has {guarantee}."
    protected = plan.spec.protected
    whom = "" if protected == plan.person else f" for each {protected}"
    return f"All {releases:,} releases together have {guarantee}{whom}."


def series_record(plan: Plan) -> dict[str, Any]:
    """The series as JSON values; {} without a series."""
    series = plan.spec.series
    if series is None:
        return {}
    record: dict[str, Any] = {"releases": series.releases, "epsilon_of_one": plan.epsilon_of_one}
    asked = {"each": series.each, "max_releases": series.max_releases, "report": series.report}
    return {"series": record | {name: value for name, value in asked.items() if value is not None}}
