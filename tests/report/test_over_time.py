"""The charts of a series: releases that verify together, and no others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from leastnoise.report import page
from leastnoise.tables.publish.release import Release
from tests.tables.register import make, spec_of


@pytest.fixture
def weekly(tmp_path: Path) -> Path:
    make(tmp_path)
    for _ in range(3):
        Release(**spec_of(), folder=tmp_path).run()
    return tmp_path / "weekly"


@pytest.mark.dense
def test_each_cell_has_a_chart_of_all_releases_so_far(weekly: Path) -> None:
    first = page.report(weekly / "1")
    assert "Over time" not in first
    assert "<h1>weekly, release 1 of 4</h1>" in first
    assert "Count since release 1, by place." in first
    for number in (2, 3):
        text = page.report(weekly / str(number)).partition("Over time")[2]
        assert text.count("<figure>") == 4  # two cells of two tables
        assert text.count(">release ") == 4 * number
        assert text.count(f">release {number}<") == 4


@pytest.mark.dense
def test_releases_that_do_not_fit_are_not_shown(weekly: Path) -> None:
    record = weekly / "1" / "release.json"
    kept = record.read_text()
    record.write_text(json.dumps(json.loads(kept) | {"entry": 1000}))
    assert "<figure>" in page.report(weekly / "3").partition("Over time")[2]  # another ledger
    edited = json.loads(kept)
    edited["chain"]["digest"] = "0" * 64
    record.write_text(json.dumps(edited))
    text = page.report(weekly / "3").partition("Over time")[2]
    assert "are not beside it" in text
    assert "<figure>" not in text
    record.write_text(kept)
    shutil.rmtree(weekly / "2")
    assert "<figure>" not in page.report(weekly / "3").partition("Over time")[2]
    shutil.move(weekly / "3", weekly.parent / "alone")
    alone = page.report(weekly.parent / "alone")
    assert "<figure>" not in alone.partition("Over time")[2]
    assert "<h1>alone</h1>" in alone
