"""A page that a browser prints: nothing is cut off or folded, and tables are kept together.

Chromium prints as on a user's command; the tests are skipped if it isn't installed.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from benchmarks.report_pictures import chromium
from leastnoise.report import page
from tests.tables.test_release import make_rows, release

pytestmark = pytest.mark.skipif(
    shutil.which(os.environ.get("CHROMIUM", "chromium")) is None, reason="needs Chromium"
)
PLANS = [*range(30)]
PAPER = 680  # pixels of an A4 page between its margins
LONG = "a label of sixty letters, which is more than any column has room"
SEEN = """<!DOCTYPE html><pre id="seen"></pre>
<iframe id="page" src="page.html" width="{width}" height="900"></iframe><script>
onload = () => {{
  const page = document.getElementById("page").contentDocument;
  const all = (which) => [...page.querySelectorAll(which)];
  const look = (name, of) => page.defaultView.getComputedStyle(of)[name];
  document.getElementById("seen").textContent = JSON.stringify({{
    width: page.documentElement.scrollWidth,
    folded: all("details *").filter((one) => !one.checkVisibility({{
      contentVisibilityAuto: true, visibilityProperty: true}})).length,
    inside: all("details *").length,
    broken: all("article, figure, tr").filter((one) => look("breakInside", one) !== "avoid").length,
    kept: all("article, figure, tr").length,
    heads: all("thead").map((one) => look("display", one)),
    colours: [look("color", page.body), look("backgroundColor", page.body),
      ...all(".dot, .whisker").map((one) => look("stroke", one) + look("fill", one))],
    scrolls: all(".wide").filter((one) => look("overflowX", one) !== "visible").length,
  }});
}}</script>"""


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = make_rows(tmp_path_factory.mktemp("print"))
    release(
        folder,
        privacy={"unit": "who", "epsilon": 1},
        columns={"x": {"bounds": [0, 10**7], "label": LONG}},
        query=[
            {
                "name": "long",
                "statistics": ["count", "mean(x)"],
                "group_by": {"plan": [*range(30)]},
            },
            {
                "name": "wide",
                "statistics": ["sum(x)"],
                "group_by": {"plan": PLANS, "x": {"edges": [0, 1, 2, 3, 4, 5, 10]}},
            },
        ],
    ).run()
    return page.report(folder / "out")


def _see(folder: Path, text: str) -> dict[str, Any]:
    (folder / "page.html").write_text(text)
    frame = folder / "frame.html"
    frame.write_text(SEEN.format(width=PAPER))
    shown = chromium(folder, frame, "--dump-dom")
    return json.loads(html.unescape(shown.split('<pre id="seen">')[1].split("</pre>")[0]))


@pytest.mark.dense
def test_on_paper_everything_is_there(tmp_path: Path, text: str) -> None:
    paper = text.replace("@media print", "@media all")
    assert paper != text
    seen, screen = _see(tmp_path, paper), _see(tmp_path, text)
    assert seen["inside"] > 20
    assert seen["folded"] == 0
    assert screen["folded"] > 20
    assert seen["kept"] > 60
    assert seen["broken"] == 0
    assert seen["width"] <= PAPER
    assert seen["scrolls"] == 0
    assert set(seen["heads"]) == {"table-header-group"}
    assert seen["colours"][:2] == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    assert all(_is_dark(colour) for colour in seen["colours"][2:])


def _is_dark(colour: str) -> bool:
    """True if the colour stands out from white paper printed without colours (WCAG's 7 to 1)."""
    red, green, blue = map(int, re.findall(r"rgb\((\d+), (\d+), (\d+)\)", colour)[0])
    linear = [((item / 255 + 0.055) / 1.055) ** 2.4 for item in (red, green, blue)]
    light = sum(w * item for w, item in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return 1.05 / (light + 0.05) > 7


@pytest.mark.dense
def test_a_browser_prints_what_is_folded(tmp_path: Path, text: str) -> None:
    """The pages are as many as if all had been opened before, and more than without."""
    opened = _pages(tmp_path, "opened", text.replace("<details>", "<details open>"))
    assert _pages(tmp_path, "folded", text) == opened


def _pages(folder: Path, name: str, text: str) -> int:
    source, target = folder / f"{name}.html", folder / f"{name}.pdf"
    source.write_text(text)
    chromium(folder, source, f"--print-to-pdf={target}")
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", target.read_bytes()))
