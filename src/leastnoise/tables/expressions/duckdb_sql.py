"""Row expressions as DuckDB's SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, final

from leastnoise.tables.expressions.computed import INPUT_CASTS
from leastnoise.tables.expressions.lower import lower
from leastnoise.tables.expressions.over_unit import OVER_UNIT, duckdb_window
from leastnoise.tables.expressions.texts import pattern_of
from leastnoise.tables.expressions.tree import (
    LARGEST_INT,
    LOWER,
    ROUNDED_BELOW,
    UPPER,
    Call,
    ColumnRef,
    Constant,
    Expression,
    UnitColumn,
    levels_of,
)
from leastnoise.tables.spec.values import MAX_TEXT

if TYPE_CHECKING:
    from leastnoise.tables.expressions.computed import Use
    from leastnoise.tables.expressions.tree import Type

TYPES: Mapping[Type, str] = {
    "int": "DOUBLE",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "DOUBLE",
    "instant": "DOUBLE",
    "null": "DOUBLE",
}
_HALF = "CAST('0.5' AS DOUBLE)"
_DATE = "regexp_full_match({0}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}') AND {0} >= '0001-01-01'"
_FITS = (
    "(strlen({0}) - strlen(replace({0}, {1}, ''))) * (strlen({2}) - strlen({1})) "
    f"<= ({MAX_TEXT} - strlen({{0}})) * strlen({{1}})"
)
"""An SQL condition: the result of `replace` isn't too long, tested before it is computed."""
_FORMS: Mapping[str, str] = {
    "not": "NOT {0}",
    "is null": "{0} IS NULL",
    "let": "{0}",
    "matches": "regexp_full_match({0}, '{unit}')",
    "number of": "TRY_CAST({0} AS DOUBLE)",
    "day of": "DATE '1970-01-01' + CAST(floor({0} / CAST('86400' AS DOUBLE)) AS INTEGER)",
    "abs": "abs({0})",
    "floor": f"CASE WHEN abs({{0}}) <= {LARGEST_INT} THEN floor({{0}}) END",
    "ceil": f"CASE WHEN abs({{0}}) <= {LARGEST_INT} THEN ceil({{0}}) END",
    "nearest": f"CASE WHEN abs({{0}}) < {ROUNDED_BELOW} THEN floor({{0}} + {_HALF}) "
    f"WHEN abs({{0}}) <= {LARGEST_INT} THEN {{0}} END",
    "round": f"CASE WHEN abs({{0}} * {{1}}) < {ROUNDED_BELOW} "
    f"THEN floor({{0}} * {{1}} + {_HALF}) / {{1}} ELSE {{0}} END",
    "lower": f"translate({{0}}, '{UPPER}', '{LOWER}')",
    "upper": f"translate({{0}}, '{LOWER}', '{UPPER}')",
    "trim": "trim({0}, ' ')",
    "substr": "substring({0}, CAST({1} AS BIGINT), CAST({2} AS BIGINT))",
    "right": "right({0}, CAST({1} AS BIGINT))",
    "length": "CAST(length({0}) AS DOUBLE)",
    "replace": f"replace(CASE WHEN {_FITS} THEN {{0}} END, {{1}}, {{2}})",
    "text of int": "CAST(CAST({0} AS BIGINT) AS VARCHAR)",
    "text of date": "CAST({0} AS VARCHAR)",
    "sqrt": "sqrt(CASE WHEN {0} >= 0 THEN {0} END)",
    "days": "CAST(CAST({0} AS DATE) - CAST({1} AS DATE) AS DOUBLE)",
    "weekday": "CAST(isodow({0}) AS DOUBLE)",
    "date_trunc": "CAST(date_trunc('{unit}', {0}) AS DATE)",
    "date": f"CASE WHEN {_DATE} THEN TRY_CAST({{0}} AS DATE) END",
    **{
        part: f"CAST({part}({{0}}) AS DOUBLE)"
        for part in ("year", "isoyear", "quarter", "month", "week", "day")
    },
}
"""The SQL of a call, by its operator; `_BUILDERS` has the other operators.

{0}, {1}, {2} are the arguments of the call, and {unit} is its `unit`.
"""


