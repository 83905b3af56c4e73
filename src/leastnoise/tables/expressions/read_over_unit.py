"""Parse functions over the rows of one unit: `first(x, by = day) over person`.

SQL's own spelling, `first_value(x) over (partition by person order by day)`, means the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import Expr as Parsed
from sqlglot import exp

from leastnoise import _words
from leastnoise.tables.expressions.over_unit import (
    COUNT,
    COUNT_DISTINCT,
    MAX,
    MIN,
    NUMBER,
    NUMBER_BACK,
    SUM,
)
from leastnoise.tables.expressions.tree import (
    NUMBERS,
    Call,
    Constant,
    Expression,
    UnitColumn,
    as_number,
    as_type,
    type_of,
)
from leastnoise.tables.expressions.words import check_arguments, explain_window

_WORDS: dict[type[Parsed], str] = {
    exp.First: "first",
    exp.FirstValue: "first",
    exp.Last: "last",
    exp.LastValue: "last",
    exp.RowNumber: "row_number",
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Min: "min",
    exp.Max: "max",
    exp.Any: "any",
}
_NULL = Constant(None, "null")
_ORDERED = {
    "first": "first(x, by = day)",
    "last": "last(x, by = day)",
    "row_number": "row_number(by = day)",
}
"""The functions that need an order, with an example each."""
_ALL_ROWS = ["UNBOUNDED", "preceding", "UNBOUNDED", "following"]
_SIDES = ("start", "start_side", "end", "end_side")
Read = Callable[[object], Expression]


def read_window(node: Parsed, read: Read) -> Expression:
    """Convert a function over the rows of a unit to an expression.

    `read` converts its parts. Raises ValueError if the function or its arguments aren't allowed.
    """
    function = node.this.this if isinstance(node.this, exp.IgnoreNulls) else node.this
    unit = _unit(node)
    word = _WORDS.get(type(function))
    if word is None:
        raise ValueError(explain_window(function, tuple(dict.fromkeys(_WORDS.values()))))
    value, by = _arguments(function, word, read)
    order, backwards = _order(node, word, read)
    if by and order:
        raise ValueError(f'{word} has both "by" and "order by". Leave out one of them.')
    order = by or order
    if order and word not in _ORDERED:
        raise ValueError(
            f"{word} takes no order: all rows of a person are used, not only the rows up to the "
            "current row. Leave the order out."
        )
    if word in _ORDERED and not order:
        raise ValueError(
            f"{word} needs an order, because the rows of a person have no fixed order. Write "
            f"{_ORDERED[word]} over {unit.name}."
        )
    if word == "row_number":
        keys = tuple(_without_negative_zero(key) for key in order)
        return Call(NUMBER_BACK if backwards else NUMBER, (unit, *keys), "int")
    if word in {"first", "last"}:
        return _value_at_end(unit, value, order, last=(word == "last") != backwards)
    return _aggregate(word, function, unit, value)


def _unit(node: Parsed) -> UnitColumn:
    """The unit of a window; raises ValueError unless it is a single column."""
    check_arguments(node, "this", "partition_by", "order", "spec", "alias", "over")
    given = [*(node.args.get("partition_by") or []), *filter(None, [node.args.get("alias")])]
    if not given:
        raise ValueError(explain_window(node.this, ()))
    (column, *more) = given
    if more or not isinstance(column, exp.Column | exp.Identifier):
        raise ValueError(
            'Expected one column after "over": the unit in [privacy], such as "count() over '
            'person".'
        )
    if isinstance(column, exp.Column):
        check_arguments(column, "this")
    return UnitColumn(column.name)


def _arguments(
    function: Parsed, word: str, read: Read
) -> tuple[Expression | None, tuple[Expression, ...]]:
    """Split a function's arguments: its only value (or None), and the columns after `by =`.

    Raises ValueError if the function takes another number of values.
    """
    check_arguments(function, "this", "expression", "expressions", "count", "big_int")
    listed = [function.this, *(function.args.get("expressions") or [])]
    listed += [function.args.get("expression"), function.args.get("count")]
    values = [part for part in listed if isinstance(part, Parsed)]
    order: tuple[Expression, ...] = ()
    if values and (keys := _keys(values[-1])):
        order = tuple(_comparable(read(key)) for key in keys)
        values.pop()
    if word == "count" and values and isinstance(values[0], exp.Star | exp.Distinct):
        values = list(values[0].expressions)
    if len(values) > 1 or (word == "row_number" and values):
        wanted = _ORDERED.get(word, f"{word}(x)")
        count = _words.count_noun(len(values), "argument")
        raise ValueError(f"Expected {wanted} over a unit, but {word} has {count}.")
    if not values and word not in {"count", "row_number"}:
        raise ValueError(f"{word} over a unit needs a value: write {word}(x).")
    return (_comparable(read(values[0])) if values else None), order


def _keys(argument: Parsed) -> Sequence[Parsed]:
    """The columns after `by =`; empty if the argument isn't of this form."""
    if not isinstance(argument, exp.EQ) or not isinstance(argument.this, exp.Column):
        return ()
    if argument.this.name.lower() != "by":
        return ()
    key = argument.expression
    return key.expressions if isinstance(key, exp.Tuple) else (key,)


