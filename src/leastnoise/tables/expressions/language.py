"""From the text of an expression to a checked tree; `words` refuses what looks at other rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import sqlglot
from sqlglot import Expr as Parsed
from sqlglot import errors, exp

from leastnoise import _validate, _words
from leastnoise.tables.expressions.tree import (
    LARGEST_INT,
    Call,
    ColumnRef,
    Constant,
    Expression,
    Type,
    alike,
    as_number,
    as_stored,
    as_type,
    read_day,
    type_of,
    walk,
)
from leastnoise.tables.expressions.words import (
    ARITHMETIC,
    COMPARISONS,
    EXTREMES,
    OF_A_DATE,
    OF_A_NUMBER,
    OF_A_TEXT,
    OTHERS_OF_A_DATE,
    check_arguments,
    why_refused,
    why_unknown,
)

_DIALECT = "duckdb"
LONGEST_TEXT = 4096
MOST_NODES = 500
MOST_LEVELS = 60
UNITS = ("year", "quarter", "month", "week")


def parse(
    text: str,
    types: Mapping[str, Type] | None = None,
    unreadable: Mapping[str, str] | None = None,
) -> Expression:
    """Return the checked tree of an expression; `types` has the type of each column.

    Without `types` those of columns are left open, and only what doesn't depend on them is checked.
    Of columns that have none, `unreadable` says why.
    Raises ValueError, saying what isn't allowed and what to write instead.

    >>> parse("age >= 18 and emergency", {"age": "int", "emergency": "bool"}).type
    'bool'
    """
    try:
        return check_size(_Reader(types, unreadable or {}).read(parse_sql(text)))
    except RecursionError:
        raise ValueError(_TOO_LARGE) from None


def quote(node: Parsed) -> str:
    """The text of a node of the parser's, for messages too, whatever engines make of it."""
    return node.sql(dialect=_DIALECT, comments=False, unsupported_level=errors.ErrorLevel.IGNORE)


def write(node: Parsed) -> str:
    """The text of a parsed part of SQL, which reads back as the same tree.

    Raises ValueError if it isn't an expression on rows.
    """
    try:
        text = quote(node)
        same = parse(text) == _Reader(None, {}).read(node)
    except RecursionError:
        raise ValueError(_TOO_LARGE) from None
    if not same:
        raise ValueError(f"{text[:40]!r} can't be written as an expression: write it in filter.")
    return text


def check_size(expression: Expression) -> Expression:
    """Return an expression that engines can take; raises ValueError for one that is too large."""
    depth: dict[Expression, int] = {}
    for node in walk(expression):
        depth[node] = 1 + max((depth[one] for one in node.arguments), default=0)
    if len(depth) > MOST_NODES or depth[expression] > MOST_LEVELS:
        raise ValueError(_TOO_LARGE)
    return expression


_TOO_LARGE = "The expression is too large: make columns of its parts in [derive]."


