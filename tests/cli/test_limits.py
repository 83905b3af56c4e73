"""`leastnoise limits` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import run
from tests.tables.publish.test_try_limits import SPEC, rows


@pytest.mark.dense
def test_the_command_says_loudly_that_nothing_is_private(tmp_path: Path) -> None:
    rows().to_parquet(tmp_path / "sample.parquet")
    (tmp_path / "spec.toml").write_text(SPEC.replace("{more}", ""))
    asked = ("limits", "spec.toml", "--try", "max_rows=1,6", "--sample", "sample.parquet")
    shown = run(*asked, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("NOT PRIVATE") == 2
    assert "least" in shown.stdout
    record: dict[str, Any] = json.loads(run(*asked, "--json", cwd=tmp_path).stdout)
    assert record["private"] is False
    assert {item["statistic"] for item in record["tried"]} == {
        "count", "sum_x", "mean_x", "count_units"
    }  # fmt: skip
    wrong = run(*asked[:3], "max_rows=0", *asked[4:], cwd=tmp_path)
    assert (wrong.returncode, "contribution.max_rows" in wrong.stderr) == (2, True)
