"""A browser checks a release: by the report's button, with its folder, and in check.html."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from benchmarks.report_pictures import chromium
from leastnoise.report import check_page, page
from tests.check import corpus

needs_chromium = pytest.mark.skipif(
    shutil.which(os.environ.get("CHROMIUM", "chromium")) is None, reason="needs Chromium"
)
RELEASE = corpus.GOLDEN / "releases/persons"
PRESS = Path(__file__).with_name("check_in_browser.js").read_text()
PROVED, REJECTED, MALFORMED, UNKNOWN = (
    "All draws are proved.",
    "Rejected: something is false.",
    "This is no certificate and no release.",
    "Nothing that was checked is false, but not all draws are proved.",
)
Contents = dict[str, bytes]


def _contents(folder: Path = RELEASE) -> Contents:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _press(
    folder: Path,
    text: str,
    contents: Contents | None = None,
    *,
    width: int = 1280,
    drop: bool = False,
    late: bool = False,
) -> dict[str, Any]:
    """The text that a page shows after its button was pressed, or after it was given files."""
    (folder / "page.html").write_text(text)
    files = contents and [(n, base64.b64encode(b).decode()) for n, b in contents.items()]
    values = {"PAGE": "page.html", "WIDTH": width, "FILES": files, "DROP": drop, "LATE": late}
    given = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in values.items())
    frame = folder / "frame.html"
    frame.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><pre id="seen"></pre><script>{given}{PRESS}</script>'
    )
    shown = chromium(folder, frame, "--virtual-time-budget=100000", "--dump-dom")
    seen = json.loads(html.unescape(shown.split('<pre id="seen">')[1].split("</pre>")[0]))
    assert seen["elements"] == 0  # texts stay texts
    assert seen["width"] <= width
    assert (seen["workers"], seen["refused"]) == (1, []) or contents is not None
    return seen


@pytest.fixture(scope="module")
def report() -> str:
    return page.report(RELEASE)


@needs_chromium
@pytest.mark.dense
@pytest.mark.parametrize("width", [390, 1280])
def test_the_button_proves_a_true_release(tmp_path: Path, report: str, width: int) -> None:
    seen = _press(tmp_path, report, width=width)
    assert seen["verdict"] == PROVED
    assert seen["lines"][0] == "SEAL: 2 files have the SHA-256 that release.json states."
    assert "by_age.csv" in seen["lines"][1]
    assert any(line.startswith("PROVED: 2 queries in 1 release(s)") for line in seen["lines"])


@needs_chromium
@pytest.mark.dense
@pytest.mark.parametrize("width", [390, 1280])
def test_the_button_rejects_an_edited_release(tmp_path: Path, report: str, width: int) -> None:
    edits = _spends_less(_data(report))
    seal = edits.pop("release.json")
    seen = _press(tmp_path, _replace(report, edits), width=width)
    assert seen["verdict"] == REJECTED
    changed = 'REJECTED: "certificate.json" was changed: its SHA-256 is another.'
    assert seen["lines"] == [changed]
    resealed = _replace(report, edits | {"release.json": seal})
    seen = _press(tmp_path, resealed, width=width)
    assert seen["verdict"] == REJECTED
    assert seen["lines"][-1] == "REJECTED: The queries spend more than the plan promises."


def _spends_less(texts: dict[str, str]) -> dict[str, str]:
    """The texts of a release that promises a smaller ε than it has, with their SHA-256."""
    seal = json.loads(texts["release.json"])
    edits = {}
    for name in ("certificate.json", "plan.json"):
        edits[name] = json.dumps(json.loads(texts[name]) | {"epsilon": "1.9"})
        seal["files"][name] = hashlib.sha256(edits[name].encode()).hexdigest()
    return edits | {"release.json": json.dumps(seal)}


def _data(text: str) -> dict[str, str]:
    (data,) = re.findall(r'<script type="application/json" id="check-data">(.*?)</script>', text)
    return json.loads(data)


def _replace(text: str, edits: dict[str, str]) -> str:
    texts = _data(text)
    old, new = (json.dumps(t).replace("<", "\\u003c") for t in (texts, texts | edits))
    assert old in text
    return text.replace(old, new)


@needs_chromium
@pytest.mark.dense
def test_a_report_checks_the_folder_of_its_tables(tmp_path: Path, report: str) -> None:
    contents = _contents()
    seen = _press(tmp_path, report, contents)
    assert seen["verdict"] == PROVED
    assert seen["lines"][0] == "SEAL: 7 files have the SHA-256 that release.json states."
    seen = _press(tmp_path, report, contents | {"visits.csv": b"edited"}, width=390)
    assert seen["verdict"] == REJECTED
    assert '"visits.csv"' in seen["lines"][0]
    seen = _press(tmp_path, report, _contents(corpus.GOLDEN / "releases/rows"))
    assert seen["verdict"] == REJECTED
    assert "not the one of this page" in seen["lines"][0]


@needs_chromium
@pytest.mark.dense
@pytest.mark.parametrize("drop", [False, True])
def test_check_html_checks_folders_and_certificates(tmp_path: Path, drop: bool) -> None:
    text, contents = check_page.check_page(), _contents()
    assert _press(tmp_path, text, contents, drop=drop)["verdict"] == PROVED
    edited = contents | {"plan.json": contents["plan.json"] + b" "}
    assert _press(tmp_path, text, edited, drop=drop, width=390)["verdict"] == REJECTED
    certificate = json.dumps(corpus.statements()["gaussian"])
    record = {"gaussian.json": certificate.encode()}
    assert _press(tmp_path, text, record, drop=drop, width=390)["verdict"] == PROVED


HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\x1b"


@needs_chromium
@pytest.mark.dense
def test_hostile_files_stay_text(tmp_path: Path) -> None:
    text = check_page.check_page()
    plan = corpus.statements()["plan of sums"]
    draws = [draw | {"name": f"{HOSTILE} {n}"} for n, draw in enumerate(plan["draws"])]
    named = {"a.json": json.dumps(plan | {"draws": draws}).encode()}
    seen = _press(tmp_path, text, named, width=390)
    assert seen["verdict"] == PROVED
    assert f"Query {json.dumps(HOSTILE + ' 0')}:" in seen["lines"]
    seal = json.loads(_contents()["release.json"])
    outside = json.dumps(seal | {"files": seal["files"] | {f"../{HOSTILE}": "0"}}).encode()
    assert _press(tmp_path, text, _contents() | {"release.json": outside})["verdict"] == REJECTED
    for content, verdict in (
        (b"[" * 10**6, MALFORMED),
        (b"\xff", MALFORMED),
        (b'{"kind": "__proto__"}', REJECTED),
        (b'{"kind": "constructor", "__proto__": 1}', REJECTED),
        (b'{"a": ' + b"9" * 10**6 + b"}", MALFORMED),
    ):
        assert _press(tmp_path, text, {"a.json": content})["verdict"] == verdict


@needs_chromium
@pytest.mark.dense
def test_a_long_proof_does_not_freeze_the_page(tmp_path: Path) -> None:
    record = json.loads(json.dumps(corpus.statements()["ellipse"]))
    record["dimension"] = record["geometry"]["queries"] = 20_000
    record["sensitivity"] |= {"dimension": 20_000, "max_nonzero": 20_000}
    record["geometry"]["shared"] = f"1e-5{'3' * 400}".replace("e-5", ".")
    slow = {"a.json": json.dumps(record).encode()}
    seen = _press(tmp_path, check_page.check_page(), slow, late=True)
    assert seen["verdict"] == "Not checked: it takes more than 120 seconds here."


def test_both_pages_have_one_script_and_no_network(report: str) -> None:
    for text in (report, check_page.check_page()):
        policy = html.unescape(re.findall(r'Content-Security-Policy" content="(.*?)"', text)[0])
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy.replace("style-src 'unsafe-inline'", "")
        assert "http" not in policy
        scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
        assert scripts == [check_page.script()]
    assert not re.search(r"</script|<!--", check_page.script(), re.IGNORECASE)
    assert not re.search(r"\b(fetch|XMLHttpRequest|innerHTML|eval)\b", check_page.script())


def test_the_data_of_a_report_is_that_of_its_folder(report: str) -> None:
    contents = _contents()
    assert {name: text.encode() for name, text in _data(report).items()} == {
        name: contents[name] for name in ("release.json", "certificate.json", "plan.json")
    }


def test_the_checker_is_small() -> None:
    assert len(check_page.script().encode()) <= 60_000
