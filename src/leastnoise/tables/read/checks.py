"""What only two or more values of a spec can show to be wrong: each problem with its key."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from leastnoise import _validate
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import exact
from leastnoise.tables.expressions.tree import columns_of
from leastnoise.tables.query import accuracy, margins
from leastnoise.tables.query.columns import result_columns
from leastnoise.tables.query.layout import LaidOut, LayoutError, lay_out_query
from leastnoise.tables.query.ranks import lay_out_ranks, share_parts
from leastnoise.tables.read.column_uses import Problem, unit_problems, uses_of
from leastnoise.tables.read.joins import join_problems
from leastnoise.tables.spec import source_names
from leastnoise.tables.spec.model import Bands, Column, PrivateKeys
from leastnoise.tables.spec.source_names import (
    is_spark,
    needs_types,
    why_no_engine,
    why_no_source,
    why_no_table,
)
from leastnoise.tables.spec.values import LEAST
from leastnoise.tables.statistics.base import Statistic
from leastnoise.tables.statistics.registry import known_statistics, read_statistics

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from leastnoise.tables.query.layout import Layout
    from leastnoise.tables.query.ranks import Ranks
    from leastnoise.tables.spec.model import Predicate, Query, Spec
    from leastnoise.tables.spec.values import Edge, Key
    from leastnoise.tables.statistics.base import Asked

    Parts = tuple[tuple[Layout, ...], ...]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TAKEN = ("plan", "certificate", "spec")
# Less of a budget is a slip of the pen, and may pass the range of floats.
SMALLEST_SHARE = Fraction(1, 10**6)
# What is scaled by less, to integers of 28 bits or from them, may pass the range of floats.
SMALLEST_WIDTH = Fraction(1, 10**290)
MOST_CONDITIONS = 64
MOST_PROBLEMS = 1000  # of one check: finding what was meant takes time
_DEEPEST_KEY = 100  # dots and brackets in a key, those in names of columns among them
MOST_KEY_COLUMNS = 32  # with which the engine already takes seconds, without rows


def check(spec: Spec, unread: Collection[str] = ()) -> LaidOut | list[Problem]:
    """Return `spec` with the layouts of its queries, or every problem of it.

    Those of the keys in `unread`, whose values couldn't be read, are known. Such a value is None,
    or its default. What follows from it is no second problem.
    """
    found = [
        problem
        for check in (
            _source,
            join_problems,
            _expressions,
            _privacy,
            _contribution,
            _columns,
            _names,
        )
        for problem in islice(check(spec), MOST_PROBLEMS)
    ]
    known = {*unread}
    above = {outer for key in known for outer in around(key)}
    bounded = spec.privacy.by_row or _has_limits(spec)
    laid: list[Parts] = []
    ranks: list[tuple[Ranks, ...]] = []
    for index, query in enumerate(spec.query):
        if len(found) > MOST_PROBLEMS:
            break
        path = f"query[{index}]"
        of_query = [
            problem
            for check in _OF_QUERY
            for problem in islice(check(spec, query, path), MOST_PROBLEMS)
        ]
        # Only a block without a problem has a layout, nor one where its persons have no limits.
        if not of_query and path not in known and path not in above and query.name and bounded:
            try:
                laid.append(lay_out_query(spec, query))
                ranks.append(lay_out_ranks(spec, query))
                of_query = [*_parts(spec, query, (laid[-1], ranks[-1]), path)]
            except LayoutError as error:
                of_query = [(path, str(error))]
        found += of_query
    told = [
        (key, why)
        for key, why in dict.fromkeys(found)
        if key not in known and key not in above and known.isdisjoint(around(key))
    ]
    if known or told:
        return told
    return LaidOut(spec=spec, queries=tuple(laid), ranks=tuple(ranks))


def around(key: str, *, marks: str = ".[") -> Iterator[str]:
    """Yield the keys of what `key` stands in, from the outermost one; no more than a spec has."""
    ends = (place for place, letter in enumerate(key) if letter in marks)
    return (key[:end] for end in islice(ends, _DEEPEST_KEY))


def inside(inner: str, outer: str) -> bool:
    """Say whether the key `inner` is the key `outer`, or stands under it."""
    return inner == outer or inner.startswith((f"{outer}.", f"{outer}["))


def _source(spec: Spec) -> Iterator[Problem]:
    names, engine = _sources(spec), spec.data.engine
    if why := why_no_engine(engine):
        yield "data.engine", why
    if not names and not (spec.data.table and is_spark(engine)):
        yield "data.source", "Missing: a file, a pattern, a folder, or a list of these."
    for index, name in enumerate(names):
        if why := why_no_source(name):
            several = isinstance(spec.data.source, tuple)
            yield f"data.source[{index}]" if several else "data.source", why
    if names and (why := why_no_table(names, spec.data.table)):
        yield "data.table", why
    if spec.data.encoding is not None and not is_csv(spec):
        yield "data.encoding", "Used with CSV alone. Leave it out: other sources say theirs."
    if any(map(needs_types, names)) and not spec.data.types:
        what = "a CSV" if is_csv(spec) else "SQLite"
        yield "data.types", f"Missing: {what} needs the type of each column that is used."


def _expressions(spec: Spec) -> Iterator[Problem]:
    """Yield what is wrong with expressions whatever the types of their columns are."""
    given = {f"query[{index}].filter": query.filter for index, query in enumerate(spec.query)}
    given |= {f"derive.{name}": text for name, text in (spec.derive or {}).items()}
    given["data.filter"] = spec.data.filter
    for key, text in given.items():
        if text is None:
            continue
        from leastnoise.tables.expressions.language import parse  # noqa: PLC0415  (0.1 s)

        try:
            found = parse(text)
        except ValueError as error:
            yield key, str(error)
            continue
        for column in columns_of(found):
            yield from _declared(spec, column, key)


def is_csv(spec: Spec) -> bool:
    """Say whether the source is CSV by its name."""
    return any(map(source_names.is_csv, _sources(spec)))


def _sources(spec: Spec) -> tuple[str, ...]:
    """Return the texts of the source; () if it couldn't be read."""
    source = spec.data.source or ()
    return (source,) if isinstance(source, str) else source


