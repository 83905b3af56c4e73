"""Plans and tables as the command line prints them for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.cli import demo, records, terminal
from leastnoise.tables.publish.release import Release
from tests.cli.program import run


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
    records.print_plan(release.plan(), verbose=True)
    shown = capsys.readouterr().out
    assert "Rows are dropped where age is below 0, above 120 or missing.\n" in shown
    assert shown.count("Rows are dropped") == 1
    assert shown.count("A missing value of size counts as 0.\n") == 1
    assert "Rows are left out if town is missing or not one of its keys.\n" in shown
    assert "95 % of the noise" in shown
    records.print_released(release.run().tables["bins"])
    assert "95 % of noise" in capsys.readouterr().out


def test_the_demo_says_what_no_interval_holds() -> None:
    source = demo.find_table()
    frame = pd.read_csv(source)
    visits = frame.loc[frame["plan"] == 11, "mdvis"].to_numpy(dtype=float)
    result = demo._means_of_plan_11(source)
    assert result == {
        "mean": pytest.approx(visits.mean()),
        "cut": pytest.approx(np.minimum(visits, 20).mean()),
    }
    assert result["mean"] - result["cut"] > 0.15


SPEC = """\
version = 1
data = { source = "rows.csv", types = { who = "int", size = "float" } }
privacy = { unit = "who", epsilon = "1" }
contribution = { max_rows = 1 }
columns = { size = { bounds = [0, 10], missing = "none" } }

[[query]]
name = "sizes"
statistics = ["count", "mean(size)"]
accuracy = { std = 2, statistic = "count" }
"""


@pytest.mark.dense
def test_wishes_and_assumed_sizes(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("who,size\n1,2\n")
    (tmp_path / "spec.toml").write_text(SPEC)
    least = SPEC.replace('"1"', '"least"').replace("std = 2", "std = 1.4")
    (tmp_path / "least.toml").write_text(least)

    def plan(*arguments: str) -> tuple[int, str, str]:
        done = run("release", *arguments, "--plan", cwd=tmp_path)
        return done.returncode, " ".join(done.stdout.split()), done.stderr

    code, shown, _ = plan("spec.toml")
    assert code == 0
    assert "mean_size (1,000 values)" in shown
    assert "Wished accuracy of count (std 2): met." in shown
    code, shown, _ = plan("least.toml", "--assume", "n=77")
    assert code == 0
    assert "mean_size (77 values)" in shown
    assert "with the smallest ε that meets every wished accuracy" in shown
    (tmp_path / "spec.toml").write_text(SPEC.replace("std = 2", "std = 1.4"))
    assert "would meet every accuracy" in plan("spec.toml")[1]
    needed = json.loads(plan("spec.toml", "--json")[1])["needed_epsilon"]
    assert needed > 1
    for wrong in ("77", "n=", "n=-1", "n=1.5", "m=3", "n=0"):
        code, _, error = plan("spec.toml", "--assume", wrong)
        assert code == 2
        assert "assume" in error


def test_what_a_release_calls_things_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.print_sentences(["Each row\x1b[1A\x1b[2KVerified by all.\u202e has 1-DP"])
    assert capsys.readouterr().out == "Each row?[1A?[2KVerified by all.? has 1-DP\n"
