"""A plan as text: one table of all queries, and sentences about its guarantee and limits.

The noise is compared with plain noise, the better of Laplace and Gaussian for the same share of the
budget. The plan's record has all other numbers.
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
from leastnoise.guarantees.exact import decimal_text, printed_at_least
from leastnoise.tables.answers.base import NO_NAMES, Topic, texts
from leastnoise.tables.expressions.weeks import mixes_years
from leastnoise.tables.layout import found_bounds, found_limits
from leastnoise.tables.layout.axes import Unlisted
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
    "Plain noise is the better of Laplace and Gaussian noise for the same share of the budget. "
    "In its column, 2× means twice the standard deviation of the planned noise."
)
OWN_NOISE = "The ± is about the noise only, not about the bias from limits and bounds."
LEFT_OUT = (
    "A {person} in more cells than the limit is counted in only some of these cells. So counts may "
    "be far too low in the {tables}."
)
_WEAK = 10  # above this ε a guarantee means little


def list_rows(plan: Plan) -> list[tuple[str, ...]]:
    """The rows of the table with the heads `HEADS`: a row for each statistic.

    The name of a query appears only in its first row, and a share only in the first row of a part.
    The shares add up to 100 %, unless a part of the budget is spent on finding a limit.
    """
    rows: list[tuple[str, ...]] = []
    parts = [part for query in plan.by_query for part in query.parts]
    parts_of_one = [_share(part, plan) for part in parts]
    shares = _percentages([*parts_of_one, 1 - sum(parts_of_one, Fraction(0))])[: len(parts)]
    named = ""
    for part, share in zip(parts, shares, strict=True):
        for numbers in part.list_rows(plan.spec):
            rows.append(("" if part.name == named else part.name, numbers[0], share, *numbers[1:]))
            named, share = part.name, ""  # noqa: PLW2901 (shown once)
    return rows


def list_sentences(plan: Plan) -> list[str]:
    """Sentences about the guarantee, shared draws, rows that count, limits and wishes (`Wish`)."""
    layouts = [layout for query in plan.by_query for layout in query.layouts]
    sentences = [
        _words.describe_protection(plan.neighbours, plan.spec.protected),
        *series_sentences(plan),
    ]
    sentences += weak_promises(plan.budget.epsilon, plan.spec.privacy)
    if not plan.budget.epsilon:
        sentences.append("ε = 0: the tables show hardly more than noise. Give an epsilon above 0.")
    sentences += sentences_on(plan, Topic.DRAW)
    sentences += [*warn_mixed_years(plan.spec), *_clocks(plan.spec), *describe_rows(plan)]
    sentences += advise_max_groups(plan)
    sentences += sentences_on(plan, Topic.KEPT, Topic.NOISE, Topic.WISH)
    if plan.noisy_parts:
        sentences += [PLAIN, OWN_NOISE, *describe_counts(layouts), *describe_detection(plan)]
    return sentences + sentences_on(plan, Topic.VALUES)


def sentences_on(plan: Plan, *topics: Topic) -> list[str]:
    """The sentences of all answers about these topics, topic by topic."""
    every = [sentence for answered in plan.answered for sentence in answered.sentences(NO_NAMES)]
    return [text for topic in topics for text in texts(iter(every), topic)]


def describe_rows(plan: Plan) -> list[str]:
    """Sentences about the rows that count, and the effect of limits and bounds on them."""
    layouts = [layout for query in plan.by_query for layout in query.layouts]
    sentences = [] if plan.spec.privacy.by_row else limits_of_persons(layouts, plan.person)
    sentences += limits_of_values(plan.spec, layouts)
    sentences += dict.fromkeys(sentence for layout in layouts for sentence in layout.joined)
    sentences += rows_in_no_group(plan.spec, layouts)
    return sentences + _filters(layouts)


def weak_promises(epsilon: Fraction, privacy: Privacy) -> Iterator[str]:
    """Yield warnings about a weak guarantee: ε above 10, or δ · population above 1."""
    if epsilon > _WEAK:
        large = _words.round_up(epsilon)
        present, otherwise = _words.name_neighbours(
            privacy.neighbours, privacy.person, by_row=privacy.by_row
        )
        yield (
            f"ε = {large} is a weak promise: a result may be e^{large} times as likely {present} "
            f"as {otherwise}."
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
    """Write shares that add up to 1 in per cent: as whole numbers if all are whole, else in tenths.

    The results add up to 100 %: each share is rounded down, and then the shares that lost most are
    rounded up.
    """
    digits = 0 if all((100 * share).denominator == 1 for share in shares) else 1
    steps = [share * 100 * 10**digits for share in shares]
    whole = [math.floor(step) for step in steps]
    losing = sorted(range(len(steps)), key=lambda index: whole[index] - steps[index])
    for index in losing[: 100 * 10**digits - sum(whole)]:
        whole[index] += 1
    return [f"{step / 10**digits:.{digits}f} %" for step in whole]


def limits_of_values(spec: Spec, layouts: Sequence[TableShape]) -> list[str]:
    """Sentences about the effect of the bounds of columns on the statistics of `layouts`.

    After them come sentences about bounds and limits that the release finds.
    """
    parts = (
        part for layout in layouts for statistic in layout.statistics for part in statistic.parts
    )
    used = {part.column for part in parts if part.of_values}
    return [
        *(
            _words.describe_limits(spec.labels.get(name, name), *column.limits)
            for name, column in spec.columns.items()
            if column.limits is not None and name in used and not column.is_open
        ),
        *found_bounds.describe(spec, used),
        *found_limits.describe(spec),
    ]


def describe_counts(layouts: Sequence[TableShape], *, rest: bool = False) -> list[str]:
    """Sentences about noisy counts of persons or values beyond limits or bounds.

    With `rest`, the sentences are about counts of persons or rows in no group instead. Empty
    without such counts.
    """
    counting = [
        layout
        for layout in layouts
        if layout.clipped and (layout.statistics == (CountInNoGroup(),)) is rest
    ]
    if not counting:
        return []
    names = [*dict.fromkeys(layout.name for layout in counting)]
    subject = f"The query {names[0]} publishes"
    if len(names) > 1:
        subject = f"The queries {_words.join_names(names)} publish"
    sentence = (
        f"{subject} noisy counts of the persons or values beyond limits or bounds, in all groups "
        "together."
    )
    if rest:
        units = "rows" if counting[0].by_row else "persons"
        sentence = f"{subject} the noisy number of {units} in no group."
    return [sentence, *dict.fromkeys(text for layout in counting for text in layout.clipped)]


def describe_detection(plan: Plan) -> list[str]:
    """Sentences on how much limits and bounds must leave out before noisy counts can reveal it."""
    errors = [error for part in plan.noisy_parts if part.layout.clipped for error in part.errors]
    sentences = [
        f"With probability 95 %, {error.statistic} is off by at most "
        f"{_words.number(error.half_width_95)}. A smaller count can't be distinguished from 0."
        for error in errors
    ]
    if sentences:
        sentences.append(
            "Twice the share of the budget for these counts about halves their errors, and leaves "
            "less for the rest."
        )
    return sentences


def rows_in_no_group(spec: Spec, layouts: Sequence[TableShape]) -> list[str]:
    """Sentences about rows in no group: because of a join or a key's spelling, and their counts."""
    sentences = [
        f"If the {join.on} of a row matches no row of {name}, or several, its columns of {name} "
        "are missing, and it is in no group by them."
        for name, join in spec.data.join.items()
    ]
    names = [
        query.name
        for query in spec.query
        if any(
            isinstance(keys, tuple) and any(isinstance(key, str) for key in keys)
            for keys in spec.groupings(query).values()
        )
    ]
    if names:
        sentences.append(
            "Keys are compared letter by letter. If a row's key differs from the listed keys in "
            "capitals, spaces or the format of a date, the row is in no group of the "
            f"{'query' if len(names) == 1 else 'queries'} {_words.join_names(names)}."
        )
    return [*sentences, *describe_counts(layouts, rest=True)]


