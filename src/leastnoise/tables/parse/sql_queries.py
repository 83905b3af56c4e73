"""Translate SQL into the keys of a spec's query, which the plan shows and the spec stores.

SQL that isn't about statistics is refused, with a suggestion. A translated query has the meaning of
its keys: public keys without rows in the data are published, too, unless `min_count` or `top`
leaves them out. Values are clamped to their bounds before they are summed.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import tomli_w
from sqlglot import exp

from leastnoise.tables.expressions import language
from leastnoise.tables.spec.query import SQL
from leastnoise.tables.statistics import registry

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from leastnoise.tables.parse.columns import Problem

TABLE = "data"
"""The name of the rows in SQL."""
_BESIDE = ("filter", "statistics", "histogram", "conditions", "max_conditions")
_KINDS = {"Sum": "sum", "Avg": "mean", "VariancePop": "var", "StddevPop": "std", "Median": "median"}
"""sqlglot's names of functions, and the statistics with the same meaning."""
_BY_ONE_LESS = {"Variance": "var_pop", "Stddev": "stddev_pop", "StddevSamp": "stddev_pop"}
_INSTEAD = {
    "with_": "with: write each of its queries separately, or compute its columns in [derive]",
    "joins": "join: write [data.join.NAME] with the keys source and on",
    "laterals": "lateral: compute columns of a row in [derive]",
    "distinct": "distinct: group by the columns, whose keys are public",
    "having": "having: min_count = 10 beside sql leaves out groups of a published count below 10",
    "order": "order by: keys have the order of the spec. Sort the published table, or write "
    "top = 10 beside sql for the groups of the largest published counts",
    "limit": "limit: top = 10 beside sql keeps the groups of the largest published counts",
    "offset": "offset: publish all groups, and drop rows afterwards",
    "windows": "window: it looks at other rows",
    "qualify": "qualify: write a condition over the unit after where, such as "
    "row_number() over (partition by person order by day) = 1",
    "sample": "sample: draw the sample before the release, with a coin for each person",
}
_PARTS = {"expressions", "from_", "where", "group"}


def translate_queries(raw: Mapping[str, Any], problems: list[Problem]) -> dict[str, Any]:
    """Replace the `sql` of each query by its keys, in the plain spec `raw` with a list of queries.

    SQL that can't be written in keys adds its problem, and no keys.
    """
    queries: list[Any] = []
    for index, query in enumerate(raw["query"]):
        if not isinstance(query, dict) or SQL not in query:
            queries.append(query)
            continue
        rest = {name: value for name, value in query.items() if name != SQL}
        try:
            queries.append(_translate(query[SQL], rest, raw))
        except ValueError as error:
            problems.append((f"query[{index}].{SQL}", str(error)))
            queries.append(rest)
    return {**raw, "query": queries}


def _translate(text: object, rest: Mapping[str, Any], raw: Mapping[str, Any]) -> dict[str, Any]:
    """Translate the SQL of a query into keys, and add the `rest` of its keys.

    `text` is the SQL, and `raw` the whole spec, in plain values. Raises ValueError if keys can't
    express the SQL, or if a key in `rest` can't stand beside SQL.
    """
    if not isinstance(text, str):
        raise ValueError('Expected a text, such as "select count(*) from data".')  # noqa: TRY004  # a problem of the spec
    if beside := [name for name in _BESIDE if name in rest]:
        advice = "Leave out one of the two."
        if beside[0] in {"filter", "statistics"}:
            advice = "Write it in the SQL, or leave out sql."
        raise ValueError(f"A query with the key sql can't have the key {beside[0]}, too. {advice}")

    query = _check_clauses(language.parse_sql(text))
    known = _known_names(rest, raw)
    _spell_as_known(query, known)
    keys = dict(rest)
    if where := query.args.get("where"):
        keys["filter"] = language.write(where.this)
    grouped = [_name(node, "group by", known) for node in _group_nodes(query)]
    asked = [node for node in query.expressions if not _is_grouped(node, grouped, known)]
    keys["statistics"] = [_statistic(node, raw, known) for node in asked]
    groups = _groups(grouped, rest.get("group_by"), raw)
    beside = groups.values() if isinstance(groups, dict) else ()
    if not asked and not any(isinstance(group, dict) and "keys" in group for group in beside):
        raise ValueError("Expected a statistic after select, such as count(*) or avg(income).")
    return keys | ({"group_by": groups} if groups else {})


def _check_clauses(query: exp.Expr) -> exp.Select:
    """Return the query if the keys of a spec can express all its clauses; else raise ValueError."""
    if not isinstance(query, exp.Select):
        why = 'Expected one select, such as "select count(*) from data", in each query.'
        raise ValueError(why)  # noqa: TRY004  # a problem of the spec
    for part, value in query.args.items():
        if value and part not in _PARTS:
            name = part.strip("_").replace("_", " ")
            raise ValueError(f"A query can't have {_INSTEAD.get(part, f'{name}: leave it out')}.")
    source = query.args.get("from_")
    table = None if source is None else source.this
    if not isinstance(table, exp.Table) or table.sql(comments=False).lower() != TABLE:
        raise ValueError(
            f'Expected "from {TABLE}". The table {TABLE} has the rows that [data] describes. Other '
            "tables can't be read."
        )
    return query


