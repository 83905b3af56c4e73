"""What only two or more values of a spec can show to be wrong: each problem with its key.

Of one query it is in `query_checks`, of columns in `columns`.
"""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import exact
from leastnoise.tables.answers.kinds import file_names, lay_out_query, lay_out_ranks
from leastnoise.tables.expressions.tree import columns_of
from leastnoise.tables.layout.layout import LayoutError, SpecLayout, share_parts
from leastnoise.tables.parse import added_queries
from leastnoise.tables.parse.columns import Problem, column_problems, undeclared, unit_problems
from leastnoise.tables.parse.query_checks import QUERY_CHECKS
from leastnoise.tables.results.table import result_columns
from leastnoise.tables.spec.source import (
    IN_MEMORY,
    ON_SPARK,
    csv_keys,
    is_csv,
    is_spark,
    needs_types,
    why_no_engine,
    why_no_source,
    why_no_table,
)
from leastnoise.tables.spec.values import LEAST

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.layout.quantile_layout import QuantileLayout
    from leastnoise.tables.spec.model import Data, Series, Spec
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.spec.source import Join

    Parts = tuple[tuple[Layout, ...], ...]

_ONLY_CSV = "Used with CSV alone. Leave it out: other sources say theirs."
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TAKEN = ("plan", "certificate", "spec")
# Less of a budget is a slip of the pen, and may pass the range of floats.
SMALLEST_SHARE = Fraction(1, 10**6)
MOST_PROBLEMS = 1000  # of one check: finding what was meant takes time
_DEEPEST_KEY = 100  # dots and brackets in a key, those in names of columns among them


def check(written: Spec, unread: Collection[str] = ()) -> SpecLayout | list[Problem]:
    """Check a spec as it is `written`, with the queries that its keys ask for.

    Returns the whole spec with the layouts of its queries, or every problem of it. Keys in `unread`
    have values that couldn't be read: None, or a default. Nothing that follows is told again.
    """
    found = [*islice(added_queries.asking_problems(written), MOST_PROBLEMS)]
    spec, askers = (written, {}) if unread or found else added_queries.expand(written)
    for check in _SPEC_CHECKS:
        found += islice(check(spec), MOST_PROBLEMS)
    known = {*unread}
    above = {outer for key in known for outer in around(key)}
    bounded = spec.privacy.by_row or _has_limits(spec)
    laid: list[Parts] = []
    ranks: list[tuple[QuantileLayout, ...]] = []
    for index, query in enumerate(spec.query):
        if len(found) > MOST_PROBLEMS:
            break
        path = f"query[{index}]"
        of_query = [
            problem
            for check in QUERY_CHECKS
            for problem in islice(check(spec, query, path), MOST_PROBLEMS)
        ]
        # Only a query without a problem has a layout, nor one where its persons have no limits.
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
        return _at_askers(told, askers)
    return SpecLayout(spec=spec, queries=tuple(laid), quantiles=tuple(ranks))


def _at_askers(told: list[Problem], askers: Mapping[str, str]) -> list[Problem]:
    """Return the problems of the written spec; if it has none, those of the queries added to it.

    A problem of an added query stands at the key that asked for the query.
    """
    at = [askers.get(key.partition("]")[0] + "]", "") for key, _ in told]
    written = [one for one, asker in zip(told, at, strict=True) if not asker]
    return written or [(asker, why) for asker, (_, why) in zip(at, told, strict=True)]


def around(key: str, *, marks: str = ".[") -> Iterator[str]:
    """Yield the keys of what `key` stands in, from the outermost one; no more than a spec has."""
    ends = (place for place, letter in enumerate(key) if letter in marks)
    return (key[:end] for end in islice(ends, _DEEPEST_KEY))


def _source(spec: Spec) -> Iterator[Problem]:
    if why := why_no_engine(spec.data.engine):
        yield "data.engine", why
    if not spec.data.sources and not (spec.data.table and is_spark(spec.data.engine)):
        yield "data.source", "Missing: a file, a pattern, a folder, or a list of these."
    yield from _named_rows(spec, spec.data, "data")
    if spec.data.join and is_spark(spec.data.engine):
        yield "data.join", ON_SPARK
    for name, join in spec.data.join.items():
        path = f"data.join.{name}"
        if IN_MEMORY in join.sources:
            yield f"{path}.source", "A frame can't be joined: write it to a file."
        yield from _named_rows(spec, join, path)
        if why := _why_not_on(spec, join):
            yield f"{path}.on", why


