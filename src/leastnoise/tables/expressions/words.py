"""Functions and operators of the language by sqlglot's class, and messages about refused ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import Expr as Parsed
from sqlglot import exp

from leastnoise import _validate, _words

COMPARISONS: Mapping[type[Parsed], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
ARITHMETIC: Mapping[type[Parsed], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
}
DATE_FUNCTIONS: Mapping[type[Parsed], str] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Week: "week",
    exp.Day: "day",
}
TIME_FUNCTIONS: Mapping[type[Parsed], str] = {
    exp.Hour: "hour",
    exp.Minute: "minute",
    exp.Second: "second",
}
OTHER_DATE_FUNCTIONS = ("isoyear", "weekday")
"""Functions for which sqlglot has no class."""
TEXT_FUNCTIONS: Mapping[type[Parsed], str] = {
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Trim: "trim",
    exp.Length: "length",
}
NUMBER_FUNCTIONS: Mapping[type[Parsed], str] = {
    exp.Abs: "abs",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
}
EXTREMES: Mapping[type[Parsed], str] = {exp.Least: "least", exp.Greatest: "greatest"}
_WORDS = (
    *("and", "or", "not", "in", "between", "is null", "case", "coalesce"),
    *("nullif", *DATE_FUNCTIONS.values(), *OTHER_DATE_FUNCTIONS, "date", "date_trunc"),
    *("date_sub", *TIME_FUNCTIONS.values()),
    *(*TEXT_FUNCTIONS.values(), "substr", "left", "right", "like", "replace", "||", "concat"),
    *(*NUMBER_FUNCTIONS.values(), "round", "sqrt", "ln", "log10", "log2", "exp", "power"),
    *EXTREMES.values(),
)
_HARMLESS = {"typed", "safe", "ignore_nulls", "by", "is_string", "quoted", "input_type_preserved"}
"""Arguments by which sqlglot notes its dialect; they change nothing here."""


def check_arguments(node: Parsed, *known: str) -> None:
    """Raise ValueError if a function has an argument whose name isn't `known`."""
    for name, value in node.args.items():
        if value and name not in known and name not in _HARMLESS:
            raise ValueError(
                f"{_name_of(node)} takes no {name.replace('_', ' ')} in an expression. Leave it "
                "out."
            )


def explain_refusal(node: object) -> str:
    """The error message for a node of sqlglot's tree that may not stand in an expression."""
    if isinstance(node, exp.AggFunc | exp.Query | exp.Subquery):
        return (
            f"{_name_of(node)} looks at other rows, so one person would change another's value: "
            "use a statistic, which adds noise."
        )
    if isinstance(node, Parsed) and type(node) in _INSTEAD:
        return _INSTEAD[type(node)]
    return explain_unknown(_name_of(node), hinted=isinstance(node, exp.Func))


_INSTEAD: Mapping[type[Parsed], str] = {
    exp.Escape: "like takes no escape here. Compare the letter by left, right or substr.",
    exp.ILike: "Engines differ in which letters ilike treats as equal. Write lower(x) like 'a%'.",
}
"""Refused words of SQL, each with a message that names an alternative."""


def explain_window(function: object, known: Collection[str]) -> str:
    """The error message for a window without a unit (no `known`), or with an unknown function."""
    name = _name_of(function)
    if not known:
        return (
            f"{name} over all rows would let one person change another's value: use a statistic, "
            "which adds noise, or compute it over the rows of each person, such as count() over "
            "person."
        )
    mean = " The mean is sum(x) over person / count(x) over person." if name == "avg" else ""
    listed = _words.list_names([*known], most=len(known))
    return f"{name} can't be used over a unit.{mean} You can use {listed}."


_CHANGES = {"now", "today", "rand", "randn", "uuid", "getdate"}


def explain_unknown(word: str, *, hinted: bool = True) -> str:
    """The error message for a function or an operator that isn't known.

    It lists those that are known, unless the function gives a new value at each call.
    """
    if word in _CHANGES or word.startswith("current "):
        return f"{word} changes from call to call: write a constant."
    hint = _validate.nearest(word, _WORDS) if hinted else ""
    return (
        f"{word[:40]!r} can't be used on rows.{' ' if hint else ''}{hint} You can use arithmetic, "
        f"comparisons, {_words.list_names(_WORDS, most=len(_WORDS))}."
    )


def _name_of(node: object) -> str:
    """The name of a node of sqlglot's tree for messages: its class, split into words."""
    name = type(node).__name__
    return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()
