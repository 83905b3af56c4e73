"""Checks of a spec that need two or more of its values; each problem comes with its key.

`query_checks` has the checks of single queries, and `columns` has the checks of columns.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from fractions import Fraction
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING

from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.budget import MAX_EPSILON
from leastnoise.guarantees.exact import decimal_text, exact
from leastnoise.tables.answers.kinds import file_names, lay_out_query, lay_out_ranks
from leastnoise.tables.expressions.over_unit import units_of
from leastnoise.tables.expressions.tree import columns_of
from leastnoise.tables.layout.layout import LayoutError, SpecLayout, share_parts
from leastnoise.tables.layout.unit_groups import has_one_value
from leastnoise.tables.parse import added_queries
from leastnoise.tables.parse.columns import Problem, check_declared, column_problems, unit_problems
from leastnoise.tables.parse.found_limit_checks import found_limit_problems
from leastnoise.tables.parse.output_checks import output_problems, table_problems
from leastnoise.tables.parse.query_checks import QUERY_CHECKS
from leastnoise.tables.results.table import result_columns
from leastnoise.tables.spec.model import epsilon_of_rho
from leastnoise.tables.spec.source import (
    IN_MEMORY,
    ON_SPARK,
    csv_keys,
    is_csv,
    is_spark,
    is_statistical,
    is_workbook,
    needs_types,
    why_no_engine,
    why_no_source,
    why_no_table,
)
from leastnoise.tables.spec.values import LEAST
from leastnoise.tables.statistics.registry import parse_queries

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from leastnoise.tables.layout.layout import Layout
    from leastnoise.tables.layout.quantile_layout import QuantileLayout
    from leastnoise.tables.spec.model import Data, Privacy, Series, Spec
    from leastnoise.tables.spec.query import Query
    from leastnoise.tables.spec.source import Join

    Parts = tuple[tuple[Layout, ...], ...]

_ONLY_CSV = "Used with CSV files only. Leave it out: other sources state their own."
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TAKEN = ("plan", "certificate", "spec")
# A smaller share of the budget is surely a slip, and could leave the range of floats.
SMALLEST_SHARE = Fraction(1, 10**6)
MOST_PROBLEMS = 1000  # of one check: suggesting a correction for each takes time
_DEEPEST_KEY = 100  # dots and brackets in a key, including the dots in names of columns


def check(written: Spec, unread: Collection[str] = ()) -> SpecLayout | list[Problem]:
    """Check a spec as it is `written`, with the queries that its keys add.

    Returns the whole spec with the layouts of its queries, or a list of its problems, at most 1000
    of each check. The values of keys in `unread` couldn't be read, and were replaced by values such
    as None. Then the result is a list, without problems that may be due to this; it may be empty.
    """
    queries = parse_queries(written)
    problems = [*islice(added_queries.asking_problems(written, queries), MOST_PROBLEMS)]
    spec, askers = written, dict[str, str]()
    if not unread and not problems:
        spec, askers = added_queries.expand(written, queries)
        queries = parse_queries(spec)
    for check in _SPEC_CHECKS:
        problems += islice(check(spec), MOST_PROBLEMS)
    known = {*unread}
    above = {outer for key in known for outer in outer_keys(key)}
    layouts: list[Parts] = []
    quantiles: list[tuple[QuantileLayout, ...]] = []
    for index, parsed in enumerate(queries):
        if len(problems) > MOST_PROBLEMS:
            break
        query, path = parsed.query, f"query[{index}]"
        of_query = [
            problem
            for check in QUERY_CHECKS
            for problem in islice(check(parsed, path), MOST_PROBLEMS)
        ]
        # Only a query without problems has a layout, and only if limits bound its persons.
        bounded = spec.privacy.by_row or _has_limits(spec, query)
        if bounded and not of_query and path not in known and path not in above and query.name:
            try:
                layouts.append(lay_out_query(parsed))
                quantiles.append(lay_out_ranks(parsed))
                of_query = [*_parts(spec, query, (layouts[-1], quantiles[-1]), path)]
            except LayoutError as error:
                of_query = [(path, str(error))]
        problems += of_query
    reported = [
        (key, why)
        for key, why in dict.fromkeys(problems)
        if key not in known and key not in above and known.isdisjoint(outer_keys(key))
    ]
    if known or reported:
        return _at_askers(reported, askers)
    return SpecLayout(spec=spec, queries=tuple(layouts), quantiles=tuple(quantiles))


def _at_askers(problems: list[Problem], askers: Mapping[str, str]) -> list[Problem]:
    """The problems of the written spec if it has any, else the problems of added queries.

    A problem of an added query is reported at the key that asked for the query.
    """
    at = [askers.get(key.partition("]")[0] + "]", "") for key, _ in problems]
    written = [problem for problem, asker in zip(problems, at, strict=True) if not asker]
    return written or [(asker, why) for asker, (_, why) in zip(at, problems, strict=True)]


def outer_keys(key: str, *, marks: str = ".[") -> Iterator[str]:
    """Yield the keys of the tables and lists around `key`, from the outermost inwards.

    Each ends before one of the letters `marks` in `key`. At most 100 keys are yielded, since no key
    of a spec is nested deeper.
    """
    ends = (index for index, letter in enumerate(key) if letter in marks)
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
        if join.columns and join.on != spec.privacy.unit:
            why = f"Used with on = {spec.privacy.unit!r} only: one unit has many values of "
            yield f"{path}.columns", f"{why}{join.on!r}. Leave it out."


def _named_rows(spec: Spec, section: Data | Join, path: str) -> Iterator[Problem]:
    """Yield the problems of the names of a source, and of the keys that describe its files."""
    names = section.sources
    for index, name in enumerate(names):
        if why := why_no_source(name):
            several = isinstance(section.source, tuple)
            yield f"{path}.source[{index}]" if several else f"{path}.source", why
    if names and (why := why_no_table(names, section.table)):
        yield f"{path}.table", why
    csv = any(map(is_csv, names))
    for name_of_key in () if csv else csv_keys(section):
        if name_of_key != "encoding" or not any(map(is_statistical, names)):
            yield f"{path}.{name_of_key}", _ONLY_CSV
    if any(map(needs_types, names)) and not spec.data.types:
        what = "a CSV" if csv else "a workbook" if any(map(is_workbook, names)) else "SQLite"
        why = f"Missing: {what} source needs the type of each column that is used"
        yield "data.types", f'{why}: "int", "float", "text" or "bool".'


def _expressions(spec: Spec) -> Iterator[Problem]:
    """Yield the problems of expressions that don't depend on the types of columns."""
    texts = {f"query[{index}].filter": query.filter for index, query in enumerate(spec.query)}
    texts |= {f"derive.{name}": text for name, text in (spec.derive or {}).items()}
    texts["data.filter"] = spec.data.filter
    for key, text in texts.items():
        if text is None:
            continue
        from leastnoise.tables.expressions.language import parse  # noqa: PLC0415  (0.1 s)

        try:
            expression = parse(text)
        except ValueError as error:
            yield key, str(error)
            continue
        for column in columns_of(expression):
            yield from check_declared(spec, column, key)
        for unit in dict.fromkeys(units_of(expression)):
            if why := _why_not_over(spec, unit, key):
                yield key, why


