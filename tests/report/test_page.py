"""The page about a release: true, short, and it loads nothing."""

from __future__ import annotations

import html.parser
import json
import math
import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import unquote

import pytest

import leastnoise as ln
from leastnoise.errors import CertificateRejected
from leastnoise.report import page
from leastnoise.report.check_page import policy
from leastnoise.report.table_section import TableSection
from leastnoise.report.words import beside_noise
from tests.cli.program import run
from tests.tables.resealed import verify_resealed
from tests.tables.test_release import make_rows, release

HOSTILE = '<script>alert("x")</script>&amp;'


class _Reader(html.parser.HTMLParser):
    """A parser of a page's tags, attributes and words, which raises for tags that don't close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in {"meta", "input"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(text: str) -> _Reader:
    reader = _Reader()
    reader.feed(text)
    assert not reader.open
    return reader


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_rows(tmp_path_factory.mktemp("page"))
    release(folder).run()
    return folder / "out"


@pytest.mark.dense
def test_it_says_what_was_released(build: Path) -> None:
    text = page.report(build)
    reader = read(text)
    words = " ".join(reader.words).replace("\u2011", "-")
    assert "(1, 1e-6)-differential privacy" in words
    assert "In each of by_plan and bins, each who counts for at most 4 rows." in words
    assert "Values of x below 0 count as 0, and values above 10 as 10." in words
    assert "assumes that these limits were chosen without looking at the rows." in words
    assert "Rows where x is missing are left out of the mean of x." in words
    assert "Rows are left out if plan is missing or not one of its keys." in words
    assert "with probability 95\xa0%" in words
    for line in (build / "by_plan.csv").read_text().splitlines()[1:]:
        plan, count = line.split(",")[0], float(line.split(",")[1])
        assert plan in reader.words
        assert f"{round(count):,}".replace("-", "−") in reader.words
    assert len(text.encode()) < 200_000


def test_it_loads_nothing_and_runs_its_checker_alone(build: Path) -> None:
    reader = read(page.report(build))
    assert not {"link", "img", "iframe", "object"} & set(reader.tags)
    assert reader.tags.count("script") == 2  # test_check_page.py: the checker, and what it checks
    names = {name for name, _ in reader.attributes}
    assert not {name for name in names if name.startswith("on") or name == "src"}
    assert ("lang", "en") in reader.attributes
    assert policy() in dict(reader.attributes).values()
    for svg in re.findall(r"<svg.*?</svg>", page.report(build), re.DOTALL):
        assert 'role="img"' in svg
        assert "<title>" in svg


@pytest.mark.parametrize("where", [None, "out-report.html", "pages/deep/a.html", "out/a.html"])
def test_its_links_lead_to_the_tables_from_where_it_is(build: Path, where: str | None) -> None:
    target = build.parent / (where or "out-report.html")
    text = page.report(build, target=None if where is None else target)
    links = [route for name, route in read(text).attributes if name == "href"]
    results = [os.path.normpath(target.parent / unquote(str(link))) for link in links]
    assert results == [str(build / "by_plan.csv"), str(build / "bins.csv")]


@pytest.mark.dense
def test_names_of_folders_are_no_addresses(tmp_path: Path) -> None:
    folder = make_rows(tmp_path)
    release(folder, output={"path": 'a "?#%é', "format": "json"}).run()
    (first, *_) = re.findall(r'href="([^"]*)"', page.report(folder / 'a "?#%é'))
    assert first == "a%20%22%3F%23%25%C3%A9/by_plan.json"


@pytest.mark.dense
def test_texts_of_a_spec_are_no_html(tmp_path: Path) -> None:
    folder = make_rows(tmp_path)
    query = [{"name": "q", "statistics": ["count"], "group_by": {"plan": [1]}}]
    conditions = {"name": "c", "conditions": {HOSTILE: {"x": {"min": 1}}}}
    release(folder, query=[*query, conditions], output={"path": "<b>", "format": "json"}).run()
    text = page.report(folder / "<b>")
    assert HOSTILE not in text
    assert text.count("<script") == 2  # of what is cut short, too
    assert "<b>" not in text
    assert HOSTILE in read(text).words


@pytest.mark.dense
def test_texts_of_a_spec_turn_no_words(tmp_path: Path) -> None:
    """Marks of direction would let "1 to 9" be read as "9 to 1", and hide what stands beside."""
    folder, turned = make_rows(tmp_path), "a\u202eb\u2067c\u200fd\x9be\x00f\u2028g"
    query = [{"name": "q", "statistics": ["count"], "group_by": {"plan": [1]}}]
    conditions = {"name": "c", "conditions": {turned: {"x": {"min": 1}}}}
    release(
        folder, query=[*query, conditions], output={"path": f"o{turned[:8]}", "format": "json"}
    ).run()
    text = page.report(folder / f"o{turned[:8]}")
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert "a?b?c?d?e?f g" in read(text).words


@pytest.mark.grid
@pytest.mark.parametrize("number", ["1.7e308", "-1.7e308", "1e300", "5e-324", "9" * 308])
def test_numbers_at_the_ends_of_floats_are_shown(tmp_path: Path, number: str) -> None:
    """Values are not proved: whoever writes a table and its SHA-256 anew writes any number."""
    folder = make_rows(tmp_path)
    query = [{"name": "q", "statistics": ["sum(x)"], "group_by": {"plan": [1, 2]}}]
    release(folder, query=query, output={"path": "out", "format": "json"}).run()
    table = folder / "out" / "q.json"
    rows = json.loads(table.read_text())
    changed = dict(rows[0], sum_x="HERE", sum_x_low="HERE", sum_x_high="HERE")
    table.write_text(json.dumps([changed, *rows[1:]]).replace('"HERE"', number))
    try:
        result = verify_resealed(folder / "out")
    except CertificateRejected:
        return
    text = page.page_of(result, folder / "out")
    read(text)
    assert len(text) < 100_000
    assert max(map(len, re.findall(r"[0-9,.]+", text))) < 60


@pytest.mark.dense
def test_a_large_table_is_cut_off_and_says_so(tmp_path: Path) -> None:
    folder = make_rows(tmp_path)
    many = [{"name": "q", "statistics": ["count"], "group_by": {"plan": list(range(5000))}}]
    release(folder, query=many, output={"path": "out", "format": "parquet"}).run()
    text = page.report(folder / "out")
    assert "4,800 more rows are in the table's file." in text
    assert "the first 20 of 5,000" in text
    assert len(text.encode()) < 200_000


def test_nothing_is_reported_that_does_not_verify(build: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(build, tmp_path / "out")
    (copy / "by_plan.csv").write_text((copy / "by_plan.csv").read_text().replace("1", "2", 1))
    with pytest.raises(CertificateRejected):
        page.report(copy)


@pytest.mark.dense
def test_the_ledger_is_told(tmp_path: Path) -> None:
    folder = make_rows(tmp_path)
    ledger = ln.Ledger(folder / "a.ledger")
    ledger.open_account("rows", unit="row", budget=ln.Budget(epsilon=5))
    privacy = {"unit": "row", "epsilon": 1, "ledger": {"path": "a.ledger"}}
    release(folder, privacy=privacy, contribution=None).run()
    text = page.report(folder / "out", ledger=folder / "a.ledger")
    assert "Its 1 charges up to now have ε = 1 and δ = 0" in text
    assert "entry 2 of the account" in text


def test_the_command_writes_it_once(build: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(build, tmp_path / "out")
    done = run("report", str(copy))
    target = tmp_path / "out-report.html"
    assert str(target) in done.stdout
    assert 'href="out/by_plan.csv"' in target.read_text()
    assert target.read_text() == page.report(copy)
    again = run("report", str(copy))
    assert again.returncode == 2
    assert "exists" in again.stderr
    run("report", str(copy), "--output", str(tmp_path / "b.html"))
    assert (tmp_path / "b.html").read_text() == target.read_text()
    run("report", str(copy), "--output", str(copy / "c.html"))
    assert 'href="by_plan.csv"' in (copy / "c.html").read_text()
    none = run("report", str(tmp_path))
    assert none.returncode == 2
    assert "has no spec.toml" in none.stderr


@pytest.mark.dense
def test_release_writes_a_page_and_asks_before(tmp_path: Path) -> None:
    folder = make_rows(tmp_path)
    changes: dict[str, Any] = {"privacy": {"unit": "row", "epsilon": 1}, "contribution": None}
    (folder / "spec.toml").write_text(release(folder, **changes).to_toml())
    (folder / "out-report.html").write_text("mine")
    asked = run("release", str(folder / "spec.toml"), "--report")
    assert asked.returncode == 2
    assert "exists" in asked.stderr
    assert not (folder / "out").exists()
    (folder / "out-report.html").unlink()
    done = run("release", str(folder / "spec.toml"), "--report")
    assert "Its page is" in done.stdout
    assert read((folder / "out-report.html").read_text()).words


@pytest.mark.dense
def test_a_spec_asks_for_the_page_too(tmp_path: Path) -> None:
    folder = make_rows(tmp_path)
    changes: dict[str, Any] = {"privacy": {"unit": "row", "epsilon": 1}, "contribution": None}
    text = release(folder, **changes).to_toml()
    output = text.index("[output]\n") + len("[output]\n")
    (folder / "spec.toml").write_text(f"{text[:output]}report = true\n{text[output:]}")
    done = run("release", str(folder / "spec.toml"))
    assert done.returncode == 0, done.stderr
    assert read((folder / "out-report.html").read_text()).words
    assert run("verify", str(folder / "out")).returncode == 0


ABOUT = {"title": HOSTILE, "publisher": "An office", "contact": "x@y", "text": f"A.\n\n{HOSTILE}"}


@pytest.mark.dense
def test_what_was_found_is_first_and_the_protection_folded(tmp_path: Path) -> None:
    folder = make_rows(tmp_path)
    crossed = {"plan": [1, 2, 3], "x": {"edges": [0, 5, 10]}}
    release(
        folder,
        privacy={"unit": "who", "unit_name": "patient", "epsilon": 1},
        columns={"x": {"bounds": [0, 10], "label": HOSTILE}},
        query=[
            {"name": "cross", "statistics": ["count", "count_units"], "group_by": crossed},
            {"name": "sums", "statistics": ["sum(x)"]},
        ],
        report=ABOUT,
    ).run()
    text = page.report(folder / "out")
    assert HOSTILE not in text
    words = read(text).words
    assert words[0] == HOSTILE  # the title of the window
    order = ["An office · x@y", "A.", "Findings", "The tables", "About this protection"]
    assert sorted(order, key=words.index) == order
    assert "<details><summary>About this protection" in text
    assert "Protected: the presence or absence of any one patient." in words
    assert "count (each patient once)" in words
    assert f"Table sums: the published sum of {HOSTILE} is " in " ".join(words)
    # both keys of a table are its edges
    assert f"count of rows, by plan and {HOSTILE}" in words
    assert words.count("0 to below 5") == 2 * 1
    verified = " ".join(run("verify", str(folder / "out")).stdout.split())
    assert "Protected: the presence or absence of any one patient." in verified


@pytest.mark.parametrize(
    ("edges", "labels"),
    [
        ([-math.inf, 5, 10], ["below 5", "5 to 10", "at most 10"]),
        ([0, 5, 10], ["0 to below 5", "5 to 10", "0 to 10"]),
        ([0, 5, math.inf], ["0 to below 5", "5 or more", "0 or more"]),
        ([0, 1_234_567, 7_654_321], ["0 to below 1,234,567", "1,234,567 to 7,654,321"]),
    ],
)
def test_labels_of_bands_say_which_ends_belong_to_them(
    tmp_path: Path, edges: list[float], labels: list[str]
) -> None:
    """The last band contains its upper end, and so does the last cumulative count."""
    histogram = {"column": "x", "edges": edges, "cumulative": True}
    folder = make_rows(tmp_path)
    release(folder, query=[{"name": "q", "histogram": histogram}]).run()
    words = read(page.report(folder / "out")).words
    assert [label for label in labels if label not in words] == []


def test_no_named_sum_is_called_the_highest(tmp_path: Path) -> None:
    folder = make_rows(tmp_path)
    query = {"name": "q", "statistics": ["count"], "group_by": {"plan": [1, 2, 3]}}
    named = {"name": "named", "sums": "sum,plan\nall,\nfirst,1\n"}
    release(folder, query=[query, query | named]).run()
    text = page.report(folder / "out")
    assert "Table q: the published count of rows is highest for" in text
    assert "Table named: the published" not in text


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        ((4, 2, 6), "highest for plan 2: 4 (2 to 6). It is lowest for plan 1: 3 (1 to 5)."),
        ((3, 2, 4), "the same for all groups that are shown: 3."),
        ((math.nan, math.nan, math.nan), "shown only for plan 1: 3 (1 to 5)."),
    ],
)
def test_only_different_numbers_are_called_the_highest_and_the_lowest(
    second: tuple[float, float, float], sentence: str
) -> None:
    section = TableSection(
        name="q",
        layout=cast("Any", SimpleNamespace(adds_cells=False, conditions=())),
        heads=("plan",),
        keys=(("1",), ("2",)),
        statistics=(("count of rows", True, [(3, 1, 5), second]),),
        marks=("", ""),
        sentences=(),
        link="",
    )
    assert section.findings() == [f"Table q: the published count of rows is {sentence}"]


def test_no_quantile_is_called_the_highest(tmp_path: Path) -> None:
    """It has no interval, so a reader can't see that a difference may be chance."""
    folder, keys = make_rows(tmp_path), {"plan": [1, 2, 3]}
    query = [{"name": "q", "statistics": ["count", "median(x)"], "group_by": keys}]
    columns = {"x": {"bounds": [0, 10], "candidates": [*range(11)]}}
    release(folder, query=query, columns=columns).run()
    text = page.report(folder / "out")
    assert "Table q: the published count of rows is highest for" in text
    assert "the published median of x" not in text.partition("The tables")[0]


