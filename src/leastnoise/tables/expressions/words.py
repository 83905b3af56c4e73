"""The words of the language, by what the parser makes of them; all others are refused by name."""

from __future__ import annotations

from collections.abc import Mapping

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
OF_A_DATE: Mapping[type[Parsed], str] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Week: "week",
    exp.Day: "day",
}
OTHERS_OF_A_DATE = ("isoyear", "weekday")
"""Those that the parser has no class for."""
OF_A_TEXT: Mapping[type[Parsed], str] = {
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Trim: "trim",
}
OF_A_NUMBER: Mapping[type[Parsed], str] = {
    exp.Abs: "abs",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
}
EXTREMES: Mapping[type[Parsed], str] = {exp.Least: "least", exp.Greatest: "greatest"}
_WORDS = (
    *("and", "or", "not", "in", "between", "is null", "case", "coalesce"),
    *(*OF_A_DATE.values(), *OTHERS_OF_A_DATE, "date", "date_trunc"),
    *(*OF_A_TEXT.values(), "substr"),
    *(*OF_A_NUMBER.values(), "round", *EXTREMES.values()),
)
_HARMLESS = {"typed", "safe", "ignore_nulls", "by", "is_string", "quoted", "input_type_preserved"}
"""Arguments that the parser notes of its dialect, and that change nothing here."""


WITHIN_A_UNIT = (
    "looks at other rows, which nothing here does. Over (partition by) the unit itself it would "
    "stay within one person's rows: compute it in the source. By another column one person would "
    "change another's."
)
"""Of a window with (partition by), which is harmless where no two units share a part."""


def check_arguments(node: Parsed, *known: str) -> None:
    """Raise ValueError for what a function was given beside the `known` arguments."""
    for name, value in node.args.items():
        if value and name not in known and name not in _HARMLESS:
            raise ValueError(f"{_name_of(node)} takes no {name.replace('_', ' ')} here.")


def why_refused(node: object) -> str:
    """Return what is wrong with a node that may not stand in an expression."""
    if isinstance(node, exp.Window) and node.args.get("partition_by"):
        return f"{_name_of(node)} {WITHIN_A_UNIT}"
    if isinstance(node, exp.Window | exp.AggFunc | exp.Query | exp.Subquery):
        return (
            f"{_name_of(node)} looks at other rows, so one person would change another's: "
            "statistics do that, with noise."
        )
    return why_unknown(_name_of(node), hinted=isinstance(node, exp.Func))


_CHANGES = {"now", "today", "rand", "randn", "uuid", "getdate"}


def why_unknown(word: str, *, hinted: bool = True) -> str:
    """Return what is wrong with a word that isn't of the language, and which words are."""
    if word in _CHANGES or word.startswith("current "):
        return f"{word} isn't the same twice: write a value."
    hint = _validate.nearest(word, _WORDS) if hinted else ""
    return (
        f"{word[:40]!r} can't be used on rows.{' ' if hint else ''}{hint} There are arithmetic, "
        f"comparisons, {_words.list_names(_WORDS, most=len(_WORDS))}."
    )


def _name_of(node: object) -> str:
    """Return what an error calls a node of the parser's: its class in words."""
    name = type(node).__name__
    return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()