def _why_not_over(spec: Spec, column: str, key: str) -> str | None:
    """The reason why the expression at `key` can't be computed over rows with the same `column`.

    Over the unit's column, values depend on the rows of one person alone. But if a series protects
    a person's rows in only one release or a few, values would also depend on the person's rows in
    other releases. None if the expression is allowed.
    """
    privacy, series = spec.privacy, spec.series
    if privacy.by_row:
        return (
            f"over {column} needs persons, but each row is a unit. Write the column of persons as "
            f'the unit, such as [privacy] unit = "{column}", and their limits in [contribution].'
        )
    if column != privacy.unit:
        return (
            f"over {column} looks at rows of several persons, so one person would change another's "
            f"value. Write over {privacy.unit}, the unit, or use a statistic, which adds noise."
        )
    names = [f"derive.{name}" for name in spec.derive]
    if column in spec.derive and key in names[: names.index(f"derive.{column}") + 1]:
        return f"{column!r} is derived, too, and has to stand above this expression."
    if series is None or (series.each is None and series.max_releases is None):
        return None
    name = "max_releases" if series.each is None else "each"
    return (
        f"over {column} looks at the rows of all releases, but {name} in [series] protects "
        f"those in {'one release' if series.each else 'some'}. Leave {name} out, or use columns "
        "of the row."
    )