def parse_sql(text: str) -> Parsed:
    """Return the parser's tree of one expression or query; raises ValueError."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"Expected an expression of at most {LONGEST_TEXT:,} letters.")
    try:
        found = sqlglot.parse(text, dialect=_DIALECT)
    except RecursionError:
        raise ValueError(_TOO_LARGE) from None
    except errors.ParseError as error:
        place = error.errors[0] if error.errors else {}
        near = str(place.get("highlight") or text)[:40]
        raise ValueError(
            f"The expression can't be read at {near!r}: write one as in SQL, such as "
            "\"age >= 18 and region <> 'north'\"."
        ) from None
    except errors.SqlglotError:
        raise ValueError("The expression can't be read: a quote may not be closed.") from None
    if len(found) != 1 or not isinstance(found[0], Parsed):
        raise ValueError('Expected one expression, such as "age >= 18".')
    return found[0]


class _Reader:
    """Reads the parser's tree, and checks the types on its way."""

    def __init__(self, types: Mapping[str, Type] | None, unreadable: Mapping[str, str]) -> None:
        self._types, self._unreadable = types, unreadable
        self._readers: dict[type[Parsed], Callable[[Parsed], Expression]] = {
            exp.Column: self._column,
            exp.Literal: self._literal,
            exp.Boolean: lambda node: Constant(bool(node.this), "bool"),
            exp.Null: lambda _: Constant(None, "null"),
            exp.Paren: lambda node: self.read(node.this),
            exp.Neg: self._negated,
            exp.Not: lambda node: self._logical("not", [self._of(node)]),
            exp.And: lambda node: self._logical("and", self._both(node)),
            exp.Or: lambda node: self._logical("or", self._both(node)),
            exp.Is: self._is,
            exp.In: self._in,
            exp.Between: self._between,
            exp.Case: self._case,
            exp.If: self._if,
            exp.Coalesce: self._coalesce,
            exp.Round: self._round,
            exp.Substring: self._substring,
            exp.Cast: self._cast,
            exp.Date: lambda node: self._date(self._of(node)),
            exp.TsOrDsToDate: lambda node: self._date(self._of(node)),
            exp.DateTrunc: self._truncated,
            exp.TimestampTrunc: self._truncated,
            exp.Extract: self._extracted,
            exp.Anonymous: self._named,
            **dict.fromkeys(COMPARISONS, self._compared),
            **dict.fromkeys(ARITHMETIC, self._computed),
            **dict.fromkeys(OF_A_DATE, self._of_a_date),
            **dict.fromkeys(OF_A_TEXT, self._of_a_text),
            **dict.fromkeys(OF_A_NUMBER, self._of_a_number),
            **dict.fromkeys(EXTREMES, self._extreme),
        }

    def read(self, node: object) -> Expression:
        """Return the checked tree of a node; raises ValueError where it isn't allowed."""
        reader = self._readers.get(type(node)) if isinstance(node, Parsed) else None
        if reader is None or not isinstance(node, Parsed):
            raise ValueError(why_refused(node))
        return reader(node)

    def _of(self, node: Parsed) -> Expression:
        """Return the one argument of a node that takes one."""
        check_arguments(node, "this")
        return self.read(node.this)

    def _both(self, node: Parsed) -> list[Expression]:
        check_arguments(node, "this", "expression")
        return [self.read(node.this), self.read(node.args["expression"])]

    def _column(self, node: Parsed) -> Expression:
        check_arguments(node, "this")
        name = node.name
        if self._types is None:
            return ColumnRef(name, "null")
        if name not in self._types:
            hint = _validate.nearest(name, tuple(self._types))
            why = f"There is no column {name!r}.{' ' if hint else ''}{hint}"
            raise ValueError(self._unreadable.get(name, why))
        return ColumnRef(name, self._types[name])

    def _literal(self, node: Parsed) -> Expression:
        text = str(node.this)
        if node.args.get("is_string"):
            return Constant(text, "text")
        if text.isascii() and text.isdigit():
            if len(text) > 16 or int(text) > LARGEST_INT:
                raise ValueError(f"{text[:40]} is more than 2^53: declare such a column as a text.")
            return Constant(int(text), "int")
        number = float(text)
        if not math.isfinite(number):
            raise ValueError(f"{text[:40]} is too large for a number.")
        return Constant(number, "float")

    def _negated(self, node: Parsed) -> Expression:
        found = as_number(self._of(node), "-")
        if isinstance(found, Constant) and isinstance(found.value, int | float):
            return Constant(-found.value, found.type)
        return Call("-", (Constant(0, "int"), found), found.type)

    def _logical(self, word: str, given: Sequence[Expression]) -> Expression:
        arguments: list[Expression] = []
        for one in given:
            checked = as_type(one, ("bool",), word, hint=' Write a comparison, such as "x = 1".')
            same = isinstance(checked, Call) and checked.operator == word and word != "not"
            arguments += checked.arguments if same else (checked,)
        return Call(word, tuple(arguments), "bool")

    def _compared(self, node: Parsed) -> Expression:
        first, second = alike(self._both(node), COMPARISONS[type(node)])
        return Call(COMPARISONS[type(node)], (first, second), "bool")

    def _computed(self, node: Parsed) -> Expression:
        word = ARITHMETIC[type(node)]
        first, second = (as_number(one, word) for one in self._both(node))
        whole = word != "/" and "float" not in {first.type, second.type}
        return Call(word, (first, second), "int" if whole else "float")

    def _is(self, node: Parsed) -> Expression:
        check_arguments(node, "this", "expression")
        found = self.read(node.this)
        if isinstance(node.args["expression"], exp.Null):
            return Call("is null", (as_stored(found),), "bool")
        wanted = self.read(node.args["expression"])
        if wanted.type != "bool":
            raise ValueError("Expected is null or is not null.")
        same = Call("=", (as_type(found, ("bool",), "is"), wanted), "bool")
        return Call("coalesce", (same, Constant(False, "bool")), "bool")  # noqa: FBT003  # a value

    def _in(self, node: Parsed) -> Expression:
        check_arguments(node, "this", "expressions")
        listed = node.args.get("expressions") or []
        if not listed:
            raise ValueError("Expected a list after in, such as \"region in ('north', 'south')\".")
        found = self.read(node.this)
        pairs = (alike([found, self.read(one)], "in") for one in listed)
        equal = [Call("=", (first, second), "bool") for first, second in pairs]
        return equal[0] if len(equal) == 1 else Call("or", tuple(equal), "bool")

    def _between(self, node: Parsed) -> Expression:
        check_arguments(node, "this", "low", "high")
        found = self.read(node.this)
        low = alike([found, self.read(node.args["low"])], "between")
        high = alike([found, self.read(node.args["high"])], "between")
        return Call("and", (Call(">=", low, "bool"), Call("<=", high, "bool")), "bool")

    def _case(self, node: Parsed) -> Expression:
        check_arguments(node, "this", "ifs", "default")
        subject = node.args.get("this")
        pairs: list[tuple[Expression, Expression]] = []
        for one in node.args["ifs"]:
            check_arguments(one, "this", "true")
            when = self.read(one.this)
            if subject is not None:
                when = Call("=", alike([self.read(subject), when], "case"), "bool")
            pairs.append((as_type(when, ("bool",), "case"), self.read(one.args["true"])))
        default = node.args.get("default")
        return self._chosen(pairs, None if default is None else self.read(default))

    def _if(self, node: Parsed) -> Expression:
        check_arguments(node, "this", "true", "false")
        when = as_type(self.read(node.this), ("bool",), "if")
        default = node.args.get("false")
        other = None if default is None else self.read(default)
        return self._chosen([(when, self.read(node.args["true"]))], other)

    def _chosen(
        self, pairs: Sequence[tuple[Expression, Expression]], default: Expression | None
    ) -> Expression:
        other = default or Constant(None, "null")
        values = alike([*(value for _, value in pairs), other], "case")
        arguments: list[Expression] = []
        for (when, _), value in zip(pairs, values, strict=False):
            arguments += (when, value)
        return Call("case", (*arguments, values[-1]), type_of(values))

    def _coalesce(self, node: Parsed) -> Expression:
        values = self._listed(node, "coalesce")
        return Call("coalesce", values, type_of(values))

    def _extreme(self, node: Parsed) -> Expression:
        word = EXTREMES[type(node)]
        values = tuple(as_number(one, word) for one in self._listed(node, word))
        return values[0] if len(values) == 1 else Call(word, values, type_of(values))

    def _listed(self, node: Parsed, word: str) -> tuple[Expression, ...]:
        check_arguments(node, "this", "expressions")
        return alike([self.read(one) for one in (node.this, *node.args["expressions"])], word)

    def _of_a_number(self, node: Parsed) -> Expression:
        word = OF_A_NUMBER[type(node)]
        found = as_number(self._of(node), word)
        return Call(word, (found,), found.type if word == "abs" else "int")

    def _round(self, node: Parsed) -> Expression:
        check_arguments(node, "this", "decimals")
        found = as_number(self.read(node.this), "round")
        decimals = node.args.get("decimals")
        digits = Constant(0, "int") if decimals is None else self.read(decimals)
        value = digits.value if isinstance(digits, Constant) else None
        if not isinstance(value, int) or not 0 <= value < 10:
            raise ValueError("Expected round(x) or round(x, digits), digits from 0 to 9.")
        if value == 0:
            return Call("nearest", (found,), "int")
        return Call("round", (found, Constant(10.0**value, "float")), "float")

    def _of_a_text(self, node: Parsed) -> Expression:
        word = OF_A_TEXT[type(node)]
        return Call(word, (as_type(self._of(node), ("text",), word),), "text")

    def _substring(self, node: Parsed) -> Expression:
        check_arguments(node, "this", "start", "length")
        found = as_type(self.read(node.this), ("text",), "substr")
        places = [self.read(node.args.get(name)) for name in ("start", "length")]
        for place, least in zip(places, (1, 0), strict=True):
            value = place.value if isinstance(place, Constant) else None
            if not isinstance(value, int) or not least <= value <= LONGEST_TEXT:
                raise ValueError("Expected substr(text, first, length), first from 1 on.")
        return Call("substr", (found, *places), "text")

    def _cast(self, node: Parsed) -> Expression:
        kind = node.args.get("to")
        if not isinstance(kind, exp.DataType) or kind.this != exp.DataType.Type.DATE:
            raise ValueError("Only dates are cast: declare other types in [data] types.")
        return self._date(self.read(node.this))

    def _date(self, found: Expression) -> Expression:
        if isinstance(found, Constant) and isinstance(found.value, str):
            return Constant(read_day(found.value), "date")
        checked = as_type(found, ("text", "date"), "date")
        return checked if checked.type == "date" else Call("date", (checked,), "date")

    def _of_a_date(self, node: Parsed) -> Expression:
        return self._part(OF_A_DATE[type(node)], self._of(node))

    def _extracted(self, node: Parsed) -> Expression:
        check_arguments(node, "this", "expression")
        return self._part(str(node.name).lower(), self.read(node.args["expression"]))

    def _part(self, word: str, found: Expression) -> Expression:
        if word not in {*OF_A_DATE.values(), *OTHERS_OF_A_DATE}:
            raise ValueError(why_unknown(word))
        return Call(word, (as_type(found, ("date",), word, hint=_DATES),), "int")

    def _truncated(self, node: Parsed) -> Expression:
        check_arguments(node, "this", "unit")
        unit = str(node.args["unit"].name).lower()
        if unit not in UNITS:
            raise ValueError(
                f"Expected date_trunc of {_words.list_names(UNITS)}, got {unit[:40]!r}."
            )
        found = as_type(self.read(node.this), ("date",), "date_trunc", hint=_DATES)
        return Call("date_trunc", (found,), "date", unit=unit)

    def _named(self, node: Parsed) -> Expression:
        word, given = str(node.this).lower(), node.expressions
        if word in OTHERS_OF_A_DATE and len(given) == 1:
            return self._part(word, self.read(given[0]))
        raise ValueError(why_unknown(word))


_DATES = " Texts become dates by date(x)."
