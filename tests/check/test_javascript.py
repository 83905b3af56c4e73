"""The JavaScript checker agrees with the Python one, about true and edited statements."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pandas as pd
import pytest

import leastnoise as ln
import leastnoise_check as checker
from tests.attacks import edits
from tests.check import corpus, numbers
from tests.check.folders import folders, wrong_types
from tests.check.javascript import SCRIPTS, Verdict, verdicts
from tests.check.test_hostile import TEXTS

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None, reason="needs node, of Debian's package nodejs"
)
EDITS = 400


def _python(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Verdict:
    monkeypatch.setattr(sys, "argv", ["leastnoise-check", str(path)])
    capsys.readouterr()
    with corpus.listed_ends(checker) as ends:
        code = checker.main()
    return code, capsys.readouterr().out.splitlines(), ends


def _agree(python: Verdict, javascript: Verdict) -> bool:
    """True if both say the same, but for how they quote values and name errors of the language."""
    if (python[0], python[2]) != (javascript[0], javascript[2]):
        return False
    if python[0] in {0, 3}:
        return python[1] == javascript[1]
    return python[0] == 2 or [*map(_unquoted, python[1])] == [*map(_unquoted, javascript[1])]


def _unquoted(line: str) -> str:
    return re.sub(r"['\"].*['\"]", "…", line)


@pytest.mark.grid
@pytest.mark.parametrize(
    "output",
    [
        {"format": "xlsx"},
        {"format": "csv", "headers": "both"},
        {"format": "sdmx-csv", "agency": "OFFICE"},
    ],
    ids=lambda output: output["format"],
)
def test_every_format_of_tables(
    output: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if output["format"] == "xlsx":
        pytest.importorskip("xlsxwriter")
    ln.Release(
        data=pd.DataFrame({"k": ["a", "b", "b"]}),
        privacy={"unit": "row", "epsilon": 1},
        query=[{"name": "q", "statistics": ["count"], "group_by": {"k": ["a", "b"]}}],
        output={"path": "out", **output},
        folder=tmp_path,
    ).run()
    folder = tmp_path / "out"
    (answer,) = verdicts([{path.name: path.read_bytes() for path in folder.iterdir()}])
    assert answer == _python(folder, monkeypatch, capsys)
    assert answer[0] == 0


@pytest.fixture
def compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def disagreements(texts: dict[str, str]) -> dict[str, tuple[Verdict, Verdict]]:
        contents = {name: text.encode("utf-8", "surrogatepass") for name, text in texts.items()}
        answers = verdicts([{"a.json": content} for content in contents.values()])
        wrong, path = {}, tmp_path / "a.json"
        for (name, content), javascript in zip(contents.items(), answers, strict=True):
            path.write_bytes(content)
            python = _python(path, monkeypatch, capsys)
            if not _agree(python, javascript):
                wrong[name] = python, javascript
        return wrong

    return disagreements


@pytest.mark.dense
def test_statements_and_plans(compare) -> None:
    records = corpus.compared().items()
    assert compare({name: json.dumps(record) for name, record in records}) == {}


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
    for folder, answer in zip(folders, verdicts(cases), strict=True):
        assert answer == _python(folder, monkeypatch, capsys)


@pytest.mark.dense
def test_edited_folders() -> None:
    answers = verdicts([files for files, _ in folders().values()])
    codes = {"proved": 0, "rejected": 1}
    wrong = {
        name: answer
        for (name, (_, verdict)), answer in zip(folders().items(), answers, strict=True)
        if answer[0] != codes[verdict]
    }
    assert wrong == {}


@pytest.mark.dense
@pytest.mark.parametrize("name", ["rows", "persons", "unlisted"])
def test_edited_releases(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(corpus.GOLDEN / "releases" / name, tmp_path / name))
    contents = {path.name: path.read_bytes() for path in folder.iterdir()}
    cases = [contents | {file: content + b" "} for file, content in contents.items()]
    cases += [{n: c for n, c in contents.items() if n != absent} for absent in contents]
    for case, answer in zip(cases, verdicts(cases), strict=True):
        for path in folder.iterdir():
            path.unlink()
        for file, content in case.items():
            (folder / file).write_bytes(content)
        assert _agree(_python(folder, monkeypatch, capsys), answer)


@pytest.mark.dense
@pytest.mark.parametrize("name", ["rows", "found"])
def test_plans_without_a_field(name: str, tmp_path: Path, monkeypatch, capsys) -> None:
    folder = Path(shutil.copytree(corpus.GOLDEN / "releases" / name, tmp_path / name))
    plan, seal = (json.loads((folder / f).read_text()) for f in ("plan.json", "release.json"))
    places = [("noisy_parts", 0, "errors", 0)]
    places += [path for path in edits._paths(plan) if len(path) in {1, 3, 5}]
    cases, answers = [], []
    for place in places:
        text = edits.applied(plan, (place, "set", {}) if len(place) == 4 else (place, "remove", 0))
        (folder / "plan.json").write_text(text)
        seal["files"]["plan.json"] = hashlib.sha256(text.encode()).hexdigest()
        (folder / "release.json").write_text(json.dumps(seal))
        cases.append({path.name: path.read_bytes() for path in folder.iterdir()})
        answers.append(_python(folder, monkeypatch, capsys))
    wrong = [
        (place, python, answer)
        for place, python, answer in zip(places, answers, verdicts(cases), strict=True)
        if not _agree(python, answer)
    ]
    assert wrong == []
    assert len({python[0] for python in answers}) > 1


@pytest.mark.dense
@pytest.mark.parametrize("name", ["rows", "unlisted"])
def test_fields_of_a_wrong_type(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Values of wrong types get one verdict in both languages, and break neither program."""
    known, codes = wrong_types(name), set()
    for (case, files), answer in zip(known.items(), verdicts([*known.values()]), strict=True):
        for file, content in files.items():
            (tmp_path / file).write_bytes(content)
        python = _python(tmp_path, monkeypatch, capsys)
        assert _agree(python, answer), (case, python, answer)
        codes.add(python[0])
    assert {0, 1} <= codes <= {0, 1, 3}


def _javascript_call(name: str, *arguments: str) -> str:
    first, *more = name.split("_")
    kinds = {"b": "Ball.of(spelled('{}'))", "f": "spelled('{}')", "i": "{}", "m": "{}"}
    values = ", ".join(kinds[text[0]].format(text[1:]) for text in arguments)
    call = f"{first}{''.join(word.title() for word in more)}({values})"
    return f"[{call}].flat().map((ball) => `${{ball.low}} ${{ball.high}}`)"


@pytest.mark.dense
@pytest.mark.parametrize(
    "several",
    [numbers.CALLS, pytest.param(numbers.LONG_CALLS, marks=pytest.mark.dense)],
    ids=["short", "long"],
)
def test_functions_enclose_numbers_alike(several: list[str]) -> None:
    calls = [call.split() for call in several]
    source = "".join(path.read_text() for path in SCRIPTS)
    listed = ", ".join(_javascript_call(*call) for call in calls)
    source += f"console.log(JSON.stringify([{listed}]));"
    done = subprocess.run(["node"], input=source, capture_output=True, text=True, check=True)
    for call, ends in zip(calls, json.loads(done.stdout), strict=True):
        assert ends == numbers.ends_of_call(checker, *call), call
