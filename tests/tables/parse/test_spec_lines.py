"""The line of each key in a TOML text; none if it can't be determined."""

from __future__ import annotations

import tomllib
from random import Random

import pytest

from leastnoise.errors import SpecError
from leastnoise.tables.parse import spec_file, spec_text

TEXT = '''\
version = 1                                # line 1: privacy.epsilon = "no key"
[data]
source = """
[privacy]
unit = "in a text" \\""""
types = { "a.b" = "int", plan = "text", last = "int" } # a comment


[ privacy ]
unit = 'row'   # [query]
ledger.path = "x"
[columns."x y"]
bounds = [ 0,
    10, # ] not yet
]
[[query]]
name = "one"
statistics = ["count",
              "mean(x)"]
[query.group_by]
plan = ["a", """
b""", "c"]
[[query]]
[query.conditions]
often = { visits = { min = 10, day = 1979-05-27 07:32:00 } }
[[query]]
name = "three"
[output]
'path' = "out"
'''


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("version", 1),
        ("data", 2),
        ("data.source", 3),
        ("data.types", 6),
        ("data.types.a.b", 6),
        ("data.types.last", 6),
        ("privacy", 9),
        ("privacy.epsilon", 9),  # missing: it belongs into the table that is there
        ("privacy.unit", 10),
        ("privacy.ledger.path", 11),
        ("columns.x y", 12),
        ("columns.x y.bounds[0]", 13),
        ("columns.x y.bounds[1]", 14),
        ("query[0]", 16),
        ("query[0].importance", 16),
        ("query[0].statistics[0]", 18),
        ("query[0].statistics[1]", 19),
        ("query[0].group_by", 20),
        ("query[0].group_by.plan[1]", 21),
        ("query[0].group_by.plan[2]", 22),
        ("query[1]", 23),
        ("query[1].conditions", 24),
        ("query[1].conditions.often.visits.min", 25),
        ("query[2].name", 27),
        ("output.path", 29),
        ("contribution", None),
    ],
)
def test_each_key_is_found_on_its_line(key: str, line: int | None) -> None:
    assert tomllib.loads(TEXT)
    assert spec_text.lines(TEXT, [(key, "Wrong.")]) == [line]
    assert spec_text.lines(TEXT.replace("\n", "\r\n"), [(key, "Wrong.")]) == [line]


def test_a_name_that_may_be_two_keys_is_on_no_line() -> None:
    text = '[columns]\n"a.bounds" = {}\na = { bounds = [1, 0] }\nb = {}\n'
    keys = [("columns.a.bounds", ""), ("columns.a", ""), ("columns.b", "")]
    assert spec_text.lines(text, keys) == [None, 3, 4]


def test_what_was_given_beside_the_file_is_on_no_line() -> None:
    text = '[data]\nengine = "duckdb"\n'
    problems = [("data.engine", ""), ("data.table", "")]
    assert spec_text.lines(text, problems, elsewhere=("data.engine",)) == [None, 1]


@pytest.mark.parametrize(("text", "line"), [("a = 1\nb = x\n", 2), ("a = 1\nb = [\n", None)])
def test_what_is_no_toml_has_the_line_that_the_parser_names(text: str, line: int | None) -> None:
    with pytest.raises(SpecError) as caught:
        spec_file.loads(text)
    assert spec_text.lines(text, caught.value.problems) == [line]


@pytest.mark.dense
def test_whatever_is_toml_can_be_looked_through() -> None:
    """Every key that tomllib reads of thousands of slightly changed texts is on some line."""
    random = Random(1)
    letters = "\"'[]{}=.,# \n\\ab1"
    read = 0
    for _ in range(6_000):
        text = list(TEXT)
        for _ in range(random.randint(1, 3)):
            index = random.randrange(len(text))
            text[index : index + random.randint(0, 1)] = random.choice(letters)
        changed = "".join(text)
        try:
            parsed = tomllib.loads(changed)
        except tomllib.TOMLDecodeError:
            continue
        read += 1
        numbers = spec_text.lines(changed, [(key, "") for key in parsed])
        for key, line in zip(parsed, numbers, strict=True):
            if line is None:
                assert not key or set(".[]") & set(key), changed
            else:
                row = changed.split("\n")[line - 1]
                assert key in row or '"' in row, changed  # in quotes, it may be spelled otherwise
    assert read > 500


def test_values_that_are_nested_deep() -> None:
    text = f"a = {'[' * 200}{']' * 200}\nb = 1\n"
    assert tomllib.loads(text)
    assert spec_text.lines(text, [("b", "")]) == [2]
