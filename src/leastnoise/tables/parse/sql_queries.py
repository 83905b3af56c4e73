"""A query of SQL to the keys of a block: what the spec of a release stores, and its plan shows.

What isn't one of the statistics is refused by name, with what to write instead. The meaning is that
of the block: every public key has a row, sums are of values within their bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leastnoise.tables.statistics import registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlglot import exp

    from leastnoise.tables.parse.columns import Problem

SQL = "sql"
TABLE = "data"
"""What the rows are called."""
_BESIDE = ("filter", "statistics", "histogram", "conditions", "max_conditions")
_KINDS = {"Sum": "sum", "Avg": "mean", "VariancePop": "var", "StddevPop": "std", "Median": "median"}
"""The parser's names of functions, and the statistics of the same meaning."""
_BY_ONE_LESS = {"Variance": "var_pop", "Stddev": "stddev_pop", "StddevSamp": "stddev_pop"}
_INSTEAD = {
    "with_": "with: write each of its queries as a block, or what it computes in [derive]",
    "joins": "join: write [data.join.NAME] with its source, and on",
    "laterals": "lateral: compute columns of a row in [derive]",
    "distinct": "distinct: group by the columns, whose keys are public",
    "having": "having: which groups there are would tell of persons. Publish all, and choose then",
    "order": "order by: keys have the order of the spec. Sort the published table",
    "limit": "limit: publish all, and take the first rows then",
    "offset": "offset: publish all, and leave rows out then",
    "windows": "window: it looks at other rows",
    "qualify": "qualify: it looks at other rows",
    "sample": "sample: draw it before the release, by a coin for each person",
}
_PARTS = {"expressions", "from_", "where", "group"}


def translated(raw: Mapping[str, Any], problems: list[Problem]) -> dict[str, Any]:
    """Return the plain spec `raw` with the keys of a block wherever it says `sql`.

    One that can't be said so adds its problem, and no keys.
    """
    blocks = raw.get("query")
    if not isinstance(blocks, list | tuple):
        return dict(raw)
    found: list[Any] = []
    for index, block in enumerate(blocks):
        if not isinstance(block, dict) or SQL not in block:
            found.append(block)
            continue
        rest = {name: value for name, value in block.items() if name != SQL}
        try:
            found.append(_block(block[SQL], rest, raw))
        except ValueError as error:
            problems.append((f"query[{index}].{SQL}", str(error)))
            found.append(rest)
    return {**raw, "query": found}


