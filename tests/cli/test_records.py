"""What people read of plans and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leastnoise.cli import records
from leastnoise.tables.release import Release


def test_a_plan_says_which_rows_are_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.csv").write_text("age,size,town\n1,2,a\n")
    groups: dict[str, Any] = {"age": {"edges": [0, 18, 120]}, "town": ["a"]}
    release = Release(
        data={"source": "rows.csv", "types": {"age": "int", "size": "float", "town": "text"}},
        privacy={"unit": "row", "epsilon": 1},
        columns={"size": {"missing": 0}},
        query=[
            {"name": "bands", "statistics": ["count"], "group_by": groups},
            {"name": "bins", "histogram": {"column": "size", "edges": ["-inf", 0, "inf"]}},
        ],
        folder=tmp_path,
    )
    records.print_plan(release.plan())
    shown = capsys.readouterr().out
    assert "Rows are dropped where age is below 0 or above 120 or missing.\n" in shown
    assert shown.count("Rows are dropped") == 1
