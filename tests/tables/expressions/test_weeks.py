"""ISO weeks belong to ISO years: 1 January 2023 is in week 52 of 2022."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import pytest

import leastnoise as ln
from leastnoise.tables.plan.summary import list_sentences

DAYS = [dt.date(2023, 1, 1), dt.date(2023, 12, 28), dt.date(2024, 12, 30)]


@pytest.mark.parametrize(("word", "rows"), [("isoyear", [1, 1, 0]), ("year", [0, 2, 0])])
def test_week_52_of_a_year_has_its_own_days_alone(word: str, rows: list[int]) -> None:
    keys: dict[str, Any] = {"year": [2022, 2023, 2024], "week": [52]}
    release = ln.Release(
        data=pd.DataFrame({"day": pd.to_datetime(DAYS)}),
        privacy={"unit": "row", "epsilon": 100},
        derive={"year": f"{word}(day)", "week": "week(day)"},
        query=[{"name": "q", "statistics": ["count"], "group_by": keys}],
    )
    table = release.run().tables["q"].columns
    assert [round(count) for count in table["count"]] == rows
    plan = release.plan()
    for sentences in (plan.notes, list_sentences(plan)):
        warned = any("Write isoyear() in place of year()." in count for count in sentences)
        assert warned is (word == "year")
