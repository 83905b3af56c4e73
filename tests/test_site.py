"""The documentation site builds without a warning, loads nothing, and leaves nothing out."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import leastnoise as ln
from benchmarks import family_pictures, which_noise
from leastnoise.noise.registry import FAMILIES
from leastnoise.report.check_page import check_page

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PUBLIC = re.findall(r"import \w+ as (\w+)", (ROOT / "src/leastnoise/__init__.pyi").read_text())
LAWS = re.findall(r"import \w+ as (\w+)", (ROOT / "src/leastnoise/noise/__init__.pyi").read_text())
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", re.DOTALL)
TAGS = """
a article b blockquote body button code details div em footer form h1 h2 h3 h4 head header hr html
img input label li link main math meta mfrac mi mn mo mover mrow mspace msqrt mstyle msub msubsup
msup mtable mtd mtext mtr munder munderover nav ol p path picture pre small source span strong sub
summary sup svg table tbody td th thead title tr ul
"""
LARGEST = 60_000  # bytes of a family's picture


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it; a warning of any kind makes the build fail."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def _pages(site: Path) -> dict[str, str]:
    return {
        page.relative_to(site).as_posix(): page.read_text()
        for page in site.rglob("*.html")
        if page.name != "404.html"
    }


@pytest.mark.dense
def test_it_builds_without_a_warning_and_has_every_page(site: Path) -> None:
    """mkdocs itself warns of links and anchors that lead nowhere and of pages without a place."""
    pages = [page.relative_to(DOCS) for page in DOCS.rglob("*.md")]
    pages += [page.relative_to(ROOT) for page in (ROOT / "experiments").glob("*/README.md")]
    built = {page.as_posix().replace("README.md", "index.md") for page in pages}
    assert {name.replace(".html", ".md") for name in _pages(site)} >= built


@pytest.mark.dense
def test_it_has_the_page_that_checks_releases(site: Path) -> None:
    assert (site / "check.html").read_text() == check_page()


@pytest.mark.dense
def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    loads = re.compile(r'<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)="?([^"\s>]+)')
    for name, text in _pages(site).items():
        results = [target for target in loads.findall(text) if re.match(r"(https?:)?//", target)]
        assert not results, (name, results)


@pytest.mark.dense
def test_every_formula_is_mathml(site: Path) -> None:
    for name, text in _pages(site).items():
        source = DOCS / Path(name).with_suffix(".md")
        assert "arithmatex" not in text, name
        if source.is_file():
            assert text.count("<math ") == len(FORMULA.findall(_prose(source))), name


@pytest.mark.dense
def test_no_text_of_a_formula_is_read_as_markup(site: Path) -> None:
    """The star of δ* may begin italics, and "u<S; v>w" may hide what is between < and >."""
    for name, text in _pages(site).items():
        body = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
        assert not re.findall(r"\w<em>.{0,40}|.{0,40}</em>\w", body), name
        assert set(re.findall(r"<([A-Za-z][^\s/>]*)", body)) <= {*TAGS.split()}, name


def _prose(page: Path) -> str:
    """Return a page without its code, in which a $ is a prompt."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)


@pytest.mark.dense
def test_every_public_name_is_in_the_api(site: Path) -> None:
    text = "".join((site / page).read_text() for page in _pages(site) if page.startswith("api/"))
    names = [f"leastnoise.{name}" for name in PUBLIC if name not in {"errors", "noise"}]
    names += [f"leastnoise.noise.{name}" for name in LAWS]
    names += [f"leastnoise.errors.{name}" for name in vars(ln.errors) if _is_error(name)]
    assert len(names) > 60
    assert [name for name in names if f'id="{name}"' not in text] == []


def _is_error(name: str) -> bool:
    value = vars(ln.errors)[name]
    return isinstance(value, type) and issubclass(value, Exception) and name[0] != "_"


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_every_family_has_its_words_an_example_and_a_picture(name: str) -> None:
    """Families that win nowhere share a page."""
    shared = (DOCS / "noise" / "others.md").read_text()
    page = DOCS / "noise" / f"{name}.md"
    text, anchor = shared.partition(f"\n## {name}\n")[2].partition("\n## ")[0], f"others.md#{name}"
    if page.exists():
        text, anchor = page.read_text(), f"{name}.md"
        assert text.startswith(f"# {name}\n")
    assert "$$" in text
    assert ">>> " in text
    picture = DOCS / "figures" / "families" / f"{name}.svg"
    assert f"../figures/families/{name}.svg" in text
    assert 1000 < picture.stat().st_size < LARGEST
    assert f"noise/{anchor})" in (DOCS / "noise.md").read_text()
    assert name in family_pictures.PROBLEMS


@pytest.mark.dense
@pytest.mark.parametrize("name", ["laplace", "two-sided-staircase"])
def test_a_picture_is_made_again_byte_by_byte(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(family_pictures, "FOLDER", tmp_path)
    family_pictures.main([name])
    kept = (DOCS / "figures" / "families" / f"{name}.svg").read_bytes()
    assert (tmp_path / f"{name}.svg").read_bytes() == kept


@pytest.mark.dense
@pytest.mark.parametrize(
    "what",
    [
        "one real number, δ = 0",
        "one count",
        "a vector of 10, l∞ sensitivity",
        "10 counting queries",
    ],
)
def test_the_table_says_what_is_computed(what: str) -> None:
    (query,) = (query for query in which_noise.QUERIES if query.what == what)
    rows = [which_noise.row(query, epsilon) for epsilon in which_noise.EPSILONS]
    assert which_noise.line(query, rows) in which_noise.PAGE.read_text().splitlines()


def test_links_between_docs_and_the_repository_hold_in_both() -> None:
    """What hooks/pages.py rewrites are links that GitHub follows: to files that are there."""
    for page in [ROOT / "README.md", *DOCS.rglob("*.md"), *(ROOT / "experiments").glob("*/*.md")]:
        for target in re.findall(r"\]\((?![a-z]+:|#)([^)#\s]+)", _prose(page)):
            assert (page.parent / target).exists(), (page.name, target)


def test_the_hooks_rewrite_only_links_that_cross() -> None:
    spec = importlib.util.spec_from_file_location("pages", DOCS / "hooks" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    known = {"experiments/bodies/README.md", "theory/noise.md", "noise/l2.md", "noise.md"}
    crossing = pages.in_site(
        "[a](../../experiments/bodies/README.md#b)", uri="noise/l2.md", known=known
    )
    assert crossing == "[a](../experiments/bodies/README.md#b)"
    inside = "[a](../theory/noise.md) and [b](https://example.org) and [c](#d)"
    assert pages.in_site(inside, uri="noise/l2.md", known=known) == inside
