"""Specs of any length and depth are read in time proportional to their size, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from leastnoise.errors import SpecError
from leastnoise.tables.parse import spec_file, spec_text


def test_of_many_problems_a_hundred_are_told_and_all_are_counted() -> None:
    keys = "".join(f"key{i} = 1\n" for i in range(5000))
    with pytest.raises(SpecError) as caught:
        spec_file.loads(keys)
    unknown = [key for key, why in caught.value.problems if why.startswith("Unknown key")]
    assert unknown == [f"key{i}" for i in range(5000)]
    lines = str(caught.value).splitlines()
    assert lines[0] == "The spec has 5,004 problems:"
    assert len(lines) == 102
    assert lines[-1] == "  … and 4,904 more."
    assert spec_text.lines(keys, caught.value.problems)[:5000] == list(range(1, 5001))


def test_many_bad_queries_are_all_counted() -> None:
    spec = 'version = 1\ndata.source = "a.parquet"\nprivacy = { unit = "row", epsilon = 1 }\n'
    spec += "[[query]]\nname = 1\n" * 150
    with pytest.raises(SpecError) as caught:
        spec_file.loads(spec)
    keys = [key for key, why in caught.value.problems if why.startswith("Expected a text")]
    assert keys == [f"query[{index}].name" for index in range(150)]


def test_what_is_nested_deep_is_a_problem_wherever_it_is_written() -> None:
    """500 tables in each other ended with a RecursionError."""
    deep: Any = 1
    for _ in range(5000):
        deep = {"a": deep}
    for raw in ({"data": deep}, {"query": [deep]}, {"unknown": deep}):
        with pytest.raises(SpecError, match="nested"):
            spec_file.parse(raw)
    for text in (
        "[" + ".".join(["a"] * 500) + "]",
        ".".join(["a"] * 500) + " = 1",
        ' . "b" . '.join(["'a'"] * 500) + " = 1",
        "x = " + "{ a = " * 100 + "1" + " }" * 100,
        "x = " + "[" * 100 + "]" * 100,
        "x = " + "[" * 100_000,
        "\n".join(f"[{'.'.join(['a'] * depth)}]" for depth in range(1, 20)),
    ):
        with pytest.raises(SpecError, match="nested"):
            spec_file.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        f"# {'a.' * 99}b\nversion = 1",
        f'version = "{"a." * 99}"',
        f"version = '{'a.' * 99}'",
        f'version = """\n{"a." * 99}"""',
        f"version = '''\n{'a.' * 99}'''",
        f'"{"a." * 99}" = 1',
        'version = "a\\"b" # "' + "a." * 99,
    ],
)
def test_dots_in_texts_and_comments_are_no_tables(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_file.loads(text)
    assert "nested" not in str(caught.value)
