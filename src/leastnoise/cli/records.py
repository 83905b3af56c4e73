"""Output of commands: JSON records, and text tables of plans and releases."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leastnoise._notebooks import MOST_ROWS
from leastnoise.cli.terminal import print_sentences, print_table, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from leastnoise.guarantees.exact import Interval
    from leastnoise.selection.comparison import Candidate
    from leastnoise.tables.answers.base import TablePart
    from leastnoise.tables.layout.table_shape import TableShape
    from leastnoise.tables.plan.plan import Plan
    from leastnoise.tables.results.table import Table


def finite(value: object) -> object:
    """Replace infinite and NaN floats by None, which JSON writes as null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_json(record: dict[str, Any]) -> None:
    """Print one JSON object on stdout."""
    say(json.dumps(record, indent=2), lines=True)


def intervals(
    argument: str, proved: str, pairs: Iterable[tuple[str, Interval]]
) -> list[dict[str, Any]]:
    """JSON records of the proved intervals of δ at each ε, or of ε at each δ."""
    return [{argument: text, f"{proved}_interval": [at.lower, at.upper]} for text, at in pairs]


_COLUMNS = (
    "std is the standard deviation of the noise. plain Laplace and plain Gaussian are the standard "
    "deviations with such noise, for the same part of the budget."
)


def print_plan(
    plan: Plan, *, least: bool = False, needed: Fraction | None = None, verbose: bool = False
) -> None:
    """Print a plan in one table: the statistics of a release, and their errors.

    `least` means that ε was searched. `needed` is the ε that would meet all accuracies, if the plan
    misses one. `verbose` adds a table for each query, and every note.
    """
    from leastnoise.tables.plan import summary

    suffix = ", with the smallest ε that meets every wished accuracy" if least else ""
    title = f"{summary.whole_guarantee(plan)[:-1]}{suffix}."
    print_table(title, summary.HEADS, summary.list_rows(plan))
    sentences = summary.list_sentences(plan)
    if needed is not None:
        sentences.append(say_needed(needed))
    print_sentences(sentences)
    say()
    if verbose:
        for query in plan.by_query:
            for part in query.parts:
                _print_part(part, plan)
        print_sentences([_COLUMNS, *plan.notes])
        say()


def say_needed(epsilon: Fraction) -> str:
    """A sentence about the ε that would meet all accuracies."""
    return f"At these weights, epsilon = {float(epsilon):.5g} would meet every accuracy."


def _print_part(part: TablePart, plan: Plan) -> None:
    """Print the plan of one part of a query.

    These are its listings, its limits and filters, and sentences about noise and accuracy.
    """
    from leastnoise.tables.answers.base import NO_NAMES, Topic, texts

    for listing in part.listings(plan.spec):
        print_table(listing.title, listing.heads, listing.rows)
    sentences = list(part.sentences(NO_NAMES))
    first, kept, wishes = (
        texts(iter(sentences), *topics)
        for topics in ((Topic.NOISE, Topic.DETAIL), (Topic.KEPT,), (Topic.WISH,))
    )
    print_sentences([*_rows_of(part.layouts[-1], plan.person, first), *kept, *wishes])
    say()


def _rows_of(layout: TableShape, unit: str, sentences: Sequence[str]) -> list[str]:
    """The `sentences`, and others about the limits per unit and the rows that count."""
    dropped = [
        f"Rows are dropped where {axis.column} is {axis.dropped}."
        for axis in layout.axes
        if axis.dropped
    ]
    filters = [f"Only rows where {text} count." for text in layout.filters]
    limits = [] if layout.by_row else [f"Each {unit} {layout.limits}."]
    return [*limits, *sentences, *dropped, *layout.joined, *filters, *layout.missing]


def print_released(table: Table, *, truth: Sequence[Sequence[str]] = ()) -> None:
    """Print the first rows of a released table, each statistic with the interval of its noise.

    `truth` holds the values without noise: a tuple per row of the table, a text per statistic. It
    is for public data only.
    """
    shown = table.text_columns(truth)
    rows = list(zip(*(values for _, values in shown), strict=True))
    hidden = len(rows) - MOST_ROWS
    note = f"… and {hidden:,} more rows in the file" if hidden > 0 else ""
    print_table(table.name, [title for title, _ in shown], rows[:MOST_ROWS], note=note)


def calibrated_record(
    candidate: Candidate, *, epsilon: str, delta: str, sensitivity: str
) -> dict[str, Any]:
    """The record of `calibrate --json`. ε, δ and the sensitivity stay as the user wrote them."""
    from leastnoise.certificate.records import write_record
    from leastnoise.noise.body_noise import VectorNoise

    mechanism = candidate.mechanism
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
        "mae": candidate.mae,
        "delta_interval": [certificate.delta.lower, certificate.delta.upper],
        "certified": certificate.proved,
        "seconds": {"search": candidate.search_seconds, "proof": candidate.proof_seconds},
    }
    if certificate.sampling_rate != 1:
        record["sampling_rate"] = float(certificate.sampling_rate)
    if candidate.note is not None:
        record["note"] = candidate.note
    if certificate.geometry is not None:
        record["geometry"] = {"name": candidate.construction} | write_record(certificate.geometry)
    unlike = certificate.geometry is not None or isinstance(mechanism.noise, VectorNoise)
    if unlike and certificate.dimension <= 1000:
        record["variances"] = mechanism.variances.tolist()
    return record