def _known_names(rest: Mapping[str, Any], raw: Mapping[str, Any]) -> set[str]:
    """The names of columns that the spec groups by, describes, derives or has as its unit."""
    data, privacy = raw.get("data"), raw.get("privacy")
    types = data.get("types") if isinstance(data, dict) else None
    mappings = (rest.get("group_by"), raw.get("columns"), raw.get("derive"), types)
    names = {name for mapping in mappings if isinstance(mapping, dict) for name in mapping}
    unit = privacy.get("unit") if isinstance(privacy, dict) else None
    return names | ({unit} if isinstance(unit, str) else set())


def _spell_as_known(query: exp.Select, known: Collection[str]) -> None:
    """Spell names without quotes as in the spec, because SQL ignores capitals in them.

    A name is changed only if one name of the spec is alike. `query` is changed in place.
    """
    names = [column.this for column in query.find_all(exp.Column)]
    names += [window.args.get("alias") for window in query.find_all(exp.Window)]  # OVER name
    for name in names:
        if isinstance(name, exp.Identifier) and not name.args.get("quoted"):
            alike = [other for other in known if other.lower() == name.name.lower()]
            if len(alike) == 1:
                name.set("this", alike[0])


def _group_nodes(query: exp.Select) -> list[exp.Expr]:
    """The nodes of the GROUP BY clause; empty without it.

    Raises ValueError for other forms of grouping, such as ROLLUP.
    """
    group = query.args.get("group")
    if group is None:
        return []
    if more := [name for name, value in group.args.items() if value and name != "expressions"]:
        raise ValueError(f"A query can't have group by {more[0]}. Name the columns after group by.")
    return list(group.expressions)


def _name(node: exp.Expr | None, where: str, known: Collection[str]) -> str:
    """The name of the column that a node is; raises ValueError for anything else.

    `where` is the place in the query, for the message.
    """
    if node is None:
        raise ValueError(f"Expected the name of a column in {where}, got nothing.")
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Identifier) and not node.table:
        return node.name

    text = language.quote(node)
    why = f"Expected the name of a column in {where}, got {text[:60]!r}."
    raise ValueError(f"{why} {_suggest_name(node, text, known)}".rstrip())


def _suggest_name(node: exp.Expr, text: str, known: Collection[str]) -> str:
    """A suggestion for a node that isn't the name of a column, or ""."""
    if isinstance(node, exp.Distinct):
        return "Leave distinct out: which rows it keeps depends on other rows."
    if isinstance(node, exp.Column):
        return f"Write {node.name} alone: there is only one table."
    if isinstance(node, exp.Literal):
        return "Write the column's name, not a constant."
    try:
        language.parse(text)
    except ValueError:
        return ""
    taken = {*known, *(column.name for column in node.find_all(exp.Column))}
    names = itertools.chain(["computed"], (f"computed_{number}" for number in itertools.count(2)))
    name = next(name for name in names if name not in taken)
    return f"Name it first: [derive] {tomli_w.dumps({name: text}).strip()}, and write {name}."


def _is_grouped(node: exp.Expr, grouped: list[str], known: Collection[str]) -> bool:
    """True if a node of the SELECT clause is a column of GROUP BY; False if it isn't a column.

    Raises ValueError for an alias, or for a column that isn't in GROUP BY.
    """
    if isinstance(node, exp.Alias):
        why = f"Leave 'as {node.alias}' out: result columns have the names of statistics."
        raise ValueError(why)  # noqa: TRY004  # a problem of the spec
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return False
    if (name := _name(node, "select", known)) not in grouped:
        raise ValueError(
            f"The column {name!r} is neither in group by nor in a statistic. Add the column to "
            "group by, or leave it out."
        )
    return True


def _statistic(node: exp.Expr, raw: Mapping[str, Any], known: Collection[str]) -> str:
    """The spelling of the statistic with the meaning of a node; raises ValueError without one."""
    kind = type(node).__name__
    if kind == "Count":
        return _count(node, raw, known)
    if kind in _BY_ONE_LESS:
        instead = f"{_BY_ONE_LESS[kind]}({language.quote(node.this)})"
        raise ValueError(
            "A sample variance or deviation divides by n - 1, which noise may make 0. "
            f"Write {instead}."
        )
    if (quantile := _quantile(node, known)) is not None:
        return quantile
    if kind not in _KINDS:
        raise ValueError(_refusal(node))
    return _spell(_KINDS[kind], _name(node.this, "a statistic", known))


