"""Functions of texts. A text is a sequence of Unicode code points, compared by its UTF-8 bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import Expr as Parsed
from sqlglot import exp

from leastnoise.tables.expressions.tree import Call, Constant, Expression, Type, as_type
from leastnoise.tables.expressions.words import TEXT_FUNCTIONS, check_arguments
from leastnoise.tables.spec.values import MAX_TEXT

Read = Callable[[object], Expression]
MOST_LETTERS = MAX_TEXT
"""The largest number that `left`, `right` and `substr` take: no text has more letters."""


def _function(node: Parsed, read: Read) -> Expression:
    word = TEXT_FUNCTIONS[type(node)]
    check_arguments(node, "this")
    kind = "int" if word == "length" else "text"
    return Call(word, (as_type(read(node.this), ("text",), word),), kind)


def _substring(node: Parsed, read: Read) -> Expression:
    check_arguments(node, "this", "start", "length")
    first, length = (read(node.args.get(name)) for name in ("start", "length"))
    if not (_is_count(first, least=1) and _is_count(length)):
        raise ValueError("Expected substr(text, first, length), where first is at least 1.")
    return Call("substr", (as_type(read(node.this), ("text",), "substr"), first, length), "text")


def _end(node: Parsed, read: Read) -> Expression:
    """Read `left(text, n)` or `right(text, n)`; raises ValueError unless n is a constant count."""
    word = "left" if isinstance(node, exp.Left) else "right"
    check_arguments(node, "this", "expression")
    text, count = as_type(read(node.this), ("text",), word), read(node.args["expression"])
    if not _is_count(count):
        raise ValueError(f"Expected {word}(text, n), with n from 0 to {MOST_LETTERS:,} letters.")
    if word == "left":
        return Call("substr", (text, Constant(1, "int"), count), "text")
    return Call("right", (text, count), "text")


def _is_count(value: Expression, *, least: int = 0) -> bool:
    """True for a constant whole number from `least` to the length of the longest text."""
    number = value.value if isinstance(value, Constant) else None
    return type(number) is int and least <= number <= MOST_LETTERS


_HINTS: Mapping[Type, str] = {
    "float": " Round it first: round(x).",
    "timestamp": " Write date(x).",
}


def as_text(value: Expression, word: str) -> Expression:
    """Convert a whole number to its digits, or a date to a text such as 2024-01-31.

    A text stays as it is. Raises ValueError for other types; `word` names the function.
    """
    if value.type in {"int", "date"}:
        return Call(f"text of {value.type}", (value,), "text")
    return as_type(value, ("text",), word, hint=_HINTS.get(value.type, ""))


def _join(node: Parsed, read: Read) -> Expression:
    """Read `a || b`: NULL if a part is NULL, or if the result is too long for a source's text."""
    check_arguments(node, "this", "expression")
    parts: list[Expression] = []
    for operand in (node.this, node.args["expression"]):
        text = as_text(read(operand), "||")
        joined = isinstance(text, Call) and text.operator == "||"
        parts += text.arguments if joined else (text,)
    return Call("||", tuple(parts), "text")


def _concatenate(node: Parsed, read: Read) -> Expression:
    """Read `concat(a, b)`, which skips NULL as DuckDB and PostgreSQL do."""
    check_arguments(node, "expressions", "coalesce")
    empty = Constant("", "text")
    texts = [as_text(read(part), "concat") for part in node.expressions]
    parts = tuple(Call("coalesce", (text, empty), "text") for text in texts)
    return parts[0] if len(parts) == 1 else Call("||", parts, "text")


def _like(node: Parsed, read: Read) -> Expression:
    check_arguments(node, "this", "expression", "negate")
    text = as_type(read(node.this), ("text",), "like")
    pattern = read(node.args["expression"])
    if not isinstance(pattern, Constant) or not isinstance(pattern.value, str):
        why = "Expected a constant pattern after like, such as \"code like 'F3%'\"."
        raise ValueError(why)  # noqa: TRY004  # a problem of the expression
    matched = Call("like", (text,), "bool", unit=pattern.value)
    return Call("not", (matched,), "bool") if node.args.get("negate") else matched


def _replace(node: Parsed, read: Read) -> Expression:
    check_arguments(node, "this", "expression", "replacement")
    text = as_type(read(node.this), ("text",), "replace")
    parts = [read(node.args.get(name)) for name in ("expression", "replacement")]
    values = [part.value if isinstance(part, Constant) else None for part in parts]
    if not all(isinstance(value, str) for value in values) or not values[0]:
        raise ValueError(
            "Expected replace(text, 'old', 'new'). Write 'old' and 'new' as texts in quotes; 'old' "
            "must not be empty."
        )
    return Call("replace", (text, *parts), "text")


READERS: Mapping[type[Parsed], Callable[[Parsed, Read], Expression]] = {
    **dict.fromkeys(TEXT_FUNCTIONS, _function),
    exp.Substring: _substring,
    exp.Left: _end,
    exp.Right: _end,
    exp.DPipe: _join,
    exp.Concat: _concatenate,
    exp.Like: _like,
    exp.Replace: _replace,
}


def pattern_of(like: str, *, atomic: bool) -> str:
    r"""Convert a pattern of `like` to a regular expression, to be matched with the whole text.

    `%` stands for any letters and `_` for one letter; nothing escapes them. With `atomic` it has
    atomic groups, which Java needs against backtracking, and RE2 lacks. Then a part between two `%`
    is matched only at the first position that fits. A later position never helps, because all parts
    have a fixed length. So the time is linear in the text.

    >>> pattern_of("a_%b", atomic=False)
    'a[\\s\\S][\\s\\S]*?b'
    """
    first, *others = like.split("%")
    pattern = _letters(first)
    for index, part in enumerate(others):
        inner = f"{_ANY}*?{_letters(part)}"
        last = index == len(others) - 1
        if last:  # the end of the text
            pattern += f"{_ANY}*{_letters(part)}" if atomic else inner
        elif part:
            pattern += f"(?>{inner})" if atomic else inner
    return pattern


_ANY = r"[\s\S]"


def _letters(part: str) -> str:
    return "".join(
        _ANY
        if letter == "_"
        else letter
        if letter.isascii() and letter.isalnum()
        else rf"\x{{{ord(letter):x}}}"
        for letter in part
    )