def _named_rows(spec: Spec, section: Data | Join, path: str) -> Iterator[Problem]:
    """Yield the problems of a source: of its names, and of the keys that describe its files."""
    names = section.sources
    for index, name in enumerate(names):
        if why := why_no_source(name):
            several = isinstance(section.source, tuple)
            yield f"{path}.source[{index}]" if several else f"{path}.source", why
    if names and (why := why_no_table(names, section.table)):
        yield f"{path}.table", why
    csv = any(map(is_csv, names))
    for told in () if csv else csv_keys(section):
        yield f"{path}.{told}", _ONLY_CSV
    if any(map(needs_types, names)) and not spec.data.types:
        what = "a CSV" if csv else "SQLite"
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
            yield from undeclared(spec, column, key)


def _privacy(spec: Spec) -> Iterator[Problem]:
    privacy = spec.privacy
    if privacy.epsilon == 0 and privacy.delta == 0:
        yield "privacy.epsilon", "Expected epsilon > 0 or delta > 0: no finite noise hides all."
    if privacy.unit_is is not None and privacy.unit not in {"row", None}:
        yield "privacy.unit_is", 'Used with unit = "row" alone; any other unit is a column.'
    if not privacy.unit or privacy.by_row:
        return
    yield from undeclared(spec, privacy.unit, "privacy.unit")
    yield from unit_problems(spec.data.types.get(privacy.unit), privacy.unit)


def _series(spec: Spec) -> Iterator[Problem]:
    if spec.series is None:
        return
    if spec.privacy.ledger is None:
        why = "A series needs a ledger, which counts what was published: leastnoise ledger init "
        yield "privacy.ledger", f'{why}opens one. Write ledger = {{ path = "visits.ledger" }}.'
    elif spec.privacy.ledger.plan is not None:
        why = "A series is charged as a whole by itself, and is part of no plan. Leave it out."
        yield "privacy.ledger.plan", why
    if spec.series.report is not None:
        yield from undeclared(spec, spec.series.report, "series.report")
    yield from _unit_of_series(spec, spec.series)


def _unit_of_series(spec: Spec, series: Series) -> Iterator[Problem]:
    """Yield the problems of the unit that a series protects."""
    each, most = series.each, series.max_releases
    if each is None and most is None:
        return
    key = "series.max_releases" if each is None else "series.each"
    if spec.privacy.neighbours == "replace-one":
        why = "A row that is replaced may move to another release, and then it changes two."
        yield key, f'{why} Use neighbours = "add-remove", or leave it out.'
    if each is None:
        if most is not None and most > series.releases:
            yield (
                key,
                f"Expected at most the {series.releases:,} releases of the series, got {most:,}.",
            )
        return
    if most is not None:
        yield (
            "series.max_releases",
            "Not used with each: such a unit is in one release. Leave it out.",
        )
    if (each == "row") != spec.privacy.by_row:
        unit = 'unit = "row"' if each == "row" else "the column of persons as the unit"
        yield key, f"each = {each!r} needs {unit} in [privacy]."
    if series.report is None:
        why = "Missing: the column with the number of the release that counts a row, such as "
        yield "series.report", f'{why}report = "week". Without it a row may count in every release.'


def _contribution(spec: Spec) -> Iterator[Problem]:
    given = spec.contribution
    if spec.privacy.by_row:
        if given is not None:
            why = 'Not used with unit = "row": a row is bounded by its bounds.'
            yield "contribution", f'{why} If a column is called row: unit_is = "column".'
    elif not _has_limits(spec) and spec.privacy.unit:
        yield "contribution", "Missing: give max_rows, say, the most rows that one person can have."


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
        for own in file_names(query):
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


def _parts(
    spec: Spec, query: Query, laid: tuple[Parts, tuple[QuantileLayout, ...]], path: str
) -> Iterator[Problem]:
    """Yield what is wrong with a block's result columns, and the budgets of its parts."""
    parts, ranks = laid
    counts = [one.count for one in ranks if one.count is not None]
    every = [*(ways[0] for ways in parts), *counts, *ranks]
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


def _why_not_on(spec: Spec, join: Join) -> str | None:
    """Return why the column of a join doesn't keep the guarantee; None if it does."""
    if join.on in spec.derive:
        return f"{join.on!r} is derived, and joins come first: join by a column of the source."
    unit = spec.privacy.unit
    if join.public or not unit:
        return None
    public = "If the table is public, write public = true."
    if spec.privacy.by_row:
        return f"A row of it would be part of several rows, and each is to be protected. {public}"
    if join.on == unit:
        return None
    return (
        f"Joined by {join.on!r}, a row of it would stand beside rows of several of {unit!r}, and "
        f"one of them could change what others add. Join by {unit!r}. {public}"
    )


_SPEC_CHECKS: tuple[Callable[[Spec], Iterator[Problem]], ...] = (
    _source,
    _expressions,
    _privacy,
    _series,
    _contribution,
    column_problems,
    _names,
)
