"""Bounds that a release finds: the queries that find them, and by what rule of public numbers.

The two chosen quantiles of a column are its bounds. What is said of a unit's shifts doesn't depend
on which candidates they are: values are scaled to [−1, 1] by whatever bounds there are, and signs
are those of the widest. So noise is planned and proved before bounds are found, and one certificate
is about both (theory/release.md §7: the second query is chosen after the first was answered).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from leastnoise import _words
from leastnoise.guarantees.exact import decimal_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from fractions import Fraction

    from leastnoise.tables.spec.column import Column
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


def is_open(column: Column) -> bool:
    """Whether its bounds are still to be found."""
    return column.finds is not None and column.finds.found is None


def rests_on_open(spec: Spec, asked: Asked) -> bool:
    """Whether the unit of a statistic isn't known, as bounds are still to be found."""
    used = [one.column for one in asked.parts if one.of_values and not one.of_all_groups]
    return any(name in spec.columns and is_open(spec.columns[name]) for name in used)


def in_words(spec: Spec, used: Collection[str]) -> Iterator[str]:
    """Yield which of the `used` columns have bounds that are found, how, and what a plan shows."""
    for query, name in columns_by_query(spec).items():
        column, called = spec.columns[name], spec.labels.get(name, name)
        finds, widest = column.finds, column.widest
        (asked,) = (one for one in spec.query if one.name == query)
        if finds is None or widest is None or name not in used:
            continue
        how = f"{_words.in_turn(asked.statistics)}, with {float(100 * spec.share(asked)):.3g} % of "
        how += f"the budget (the table {query})"
        ends = " and ".join(map(decimal_text, widest))
        if finds.found is None:
            yield (
                f"Bounds of {called} are found first, between {ends}: by {how}. What rests on them "
                "has its error shown for the widest bounds; it shrinks with the bounds."
            )
        else:
            yield f"These bounds of {called} were found between {ends}: by {how}."


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
