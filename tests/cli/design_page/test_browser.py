"""The page in headless Chromium: from a CSV to a report, and names that would like to be HTML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.design_page import browser
from tests.cli.design_page.browser import Browser
from tests.cli.design_page.test_planner import ROWS, TEXTS
from tests.cli.design_page.test_server import serve
from tests.cli.program import run

pytestmark = [
    pytest.mark.dense,
    pytest.mark.skipif(browser.NAME is None, reason="needs Chromium"),
]
HOW_TO = Path(__file__).parents[3] / "docs/howto/design.md"
HOSTILE = '</script><img src=x onerror="document.title=1">'
PLANNED = "document.querySelector('#plan table')"
UNLABELLED = """[...document.querySelectorAll("input, select, textarea, button")].filter(
  (one) => !(one.labels?.length || one.ariaLabel || one.textContent.trim())).length"""
NOT_REACHED = """[...document.querySelectorAll("main :is(input, select, textarea, button)")]
  .filter((one) => one.tabIndex < 0).length"""


@pytest.fixture
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser.browser(tmp_path_factory.mktemp("profile")) as driven:
        yield driven
        assert driven.errors == []  # of scripts, or of the policy


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "visits.csv").write_text(ROWS)
    return tmp_path


def _fill(page: Browser) -> None:
    """Fill in the form as the documentation says, by the fields' keys."""
    rows = re.findall(r"^\| `(.*?)` \| `(.*)` \|$", HOW_TO.read_text(), re.MULTILINE)
    assert len(rows) > 10
    for key, text in rows:
        page.fill(key, text)


def test_from_a_csv_to_a_report(page: Browser, folder: Path) -> None:
    with serve(folder / "spec.toml") as designer:
        page.open(designer.address)
        page.wait("document.getElementById('error').textContent.includes('privacy.unit')")
        assert page.evaluate("document.getElementById('run').disabled")
        assert (
            page.evaluate("document.querySelector('[aria-invalid]').dataset.key") == "data.source"
        )
        _fill(page)
        page.wait(PLANNED)
        errors = "document.querySelector('#plan tbody td:nth-child(4)').textContent"
        wide = float(page.evaluate(errors))
        cells = "[...document.querySelectorAll('#plan tbody :is(th, td)')].map((c) => c.innerText)"
        (shown,) = re.findall(r"```text\n(by_plan.*?)```", HOW_TO.read_text(), re.DOTALL)
        assert " ".join(page.evaluate(cells)).split() == shown.split()
        page.evaluate("document.getElementById('slider').value = '0.3'")
        page.evaluate("document.getElementById('slider').dispatchEvent(new Event('input'))")
        page.wait("document.getElementById('state').textContent.includes('(2,')")
        assert float(page.evaluate(errors)) < wide / 1.8
        assert f"the count has ±{page.evaluate(errors)}." in HOW_TO.read_text()
        assert page.text("epsilon") == "2"
        assert {path.name for path in folder.iterdir()} == {"visits.csv"}

        page.press("save")
        page.wait("document.getElementById('done').textContent === 'Saved spec.toml.'")
        assert (folder / "spec.toml").read_text() == page.text("toml")
        printed = run("release", "spec.toml", "--plan", cwd=folder).stdout
        assert page.evaluate(errors) in printed

        page.accepts = False
        page.press("run")
        page.wait("!document.getElementById('run').disabled")
        assert not (folder / "out").exists()
        page.accepts = True
        page.press("run")
        page.wait("document.querySelector('#done a')")
        assert [dialog[:15] for dialog in page.dialogs] == ["Run the release"] * 2
        assert run("verify", "out", cwd=folder).returncode == 0
        page.open(page.evaluate("document.querySelector('#done a').href"))
        assert page.evaluate("document.querySelector('h1').textContent") == "out"
        page.press("check-button")
        page.wait("document.getElementById('check-verdict').textContent.startsWith('All draws')")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_and_every_field_has_a_name(page: Browser, folder: Path, width: int) -> None:
    with serve(folder / "spec.toml") as designer:
        designer.texts = TEXTS
        page.open(designer.address, width=width)
        page.wait(PLANNED)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(UNLABELLED) == 0
        assert page.evaluate(NOT_REACHED) == 0
        assert page.evaluate("document.querySelectorAll('[data-key]').length") > 60
        page.fill("query[0].name", "n" * 300)
        page.wait("document.getElementById('error').hidden === false")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_spec_is_opened_and_replaced_only_after_a_question(page: Browser, folder: Path) -> None:
    spec = folder / "spec.toml"
    with serve(spec) as designer:
        designer.save(TEXTS, replace=False)
    before = f"# mine\n{spec.read_text()}"
    spec.write_text(before)
    with serve(spec) as designer:
        page.open(designer.address)
        page.wait(PLANNED)
        page.evaluate("document.querySelector('#section-query > button').click()")
        page.fill("query[1].statistics", "count_units")
        page.wait("document.querySelectorAll('#plan tbody tr').length === 3")
        page.accepts = False
        page.press("save")
        page.wait("!document.getElementById('save').disabled")
        assert page.dialogs == ["spec.toml exists already. Replace it? Its comments are lost."]
        assert spec.read_text() == before
        page.accepts = True
        page.press("save")
        page.wait("document.getElementById('done').textContent === 'Saved spec.toml.'")
        assert "table2" in spec.read_text()
        page.evaluate("document.querySelector('#items-query fieldset > button').click()")
        page.wait("document.querySelectorAll('#plan tbody tr').length === 1")


