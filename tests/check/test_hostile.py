"""Hostile input ends in one of four exit codes, soon, and prints no control character."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import leastnoise_check as checker
from tests.check import calibrated, corpus

PROVED, FALSE, MALFORMED, UNKNOWN = 0, 1, 2, 3


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["leastnoise-check", *map(str, arguments)])
    return checker.main()


def _changed(name: str, **values: Any) -> str:
    record = json.loads(json.dumps(corpus.statements()[name]))
    for path, value in values.items():
        *above, last = path.split("__")
        inner = record
        for key in above:
            inner = inner[int(key) if isinstance(inner, list) else key]
        inner[last] = value
    return json.dumps(record)


_GAUSSIAN = json.dumps(corpus.statements()["gaussian"])
TEXTS: dict[str, tuple[str, int]] = {
    "empty": ("", MALFORMED),
    "a list": ("[]", FALSE),
    "deep lists": ("[" * 100_000, MALFORMED),
    "a long whole number": ('{"a": ' + "9" * 9000 + "}", MALFORMED),
    "NaN": (_GAUSSIAN.replace('"compositions": 1', '"compositions": NaN'), FALSE),
    "a field twice": (_GAUSSIAN.replace('"version": 1', '"version": 1, "version": 1'), FALSE),
    "no kind": ("{}", FALSE),
    "control characters": ('{"kind": "\\u001b[31m\\u0000"}', FALSE),
    "a giant exponent": (_changed("gaussian", epsilon="1e999999999"), FALSE),
    "a long exponent": (_changed("gaussian", epsilon="1e-9999"), FALSE),
    "an exact NaN": (_changed("gaussian", epsilon="nan"), FALSE),
    "blanks": (_changed("gaussian", epsilon=" 1"), FALSE),
    "digits of another script": (_changed("gaussian", epsilon="\u0661"), FALSE),
    "a scale of 0": (_changed("gaussian", noise__parameters__scale="0"), FALSE),
    "a negative δ": (_changed("gaussian", delta="-1e-3"), FALSE),
    "a giant dimension": (_changed("gaussian", dimension=10**300), UNKNOWN),
    "many releases": (_changed("gaussian", compositions=2**53), UNKNOWN),
    "true for 1": (_changed("gaussian", compositions=True), FALSE),
    "another version": (_changed("gaussian", version=2), FALSE),
    "other assumptions": (_changed("gaussian", assumptions=[]), FALSE),
    "a large ε": (_changed("gaussian", epsilon="99999"), UNKNOWN),
    "a tree of 2^60 cells": (
        _changed("tree", noise__parameters__branches=[2**10] * 6, dimension=6), FALSE,
    ),
    "a plan with a δ of 1": (_changed("plan of sums", delta="1"), FALSE),
    "a plan without draws": (_changed("plan of sums", draws=[]), FALSE),
    "a plan with a large ε": (_changed("release zcdp", epsilon="19.9"), UNKNOWN),
    "a plan of very many draws": (_changed("plan of sums", draws=[0] * 50_001), UNKNOWN),
    "a plan with a giant ε": (_changed("plan of sums", epsilon="200000"), UNKNOWN),
    "a plan with a giant ε and a false draw": (
        _changed("plan of sums", epsilon="200000", draws__0__certificate__epsilon="1e-3"), FALSE,
    ),
    "draws in an object": (_changed("plan of sums", draws={}), FALSE),
    "weights of 0": (_changed("discrete-staircase", noise__parameters__masses=[0, 0]), FALSE),
    "nested shapes": (
        _changed("ball", sensitivity={"kind": "within", "hull": None}), FALSE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_texts(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text, wanted = TEXTS[name]
    (tmp_path / "a.json").write_text(text)
    before = time.process_time()
    assert _run(monkeypatch, tmp_path / "a.json") == wanted
    assert time.process_time() - before < 30  # CPU seconds: it ends
    printed = capsys.readouterr().out
    assert all(letter.isprintable() or letter == "\n" for letter in printed)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(corpus.GOLDEN / "releases/rows", tmp_path / "rows"))


def _edit(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_release_as_it_was_is_proved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(monkeypatch, folder) == PROVED


def test_edited_files_are_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        path.write_bytes(content + b" ")
        assert _run(monkeypatch, folder) == (PROVED if path.name == "release.json" else FALSE)
        path.unlink()
        assert _run(monkeypatch, folder) == MALFORMED
        path.write_bytes(content)


@pytest.mark.parametrize("name", ["../rows.toml", "/etc/passwd", "..", "", "a\x00b", "a\\b"])
def test_no_file_outside_the_folder_is_read(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seal = json.loads((folder / "release.json").read_text())
    _edit(folder / "release.json", files=seal["files"] | {name: "0" * 64})
    assert _run(monkeypatch, folder) == FALSE


def test_links_are_not_followed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "plan.json").rename(tmp_path / "plan.json")
    (folder / "plan.json").symlink_to(tmp_path / "plan.json")
    assert _run(monkeypatch, folder) == MALFORMED


def test_a_sum_above_the_promise_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = json.loads(json.dumps(corpus.statements()["plan of sums"]))
    for part, value in (("epsilon", "1.9999999999"), ("delta", "1.9e-3")):
        (tmp_path / "a.json").write_text(json.dumps(record | {part: value}))
        assert _run(monkeypatch, tmp_path / "a.json") == FALSE
    (tmp_path / "a.json").write_text(json.dumps(record))
    assert _run(monkeypatch, tmp_path / "a.json") == PROVED


def _seal_plan(folder: Path, plan: Any) -> None:
    (folder / "plan.json").write_text(json.dumps(plan))
    seal = json.loads((folder / "release.json").read_text())
    digest = checker.hashlib.sha256((folder / "plan.json").read_bytes()).hexdigest()
    _edit(folder / "release.json", files=seal["files"] | {"plan.json": digest})


@pytest.mark.parametrize("field", [{"neighbours": "replace-one"}, {"version": True}])
def test_a_plan_that_states_another_guarantee_is_seen(
    field: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(corpus.GOLDEN / "releases/unlisted", tmp_path / "unlisted"))
    _seal_plan(folder, json.loads((folder / "plan.json").read_text()) | field)
    assert _run(monkeypatch, folder) == FALSE


def test_another_standard_deviation_is_seen(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = json.loads((folder / "plan.json").read_text())
    plan["noisy_parts"][0]["errors"][0]["std"] *= 1.00001
    _seal_plan(folder, plan)
    assert _run(monkeypatch, folder) == FALSE
    assert "standard deviation" in capsys.readouterr().out


def test_a_false_draw_is_seen_in_a_plan_that_is_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = json.loads(_changed("plan of sums", epsilon="200000"))
    (tmp_path / "a.json").write_text(json.dumps(record))
    assert _run(monkeypatch, tmp_path / "a.json") == UNKNOWN
    last = "Nothing that was checked is false, but not all draws are proved."
    assert capsys.readouterr().out.splitlines()[-1] == last
    record["draws"][-1]["certificate"]["epsilon"] = "1e-3"
    (tmp_path / "a.json").write_text(json.dumps(record))
    assert _run(monkeypatch, tmp_path / "a.json") == FALSE


def test_a_false_plan_is_seen_behind_one_that_is_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = json.loads(json.dumps(calibrated.without_law()["limit, add-remove"]))
    first, second = record["plans"][:2]
    first["draws"][0]["certificate"]["noise"]["name"] = "optimal"
    (tmp_path / "a.json").write_text(json.dumps(record))
    assert _run(monkeypatch, tmp_path / "a.json") == UNKNOWN
    second["draws"][0]["certificate"]["epsilon"] = "1e-3"
    (tmp_path / "a.json").write_text(json.dumps(record))
    assert _run(monkeypatch, tmp_path / "a.json") == FALSE


def test_a_plan_that_is_not_read_is_not_called_true(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(_changed("plan of sums", draws=[0] * 50_001))
    assert _run(monkeypatch, tmp_path / "a.json") == UNKNOWN
    assert capsys.readouterr().out.splitlines()[-1] == "The rest was not checked."


def test_usage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert _run(monkeypatch) == MALFORMED
    assert _run(monkeypatch, "--help") == MALFORMED
    assert _run(monkeypatch, tmp_path / "none.json") == MALFORMED
