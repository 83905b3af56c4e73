"""Row expressions as DuckDB's SQL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING, final

from leastnoise.tables.expressions.tree import (
    LARGEST_INT,
    LOWER,
    ROUNDED_BELOW,
    UPPER,
    Call,
    ColumnRef,
    Constant,
    Expression,
    levels_of,
)

if TYPE_CHECKING:
    from leastnoise.tables.expressions.computed import Use
    from leastnoise.tables.expressions.tree import Type

TYPES: Mapping[Type, str] = {
    "int": "DOUBLE",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "bool": "BOOLEAN",
    "date": "DATE",
    "null": "DOUBLE",
}
_BETWEEN = {"=", "<>", "<", "<=", ">", ">=", "and", "or"}
_HALF = "CAST('0.5' AS DOUBLE)"
_DATE = "regexp_full_match({0}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}') AND {0} >= '0001-01-01'"
_FORMS: Mapping[str, str] = {
    "not": "NOT {0}",
    "is null": "{0} IS NULL",
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
    "weekday": "CAST(isodow({0}) AS DOUBLE)",
    "date_trunc": "CAST(date_trunc('{unit}', {0}) AS DATE)",
    "date": f"CASE WHEN {_DATE} THEN TRY_CAST({{0}} AS DATE) END",
    **{
        part: f"CAST({part}({{0}}) AS DOUBLE)"
        for part in ("year", "isoyear", "quarter", "month", "week", "day")
    },
}
"""{0} and the others stand for names or constants: nothing is computed twice."""


@final
class SqlColumns:
    """SQL of several expressions over `columns` of one table, by what it calls them.

    `around` a query, each level computes its part beside all columns. `bound` are parameters, and
    `names` what the expressions are called in the end.
    """

    def __init__(self, expressions: Iterable[Expression], columns: Mapping[str, str]) -> None:
        self._columns = columns
        self._called: dict[Expression, str] = {}
        self._levels: list[list[str]] = []
        self.bound: dict[str, str] = {}
        listed = list(expressions)
        for level in levels_of(listed):
            named = [(f"e{len(self._called) + place}", node) for place, node in enumerate(level)]
            self._levels.append([f"{self._call(node)} AS {name}" for name, node in named])
            self._called |= {node: name for name, node in named}
        self.names = [self._value(expression) for expression in listed]

    def around(self, sql: str) -> str:
        """Return the query `sql` with the expressions beside its columns."""
        for level in self._levels:
            sql = f"SELECT *, {', '.join(level)} FROM ({sql})"  # noqa: S608  # own names, bound texts
        return sql

    def _value(self, node: Expression) -> str:
        if isinstance(node, ColumnRef):
            return self._columns[node.name]
        return self._called[node] if isinstance(node, Call) else self._constant(node)

    def _constant(self, node: Constant) -> str:
        match node.value:
            case None:
                return "NULL"
            case bool():
                return str(node.value).upper()
            case date():
                return f"DATE '{node.value.isoformat()}'"
            case str():
                name = f"text{len(self.bound)}"
                self.bound[name] = node.value
                return f"${name}::VARCHAR"
            case _:
                return f"CAST('{node.value!r}' AS DOUBLE)"

    def _call(self, node: Call) -> str:
        """Return SQL of one call; what a row can't have is NULL, and nothing raises."""
        word, given = node.operator, [self._value(one) for one in node.arguments]
        if word in _BETWEEN:
            return f" {word} ".join(given)
        if word in {"+", "-", "*", "/", "%"}:
            return _computed(node, *given)
        if word == "case":
            pairs = zip(given[:-1:2], given[1:-1:2], strict=True)
            whens = " ".join(f"WHEN {when} THEN {value}" for when, value in pairs)
            return f"CAST(CASE {whens} ELSE {given[-1]} END AS {TYPES[node.type]})"
        if word in {"coalesce", "least", "greatest"}:
            return f"CAST({word}({', '.join(given)}) AS {TYPES[node.type]})"
        return _FORMS[word].format(*given, unit=node.unit)


def _computed(node: Call, first: str, second: str) -> str:
    """SQL of a result of arithmetic: NULL if it isn't finite, or a whole number beyond 2^53.

    A result that float64 rounds to 2^53 is 2^53 if it is even, and else 2^53 + 1.
    """
    result = f"{first} {node.operator} {second}"
    there = f"isfinite({result})"
    if node.type == "int":
        even = f"{first} % 2 * ({second} % 2) = 0"
        if node.operator in {"+", "-"}:
            even = f"abs({first} % 2) = abs({second} % 2)"
        inside = f"abs({result}) < {LARGEST_INT}"
        there = f"({inside} OR abs({result}) = {LARGEST_INT} AND {even})"
    if node.operator in {"/", "%"}:
        there = f"{second} <> 0 AND {there}"
    return f"CASE WHEN {there} THEN {result} END"


def given(kind: Type, place: int) -> str:
    """SQL of a column in expressions, from its casts (see `casts.casts_by_use`).

    Whole numbers are NULL beyond 2^53, which is decided before float64 rounds them.
    """
    if kind == "int":
        inside = f"k{place} BETWEEN -{LARGEST_INT} AND {LARGEST_INT}"
        return f"CASE WHEN {inside} THEN CAST(k{place} AS DOUBLE) END"
    if kind == "float":
        return f"v{place}"
    return f"d{place}" if kind == "date" else f"k{place}"


def uses(kind: Type, value: str) -> dict[Use, str]:
    """SQL for each use of a computed column, like `casts.casts_by_use` for a stored column."""
    if kind == "int":
        whole = f"CAST({value} AS BIGINT)"
        return {"u": whole, "k": whole, "v": value}
    if kind == "float":
        return {"v": value}
    if kind == "bool":
        return {"k": value, "v": f"CAST({value} AS DOUBLE)"}
    text = f"CAST({value} AS VARCHAR)"
    return {"u": text, "k": text}
