"""The JSON records that commands print, and the tables of plans and releases for people."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leastnoise import _words
from leastnoise._notebooks import MOST_ROWS
from leastnoise.cli.terminal import print_sentences, print_table, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leastnoise.guarantees.exact import Interval
    from leastnoise.selection.comparison import Candidate
    from leastnoise.tables.plan.keys import KeysPlan
    from leastnoise.tables.plan.plan import BlockPlan, Plan
    from leastnoise.tables.plan.quantiles import QuantilePlan
    from leastnoise.tables.plan.unlisted import Groups
    from leastnoise.tables.query.layout import Layout
    from leastnoise.tables.query.ranks import Ranks
    from leastnoise.tables.query.results import Table


def finite(value: object) -> object:
    """Return what JSON can hold: null stands for no bound."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_json(record: dict[str, Any]) -> None:
    """Print one JSON object on stdout."""
    say(json.dumps(record, indent=2), lines=True)


def intervals(
    asked: str, proved: str, found: Iterable[tuple[str, Interval]]
) -> list[dict[str, Any]]:
    """Return records of intervals of δ at each ε, or of ε at each δ, that are proved."""
    return [{asked: text, f"{proved}_interval": [at.lower, at.upper]} for text, at in found]


_COLUMNS = (
    "std is the standard deviation of the noise; plain Laplace and plain Gaussian are what the std "
    "would be with such noise, for the same part of the budget."
)


def print_plan(
    plan: Plan, *, least: bool = False, needed: Fraction | None = None, verbose: bool = False
) -> None:
    """Print what a release will hold and how large its errors will be, in one table.

    `least` says that its ε was searched; `needed` is the ε with which all accuracies would be met,
    if this plan misses one. What is `verbose` has a table a query and every note, too.
    """
    from leastnoise.tables.plan import summary

    found = ", with the least ε found that meets every accuracy" if least else ""
    title = f"{summary.whole_guarantee(plan)[:-1]}{found}."
    print_table(title, summary.HEADS, summary.list_rows(plan))
    said = summary.list_sentences(plan)
    if needed is not None:
        said.append(f"At these weights, epsilon = {float(needed):.5g} would meet every accuracy.")
    print_sentences(said)
    say()
    if verbose:
        for query in plan.by_query:
            for block in query.blocks:
                _print_block(block, plan)
            for part in query.quantiles:
                _print_quantiles(part, plan.person)
            for part in query.keys:
                _print_keys(part, plan.person)
        print_sentences([_COLUMNS, *plan.notes])
        say()


def _print_block(block: BlockPlan, plan: Plan) -> None:
    """Print the plan of one query, with all that is known of it."""
    from leastnoise.tables.plan.summary import bounds_of_error
    from leastnoise.tables.plan.summed.whole_counts import bias_in_words

    layout, unit = block.layout, plan.person
    widest = {one.label: bounds_of_error(plan.spec, one) for one in layout.statistics}
    rows = [
        (
            error.statistic
            + (f" of {error.rows:,} values" if error.rows else "")
            + widest[error.statistic],
            f"{error.std:.4g}",
            f"±{error.half_width_95:.4g}" if math.isfinite(error.half_width_95) else "no bound",
            *map(_std, (error.plain_laplace_std, error.plain_gaussian_std)),
        )
        for error in block.errors
    ]
    where = "in each cell" if block.groups is None else "in each group"
    if block.running is not None and block.running.sums:
        where = "of all edges: root mean square, largest ±"
    if block.level is not None and block.level.error.rows is not None:
        where = "of all rows: root mean square, largest ±"
    print_table(
        _title(block, unit),
        (where, "std", "95 % of the noise", "plain Laplace", "plain Gaussian"),
        rows,
    )
    said = [] if block.groups is None else block.groups.in_words()
    said += [] if block.too_high is None else [bias_in_words({block.name: block.too_high})]
    if block.groups is not None:
        _print_groups(block.groups)
    print_sentences(_rows_of(layout, unit, said) + [wish.in_words() for wish in block.wishes])
    say()


def _print_quantiles(part: QuantilePlan, unit: str) -> None:
    """Print the plan of the quantiles of one column in a query."""
    layout = part.layout
    what = ", ".join(one.label for one in layout.statistics)
    cells = _words.counted(layout.cells, "cell")
    ends = f"from {layout.published[0]:,} to {layout.published[-1]:,}"
    title = (
        f"{part.name}: {what}; in {cells}, for ε = {_words.at_least(part.budget.epsilon)}. Each is "
        f"one of {layout.candidates.cells:,} candidates {ends}, by "
        f"{'permute-and-flip' if part.tree is None else 'a tree of counts'}."
    )
    rows = [(one.statistic, f"{one.rows_95:.4g}") for one in part.errors]
    print_table(title, ("in each cell", "rows from the true rank, 95 %"), rows)
    print_sentences(_rows_of(layout, unit, part.in_words()))
    say()


def _print_keys(part: KeysPlan, unit: str) -> None:
    """Print the plan of a query that publishes keys alone."""
    title = (
        f"{part.name}: keys and no number, for ε = {_words.at_least(part.budget.epsilon)}, "
        f"δ = {_words.at_least(part.budget.delta)}."
    )
    rows = [("chosen", str(part.half), str(part.nearly))]
    rows += [] if part.least is None else [("any mechanism", str(part.least), "")]
    print_table(title, ("from how many on a key is published, with probability", "½", "95 %"), rows)
    print_sentences(_rows_of(part.layout, unit, part.in_words()))
    say()


