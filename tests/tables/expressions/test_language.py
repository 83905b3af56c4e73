"""The row expressions that are allowed, and the error messages for others."""

from __future__ import annotations

import re

import pytest

from leastnoise.tables.expressions.computed import compute
from leastnoise.tables.expressions.language import parse
from leastnoise.tables.expressions.tree import columns_of
from leastnoise.tables.expressions.weeks import mixes_years
from tests.tables.expressions.rows import TYPES

_REFUSED = {
    "avg(x) over ()": "avg over all rows would let one person change another's value",
    "sum(x)": "looks at other rows",
    "(select 1)": "looks at other rows",
    "random()": "changes from call to call",
    "now()": "changes from call to call",
    "current_date": "changes from call to call",
    "flor(x)": "Did you mean floor?",
    "sine(x)": "'sine' can't be used on rows. You can use",
    "hour(d)": "hour takes a timestamp, got a date",
    "foo(x)": "'foo' can't be used on rows. You can use",
    "t ilike 'a%'": "Write lower(x) like 'a%'",
    "t like 'a!%' escape '!'": "like takes no escape here",
    "t like t": "Expected a constant pattern after like",
    "replace(t, '', 'a')": "'old' must not be empty",
    "left(t, -1)": "with n from 0 to 4,096 letters",
    "t || x": "|| takes a text, got a number. Round it first: round(x).",
    "t || at": "|| takes a text, got a timestamp. Write date(x).",
    "date_diff('year', d, d)": "Write date_sub('year', start, end) for completed units",
    "date_diff('day', at, at)": "Write date_sub('day', start, end)",
    "date_sub('day', at, at)": "needs dates. Write date(x) for a timestamp",
    "date_sub('week', d, d)": "year, month, day, hour, minute or second as the unit",
    "date_sub('hour', d, d)": "date_sub takes a timestamp, got a date",
    "d - 1": "- takes a date, got a number",
    "agee >= 18": "There is no column 'agee'",
    "given.x = 1": "takes no table",
    "a = 'x'": "compares a number and a text",
    "x and p": 'Write a comparison, such as "x = 1".',
    "at > '2024-01-31'": "A timestamp is used by its date: write date(x).",
    "coalesce(at, d)": "A timestamp is used by its date: write date(x).",
    "at + 1": "+ takes a number, got a timestamp",
    "d + 1": "+ takes a number, got a date",
    "year(t)": "Texts become dates by date(x).",
    "d < '2023-02-29'": "Expected a date such as '2024-01-31'",
    "cast(x as integer)": "A cast can only give a date, a timestamp or a text",
    "a = 9007199254740993": "more than 2^53",
    "x > 1e400": "too large",
    "substr(t, 0, 1)": "first is at least 1",
    "round(x, a)": "digits from 0 to 9",
    "date_trunc('day', d)": "Expected date_trunc to year, quarter, month or week",
    "trim(both 'x' from t)": "takes no position",
    "x in ()": 'Expected a list after "in"',
    "a; b": "one expression",
    "": "one expression",
    "'abc": "Check that each opened quote is closed",
    "a +": "can't be read",
    "a = 1 or" + " or".join(" a = 1 + b" for _ in range(600)): "at most 4,096 characters",
    "+".join(["a"] * 300): "too large",
    "(" * 2000 + "a" + ")" * 2000: "too large",
}


@pytest.mark.parametrize("text", _REFUSED)
def test_what_may_not_be_said_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(_REFUSED[text])):
        parse(text, TYPES)


@pytest.mark.parametrize(
    ("derive", "mixed"),
    [
        ({"y": "year(d)", "w": "week(d)"}, True),
        ({"y": "isoyear(d)", "w": "week(d)"}, False),
        ({"y": "year(date(t))", "w": "extract(week from date(t))"}, True),
        ({"y": "date_trunc('year', d)", "w": "week(d)"}, True),
        ({"y": "year(d)", "w": "week(date(t))"}, False),
        ({"y": "year(d) + 0", "w": "y * 100 + week(d)"}, True),
        ({"y": "month(d)", "w": "week(d)"}, False),
    ],
)
def test_a_calendar_year_beside_an_iso_week_is_noticed(derive: dict[str, str], mixed: bool) -> None:
    assert mixes_years(derive, ["y", "w", "other"]) is mixed
    assert not mixes_years(derive, ["y"])


def test_without_types_all_is_checked_that_does_not_depend_on_them() -> None:
    expression = parse("\"odd name\" = 'a' and other > 3")
    assert columns_of(expression) == ("odd name", "other")
    with pytest.raises(ValueError, match="looks at other rows"):
        parse("sum(other)")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a + b", "int"),
        ("a / b", "float"),
        ("x * p", "float"),
        ("a * p", "int"),
        ("case when p then a else x end", "float"),
        ("date(t)", "date"),
        ("date(at)", "date"),
        ("date_trunc('month', at)", "date"),
        ("at is null or year(at) = 2024", "bool"),
        ("d >= '2024-01-01'", "bool"),
        ("a in (1, 2) -- a remark", "bool"),
        ("if(p, 'a', t)", "text"),
        ("t || '-' || a || '-' || d", "text"),
        ("concat(a, d)", "text"),
        ("cast(a as varchar)", "text"),
        ("t not like 'a_%'", "bool"),
        ("nullif(a, x)", "int"),
        ("hour(cast(t as timestamp))", "int"),
        ("d - date(at)", "int"),
        ("date_sub('year', d, date(at))", "int"),
        ("date_sub('minute', at, at)", "int"),
        ("extract(hour from at)", "int"),
        ("sqrt(a)", "float"),
        ("extract(year from d)", "int"),
    ],
)
def test_every_expression_has_one_type(text: str, kind: str) -> None:
    assert parse(text, TYPES).type == kind


def test_columns_that_use_one_twice_are_read_in_steps() -> None:
    names = [f"x{index}" for index in range(40)]
    derive = {
        name: f"{before} + {before}" for before, name in zip(["a", *names], names, strict=False)
    }
    computed, problems = compute(derive, {}, {"a": "float"}, {})
    assert list(computed.columns) == names
    assert not problems