@pytest.mark.dense
@pytest.mark.parametrize(("most", "some"), [(2, True), (40, False)])
def test_that_persons_are_left_out_of_cells_is_said(tmp_path: Path, most: int, some: bool) -> None:
    folder = make_rows(tmp_path)
    query = [{"name": "q", "statistics": ["count_units"], "group_by": {"plan": [*range(1, 41)]}}]
    built = release(folder, query=query, contribution={"max_rows": most})
    warning = "is counted in only some of these cells"
    assert (warning in str(built.plan())) == some
    built.run()
    assert (warning in page.report(folder / "out")) == some


def test_only_bounds_that_are_used_are_told(tmp_path: Path) -> None:
    folder = make_rows(tmp_path)
    query = [{"name": "q", "statistics": ["count"], "group_by": {"plan": [1, 2, 3]}}]
    built = release(folder, query=query)
    assert "x" in built.spec.columns
    assert "Values of x" not in str(built.plan())


def test_a_group_that_is_left_out_moves_no_number(tmp_path: Path) -> None:
    folder = make_rows(tmp_path)
    crossed = {"plan": [1, 2, 3], "x": {"edges": [0, 5, 10]}}
    both = {"name": "both", "statistics": ["count"], "group_by": crossed}
    changes: dict[str, Any] = {
        "query": [both | {"top": 5}, both | {"name": "none", "min_count": 10**9}]
    }
    release(folder, privacy={"unit": "who", "epsilon": 100}, **changes).run()
    text = page.report(folder / "out")
    rows = (folder / "out" / "both.csv").read_text().splitlines()[1:]
    assert len(rows) == 5
    listed = re.findall(
        r'<tr><th scope="row">(\d)</th><th scope="row">(\d+) to (below )?(\d+)</th><td>([\d,−]+)<',
        text,
    )
    assert len(listed) == 5  # no cross-table, and each number beside its own keys
    for row, (plan, low, _, high, count) in zip(rows, listed, strict=True):
        part = row.split(",")
        assert [float(item) for item in part[:3]] == [float(plan), float(low), float(high)]
        assert round(float(part[3])) == int(count.replace("−", "-").replace(",", ""))
    assert all((high == "10") == (not below) for _, _, below, high, _ in listed)