def warn_mixed_years(spec: Spec) -> list[str]:
    """Warn of queries that group by a calendar year and an ISO week."""
    return [
        f"{query.name} is grouped by year and week: week() is the ISO week, and 1 January may be "
        "in week 52 or 53 of the year before. Write isoyear() in place of year()."
        for query in spec.query
        if mixes_years(spec.derive, spec.groupings(query))
    ]


def _clocks(spec: Spec) -> list[str]:
    """A sentence with the version of the time zone data; empty without any zone but UTC."""
    filters = (spec.data.filter, *(query.filter for query in spec.query))
    texts = [*spec.derive.values(), *(text for text in filters if text is not None)]
    if not any("zone" in text.lower() for text in texts):
        return []
    from leastnoise.tables.expressions.zones import describe_zones  # noqa: PLC0415  (0.1 s)

    return describe_zones(texts)


def _filters(layouts: Sequence[TableShape]) -> list[str]:
    """Sentences about the filter of each query."""
    sentences = [
        f"In {layout.name}, only rows where {text} count."
        for layout in layouts
        for text in layout.filters
    ]
    return list(dict.fromkeys(sentences))


def limits_of_persons(layouts: Sequence[TableShape], person: str) -> list[str]:
    """Sentences about the limits of one person, and warnings of cells from which they drop persons.

    Queries with the same limit share a sentence.
    """
    names_by_limit: dict[str, dict[str, None]] = {}
    for layout in layouts:
        limit = f"each {person} {layout.limits}."
        names_by_limit.setdefault(limit, {})[layout.name] = None
    sentences = [
        f"In {'each of ' if len(names) > 1 else ''}{_words.join_names([*names])}, {limit}"
        for limit, names in names_by_limit.items()
    ]
    if len(names_by_limit) == 1:
        sentences = [limit[0].upper() + limit[1:] for limit in names_by_limit]
    limited = [layout for layout in layouts if layout.leaves_out]
    cells = dict.fromkeys(layout.name for layout in limited if not layout.adds_cells)
    if cells:
        tables = f"table{'s' if len(cells) > 1 else ''} {_words.join_names([*cells])}"
        sentences.append(LEFT_OUT.format(person=person, tables=tables))
    sums = dict.fromkeys(layout.name for layout in limited if layout.adds_cells)
    return [
        *sentences,
        *(f"Counts may be far too low in the cells that {name} adds up." for name in sums),
    ]