@final
class SqlColumns:
    """SQL of several expressions over one table; `columns` has the table's column names in SQL.

    `unit` is the column of the unit. `ties` are all columns that a release reads, which break ties
    between rows: see `over_unit`. `wrap` adds the expressions to a query, level by level.
    `parameters` are values bound to the query. `names` are the names of the expressions' columns in
    the result.
    """

    def __init__(
        self,
        expressions: Iterable[Expression],
        columns: Mapping[ColumnRef, str],
        *,
        unit: str = "",
        ties: Sequence[str] = (),
    ) -> None:
        self._columns, self._unit, self._ties = columns, unit, ties
        self._names: dict[Expression, str] = {}
        self._levels: list[list[str]] = []
        self.parameters: dict[str, str] = {}
        listed = [lower(expression) for expression in expressions]
        for level in levels_of(listed):
            pairs = [(f"e{len(self._names) + number}", node) for number, node in enumerate(level)]
            self._levels.append(
                [
                    f"{self._over_unit(node) if node.operator in OVER_UNIT else self._call(node)} "
                    f"AS {name}"
                    for name, node in pairs
                ]
            )
            self._names |= {node: name for name, node in pairs}
        self.names = [self._value(expression) for expression in listed]

    def wrap(self, sql: str) -> str:
        """Add the expressions to the columns of the query `sql`."""
        for level in self._levels:
            sql = f"SELECT *, {', '.join(level)} FROM ({sql})"  # noqa: S608  # names are our own, texts parameters
        return sql

    def _value(self, node: Expression) -> str:
        if isinstance(node, ColumnRef):
            return self._columns[node]
        if isinstance(node, UnitColumn):
            return self._unit
        if isinstance(node, Call):
            return self._names.get(node) or f"({self._call(node)})"
        return self._constant(node)

    def _constant(self, node: Constant) -> str:
        match node.value:
            case None:
                return "NULL"
            case bool():
                return str(node.value).upper()
            case date():
                return f"DATE '{node.value.isoformat()}'"
            case str():
                name = f"text{len(self.parameters)}"
                self.parameters[name] = node.value
                return f"${name}::VARCHAR"
            case _:
                return f"CAST('{node.value!r}' AS DOUBLE)"

    def _over_unit(self, node: Call) -> str:
        unit, *values = (self._value(argument) for argument in node.arguments)
        by = node.arguments[0]
        unit = unit if isinstance(by, UnitColumn) else to_casts(by.type, unit)["u"]
        return duckdb_window(node, values, unit=unit, ties=self._ties, kind=TYPES[node.type])

    def _call(self, node: Call) -> str:
        """SQL of one call, which never raises: a value that can't be computed is NULL."""
        values = [self._value(argument) for argument in node.arguments]
        if (build := _BUILDERS.get(node.operator)) is not None:
            return build(node, *values)
        return _FORMS[node.operator].format(*values, unit=node.unit)


def _between(node: Call, *values: str) -> str:
    return f" {node.operator} ".join(values)


def _function(node: Call, *values: str) -> str:
    return f"CAST({node.operator}({', '.join(values)}) AS {TYPES[node.type]})"


def _case(node: Call, *values: str) -> str:
    pairs = zip(values[:-1:2], values[1:-1:2], strict=True)
    whens = " ".join(f"WHEN {when} THEN {value}" for when, value in pairs)
    return f"CAST(CASE {whens} ELSE {values[-1]} END AS {TYPES[node.type]})"


def _float(node: Call, first: str, second: str) -> str:
    return f"{first} {node.operator[1]} {second}"


def _step(_: Call, value: str, *steps: str) -> str:
    """SQL of a step function of `value`, as nested CASEs that bisect its thresholds.

    `steps` are the function's values and thresholds in turn, with a value first and last.
    """
    if len(steps) == 1:
        return steps[0]
    middle = len(steps) // 4 * 2 + 1
    below, above = _step(_, value, *steps[:middle]), _step(_, value, *steps[middle + 1 :])
    return f"CASE WHEN {value} < {steps[middle]} THEN {below} ELSE {above} END"


def _join(_: Call, *values: str) -> str:
    """SQL of joined texts; NULL if the result would be too long for a text.

    In that case the first text is replaced by NULL, which makes the result NULL.
    """
    length = " + ".join(f"strlen({value})" for value in values)
    first = f"CASE WHEN {length} <= {MAX_TEXT} THEN {values[0]} END"
    return " || ".join([f"({first})", *values[1:]])


def _like(node: Call, value: str) -> str:
    return f"regexp_full_match({value}, '{pattern_of(node.unit, atomic=False)}')"


def _arithmetic(node: Call, first: str, second: str) -> str:
    """SQL of arithmetic: NULL if the result isn't finite, or is a whole number beyond 2^53."""
    result = f"{first} {node.operator} {second}"
    defined = f"isfinite({result})"
    if node.type == "int":
        even = f"{first} % 2 * ({second} % 2) = 0"
        if node.operator in {"+", "-"}:
            even = f"abs({first} % 2) = abs({second} % 2)"
        inside = f"abs({result}) < {LARGEST_INT}"
        defined = f"({inside} OR abs({result}) = {LARGEST_INT} AND {even})"
    if node.operator in {"/", "%"}:
        defined = f"{second} <> 0 AND {defined}"
    return f"CASE WHEN {defined} THEN {result} END"


_BUILDERS: Mapping[str, Callable[..., str]] = {
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "and", "or"), _between),
    **dict.fromkeys(("+", "-", "*", "/", "%"), _arithmetic),
    **dict.fromkeys(("coalesce", "least", "greatest"), _function),
    "case": _case,
    **dict.fromkeys(("f+", "f-", "f*", "f/"), _float),
    "step": _step,
    "||": _join,
    "like": _like,
}
"""By operator: functions that build the SQL of a call from the SQL of its arguments."""


def from_casts(kind: Type, number: int) -> str:
    """SQL of column `number` for expressions, computed from its casts: see `casts.casts_by_use`.

    Whole numbers beyond 2^53 become NULL before float64 could round them.
    """
    if kind == "int":
        inside = f"k{number} BETWEEN -{LARGEST_INT} AND {LARGEST_INT}"
        return f"CASE WHEN {inside} THEN CAST(k{number} AS DOUBLE) END"
    return f"{INPUT_CASTS.get(kind, 'k')}{number}"


def to_casts(kind: Type, value: str) -> dict[Use, str]:
    """SQL for each use of a derived column, like `casts.casts_by_use` for a stored column."""
    if kind == "int":
        whole = f"CAST({value} AS BIGINT)"
        return {"u": whole, "k": whole, "v": value}
    if kind == "float":
        return {"v": value}
    if kind == "bool":
        return {"k": value, "v": f"CAST({value} AS DOUBLE)"}
    text = f"CAST({value} AS VARCHAR)"
    return {"u": text, "k": text}