def _count(node: exp.Expr, raw: Mapping[str, Any], known: Collection[str]) -> str:
    """The statistic for a count of rows, of rows with a value, or of units.

    Raises ValueError for a count of several columns, or of distinct values of a column other than
    the unit.
    """
    if node.expressions:
        text = language.quote(node)[:60]
        raise ValueError(f"{text!r} counts several columns. Write a count for each column.")
    counted = node.this
    whole = isinstance(counted, exp.Literal) and not counted.is_string
    if (
        counted is None
        or whole
        or (isinstance(counted, exp.Star) and not any(counted.args.values()))
    ):
        return "count"
    if not isinstance(counted, exp.Distinct):
        return _spell("count", _name(counted, "count", known))
    privacy = raw.get("privacy")
    unit = privacy.get("unit") if isinstance(privacy, dict) else None
    names = [_name(column, "count", known) for column in counted.expressions]
    if names != [unit]:
        raise ValueError(
            f"count(distinct …) can only count the unit {unit!r}, as count_units does. In any "
            "other column, one person may change the number of distinct values without limit."
        )
    return "count_units"


def _quantile(node: exp.Expr, known: Collection[str]) -> str | None:
    """The spelling of the statistic for a quantile; None for nodes of other kinds.

    Raises ValueError for a malformed quantile.
    """
    inner = node.this if isinstance(node, exp.WithinGroup) else node
    if not isinstance(inner, exp.PercentileCont | exp.PercentileDisc | exp.Quantile):
        return None
    column, level = inner.this, inner.args.get("expression") or inner.args.get("quantile")
    if isinstance(node, exp.WithinGroup):
        order = node.args["expression"]
        if not isinstance(order, exp.Order) or len(order.expressions) != 1 or level is not None:
            raise ValueError("Expected percentile_cont(0.9) within group (order by x).")
        (ordered,) = order.expressions
        if ordered.args.get("desc"):
            raise ValueError(
                "Expected ascending order: leave out desc, and replace the level by 1 - level."
            )
        column, level = ordered.this, inner.this
    if not isinstance(level, exp.Literal) or level.is_string:
        why = "Expected a single level of a quantile, such as quantile_cont(income, 0.9)."
        raise ValueError(why)  # becomes a problem of the spec
    return _spell("quantile", _name(column, "a quantile", known), f", {level.this}")


def _spell(kind: str, name: str, more: str = "") -> str:
    """The spelling of a statistic of a column; raises ValueError for an impossible name."""
    text = f"{kind}({name}{more})"
    parsed = registry.parse(text)
    if [part.column for part in parsed.parts] != [name]:
        raise ValueError(
            f"The column {name!r} can't be used in a statistic, because its name is misread there. "
            "Rename the column."
        )
    return text


def _refusal(node: exp.Expr) -> str:
    """The error message for a node that isn't a statistic, with a suggestion."""
    text = language.quote(node)[:60]
    if isinstance(node, exp.Filter):
        return f"{text!r} has its own filter: write it after where, in a separate query."
    if isinstance(node, exp.Window) and (node.args.get("partition_by") or node.alias):
        return (
            f"{text!r} isn't a statistic, but a value of each row. Name it in [derive], and write "
            "a statistic of it or group by it. It has to be over the unit: by another column, one "
            "person would change another's value."
        )
    if isinstance(node, exp.Window):
        return f"{text!r} looks at other rows, so one person would change another's value."
    if isinstance(node, exp.Div):
        return (
            f'{text!r}: write statistics = ["ratio(sum(a), sum(b))"], over rows with both values, '
            'or "mean(a)". With missing = 0 in both columns the sums are over all rows.'
        )
    statistics = (
        "count(*), count(x), count(distinct unit), sum(x), avg(x), var_pop(x), stddev_pop(x), "
        "median(x) and quantile_cont(x, 0.9)"
    )
    return f"{text!r} isn't a statistic. You can use {statistics}."


def _groups(grouped: list[str], given: object, raw: Mapping[str, Any]) -> Any:
    """The query's `group_by` in the order of the SQL.

    It is the `group_by` that is `given` beside the SQL, or else the names of columns with keys or
    edges in the spec. `grouped` are the columns in the SQL, and `raw` is the whole spec. Raises
    ValueError if the given columns aren't the columns of the SQL, or if a column has neither keys
    nor edges.
    """
    if given is not None:
        if not isinstance(given, dict) or set(given) != set(grouped):
            raise ValueError(f"Expected group_by with the same columns as the SQL: {grouped}.")
        return {name: given[name] for name in grouped}
    columns = raw.get("columns")
    for name in grouped:
        column = columns.get(name) if isinstance(columns, dict) else None
        if not isinstance(column, dict) or not {"keys", "edges"} & {*column}:
            raise ValueError(
                f"Missing: the list of the groups of {name!r} (its public keys). Write the list "
                f'beside sql, such as group_by = {{ {name} = ["a", "b"] }}. Groups taken from '
                "the data would reveal persons."
            )
    return grouped
