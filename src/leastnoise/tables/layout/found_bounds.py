"""Bounds of columns that a release finds by itself: a published quantile for each.

The sensitivity of later queries doesn't depend on these bounds. Values are scaled to [−1, 1] by
these bounds, and only the widest possible bounds decide if a value may be negative. So noise is
proved before bounds are found. One certificate covers the quantiles and the later queries, which
are chosen after the quantiles were answered (theory/release.md §11).
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
    from leastnoise.tables.statistics.base import AnyStatistic

    Pair = tuple[Fraction, Fraction]


def columns_by_query(spec: Spec) -> dict[str, str]:
    """The columns whose bounds a release finds, keyed by the name of the query that finds them."""
    return {
        finds.query: name
        for name, column in spec.columns.items()
        if (finds := column.finds) is not None and finds.query is not None
    }


def pick_bounds(column: Column, chosen: Sequence[Fraction]) -> Pair:
    """The bounds of a column; `chosen` has the quantile for each bound that isn't given.

    If both quantiles are the same candidate, the upper bound is the next candidate. If there is no
    next candidate, the lower bound is the candidate before. So the bounds always differ.
    """
    finds, values = column.finds, column.ends
    if finds is not None and finds.low is not None:
        return finds.low, chosen[0]
    if finds is not None and finds.high is not None:
        return chosen[0], finds.high
    low, high = chosen
    if low == high:
        index = min(values.index(low), len(values) - 2)
        low, high = values[index], values[index + 1]
    return low, high


def narrowest_bounds(column: Column) -> tuple[Pair, Pair]:
    """The narrowest bounds that a release may find, and the bounds that are closest to 0.

    Noise is scaled by the width of the bounds, or by their largest absolute value. So published
    numbers are smallest for these two pairs, where floats might underflow.
    """
    finds, values = column.finds, column.ends
    pairs = [*pairwise(values)]
    if finds is not None and finds.low is not None:
        pairs = [(finds.low, value) for value in values]
    elif finds is not None and finds.high is not None:
        pairs = [(value, finds.high) for value in values]
    nearest = min(pairs, key=lambda pair: pair[1] - pair[0])
    return nearest, min(pairs, key=lambda pair: max(abs(pair[0]), abs(pair[1])))


def set_found_bounds(spec: Spec, pairs: Mapping[str, Pair | None]) -> Spec:
    """The spec in which columns have the found bounds `pairs`; None stands for bounds not found."""
    columns = dict(spec.columns)
    for name, pair in pairs.items():
        if (finds := columns[name].finds) is not None:
            bounds = finds.model_copy(update={"found": pair})
            columns[name] = columns[name].model_copy(update={"bounds": bounds})
    return spec.model_copy(update={"columns": columns})


def drop_bounds_of(spec: Spec, query: Query) -> Spec:
    """The spec without the bounds that `query` finds, which are unknown when it is answered."""
    name = columns_by_query(spec).get(query.name)
    return spec if name is None else set_found_bounds(spec, {name: None})


def has_open_bounds(spec: Spec, asked: AnyStatistic) -> bool:
    """True if the scale of a statistic depends on bounds of a column that are still to be found."""
    used = [part.column for part in asked.parts if part.of_values and not part.of_all_groups]
    return any(name in spec.columns and spec.columns[name].is_open for name in used)


def describe(spec: Spec, used: Collection[str]) -> Iterator[str]:
    """Yield sentences about the bounds that a release finds for the `used` columns."""
    for query, name in columns_by_query(spec).items():
        column, called = spec.columns[name], spec.labels.get(name, name)
        finds = column.finds
        (finder,) = (candidate for candidate in spec.query if candidate.name == query)
        if finds is None or name not in used:
            continue
        both = finds.low is None and finds.high is None
        share = float(100 * spec.share(finder))
        read, budget = _words.join_names(finder.statistics), f"{share:.3g} % of the budget"
        ends = f"{decimal_text(column.ends[0])} and {decimal_text(column.ends[-1])}"
        if finds.found is None:
            yield (
                f"The release first finds {_name_bounds(finds)} of {called} between {ends}, from "
                f"{read}. This search takes {budget} (table {query}). Errors that depend on these "
                "bounds are shown for the widest bounds, and are smaller for narrower bounds."
            )
        else:
            these = "These bounds" if both else _name_bounds(finds).capitalize()
            yield (
                f"{these} of {called} {'were' if both else 'was'} found between {ends}, from "
                f"{read}. This search took {budget} (table {query})."
            )
            yield from _caveats(column, finds.found, called)


def _name_bounds(finds: FindBounds) -> str:
    """A phrase for the bounds that are found: both bounds, the lower one or the upper one."""
    if finds.low is not None:
        return "the upper bound"
    return "bounds" if finds.high is None else "the lower bound"


def _caveats(column: Column, bounds: Pair, called: str) -> Iterator[str]:
    """Yield sentences about bounds that are the first, the last or neighbouring candidates."""
    finds, values, (low, high) = column.finds, column.ends, bounds
    if finds is None:
        return
    if finds.low is None and low == values[0]:
        yield (
            f"The lower bound is the first candidate, so values of {called} may lie below the "
            "bound."
        )
    if finds.high is None and high == values[-1]:
        yield (
            f"The upper bound is the last candidate, so values of {called} may lie above the bound."
        )
    if finds.low is None and finds.high is None and (low, high) in pairwise(values):
        yield (
            "They are neighbouring candidates: perhaps both quantiles were the same candidate, and "
            "its neighbour became the other bound."
        )


def to_record(spec: Spec) -> dict[str, Any]:
    """The columns whose bounds a release finds, as JSON values; {} without any.

    Each column has the query that finds its bounds, the widest bounds, and the bounds found so far.
    """
    records: dict[str, Any] = {}
    for query, name in columns_by_query(spec).items():
        column = spec.columns[name]
        if column.finds is not None and column.widest is not None:
            pair = column.finds.found
            records[name] = {
                "query": query,
                "widest": [decimal_text(end) for end in column.widest],
                "found": None if pair is None else [decimal_text(end) for end in pair],
            }
    return {"found_bounds": records} if records else {}