def _order(node: Parsed, word: str, read: Read) -> tuple[tuple[Expression, ...], bool]:
    """The columns after `order by`, and True if they are in descending order.

    Raises ValueError for an order or frame that isn't supported.
    """
    spec, order = node.args.get("spec"), node.args.get("order")
    whole = spec is not None and [spec.args.get(side) for side in _SIDES] == _ALL_ROWS
    if spec is not None and not whole:
        raise ValueError(f"{word} uses all rows of a person. Leave out the range of rows.")
    if order is None:
        return (), False
    keys = order.expressions
    backwards = {bool(key.args.get("desc")) for key in keys}
    if len(backwards) > 1 or any(key.args.get("nulls_first") for key in keys):
        raise ValueError(
            'Expected "order by" with one direction for all columns, and without "nulls first".'
        )
    if word == "last" and not whole:
        raise ValueError(
            'In SQL, "last" with "order by" looks no further than the current row. Write "last(x, '
            'by = day) over person", or "first" with "order by day desc".'
        )
    return tuple(_comparable(read(key.this)) for key in keys), True in backwards


def _comparable(value: Expression) -> Expression:
    """Return the value, or raise ValueError for a timestamp, with or without a time zone."""
    _ = type_of([value])
    return value


def _value_at_end(
    unit: UnitColumn, value: Expression | None, order: Sequence[Expression], *, last: bool
) -> Expression:
    """The value in the first row of a unit in the given `order`; with `last`, in the last row.

    If several rows are first, the result is the smallest of their values (for the last, the
    largest). So it doesn't depend on how such ties are broken. Rows with a missing value in a
    column of `order` are ignored.
    """
    if value is None:
        raise TypeError("the arguments were checked")
    word = MAX if last else MIN
    conditions = [Call("not", (Call("is null", (key,), "bool"),), "bool") for key in order[1:]]
    for key in order:
        extreme = Call(word, (unit, _where(conditions, key)), key.type)
        conditions.append(Call("=", (key, extreme), "bool"))
    return Call(word, (unit, _where(conditions, value)), value.type)


def _where(conditions: Sequence[Expression], value: Expression) -> Expression:
    """The value in rows for which all conditions hold, else NULL."""
    if not conditions:
        return value
    holds = conditions[0] if len(conditions) == 1 else Call("and", tuple(conditions), "bool")
    return Call("case", (holds, value, _NULL), value.type)


def _aggregate(
    word: str, function: Parsed, unit: UnitColumn, value: Expression | None
) -> Expression:
    """The value over the rows of a unit that `word` names, such as their count or a sum."""
    if value is None:
        return Call(COUNT, (unit,), "int")
    if word == "count":
        if isinstance(function.this, exp.Distinct):
            return Call(COUNT_DISTINCT, (unit, _without_negative_zero(value)), "int")
        return Call(COUNT, (unit, value), "int")
    if word == "sum":
        return _sum(unit, as_number(value, "sum"))
    if word == "any":
        return Call(MAX, (unit, as_type(value, ("bool",), "any")), "bool")
    return Call(MIN if word == "min" else MAX, (unit, value), value.type)


def _sum(unit: UnitColumn, value: Expression) -> Expression:
    """The sum of whole numbers; NULL beyond 2^53, or without any value.

    A sum of fractions is refused: rounding would depend on the order of rows.
    """
    if value.type == "float":
        raise ValueError(
            "sum over a unit adds only whole numbers, because a sum of fractions would depend on "
            "the order of rows. Write sum(round(x * 100)) / 100, for example."
        )
    return Call(SUM, (unit, value), "int")


def _without_negative_zero(value: Expression) -> Expression:
    """The value with 0 for -0, which engines may sort before 0 or count separately."""
    if value.type not in NUMBERS:
        return value
    zero = Constant(0, value.type)
    return Call("case", (Call("=", (value, zero), "bool"), zero, value), value.type)