def _block(text: object, rest: Mapping[str, Any], raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a block: those that SQL says, and the `rest` beside it."""
    if not isinstance(text, str):
        raise ValueError('Expected a text, such as "select count(*) from data".')  # noqa: TRY004  # a problem of the spec
    if beside := [name for name in _BESIDE if name in rest]:
        raise ValueError(f"Not used beside {beside[0]}: sql says it, or leave sql out.")
    from leastnoise.tables.expressions import language  # noqa: PLC0415  (0.1 s)

    query = _checked(language.parse_sql(text))
    found = dict(rest)
    if where := query.args.get("where"):
        found["filter"] = language.write(where.this)
    grouped = [_name(one, "group by") for one in _grouped(query)]
    asked = [one for one in query.expressions if not _is_of(one, grouped)]
    found["statistics"] = [_statistic(one, raw) for one in asked]
    groups = _groups(grouped, rest.get("group_by"), raw)
    beside = groups.values() if isinstance(groups, dict) else ()
    if not asked and not any(isinstance(one, dict) and "keys" in one for one in beside):
        raise ValueError("Expected a statistic after select, such as count(*) or avg(income).")
    return found | ({"group_by": groups} if groups else {})


def _checked(query: exp.Expr) -> exp.Select:
    """Return what one block can say; raises ValueError naming what it can't."""
    from sqlglot import exp  # noqa: PLC0415  (0.1 s)

    if not isinstance(query, exp.Select):
        why = 'Expected one select, such as "select count(*) from data": a block each.'
        raise ValueError(why)  # noqa: TRY004  # a problem of the spec
    for part, value in query.args.items():
        if value and part not in _PARTS:
            name = part.strip("_").replace("_", " ")
            raise ValueError(f"A block has no {_INSTEAD.get(part, f'{name}: leave it out')}.")
    source = query.args.get("from_")
    table = None if source is None else source.this
    if not isinstance(table, exp.Table) or table.sql() != TABLE:
        raise ValueError(f"Expected from {TABLE}, which is what [data] says, and no other table.")
    return query


def _grouped(query: exp.Select) -> list[exp.Expr]:
    """Return what is grouped by."""
    group = query.args.get("group")
    if group is None:
        return []
    if more := [name for name, value in group.args.items() if value and name != "expressions"]:
        raise ValueError(f"A block has no group by {more[0]}: name the columns.")
    return list(group.expressions)


def _name(node: exp.Expr, where: str) -> str:
    """Return the name of a column; raises ValueError for what isn't one."""
    from sqlglot import exp  # noqa: PLC0415  (0.1 s)

    if isinstance(node, exp.Column) and not node.table:
        return node.name
    said = node.sql(dialect="duckdb")[:60]
    raise ValueError(
        f"Expected the name of a column in {where}, got {said!r}. Name what is computed: "
        f"[derive] x = {said!r}, and write x."
    )


def _is_of(node: exp.Expr, grouped: list[str]) -> bool:
    """Say whether that is a column that is grouped by; ValueError where it has another name."""
    from sqlglot import exp  # noqa: PLC0415  (0.1 s)

    if isinstance(node, exp.Alias):
        why = f"Leave 'as {node.alias}' out: results are called as statistics are."
        raise ValueError(why)  # noqa: TRY004  # a problem of the spec
    if not isinstance(node, exp.Column):
        return False
    if (name := _name(node, "select")) not in grouped:
        raise ValueError(f"The column {name!r} isn't in group by, nor in a statistic.")
    return True


def _statistic(node: exp.Expr, raw: Mapping[str, Any]) -> str:
    """Return the spelling of the statistic that means the same; raises ValueError if none does."""
    kind = type(node).__name__
    if kind == "Count":
        return _count(node, raw)
    if kind in _BY_ONE_LESS:
        said = f"{_BY_ONE_LESS[kind]}({node.this.sql(dialect='duckdb')})"
        raise ValueError(
            f"That variance is divided by n - 1, which noise may make 0. Write {said}."
        )
    if (quantile := _quantile(node)) is not None:
        return quantile
    if kind not in _KINDS:
        raise ValueError(_refusal(node))
    return _spelled(_KINDS[kind], _name(node.this, "a statistic"))


def _count(node: exp.Expr, raw: Mapping[str, Any]) -> str:
    from sqlglot import exp  # noqa: PLC0415  (0.1 s)

    if isinstance(node.this, exp.Star):
        return "count"
    if not isinstance(node.this, exp.Distinct):
        return _spelled("count", _name(node.this, "count"))
    privacy = raw.get("privacy")
    unit = privacy.get("unit") if isinstance(privacy, dict) else None
    names = [_name(one, "count") for one in node.this.expressions]
    if names != [unit]:
        raise ValueError(
            f"count(distinct x) is of the unit {unit!r} alone, as count_units. How many values "
            "there are of another column may depend on one person."
        )
    return "count_units"


def _quantile(node: exp.Expr) -> str | None:
    """Return the spelling of a quantile; None for another node.

    Between two values or not: it is one of the public candidates.
    """
    from sqlglot import exp  # noqa: PLC0415  (0.1 s)

    found, level = node.this, node.args.get("expression") or node.args.get("quantile")
    if isinstance(node, exp.WithinGroup):
        (ordered,) = node.args["expression"].expressions
        node, found, level = node.this, ordered.this, node.this.this
        if ordered.args.get("desc"):
            raise ValueError("Expected a quantile in rising order: for desc take 1 less the level.")
    if not isinstance(node, exp.PercentileCont | exp.PercentileDisc | exp.Quantile):
        return None
    if not isinstance(level, exp.Literal):
        why = "Expected one level of a quantile, such as quantile_cont(income, 0.9)."
        raise ValueError(why)  # noqa: TRY004  # a problem of the spec
    return _spelled("quantile", _name(found, "a quantile"), f", {level.this}")


def _spelled(kind: str, name: str, more: str = "") -> str:
    """Return the spelling of a statistic of a column, which has to read back as it is."""
    text = f"{kind}({name}{more})"
    parsed = registry.parse(text)
    if [one.column for one in parsed.parts] != [name]:
        raise ValueError(f"The column {name!r} can't be named in a statistic. Rename it.")
    return text


def _refusal(node: exp.Expr) -> str:
    from sqlglot import exp  # noqa: PLC0415  (0.1 s)

    from leastnoise.tables.expressions.words import WITHIN_A_UNIT  # noqa: PLC0415  (as sqlglot)

    said = node.sql(dialect="duckdb")[:60]
    if isinstance(node, exp.Filter):
        return f"{said!r} has a filter of its own: write where, in a block of its own."
    if isinstance(node, exp.Window) and node.args.get("partition_by"):
        return f"{said!r} {WITHIN_A_UNIT}"
    if isinstance(node, exp.Window):
        return f"{said!r} looks at other rows, so one person would change another's."
    if isinstance(node, exp.Div):
        return (
            f'{said!r}: write statistics = ["ratio(sum(a), sum(b))"], of rows with both values, '
            'or "mean(a)". With missing = 0 in both columns each sum is of its own rows.'
        )
    known = (
        "count(*), count(x), count(distinct unit), sum(x), avg(x), var_pop(x), stddev_pop(x), "
        "median(x) and quantile_cont(x, 0.9)"
    )
    return f"{said!r} isn't a statistic. There are {known}."


def _groups(grouped: list[str], given: object, raw: Mapping[str, Any]) -> Any:
    """Return `group_by` in the order of the query: its own keys, or names of columns with keys."""
    if given is not None:
        if not isinstance(given, dict) or set(given) != set(grouped):
            raise ValueError(f"Expected group_by of the same columns beside it: {grouped}.")
        return {name: given[name] for name in grouped}
    columns = raw.get("columns")
    for name in grouped:
        known = columns.get(name) if isinstance(columns, dict) else None
        if not isinstance(known, dict) or not {"keys", "edges"} & {*known}:
            raise ValueError(
                f"Missing: the public keys of {name!r}. Write them beside sql, such as group_by = "
                f'{{ {name} = ["a", "b"] }}: keys that are read off the data would tell of persons.'
            )
    return grouped
