"""Parse the text of an expression into a checked tree; `words` lists the functions allowed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import sqlglot
from sqlglot import Expr as Parsed
from sqlglot import errors, exp

from leastnoise import _validate
from leastnoise.tables.expressions import dates, logarithms, texts, zones
from leastnoise.tables.expressions.lower import lower
from leastnoise.tables.expressions.read_over_unit import read_window
from leastnoise.tables.expressions.tree import (
    LARGEST_INT,
    Call,
    ColumnRef,
    Constant,
    Expression,
    Type,
    as_number,
    as_stored,
    as_type,
    levels_of,
    type_of,
    unify,
    walk,
)
from leastnoise.tables.expressions.words import (
    ARITHMETIC,
    COMPARISONS,
    EXTREMES,
    NUMBER_FUNCTIONS,
    check_arguments,
    explain_refusal,
    explain_unknown,
)

_DIALECT = "duckdb"
LONGEST_TEXT = 4096
MOST_NODES = 500
MOST_LEVELS = 60


def parse(
    text: str,
    types: Mapping[str, Type] | None = None,
    unreadable: Mapping[str, str] | None = None,
) -> Expression:
    """Parse an expression over columns of these `types`.

    Without `types`, checks that depend on the type of a column are left out. `unreadable` gives the
    reason for each column that has no type. The ValueError for a wrong expression names the
    offending part and what to write instead.

    >>> parse("age >= 18 and emergency", {"age": "int", "emergency": "bool"}).type
    'bool'
    """
    try:
        tree = parse_sql(text)
        return check_size(_Reader(types, unreadable or {}).read(tree))
    except RecursionError:
        raise ValueError(_TOO_LARGE) from None


def quote(node: Parsed) -> str:
    """The text of a node of sqlglot's tree, which messages quote."""
    return node.sql(dialect=_DIALECT, comments=False, unsupported_level=errors.ErrorLevel.IGNORE)


def write(node: Parsed) -> str:
    """The text of a part of parsed SQL, checked to parse into the same tree.

    Raises ValueError if the part isn't an expression on rows, or if the trees differ.
    """
    try:
        text = quote(node)
        same = parse(text) == _Reader(None, {}).read(node)
    except RecursionError:
        raise ValueError(_TOO_LARGE) from None
    if not same:
        raise ValueError(
            f"The condition {text[:40]!r} can't be read in sql. Write the condition in filter."
        )
    return text


def check_size(expression: Expression) -> Expression:
    """Return the expression, or raise ValueError if it is too large for engines."""
    lowered = lower(expression)
    if sum(1 for _ in walk(expression)) > MOST_NODES or len(levels_of([lowered])) >= MOST_LEVELS:
        raise ValueError(_TOO_LARGE)
    return expression


_TOO_LARGE = "The expression is too large: make columns of its parts in [derive]."


def parse_sql(text: str) -> Parsed:
    """Parse the SQL of one expression or query.

    Raises ValueError if it is malformed or too long.
    """
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"Expected an expression of at most {LONGEST_TEXT:,} characters.")
    try:
        statements = sqlglot.parse(text, dialect=_DIALECT)
    except RecursionError:
        raise ValueError(_TOO_LARGE) from None
    except errors.ParseError as error:
        problem = error.errors[0] if error.errors else {}
        near = str(problem.get("highlight") or text)[:40]
        raise ValueError(
            f"The expression can't be read at {near!r}. Write the expression as in SQL, such as "
            "\"age >= 18 and region <> 'north'\"."
        ) from None
    except errors.SqlglotError:
        raise ValueError(
            "The expression can't be read. Check that each opened quote is closed."
        ) from None
    if len(statements) != 1 or not isinstance(statements[0], Parsed):
        raise ValueError('Expected one expression, such as "age >= 18".')
    return statements[0]


_CONCEPTS = {**dates.READERS, **logarithms.READERS, **texts.READERS, **zones.READERS}


