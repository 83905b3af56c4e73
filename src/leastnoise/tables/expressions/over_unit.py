"""Values over all rows of one unit, such as the number of a person's visits.

Such values depend on the rows of one unit alone, so a person who is added, removed or replaced
changes only values in their own rows. Rows without a unit have no value; no query counts them.

An engine only computes five aggregates and row numbers; `read_over_unit` builds the other functions
from these. No function depends on the order of a unit's rows. The first argument of each call is
the unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from leastnoise.tables.expressions.tree import (
    LARGEST_INT,
    Call,
    ColumnRef,
    Expression,
    UnitColumn,
    walk,
)

COUNT, COUNT_DISTINCT, SUM = "count over", "count distinct over", "sum over"
MIN, MAX = "min over", "max over"
NUMBER, NUMBER_BACK = "number over", "number back over"
_AGGREGATES = (COUNT, COUNT_DISTINCT, SUM, MIN, MAX)
"""Functions that have the same value in all rows of a unit."""
_NUMBERS = (NUMBER, NUMBER_BACK)
OVER_UNIT = (*_AGGREGATES, *_NUMBERS)
_WIDE = "decimal(28,0)"
"""Spark's type for the terms of a sum; its sums have 38 digits, enough for 10^10 terms."""


def units_of(expression: Expression) -> tuple[str, ...]:
    """The names of the columns that stand after `over` in an expression."""
    return tuple(node.name for node in walk(expression) if isinstance(node, UnitColumn))


def constant_per_unit(expression: Expression, known: Callable[[str], bool]) -> bool:
    """True only if the expression certainly has the same value in all rows of a unit.

    `known` answers this for a column, given its name.

    >>> from leastnoise.tables.expressions.language import parse
    >>> constant_per_unit(parse("month(min(day) over person)"), lambda name: False)
    True
    """
    constant: dict[Expression, bool] = {}
    for node in walk(expression):
        if isinstance(node, ColumnRef):
            constant[node] = known(node.name)
        elif isinstance(node, Call) and node.operator in OVER_UNIT:
            constant[node] = node.operator in _AGGREGATES
        else:
            constant[node] = all(constant[argument] for argument in node.arguments)
    return constant[expression]


def duckdb_window(
    node: Call, values: Sequence[str], *, unit: str, ties: Sequence[str], kind: str
) -> str:
    """DuckDB's SQL of a call over the unit, from the SQL of its other arguments, `values`.

    `kind` is the SQL type of the result. For row numbers, the columns `ties` break ties. Two rows
    that are still equal are equal in everything that a release reads, so it doesn't matter which
    comes first.
    """
    if node.operator in _NUMBERS:
        missing = " OR ".join(f"{value} IS NULL" for value in values)
        direction = "DESC NULLS FIRST" if node.operator == NUMBER_BACK else "ASC NULLS LAST"
        order = ", ".join([missing, *(f"{key} {direction}" for key in (*values, *ties))])
        number = f"CAST(row_number() OVER (PARTITION BY {unit} ORDER BY {order}) AS DOUBLE)"
        return f"CASE WHEN {unit} IS NOT NULL AND NOT ({missing}) THEN {number} END"
    whole = f"OVER (PARTITION BY {unit})"
    value = values[0] if values else "*"
    total = f"sum(CAST({value} AS BIGINT)) {whole}"  # integers of 128 bits
    forms = {
        COUNT: f"count({value}) {whole}",
        COUNT_DISTINCT: f"count(DISTINCT {value}) {whole}",
        # DuckDB's cast from 128 bits to float64 isn't exact
        SUM: f"CASE WHEN {total} BETWEEN -{LARGEST_INT} AND {LARGEST_INT} "
        f"THEN TRY_CAST({total} AS BIGINT) END",
        MIN: f"min(CAST({value} AS {kind})) {whole}",
        MAX: f"max(CAST({value} AS {kind})) {whole}",
    }
    return f"CASE WHEN {unit} IS NOT NULL THEN CAST({forms[node.operator]} AS {kind}) END"


def spark_window(
    f: Any, node: Call, values: Sequence[Any], *, unit: Any, ties: Sequence[Any], kind: str
) -> Any:
    """The column of Spark for a call over the unit; see `duckdb_window`."""
    if f.__name__.startswith("pyspark.sql.connect"):
        from pyspark.sql.connect.window import Window  # noqa: PLC0415  # pyright: ignore[reportMissingImports]
    else:
        from pyspark.sql.window import Window  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    whole = Window.partitionBy(unit)
    if node.operator in _NUMBERS:
        missing = reduce(or_, (value.isNull() for value in values))
        back = node.operator == NUMBER_BACK
        order = [
            key.desc_nulls_first() if back else key.asc_nulls_last() for key in (*values, *ties)
        ]
        number = f.row_number().over(whole.orderBy(missing, *order)).cast("double")
        return f.when(unit.isNotNull() & ~missing, number)
    value = values[0] if values else f.lit(1)

    def total() -> Any:
        summed = f.sum(value.cast("bigint").cast(_WIDE)).over(whole)
        return f.when(summed.between(-LARGEST_INT, LARGEST_INT), summed.try_cast("bigint"))

    forms: Mapping[str, Callable[[], Any]] = {
        COUNT: lambda: f.count(value).over(whole),
        COUNT_DISTINCT: lambda: f.size(f.collect_set(value).over(whole)),
        SUM: total,
        MIN: lambda: f.min(value).over(whole),
        MAX: lambda: f.max(value).over(whole),
    }
    return f.when(unit.isNotNull(), forms[node.operator]().cast(kind))
