"""The checker in JavaScript says what the one in Python says, of true and of edited statements."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import leastnoise_check as checker
from leastnoise.report import check_page
from tests.check import corpus
from tests.check.test_hostile import TEXTS

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None, reason="needs node, of Debian's package nodejs"
)
SCRIPT = Path(check_page.__file__).with_name("check.js")
RUN = Path(__file__).with_name("checks.js")
EDITS = 400
Verdict = tuple[int, list[str]]


def _javascript(cases: list[dict[str, bytes]]) -> list[Verdict]:
    lines = [
        json.dumps([(name, base64.b64encode(content).decode()) for name, content in case.items()])
        for case in cases
    ]
    command = ["node", RUN, SCRIPT]
    done = subprocess.run(
        command, input="\n".join(lines), capture_output=True, text=True, check=True
    )
    return [(code, printed) for code, printed in map(json.loads, done.stdout.splitlines())]


def _python(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Verdict:
    monkeypatch.setattr(sys, "argv", ["leastnoise-check", str(path)])
    capsys.readouterr()
    return checker.main(), capsys.readouterr().out.splitlines()


def _agree(python: Verdict, javascript: Verdict) -> bool:
    """True if both say the same, but for how they quote values and name errors of the language."""
    if python[0] != javascript[0] or python[0] == 2:
        return python[0] == javascript[0]
    if python[0] != 1:
        return python[1] == javascript[1]
    return [_unquoted(x) for x in python[1]] == [_unquoted(x) for x in javascript[1]]


def _unquoted(line: str) -> str:
    return re.sub(r"['\"].*['\"]", "…", line)


@pytest.fixture
def compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def disagreements(texts: dict[str, str]) -> dict[str, tuple[Verdict, Verdict]]:
        contents = {name: text.encode("utf-8", "surrogatepass") for name, text in texts.items()}
        answers = _javascript([{"a.json": content} for content in contents.values()])
        wrong, path = {}, tmp_path / "a.json"
        for (name, content), javascript in zip(contents.items(), answers, strict=True):
            path.write_bytes(content)
            python = _python(path, monkeypatch, capsys)
            if not _agree(python, javascript):
                wrong[name] = python, javascript
        return wrong

    return disagreements


@pytest.mark.dense
def test_golden_statements(compare) -> None:
    texts = {name: json.dumps(record) for name, record in corpus.statements().items()}
    assert compare(texts) == {}


@pytest.mark.dense
def test_edited_statements(compare) -> None:
    edited = Random(50).sample(list(corpus.texts()), EDITS)
    assert compare(dict(edited)) == {}


@pytest.mark.slow
def test_all_edited_statements(compare) -> None:
    assert compare(dict(corpus.texts())) == {}


@pytest.mark.dense
def test_hostile_texts(compare) -> None:
    assert compare({name: text for name, (text, _) in TEXTS.items()}) == {}


@pytest.mark.dense
def test_golden_releases(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = corpus.releases()
    cases = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders]
    for folder, answer in zip(folders, _javascript(cases), strict=True):
        assert answer == _python(folder, monkeypatch, capsys)


@pytest.mark.dense
@pytest.mark.parametrize("name", ["rows", "persons", "unlisted"])
def test_edited_releases(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(corpus.GOLDEN / "releases" / name, tmp_path / name))
    contents = {path.name: path.read_bytes() for path in folder.iterdir()}
    cases = [contents | {file: content + b" "} for file, content in contents.items()]
    cases += [{n: c for n, c in contents.items() if n != absent} for absent in contents]
    for case, answer in zip(cases, _javascript(cases), strict=True):
        for path in folder.iterdir():
            path.unlink()
        for file, content in case.items():
            (folder / file).write_bytes(content)
        assert _agree(_python(folder, monkeypatch, capsys), answer)