@pytest.mark.parametrize(
    ("numbers", "whole", "shown"),
    [
        ((3.00412, 1.0249, 4.6116), False, ("3.0", "1.0", "4.7")),
        ((0.12346, 0.12001, 0.12701), False, ("0.1235", "0.1200", "0.1271")),
        ((-1234.5, -2000.2, -999.9), False, ("−1,234", "−2,001", "−999")),
        ((41.3, 7.1, 75.2), True, ("41", "7", "76")),
        ((7.0, 7.0, 7.0), False, ("7", "7", "7")),
        ((math.nan, -math.inf, math.inf), True, ("–", "−∞", "∞")),
    ],
)
def test_intervals_are_rounded_outward(
    numbers: tuple[float, float, float], whole: bool, shown: tuple[str, ...]
) -> None:
    assert beside_noise(*numbers, whole=whole) == shown


@pytest.mark.dense
@pytest.mark.parametrize("letters", [236, 250])
def test_a_name_that_is_nearly_too_long_has_its_page_or_costs_nothing(
    tmp_path: Path, letters: int
) -> None:
    folder = make_rows(tmp_path)
    ledger = ln.Ledger(folder / "b.ledger")
    ledger.open_account("rows", unit="row", budget=ln.Budget(epsilon=10))
    privacy = {"unit": "row", "epsilon": 1, "ledger": {"path": "b.ledger"}}
    output = {"path": "x" * letters, "format": "csv", "report": True}
    changes: dict[str, Any] = {"privacy": privacy, "contribution": None, "output": output}
    (folder / "spec.toml").write_text(release(folder, **changes).to_toml())
    done = run("release", str(folder / "spec.toml"))
    charges = ledger.accounts()["rows"].charges
    if letters == 236:
        assert (done.returncode, charges) == (0, 1), done.stderr
        assert read((folder / f"{'x' * letters}-report.html").read_text()).words
    else:
        assert (done.returncode, charges) == (2, 0)
        assert "File name too long" in done.stderr
        assert {file.name for file in folder.iterdir() if "x" * 9 in file.name} == set()
