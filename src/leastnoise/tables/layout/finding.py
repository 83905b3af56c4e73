"""Bounds that a release finds: the queries that find them, and by what rule of public numbers.

The two chosen quantiles of a column are its bounds. What is said of a unit's shifts doesn't depend
on which candidates they are: values are scaled to [−1, 1] by whatever bounds there are, and signs
are those of the widest. So noise is planned and proved before bounds are found, and one certificate
is about both (theory/release.md §11: the second query is chosen after the first was answered).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from leastnoise import _words
from leastnoise.guarantees.exact import decimal_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from fractions import Fraction

    from leastnoise.tables.spec.column import Column, FindBounds
    from leastnoise.tables.spec.model import Spec
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.statistics.base import Asked

    Pair = tuple[Fraction, Fraction]


def columns_by_query(spec: Spec) -> dict[str, str]:
    """Return the columns whose bounds a release finds, by the name of the query that finds them."""
    return {
        finds.query: name
        for name, column in spec.columns.items()
        if (finds := column.finds) is not None and finds.query is not None
    }


def bounds_from(column: Column, chosen: Sequence[Fraction]) -> Pair:
    """Return the bounds that `chosen` quantiles are, one for each that isn't known, in order.

    Where both are one candidate, the upper bound is the next one; of the last the lower one is the
    candidate before. So bounds are always apart.
    """
    finds, values = column.finds, column.ends
    if finds is not None and finds.low is not None:
        return finds.low, chosen[0]
    if finds is not None and finds.high is not None:
        return chosen[0], finds.high
    low, high = chosen
    if low == high:
        place = min(values.index(low), len(values) - 2)
        low, high = values[place], values[place + 1]
    return low, high


def narrow_bounds(column: Column) -> tuple[Pair, Pair]:
    """Return of all bounds that may be found those nearest to each other, and nearest to 0.

    Numbers in units of the bounds' width, or of the larger size, are smallest with these.
    """
    finds, values = column.finds, column.ends
    pairs = [*pairwise(values)]
    if finds is not None and finds.low is not None:
        pairs = [(finds.low, one) for one in values]
    elif finds is not None and finds.high is not None:
        pairs = [(one, finds.high) for one in values]
    nearest = min(pairs, key=lambda pair: pair[1] - pair[0])
    return nearest, min(pairs, key=lambda pair: max(abs(pair[0]), abs(pair[1])))


def with_found(spec: Spec, found: Mapping[str, Pair | None]) -> Spec:
    """Return the spec with these bounds found, by column; with None there are none yet."""
    columns = dict(spec.columns)
    for name, pair in found.items():
        if (finds := columns[name].finds) is not None:
            bounds = finds.model_copy(update={"found": pair})
            columns[name] = columns[name].model_copy(update={"bounds": bounds})
    return spec.model_copy(update={"columns": columns})


def as_asked(spec: Spec, query: Query) -> Spec:
    """Return what the spec is when `query` is answered: before bounds are found that it finds."""
    name = columns_by_query(spec).get(query.name)
    return spec if name is None else with_found(spec, {name: None})


def rests_on_open(spec: Spec, asked: Asked) -> bool:
    """Whether the unit of a statistic isn't known, as bounds are still to be found."""
    used = [one.column for one in asked.parts if one.of_values and not one.of_all_groups]
    return any(name in spec.columns and spec.columns[name].is_open for name in used)


def in_words(spec: Spec, used: Collection[str]) -> Iterator[str]:
    """Yield which of the `used` columns have bounds that are found, how, and what a plan shows."""
    for query, name in columns_by_query(spec).items():
        column, called = spec.columns[name], spec.labels.get(name, name)
        finds = column.finds
        (asked,) = (one for one in spec.query if one.name == query)
        if finds is None or name not in used:
            continue
        both = finds.low is None and finds.high is None
        how = f"{_words.join_names(asked.statistics)}, with "
        how += f"{float(100 * spec.share(asked)):.3g} % of the budget (the table {query})"
        ends = f"{decimal_text(column.ends[0])} and {decimal_text(column.ends[-1])}"
        if finds.found is None:
            yield (
                f"{_sought(finds)} of {called} {'are' if both else 'is'} found first, between "
                f"{ends}: by {how}. What rests on bounds has its error "
                "shown for the widest; it shrinks with the bounds."
            )
        else:
            these = "These bounds" if both else _sought(finds)
            yield f"{these} of {called} {'were' if both else 'was'} found between {ends}: by {how}."
            yield from _limits_of_what_was_found(column, finds.found, called)


def _sought(finds: FindBounds) -> str:
    """Return which bounds are found."""
    if finds.low is not None:
        return "The upper bound"
    return "Bounds" if finds.high is None else "The lower bound"


def _limits_of_what_was_found(column: Column, found: Pair, called: str) -> Iterator[str]:
    """Yield what bounds can't say that are at the end of the candidates, or beside each other."""
    finds, values, (low, high) = column.finds, column.ends, found
    if finds is None:
        return
    if finds.low is None and low == values[0]:
        yield f"The lower one is the first candidate: values of {called} may lie below."
    if finds.high is None and high == values[-1]:
        yield f"The upper one is the last candidate: values of {called} may lie above."
    if finds.low is None and finds.high is None and (low, high) in pairwise(values):
        yield "They are neighbours: where both quantiles are one candidate, the next is the other."


def to_record(spec: Spec) -> dict[str, Any]:
    """Return where bounds are found, and what is known of them, as JSON values; {} if nowhere."""
    found: dict[str, Any] = {}
    for query, name in columns_by_query(spec).items():
        column = spec.columns[name]
        if column.finds is not None and column.widest is not None:
            pair = column.finds.found
            found[name] = {
                "query": query,
                "widest": [decimal_text(end) for end in column.widest],
                "found": None if pair is None else [decimal_text(end) for end in pair],
            }
    return {"found_bounds": found} if found else {}