def _privacy(spec: Spec) -> Iterator[Problem]:
    privacy = spec.privacy
    if privacy.epsilon == 0 and privacy.delta == 0:
        yield "privacy.epsilon", "Expected epsilon > 0 or delta > 0: no finite noise hides all."
    if privacy.unit_is is not None and privacy.unit not in {"row", None}:
        yield "privacy.unit_is", 'Used with unit = "row" alone; any other unit is a column.'
    if not privacy.unit or privacy.by_row:
        return
    yield from _declared(spec, privacy.unit, "privacy.unit")
    yield from unit_problems(spec.data.types.get(privacy.unit), privacy.unit)


def _contribution(spec: Spec) -> Iterator[Problem]:
    given = spec.contribution
    if spec.privacy.by_row:
        if given is not None:
            why = 'Not used with unit = "row": a row is bounded by its bounds.'
            yield "contribution", f'{why} If a column is called row: unit_is = "column".'
    elif not _has_limits(spec) and spec.privacy.unit:
        yield "contribution", "Missing: give max_rows, say, the most rows that one person can have."


def _columns(spec: Spec) -> Iterator[Problem]:
    for name, column in spec.columns.items():
        path = f"columns.{name}"
        yield from _declared(spec, name, path)
        rest = column.model_copy(update={"keys": (), "label": None})
        useful = (column.keys or column.label) and rest == Column()
        if spec.data.types.get(name) == "text" and not useful:
            yield path, "A text column has no bounds; declare a number type, or leave it out."
        yield from _keys(column.keys, f"{path}.keys") if column.keys else ()
        yield from _edges(column.edges, f"{path}.edges") if column.edges else ()
        if column.keys and column.edges:
            yield f"{path}.edges", "Not used beside keys: a query groups by one of them."
        if column.bounds is None:
            continue
        low, high = column.bounds
        if low > high:
            yield f"{path}.bounds", f"Reversed: [{float(low):g}, {float(high):g}]. Swap them."
        elif float(low) >= float(high):
            yield f"{path}.bounds", "Expected low < high, apart by more than float64 can tell."
        elif high - low < SMALLEST_WIDTH:
            why = f"Expected bounds apart by 1e-290 at least. Give {name} in a smaller unit."
            yield f"{path}.bounds", why
        elif column.number is not None and not low <= column.number <= high:
            why = f"Expected a number within the bounds, got {float(column.number):g}: it would be "
            yield f"{path}.missing", why + "clamped. Let the bounds hold it, or choose another."