def _rows_of(layout: Layout | Ranks, unit: str, said: Sequence[str]) -> list[str]:
    """Return which rows count and for how much, in sentences, around those that are `said`."""
    from leastnoise.tables.query import results
    from leastnoise.tables.query.axes import Bins
    from leastnoise.tables.query.layout import Layout

    dropped = [
        f"Rows are dropped where {axis.column} is {axis.dropped}."
        for axis in layout.axes
        if isinstance(axis, Bins) and axis.dropped
    ]
    filters = [f"Only rows where {text} count." for text in layout.filters]
    limits = [] if layout.by_row else [f"Each {unit} {layout.limits}."]
    kept = results.describe_kept_groups(layout) if isinstance(layout, Layout) else ()
    return [*limits, *said, *dropped, *layout.joined, *filters, *layout.missing, *kept]


def _print_groups(groups: Groups) -> None:
    """Print from where on a group is published, with each kind of noise that would do."""
    rows = [
        (name, str(one.half), str(one.nearly), f"{one.std:.4g}")
        for name, one in [
            (f"{groups.chosen.noise} (chosen)", groups.chosen),
            *((one.noise, one) for one in groups.others),
            *([] if groups.plain is None else [("plain Laplace", groups.plain)]),
        ]
    ]
    title = "From how many on a group is published, with probability ½ and 95 %"
    print_table(title, ("noise", "½", "95 %", "std of the count"), rows)


def _title(block: BlockPlan, unit: str) -> str:
    """Return a block's title: its numbers, its part of the budget and its noise."""
    layout, mechanism, budget = block.layout, block.mechanism, block.budget
    noise, geometry = mechanism.noise, mechanism.certificate.geometry
    what = ", ".join(one.label for one in layout.statistics) if layout.part else ""
    said = f"{block.name}: {what}{what and '; '}{_words.counted(layout.dimension, 'number')} in "
    public = math.prod(axis.cells for axis in layout.axes)
    if block.groups is None:
        said += _words.counted(layout.cells, "cell")
    else:
        keys = _words.in_turn([one.column for one in layout.unlisted])
        said += f"each group by {_words.plain(keys)} that is published"
        said += f", beside {_words.counted(public, 'public cell')}" if public > 1 else ""
    said += f", for ε = {_words.at_least(budget.epsilon)}, δ = {_words.at_least(budget.delta)}"
    others = [label for label in block.group if label != layout.label]
    if block.summed is not None:
        return f"{said}, together with {_words.listed(others)}, with which it adds up."
    said += f", planned together with {_words.listed(others)}" if others else ""
    said += f". Noise: {noise.name}"
    if block.saved is not None:
        said += (
            f", fitted by {geometry.kind}" if geometry else f", shaped by what one {unit} can do"
        )
    if block.relative_to_split is not None:
        said += ". Planning the queries together cut its error by "
        said += f"{100 * (1 - block.relative_to_split):.0f} %"
    return said + "."


def _std(value: float | None) -> str:
    return "impossible" if value is None else f"{value:.4g}"


def print_released(table: Table, *, truth: Sequence[Sequence[str]] = ()) -> None:
    """Print a released table, each statistic beside the interval of 95 % of the noise.

    `truth`, a row a row and a value a statistic, is for public data alone.
    """
    shown = table.shown(truth)
    rows = list(zip(*(values for _, values in shown), strict=True))
    hidden = len(rows) - MOST_ROWS
    note = f"… and {hidden:,} more rows in the file" if hidden > 0 else ""
    print_table(table.name, [title for title, _ in shown], rows[:MOST_ROWS], note=note)


def calibrated_record(
    found: Candidate, *, epsilon: str, delta: str, sensitivity: str
) -> dict[str, Any]:
    """Return the record of `calibrate --json`; the three texts are given back as they came."""
    from leastnoise.certificate.records import write_record
    from leastnoise.noise.body_noise import VectorNoise

    mechanism = found.mechanism
    certificate = mechanism.certificate
    exactly = certificate.to_record()["noise"]["parameters"]
    parameters = {
        name: float(value) if isinstance(value, Fraction) else exactly[name]
        for name, value in mechanism.noise.parameters.items()
    }
    record = {
        "noise": {"name": mechanism.noise.name, "parameters": parameters},
        "dimension": certificate.dimension,
        "sensitivity": write_record(certificate.sensitivity) | {"bound": sensitivity},
        "epsilon": epsilon,
        "delta": delta,
        "compositions": certificate.compositions,
        "scale": float(mechanism.noise.scale),
        "mse": mechanism.mse,
        "mae": found.mae,
        "delta_interval": [certificate.delta.lower, certificate.delta.upper],
        "certified": certificate.proved,
        "seconds": {"search": found.search_seconds, "proof": found.proof_seconds},
    }
    if certificate.sampling_rate != 1:
        record["sampling_rate"] = float(certificate.sampling_rate)
    if found.note is not None:
        record["note"] = found.note
    if certificate.geometry is not None:
        record["geometry"] = {"name": found.construction} | write_record(certificate.geometry)
    unlike = certificate.geometry is not None or isinstance(mechanism.noise, VectorNoise)
    if unlike and certificate.dimension <= 1000:
        record["variances"] = mechanism.variances.tolist()
    return record
