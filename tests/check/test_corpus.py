"""Golden statements and releases are proved, or named as not checked; none is rejected."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import leastnoise_check as checker
from tests.check import calibrated, corpus, numbers
from tests.check.folders import folders
from tests.check.plans import plans
from tests.check.thresholds import thresholds

SOURCE = Path(checker.__file__)
NOT_CHECKED = {
    # laws without a proof here
    "box cut off", "counts cut off", "cactus", "cactus, five releases", "flipped-huber",
    "gaussian-mixture", "generalized-gamma", "matrix", "optimal", "optimal-radial",
    "quasi-gaussian", "spherical-staircase", "release persons-without-signs", "release replaced",
    # several draws of another law than a Gaussian, where δ is above 0; samples
    "geometric, five releases", "geometric in cells", "loosely known", "plan together",
    "two sides, five releases", "of samples", "samples, three releases",
    # shifts and shapes
    "points", "polygon", "groups", "body, hexagon", "body, skew polygon", "release named",
    "body, split", "body, joint discs", "body, p = 1.7", "body, signed split",
    "body, signed squares", "body, signed three halves", "body, differences of split",
    "body, differences of squares", "body, differences of three halves",
    # keys alone, and groups that the sum of their numbers publishes
    "release keys", "release medians",
}  # fmt: skip


@pytest.mark.grid
@pytest.mark.parametrize("name", corpus.statements())
def test_golden_statements_are_proved_or_named(name: str) -> None:
    verdict = corpus.verdict(checker, json.dumps(corpus.statements()[name]))
    assert verdict == ("not checked" if name in NOT_CHECKED else "proved")


@pytest.mark.dense
def test_calibrated_certificates_are_proved() -> None:
    verdicts = {
        name: corpus.verdict(checker, json.dumps(record))
        for name, record in calibrated.records().items()
    }
    assert {name for name, verdict in verdicts.items() if verdict != "proved"} == set()
    assert len(verdicts) > 150


@pytest.mark.parametrize("name", calibrated.without_law())
def test_keys_and_limits_are_proved(name: str) -> None:
    assert corpus.verdict(checker, json.dumps(calibrated.without_law()[name])) == "proved"


EDGES = calibrated.false_steps() | calibrated.quantiles() | plans()
EDGES |= corpus.geometries() | corpus.fields() | thresholds()


@pytest.mark.grid
@pytest.mark.parametrize("name", EDGES)
def test_steps_at_the_edge_of_the_truth(name: str) -> None:
    record, verdict = EDGES[name]
    assert corpus.verdict(checker, json.dumps(record)) == verdict


@pytest.mark.dense
def test_other_sensitivities_are_proved_or_refused() -> None:
    verdicts = {
        name: corpus.verdict(checker, json.dumps(record))
        for name, record in calibrated.swapped().items()
    }
    assert verdicts == {
        "gaussian, 3 counts and their total": "proved",
        "gaussian, 8 of 24 replaced": "proved",
        "gaussian, 8 of 10 replaced": "rejected",
        "whole noise, any shift": "not checked",
        "laplace, 2 counts and their total": "not checked",
        "laplace, 2 of 3 numbers": "not checked",
        "laplace, l2 of 3": "not checked",
        "laplace, 3 rows that move": "not checked",
        "a tree of other cells": "rejected",
        "a tree with one branch too many": "rejected",
        "more queries than there are": "rejected",
        "a replaced total": "rejected",
    }


@pytest.mark.parametrize("folder", corpus.releases(), ids=lambda folder: folder.name)
def test_golden_releases_are_proved_or_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = f"release {folder.name}" not in NOT_CHECKED
    assert checker.check_release(folder) == wanted
    assert ("NOT CHECKED" not in capsys.readouterr().out) == wanted


@pytest.mark.parametrize(
    ("folder", "assumed"),
    [
        ("unlisted", "the count is number 1 (from 0), which one person changes by at most 1."),
        ("found", "at most 1 groups; the reach is 4."),
        ("found", " if a person is added or removed."),
        ("persons", 'ASSUMED: "one person" below means one "person", as plan.json says.'),
    ],
)
def test_all_on_which_the_proof_rests_is_printed(
    folder: str, assumed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    checker.check_release(corpus.GOLDEN / "releases" / folder)
    assert assumed in capsys.readouterr().out


def test_how_many_keys_one_person_has_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    checker.check_certificate(calibrated.without_law()["keys of 2, replace-one"])
    printed = capsys.readouterr().out
    assert "; one person has at most 2 keys." in printed
    assert " if a person is replaced by another." in printed


@pytest.mark.grid
@pytest.mark.parametrize("name", folders())
def test_edited_folders(name: str) -> None:
    files, verdict = folders()[name]
    assert corpus.verdict_on_files(checker, files) == verdict


def test_exit_codes() -> None:
    codes = [code for code, _ in corpus.runs(checker)]
    assert codes == [2, 2, 2, 0, 0, 3, 3, 1, 1, 1, 2]


@pytest.mark.dense
def test_numbers_hold_the_true_ones_and_are_close() -> None:
    verdicts = numbers.numbers(checker)
    assert not [name for name, good in verdicts if not all(good if type(good) is tuple else [good])]


def test_it_imports_the_standard_library_alone() -> None:
    nodes = ast.walk(ast.parse(SOURCE.read_text()))
    imported = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    nodes = ast.walk(ast.parse(SOURCE.read_text()))
    imported |= {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    assert imported == {
        "__future__", "csv", "hashlib", "json", "math", "sys", "fractions", "pathlib",
    }  # fmt: skip


def test_it_runs_without_leastnoise() -> None:
    folder = corpus.GOLDEN / "releases/rows"
    command = [sys.executable, "-I", "-S", SOURCE, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "SEAL: " in done.stdout
    assert "PROVED: 1 queries" in done.stdout
    assert "NOT CHECKED here: that one person moves" in done.stdout


def test_two_sided_noise_does_not_hide_what_is_replaced() -> None:
    """P and Q both move by 1 then; the law is private for one of them at a time."""
    record = json.loads(json.dumps(corpus.statements()["two sides with total"]))
    shifts = {"bound": "1", "dimension": 3, "max_nonzero": 2, "with_total": False}
    kind = {"kind": "counting-queries", "neighbours": "add-remove"}
    record["noise"]["parameters"]["of"] = {
        "kind": "counts", "queries": 3, "most": 2, "bound": "1",
    }  # fmt: skip
    record["sensitivity"] = kind | shifts
    record |= {"dimension": 3, "delta": "1e-3"}
    assert corpus.verdict(checker, json.dumps(record)) == "proved"
    record["sensitivity"]["neighbours"] = "replace-one"
    assert corpus.verdict(checker, json.dumps(record)) == "not checked"
