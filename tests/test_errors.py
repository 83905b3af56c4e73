"""What error messages show."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from pathlib import Path

import pytest

import leastnoise
from leastnoise.errors import MOST_SHOWN, SpecError, is_short, show_value


@pytest.mark.parametrize(("length", "shown"), [(300, "k" * 300), (301, "k" * 300 + "…")])
def test_a_key_of_a_spec_is_shown_whole_up_to_300_letters(length: int, shown: str) -> None:
    assert f" {shown}: wrong" in str(SpecError([("k" * length, "wrong")]))


@pytest.mark.parametrize(("length", "end"), [(MOST_SHOWN, "x'"), (MOST_SHOWN + 1, "…")])
def test_a_text_is_cut_where_it_is_longer_than_may_be_shown(length: int, end: str) -> None:
    assert show_value("x" * length).endswith(end)


def test_a_number_is_short_up_to_128_bits() -> None:
    longest = 2**128 - 1
    assert all(map(is_short, (longest, -longest, Fraction(1, longest))))
    assert not any(map(is_short, (longest + 1, -longest - 1, Fraction(1, longest + 1))))


@pytest.mark.dense
def test_raised_messages_have_no_unfilled_fields() -> None:
    """`"{name}"` needs the prefix f. Only the placeholders of `audit --command` are literal."""
    texts = [
        part.value.replace("{value}", "").replace("{count} lines", "")
        for file in Path(leastnoise.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise)
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    assert [text for text in texts if re.search(r"\{[a-z_][\w.]*(![rsa])?\}", text, re.I)] == []