def advise_max_groups(plan: Plan) -> Iterator[str]:
    """Yield advice about queries by unlisted keys where only max_rows limits a person's groups."""
    limits = {query.name: plan.spec.limits(query) for query in plan.spec.query}
    names = dict.fromkeys(
        layout.name
        for query in plan.by_query
        for layout in query.layouts
        if layout.leaves_out
        and any(isinstance(axis, Unlisted) for axis in layout.axes)
        and limits[layout.name].max_groups is None
    )
    if names:
        yield (
            f"Without max_groups, max_rows limits also the groups of one {plan.person}, in "
            f"{_words.join_names([*names])}. With max_groups = 1, noise is far smaller and smaller "
            "groups are published, but whoever is in several groups counts in one of them."
        )


# Notes about facts that the numbers of a plan don't show. Plans store them, and `verify` derives
# them again. So a change of wording would reject stored releases.


CLIP_NOTE = (
    "Errors and 95 % intervals cover the noise alone, not the bias from clamping values to bounds "
    "or from clipping a person's rows."
)
PURE_NOTE = (
    "With delta = 0 privacy losses add up, so that each draw of noise has its share of epsilon."
)
SPLIT_NOTE = (
    "Each draw of noise spends its own share of the budget. No proof for all draws together was "
    "found that gives every draw less noise."
)
JOINT_NOTE = (
    "All queries together meet the budget, by tight composition. Each query has less noise than "
    "it would have with its share of the budget alone."
)
RHO_NOTE = (
    "All noise is Gaussian. The rho of the release is the sum of all draws' rho. At the stated "
    "delta, epsilon is the exact value for Gaussian noise with the total rho. A bound for all zCDP "
    "noise with this rho would be larger."
)
ROUNDING_NOTE = (
    "Values are rounded a little before they are summed. Intervals don't include the rounding "
    "errors. In a cell with {rows:,} or more rows of the same value, the sum of these errors may "
    "exceed 1 % of the ±."
)
_MANY_ROWS = 10**7
MEAN_NOTE = (
    "The error of a mean depends on the number of values in its group, which isn't public. So the "
    "plan shows the error for assumed numbers of values."
)
SIZES_NOTE = (
    "The errors of {kinds} depend on the number of values in a group, which isn't public. So the "
    "plan shows the errors for assumed numbers of values."
)
UNIT_NOTE = "Rows where the unit is missing are left out: nothing says whose rows they are."


def _list_sizes(sized: Sequence[Statistic]) -> Iterator[str]:
    """Yield sentences about the group sizes and other facts that the statistics' errors assume."""
    kinds = [*dict.fromkeys(statistic.kind for statistic in sized)]
    if kinds:
        several = SIZES_NOTE.format(kinds=_words.join_names(kinds))
        yield MEAN_NOTE if kinds == ["mean"] else several
    yield from dict.fromkeys(statistic.assumes for statistic in sized if statistic.assumes)