def _privacy(spec: Spec) -> Iterator[Problem]:
    privacy = spec.privacy
    if privacy.rho is not None:
        yield from _rho(privacy, privacy.rho)
    if privacy.epsilon == 0 and privacy.delta == 0:
        yield "privacy.epsilon", "Expected epsilon > 0 or delta > 0: no finite noise has both at 0."
    if privacy.unit_is is not None and privacy.unit not in {"row", None}:
        yield "privacy.unit_is", 'Used only with unit = "row"; any other unit is a column.'
    if not privacy.unit or privacy.by_row:
        return
    yield from check_declared(spec, privacy.unit, "privacy.unit")
    yield from unit_problems(spec.data.types.get(privacy.unit), privacy.unit)


def _rho(privacy: Privacy, rho: Fraction) -> Iterator[Problem]:
    if not privacy.delta:
        why = "Missing: with rho give the delta at which the report states epsilon. It costs"
        yield "privacy.delta", f'{why} nothing. Write delta = "1e-6"'
        return
    epsilon = epsilon_of_rho(rho, privacy.delta)
    if epsilon is None:
        why = f"With delta = {decimal_text(privacy.delta)} it has no epsilon above 0 and at most "
        yield "privacy.rho", f"{why}{MAX_EPSILON:,}. Change rho or delta."
    elif privacy.epsilon != epsilon:
        yield "privacy.epsilon", "Not used with rho, from which epsilon follows. Leave it out."


def _series(spec: Spec) -> Iterator[Problem]:
    if spec.series is None:
        return
    if spec.privacy.ledger is None:
        unit, delta = spec.series.unit_of(spec.privacy.unit), spec.privacy.delta
        why = "A series needs a ledger, which records its releases. Create one by: leastnoise "
        why += f'ledger init visits.ledger --dataset visits --unit "{unit}" --epsilon 10'
        why += f" --delta {decimal_text(delta)}" if delta else ""
        why += ", with the budget of all your releases. Then write "
        yield "privacy.ledger", f'{why}ledger = {{ path = "visits.ledger" }}.'
    elif spec.privacy.ledger.plan is not None:
        why = "A series is charged as a whole, and can't be part of a plan. Leave it out."
        yield "privacy.ledger.plan", why
    if spec.series.report is not None:
        yield from check_declared(spec, spec.series.report, "series.report")
    yield from _unit_of_series(spec, spec.series)
    yield from _running_totals(spec, spec.series)


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
    joined = [name for name, join in spec.data.join.items() if not join.public]
    if each != "row" and joined:
        why = f"Rows of {joined[0]} belong to a person in all releases, and each protects a person "
        yield f"data.join.{joined[0]}", f"{why}in one. Join only tables with public = true."
    if series.report is None:
        why = "Missing: the column with the number of the release that counts a row, such as "
        yield "series.report", f'{why}report = "week". Without it a row may count in every release.'


def _running_totals(spec: Spec, series: Series) -> Iterator[Problem]:
    """Yield the problems of running totals, and of keys that only they use."""
    if not series.totals:
        for name in ("branches", "state"):
            if getattr(series, name) is not None:
                yield f"series.{name}", "Used with totals = true only. Leave it out."
        return
    if series.each is None:
        each = "row" if spec.privacy.by_row else "person in one release"
        why = f'Missing: the unit that running totals protect. Write each = "{each}".'
        yield "series.each", why
    if spec.privacy.delta:
        yield (
            "privacy.delta",
            "Not used with totals = true: that noise needs none. Leave it out.",
        )
    if spec.output is None:
        yield "output", "Missing: the totals of a series need the folders of its releases."
    if series.state is not None and spec.output is not None:
        yield from _place_of_state(series.state, spec.output.path)
    if series.branches is not None and math.prod(series.branches) < series.releases:
        leaves = math.prod(series.branches)
        why = f"Expected branches whose product is at least {series.releases:,}, the number of"
        more = "Add branches or enlarge them, or leave branches out."
        yield "series.branches", f"{why} releases, got {leaves:,}. {more}"


def _place_of_state(state: str, output: str) -> Iterator[Problem]:
    """Yield the problems of the path of a secret file; `output` is the path of the releases."""
    if "\0" in state:
        yield "series.state", "The path holds a NUL."
    elif PurePath(os.path.normpath(output)) in PurePath(os.path.normpath(state)).parents[:-1]:
        yield "series.state", f"Expected a file outside {output}, whose files are published."


