"""Noise of sums of Gaussian kernels on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.program import answer, run

BUDGET = ("--epsilon", "1", "--delta", "0.25")


@pytest.mark.dense
def test_quasi_gaussian_calibrates_certifies_and_verifies(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    result = answer(
        "calibrate", "--noise", "quasi-gaussian", *BUDGET, "--sensitivity", "2",
        "--certificate", str(path),
    )  # fmt: skip
    assert result["scale"] == pytest.approx(2 * 0.2620144084, rel=1e-7)
    assert result["noise"]["parameters"] == {"spacing": 2.0, "decay": 1.0}
    assert result["certified"] is True
    assert result["delta_interval"][1] <= 0.25
    assert run("verify", str(path)).returncode == 0
    record = json.loads(path.read_text())
    record["noise"]["parameters"]["spacing"] = "2.2"
    path.write_text(json.dumps(record))
    assert run("verify", str(path)).returncode == 1


@pytest.mark.slow
def test_a_mixture_with_its_modes_calibrates_certifies_and_verifies(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    budget = ("--epsilon", "2", "--delta", "1e-2")
    record = answer(
        "calibrate", "--noise", "gaussian-mixture", *budget, "--modes", "3",
        "--certificate", str(path),
    )  # fmt: skip
    assert record["noise"]["parameters"] == {"modes": 3, "spacing": 1.0, "decay": 2.0}
    assert record["certified"] is True
    assert run("verify", str(path)).returncode == 0
    alone = answer("calibrate", "--noise", "gaussian-mixture", *budget, "--modes", "0")
    gaussian = answer("calibrate", "--noise", "gaussian", *budget)
    assert alone["scale"] == pytest.approx(gaussian["scale"], rel=1e-8)
    compared = answer("compare", *budget, "--modes", "0", "--loss", "mae")["candidates"]
    modes = [c["noise"]["parameters"] for c in compared if c["noise"]["name"] == "gaussian-mixture"]
    assert modes == [{"modes": 0, "spacing": 1.0, "decay": 2.0}]
    refused = run("calibrate", "--noise", "gaussian-mixture", "--epsilon", "1")
    assert refused.returncode == 1
    assert "delta=0 is impossible" in refused.stderr


def test_a_search_that_was_cut_off_says_so() -> None:
    record = answer(
        "calibrate", "--noise", "gaussian-mixture", "--epsilon", "0.3", "--delta", "1e-9"
    )
    assert "32" in record["note"]


@pytest.mark.slow
def test_compare_lists_it_and_says_why_not() -> None:
    names = {item["noise"]["name"] for item in answer("compare", *BUDGET)["candidates"]}
    assert "quasi-gaussian" in names
    skipped = {item["name"]: item["why"] for item in answer("compare", "--epsilon", "1")["skipped"]}
    assert "delta=0" in skipped["quasi-gaussian"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--modes", "3"), "a parameter of quasi-gaussian (spacing, decay)"),
        (("--modes", "many"), "--modes"),
        (("--param", "spacing=2"), "the spacing is the sensitivity"),
        (("--param", "weights=2"), "a parameter of quasi-gaussian (spacing, decay)"),
    ],
)
def test_what_is_not_free_is_refused(options: tuple[str, str], words: str) -> None:
    done = run("calibrate", "--noise", "quasi-gaussian", *BUDGET, *options, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_a_gaussian_has_no_modes() -> None:
    done = run("calibrate", "--noise", "gaussian", *BUDGET, "--modes", "3", "--json")
    assert (done.returncode, done.stdout) == (2, "")


def test_profile_of_a_given_law() -> None:
    record = answer(
        "profile", "--noise", "quasi-gaussian", "--scale", "0.2620144084", "--param", "spacing=1",
        "--param", "decay=1", "--epsilon", "1",
    )  # fmt: skip
    low, high = record["points"][0]["delta_interval"]
    assert low == pytest.approx(0.25, abs=1e-8)
    assert high == pytest.approx(0.25, abs=1e-8)
