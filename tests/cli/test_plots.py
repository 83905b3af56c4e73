"""`leastnoise compare --plot` on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree as ET

import pytest

from leastnoise.cli.compare import _PlotRequest
from leastnoise.report import figures
from tests.cli.program import run

NAMES = ("gaussian", "l2", "generalized-gamma", "spherical-staircase")
# p is fixed because its search takes most of the time, which is not what is tested here.
QUERY = ("--epsilon", "1", "--delta", "1e-5", "--dimension", "7", "--p", "1")


@pytest.mark.dense
def test_the_file_has_both_figures_and_json_is_alone_on_stdout(tmp_path: Path) -> None:
    done = run("compare", *QUERY, "--plot", "errors.svg", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    result = json.loads(done.stdout)["candidates"]
    assert {item["noise"]["name"] for item in result} == {*NAMES, "k-staircase"}
    root = ET.fromstring((tmp_path / "errors.svg").read_text(encoding="utf-8"))
    assert root.tag.endswith("svg")
    labels = "".join(root.itertext())
    # each family once in either figure's legend; "optimal-radial" serves in 2 dimensions only
    assert all(labels.count(name) >= 2 for name in NAMES)
    # whose radius has no density of its own here
    assert {"optimal-radial", "k-staircase"} <= set(root.itertext())
    assert "Error (mse) against the dimension, ε = 1, δ = 1e-5" in labels
    assert "Density of the radius" in labels


@pytest.mark.dense
def test_one_number_has_its_own_figures(tmp_path: Path) -> None:
    query = ("--epsilon", "8", "--delta", "0", "--integer")
    done = run("compare", *query, "--plot", "one.svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    labels = "".join(ET.fromstring((tmp_path / "one.svg").read_text(encoding="utf-8")).itertext())
    assert "Error (mse) against ε, δ = 0" in labels
    assert "Density of the noise, ε = 8, δ = 0" in labels
    assert labels.count("geometric") == 2


@pytest.mark.slow
def test_the_terminal_shows_the_table_and_both_figures() -> None:
    done = run("compare", *QUERY, "--plot", "-")
    assert done.returncode == 0, done.stderr
    table, errors, radius = (
        done.stdout.partition("Error (mse) against")[0],
        done.stdout.partition("Error (mse) against")[2].partition("Density of")[0],
        done.stdout.partition("Density of")[2],
    )
    assert all(name in part for name in NAMES for part in (table, errors, radius))
    assert "mse / mse of the Gaussian" in errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--plot", "errors.jpg"), ".svg"),
        (("--plot", "errors"), ".svg"),
        (("--plot", "-", "--json"), "--json"),
        (("--plot", "a.svg", "--dimension", "7", "--integer"), "--integer"),
        (("--plot", "a.svg", "--dimension", "7", "--alpha", "3"), "--alpha"),
        (("--plot", "a.svg", "--dimension", "1000001"), "1,000,000"),
        (("--plot", "nowhere/a.svg"), "nowhere"),
    ],
)
def test_what_cannot_be_drawn_is_a_usage_error_before_the_work(
    options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = run("compare", "--epsilon", "1", "--delta", "1e-5", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_without_a_gaussian_it_is_refused(tmp_path: Path) -> None:
    query = ("--epsilon", "1", "--delta", "0", "--dimension", "7")
    done = run("compare", *query, "--plot", "a.svg", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "delta > 0" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.dense
@pytest.mark.parametrize(("target", "library"), [("-", "plotext"), ("a.svg", "matplotlib")])
def test_without_the_extra_the_error_names_it(target: str, library: str, tmp_path: Path) -> None:
    (tmp_path / f"{library}.py").write_text("raise ImportError\n")
    program = Path(sys.executable).parent / "leastnoise"
    done = subprocess.run(
        [str(program), "compare", *QUERY, "--plot", target],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "leastnoise[report]" in done.stderr
    assert library in done.stderr


def test_each_figure_is_of_the_comparison_in_its_own_dimension(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: dict[int, Any] = {}
    monkeypatch.setattr(figures, "error_figure", seen.update)
    monkeypatch.setattr(figures, "radius_figure", lambda here: None)
    request = _PlotRequest(target="-", epsilon=Fraction(1), dimension=7, least=1, silent=True)
    request.figures(
        cast("Any", "here"), cast("Any", lambda epsilon, dimension: (epsilon, dimension))
    )
    assert seen.pop(7) == "here"
    assert seen == {dimension: ("1", dimension) for dimension in seen}
    assert len(seen) >= 6
