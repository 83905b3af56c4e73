"""Row expressions as columns of Spark, built from functions and never from SQL text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import reduce
from operator import add, and_, eq, ge, gt, le, lt, mul, ne, or_, sub, truediv
from typing import TYPE_CHECKING, Any, final

from leastnoise.tables.expressions.computed import INPUT_CASTS
from leastnoise.tables.expressions.lower import lower
from leastnoise.tables.expressions.over_unit import OVER_UNIT, spark_window
from leastnoise.tables.expressions.texts import pattern_of
from leastnoise.tables.expressions.tree import (
    LARGEST_FLOAT,
    LARGEST_INT,
    LOWER,
    ROUNDED_BELOW,
    UPPER,
    Call,
    ColumnRef,
    Expression,
    UnitColumn,
    levels_of,
)
from leastnoise.tables.spec.values import MAX_TEXT

if TYPE_CHECKING:
    from leastnoise.tables.expressions.computed import Use
    from leastnoise.tables.expressions.tree import Type

TYPES: Mapping[Type, str] = {
    "int": "double",
    "float": "double",
    "text": "string",
    "bool": "boolean",
    "date": "date",
    "timestamp": "double",
    "instant": "double",
    "null": "double",
}
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": eq,
    "<>": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}
_FLOAT_OPERATORS = {"f+": add, "f-": sub, "f*": mul, "f/": truediv}
_MOST_INT = float(LARGEST_INT)
_DATE = r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\z"


@final
class SparkColumns:
    """Several expressions over one frame; `columns` has the names of the frame's columns.

    `functions` is Spark's module of functions, classic or Connect. `unit` and `ties` are columns as
    in `duckdb_sql.SqlColumns`. `wrap` adds the expressions to a frame, level by level; `values` are
    the expressions' columns in the result.
    """

    def __init__(
        self,
        functions: Any,
        expressions: Iterable[Expression],
        columns: Mapping[ColumnRef, str],
        *,
        unit: str = "",
        ties: Sequence[Any] = (),
    ) -> None:
        self._f = functions
        self._columns, self._unit, self._ties = columns, unit, ties
        self._forms = _forms(functions)
        self._builders: Mapping[str, Callable[..., Any]] = {
            **dict.fromkeys(("+", "-", "*", "/", "%"), self._arithmetic),
            **dict.fromkeys(("coalesce", "least", "greatest"), self._function),
            "case": self._case,
            "step": self._step,
            "||": self._join,
            "like": self._like,
            "matches": self._matches,
            "date_trunc": lambda node, value: self._f.trunc(value, node.unit),
        }
        self._names: dict[Expression, str] = {}
        self._levels: list[dict[str, Any]] = []
        listed = [lower(expression) for expression in expressions]
        for level in levels_of(listed):
            pairs = [(f"e{len(self._names) + number}", node) for number, node in enumerate(level)]
            self._levels.append(
                {
                    name: self._over_unit(node) if node.operator in OVER_UNIT else self._call(node)
                    for name, node in pairs
                }
            )
            self._names |= {node: name for name, node in pairs}
        self.values = [self._value(expression) for expression in listed]

    def wrap(self, frame: Any) -> Any:
        """Add the expressions to the columns of the frame."""
        for level in self._levels:
            frame = frame.withColumns(level)
        return frame

    def _value(self, node: Expression) -> Any:
        f = self._f
        if isinstance(node, ColumnRef):
            return f.col(self._columns[node])
        if isinstance(node, UnitColumn):
            return f.col(self._unit)
        if isinstance(node, Call):
            return f.col(self._names[node]) if node in self._names else self._call(node)
        value = node.value
        if isinstance(value, date):  # Spark can't convert a Python date of the year 1
            return f.lit(value.isoformat()).cast("date")
        return f.lit(float(value) if node.type in {"int", "float"} and value is not None else value)

    def _over_unit(self, node: Call) -> Any:
        unit, *values = (self._value(argument) for argument in node.arguments)
        by = node.arguments[0]
        unit = unit if isinstance(by, UnitColumn) else to_casts(by.type, unit)["u"]
        return spark_window(
            self._f, node, values, unit=unit, ties=self._ties, kind=TYPES[node.type]
        )

    def _call(self, node: Call) -> Any:
        """The column of one call, which never raises: a value that can't be computed is NULL."""
        values = [self._value(argument) for argument in node.arguments]
        if (build := self._builders.get(node.operator)) is not None:
            return build(node, *values)
        return self._forms[node.operator](*values)

    def _function(self, node: Call, *values: Any) -> Any:
        return getattr(self._f, node.operator)(*values).cast(TYPES[node.type])

    def _case(self, node: Call, *values: Any) -> Any:
        cases = self._f
        for when, value in zip(values[:-1:2], values[1:-1:2], strict=True):
            cases = cases.when(when, value)
        return cases.otherwise(values[-1]).cast(TYPES[node.type])

    def _step(self, _: Call, value: Any, *steps: Any) -> Any:
        """A step function by a binary search, like `duckdb_sql._step`."""
        if len(steps) == 1:
            return steps[0]
        middle = len(steps) // 4 * 2 + 1
        below = self._step(_, value, *steps[:middle])
        above = self._step(_, value, *steps[middle + 1 :])
        return self._f.when(value < steps[middle], below).otherwise(above)

    def _join(self, _: Call, *values: Any) -> Any:
        fits = reduce(add, map(self._f.octet_length, values)) <= MAX_TEXT
        return self._f.concat(self._f.when(fits, values[0]), *values[1:])

    def _like(self, node: Call, value: Any) -> Any:
        pattern = rf"\A(?:{pattern_of(node.unit, atomic=True)})\z"
        return self._f.rlike(value, self._f.lit(pattern))

    def _matches(self, node: Call, value: Any) -> Any:
        return self._f.rlike(value, self._f.lit(rf"\A(?:{node.unit})\z"))

    def _arithmetic(self, node: Call, first: Any, second: Any) -> Any:
        """The column of an arithmetic result, with the NULLs of `duckdb_sql._arithmetic`."""
        f = self._f
        result = {
            "+": lambda: first + second,
            "-": lambda: first - second,
            "*": lambda: first * second,
            # in ANSI mode, Spark raises an error for division by 0
            "/": lambda: f.when(second != 0.0, first / second),
            "%": lambda: f.when(second != 0.0, first % second),
        }[node.operator]()
        if node.type != "int":
            return f.when(f.abs(result) <= LARGEST_FLOAT, result)
        even = (first % 2.0) * (second % 2.0) == 0.0
        if node.operator in {"+", "-"}:
            even = f.abs(first % 2.0) == f.abs(second % 2.0)
        inside = f.abs(result) < _MOST_INT
        return f.when(inside | ((f.abs(result) == _MOST_INT) & even), result)