def _names(spec: Spec) -> Iterator[Problem]:
    if not spec.query:
        yield "query", "Missing: write at least one [[query]]."
    total = sum(query.importance for query in spec.query)
    seen: set[str] = set()
    for index, query in enumerate(spec.query):
        if query.importance < total * SMALLEST_SHARE:
            why = "Expected at least a millionth of the importance of all queries together."
            yield f"query[{index}].importance", why
        else:
            yield from _share(spec, query.importance / total, f"query[{index}]")
        path, name = f"query[{index}].name", query.name
        if not name:
            continue
        if not _NAME.fullmatch(name):
            yield (
                path,
                f"Expected 1 to 64 letters, digits, - or _ (it names a file), got {name[:40]!r}.",
            )
        elif name.lower() in _TAKEN:
            yield path, f"{name!r} is the name of a file of the release. Choose another."
        for own in margins.file_names(query):
            if own.lower() in seen:
                yield path, f"{own!r} is used twice (capitals don't count). Names must differ."
            seen.add(own.lower())


def _share(spec: Spec, share: Fraction, path: str) -> Iterator[Problem]:
    """Yield a problem if a block's part of ε or δ is no number that a budget can have."""
    epsilon = 1 if spec.privacy.epsilon == LEAST else spec.privacy.epsilon
    for name, whole in (("epsilon", epsilon), ("delta", spec.privacy.delta)):
        try:
            exact((whole or 0) * share, name=name)
        except InvalidArgument:
            why = f"The part of {path} would be below 1e-300, or of more than 600 digits."
            yield f"privacy.{name}", f"{why} Raise {name}, or round it and the weights."


