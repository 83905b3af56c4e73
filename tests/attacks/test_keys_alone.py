"""Published keys alone tell no more about a person than the guarantee allows.

Small tables are compared with those without a person, or with other rows of that person. The
persons per key are counted as in a release, and the law of the published keys is exact.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leastnoise.balls.core import ball, float_below, precision
from leastnoise.tables.answers.unlisted.keys import KeysPlan
from tests.tables.rows.test_unlisted import totals
from tests.tables.unlisted import planned, spec_of

_CODES = ["a", "b", "c", "d"]
Rows = list[tuple[int, str]]
Keys = Mapping[Any, int]


def counts(rows: Rows, raw: dict[str, Any], part: KeysPlan, folder: Path) -> Keys:
    """The number of persons that count for each key, after the limit on a person's keys."""
    frame = pd.DataFrame(rows, columns=["person", "code"]).assign(x=1.0, sex=1)
    frame.to_parquet(folder / "rows.parquet")
    result = totals(raw, folder)
    return {key: item >> part.layout.bits for key, (item,) in result.items()}


def largest_gap(one: Keys, other: Keys, part: KeysPlan) -> Fraction:
    """Σ (P − e^ε·Q)₊ over all sets of published keys; keys with equal counts are left out."""
    with precision(128):
        factor = Fraction(float_below(ball(part.budget.epsilon).exp()))
    pairs = [
        (part.claim.chance(one.get(key, 0)), part.claim.chance(other.get(key, 0)))
        for key in one.keys() | other.keys()
        if one.get(key, 0) != other.get(key, 0)
    ]
    total = Fraction(0)
    for kept in itertools.product((True, False), repeat=len(pairs)):
        p = q = Fraction(1)
        for (first, second), bit in zip(pairs, kept, strict=True):
            p *= first if bit else 1 - first
            q *= second if bit else 1 - second
        total += max(p - factor * q, Fraction(0))
    return total


@pytest.mark.dense
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_no_person_is_told_of_beyond_the_promise(
    tmp_path: Path, groups: int, neighbours: str
) -> None:
    changes = {
        "statistics": [],
        "contribution": {"max_groups": groups},
        "privacy": {"epsilon": 2, "delta": "0.05", "neighbours": neighbours},
    }
    raw, (part,) = spec_of(**changes), planned(**changes).keys
    drawn = random.Random(groups)
    worst = Fraction(0)
    for persons in (1, 2, 3, 4, 6, 8):
        rows = [
            (person, drawn.choice(_CODES[: drawn.choice([1, 4])]))
            for person in range(persons)
            for _ in range(3)
        ]
        whole = counts(rows, raw, part, tmp_path)
        assert all(0 < value <= persons for value in whole.values())
        others = [(person, code) for person, code in rows if person]
        if neighbours == "replace-one":
            others += [(0, code) for code in drawn.sample(_CODES, 3)]
        less = counts(others, raw, part, tmp_path)
        moved = sum(abs(whole.get(key, 0) - less.get(key, 0)) for key in whole.keys() | less.keys())
        assert moved <= groups * (2 if neighbours == "replace-one" else 1)
        for pair in ((whole, less), (less, whole)):
            worst = max(worst, largest_gap(*pair, part))
    assert part.budget.delta / 40 < worst <= part.budget.delta