def _forms(f: Any) -> Mapping[str, Callable[..., Any]]:
    """Functions that give Spark's column for an operator, by the operator's name.

    Operators that `SparkColumns` has methods for are left out. Spark's floor of a double is a
    64-bit integer, so it is cast back to a double.
    """

    def floor(x: Any) -> Any:
        return f.floor(x).cast("double")

    def round_to(x: Any, power: Any) -> Any:
        small = f.abs(x * power) < ROUNDED_BELOW
        return f.when(small, floor(x * power + 0.5) / power).otherwise(x)

    def nearest(x: Any) -> Any:
        return f.when(f.abs(x) < ROUNDED_BELOW, floor(x + 0.5)).when(f.abs(x) <= _MOST_INT, x)

    def day(text: Any) -> Any:
        readable = f.rlike(text, f.lit(_DATE)) & (text >= "0001-01-01")
        return f.when(readable, text.try_cast("date"))

    def replace(text: Any, old: Any, new: Any) -> Any:
        size = f.octet_length
        removed = size(text) - size(f.replace(text, old, f.lit("")))
        fits = removed * (size(new) - size(old)) <= (MAX_TEXT - size(text)) * size(old)
        return f.replace(f.when(fits, text), old, new)

    return {
        **_OPERATORS,
        "and": lambda *values: reduce(and_, values),
        "or": lambda *values: reduce(or_, values),
        **_FLOAT_OPERATORS,
        "let": lambda x: x,
        "number of": lambda x: x.try_cast("double"),
        "day of": lambda x: f.date_add(
            f.lit("1970-01-01").cast("date"), f.floor(x / 86400.0).cast("int")
        ),
        "not": lambda x: ~x,
        "is null": lambda x: x.isNull(),
        "abs": f.abs,
        "floor": lambda x: f.when(f.abs(x) <= _MOST_INT, floor(x)),
        "ceil": lambda x: f.when(f.abs(x) <= _MOST_INT, f.ceil(x).cast("double")),
        "nearest": nearest,
        "round": round_to,
        "lower": lambda x: f.translate(x, UPPER, LOWER),
        "upper": lambda x: f.translate(x, LOWER, UPPER),
        "trim": f.trim,
        "length": lambda x: f.char_length(x).cast("double"),
        "right": lambda x, count: f.right(x, count.cast("int")),
        "replace": replace,
        "text of int": lambda x: x.cast("bigint").cast("string"),
        "text of date": lambda x: x.cast("string"),
        "sqrt": lambda x: f.sqrt(f.when(x >= 0.0, x)),
        "days": lambda end, start: f.datediff(end, start).cast("double"),
        "substr": lambda x, first, length: f.substring(x, first.cast("int"), length.cast("int")),
        "weekday": lambda x: (f.weekday(x) + 1).cast("double"),
        "year": lambda x: f.year(x).cast("double"),
        # the Thursday of its ISO week, which decides on the year
        "isoyear": lambda x: f.year(f.date_add(x, 3 - f.weekday(x))).cast("double"),
        "quarter": lambda x: f.quarter(x).cast("double"),
        "month": lambda x: f.month(x).cast("double"),
        "week": lambda x: f.weekofyear(x).cast("double"),
        "day": lambda x: f.dayofmonth(x).cast("double"),
        "date": day,
    }


def from_casts(f: Any, kind: Type, number: int) -> Any:
    """Column `number` as expressions use it, from its casts; see `duckdb_sql.from_casts`."""
    if kind == "int":
        whole = f.col(f"k{number}")
        return f.when(whole.between(-LARGEST_INT, LARGEST_INT), whole.cast("double"))
    return f.col(f"{INPUT_CASTS.get(kind, 'k')}{number}")


def to_casts(kind: Type, value: Any) -> dict[Use, Any]:
    """The columns for each use of a derived column; see `duckdb_sql.to_casts`."""
    if kind == "int":
        whole = value.cast("bigint")
        return {"u": whole, "k": whole, "v": value}
    if kind == "float":
        return {"v": value}
    if kind == "bool":
        return {"k": value, "v": value.cast("double")}
    text = value.cast("string")
    return {"u": text, "k": text}