def list_notes(plan: Plan) -> tuple[str, ...]:
    """The notes of a plan: sentences about facts that its numbers don't show."""
    layouts = [part.layout for part in plan.noisy_parts]
    sized = [item for layout in layouts for item in layout.statistics if item.needs_size]
    counts = (
        *describe_counts(layouts),
        *describe_counts(layouts, rest=True),
        *describe_detection(plan),
    )
    notes = (CLIP_NOTE, *counts, *_list_sizes(sized)) if layouts else ()
    notes += tuple(warn_mixed_years(plan.spec))
    notes += tuple(sentences_on(plan, Topic.VALUES))
    by_row = plan.spec.privacy.by_row
    notes = notes if by_row else (*notes, UNIT_NOTE)
    row_counts = (part.exact_rows for part in plan.noisy_parts)
    exact = min((rows for rows in row_counts if rows is not None), default=_MANY_ROWS)
    if exact < _MANY_ROWS:
        notes += (ROUNDING_NOTE.format(rows=exact),)
    notes += tuple(sentences_on(plan, Topic.PARTS, Topic.GROUPS, Topic.SELECTED, Topic.WHOLE))
    if plan.certificate.rho is not None:
        return (*notes, RHO_NOTE)
    if sum(item.is_composed for item in plan.answered) <= 1:
        return notes
    if plan.rule == COMPOSED and any(item.split is not None for item in plan.answered):
        return (*notes, JOINT_NOTE)
    return (*notes, SPLIT_NOTE if plan.budget.delta else PURE_NOTE)


# Sentences about a series: the guarantee of all releases together, and of a single release.


EACH_NOTE = (
    "The limits apply to each release, and the guarantee protects a person who is in all of them."
)
REPORT_NOTE = (
    "A row counts in the release whose number is in {column}, and in no other: a row that comes "
    "later is not counted. No row may ever be shown with two values of {column}. A date that is "
    "written once, when the row is loaded, meets that; the date of the last change does not."
)
ROW_NOTE = (
    "Adding or removing one row changes the probability of anything that these releases publish by "
    "at most the factor e^{epsilon}{delta}. Somebody with j rows is protected less: ε is j times "
    "as large{more}."
)
REPORTED_NOTE = (
    "The rows of one {person} in one release change the probability of anything that these "
    "releases publish by at most the factor e^{epsilon}{delta}. It is not hidden that a {person} "
    "is in the data release after release: with rows in j releases, ε is j times as large{more}."
)
MOST_NOTE = (
    "This is promised to each {person} whose rows count in at most {most}. Nothing checks that: no "
    "{person} is remembered from one release to the next."
)


def find_epsilon_of_one(certificate: PlanCertificate) -> float:
    """A proved ε of a single release of the series, at the δ of the series, rounded up.

    At δ = 0, the ε of the draws add up. Otherwise it is an ε that is proved for the draws of one
    release together, or the ε of the whole series if none smaller is proved.
    """
    budget, claims = certificate.budget, [claim for _, claim in certificate.draws]
    draws = [claim for claim in claims if isinstance(claim, Certificate)]
    others = [claim.budget for claim in claims if not isinstance(claim, Certificate)]
    separate = sum((other.epsilon for other in others), Fraction(0))
    if not budget.delta:
        pure = sum((draw.budget.epsilon for draw in draws), Fraction(0)) / certificate.releases
        return printed_at_least(separate + pure)
    left = budget.delta - sum((other.delta for other in others), Fraction(0))
    parts = tuple(draw.one_release for draw in draws)
    try:
        composed = Composition(parts=parts).epsilon(delta=left, accuracy=0).upper if parts else 0.0
    except (NotApplicable, InvalidArgument):
        return printed_at_least(budget.epsilon)
    return printed_at_least(min(separate + Fraction(composed), budget.epsilon))


def series_sentences(plan: Plan) -> Iterator[str]:
    """Sentences about the guarantee of a series; none without a series."""
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
        # j rows of a person may be in one release; its guarantee for j rows together is weaker
        if delta:
            more = ", and δ j·e^((j−1)ε) times" if series.each == "row" else ", and δ too"
        yield f"{whole} {note.format(person=person, epsilon=epsilon, delta=but, more=more)}"
    if series.report is not None:
        yield REPORT_NOTE.format(column=series.report)


def rho_sentences(plan: Plan) -> Iterator[str]:
    """Yield the text about a budget in ρ; nothing for another budget."""
    rho = plan.certificate.rho
    if rho is not None:
        yield f"Promised also: zCDP with ρ = {decimal_text(rho)}. {RHO_NOTE}"


def whole_guarantee(plan: Plan) -> str:
    """A sentence about the guarantee of the release, or of all releases of a series together."""
    rho = plan.certificate.rho
    guarantee = _words.format_guarantee(plan.budget.epsilon, plan.budget.delta, rho)
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