def test_hostile_names_stay_text(page: Browser, folder: Path) -> None:
    names = [HOSTILE, "__proto__", "constructor", "a, (b", "\u202eevil", "person"]
    header = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    (folder / "visits.csv").write_text(f"{header}\n")
    (folder / f"{HOSTILE.replace('/', '')}.csv").write_text(header)
    with serve(folder / "spec.toml") as designer:
        page.open(designer.address)
        page.fill("data.source", "visits.csv")
        page.wait("document.querySelectorAll('#types select').length === 6")
        for name in names:
            page.fill(f"data.types.{name}", "int")
            page.fill(f"columns.{name}.keys", "1, 2")
        page.fill("privacy.unit", "row")
        group = "document.querySelectorAll('#items-query .add')[1]"
        for index in range(len(names)):
            page.evaluate(f"{group}.querySelector('select').selectedIndex = {index}")
            page.evaluate(f"{group}.querySelector('button').click()")
        page.wait(PLANNED)
        assert json.loads(json.dumps(designer.texts["columns"].keys() >= {*names}))
        assert page.evaluate("document.querySelectorAll('img, main script').length") == 0
        assert page.evaluate("document.title") == "Design a release"
        assert page.evaluate("({}).keys") is None  # no name reached the prototype of objects
        summaries = page.evaluate(
            "[...document.querySelectorAll('#items-columns summary')].map((one) => one.innerText)"
        )
        assert summaries[0] == HOSTILE
        assert "?evil" in summaries
        plan = run("release", "spec.toml", "--plan", cwd=folder)
        assert plan.returncode == 2  # nothing was saved
        page.press("save")
        page.wait("document.getElementById('done').textContent === 'Saved spec.toml.'")
        assert run("release", "spec.toml", "--plan", cwd=folder).returncode == 0


def test_only_the_newest_change_is_shown(page: Browser, folder: Path) -> None:
    with serve(folder / "spec.toml") as designer:
        designer.texts = TEXTS
        page.open(designer.address)
        page.wait(PLANNED)
        for epsilon in ("0.1", "0.2", "0.3", "0.4"):
            page.fill("privacy.epsilon", epsilon)
            assert page.evaluate("document.getElementById('run').disabled")
        page.wait("document.getElementById('state').textContent.includes('(0.4,')")
        assert page.text("epsilon") == "0.4"
        assert abs(float(page.evaluate("document.getElementById('slider').value")) + 0.4) < 0.01