class _Reader:
    """Convert sqlglot's tree into an expression, and check its types."""

    def __init__(self, types: Mapping[str, Type] | None, unreadable: Mapping[str, str]) -> None:
        self._types, self._unreadable = types, unreadable
        self._readers: dict[type[Parsed], Callable[[Parsed], Expression]] = {
            exp.Column: self._column,
            exp.Literal: self._literal,
            exp.Boolean: lambda node: Constant(bool(node.this), "bool"),
            exp.Null: lambda _: Constant(None, "null"),
            exp.Paren: lambda node: self.read(node.this),
            exp.Neg: self._negation,
            exp.Not: lambda node: self._connective("not", [self._read_argument(node)]),
            exp.And: lambda node: self._connective("and", self._read_both(node)),
            exp.Or: lambda node: self._connective("or", self._read_both(node)),
            exp.Is: self._is,
            exp.In: self._in,
            exp.Between: self._between,
            exp.Case: self._case,
            exp.If: self._if,
            exp.Coalesce: self._coalesce,
            exp.Round: self._round,
            exp.Nullif: self._nullif,
            exp.Sqrt: self._square_root,
            exp.Cast: self._cast,
            exp.Anonymous: self._other_function,
            exp.Window: lambda node: read_window(node, self.read),
            **dict.fromkeys(COMPARISONS, self._comparison),
            **dict.fromkeys(ARITHMETIC, self._arithmetic),
            **dict.fromkeys(NUMBER_FUNCTIONS, self._number_function),
            **dict.fromkeys(EXTREMES, self._extreme),
        }

    def read(self, node: object) -> Expression:
        """The checked expression of a node; raises ValueError for a node that isn't allowed."""
        if isinstance(node, Parsed) and (reader := self._readers.get(type(node))):
            return reader(node)
        if isinstance(node, Parsed) and (concept := _CONCEPTS.get(type(node))):
            return concept(node, self.read)
        raise ValueError(explain_refusal(node))

    def _read_argument(self, node: Parsed) -> Expression:
        """The argument of a node that takes a single argument."""
        check_arguments(node, "this")
        return self.read(node.this)

    def _read_both(self, node: Parsed) -> list[Expression]:
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
                raise ValueError(
                    f"{text[:40]} is more than 2^53, the largest whole number in expressions. "
                    "Declare a column of such numbers as a text."
                )
            return Constant(int(text), "int")
        number = float(text)
        if not math.isfinite(number):
            raise ValueError(f"{text[:40]} is too large. The largest number is about 1.8e308.")
        return Constant(number, "float")

    def _negation(self, node: Parsed) -> Expression:
        number = as_number(self._read_argument(node), "-")
        if isinstance(number, Constant) and isinstance(number.value, int | float):
            return Constant(-number.value, number.type)
        return Call("-", (Constant(0, "int"), number), number.type)

    def _connective(self, word: str, operands: Sequence[Expression]) -> Expression:
        arguments: list[Expression] = []
        for operand in operands:
            checked = as_type(
                operand, ("bool",), word, hint=' Write a comparison, such as "x = 1".'
            )
            same = isinstance(checked, Call) and checked.operator == word and word != "not"
            arguments += checked.arguments if same else (checked,)
        return Call(word, tuple(arguments), "bool")

    def _comparison(self, node: Parsed) -> Expression:
        first, second = unify(self._read_both(node), COMPARISONS[type(node)])
        return Call(COMPARISONS[type(node)], (first, second), "bool")

    def _arithmetic(self, node: Parsed) -> Expression:
        word, operands = ARITHMETIC[type(node)], self._read_both(node)
        if word == "-" and any(operand.type == "date" for operand in operands):
            return dates.subtract_days(*operands)
        first, second = (as_number(operand, word) for operand in operands)
        whole = word != "/" and "float" not in {first.type, second.type}
        return Call(word, (first, second), "int" if whole else "float")

    def _is(self, node: Parsed) -> Expression:
        check_arguments(node, "this", "expression")
        value = self.read(node.this)
        if isinstance(node.args["expression"], exp.Null):
            return Call("is null", (as_stored(value),), "bool")
        wanted = self.read(node.args["expression"])
        if wanted.type != "bool":
            raise ValueError('Expected "x is null" or "x is not null".')
        same = Call("=", (as_type(value, ("bool",), "is"), wanted), "bool")
        return Call("coalesce", (same, Constant(False, "bool")), "bool")  # noqa: FBT003  # a value

    def _in(self, node: Parsed) -> Expression:
        check_arguments(node, "this", "expressions")
        choices = node.args.get("expressions") or []
        if not choices:
            raise ValueError(
                "Expected a list after \"in\", such as \"region in ('north', 'south')\"."
            )
        value = self.read(node.this)
        pairs = (unify([value, self.read(choice)], "in") for choice in choices)
        equal = [Call("=", (first, second), "bool") for first, second in pairs]
        return equal[0] if len(equal) == 1 else Call("or", tuple(equal), "bool")

    def _between(self, node: Parsed) -> Expression:
        check_arguments(node, "this", "low", "high")
        value = self.read(node.this)
        low = unify([value, self.read(node.args["low"])], "between")
        high = unify([value, self.read(node.args["high"])], "between")
        return Call("and", (Call(">=", low, "bool"), Call("<=", high, "bool")), "bool")

    def _case(self, node: Parsed) -> Expression:
        check_arguments(node, "this", "ifs", "default")
        subject = node.args.get("this")
        pairs: list[tuple[Expression, Expression]] = []
        for branch in node.args["ifs"]:
            check_arguments(branch, "this", "true")
            when = self.read(branch.this)
            if subject is not None:
                when = Call("=", unify([self.read(subject), when], "case"), "bool")
            pairs.append((as_type(when, ("bool",), "case"), self.read(branch.args["true"])))
        default = node.args.get("default")
        return self._build_case(pairs, None if default is None else self.read(default))

    def _if(self, node: Parsed) -> Expression:
        check_arguments(node, "this", "true", "false")
        when = as_type(self.read(node.this), ("bool",), "if")
        default = node.args.get("false")
        other = None if default is None else self.read(default)
        return self._build_case([(when, self.read(node.args["true"]))], other)

    def _build_case(
        self, pairs: Sequence[tuple[Expression, Expression]], default: Expression | None
    ) -> Expression:
        other = default or Constant(None, "null")
        values = unify([*(value for _, value in pairs), other], "case")
        arguments: list[Expression] = []
        for (when, _), value in zip(pairs, values, strict=False):
            arguments += (when, value)
        return Call("case", (*arguments, values[-1]), type_of(values))

    def _coalesce(self, node: Parsed) -> Expression:
        values = self._read_list(node, "coalesce")
        return Call("coalesce", values, type_of(values))

    def _extreme(self, node: Parsed) -> Expression:
        word = EXTREMES[type(node)]
        values = tuple(as_number(value, word) for value in self._read_list(node, word))
        return values[0] if len(values) == 1 else Call(word, values, type_of(values))

    def _read_list(self, node: Parsed, word: str) -> tuple[Expression, ...]:
        check_arguments(node, "this", "expressions")
        return unify(
            [self.read(argument) for argument in (node.this, *node.args["expressions"])], word
        )

    def _number_function(self, node: Parsed) -> Expression:
        word = NUMBER_FUNCTIONS[type(node)]
        number = as_number(self._read_argument(node), word)
        return Call(word, (number,), number.type if word == "abs" else "int")

    def _square_root(self, node: Parsed) -> Expression:
        return Call("sqrt", (as_number(self._read_argument(node), "sqrt"),), "float")

    def _round(self, node: Parsed) -> Expression:
        check_arguments(node, "this", "decimals")
        number = as_number(self.read(node.this), "round")
        decimals = node.args.get("decimals")
        digits = Constant(0, "int") if decimals is None else self.read(decimals)
        value = digits.value if isinstance(digits, Constant) else None
        if not isinstance(value, int) or not 0 <= value < 10:
            raise ValueError("Expected round(x) or round(x, digits), with digits from 0 to 9.")
        if value == 0:
            return Call("nearest", (number,), "int")
        return Call("round", (number, Constant(10.0**value, "float")), "float")

    def _cast(self, node: Parsed) -> Expression:
        kind = node.args.get("to")
        wanted = kind.this if isinstance(kind, exp.DataType) else None
        if wanted == exp.DataType.Type.DATE:
            return dates.read_date(self.read(node.this))
        if wanted in {exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ}:
            return dates.read_timestamp(self.read(node.this))
        if wanted == exp.DataType.Type.TEXT:
            return texts.as_text(self.read(node.this), "cast")
        raise ValueError(
            "A cast can only give a date, a timestamp or a text. Declare other types in data.types."
        )

    def _nullif(self, node: Parsed) -> Expression:
        first, second = unify(self._read_both(node), "nullif")
        same, missing = Call("=", (first, second), "bool"), Constant(None, "null")
        return Call("case", (same, missing, first), first.type)

    def _other_function(self, node: Parsed) -> Expression:
        word = str(node.this).lower()
        if word not in dates.OTHER_READERS:
            raise ValueError(explain_unknown(word))
        return dates.OTHER_READERS[word](node, self.read)