def _contribution(spec: Spec) -> Iterator[Problem]:
    limits = spec.contribution
    if spec.privacy.by_row:
        if limits is not None:
            why = 'Not used with unit = "row": a row needs only the bounds of its columns.'
            yield "contribution", f'{why} If a column is called row, write unit_is = "column".'
    elif spec.privacy.unit and not all(_has_limits(spec, query) for query in spec.query):
        why = "Missing: a limit on the rows of one person."
        yield "contribution", f"{why} Write, for example, max_rows = 5 in [contribution]."


def _names(spec: Spec) -> Iterator[Problem]:
    if not spec.query:
        yield "query", "Missing: write at least one [[query]]."
    total = sum(query.importance for query in spec.query)
    seen: set[str] = set()
    for index, parsed in enumerate(parse_queries(spec)):
        query = parsed.query
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
            yield path, f"{name!r} is the name of a file of every release. Choose another."
        for file_name in file_names(parsed):
            if file_name.lower() in seen:
                yield path, f"{file_name!r} is used twice (ignoring capitals). Names must differ."
            seen.add(file_name.lower())


def _share(spec: Spec, share: Fraction, path: str) -> Iterator[Problem]:
    """Yield a problem if a query's share of ε or δ is too small or has too many digits."""
    epsilon = 1 if spec.privacy.epsilon == LEAST else spec.privacy.epsilon
    for name, whole in (("epsilon", epsilon), ("delta", spec.privacy.delta)):
        try:
            exact((whole or 0) * share, name=name)
        except InvalidArgument:
            why = f"The share of {path} would be below 1e-300, or have more than 600 digits."
            yield f"privacy.{name}", f"{why} Raise {name}, or round it and the importances."


def _parts(
    spec: Spec, query: Query, layouts_of_query: tuple[Parts, tuple[QuantileLayout, ...]], path: str
) -> Iterator[Problem]:
    """Yield the problems of a query's result columns, and of the budgets of its parts."""
    parts, quantiles = layouts_of_query
    counts = [layout.count for layout in quantiles if layout.count is not None]
    every = [*(layouts[0] for layouts in parts), *counts, *quantiles]
    names = Counter(name.lower() for name in result_columns(every))
    for name, times in names.items():
        if times > 1:
            yield path, f"Two result columns would be called {name!r}. Split the query in two."
    yield from table_problems(spec, every, path)
    if query.quantiles_share is not None and not (parts and quantiles):
        why = "the query has nothing but quantiles" if quantiles else "it asks for no quantile"
        yield f"{path}.quantiles_share", f"Not used: {why}. Leave it out."
    shares = share_parts(parts, quantiles)
    if len(shares) > 1:
        yield from _share(spec, spec.share(query) * min(shares), path)


def _has_limits(spec: Spec, query: Query) -> bool:
    """True if some limit of `query` is given or holds by construction, or if it needs no limit.

    Only its layout shows if the limits suffice. A selection needs no limit, since it hides a person
    in any number of groups.
    """
    if query.by is not None or spec.limits(query).given:
        return True
    return any(has_one_value(spec, column) for column in spec.groupings(query))


def _why_not_on(spec: Spec, join: Join) -> str | None:
    """The reason why a table can't be joined by the column `join.on`; None if it can.

    A column that is derived doesn't exist before the join. Joins by some other columns would break
    the guarantee.
    """
    if join.on in spec.derive:
        return f"{join.on!r} is derived, and joins come before: join by a column of the source."
    unit = spec.privacy.unit
    if join.public or not unit:
        return None
    public = "If the table is public, write public = true."
    if spec.privacy.by_row:
        why = "A row of the joined table would be in several rows, and it needs protection, too."
        return f"{why} {public}"
    if join.on == unit:
        return None
    return (
        f"Joined by {join.on!r}, a row of it would belong to several values of {unit!r}, and one "
        f"person could change what others add. Join by {unit!r}. {public}"
    )


_SPEC_CHECKS: tuple[Callable[[Spec], Iterator[Problem]], ...] = (
    _source,
    _expressions,
    _privacy,
    _series,
    _contribution,
    found_limit_problems,
    column_problems,
    output_problems,
    _names,
)