def _statistics(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
    others = {"a histogram": query.histogram, "conditions": query.conditions}
    other = next((name for name, value in others.items() if value), "")
    if other:
        if query.statistics:
            yield f"{path}.statistics", f"Not used beside {other}: use another query."
        return
    if not query.statistics:
        yield (
            path,
            'Expected statistics, a histogram or conditions, such as statistics = ["count"].',
        )
    private = any(isinstance(one, PrivateKeys) for one in spec.groupings(query).values())
    seen: set[Asked] = set()
    for index, asked in read_statistics(query, by_row=spec.privacy.by_row):
        key = f"{path}.statistics[{index}]"
        if isinstance(asked, ValueError):
            yield key, str(asked)
        elif asked in seen:
            yield key, f"{query.statistics[index]!r} is asked for twice."
        else:
            seen.add(asked)
            if all(_has_bounds(spec, one.column) for one in asked.parts if one.of_values):
                yield from ((key, why) for why in asked.problems(spec))
            if private and not isinstance(asked, Statistic):
                why = "Not proved for groups that nobody listed. List the keys of group_by here, or"
                yield key, f"{why} ask for {asked.label} in another block."


def _uses(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
    for use in dict.fromkeys(uses_of(spec, query, path)):
        wrong = [*_declared(spec, use.column, use.key)]
        declared = spec.data.types.get(use.column)
        wrong += use.problems(declared) if declared is not None else ()
        yield from wrong or (_bounded(spec, use.column, use.key) if use.bounded else ())


def _histogram(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
    del spec
    if query.histogram is not None and query.histogram.column:
        yield from _edges(query.histogram.edges or (), f"{path}.histogram.edges")


def _edges(edges: Sequence[Edge], key: str) -> Iterator[Problem]:
    if len(edges) < 2:
        yield key, "Expected two or more edges."
    for left, right in pairwise(edges):
        if left == right:
            yield key, f"{float(left):g} is given twice."
        elif float(left) >= float(right):
            yield key, f"Expected increasing edges, got {float(left):g} before {float(right):g}."


def _published(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
    if query.round and query.round_to is not None:
        yield f"{path}.round_to", "Not used beside round: what is a multiple of it is whole, too."
    if query.histogram is not None or query.conditions:
        return
    asked = known_statistics(query, by_row=spec.privacy.by_row)
    if len(asked) < len(query.statistics):
        return
    if asked and not any(one.counts for one in asked):
        yield from _without_count(query, path)
    if not query.clamp:
        return
    if asked and not any(one.clamps for one in asked):
        yield f"{path}.clamp", "Not used without a count or a sum: the others have bounds anyway."
    for one in (part for each in asked if each.clamps for part in each.parts):
        known = spec.columns.get(one.column)
        low = known.bounds[0] if one.of_values and known and known.bounds else 0
        if low < 0:
            why = f"{one.kind}({one.column}) can be negative, as columns.{one.column}.bounds begin "
            why += "below 0. Leave clamp out, or ask for the "
            yield f"{path}.clamp", f"{why}{one.kind} in another query."


def _without_count(query: Query, path: str) -> Iterator[Problem]:
    """Yield what a query has no use for that asks for no count."""
    for name in ("round", "round_to"):
        if getattr(query, name):
            why = "Expected a count or count_units to round: other statistics aren't whole numbers."
            yield f"{path}.{name}", why
    for name in ("min_count", "top"):
        if getattr(query, name):
            why = "Expected a count or count_units among the statistics, which decides."
            yield f"{path}.{name}", why


def _where(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
    del spec
    conditions = query.conditions or {}
    if conditions and (query.group_by or query.histogram is not None):
        yield f"{path}.conditions", "Not used beside group_by or a histogram: use another query."
    if query.max_conditions is not None and not query.max_conditions <= len(conditions):
        message = f"Expected at most {len(conditions)}, the number of conditions."
        yield f"{path}.max_conditions", message
    if len(conditions) > MOST_CONDITIONS:
        yield f"{path}.conditions", f"Expected at most {MOST_CONDITIONS} conditions."
    for name, predicates in conditions.items():
        if not predicates:
            yield (
                f"{path}.conditions.{name}",
                "Expected at least one column, like { age = { min = 65 } }.",
            )
        for column, predicate in predicates.items():
            key = f"{path}.conditions.{name}.{column}"
            yield from _predicate(predicate, key)


def _predicate(predicate: Predicate, key: str) -> Iterator[Problem]:
    ends = [end for end in (predicate.min, predicate.max, predicate.below) if end is not None]
    if bool(ends) == bool(predicate.among):
        yield key, "Expected min, max or below, or else among."
    if predicate.max is not None and predicate.below is not None:
        yield key, "Expected max or below, not both."
    if len({type(value) for value in predicate.among}) > 1:
        yield f"{key}.among", "Expected keys of one type."


def _group_by(spec: Spec, query: Query, path: str) -> Iterator[Problem]:
    if len(query.group_by) > MOST_KEY_COLUMNS:
        yield f"{path}.group_by", f"Expected at most {MOST_KEY_COLUMNS} columns."
    if isinstance(query.group_by, tuple):
        yield from _declared_groups(spec, query.group_by, f"{path}.group_by")
        return
    for column, grouping in query.group_by.items():
        key = f"{path}.group_by.{column}"
        if not column:
            yield key, "Expected a column with a name. Give it one in the source."
        if isinstance(grouping, PrivateKeys):
            yield from _unlisted(spec, key)
        elif isinstance(grouping, Bands):
            yield from _edges(grouping.edges or (), f"{key}.edges")
        else:
            yield from _keys(grouping or (), key)


def _declared_groups(spec: Spec, names: Sequence[str], key: str) -> Iterator[Problem]:
    """Yield what is wrong with columns that should say themselves what they are grouped by."""
    for place, name in enumerate(names):
        known = spec.columns.get(name)
        if name in names[:place]:
            yield f"{key}[{place}]", f"The column {name!r} is given twice."
        elif known is None:
            hint = _validate.nearest(name, tuple(spec.columns))
            why = f"Expected [columns.{name}] with its public keys, or edges of bands."
            yield f"{key}[{place}]", f"{why}{' ' if hint else ''}{hint}"
        elif not known.keys and not known.edges:
            why = f"Missing: public keys, or edges of bands, as {key} names it alone."
            yield f"columns.{name}", f'{why} Write it like keys = ["north", "south"]'


def _unlisted(spec: Spec, key: str) -> Iterator[Problem]:
    if spec.privacy.delta == 0:
        why = "Needs delta > 0: a group that one person alone is in has to come out sometimes, and "
        yield key, f"{why}its key tells of them. Give privacy.delta, or list the keys here."


def _keys(keys: Sequence[Key], path: str) -> Iterator[Problem]:
    if not keys:
        yield path, "Expected at least one key."
    # True == 1 in Python, so the type goes beside the value.
    for (_, value), times in Counter((type(value), value) for value in keys).items():
        if times > 1:
            yield path, f"The key {value!r} is given {times} times."
    if len({type(value) for value in keys}) > 1:
        yield path, "Expected keys of one type."


def _parts(
    spec: Spec, query: Query, laid: tuple[Parts, tuple[Ranks, ...]], path: str
) -> Iterator[Problem]:
    """Yield what is wrong with a block's result columns, and the budgets of its parts."""
    parts, ranks = laid
    every = [*(ways[0] for ways in parts), *ranks]
    names = Counter(name.lower() for name in result_columns(every))
    for name, times in names.items():
        if times > 1:
            yield path, f"Two result columns would be called {name!r}. Split the query in two."
    shares = share_parts(parts, ranks)
    if len(shares) > 1:
        yield from _share(spec, spec.share(query) * min(shares), path)


def _has_limits(spec: Spec) -> bool:
    given = spec.contribution
    return given is not None and any(value is not None for _, value in given)


def _declared(spec: Spec, column: str, key: str) -> Iterator[Problem]:
    """Yield a problem if a CSV's column, which has no type of its own, is given none."""
    declared = spec.data.types
    if is_csv(spec) and declared and column not in declared and column not in spec.derive:
        hint = _validate.nearest(column, (*declared, *spec.derive))
        yield key, f"The column {column!r} is not in data.types.{' ' if hint else ''}{hint}"


def _has_bounds(spec: Spec, column: str) -> bool:
    known = spec.columns.get(column)
    return known is not None and known.bounds is not None


def _bounded(spec: Spec, column: str, key: str) -> Iterator[Problem]:
    if not _has_bounds(spec, column):
        hint = "" if column in spec.columns else _validate.nearest(column, tuple(spec.columns))
        needs = f"The column {column!r} needs bounds: [columns.{column}] bounds = [low, high]."
        yield key, f"{needs}{' ' if hint else ''}{hint}"


_OF_QUERY: tuple[Callable[[Spec, Query, str], Iterator[Problem]], ...] = (
    _statistics,
    _uses,
    _where,
    _histogram,
    _group_by,
    _published,
    accuracy.problems,
    margins.problems,
)
